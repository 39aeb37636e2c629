"""Runs a command at a terminal, types a line at each prompt, and prints exit status and screen as JSON.

usage: guest_terminal.py FILE, with [COMMAND, [[PATTERN, LINE], …]]. A line of null ends the command there.
"""

import json
import sys
import time

import pexpect

#: Seconds. An Enter that comes at once is taken for a program's.
READING = 1

with open(sys.argv[1]) as file:
    command, pairs = json.load(file)
words = command.split()
child = pexpect.spawn(words[0], words[1:], timeout=90, encoding="utf-8", codec_errors="replace")
screen, status = "", 1
try:
    for pattern, line in pairs:
        child.expect(pattern)
        screen += child.before + child.after
        if line is None:
            break
        time.sleep(READING)
        child.sendline(line)
    else:
        child.expect(pexpect.EOF)
        screen += child.before
except (pexpect.TIMEOUT, pexpect.EOF):
    screen += str(child.before)
child.close()
status = child.exitstatus if child.exitstatus is not None else 1
print(json.dumps([status, screen]))
