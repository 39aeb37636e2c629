"""What the tests of iampassctl on a booted host share."""

import contextlib
import json

from host_case import HostCase


class ControlCase(HostCase):
    def ctl(self, *words, **more):
        """Exit code and output of iampassctl without a terminal."""
        text = self.host.run("sh", "-c", 'iampassctl "$@"; echo "exit $?"', "sh", *words, timeout=120, **more)
        output, _, code = text.rpartition("exit ")
        return int(code), output

    def findings(self, level):
        code, output = self.ctl("check", "--json")
        found = json.loads(output)
        self.assertEqual({"ok": 0, "warning": 1, "problem": 2}[found["result"]], code)
        return [finding["text"] for finding in found["findings"] if finding["level"] == level]

    def has_profiles(self):
        return [name for name in ("common-auth", "common-session")
                if "pam_iampass" in self.host.path(f"/etc/pam.d/{name}").read_text()]

    @contextlib.contextmanager
    def without(self, inside):
        """The host's file moved away, and back."""
        self.host.run("mv", inside, inside + ".away")
        try:
            yield
        finally:
            self.host.run("mv", inside + ".away", inside)

    def enabled_again(self):
        """However a test ends, the next one finds the phone asked."""
        self.host.run("iampassctl", "enable", "--force", timeout=60)
