"""A command on a terminal, typed at as a person types."""

import contextlib
import io
import os
import pathlib
import re
import signal
import time

import pexpect

#: Longer than anything between two lines of a sign-in, but the wait for the phone, whose tests say so.
PATIENCE = 60
#: Seconds; twice what the module gives anybody who presses Enter.
READING_TIME = 0.5


class Terminal(pexpect.spawn):
    """A command on a terminal: what it showed, and how it ended."""

    def __init__(self, argv, timeout, show):
        super().__init__(argv[0], argv[1:], timeout=timeout, encoding="utf-8", codec_errors="replace", echo=False)
        self.shown = io.StringIO()
        self._show = show
        self.logfile_read = _Shown(self._take)
        # Passwords are typed only once the prompt is there.
        self.delaybeforesend = 0.02

    def _take(self, text):
        self.shown.write(text)
        if self._show:
            self._show(text)

    def sendline(self, text=""):
        """Types a line. Enter alone comes as from a person, who reads the question before answering it."""
        if not text:
            time.sleep(READING_TIME)
        return super().sendline(text)

    @property
    def screen(self):
        """All that was shown so far."""
        return self.shown.getvalue().replace("\r\n", "\n")

    def close(self, force=True):
        """Hangs up if the command still runs."""
        # `script` would go on by itself, and the command on its terminal with it.
        if not self.closed and self.isalive():
            for child in children_of(self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        super().close(force)

    def finish(self, timeout=PATIENCE):
        """Reads on to the end and returns the command's exit status."""
        self.expect(pexpect.EOF, timeout=timeout)
        self.close()
        return self.exitstatus


class _Shown:
    """What pexpect logs to."""

    def __init__(self, take):
        self.write = take

    def flush(self):
        pass


def without_escapes(text):
    """Without the escape sequences of a shell's prompt."""
    return re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)", "", text)


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
