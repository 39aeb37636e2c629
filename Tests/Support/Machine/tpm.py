"""A TPM 2 of software for a virtual machine, and the firmware that measures into it."""

import contextlib
import pathlib
import subprocess
import tempfile
import time

FIRMWARE = "/usr/share/ovmf/OVMF.fd"
#: The longest wait, in seconds.
PATIENCE = 30


class TPM:
    """What it keeps outlasts a machine."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="iampass-tpm-")

    def close(self):
        self.folder.cleanup()

    @contextlib.contextmanager
    def plugged_in(self):
        """qemu's words for a machine that has it."""
        socket = pathlib.Path(self.folder.name, "socket")
        socket.unlink(missing_ok=True)
        process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder.name}", "--ctrl", f"type=unixio,path={socket}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + PATIENCE
            while not socket.exists():
                assert process.poll() is None and time.monotonic() < end, "swtpm does not start"
                time.sleep(0.05)
            # On two emulated processors a kernel panicked as it patched its own code.
            yield ("-smp", "1", "-machine", "q35", "-bios", FIRMWARE, "-chardev", f"socket,id=tpm,path={socket}",
                   "-tpmdev", "emulator,id=tpm,chardev=tpm", "-device", "tpm-crb,tpmdev=tpm")
        finally:
            process.kill()
            process.wait()
