"""The virtual machine, and what runs in it."""
