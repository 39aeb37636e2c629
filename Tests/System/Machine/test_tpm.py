"""`keyring = sealed` with a TPM 2: the password is sealed on one boot of a virtual machine, and asked for on the next."""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from Support.Machine.emulator import HERE, Emulator
from Support.Machine.tpm import TPM
from Support.Service.world import MODULE, program

PROJECT = pathlib.Path(__file__).resolve().parents[3]
#: Seconds. The firmware takes half of it.
BOOT = 240
WORDS = (
    # Otherwise each boot would be another computer, whose host key is another.
    "systemd.machine_id=0123456789abcdef0123456789abcdef",
    # What the tests do not need takes time without KVM.
    "systemd.unit=basic.target", "systemd.mask=systemd-modules-load.service",
)  # fmt: skip
#: What a computer keeps besides the product.
KEPT = "etc home/alice var/lib/iampass var/lib/systemd/credential.secret"
SIGN_IN = "printf 'sesame\\n' | pamtester lightdm alice authenticate open_session"
#: What the module asks after an approval: one byte, which is 1 if a password comes behind it.
ASK = """python3 - <<'END'
import socket
with socket.socket(socket.AF_UNIX) as link:
    link.settimeout(30)
    link.connect("/run/iampass/keyring")
    link.sendall(b"\\x02\\x05alice")
    link.shutdown(socket.SHUT_WR)
    print(link.recv(600))
END"""
OPENED, SHUT = "b'\\x01sesame'", "b'\\x00'"
#: TPM2_Clear by the lockout's empty password (TPM 2.0 Library, part 3, 24.6): from then on it is another TPM.
CLEAR = """python3 - <<'END'
with open("/dev/tpmrm0", "r+b", buffering=0) as tpm:
    tpm.write(bytes.fromhex("8002 0000001b 00000126 4000000a 00000009 40000009 0000 00 0000"))
    assert tpm.read(4096)[6:10] == bytes(4)
END"""
STATUS = "iampassctl keyring status"
JOURNAL = "journalctl --no-pager --identifier=iampass-keyring"


class Files:
    """What a machine has besides its root: the product, a greeter's PAM service, and a service that nobody reaches."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iampass-tpm-"))
        self.root = self.folder / "root"
        self.put(program("iampassctl"), "usr/sbin/iampassctl")
        self.put(program("iampass-helper"), "usr/libexec/iampass/iampass-helper")
        self.put(MODULE, "usr/lib/x86_64-linux-gnu/security/pam_iampass.so")
        for unit in (PROJECT / "packaging/systemd").glob("iampass-keyring*"):
            self.put(unit, f"usr/lib/systemd/system/{unit.name}")
        for profile in (PROJECT / "packaging/pam-configs").iterdir():
            self.put(profile, f"usr/share/pam-configs/{profile.name}")
        for name in ("iampassctl", "iampass-helper"):
            listed = subprocess.run(["ldd", program(name)], stdout=subprocess.PIPE, text=True, check=True).stdout
            for path in re.findall(r"=> (/\S*/swift/linux/\S+)", listed):
                self.put(path, f"usr/lib/swift-tests/{pathlib.Path(path).name}")
        self.write("etc/ld.so.conf.d/swift-tests.conf", "/usr/lib/swift-tests\n")
        # Without pam_systemd, which would start a service manager of alice's.
        self.write("etc/pam.d/lightdm", "@include common-auth\n@include common-account\nsession optional pam_iampass.so\n")
        self.write("etc/iampass/iampass.conf", "server = https://127.0.0.1:9\nkeyring = sealed\n")
        self.write("etc/iampass/credentials", "application_id = a\napplication_secret = 0123456789abcdef01234567\n", 0o600)
        self.write("etc/iampass/users", "alice:token\n", 0o600)

    def put(self, source, path):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)

    def write(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def keep(self, packed):
        """For the next machine: what this one has changed."""
        subprocess.run(["tar", "--directory", self.root, "-xpf", packed], check=True)

    def initial(self, root):
        """An initial RAM disk of a root and these files. Firmware and kernel measure all of it, so that it is packed."""
        path = self.folder / "initial"
        with open(path, "wb") as file:
            subprocess.run(["zstd", "--quiet", "-1", "--stdout", root], stdout=file, check=True)
            # The kernel takes the next archive at a multiple of four.
            file.seek(0, os.SEEK_END)
            file.write(bytes(-file.tell() % 4))
            file.flush()
            names = subprocess.run(["find", ".", "-print0"], cwd=self.root, stdout=subprocess.PIPE, check=True).stdout
            subprocess.run(["cpio", "--quiet", "--null", "--create", "--format=newc"], cwd=self.root, input=names,
                           stdout=file, check=True)
        return path

    def close(self):
        shutil.rmtree(self.folder)


class Computer(Emulator):
    def __init__(self, devices, files):
        super().__init__()
        made = subprocess.run([HERE / "make-machine"], stdout=subprocess.PIPE, text=True, check=True)
        made = pathlib.Path(made.stdout.splitlines()[-1])
        self.start(made / "kernel", files.initial(made / "root.cpio"), 2000, WORDS, devices)

    def set_up(self):
        return self.run("""
            set -e
            ldconfig
            useradd --system --shell /usr/sbin/nologin _iampass
            useradd --create-home alice
            echo alice:sesame | chpasswd
            iampassctl enable --services lightdm --force
        """)

    def sign_in_by_password(self):
        """Until it is sealed, for the first time on this boot."""
        self.run(f"""
            {SIGN_IN}
            for ((turn = 0; turn < 60; turn++)); do
                {JOURNAL} | grep -qF 'sealed user=alice key=host+tpm2' && exit 0
                sleep 0.5
            done
            {JOURNAL}
            exit 1
        """)


@contextlib.contextmanager
def booted(tpm, files):
    with tpm.plugged_in() as devices:
        computer = Computer(devices, files)
        try:
            computer.wait_until_ready(BOOT)
            # Also the sockets listen then.
            computer.run("systemctl is-system-running --wait", check=False)
            yield computer
        finally:
            computer.close()


def setUpModule():
    global first, second
    tpm, files = TPM(), Files()
    for one in (tpm, files):
        unittest.addModuleCleanup(one.close)
    with booted(tpm, files) as computer:
        said = computer.set_up()
        computer.sign_in_by_password()
        first = {"enable": said, "status": computer.run(STATUS), "asked": computer.run(ASK)}
        computer.run(f"tar -C / -cf /share/kept.tar {KEPT}")
        files.keep(computer.share / "kept.tar")
    second = unittest.enterModuleContext(booted(tpm, files))


class Sealed(unittest.TestCase):
    def test_enable_and_status_name_the_tpm(self):
        self.assertIn("keyring: passwords are sealed to this computer's TPM 2 and disk", first["enable"])
        self.assertEqual(first["status"], "keyring = sealed\nalice: sealed with host+tpm2\n")
        self.assertEqual(first["asked"].strip(), OPENED)

    def test_the_next_boot_opens_it(self):
        self.assertEqual(second.run(ASK).strip(), OPENED)

    def test_with_another_tpm_it_stays_shut_and_a_sign_in_by_password_seals_again(self):
        self.assertEqual(second.run(ASK).strip(), OPENED)
        second.run(CLEAR)
        self.assertEqual(second.run(ASK).strip(), SHUT)
        self.assertIn("not opened user=alice: systemd-creds failed; the next sign-in by password seals again",
                      second.run(JOURNAL))
        second.sign_in_by_password()
        self.assertEqual(second.run(ASK).strip(), OPENED)


if __name__ == "__main__":
    unittest.main()
