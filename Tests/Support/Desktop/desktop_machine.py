"""A virtual machine of Debian 13 with GNOME, a screen and a keyboard, and the product's packages in it."""

import pathlib
import socket
import struct
import subprocess
import time
import zlib

from Support.Hosts import testhost
from Support.Machine.emulator import Emulator

RELEASE = "13-gnome"
#: Seconds. The user list comes within four minutes on two quiet processors, without KVM.
BOOT = 900
SCREEN = 900
#: What shows no name in the user list.
HIDDEN = ("phone", "visitor")
SCREENSHOT_WAIT = 60
#: With AVX2, Mesa's llvmpipe gathers pixels by instructions that Debian 12's qemu emulates wrongly: each gnome-shell with
#: windows died of a segmentation fault.
PROCESSOR = "max,avx2=off"
#: A PNG of a black screen with a cursor has 3 kB, and one of the user list 23. In bytes.
SHOWS_SOMETHING = 15_000
#: What qemu's card calls itself, and the sizes of the first monitor and of further ones. Mutter takes the largest for the
#: primary one.
CARD = "screen"
FIRST, FURTHER = (1280, 800), (1024, 768)


def make_image(built, folder, settings):
    """A disk of `RELEASE` with the packages, switched on for desktops, and its kernel, in `folder`."""
    folder = pathlib.Path(folder)
    root = folder / "root"
    root.mkdir()
    with testhost.Host(built, match_codes=True, release=RELEASE) as host:
        host.run("usermod", "--comment", "Alice", "alice")
        host.run("usermod", "--comment", "Bob", "bob")
        for name in HIDDEN:
            host.run("install", "-D", "/dev/stdin", f"/var/lib/AccountsService/users/{name}",
                     text_in="[User]\nSystemAccount=true\n")
        path = host.path(testhost.CONFIGURATION)
        path.write_text(path.read_text() + "".join(f"{line}\n" for line in settings))
        print(host.run("iampassctl", "enable", "--desktop"), flush=True)
        # As the postinst does, where a display manager may start.
        host.run("ln", "-sf", "/usr/lib/systemd/system/gdm3.service", "/etc/systemd/system/display-manager.service")
        host.run("systemctl", "set-default", "graphical.target")
        host.run("install", "-D", "/dev/stdin", "/etc/modules-load.d/machine.conf", text_in="9p\n9pnet_virtio\n")
        # Without KVM a desktop takes minutes to start.
        for manager in ("system", "user"):
            host.run("install", "-D", "/dev/stdin", f"/etc/systemd/{manager}.conf.d/slow.conf",
                     text_in="[Manager]\nDefaultTimeoutStartSec=900\n")
        # An empty list of file systems: the kernel's words say what is /.
        host.run("sh", "-c", ": >/etc/fstab")
        # The service keeps its database open.
        host.run("systemctl", "stop", "iampass-helper", "iampass-server")
        with host.start("tar", "--one-file-system", "--directory=/", "-cf", "-", ".", stdout=subprocess.PIPE) as packed:
            subprocess.run(["tar", "--directory", root, "-xpf", "-", "--numeric-owner", "--xattrs"], stdin=packed.stdout,
                           check=True)
        assert packed.returncode in (0, 1), "tar could not pack the host"
    kernel = sorted((root / "boot").glob("vmlinuz-*"))[-1]
    for name, source in {"kernel": kernel, "initrd": root / "boot" / kernel.name.replace("vmlinuz", "initrd.img")}.items():
        source.rename(folder / name)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", root, folder / "disk", "6G"], check=True)
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)


class Shot:
    """What the screen showed: rows of pixels, three bytes each."""

    def __init__(self, ppm):
        # "P6", width and height, the greatest value, and the pixels.
        _, size, _, self.pixels = ppm.split(b"\n", 3)
        self.width, self.height = map(int, size.split())

    @classmethod
    def is_whole(cls, ppm):
        if ppm.count(b"\n") < 3:
            return False
        shot = cls(ppm)
        return len(shot.pixels) == 3 * shot.width * shot.height

    def pixel(self, across, down):
        """That at these shares of width and height."""
        start = 3 * (int(self.height * down) * self.width + int(self.width * across))
        return self.pixels[start:start + 3]

    def is_like(self, other):
        """It shows the same but for details, such as a cursor or a wheel that turns."""
        if len(self.pixels) != len(other.pixels):
            return False
        # Not a multiple of three: all colours count.
        pairs = list(zip(self.pixels[::301], other.pixels[::301]))
        return sum(abs(one - another) > 8 for one, another in pairs) < 0.1 * len(pairs)

    def save(self, path):
        """As PNG."""
        row = 3 * self.width
        lines = b"".join(b"\0" + self.pixels[start:start + row] for start in range(0, len(self.pixels), row))
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 2, 0, 0, 0)
        with open(path, "wb") as file:
            file.write(b"\x89PNG\r\n\x1a\n")
            for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")):
                file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


class Desktop(Emulator):
    """Booted by `boot`, gone with `close`."""

    def boot(self, image, monitors=1):
        image = pathlib.Path(image)
        self.monitors = monitors
        self.monitor_path = self.folder / "monitor"
        # qemu connects its card's first output alone, unless a window asks for more. The kernel takes the others for
        # connected if its words say so. Without EDID they have the kernel's size and not the largest that qemu can draw.
        further = [f"video=Virtual-{number}:{FURTHER[0]}x{FURTHER[1]}e" for number in range(2, monitors + 1)]
        self.start(
            image / "kernel", image / "initrd", memory=3072, processor=PROCESSOR,
            words=("root=/dev/vda", "rw", "splash=0", *further),
            devices=["-machine", "q35", "-device",
                     f"virtio-vga,id={CARD},xres={FIRST[0]},yres={FIRST[1]},max_outputs={monitors}"
                     + (",edid=off" if further else ""), "-drive",
                     f"file={image / 'disk'},format=raw,if=virtio,snapshot=on", "-monitor",
                     f"unix:{self.monitor_path},server,nowait"])
        self.wait_until_ready(BOOT)

    def monitor(self, command):
        """One command of qemu's human monitor protocol."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SCREENSHOT_WAIT)
            connection.connect(str(self.monitor_path))
            answer = b""
            for line in (None, command):
                if line is not None:
                    connection.sendall(line.encode() + b"\n")
                    answer = b""
                while not answer.endswith(b"(qemu) "):
                    piece = connection.recv(4096)
                    if not piece:
                        raise AssertionError("qemu is gone")
                    answer += piece

    def key(self, *names):
        for name in names:
            self.monitor(f"sendkey {name}")
            # A key is held for 100 ms.
            time.sleep(0.3)

    def type(self, text):
        self.key(*({"-": "minus", " ": "spc"}.get(letter, letter) for letter in text))

    def picture(self, path, monitor=1):
        """What a monitor shows, as PNG."""
        path = pathlib.Path(path)
        path.write_bytes(self._dump("png", lambda data: data.endswith(b"IEND\xaeB`\x82"), monitor))
        return path

    def shot(self, monitor=1):
        return Shot(self._dump("ppm", Shot.is_whole, monitor))

    def _dump(self, kind, is_whole, monitor):
        new = self.folder / f"screen.{kind}"
        new.unlink(missing_ok=True)
        self.monitor(f"screendump {new} -f {kind} {CARD} {monitor - 1}")
        end = time.monotonic() + SCREENSHOT_WAIT
        while not new.exists() or not is_whole(new.read_bytes()):
            assert time.monotonic() < end, "qemu makes no picture"
            time.sleep(0.1)
        return new.read_bytes()

    def settle(self, path, seconds=SCREEN, still=4):
        """The picture once the screen shows more than a console, and has not changed for `still` seconds."""
        end = time.monotonic() + seconds
        last, since = b"", time.monotonic()
        while len(last) < SHOWS_SOMETHING or time.monotonic() - since < still:
            assert time.monotonic() < end, "the screen does not come to rest"
            now = self.picture(path).read_bytes()
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(1)
        return path

    def until(self, what, check, seconds=SCREEN):
        """Until a shot of the screen shows what is waited for."""
        end = time.monotonic() + seconds
        while not check(self.shot()):
            assert time.monotonic() < end, f"in {seconds} s the screen did not show {what}"
            time.sleep(0.1)

    def wait(self, what, command, seconds=SCREEN):
        """Until a command of bash in the machine succeeds."""
        try:
            self.run(f"for ((turn = 0; turn < {seconds}; turn++)); do {command} && exit 0; sleep 1; done; exit 1",
                     seconds=seconds * 3)
        except AssertionError as failure:
            raise AssertionError(f"in {seconds} s there was not {what}") from failure
