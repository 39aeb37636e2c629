"""Sign-ins at GNOME's greeter and lock screen, with pictures. usage: desktop_acts.py BUILT FOLDER

The phone is iampass-phone in the machine; the digits that the screen shows are read from the service's database, since
nobody reads the screen.
"""

import contextlib
import pathlib
import sys
import tempfile
import time

from Support.Desktop import desktop_machine
from Support.Hosts.testhost import PHONE_STATE, password_of

SETTINGS = ("on_walkaway = lock", "unlock = approved", "approval_timeout = 60s")
#: Without KVM the screen takes its time. Seconds.
PATIENCE = 600
#: Where the edge of the greeter's entry is bright while it waits for an answer: shares of width and height.
PROMPT = (0.5, 0.59)
OPEN_REQUEST = """
import sqlite3
rows = sqlite3.connect("file:/var/lib/iampass-server/iampass.sqlite?mode=ro", uri=True).execute(
    "SELECT match_code FROM session WHERE ended_at IS NULL AND approved_at IS NULL").fetchall()
print(rows[-1][0] if rows else "")
"""
#: The session of alice's desktop.
DESKTOP = "loginctl --no-legend list-sessions | awk '$3 == \"alice\" && $4 == \"seat0\" { print $1 }'"
#: Without a session of logind's for the look itself.
READY = ("setpriv --reuid=alice --regid=alice --init-groups env XDG_RUNTIME_DIR=/run/user/1000 "
         "systemctl --user --quiet is-active gnome-session-initialized.target")
GREETER = "loginctl --no-legend list-sessions | grep -q 'gdm.* seat0'"


def note(text):
    print(f"   {time.strftime('%H:%M:%S')} {text}", flush=True)


class Acts:
    def __init__(self, machine, out):
        self.machine = machine
        self.out = out
        self.number = 0

    def play(self):
        self.wait_for_greeter()
        self.is_denied()
        self.is_not_answered()
        self.service_is_down()
        # After three failures the greeter shows the list again.
        self.choose_alice()
        with self.phone("approve") as phone:
            self.sign_in_by_phone(phone)
            self.unlock_by_phone(phone)
            self.unlock_by_password()
            self.walk_away()

    # The acts

    def wait_for_greeter(self):
        self.machine.wait("a greeter", GREETER)
        self.picture("greeter")

    def is_denied(self):
        with self.phone("deny"):
            self.choose_alice()
            prompt = self.machine.shot().pixel(*PROMPT)
            self.machine.key("ret")
            self.machine.until("the prompt is gone", lambda shot: shot.pixel(*PROMPT) != prompt)
            self.machine.until("the prompt is back", lambda shot: shot.pixel(*PROMPT) == prompt)
            # GDM says something itself two seconds later.
            self.shot("denied")
            self.machine.wait("a denial", "journalctl --no-pager --boot | grep -qF 'reason=denied on the phone'")
        # The greeter asks again.
        self.wait_for_prompt()

    def is_not_answered(self):
        self.press_enter_until("not answered in time", "not-answered")
        self.take_the_password_prompt()

    def service_is_down(self):
        self.machine.run("systemctl stop iampass-server")
        self.press_enter_until("unavailable", "service-down")
        self.take_the_password_prompt()
        self.machine.run("systemctl start iampass-server")
        self.machine.wait("the service", "ss -Hltn 'src 127.0.0.1:8443' | grep -q .")

    def sign_in_by_phone(self, phone):
        greeter = self.machine.shot()
        self.machine.key("ret")
        self.answer(phone, "digits")
        self.machine.wait("a session", f"[[ $({DESKTOP}) ]]")
        note("alice is signed in by phone")
        self.machine.wait("her desktop", READY)
        # A screen that nobody touched for minutes is dark.
        self.machine.key("shift")
        self.machine.until("the desktop", lambda shot: not shot.is_like(greeter) and any(shot.pixels))
        self.picture("desktop", still=6)
        # What GNOME shows after a sign-in lies before the windows.
        self.machine.key("esc")

    def unlock_by_phone(self, phone):
        self.lock("locked")
        self.machine.key("ret")
        self.answer(phone, "unlock-digits")
        self.wait_for_hint("no")
        note("the phone unlocked")

    def unlock_by_password(self):
        self.lock()
        self.machine.type(password_of("alice"))
        self.machine.key("ret")
        self.wait_for_hint("no")
        note("the password unlocked")

    def walk_away(self):
        self.machine.run(
            f"setpriv --reuid=phone --regid=phone --clear-groups --reset-env iampass-phone leave --state {PHONE_STATE}")
        # Without KVM the screen may need longer than the five seconds that the helper gives it, and she is signed out.
        locked = f"[[ $(loginctl show-session --property=LockedHint --value $({DESKTOP})) == yes ]]"
        self.machine.wait("a locked screen or a greeter", f"{{ [[ -z $({DESKTOP}) ]] || {locked}; }}")
        ended = self.machine.run(f"[[ -z $({DESKTOP}) ]] && echo 'signed out' || echo locked").strip()
        note(f"walkaway: {ended}")
        self.machine.key("shift")
        self.picture("walkaway", still=10)

    # What they share

    def picture(self, name, still=4):
        self.machine.settle(self.out / f"desktop-{name}.png", still=still)
        note(f"picture of {name}")

    def shot(self, name):
        """A picture of what may still change."""
        self.machine.picture(self.out / f"desktop-{name}.png")
        note(f"picture of {name}")

    def choose_alice(self):
        """The first of the user list."""
        before = self.machine.picture(self.out / "desktop-last.png")
        self.machine.key("ret")
        self.machine.change(before)
        self.picture("prompt")

    def wait_for_prompt(self):
        """The greeter asks again after the time that a failure costs."""
        time.sleep(10)
        # A screen that nobody touched for minutes is dark.
        self.machine.key("shift")
        self.machine.settle(self.out / "desktop-last.png")

    def lock(self, name="last"):
        self.machine.run(f"loginctl lock-session $({DESKTOP})")
        self.wait_for_hint("yes")
        self.machine.key("shift")
        time.sleep(5)
        # Shows the prompt behind the clock.
        self.machine.key("spc", "backspace")
        self.picture(name)

    def wait_for_hint(self, word):
        self.machine.wait(
            f"LockedHint={word}", f"[[ $(loginctl show-session --property=LockedHint --value $({DESKTOP})) == {word} ]]")

    def press_enter_until(self, reason, name):
        """Enter asks the phone; a picture of the line that the user sees then."""
        self.press_enter_and_wait_for(f"reason={reason}")
        # The prompt comes back with the line.
        time.sleep(4)
        self.shot(name)

    def take_the_password_prompt(self):
        """The same conversation goes on with the password; an empty one is refused, and the greeter asks again."""
        self.press_enter_and_wait_for("pam_unix(gdm-password:auth): authentication failure")
        self.wait_for_prompt()

    def press_enter_and_wait_for(self, line):
        self.machine.run("journalctl --sync; journalctl --no-pager --lines=0 --show-cursor | tail -n 1 | cut -c 12- >/run/act")
        self.machine.key("ret")
        self.machine.wait(
            f"the line {line}", f"{{ journalctl --no-pager --after-cursor=\"$(cat /run/act)\" | grep -qF '{line}'; }}")

    @contextlib.contextmanager
    def phone(self, answer):
        """Alice's phone."""
        self.number += 1
        unit = f"test-phone-{self.number}"
        self.machine.run(
            f"mkfifo /run/{unit}; chown phone /run/{unit}; systemd-run --quiet --collect --unit={unit} "
            f"--property=User=phone sh -c 'exec iampass-phone watch --state {PHONE_STATE} --answer {answer} "
            f"0<>/run/{unit}'")
        try:
            yield unit
        finally:
            self.machine.run(f"systemctl stop {unit}", check=False)

    def answer(self, phone, name):
        """Types at the phone what the screen shows, and takes a picture of it."""
        self.machine.run(
            f"cat >/run/open-request.py <<'END'{OPEN_REQUEST}END\n"
            "for ((turn = 0; turn < 60; turn++)); do code=$(python3 /run/open-request.py); [[ $code ]] && break; done\n"
            "[[ $code ]] && echo $code >/run/digits", seconds=PATIENCE)
        time.sleep(6)
        self.shot(name)
        self.machine.run(f"cat /run/digits >/run/{phone}")


def main():
    built, out = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="iampass-desktop-", dir="/var/tmp") as folder:
        note("making the disk")
        desktop_machine.make_image(built, folder, SETTINGS)
        machine = desktop_machine.Desktop()
        try:
            note("booting")
            machine.boot(folder)
            Acts(machine, out).play()
        except AssertionError:
            # What the screen shows now.
            with contextlib.suppress(AssertionError, OSError):
                machine.picture(out / "desktop-last.png")
            print(machine.run("journalctl --no-pager --lines=60; loginctl", check=False), flush=True)
            raise
        finally:
            machine.close()
        (out / "desktop-last.png").unlink()


if __name__ == "__main__":
    main()
