"""The line that the module shows if the phone takes longer than a moment for its answer.

The service waits 50 ms for it (HeldStatus.swift), so that a test cannot know whether the line comes.
"""

import re

LATE = re.compile(r"Your phone has the request: (?:answer there|code \d\d)")


def without_late_line(screen):
    """What a terminal shows, or a list of lines and texts, without it."""
    if isinstance(screen, str):
        return "".join(line for line in screen.splitlines(keepends=True) if not LATE.search(line))
    return [line for line in screen if not LATE.search(line)]
