"""The set-up of iampass-server(8), as it is printed, on a host whose packages were just installed."""

import json
import re
import unittest

from host_case import PROJECT, HostCase

PLACES = ("/etc/iampass", "/etc/iampass-server", "/etc/default/iampass-server", "/var/lib/iampass-server", "/etc/hosts")
MANUAL = PROJECT / "packaging" / "man" / "iampass-server.8"
#: As in the manual's commands.
NAME = "iampass.example.org"
#: Stands in the manual for a code, and for the computer that is approved.
CODE = re.compile(r"\bCODE\b")
COMPUTER = re.compile(r"\blaptop-7\b")


def commands(lines):
    """Lines that begin with "# ", and those that go on after a backslash, as one script."""
    taken, goes_on = [], False
    for line in lines:
        if goes_on or line.startswith("# "):
            taken.append(line if goes_on else line[2:])
            goes_on = line.endswith("\\")
    return "\n".join(taken) + "\n"


def manual_sections():
    """Title to commands, in the manual's order."""
    examples = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH ", MANUAL.read_text(), re.MULTILINE | re.DOTALL)[1]
    parts = re.split(r'^\.SS "?(On [^"\n]*)"?\n|^\.SS .*\n', examples, flags=re.MULTILINE)
    titled = {title: text for title, text in zip(parts[1::2], parts[2::2]) if title}
    plain = {title: text.replace(r"\-", "-").replace(r"\e", "\\").splitlines() for title, text in titled.items()}
    return {title: commands(lines) for title, lines in plain.items()}


class AsPrinted(HostCase):
    def setUp(self):
        super().setUp()
        self.codes = []
        self.ships_its_sshd()
        self.addCleanup(self.put_back)
        self.shell("systemctl stop iampass-server; iampassctl disable; " + "".join(f"cp -a {p} {p}.aside; " for p in PLACES))
        self.forget_the_computer()
        self.shell("rm -rf /etc/iampass-server/* /var/lib/iampass-server/* /root/authority* /root/office /root/users; "
                   f": >/etc/default/iampass-server; echo 127.0.0.1 {NAME} >>/etc/hosts; systemctl start iampass-server")
        self.wait_for_port(8443)

    def ships_its_sshd(self):
        """sshd as Debian ships it, which does not ask PAM; later as the other tests need it."""
        self.shell("mv /etc/ssh/sshd_config.d/test-host.conf /root/; systemctl reload ssh")
        self.addCleanup(self.shell, "mv /root/test-host.conf /etc/ssh/sshd_config.d/; systemctl restart ssh")

    def put_back(self):
        self.shell("iampassctl disable; systemctl stop iampass-server; " + "".join(
            # A file that is mounted upon, such as /etc/hosts of a container, stays the same file.
            f"if [ -d {p} ]; then rm -rf {p}; mv {p}.aside {p}; else cat {p}.aside >{p}; rm {p}.aside; fi; " for p in PLACES))
        self.shell("systemctl start iampass-server; systemctl restart iampass-helper")
        self.wait_for_port(8443)
        self.host.run("pam-auth-update", "--package", "--enable", "iampass", "iampass-session")

    def shell(self, script, check=True):
        return self.host.run("bash", "-c", script, check=check, timeout=180)

    def wait_for_port(self, port):
        self.assert_eventually(f"{port} listens", lambda: self.host.run("ss", "-Hltn", f"sport = :{port}").strip())

    def shows_its_certificate(self):
        said = self.shell(f"openssl s_client -connect {NAME}:443 </dev/null 2>/dev/null | openssl x509 -outform DER | sha256sum; "
                          "openssl x509 -in /etc/iampass-server/own/service.pem -outform DER | sha256sum", check=False)
        return len(said.splitlines()) == 2 and len(set(said.splitlines())) == 1

    def forget_the_computer(self):
        """As on one that has the packages only."""
        self.shell("rm -rf /etc/iampass; mkdir -m 755 /etc/iampass; : >/etc/iampass/iampass.conf; "
                   "systemctl restart iampass-helper")

    def work_through(self, script):
        """Each command ends well, and `check` finds nothing. A join goes on in the background until the approval, as it is
        printed, has come."""
        ends_with_check = script.rstrip().endswith("iampassctl check")
        body = script.rstrip().removesuffix("iampassctl check") if ends_with_check else script
        body = COMPUTER.sub(self.shell("hostname").strip(), body)
        before, join, after = re.fullmatch(r"(.*?)(iampassctl join [^\n]*\n|\Z)(.*)", body, re.DOTALL).groups()
        output = self.run_in_turn(before)
        self.codes += re.findall(r"\bIJ[12]\S+", output)
        if join:
            self.shell(f"nohup {CODE.sub(self.codes[0], join.strip())} >/root/joined 2>&1 </dev/null &")
            self.assert_eventually("it waits", lambda: "waiting until" in self.shell("cat /root/joined"))
            output += self.shell("cat /root/joined") + self.run_in_turn(after)
        if ends_with_check:
            self.assert_check_finds_nothing()
        return output

    def assert_check_finds_nothing(self):
        """No warning either: somebody who sees one after each set-up hears no other."""
        found = json.loads(self.shell("iampassctl check --json", check=False))
        self.assertEqual([finding for finding in found["findings"] if finding["level"] != "ok"], [])
        self.shell("iampassctl check")

    def run_in_turn(self, script):
        """Up to an approval and what comes after it: the computer has joined in between."""
        if " join-code approve " not in script:
            return self.shell("set -e\ncd /root\n" + script)
        before, after = re.split(r"(?<= join-code approve )", script, maxsplit=1)
        rest, _, after = after.partition("\n")
        output = self.shell("set -e\ncd /root\n" + before + rest)
        self.assert_eventually("it has joined", lambda: "next: iampassctl enable" in self.shell("cat /root/joined"))
        return output + self.shell("set -e\ncd /root\n" + after)

    def test_the_manual_leads_to_joined_computers_and_a_renewed_certificate(self):
        sections = manual_sections()
        self.assertGreater(len(sections), 8, sections)
        for title, script in sections.items():
            self.assertTrue(script.strip(), title)
            self.work_through(script)
            # A reload is not waited for by systemctl.
            if "iampass-server setup" in script or "certificate renew" in script:
                self.assert_eventually("the new certificate is shown", self.shows_its_certificate)
        self.assertIn("alice", self.shell("iampassctl user list"))
        # The old authority alone no longer does.
        told = self.shell("iampassctl setup --ca /root/authority.pem", check=False)
        self.assertIn("certificate is not trusted", told)


if __name__ == "__main__":
    unittest.main()
