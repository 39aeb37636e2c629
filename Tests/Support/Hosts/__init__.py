"""Test hosts that systemd-nspawn boots."""
