"""The acts of the demos, and the picture of the README."""
