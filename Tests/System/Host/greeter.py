#!/usr/bin/python3
"""A greeter of lightdm that a test types at: runs inside the test host, as lightdm's own user.

Takes lines from the FIFO `typed`, "user NAME" or "answer TEXT", and writes what PAM shows and how it ends to `said`.
"""

import os

import gi

gi.require_version("LightDM", "1")
from gi.repository import GLib, LightDM  # noqa: E402  (its version must be said first)

FOLDER = "/var/lib/lightdm/"


class Greeter:
    def __init__(self):
        self.said = open(FOLDER + "said", "a", buffering=1)
        self.lightdm = LightDM.Greeter()
        self.lightdm.connect("show-message", lambda _, text, kind: self.said.write(f"message: {text}\n"))
        self.lightdm.connect("show-prompt", lambda _, text, kind: self.said.write(f"prompt: {text}\n"))
        self.lightdm.connect("authentication-complete", self.complete)
        self.lightdm.connect_to_daemon_sync()
        # For writing too: a FIFO whose last writer leaves would be at its end.
        GLib.io_add_watch(os.open(FOLDER + "typed", os.O_RDWR), GLib.IO_IN, self.type)
        self.said.write("ready\n")

    def complete(self, _):
        self.said.write("signed in\n" if self.lightdm.get_is_authenticated() else "refused\n")
        if self.lightdm.get_is_authenticated():
            self.lightdm.start_session_sync("test")

    def type(self, typed, _):
        for line in os.read(typed, 4096).decode().splitlines():
            word, _, text = line.partition(" ")
            if word == "user":
                self.lightdm.authenticate(text)
            else:
                self.lightdm.respond(text)
        return True


greeter = Greeter()
GLib.MainLoop().run()
