"""What tests of the phone as the second factor share: stacks of the manual's, in place of a service's own."""

import re

from host_case import HostCase
from Support.Hosts.testhost import CHOOSE_LINE, password_of

INCLUDE = "@include common-auth"
#: Behind a password that another module took.
ENTER_PROMPT = "Enter to approve on your phone: "


class SecondFactorCase(HostCase):
    def stack(self, service, *lines):
        """The service's auth lines in place of common-auth's, until the end of the context."""
        text = self.host.path(f"/etc/pam.d/{service}").read_text()
        self.assertEqual(len(re.findall(rf"(?m)^{INCLUDE}$", text)), 1, text)
        return self.host.changed(
            f"/etc/pam.d/{service}", lambda text: re.sub(rf"(?m)^{INCLUDE}$", "\n".join(lines), text))

    def type_password(self, child, user="alice"):
        """At pam_unix's own question, which comes before the phone."""
        child.expect("assword[^\n]*: ")
        self.assertNotIn(CHOOSE_LINE, child.screen)
        child.sendline(password_of(user))
