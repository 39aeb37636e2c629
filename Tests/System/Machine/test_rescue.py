"""Root's rescue, as pam_iampass(8) prints it: the words on the kernel's command line, and what is typed then, on a virtual
machine whose disk has the phone asked for everything."""

import contextlib
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import pexpect

from Support.Machine.emulator import HERE, Emulator
from Support.Service.world import MODULE, program

PROJECT = pathlib.Path(__file__).resolve().parents[3]
#: How often a password is typed that may have come too early.
TRIES = 5
COMMON_AUTH = "etc/pam.d/common-auth"
CHOOSE = ("Press Enter alone to approve on your phone", "Password: ")
#: Mounts the disk as a boot loader's initial RAM disk does.
BEGIN = """#!/bin/sh
mount -t devtmpfs dev /dev
mount -t proc proc /proc
modprobe virtio_blk
modprobe ext4
until mount -t ext4 -o ro /dev/vda /mnt 2>/dev/null; do sleep 0.1; done
first=$(sed -n 's/.*\\<init=\\([^ ]*\\).*/\\1/p' /proc/cmdline)
umount /proc
mount --move /dev /mnt/dev
exec switch_root /mnt "${first:-/sbin/init}"
"""


class Disk:
    """A root of Debian 13 with the product on it, switched on, and a service that nobody reaches."""

    def __init__(self):
        made = subprocess.run([HERE / "make-machine"], stdout=subprocess.PIPE, text=True, check=True)
        self.made = pathlib.Path(made.stdout.splitlines()[-1])
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iampass-rescue-"))
        self.root = self.folder / "root"
        self.root.mkdir()
        with open(self.made / "root.cpio") as archive:
            subprocess.run(["cpio", "-idm", "--quiet", "-D", self.root], stdin=archive, check=True)
        self.install()
        self.before = (self.root / COMMON_AUTH).read_text()
        with self.proc():
            self.chroot("iampassctl enable --services sudo,login --force")
        assert "pam_iampass" in (self.root / COMMON_AUTH).read_text()
        self.image = self.folder / "disk"
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", self.root, self.image, "1600M"], check=True)
        self.initial = self.folder / "initial"
        self.make_initial()

    def put(self, source, path, mode=0o755):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
        target.chmod(mode)

    def write(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def install(self):
        for name in ("iampassctl", "iampass-helper", "iampass-https"):
            self.put(program(name), "usr/sbin/iampassctl" if name == "iampassctl" else f"usr/libexec/iampass/{name}")
            listed = subprocess.run(["ldd", program(name)], stdout=subprocess.PIPE, text=True, check=True).stdout
            for path in re.findall(r"=> (/\S*/swift/linux/\S+)", listed):
                self.put(path, f"usr/lib/swift-tests/{pathlib.Path(path).name}")
        self.put(MODULE, "usr/lib/x86_64-linux-gnu/security/pam_iampass.so", 0o644)
        for name in ("iampass", "iampass-session"):
            self.put(PROJECT / "packaging/pam-configs" / name, f"usr/share/pam-configs/{name}", 0o644)
        self.put(PROJECT / "packaging/systemd/iampass-helper.service", "usr/lib/systemd/system/iampass-helper.service", 0o644)
        self.write("etc/ld.so.conf.d/swift-tests.conf", "/usr/lib/swift-tests\n")
        self.write("etc/fstab", "/dev/vda / ext4 defaults 0 0\n")
        self.write("etc/iampass/iampass.conf", "server = https://127.0.0.1:9\n")
        self.write("etc/iampass/credentials",
                   "application_id = application\napplication_secret = 0123456789abcdef01234567\n", 0o600)  # fmt: skip
        self.write("etc/iampass/users", "alice:token\n", 0o600)
        self.chroot("""
            ldconfig
            useradd --system --shell /usr/sbin/nologin _iampass
            useradd --create-home alice
            printf '%s\\n' root:sesame alice:sesame | chpasswd
            systemctl enable iampass-helper 2>/dev/null ||
                ln -s /usr/lib/systemd/system/iampass-helper.service /etc/systemd/system/multi-user.target.wants
        """)

    def chroot(self, commands):
        done = subprocess.run(
            ["chroot", self.root, "bash", "-ec", commands], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(f"{commands}\nended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    @contextlib.contextmanager
    def proc(self):
        subprocess.run(["mount", "-t", "proc", "proc", self.root / "proc"], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", self.root / "proc"], check=True)

    def make_initial(self):
        """The machine's own, and the program that goes on to the disk."""
        more = self.folder / "more"
        more.mkdir()
        (more / "to-disk").write_text(BEGIN)
        (more / "to-disk").chmod(0o755)
        packed = subprocess.run(
            ["cpio", "--quiet", "--create", "--format=newc"], cwd=more, input=b"to-disk\n", stdout=subprocess.PIPE, check=True)
        with open(self.initial, "wb") as file, open(self.made / "root.cpio", "rb") as first:
            shutil.copyfileobj(first, file)
            file.write(packed.stdout)

    def close(self):
        shutil.rmtree(self.folder)


def setUpModule():
    global disk
    disk = Disk()
    unittest.addModuleCleanup(disk.close)


class Started(Emulator):
    has_terminal = True

    def __init__(self, *words):
        super().__init__()
        self.image = self.folder / "disk"
        subprocess.run(["cp", "--sparse=always", disk.image, self.image], check=True)
        drive = f"if=virtio,format=raw,cache=unsafe,file={self.image}"
        self.start(disk.made / "kernel", disk.initial, 2000, ("rdinit=/to-disk", *words), ("-drive", drive))

    def common_auth(self):
        """As the disk has it."""
        return subprocess.run(
            ["debugfs", "-R", f"cat /{COMMON_AUTH}", self.image], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            check=True).stdout  # fmt: skip

    def sign_in(self, user, *shown):
        self.terminal.expect("login: ")
        self.terminal.sendline(user)
        for text in shown:
            self.terminal.expect_exact(text)
        self.terminal.sendline("sesame")


class Rescue(unittest.TestCase):
    def started(self, *words):
        machine = Started(*words)
        self.addCleanup(machine.close)
        return machine

    def type_line(self, machine, line, prompt):
        machine.terminal.sendline(line)
        machine.terminal.expect(prompt)
        return machine.terminal.before

    def type_password(self, machine):
        """sulogin drops what comes while it has not yet turned the echo off."""
        for _ in range(TRIES):
            machine.terminal.sendline("sesame")
            if machine.terminal.expect(["# ", pexpect.TIMEOUT], timeout=60) == 0:
                return
        self.fail("no shell of root's")

    def test_single_user_mode(self):
        machine = self.started("systemd.unit=rescue.target")
        machine.terminal.expect("(?i)root password for (system )?maintenance")
        self.type_password(machine)
        self.assertIn("sign-in by phone is off", self.type_line(machine, "iampassctl disable", "# $"))
        machine.terminal.sendline("systemctl default")
        # The password alone is asked for again.
        machine.sign_in("alice", "Password: ")
        machine.terminal.expect(r"\$ ")

    def test_a_shell_in_place_of_the_system(self):
        machine = self.started("init=/bin/bash")
        machine.terminal.expect("# ")
        for line in ("mount -o remount,rw /", "mount -t proc proc /proc"):
            self.assertNotIn("mount:", self.type_line(machine, line, "# $"))
        self.assertIn("sign-in by phone is off", self.type_line(machine, "iampassctl disable", "# $"))
        self.type_line(machine, "sync", "# $")
        machine.terminal.sendline("reboot -f")
        machine.process.wait(60)
        self.assertEqual(machine.common_auth(), disk.before)

    def test_without_the_helper_the_phone_is_still_asked(self):
        machine = self.started("systemd.mask=iampass-helper.service")
        machine.wait_until_ready(180)
        self.assertIn("LoadState=masked\nActiveState=inactive", machine.run(
            "systemctl show --property=LoadState,ActiveState iampass-helper"))
        machine.sign_in("alice", *CHOOSE)
        machine.terminal.expect(r"\$ ")

    def test_zz_a_live_medium(self):
        # Without /proc the command does not know what it was asked for, and must not look as if it had done it.
        with self.assertRaisesRegex(AssertionError, "iampassctl: /proc is not mounted\n.*hint: mount -t proc proc /proc"):
            disk.chroot("iampassctl disable")
        with disk.proc():
            self.assertIn("sign-in by phone is off", disk.chroot("iampassctl disable"))
        self.assertEqual((disk.root / COMMON_AUTH).read_text(), disk.before)


if __name__ == "__main__":
    unittest.main()
