"""The broker, as systemd would start it, and a locker that asks it."""

import os
import pathlib
import pwd
import socket
import time

from ends import CANCELLATION
from world import ENROLLED, PATIENCE, SUCCESS, program

UID = pwd.getpwnam(ENROLLED).pw_uid
SESSION = "LEADER=1\nUID={uid}\nCLASS=user\nTYPE=wayland\nSEAT=seat0\nREMOTE={remote}\nACTIVE={active}\nSTATE=active\n"
PROMPT = "Password, or Enter to approve on your phone: "
RINGING = "Approve the sign-in on your phone"
#: The frames of these endings.
APPROVED, ASIDE, BUSY = bytes([0, 2, 4, 1]), bytes([0, 2, 4, 5]), bytes([0, 2, 4, 9])
#: Flags of a request: a password follows; the user has pressed Enter.
FOLLOWS, AGREED = 4, 2
#: Seconds of a cancellation that is given up, after a test knows how its sign-in ended.
LEFT_OF_CANCELLATION = CANCELLATION / 2


def processes_of(broker):
    """The broker and the processes that serve its callers."""
    return 1 + len(pathlib.Path(f"/proc/{broker.process.pid}/task/{broker.process.pid}/children").read_text().split())


def request_for(user, service="swaylock", flags=FOLLOWS):
    """The frame by which a module asks; see BrokerMessage.swift."""
    content = bytes([1, flags, 0, 0, 0, len(user)]) + user.encode() + bytes([len(service)]) + service.encode()
    return bytes([0, len(content)]) + content


class WithBroker:
    """For a TestCase that has a `world`."""

    def set_up_broker(self, arguments):
        """PAM files with these arguments that callers who are not root can read, a session of the user, and a broker."""
        self.pam_of_lockers(arguments)
        for folder in (self.world.folder, self.world.path("pam.d")):
            os.chmod(folder, 0o755)
        self.logind_says(uid=UID)
        self.broker = self.start_broker()

    def pam_of_lockers(self, arguments):
        for service in ("swaylock", "polkit-1"):
            self.world.pam(service, arguments)
            os.chmod(self.world.path("pam.d", service), 0o644)

    def logind_says(self, uid, remote=0, active=1, name="3"):
        os.makedirs(self.world.path("logind"), exist_ok=True)
        self.world.write(f"logind/{name}", SESSION.format(uid=uid, remote=remote, active=active))

    def start_broker(self):
        path = pathlib.Path(self.world.path("run-broker", "socket"))
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(path))
            path.chmod(0o666)
            listening.listen(64)
            number = listening.fileno()
            words = [program("iampass-helper"), "--broker", "--config", self.world.path("iampass.conf"),
                     "--sessions", self.world.path("logind")]  # fmt: skip
            broker = self.world.start("/bin/sh", "-c", f'exec "$@" 3<&{number}', "sh", *words, pass_fds=(number,))
        self.addCleanup(broker.stop)
        return broker

    def lock(self, *answers, calls=("authenticate",), **scene):
        """A locker of the user's own, which answers with what was typed."""
        scene = {"uid": UID, "own": False, "answers": list(answers), "calls": calls, "screen": None, **scene}
        return self.world.play("swaylock", **scene)

    def end_given_up(self):
        """1 if the broker gave an end up, as far as can be known: it tells its caller first, then the service, and logs
        nothing of it. Waits for its process that serves the caller."""
        began = time.monotonic()
        while processes_of(self.broker) > 1:
            self.assertLess(time.monotonic(), began + PATIENCE, "a process of the broker's stays")
            time.sleep(0.02)
        return int(time.monotonic() - began >= LEFT_OF_CANCELLATION)

    def unlocked(self):
        """Whether Enter and the phone unlock, tried until the broker has time."""
        end = time.monotonic() + PATIENCE
        while self.lock("")["codes"] != [SUCCESS]:
            if time.monotonic() > end:
                return False
        return True
