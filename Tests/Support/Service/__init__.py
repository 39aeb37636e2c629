"""The real service, a phone and PAM calls in a folder of their own."""
