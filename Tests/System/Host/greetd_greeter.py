#!/usr/bin/python3
"""A greeter of greetd that a test types at: runs inside the test host, as greetd's own user.

Takes lines from the FIFO `typed`, "user NAME" or "answer TEXT", and writes what PAM shows and how it ends to `said`.
See greetd-ipc(7).
"""

import json
import os
import socket
import struct

FOLDER = "/var/lib/test-greeter/"
SESSION = ["/usr/local/bin/test-desktop"]


class Greeter:
    def __init__(self):
        self.said = open(FOLDER + "said", "a", buffering=1)
        self.greetd = socket.socket(socket.AF_UNIX)
        self.greetd.connect(os.environ["GREETD_SOCK"])

    def ask(self, kind, **more):
        """What greetd answers."""
        text = json.dumps({"type": kind, **more}).encode()
        self.greetd.sendall(struct.pack("=I", len(text)) + text)
        size, = struct.unpack("=I", self.greetd.recv(4, socket.MSG_WAITALL))
        return json.loads(self.greetd.recv(size, socket.MSG_WAITALL))

    def handle(self, answer):
        """Up to the next question, or the end."""
        while answer["type"] == "auth_message":
            text, is_question = answer["auth_message"], answer["auth_message_type"] in ("secret", "visible")
            self.said.write(f"{'prompt' if is_question else 'message'}: {text}\n")
            if is_question:
                return
            answer = self.ask("post_auth_message_response")
        if answer["type"] == "error":
            self.said.write("refused\n")
            self.ask("cancel_session")
            return
        self.said.write("signed in\n")
        answer = self.ask("start_session", cmd=SESSION, env=["XDG_SESSION_TYPE=wayland"])
        self.said.write(f"started: {answer['type']}\n")
        # greetd starts the session once the greeter has left.
        raise SystemExit

    def run(self):
        self.said.write("ready\n")
        # For writing too: a FIFO whose last writer leaves would be at its end.
        typed = os.open(FOLDER + "typed", os.O_RDWR)
        while True:
            for line in os.read(typed, 4096).decode().splitlines():
                word, _, text = line.partition(" ")
                if word == "user":
                    self.handle(self.ask("create_session", username=text))
                else:
                    self.handle(self.ask("post_auth_message_response", response=text))


Greeter().run()
