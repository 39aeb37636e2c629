"""The virtual machine of make-machine, with the product's probe and commands in it, and with Bluetooth."""

import pathlib
import re
import shutil
import subprocess

from Support.Machine.emulator import HERE, Emulator
from Support.Service.world import program

UNITS = HERE.parents[2] / "packaging" / "systemd"
#: Seconds. It boots in 25 s with the machine to itself.
BOOT = 180
#: btvirt numbers its controllers in this way.
ADAPTER, PHONE = "00:AA:01:00:00:00", "00:AA:01:01:00:01"


class ControllersStuck(Exception):
    """The virtual controllers no longer answer the machine's kernel, and only another machine helps."""


class Machine(Emulator):
    """Booted by its construction, gone with `close`."""

    def __init__(self):
        super().__init__()
        for name in ("bin", "lib", "units"):
            (self.share / name).mkdir()
        for name in ("bond.py", "desktop.py", "link_keys.py"):
            shutil.copy(HERE / name, self.share)
        for unit in ("iampass-presence.service", "iampass-presence.socket", "iampass-helper.service"):
            shutil.copy(UNITS / unit, self.share / "units")
        for name in ("iampass-helper", "iampassctl"):
            self.give(name)
        made = subprocess.run([HERE / "make-machine"], stdout=subprocess.PIPE, text=True, check=True)
        folder = pathlib.Path(made.stdout.splitlines()[-1])
        self.start(folder / "kernel", folder / "root.cpio", memory=2000)
        try:
            self.wait_until_ready(BOOT)
        except BaseException:
            self.close()
            raise

    def give(self, name):
        """A built program, with the libraries of Swift if it is a debug build."""
        shutil.copy(program(name), self.share / "bin")
        listed = subprocess.run(["ldd", program(name)], stdout=subprocess.PIPE, text=True, check=True).stdout
        for path in re.findall(r"=> (/\S*/swift/linux/\S+)", listed):
            shutil.copy(path, self.share / "lib")

    def answer_at_once(self):
        """From here on the machine goes before all other work: its kernel gives up a controller that does not answer in 2 s.

        Only for tests that give it little to do, since others wait meanwhile.
        """
        subprocess.run(
            ["chrt", "--all-tasks", "--rr", "--pid", "1", str(self.process.pid)], check=True, stdout=subprocess.DEVNULL)

    def install(self):
        """The probe with its units, as the package installs it, and the commands."""
        self.run("""
            set -e
            # make-machine keeps BlueZ from starting by itself.
            rm -f /etc/systemd/system/bluetooth.service
            # Both adapters say that they are phones.
            printf '[General]\\nClass = 0x00020c\\n' >/etc/bluetooth/main.conf
            mkdir -p /usr/lib/swift-tests /usr/libexec/iampass /etc/iampass
            cp -r /share/lib/. /usr/lib/swift-tests
            echo /usr/lib/swift-tests >/etc/ld.so.conf.d/swift-tests.conf
            ldconfig
            install -m 755 /share/bin/iampass-helper /usr/libexec/iampass
            install -m 755 /share/bin/iampassctl /usr/sbin
            cp /share/units/* /usr/lib/systemd/system
            useradd --system --shell /usr/sbin/nologin _iampass-presence
            useradd --create-home alice
            systemctl daemon-reload
            systemctl start iampass-presence.socket bluetooth
        """)

    def restart_controllers(self):
        """New virtual controllers, switched on: the first is the computer's adapter, the second the phone's."""
        self.control("""
            await() { for ((turn = 0; turn < 50; turn++)); do "$@" && return; sleep 0.1; done; false; }
            are_gone() { ! compgen -G '/sys/class/bluetooth/hci*' >/dev/null; }
            are_there() { [[ $(busctl --timeout=5 tree --list org.bluez | grep -c '/hci[01]$') = 2 ]]; }
            switch_on() { busctl --timeout=8 set-property org.bluez "/org/bluez/$1" org.bluez.Adapter1 Powered b true; }
            for try in 1 2 3; do
                systemctl stop btvirt 2>/dev/null
                await are_gone
                systemd-run --quiet --collect --unit=btvirt btvirt -l3
                await are_there && switch_on hci0 && switch_on hci1 && exit 0
            done
            exit 1
        """)

    def power(self, adapter, is_on):
        """Switches an adapter on or off, as a desktop's settings do."""
        settings = f"org.bluez /org/bluez/{adapter} org.bluez.Adapter1 Powered b {'true' if is_on else 'false'}"
        # The kernel keeps a link for 2 s after its last user, and an adapter with a link does not switch off.
        self.control(f"""
            for try in 1 2 3 4; do
                sleep 2.5
                busctl --timeout=15 set-property {settings} && sleep 1 && exit 0
            done
            exit 1
        """)

    def bond(self):
        self.run("timeout 90 python3 /share/bond.py")
        self.wait_for_no_link()

    def wait_for_no_link(self):
        """The kernel keeps a link for 2 s after its last user, with the keys of its beginning."""
        self.control("""
            for ((turn = 0; turn < 300; turn++)); do
                compgen -G '/sys/class/bluetooth/hci*:*' >/dev/null || exit 0
                sleep 0.1
            done
            exit 1
        """)

    def bind(self):
        """Binds the phone to alice, as `iampassctl presence use` does after her approval."""
        digest = re.search("[0-9a-f]{64}", self.run(f"""
            key=$(sed -n 's/^Key=//p' /var/lib/bluetooth/{ADAPTER}/{PHONE}/info | head -n 1)
            printf "$(sed 's/../\\\\x&/g' <<<"$key")" | sha256sum
            """))[0]  # fmt: skip
        self.run(f"install -m 600 /dev/stdin /etc/iampass/presence <<<'alice {ADAPTER} {PHONE} {digest}'")

    def sit_down(self, *settings):
        """Alice has a desktop at the machine's own seat, and the helper looks for her bound phone."""
        self.bind()
        lines = "\n".join(settings)
        # The service is not there, and is not asked: nobody has signed in by phone.
        self.run(f"""
            set -e
            cat >/etc/iampass/iampass.conf <<'END'
server = https://127.0.0.1:9
presence = bluetooth
{lines}
END
            install -m 600 /dev/stdin /etc/iampass/credentials <<'END'
application_id = application
application_secret = 0123456789abcdef01234567
END
            systemd-run --quiet --unit=desktop --property=User=alice --property=PAMName=login \
                --property=StandardInput=tty --property=TTYPath=/dev/tty7 --setenv=XDG_SESSION_TYPE=wayland \
                --setenv=XDG_SEAT=seat0 --setenv=XDG_VTNR=7 python3 /share/desktop.py
            systemctl start iampass-helper
        """)

    def stand_up(self):
        self.run("systemctl stop iampass-helper desktop; rm -f /etc/iampass/presence")

    def control(self, commands):
        try:
            self.run(commands)
        except AssertionError as failure:
            raise ControllersStuck(str(failure)) from None
