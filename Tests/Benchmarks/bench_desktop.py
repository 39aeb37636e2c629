"""What packaging/bench measures of desktops: how soon a screen is locked, a desktop is gone, and a locked screen opens.

On booted hosts of Debian 13, with the tests' own desktops without a monitor. The service's word is the time of its line
in the journal; logind's answers are its signals on the system bus.
"""

import contextlib
import json
import os
import secrets
import statistics
import subprocess
import tempfile
import time

import greeter_case
import test_lightdm_gtk
import test_lockers
import test_plasma
import test_sddm
import test_sddm_plasma
import test_sway
from bench_helper import moment
from Support.Hosts.testhost import password_of

#: What is asked: gone, or asked to lock; and locked. ms.
GONE, LOCKED = 300, 5_000
ALICE = 1_000
PATIENCE = 60
LOOK = 0.002


class Unlisted:
    """A case that only prepares."""

    def runTest(self):
        raise AssertionError("a benchmark is not a test")


class Sway(Unlisted, test_sway.Sway):
    pass


class SDDM(Unlisted, test_sddm.SDDM):
    pass


class LightDM(Unlisted, test_lightdm_gtk.LightDM):
    pass


class PlasmaAtSDDM(Unlisted, test_sddm_plasma.SDDM):
    pass


class Plasma(Unlisted, test_plasma.Walkaway):
    pass


class Swaylock(Unlisted, test_lockers.Swaylock):
    pass


class KWin(Unlisted, test_plasma.KWin):
    pass


class Signals:
    """logind's, as they come."""

    def __init__(self, host):
        self.file = tempfile.NamedTemporaryFile()
        self.process = host.start(
            "stdbuf", "--output=L", "busctl", "--system", "--json=short",
            "--match=type='signal',sender='org.freedesktop.login1'", "monitor", stdout=self.file, stderr=subprocess.DEVNULL)

    def close(self):
        # nsenter's child gets no signal of ours, and ends with its bus.
        subprocess.run(["pkill", "-KILL", "-P", str(self.process.pid)], check=False, timeout=30)
        self.process.wait(30)
        self.file.close()

    def first(self, since, member, value=None):
        """When it came first since then, in µs."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with open(self.file.name) as lines:
                for line in lines:
                    if line.endswith("\n") and self.is_of(json.loads(line), since, member, value):
                        return json.loads(line)["timestamp-realtime"]
            time.sleep(0.05)
        raise SystemExit(f"bench: logind never said {member}")

    @staticmethod
    def is_of(message, since, member, value):
        if message.get("timestamp-realtime", 0) < since * 1e6:
            return False
        if value is None:
            return message.get("member") == member
        changed = message["payload"]["data"][1] if message.get("member") == "PropertiesChanged" else {}
        return changed.get(member, {}).get("data") is value


@contextlib.contextmanager
def prepared(kind):
    """As a test of that class finds it, and cleaned up as after one."""
    case = kind()
    case.setUp()
    try:
        yield case
    finally:
        case.doCleanups()


@contextlib.contextmanager
def class_of(kind):
    kind.setUpClass()
    try:
        yield Signals(kind.host)
    finally:
        kind.doClassCleanups()


def measure_desktop(report, runs):
    report.part(f"Desktops without a monitor, {runs} runs; the machine's load was {os.getloadavg()[0]:.1f} at the start")
    for name, kind in {"sway, swaylock": Sway, "Plasma": Plasma}.items():
        with class_of(kind) as signals:
            measure_lock(report, name, kind, signals, runs)
    kinds = {"sway": Sway, "SDDM, i3lock's desktop": SDDM, "lightdm, i3lock": LightDM, "SDDM, Plasma": PlasmaAtSDDM,
             "Plasma": Plasma}  # fmt: skip
    for name, kind in kinds.items():
        with class_of(kind) as signals:
            measure_end(report, name, kind, signals, runs)
    for name, kind in {"swaylock": Swaylock, "Plasma": KWin}.items():
        with class_of(kind) as signals:
            measure_unlock(report, name, kind, signals, runs)


def measure_lock(report, name, kind, signals, runs):
    asked, locked = [], []
    for _ in range(runs):
        with prepared(kind) as case, case.configured("on_walkaway = lock"):
            case.sign_in()
            said, since = leave(case)
            asked.append((signals.first(since, "Lock") - said) / 1_000)
            locked.append((signals.first(since, "LockedHint", True) - said) / 1_000)
    report.add(f"walkaway to asked to lock: {name}", asked, "ms", GONE)
    report.add(f"walkaway to LockedHint: {name}", locked, "ms", LOCKED)


def measure_end(report, name, kind, signals, runs):
    ended, empty = [], []
    for _ in range(runs):
        with prepared(kind) as case:
            sign_in(case)
            said, since = leave(case)
            empty.append(when_gone(lambda: not names_of_alice(case.host)) / 1_000 - said / 1_000)
            ended.append((signals.first(since, "SessionRemoved") - said) / 1_000)
    report.add(f"walkaway to SessionRemoved: {name}", ended, "ms", GONE)
    report.add(f"walkaway to no process of the user's: {name}", empty, "ms", GONE)


def sign_in(case):
    if not isinstance(case, greeter_case.GreeterCase):
        case.sign_in()
        return
    with case.phone("approve"):
        case.begin()
        case.answer_for_the_phone()
        case.assert_signed_in()
    case.assert_eventually("the helper watches it", lambda: case.watched_count() == 1)


def leave(case):
    """When the service said so, in µs, and a moment before, in s."""
    # Not in step with anything, and past the service's short answers after a sign-in.
    time.sleep(6 + secrets.randbelow(1_000) / 1_000)
    since = time.time()
    case.leave()
    return moment(case.host, since, "iampass-server", "session walked away"), since


def names_of_alice(host):
    """The names of her processes, by the host's own /proc."""
    found = []
    for name in os.listdir(host.path("/proc")):
        with contextlib.suppress(OSError):
            if name.isdigit() and os.stat(host.path(f"/proc/{name}")).st_uid == ALICE:
                found.append(host.path(f"/proc/{name}/comm").read_text().strip())
    return found


def when_gone(check):
    """In µs."""
    deadline = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > deadline:
            raise SystemExit("bench: it does not go")
        time.sleep(LOOK)
    return time.time() * 1e6


def measure_unlock(report, name, kind, signals, runs):
    phone = [unlock_once(kind, signals, "", "session started") for _ in range(runs)]
    password = [unlock_once(kind, signals, password_of("alice"), "password typed instead") for _ in range(runs)]
    report.add(f"the phone's request to unlocked: {name}", phone, "ms")
    report.add(f"the password typed to unlocked: {name}", password, "ms")
    report.add(f"phone by password, medians: {name}", [statistics.median(phone) / statistics.median(password)], "")


def unlock_once(kind, signals, typed, line):
    """From the line that says that PAM has what it needs, until the screen is open; the phone approves at once."""
    with prepared(kind) as case, case.phone("approve") as phone:
        phone.wait_for("waiting for sign-ins")
        since = time.time()
        # A key that comes while the screen is just being locked goes nowhere.
        time.sleep(2)
        case.type(typed)
        if isinstance(case, KWin):
            end = signals.first(since, "LockedHint", False)
        else:
            end = when_gone(lambda: case.process not in names_of_alice(case.host))
        return (end - moment(case.host, since, None, line)) / 1_000
