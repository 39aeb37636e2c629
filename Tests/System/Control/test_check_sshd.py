"""`iampassctl check` with sshd's own word on `Match` blocks, in a root of the test hosts that nothing runs in."""

import os
import pathlib
import re
import subprocess
import unittest

from control import Answer, ControlWorld
from Support.Service.world import PATIENCE, program, run

MAKE_ROOT = pathlib.Path(__file__).resolve().parents[2] / "Support" / "Hosts" / "make-root"
#: The first root takes minutes.
MAKING = 1200
#: What it changes in the root lies in memory, in a mount namespace that ends with the command.
INSIDE = """
stage=$1 root=$2 ssh=$3
shift 3
mount -t tmpfs tmpfs "$stage"
mkdir "$stage/up" "$stage/work" "$stage/new"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$stage/up,workdir=$stage/work" "$stage/new"
while [ "$1" != -- ]; do
    mkdir -p "$stage/new$1"
    mount --rbind "$1" "$stage/new$1"
    shift
done
shift
mount -t proc proc "$stage/new/proc"
mount --bind "$ssh" "$stage/new/etc/ssh"
printf 'phoned:x:61001:anna,bea\\n' >>"$stage/new/etc/group"
printf 'anna:x:61002:61002::/:/bin/sh\\nbea:x:61003:61003::/:/bin/sh\\n' >>"$stage/new/etc/passwd"
exec chroot "$stage/new" "$@"
"""
#: Also shows what is in /run afterwards.
LOOK = '"$@"; code=$?; echo "in run:" $(ls -A /run); exit $code'
PASSWORDS = "PasswordAuthentication is off, but keyboard-interactive asks users without a phone for their password"
#: As pam-auth-update writes it: the phone, or the password.
PHONE_OR_PASSWORD = """\
auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] MODULE
auth [success=1 default=ignore] pam_unix.so
auth requisite pam_deny.so
auth required pam_permit.so
session required MODULE
"""
USUAL = "UsePAM yes\nKbdInteractiveAuthentication yes\nUseDNS no\nMaxStartups 100\n"


def setUpModule():
    global world, root
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    done = subprocess.run([MAKE_ROOT, "12"], stdout=subprocess.PIPE, text=True, timeout=MAKING, check=True)
    root = done.stdout.split()[-1]
    for folder in ("stage", "ssh"):
        os.mkdir(world.path(folder))
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", world.path("ssh", "ssh_host_ed25519_key"))
    world.configure(services="sshd", signed_replies="required", signed_targets="required")
    # Only sshd's name matters here; what its stack asks is looked at elsewhere.
    world.pam("sshd")


def own_libraries(path):
    """The folders of Swift's libraries, which a debug build loads and the root has not."""
    found = re.findall(r"=> (\S+/swift/\S+)", run("ldd", path))
    return sorted({os.path.dirname(name) for name in found})


class Matches(unittest.TestCase):
    def check(self, *lines):
        world.write("ssh/sshd_config", USUAL + "".join(line + "\n" for line in lines))
        words = ("sh", "-c", LOOK, "sh", program("iampassctl"), "check", "--pam-folder", world.path("pam.d"), "--config",
                 world.path("iampass.conf"))  # fmt: skip
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", INSIDE, "sh", world.path("stage"), root, world.path("ssh"), world.folder,
             os.path.dirname(program("iampassctl")), *own_libraries(program("iampassctl")), "/dev", "--", *words],
            capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)  # fmt: skip
        answer = Answer(done)
        self.assertRegex(answer.out, r"(?m)^in run:", answer.text)
        return answer

    def assert_said(self, answer, level, said):
        self.assertRegex(answer.out, rf"(?m)^\W*{level}\W+sshd: (?:{said})")

    def place(self, line):
        return rf"\(/etc/ssh/sshd_config:{USUAL.count(chr(10)) + line}\)"

    def test_a_key_alone_for_a_group_is_a_problem_that_names_file_and_line(self):
        answer = self.check(
            "Match Group phoned", "  AuthenticationMethods publickey publickey,keyboard-interactive",
            "Match User anna Address 192.0.2.0/24", "  AuthenticationMethods publickey,keyboard-interactive")
        self.assert_said(
            answer, "problem", rf"Match Group phoned {self.place(1)}: AuthenticationMethods .* so that publickey opens .*, as "
            "for user=anna")
        # The first of two blocks counts: what the second asks for is not asked for.
        self.assert_said(answer, "problem", rf"Match User anna Address 192.0.2.0/24 {self.place(3)}: .* publickey opens ")

    def test_a_block_that_switches_the_question_off_is_a_problem_for_whom_it_names_alone(self):
        answer = self.check("Match LocalPort 2222", "  KbdInteractiveAuthentication no", "Match User bea", "  X11Forwarding no")
        self.assert_said(answer, "ok", "UsePAM and KbdInteractiveAuthentication are on|public keys go past PAM")
        self.assert_said(
            answer, "problem", rf"Match LocalPort 2222 {self.place(1)}: KbdInteractiveAuthentication is off: the phone is never "
            "asked, as for lport=2222")
        self.assertNotIn("Match User bea", answer.out)

    def test_a_block_that_keeps_the_question_is_well(self):
        answer = self.check("Match User anna,bea", "  AuthenticationMethods publickey,keyboard-interactive")
        self.assert_said(answer, "ok", rf"Match User anna,bea {self.place(1)} lets the phone be asked: tried for user=anna, ")

    def test_what_is_not_known_is_a_warning_and_no_guess(self):
        answer = self.check(
            "Match User *,!anna", "  KbdInteractiveAuthentication no", "Match Group gone", "  PubkeyAuthentication no")
        self.assert_said(answer, "warning", rf"Match User \*,!anna {self.place(1)} cannot be judged: .* wildcards or negations")
        self.assert_said(answer, "warning", rf"Match Group gone {self.place(3)} cannot be judged: Group gone has no known member")

    def test_a_password_that_keyboard_interactive_takes_is_a_warning(self):
        self.addCleanup(world.pam, "sshd")
        world.pam("sshd", lines=PHONE_OR_PASSWORD)
        self.assertNotIn(PASSWORDS, self.check().out)
        answer = self.check("PasswordAuthentication no")
        self.assert_said(answer, "warning", PASSWORDS)
        self.assertRegex(answer.out, r"hint:\s+to\s+ask\s+for\s+a\s+key\s+as\s+well,\s+set\s+UsePAM")
        answer = self.check("PasswordAuthentication no", "AuthenticationMethods publickey,keyboard-interactive")
        self.assertNotIn(PASSWORDS, answer.out)

    def test_a_stack_that_asks_the_phone_alone_takes_no_password(self):
        self.assertNotIn(PASSWORDS, self.check("PasswordAuthentication no").out)

    def test_a_look_makes_no_folder_for_sshd(self):
        answer = self.check()
        self.assertNotIn("sshd -T failed", answer.out)
        self.assert_said(answer, "ok", "UsePAM and KbdInteractiveAuthentication are on|public keys go past PAM")
        self.assertNotIn("sshd", re.search(r"(?m)^in run:(.*)$", answer.out)[1].split())


if __name__ == "__main__":
    unittest.main()
