#!/usr/bin/python3
"""A greeter of GDM, or a lock screen, that a test types at. Runs inside the test host.

GDM starts it in place of GNOME's. With --lock NAME it asks for a channel to unlock NAME's session, as a lock screen does.

In a folder of its own it takes lines from the FIFO `typed`, a method of GDM's and its arguments in JSON, and writes what
GDM signals to `said`, a line of JSON each.
"""

import json
import os
import sys

from gi.repository import Gio, GLib

FOLDERS = "/run/test-greeters"
PREFIX = "org.gnome.DisplayManager."
MANAGER = "/org/gnome/DisplayManager/Manager"
SESSION = "/org/gnome/DisplayManager/Session"
#: The interface of each method, and the types of what it takes.
METHODS = {
    "EnableExtensions": ("UserVerifier", "(as)"),
    "BeginVerification": ("UserVerifier", "(s)"),
    "BeginVerificationForUser": ("UserVerifier", "(ss)"),
    "AnswerQuery": ("UserVerifier", "(ss)"),
    "Cancel": ("UserVerifier", "()"),
    "SelectChoice": ("UserVerifier.ChoiceList", "(ss)"),
    "StartSessionWhenReady": ("Greeter", "(sb)"),
}
#: Not GDM's: from now on, what is typed goes to a channel that is opened for a user who is signed in already.
REAUTHENTICATE = "Reauthenticate"


def ask_manager(method, *arguments):
    return Gio.bus_get_sync(Gio.BusType.SYSTEM).call_sync(
        PREFIX.rstrip("."), MANAGER, PREFIX + "Manager", method, *(arguments or [None]), None, 0, -1, None)


def open_channel(user):
    """A connection to GDM that is this program's alone."""
    if user:
        address = ask_manager("OpenReauthenticationChannel", GLib.Variant("(s)", (user,)))
    else:
        # Otherwise GDM waits ten seconds with what follows from a session.
        ask_manager("RegisterSession", GLib.Variant("(a{sv})", ({},)))
        address = ask_manager("OpenSession")
    return Gio.DBusConnection.new_for_address_sync(
        address.unpack()[0], Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT, None, None)


class Greeter:
    def __init__(self, user):
        # A lock screen's process is found by the test by the same name.
        folder = f"{FOLDERS}/{'lock' if user else 'greeter'}-{os.getpid()}"
        os.mkdir(folder)
        os.mkfifo(folder + "/typed")
        self.said = open(folder + "/said", "a", buffering=1)
        self.connect(user)
        # For writing too: a FIFO whose last writer leaves would be at its end.
        GLib.io_add_watch(os.open(folder + "/typed", os.O_RDWR), GLib.IO_IN, self.type)
        self.say("Ready")

    def connect(self, user):
        self.gdm = open_channel(user)
        self.gdm.signal_subscribe(None, None, None, SESSION, None, 0, self.signal)
        self.gdm.connect("closed", self.closed)

    def closed(self, channel, *_):
        if channel is self.gdm:
            LOOP.quit()

    def say(self, *words):
        self.said.write(json.dumps(words) + "\n")

    def signal(self, _connection, _sender, _path, _interface, name, arguments):
        self.say(name, *arguments.unpack())

    def type(self, typed, _):
        for line in os.read(typed, 65_536).decode().splitlines():
            method, *arguments = json.loads(line)
            try:
                self.call(method, arguments)
            except GLib.Error as error:
                self.say("Error", method, error.message)
        return True

    def call(self, method, arguments):
        if method == REAUTHENTICATE:
            self.connect(*arguments)
            return self.say(method)
        interface, types = METHODS[method]
        self.gdm.call_sync(
            None, SESSION, PREFIX + interface, method, GLib.Variant(types, tuple(arguments)), None, 0, -1, None)


LOOP = GLib.MainLoop()
greeter = Greeter(sys.argv[2] if sys.argv[1:2] == ["--lock"] else None)
LOOP.run()
