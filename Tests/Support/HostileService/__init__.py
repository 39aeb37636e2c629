"""A service with named faults."""
