"""Runs a command as a user at a terminal, types lines at its prompts, and prints exit status and screen as JSON.

usage: sudo.py USER COMMAND [LINE…]
"""

import json
import sys

import pexpect

user, command, *lines = sys.argv[1:]
words = command.split()
child = pexpect.spawn("runuser", ["-u", user, "--", *words], timeout=90, encoding="utf-8", codec_errors="replace")
screen = ""
for line in lines:
    child.expect("[Pp]assword.*: ")
    screen += child.before + child.after
    child.sendline(line)
# A further prompt gets no line: sudo then gives up.
while child.expect([pexpect.EOF, "[Pp]assword.*: "]) == 1:
    screen += child.before + child.after
    child.sendline("")
screen += child.before
child.close()
print(json.dumps([child.exitstatus if child.exitstatus is not None else 1, screen]))
