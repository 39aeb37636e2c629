"""The demo's acts, on a booted host with real sudo, sshd and login.

usage: demo_acts.py [--fast] BUILT

They are played at a reader's pace; --fast does not wait for readers.
"""

import json
import sys
import time

import pexpect
from Support.Demo.stage import LOOKS_AT_IT, Failed, Pace, Screen, claim, note, show_phone, title
from Support.Demo.stage import ShownPhone as Phone
from Support.Hosts import signed_requests, testhost
from Support.Hosts.testhost import CHOOSE_PROMPT, CODE_PROMPT, PUSH_LINE_WITH_CODE, password_of

ATTACKERS_PHONE = "/home/phone/attackers-phone.json"


class Demo:
    def __init__(self, host):
        self.host = host

    def terminal(self, command, user, show_prompt=None):
        screen = Screen(show_prompt or f"{user}@workstation", command)
        return self.host.terminal(command, user=user, show=screen, timeout=30), screen

    @staticmethod
    def choose_the_phone(child, screen):
        child.expect_exact(CHOOSE_PROMPT)
        Pace.wait(LOOKS_AT_IT)
        screen.typed("Enter")
        child.sendline("")

    @staticmethod
    def type_the_code(child, phone):
        """Reads the code from the terminal, as a person does, and types it on the phone."""
        child.expect(PUSH_LINE_WITH_CODE)
        Pace.wait(LOOKS_AT_IT)
        phone.type(child.match[1])

    def approve_at_the_prompt(self, child, screen, phone):
        """As ssh has it: the code stands in a prompt, and Enter goes on once the phone has approved."""
        child.expect(CODE_PROMPT)
        Pace.wait(LOOKS_AT_IT)
        phone.type(child.match[1])
        phone.wait_for("approved")
        Pace.wait(LOOKS_AT_IT)
        screen.typed("Enter")
        child.sendline("")

    @staticmethod
    def type_password(child, screen, user, prompt="assword[^\n]*: "):
        child.expect(prompt)
        Pace.wait(LOOKS_AT_IT)
        screen.typed(f"{user}'s password")
        child.sendline(password_of(user))

    @staticmethod
    def finish(child, screen):
        status = child.finish(30)
        screen.close()
        return status

    def sudo_approved(self):
        title("1. sudo, approved on the phone")
        note("the terminal shows two digits, and the phone wants them: who approves has seen this terminal.")
        with Phone(self.host, "approve", after=1) as phone:
            child, screen = self.terminal("sudo id -un", "alice")
            self.type_the_code(child, phone)
            status = self.finish(child, screen)
            phone.wait_for("approved")
        claim("the command ran as root", status == 0 and "root" in child.screen)
        claim("no password was asked for", "assword" not in child.screen)

    def sudo_denied(self):
        title("2. sudo, denied on the phone")
        note("sudo tries up to three times; the phone must ring once.")
        self.host.forget_attempts()
        with Phone(self.host, "deny", after=1) as phone:
            child, screen = self.terminal("sudo id -un", "alice")
            status = self.finish(child, screen)
            time.sleep(2)
            rings = len(phone.requests())
        claim("sudo refused", status != 0 and "denied on your phone" in child.screen)
        claim(f"the phone rang once ({rings})", rings == 1)

    def ssh_approved(self):
        title("3. ssh, approved without a password")
        note("this act's PAM line says prompt=push: the phone rings as soon as ssh connects.")
        with self.host.module_arguments("prompt=push"), Phone(self.host, "approve", after=1) as phone:
            child, screen = self.terminal("ssh alice@localhost id -un", "visitor")
            self.approve_at_the_prompt(child, screen, phone)
            status = self.finish(child, screen)
        claim("alice is signed in", status == 0)
        claim("no password was asked for", "assword" not in child.screen)

    def ssh_chosen(self):
        title("4. ssh, with the choice between password and phone")
        note("the default: a stranger's ssh does not ring the phone unless somebody presses Enter.")
        with Phone(self.host, "approve", after=1) as phone:
            child, screen = self.terminal("ssh alice@localhost id -un", "visitor")
            self.choose_the_phone(child, screen)
            self.approve_at_the_prompt(child, screen, phone)
            status = self.finish(child, screen)
        claim("alice is signed in by Enter and the phone", status == 0)

    def login_approved(self):
        title("5. login on a terminal")
        with Phone(self.host, "approve", after=1) as phone:
            screen = Screen("tty", "(getty starts login)")
            child = self.host.login_terminal(show=screen)
            child.expect("login: ")
            screen.typed("alice")
            child.sendline("alice")
            self.choose_the_phone(child, screen)
            self.type_the_code(child, phone)
            child.expect(r"alice@workstation[^\n]*\$ ")
            child.sendline("loginctl list-sessions --no-legend; exit")
            self.finish(child, screen)
        claim("logind has a session of alice", "alice" in child.screen.split("no-legend", 1)[-1])

    def timed_out(self):
        title("6. a request that nobody answers")
        note("this act's PAM line says timeout=5s; the default is 30 s.")
        self.host.forget_attempts()
        with self.host.module_arguments("timeout=5s"), Phone(self.host, "ignore"):
            child, screen = self.terminal("sudo id -un", "alice")
            began = time.monotonic()
            child.expect("not answered")
            took = time.monotonic() - began
            self.type_password(child, screen, "alice")
            status = self.finish(child, screen)
        claim(f"the wait ended after {took:.1f} s", 4 <= took <= 6.5)
        claim("the password signed in", status == 0)

    def service_down(self):
        title("7. the service is down")
        self.host.forget_attempts()
        with self.host.service_down():
            child, screen = self.terminal("sudo id -un", "alice")
            self.type_password(child, screen, "alice")
            status = self.finish(child, screen)
        claim("one line says so", child.screen.count("server not reachable") == 1)
        claim("the password signed in", status == 0)

    def walked_away(self):
        title("8. the phone walks away")
        note("iampass-helper watches the session; the phone says that it leaves, and the seat is logged out.")
        self.host.forget_attempts()
        with self.host.module_arguments("prompt=push"), Phone(self.host, "approve") as phone:
            screen = Screen("visitor@workstation", "ssh alice@localhost")
            child = self.host.terminal("ssh alice@localhost", user="visitor", show=screen, timeout=30)
            self.approve_at_the_prompt(child, screen, phone)
            child.expect(r"alice@workstation[^\n]*\$ ")
        child.sendline("echo at work; sleep 1000")
        child.expect("\nat work")
        time.sleep(1)
        note("iampassctl session list")
        for line in self.host.run("iampassctl", "session", "list").splitlines():
            print(f"   | {line}", flush=True)
        note("iampass-phone leave")
        left = time.monotonic()
        self.host.run("iampass-phone", "leave", "--state", testhost.PHONE_STATE, user="phone")
        self.finish(child, screen)
        took = time.monotonic() - left
        claim("the terminal says why", "Signed out: your phone left." in child.screen)
        claim(f"the session is gone {took:.1f} s after the phone left", took < 3 and not self.sessions_of("alice"))

    def train(self):
        title("9. the train: no network at all")
        note("alice's phone is pinned by six words; by its next approval this computer learns the phone's second key.")
        self.host.forget_attempts()
        self.pin_alices_phone()
        lines = "approvals = verified\nmethods_offline = phone\n"
        with self.host.changed(testhost.CONFIGURATION, lambda text: text + lines):
            with Phone(self.host, "approve", after=1) as phone:
                child, screen = self.terminal("sudo id -un", "alice")
                self.type_the_code(child, phone)
                self.finish(child, screen)
            note("now the computer has no network: the phone opens the link by itself, and shows eight digits.")
            self.host.run("ip", "link", "set", "lo", "down")
            try:
                status, screen_text = self.sudo_by_digits()
            finally:
                self.host.run("ip", "link", "set", "lo", "up")
        claim("the phone's digits signed in", status == 0 and "root" in screen_text)
        claim("digits were asked for, or a password", "Digits on your phone, or password: " in screen_text)

    def sudo_by_digits(self):
        child, screen = self.terminal("sudo --reset-timestamp id -un", "alice")
        child.expect(r"https://\S+/phone/#offline=[\w.-]+")
        link = child.match[0]
        child.expect_exact("Digits on your phone, or password: ")
        shown = self.host.run(
            "iampass-phone", "offline", "--state", testhost.PHONE_STATE, "--answer", "approve", link, user="phone")
        for line in shown.splitlines():
            show_phone(line)
        Pace.wait(LOOKS_AT_IT)
        digits = shown.rpartition("type on the computer: ")[2].strip()
        screen.typed(digits)
        child.sendline(digits)
        return self.finish(child, screen), child.screen

    def nobody_but_the_phone(self):
        title("10. whoever takes over the service")
        note("alice's phone is pinned, and this computer then believes its signature alone.")
        self.host.forget_attempts()
        with self.host.changed(testhost.CONFIGURATION, lambda text: text + "approvals = verified\n"):
            with Phone(self.host, "approve", after=1) as phone:
                child, screen = self.terminal("sudo id -un", "alice")
                self.type_the_code(child, phone)
                status = self.finish(child, screen)
            claim("alice's own phone signs in", status == 0 and "root" in child.screen)
            note("the attacker has the service's secrets, and registers a phone of theirs as alice's.")
            self.register_attackers_phone()
            said, _ = self.sudo_by_the_attacker()
            claim("the attacker's approval is refused", said.count("does not trust that phone") == 1)
        note("with approvals = service, the same phone would have signed in:")
        self.host.forget_attempts()
        _, status = self.sudo_by_the_attacker()
        claim("it is the computer's check that refused", status == 0)

    def pin_alices_phone(self):
        shown = self.host.run("iampass-phone", "status", "--json", "--state", testhost.PHONE_STATE, user="phone")
        words = json.loads(shown)["words"]
        show_phone(f"words: {words}")
        screen = Screen("root@workstation", "iampassctl phone trust alice")
        child = self.host.terminal("iampassctl phone trust alice", show=screen, timeout=30)
        child.expect_exact("Six words: ")
        child.sendline(words)
        claim("alice's phone is pinned", self.finish(child, screen) == 0)

    def register_attackers_phone(self):
        link = signed_requests.link_for_a_lost_phone(self.host, "alice")
        self.host.run("iampass-phone", "register", link, "--state", ATTACKERS_PHONE, "--ca", "/etc/iampass/ca.pem", user="phone")

    def sudo_by_the_attacker(self):
        """The attacker also sits at alice's terminal, and reads its code."""
        with Phone(self.host, "approve", after=1, state=ATTACKERS_PHONE) as phone:
            child, screen = self.terminal("sudo id -un", "alice")
            self.type_the_code(child, phone)
            if child.expect(["does not trust", "root"]) == 0:
                self.type_password(child, screen, "alice")
            status = self.finish(child, screen)
        return child.screen, status

    def sessions_of(self, user):
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            lines = self.host.run("loginctl", "list-sessions", "--no-legend").splitlines()
            if not any(user in line.split() for line in lines):
                return []
            time.sleep(0.05)
        return lines

    def acts(self):
        return [self.sudo_approved, self.sudo_denied, self.ssh_approved, self.ssh_chosen, self.login_approved,
                self.timed_out, self.service_down, self.walked_away, self.train,
                self.nobody_but_the_phone]


def play(built):
    began = time.monotonic()
    print("Booting a Debian of our own, with the service, and alice's phone registered …", flush=True)
    with testhost.Host(built, match_codes=True) as host:
        print(f"ready after {time.monotonic() - began:.0f} s; «…» is what the person at the keyboard does.")
        demo = Demo(host)
        for act in demo.acts():
            act()
    title("done")
    print("All ten acts went as they must. The host is gone; it lived in memory.")


def main():
    *options, built = sys.argv[1:] or ["--help"]
    if options not in ([], ["--fast"]) or built.startswith("-"):
        print(__doc__.strip())
        sys.exit(0 if built == "--help" else 64)
    Pace.fast = options == ["--fast"]
    try:
        play(built)
    except testhost.CannotBoot as refusal:
        print(f"No host can be booted on this machine:\n{refusal}")
        from Support.Demo import private_acts
        private_acts.play(built)
    except KeyboardInterrupt:
        # The host is stopped by now.
        sys.exit(130)
    except (Failed, pexpect.ExceptionPexpect) as failure:
        print(f"\ndemo: {str(failure).splitlines()[0]}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
