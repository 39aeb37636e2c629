"""The EXAMPLES of the manual's pages, typed as they are printed, on a host of their own."""

import json
import re
import unittest

import test_walkthrough
from manual_examples import ELSEWHERE, WALKED, examples, pages, settings, to_run
from own_host import PACKAGES, own_host
from Support.Hosts.testhost import Phone

NAME = "iampass.example.org"
DATA = "/var/lib/iampass-server"
LINK = r"https://\S+/register/\S+"
STATE = "/home/phone/phone.json"
ADMINISTRATORS = "/home/phone/administrator.json"
USAGE = 64
#: An interrupted command's.
INTERRUPTED = 130
#: Commands that end with something other than 0 here, and why that is right.
ENDS = {
    "# ssh root@other-computer iampassctl phone forget alice": (65, "lost-device has forgotten it: one host plays both computers"),
    "# iampassctl session end 5f3a": (65, "no session has this id"),
}


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.host = own_host()
        cls.addClassCleanup(cls.host.stop)
        cls.script(f"DEBIAN_FRONTEND=noninteractive apt-get install -q -y {PACKAGES}/*.deb")
        cls.script("for user in alice phone; do useradd --create-home --shell /bin/bash $user; done; "
                   # Files of packages that the host lacks.
                   "for name in swaylock polkit-1 mylock; do echo '@include common-auth' >/etc/pam.d/$name; done; "
                   f"echo 127.0.0.1 {NAME} other-computer >>/etc/hosts")
        # On the other computer root has a key of this one's.
        cls.script("ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519; cp ~/.ssh/id_ed25519.pub ~/.ssh/authorized_keys; "
                   "printf 'Host *\\n  StrictHostKeyChecking accept-new\\n  LogLevel ERROR\\n' >~/.ssh/config")
        said = cls.script(f"iampass-server setup --name {NAME} --administrator ada --yes")
        cls.administrators_link = re.search(LINK, said)[0]
        # The phone, and a computer that was set up by hand, trust what the system trusts.
        cls.script("cp /etc/iampass-server/own/authority.pem /usr/local/share/ca-certificates/own.crt; update-ca-certificates; "
                   "iampass-server application set office --match-code off; "
                   "$(iampass-server join-code create office --unattended) --yes")

    @classmethod
    def script(cls, text, user=None):
        return cls.host.run("bash", "-ec", text, user=user, timeout=180)

    def work(self, page, special=()):
        """`special`: by command, what runs it in place of a shell."""
        for command in to_run(page):
            with self.subTest(command):
                if command in dict(special):
                    dict(special)[command](command[2:])
                else:
                    self.type(command)

    def type(self, command):
        user = "phone" if command.startswith("$") else None
        done = self.host.run("bash", "-c", f"cd\n{command[2:]}\necho ended with $?", user=user, timeout=180)
        status = int(re.search(r"ended with (\d+)\n\Z", done)[1])
        self.assertEqual(status, ENDS.get(command, (0,))[0], f"{command}\n{done}")

    def on_a_terminal(self, command, question, answer, status=0, user=None):
        """Types `answer` at the question; None is Ctrl-C."""
        child = self.host.terminal(command, user=user)
        child.expect(question)
        if answer is None:
            child.sendintr()
        else:
            child.sendline(answer)
        self.assertEqual(child.finish(), status, f"{command}\n{child.screen}")

    def link(self, user="alice"):
        return re.search(LINK, self.script(f"iampass-server user add office {user}"))[0]

    def words(self):
        return json.loads(self.host.run("iampass-phone", "status", "--json", "--state", STATE, user="phone"))["words"]

    def registers(self, link, state):
        self.host.run("iampass-phone", "register", link, "--state", state, user="phone")

    def test_each_is_run_here_or_elsewhere_with_a_reason(self):
        for page, reasons in ELSEWHERE.items():
            known = {word for pair in examples(page) for word in pair}
            self.assertEqual([word for word in reasons if word not in known], [], f"{page} has these no more")
        left = {page: to_run(page) for page in pages() if to_run(page)}
        self.assertEqual(set(left), set(PAGES), "a page has no test here")
        self.assertEqual([command for command in ENDS if command not in sum(left.values(), [])], [])
        walked = [title for title, reason in ELSEWHERE["iampass-server.8"].items() if reason == WALKED]
        self.assertEqual(walked, [title.replace(r"\-", "-") for title in test_walkthrough.manual_sections()])

    def test_the_broker(self):
        self.work("iampass-broker.8")

    def test_the_helper(self):
        self.work("iampass-helper.8")

    def test_the_phone(self):
        register, watch = to_run("iampass-phone.1")
        self.script(f"rm -f {STATE}")
        self.work("iampass-phone.1", {
            register: lambda command: self.type("$ " + command.replace(f"https://{NAME}/register/CODE", self.link())),
            watch: lambda command: self.on_a_terminal(command, "waiting for sign-ins", None, INTERRUPTED, "phone")})

    def test_the_service(self):
        start_signing, sign, umask, create, serve = to_run("iampass-server.8")
        self.registers(self.administrators_link, ADMINISTRATORS)

        def signed(command):
            with Phone(self.host, "approve", state=ADMINISTRATORS, signs=True) as phone:
                phone.wait_for("waiting for sign-ins")
                self.type("# " + command)

        def stand_aside(command):
            # Without the package nothing is there, and these are one user's commands in one shell.
            self.addCleanup(self.script, f"rm -rf {DATA}; mv {DATA}.aside {DATA}; systemctl start iampass-server")
            self.script(f"systemctl stop iampass-server; mv {DATA} {DATA}.aside; install -d -m 700 -o _iampass-server {DATA}")
            self.script(command, "_iampass-server")

        self.work("iampass-server.8", {
            start_signing: signed, sign: signed,
            umask: stand_aside,
            create: lambda command: self.script(f"cd {DATA}\n{umask[2:]}\n{command}\ntest -s office", "_iampass-server"),
            serve: lambda command: self.on_a_terminal(command, "listening on", None, INTERRUPTED, "_iampass-server")})

    def test_the_control_program(self):
        # A service that was set up by hand: the application's credential, and users of this computer's own.
        self.addCleanup(self.script, "iampassctl disable; rm -rf /etc/iampass; mv /etc/iampass.aside /etc/iampass")
        self.script(f"iampassctl disable; cp -a /etc/iampass /etc/iampass.aside; rm -rf /etc/iampass/* {STATE}; "
                    f"iampassctl setup --server https://{NAME} --secret-file /root/office")
        enroll, trust, test = "# iampassctl enroll alice", "# iampassctl phone trust alice", "# iampassctl login-test alice --service sshd"
        lost = "# iampassctl lost-device alice"

        def enrolled(command):
            self.registers(re.search(LINK, self.script(command))[0], STATE)

        def tested(command):
            with Phone(self.host, "approve") as phone:
                phone.wait_for("waiting for sign-ins")
                self.on_a_terminal(command, "Password:", "")

        def lost_and_found(command):
            said = self.script(command)
            self.host.run("rm", STATE)
            self.registers(re.search(LINK, said)[0], STATE)

        self.work("iampassctl.1", {
            enroll: enrolled, test: tested, lost: lost_and_found,
            trust: lambda command: self.on_a_terminal(command, "Six words: ", self.words())})

    def test_the_settings(self):
        blocks = settings("iampass.conf.5")
        self.assertGreater(len(blocks), 3)
        for block in blocks:
            with self.subTest(block):
                self.host.path("/root/example.conf").write_text(block)
                shown = self.host.run("iampassctl", "check", "--config", "/root/example.conf", check=False)
                self.assertRegex(shown, "ok +/root/example.conf is understood")
                self.assertNotIn("unknown key", shown)

    def test_a_command_that_is_not_understood_fails(self):
        with self.assertRaisesRegex(AssertionError, str(USAGE)):
            self.type("# iampassctl check --no-such-option")


#: The tests of pages that have commands which no other test runs.
PAGES = {
    "iampass-broker.8": Examples.test_the_broker, "iampass-helper.8": Examples.test_the_helper,
    "iampass-phone.1": Examples.test_the_phone, "iampass-server.8": Examples.test_the_service,
    "iampassctl.1": Examples.test_the_control_program,
}


if __name__ == "__main__":
    unittest.main()
