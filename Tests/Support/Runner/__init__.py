"""What packaging/test runs, and how."""
