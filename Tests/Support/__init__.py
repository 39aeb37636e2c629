"""What tests share. Tests is on the path, so that an import is a path: `from Support.Service.world import World`."""
