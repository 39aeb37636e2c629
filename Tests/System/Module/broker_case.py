"""The broker, as systemd would start it, and a locker that asks it."""

import contextlib
import json
import os
import pathlib
import pwd
import signal
import socket
import subprocess
import time

from sign_in_case import SignInCase
from Support.Service.ends import CANCELLATION, assert_ended
from Support.Service.world import ENROLLED, PAM_CALL, PATIENCE, SUCCESS, program, read

UID = pwd.getpwnam(ENROLLED).pw_uid
SESSION = "LEADER=1\nUID={uid}\nCLASS=user\nTYPE=wayland\nSEAT=seat0\nREMOTE={remote}\nACTIVE={active}\nSTATE=active\n"
LINE = "Press Enter alone to approve on your phone"
PROMPT = "Password: "
RINGING = "Approve the sign-in on your phone"
#: The frames of these endings.
APPROVED, ASIDE, BUSY = bytes([0, 2, 4, 1]), bytes([0, 2, 4, 5]), bytes([0, 2, 4, 9])
#: Flags of a request: a password follows; the user has pressed Enter; who began the program is named.
FOLLOWS, AGREED, ASKED_FOR = 4, 2, 8
#: Seconds of a cancellation that is given up, after a test knows how its sign-in ended.
LEFT_OF_CANCELLATION = CANCELLATION / 2


def processes_of(broker):
    """The broker and the processes that serve its callers."""
    return 1 + len(pathlib.Path(f"/proc/{broker.process.pid}/task/{broker.process.pid}/children").read_text().split())


def request_for(user, service="swaylock", flags=FOLLOWS, asker=None):
    """The frame by which a module asks; see BrokerMessage.swift. `asker`: with the flag ASKED_FOR."""
    content = bytes([1, flags, 0, 0, 0, len(user)]) + user.encode() + bytes([len(service)]) + service.encode()
    content += asker.to_bytes(4, "big") if asker is not None else b""
    return bytes([0, len(content)]) + content


def read_all(caller):
    found = b""
    # A broker that leaves bytes unread resets the connection.
    with contextlib.suppress(ConnectionResetError):
        while chunk := caller.recv(4096):
            found += chunk
    return found


class WithBroker:
    """For a TestCase that has a `world`."""

    def set_up_broker(self, arguments, *starter):
        """PAM files with these arguments that callers who are not root can read, a session of the user, and a broker that
        the words of `starter` run."""
        self.pam_of_lockers(arguments)
        for folder in (self.world.folder, self.world.path("pam.d")):
            os.chmod(folder, 0o755)
        self.logind_says(uid=UID)
        self.broker = self.start_broker(*starter)

    def pam_of_lockers(self, arguments):
        for service in ("swaylock", "polkit-1"):
            self.world.pam(service, arguments)
            os.chmod(self.world.path("pam.d", service), 0o644)

    def logind_says(self, uid, remote=0, active=1, name="3"):
        os.makedirs(self.world.path("logind"), exist_ok=True)
        self.world.write(f"logind/{name}", SESSION.format(uid=uid, remote=remote, active=active))

    def start_broker(self, *starter):
        path = pathlib.Path(self.world.path("run-broker", "socket"))
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(str(path))
            path.chmod(0o666)
            listening.listen(64)
            number = listening.fileno()
            words = [*starter, program("iampass-helper"), "--broker", "--config", self.world.path("iampass.conf"),
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


class BrokerCase(WithBroker, SignInCase):
    """Callers of the broker; the module sets `world`."""

    def setUp(self):
        super().setUp()
        # A busy machine needs longer than a user at a locker would wait; test_left_open is about that wait.
        self.world.configure(services="swaylock polkit-1", unlock_timeout="20s")
        self.set_up_broker("timeout=20s")
        # The broker of the test before may have been killed while it asked: this one ends that request.
        end = time.monotonic() + PATIENCE
        while self.asked() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(self.asked(), [])

    def asked(self):
        """Requests that are open, as the brokers keep them. A broker that was killed can leave a file that is not whole."""
        folder = self.world.path("run", "asked")
        return [name for name in os.listdir(folder) if not name.endswith(".new")] if os.path.isdir(folder) else []

    def connected(self, uid=UID, before=lambda: None):
        """A connection of this user's to the broker. `before` runs as the user."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            try:
                os.setresuid(uid, uid, uid)
                before()
                caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                caller.connect(self.world.path("run-broker", "socket"))
                socket.send_fds(theirs, [b"x"], [caller.fileno()])
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        theirs.close()
        _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
        ours.close()
        caller = socket.socket(fileno=descriptors[0])
        self.addCleanup(caller.close)
        caller.settimeout(PATIENCE)
        return caller

    def told(self, sent):
        """What a caller is told who sends this, once the broker has waited for the process of this user's last one."""
        end = time.monotonic() + PATIENCE
        while True:
            caller = self.connected()
            # A broker that is busy says so and closes at once.
            with contextlib.suppress(BrokenPipeError):
                caller.sendall(sent)
            found = read_all(caller)
            if found != BUSY:
                return found
            if time.monotonic() > end:
                raise AssertionError("the broker stays busy")

    def wait_for_the_services_reply(self):
        """The phone may know of the request before the broker has the service's reply."""
        end = time.monotonic() + PATIENCE
        while not self.asked() and time.monotonic() < end:
            time.sleep(0.05)

    def die_while_it_rings(self, phone, service, **scene):
        """A program that presses Enter and is killed once the phone rings; returns as `end_given_up`."""
        rung = phone.count("sign-in request")
        program = self.play_in_the_background(
            self.world.scene(service, own=False, answers=[""], screen=None, pid_file=self.world.path("pid"), **scene))
        end = time.monotonic() + PATIENCE
        while phone.count("sign-in request") == rung:
            self.assertLess(time.monotonic(), end, phone.lines)
            time.sleep(0.02)
        self.wait_for_the_services_reply()
        os.kill(int(read(self.world.path("pid"))), signal.SIGKILL)
        missed = self.end_given_up()
        program.wait(PATIENCE)
        return missed

    def play_in_the_background(self, scene):
        player = subprocess.Popen(
            ["/usr/bin/python3", PAM_CALL], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(player.wait)
        player.stdin.write(json.dumps(scene))
        player.stdin.close()
        return player

    def assert_nothing_is_left(self):
        missed = self.end_given_up()
        records = pathlib.Path(self.world.path("run", "sessions"))
        self.assertEqual(list(records.iterdir()) if records.exists() else [], [])
        assert_ended(lambda: 1 - len(self.sessions_left()), missed)
