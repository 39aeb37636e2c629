"""An agent of polkit's in a session: MATE's dialog, on a screen without a monitor, typed at by a virtual keyboard."""

import unittest

import agent_case
import test_lockers
from desktop_case import PROMPT, DesktopCase

AGENT = "polkit-mate-authentication-agent-1"


class Agent(test_lockers.X11, agent_case.Agents, DesktopCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.terminal = cls.desktop()
        cls.terminal.sendline(f"DISPLAY={cls.screen['DISPLAY']} /usr/libexec/{AGENT} >/dev/null 2>&1 &")
        cls.terminal.expect(PROMPT)
        cls.addClassCleanup(cls.host.run, "pkill", "-f", AGENT)

    def dialog_is_there(self):
        window = self.alice("xdotool", "search", "--onlyvisible", "--class", AGENT[:12], check=False).strip()
        return window and super().dialog_is_there()


if __name__ == "__main__":
    unittest.main()
