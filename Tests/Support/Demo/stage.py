"""What the demos show, and how fast: titles, notes, a terminal, and the phone beside it."""

import contextlib
import sys
import threading
import time

import pexpect
from Support.Hosts import terminal, testhost

WIDTH = 100
#: Where the phone's lines begin: right of what a sign-in shows on a terminal.
PHONES_COLUMN = 56
#: Characters that a reader takes in within a second.
READING_SPEED = 30
#: Seconds that a person at the phone or the keyboard takes to see what is asked.
LOOKS_AT_IT = 2
#: Seconds between two acts.
BETWEEN_ACTS = 4


class Pace:
    """At a reader's pace, or as fast as programs answer, which is how all but the main demo play."""

    fast = True

    @classmethod
    def wait(cls, seconds):
        if not cls.fast:
            time.sleep(seconds)

    @classmethod
    def read(cls, text):
        cls.wait(len(text) / READING_SPEED)


#: The phone's lines come from a thread of their own.
_paper = threading.RLock()


def _print(line):
    with _paper:
        print(line, flush=True)


def title(text):
    Pace.wait(BETWEEN_ACTS)
    line = f"── {text} {'─' * max(0, WIDTH - len(text) - 4)}"
    _print(f"\n\033[1m{line}\033[0m" if sys.stdout.isatty() else f"\n{line}")
    Pace.read(text)


def note(text):
    _print(f"   # {text}")
    Pace.read(text)


class Failed(Exception):
    """An act failed."""


def claim(text, true):
    _print(f"   {'✔' if true else '✘'} {text}")
    if not true:
        raise Failed(text)
    Pace.read(text)


class Screen:
    """Prints what a terminal shows, indented below the command; keeps back what a line has not finished yet."""

    def __init__(self, prompt, command):
        _print(f"   {prompt}$ {command}")
        self._line = ""

    def __call__(self, text):
        self._line += text.replace("\r\n", "\n").replace("\r", "")
        *whole, self._line = self._line.split("\n")
        for line in whole:
            self._show(line)

    def typed(self, what):
        """What the actor types; the terminal shows none of it."""
        self._line += f"«{what}»"

    def close(self):
        if self._line.strip():
            self._show(self._line)
        self._line = ""

    @staticmethod
    def _show(line):
        # The shell's own escape sequences are for terminals.
        shown = terminal.without_escapes(line)
        if shown.strip():
            _print(f"   | {shown}")


class ShownPhone(testhost.Phone):
    """A phone whose lines stand beside the terminal's, as they come."""

    def __enter__(self):
        super().__enter__()
        self._shown = 0
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *error):
        super().__exit__(*error)
        self._ended.set()
        self._watcher.join()
        self._show(self.printed + "\n")

    def _watch(self):
        while not self._ended.wait(0.05):
            # The log is closed by the side that ends the phone.
            with contextlib.suppress(ValueError, OSError):
                self._show(self.printed)

    def _show(self, text):
        # Nothing of a line that has not ended: what is typed comes to its end.
        lines = text.split("\n")[:-1]
        for line in lines[self._shown:]:
            if line.strip():
                # A pipe shows nothing of what is typed.
                shown = line.replace("code on the terminal: ", f"code on the terminal: «{self.typed}» ")
                show_phone(shown)
        self._shown = max(self._shown, len(lines))


def show_phone(line):
    _print(f"{'':{PHONES_COLUMN}}▏{line}")


def play_or_exit(command, play):
    """`play()`. A line, and a status, if it fails, no host can be booted here, or Ctrl-C comes: the hosts are stopped by then."""
    try:
        play()
    except testhost.CannotBoot as refusal:
        sys.exit(f"{command}: no host can be booted on this machine: {refusal}")
    except KeyboardInterrupt:
        sys.exit(130)
    except (Failed, RuntimeError, pexpect.ExceptionPexpect) as failure:
        sys.exit(f"{command}: {str(failure)[:3000]}")
