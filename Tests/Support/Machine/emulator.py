"""A virtual machine under qemu without KVM, which test machines mostly do not have, and commands that run in it."""

import base64
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from pexpect import fdpexpect

HERE = pathlib.Path(__file__).resolve().parent
#: The longest time of a command, in seconds.
PATIENCE = 120
STARTER = """[Unit]
DefaultDependencies=no
RequiresMountsFor=/share
After=multi-user.target
[Service]
ExecStart=/share/in-machine
"""


class Emulator:
    """A folder that the machine has as /share, and the commands that in-machine takes from there."""

    #: Whether a test types at the machine's serial line.
    has_terminal = False

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="iampass-machine-"))
        self.share = self.folder / "share"
        self.number = 0
        self.process = None
        self.terminal = None
        for name in ("in", "out"):
            (self.share / name).mkdir(parents=True)
        shutil.copy(HERE / "in-machine", self.share)

    def start(self, kernel, initial, memory, words=(), devices=(), processor="max"):
        """Boots a kernel with an initial RAM disk. `words` are the kernel's, `memory` is in MiB, `processor` is qemu's."""
        starter = base64.b64encode(STARTER.encode()).decode()
        line = " ".join((
            "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on",
            "systemd.mount-extra=share:/share:9p:trans=virtio,version=9p2000.L,msize=262144",
            f"systemd.set_credential_binary=systemd.extra-unit.tests.service:{starter} systemd.wants=tests.service",
            *words))
        with self.console() as console:
            self.process = subprocess.Popen(
                # It is gone with the tests, however they end.
                ["setpriv", "--pdeathsig", "KILL", "nice", "-n", "-10", "qemu-system-x86_64", "-accel", "tcg,thread=multi",
                 "-cpu", processor, "-smp", "2", "-m", str(memory), "-nodefaults", "-display", "none", "-no-reboot",
                 "-serial", "stdio", "-kernel", kernel, "-initrd", initial, "-append", line, "-device", "virtio-rng-pci",
                 "-virtfs", f"local,path={self.share},mount_tag=share,security_model=none", *devices],
                # In a session of its own, whose share of the processor the next line raises: without it `nice` counts among
                # the tests' own processes alone.
                stdin=console if self.terminal else subprocess.DEVNULL, stdout=console, stderr=console, start_new_session=True)  # fmt: skip
        with contextlib.suppress(OSError):
            pathlib.Path(f"/proc/{self.process.pid}/autogroup").write_text("-10")

    @contextlib.contextmanager
    def console(self):
        """Where the machine's serial line goes: a file, or a terminal that a test types at."""
        with open(self.folder / "console", "w") as file:
            if not self.has_terminal:
                yield file
                return
        own, machines = os.openpty()
        self.terminal = fdpexpect.fdspawn(own, timeout=280, encoding="utf-8", codec_errors="replace")
        self.terminal.logfile_read = open(self.folder / "console", "w")
        try:
            yield machines
        finally:
            os.close(machines)

    def wait_for(self, path, seconds):
        end = time.monotonic() + seconds
        while not path.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                said = (self.folder / "console").read_text(errors="replace")[-2000:]
                raise AssertionError(f"the virtual machine has not made {path.name} in {seconds} s:\n{said}")
            time.sleep(0.05)

    def wait_until_ready(self, seconds):
        self.wait_for(self.share / "out" / "ready", seconds)

    def run(self, commands, check=True, seconds=PATIENCE):
        """Runs commands of bash in the machine; what they printed."""
        self.number += 1
        asked = self.share / "in" / f"{self.number}.new"
        asked.write_text(f"export LD_LIBRARY_PATH=/usr/lib/swift-tests\n{commands}\n")
        asked.rename(asked.with_suffix(".sh"))
        answer = self.share / "out" / f"{self.number}.status"
        self.wait_for(answer, seconds)
        said = (self.share / "out" / f"{self.number}.text").read_text(errors="replace")
        if check and answer.read_text() != "0\n":
            raise AssertionError(f"{commands}\nended with {answer.read_text().strip()}:\n{said}")
        return said

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder)
