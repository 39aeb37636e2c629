"""Signs a user in at a virtual terminal of the machine's own seat by digits of a phone, and prints the screen.

usage: seat_login.py NUMBER USER COMMAND…

COMMAND gets the link as its last word, and prints `type on the computer: DIGITS`. `login` runs on the terminal already.
"""

import fcntl
import re
import subprocess
import sys
import termios
import time

PATIENCE = 60
LINK = r"https://\S+/phone/#offline=[\w.-]+"

number, user, *command = sys.argv[1:]


def screen():
    # The cells of the screen, row by row: a wrapped line goes on.
    with open(f"/dev/vcs{number}", "rb") as cells:
        return cells.read().decode("latin-1")


def wait_for(pattern, times=1):
    """The last match, once there are `times`."""
    end = time.monotonic() + PATIENCE
    while len(found := list(re.finditer(pattern, screen()))) < times:
        if time.monotonic() > end:
            sys.exit(f"no {pattern} on the screen:\n{screen()}")
        time.sleep(0.2)
    return found[-1]


def type_line(text):
    # An Enter that comes at once is taken for a program's.
    time.sleep(1)
    with open(f"/dev/tty{number}", "rb+", buffering=0) as terminal:
        for byte in (text + "\n").encode():
            fcntl.ioctl(terminal, termios.TIOCSTI, bytes([byte]))


wait_for("login: ")
type_line(user)
wait_for("Press Enter alone to approve on your phone[^:]*Password: ")
type_line("")
wait_for(r"Digits on your phone[^:]*: ")
link = wait_for(LINK)[0]
shown = subprocess.run([*command, link], capture_output=True, text=True)
digits = re.search(r"type on the computer: ([\d ]+)", shown.stdout)
if not digits:
    sys.exit(f"no digits:\n{shown.stdout}{shown.stderr}")
type_line(digits[1])
wait_for(r"\$ ")
print(screen())
