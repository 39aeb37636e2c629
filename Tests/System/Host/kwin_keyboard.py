#!/usr/bin/python3
"""Types at KWin, by its own protocol for made-up input: runs inside the test host, as the desktop's user.

usage: kwin_keyboard.py TEXT...   each is typed, or is "Return" or "Shift"

KWin must run with KWIN_WAYLAND_NO_PERMISSION_CHECKS, or it offers the protocol to nobody.
"""

import os
import socket
import struct
import sys
import time

PROTOCOL = "org_kde_kwin_fake_input"
#: The first one that has keys.
VERSION = 4
#: The object that is there from the start; we number the others, each with the next number.
DISPLAY = 1
SYNC, GET_REGISTRY = 0, 1
BIND = 0
AUTHENTICATE, KEYBOARD_KEY = 0, 10
#: Rows of a keyboard by the code of their first key, from input-event-codes.h.
ROWS = {2: "1234567890-", 16: "qwertyuiop", 30: "asdfghjkl", 44: "zxcvbnm"}
CODES = {letter: first + place for first, row in ROWS.items() for place, letter in enumerate(row)}
NAMED = {"Return": 28, "Shift": 42}
KEY_TIME = 0.02


class Connection:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(os.path.join(os.environ["XDG_RUNTIME_DIR"], os.environ["WAYLAND_DISPLAY"]))
        self.last = DISPLAY

    def new_object(self):
        self.last += 1
        return self.last

    def send(self, target, request, *arguments):
        body = b"".join(self.encoded(one) for one in arguments)
        self.socket.sendall(struct.pack("=IHH", target, request, 8 + len(body)) + body)

    @staticmethod
    def encoded(argument):
        if isinstance(argument, int):
            return struct.pack("=I", argument)
        text = argument.encode() + b"\0"
        return struct.pack("=I", len(text)) + text + bytes(-len(text) % 4)

    def round_trip(self):
        """Until everything before is done. Returns what came meanwhile: object, event and body."""
        callback = self.new_object()
        self.send(DISPLAY, SYNC, callback)
        events = []
        while not events or events[-1][0] != callback:
            target, kind = struct.unpack("=II", self.received(8))
            events.append((target, kind & 0xFFFF, self.received((kind >> 16) - 8)))
            if events[-1][:2] == (DISPLAY, 0):
                sys.exit(f"kwin_keyboard: refused: {events[-1][2]}")
        return events

    def received(self, size):
        found = b""
        while len(found) < size:
            piece = self.socket.recv(size - len(found))
            if not piece:
                sys.exit("kwin_keyboard: KWin has hung up")
            found += piece
        return found


def offered(registry, events):
    """The number of the protocol; the body is number, length and name, version."""
    for target, kind, body in events:
        if (target, kind) == (registry, 0):
            number, length = struct.unpack_from("=II", body)
            if body[8:8 + length - 1].decode() == PROTOCOL:
                return number
    sys.exit(f"kwin_keyboard: KWin does not offer {PROTOCOL}")


def main():
    connection = Connection()
    registry = connection.new_object()
    connection.send(DISPLAY, GET_REGISTRY, registry)
    number = offered(registry, connection.round_trip())
    keyboard = connection.new_object()
    connection.send(registry, BIND, number, PROTOCOL, VERSION, keyboard)
    connection.send(keyboard, AUTHENTICATE, "tests", "tests")
    for word in sys.argv[1:]:
        for code in [NAMED[word]] if word in NAMED else [CODES[letter] for letter in word]:
            for pressed in (1, 0):
                connection.send(keyboard, KEYBOARD_KEY, code, pressed)
                time.sleep(KEY_TIME)
    connection.round_trip()


main()
