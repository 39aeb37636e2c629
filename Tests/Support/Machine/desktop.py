#!/usr/bin/python3
"""What a desktop does when logind asks it to lock its screen or to unlock it: it says by LockedHint that it has.

Runs in a session of logind's, as its user.
"""

import os

import dbus
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

LOGIND = "org.freedesktop.login1"

DBusGMainLoop(set_as_default=True)
bus = dbus.SystemBus()
manager = dbus.Interface(bus.get_object(LOGIND, "/org/freedesktop/login1"), f"{LOGIND}.Manager")
session = dbus.Interface(bus.get_object(LOGIND, manager.GetSessionByPID(os.getpid())), f"{LOGIND}.Session")
session.connect_to_signal("Lock", lambda: session.SetLockedHint(True))
session.connect_to_signal("Unlock", lambda: session.SetLockedHint(False))
GLib.MainLoop().run()
