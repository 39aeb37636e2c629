"""Sign-ins at GNOME's greeter and lock screen, with pictures. usage: desktop_acts.py BUILT FOLDER [MONITORS]

The phone is iampass-phone in the machine; the digits that the screen shows are read from the service's database, since
nobody reads the screen.
"""

import contextlib
import json
import pathlib
import sys
import tempfile
import time

from Support.Desktop import desktop_machine
from Support.Hosts.testhost import CONFIGURATION, PHONE_STATE, password_of

SETTINGS = ("on_walkaway = lock", "unlock = approved", "approval_timeout = 60s")
#: Without KVM the screen takes its time. Seconds.
PATIENCE = 600
#: The upper edges, brighter than what is below them, of what has the keyboard: the greeter's entry while it waits for an
#: answer, or for a name, the first in the user list, and the lock screen's entry. Shares of width and height.
PROMPT, NAME, FIRST_USER, LOCK = (0.5, 0.59), (0.5, 0.577), (0.5, 0.327), (0.5, 0.642)
#: A point of the lock screen's button for other users, beside its picture. Shares of width and height.
OTHER_USERS = (0.945, 0.925)
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
#: Whose session the screen shows.
IN_FRONT = "loginctl show-session --property=Name --value $(loginctl show-seat --property=ActiveSession --value seat0)"
GREETER = "loginctl --no-legend list-sessions | grep -q 'gdm.* seat0'"
#: What mutter makes of the monitors. A greeter has a bus of its own.
MUTTER = """
shell=$(pgrep --oldest --exact --euid {user} gnome-shell)
bus=$(xargs --null --max-args=1 <"/proc/$shell/environ" | sed -n s/^DBUS_SESSION_BUS_ADDRESS=//p)
setpriv --reuid={user} --regid={user} --init-groups busctl --address="$bus" --json=short call org.gnome.Mutter.DisplayConfig \\
    /org/gnome/Mutter/DisplayConfig org.gnome.Mutter.DisplayConfig GetCurrentState
"""


def note(text):
    print(f"   {time.strftime('%H:%M:%S')} {text}", flush=True)


def has_question(shot):
    """The lock screen's entry, which is there before PAM asks, has the question's letters in it."""
    row = [max(shot.pixel(across / 1000, 0.664)) for across in range(410, 540)]
    return has_edge(shot, LOCK) and max(row) - min(row) > 40


def has_edge(shot, where):
    across, down = where
    return max(shot.pixel(across, down)) - max(shot.pixel(across, down + 0.006)) > 25


class Acts:
    def __init__(self, machine, out):
        self.machine = machine
        self.out = out
        self.number = 0
        self.further = range(2, machine.monitors + 1)

    def play(self):
        self.wait_for_greeter()
        self.is_not_listed()
        self.is_another_user()
        self.is_denied()
        self.is_not_answered()
        self.service_is_down()
        # After three failures the greeter shows the list again.
        self.choose_alice()
        with self.phone("approve") as phone:
            self.sign_in_by_phone(phone)
            self.unlock_by_phone(phone)
            self.unlock_by_password()
            # The pointer finds the button by the screen's edge.
            if not self.further:
                self.switch_users(phone)
            self.walk_away()
            self.walk_away_and_be_signed_out(phone)

    # The acts

    def wait_for_greeter(self):
        self.machine.wait("a greeter", GREETER)
        self.picture("greeter")
        self.all_monitors_are_used("Debian-gdm")

    def is_not_listed(self):
        """Behind "Not listed?" the greeter asks for the name first."""
        with self.first_monitor_alone("the name"):
            # The second Tab leaves the list.
            self.machine.key("tab", "tab", "ret")
            self.wait_for_edge("a field for the name", NAME)
            self.machine.type("alice")
            self.machine.key("ret")
            self.wait_for_edge("a prompt", PROMPT)
            self.picture("not-listed")
            self.go_back_to_the_list()

    def is_another_user(self):
        """Bob, who has no phone, and then nobody."""
        with self.first_monitor_alone("another user"):
            self.machine.key("down", "ret")
            self.wait_for_edge("a prompt", PROMPT)
            self.go_back_to_the_list()

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
        self.all_monitors_are_used("alice")
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

    def switch_users(self, phone):
        """From the lock screen to a greeter, which asks the phone and brings her back to the same desktop."""
        desktop = self.machine.run(DESKTOP)
        self.lock()
        self.press_the_button_for_other_users()
        self.machine.wait("a greeter in front", f"[[ $({IN_FRONT}) == Debian-gdm ]]")
        self.wait_for_edge("the user list", FIRST_USER)
        self.choose_alice()
        self.machine.key("ret")
        self.answer(phone, "last")
        self.machine.wait("alice in front", f"[[ $({IN_FRONT}) == alice ]]")
        self.wait_for_hint("no")
        assert self.machine.run(DESKTOP) == desktop, "she has another session"
        note("alice came back by phone from another greeter")

    def walk_away(self):
        self.leave()
        # Without KVM the screen may need longer than the five seconds that the helper gives it, and she is signed out.
        locked = f"[[ $(loginctl show-session --property=LockedHint --value $({DESKTOP})) == yes ]]"
        self.machine.wait("a locked screen or a greeter", f"{{ [[ -z $({DESKTOP}) ]] || {locked}; }}")
        ended = self.machine.run(f"[[ -z $({DESKTOP}) ]] && echo 'signed out' || echo locked").strip()
        note(f"walkaway: {ended}")
        self.machine.key("shift")
        self.picture("walkaway", still=10)

    def walk_away_and_be_signed_out(self, phone):
        """With the usual `on_walkaway = logout`."""
        self.machine.run(f"sed -i 's/^on_walkaway = lock$/on_walkaway = logout/' {CONFIGURATION}; "
                         f"systemctl restart iampass-helper; "
                         # A screen that locked too late has ended it.
                         f"session=$({DESKTOP}); [[ -z $session ]] || loginctl terminate-session $session")
        self.machine.wait("a greeter in front", f"[[ $({IN_FRONT}) == Debian-gdm ]]")
        self.wait_for_edge("the user list", FIRST_USER)
        self.choose_alice()
        self.machine.key("ret")
        self.answer(phone, "last")
        self.machine.wait("a session", f"[[ $({DESKTOP}) ]]")
        self.machine.wait("her desktop", READY)
        self.leave()
        self.machine.wait("nobody signed in", f"[[ -z $({DESKTOP}) ]]")
        self.machine.wait("a greeter in front", f"[[ $({IN_FRONT}) == Debian-gdm ]]")
        self.machine.key("shift")
        self.wait_for_edge("the user list", FIRST_USER)
        self.picture("signed-out")

    def press_the_button_for_other_users(self):
        """In the lower right corner. No key reaches it."""
        for _ in range(30):
            self.machine.monitor("mouse_move 100 100")
        without = self.machine.shot().pixel(*OTHER_USERS)
        # The button is brighter while the pointer is on it.
        end = time.monotonic() + PATIENCE
        while max(self.machine.shot().pixel(*OTHER_USERS)) <= max(without):
            assert time.monotonic() < end, "the pointer did not reach the button for other users"
            for _ in range(5):
                self.machine.monitor("mouse_move -3 -3")
                time.sleep(0.1)
            time.sleep(0.7)
        self.machine.monitor("mouse_button 1")
        self.machine.monitor("mouse_button 0")

    def leave(self):
        """Her phone leaves."""
        self.machine.run(
            f"setpriv --reuid=phone --regid=phone --clear-groups --reset-env iampass-phone leave --state {PHONE_STATE}")

    # What they share

    def picture(self, name, still=4):
        self.machine.settle(self.out / f"desktop-{name}.png", still=still)
        self.picture_further(name)

    def shot(self, name):
        """A picture of what may still change."""
        self.machine.picture(self.out / f"desktop-{name}.png")
        self.picture_further(name)

    def picture_further(self, name):
        """What the further monitors show at the same time."""
        if name != "last":
            for monitor in self.further:
                self.machine.picture(self.out / f"desktop-{name}-monitor-{monitor}.png", monitor)
        note(f"picture of {name}")

    @contextlib.contextmanager
    def first_monitor_alone(self, what):
        """The further monitors show the same as before."""
        before = {monitor: self.machine.shot(monitor) for monitor in self.further}
        yield
        for monitor, shot in before.items():
            assert self.machine.shot(monitor).pixels == shot.pixels, f"{what} changed monitor {monitor}"

    def all_monitors_are_used(self, user):
        """By mutter, as one wide screen, whose primary monitor is the first."""
        _, _, logical, _ = json.loads(self.machine.run(MUTTER.format(user=user)))["data"]
        used = {monitors[0][0]: is_primary for _, _, _, _, is_primary, monitors, _ in logical}
        assert used == {f"Virtual-{monitor}": monitor == 1 for monitor in (1, *self.further)}, f"mutter uses {used}"
        note(f"mutter uses {', '.join(sorted(used))}")

    def choose_alice(self):
        """The first of the user list."""
        with self.first_monitor_alone("the prompt"):
            self.machine.key("ret")
            self.wait_for_edge("a prompt", PROMPT)
            self.picture("prompt")

    def wait_for_edge(self, what, where):
        """Until what has its edge there has the keyboard."""
        self.machine.until(what, lambda shot: has_edge(shot, where))

    def go_back_to_the_list(self):
        self.machine.key("esc")
        self.wait_for_edge("the user list", FIRST_USER)

    def wait_for_prompt(self):
        """The greeter asks again after the time that a failure costs."""
        time.sleep(10)
        # A screen that nobody touched for minutes is dark.
        self.machine.key("shift")
        self.machine.settle(self.out / "desktop-last.png")

    def lock(self, name="last"):
        self.machine.run(f"loginctl lock-session $({DESKTOP})")
        self.wait_for_hint("yes")
        end = time.monotonic() + PATIENCE
        # The hint comes before the lock screen. A key wakes it if it is dark, and shows the prompt behind the clock.
        # GNOME drops an Enter that comes before the question.
        while not has_question(self.machine.shot()):
            assert time.monotonic() < end, f"in {PATIENCE} s the lock screen did not ask"
            self.machine.key("spc", "backspace")
            time.sleep(10)
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
    monitors = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory(prefix="iampass-desktop-", dir="/var/tmp") as folder:
        note("making the disk")
        desktop_machine.make_image(built, folder, SETTINGS)
        machine = desktop_machine.Desktop()
        try:
            note("booting")
            machine.boot(folder, monitors)
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
