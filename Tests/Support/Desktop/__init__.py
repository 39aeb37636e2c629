"""Sign-ins at GNOME in a virtual machine, and their pictures."""
