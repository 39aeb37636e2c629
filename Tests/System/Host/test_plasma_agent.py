"""polkit's agent of KDE Plasma 6 on Wayland: its dialog, drawn by KWin without a monitor, typed at by a made-up keyboard."""

import unittest

import agent_case
from plasma_case import Plasma
from Support.Hosts.testhost import PUSH_LINE

UNIT = "plasma-polkit-agent.service"
DROP_IN = f"/etc/systemd/user/{UNIT}.d/tests.conf"
#: What PAM says to the dialog is logged there.
LOG = "/home/alice/agent.log"
LOGGING = f"[Service]\nEnvironment=QT_LOGGING_RULES=default.debug=true\nStandardError=truncate:{LOG}\n"


class Agent(agent_case.Agents, Plasma):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.host.path(DROP_IN).parent.mkdir(parents=True, exist_ok=True)
        cls.host.path(DROP_IN).write_text(LOGGING)
        # The terminal ends with whoever holds it.
        cls.terminal = cls.signed_in_by_password()
        cls.addClassCleanup(cls.wait_until, "alice is gone", lambda: "alice" not in cls.host.run("loginctl"))
        cls.addClassCleanup(cls.host.run, "loginctl", "terminate-user", "alice")

    def type(self, text):
        self.press(*([text] if text else []), "Return")

    def shown(self):
        return self.host.path(LOG).read_text()

    def assert_allowed(self):
        super().assert_allowed()
        self.assert_eventually("the dialog stays", lambda: "Finish obtain authorization: true" in self.shown())

    def test_the_dialog_shows_that_the_phone_is_asked(self):
        with self.phone("ask") as phone:
            self.open_dialog()
            self.press_enter()
            phone.wait_for_requests(1)
            self.assert_eventually("it shows nothing", lambda: f'Info:  "{PUSH_LINE}' in self.shown())
            phone.type("n")
            self.assert_eventually("it is not denied", lambda: self.broker_lines("reason=denied on the phone"))
            self.allow_by_password("next")


if __name__ == "__main__":
    unittest.main()
