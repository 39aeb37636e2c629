"""What a worker can do besides its work, tried from inside: nothing here is systemd's doing."""

import ctypes
import errno
import os
import pathlib
import select
import shutil
import socket
import subprocess
import tempfile
import unittest

from Support.Service.world import PATIENCE, program, read, run

SYS_ADD_KEY, SYS_KEYCTL, JOIN_SESSION_KEYRING, SETPERM, SESSION_KEYRING = 248, 250, 1, 5, -3
SYS_LANDLOCK = 444
INPUT_FAMILIES = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}
NOTHING = errno.ENOSYS

libc = ctypes.CDLL(None, use_errno=True)


def has_landlock():
    return libc.syscall(SYS_LANDLOCK, None, 0, 1) > 0


def refuse_by_seccomp(*names):
    """As in a container whose manager does not know these calls."""
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(0x7FFF0000))
    for name in names:
        seccomp.seccomp_rule_add(context, 0x00050000 | errno.EPERM, seccomp.seccomp_syscall_resolve_name(name.encode()), 0)
    if seccomp.seccomp_load(context) != 0:
        raise OSError("seccomp_load")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="iampass-confinement-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.chmod(cls.folder, 0o711)
        cls.worker = cls.path("iampass-https")
        shutil.copy(program("iampass-https"), cls.worker)
        os.chmod(cls.worker, 0o711)
        cls.probe = cls.path("probe.so")
        run("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", cls.probe,
            str(pathlib.Path(__file__).with_name("confinement_probe.c")))
        os.chmod(cls.probe, 0o755)
        pathlib.Path(cls.path("file")).write_text("anybody may read and write this\n")
        os.chmod(cls.path("file"), 0o666)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def daemon(self):
        """As nscd's or systemd-resolved's: a socket that anybody may connect to."""
        place = self.path(f"daemon-{os.urandom(4).hex()}")
        listening = socket.socket(socket.AF_UNIX)
        self.addCleanup(listening.close)
        listening.bind(place)
        os.chmod(place, 0o666)
        listening.listen(8)
        return place

    @staticmethod
    def key():
        """In a keyring that only what is started here has; whoever has the keyring may read it."""
        if libc.syscall(SYS_KEYCTL, JOIN_SESSION_KEYRING, None) < 0:
            return 0
        number = libc.syscall(SYS_ADD_KEY, b"user", b"iampass-ticket", b"secret", 6, SESSION_KEYRING)
        return max(number, 0)

    def start(self, given, *words, before=lambda: None):
        """The worker with `given` as its socket; (process, what it says of itself)."""
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        variables = {"LD_PRELOAD": self.probe, "PROBE_FILE": self.path("file"), "PROBE_SOCKET": self.daemon()}

        script = f'PROBE_KEY=$(cat {self.path("key")}) exec "$@" 3<&{given.fileno()} 5>&{writing}'
        process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", self.worker, "nobody", *words], env={"PATH": "/usr/bin:/bin", **variables},
            pass_fds=(given.fileno(), writing), stdin=subprocess.DEVNULL,
            preexec_fn=lambda: (pathlib.Path(self.path("key")).write_text(str(self.key())), before()))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(writing)
        return process, reading

    def hear(self, reading, where):
        """What was tried: errno by name."""
        text = b""
        while f"{where} end 0\n".encode() not in text:
            self.assertTrue(select.select([reading], [], [], PATIENCE)[0], f"it says no more: {text.decode()}")
            more = os.read(reading, 65536)
            self.assertTrue(more, f"the worker ended: {text.decode()}")
            text += more
        lines = [line.split(" ") for line in text.decode().splitlines()]
        return {what: int(code) for place, what, code in lines if place in (where, "starting")}

    def speaking(self, **options):
        ours, given = socket.socketpair()
        self.addCleanup(ours.close)
        with given:
            process, reading = self.start(given, **options)
        return process, self.hear(reading, "speaking")

    def waiting(self):
        """What the process that waits can do, and a worker that it forks."""
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(self.path("worker"))
            self.addCleanup(os.unlink, self.path("worker"))
            listening.listen(8)
            process, reading = self.start(listening, "standby")
        waiting = self.hear(reading, "waiting")
        login = socket.socket(socket.AF_UNIX)
        self.addCleanup(login.close)
        login.connect(self.path("worker"))
        return process, waiting, self.hear(reading, "speaking")

    def assert_closed_in(self, found):
        """Holds for all of them; `found` loses what was looked at."""
        for family in range(50):
            expected = 0 if family in INPUT_FAMILIES else errno.EAFNOSUPPORT
            self.assertEqual(found[f"socket_{family}"], expected, family)
        self.assertEqual(found["socket_beyond"], errno.EAFNOSUPPORT)
        for refused in ("clone3", "clone_user", "ptrace", "keyctl", "bpf", "io_uring", "unshare", "signal_others",
                        "memory_of_others", "write_and_run", "run_written", "execve"):
            self.assertEqual(found[refused], NOTHING, refused)
        for needed in ("getaddrinfo", "load_module", "connect_daemon", "read_resolver", "read_certificates"):
            self.assertEqual(found[needed], 0, needed)
        if has_landlock():
            for refused in ("read_other", "write_other", "make_file"):
                self.assertEqual(found[refused], errno.EACCES, refused)

    def assert_without_privileges(self, process):
        status = dict(line.split(":\t", 1) for line in read(f"/proc/{process.pid}/status").splitlines() if ":\t" in line)
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))


class Inside(Case):
    def test_a_worker_has_its_work_and_nothing_else(self):
        process, found = self.speaking()
        self.assert_closed_in(found)
        self.assertEqual((found["thread"], found["fork"]), (0, NOTHING))
        self.assert_without_privileges(process)

    def test_what_waits_forks_and_nothing_else(self):
        process, waiting, speaking = self.waiting()
        self.assert_closed_in(waiting)
        self.assertEqual(waiting["fork"], 0)
        self.assert_without_privileges(process)
        self.assert_closed_in(speaking)
        self.assertEqual((speaking["thread"], speaking["fork"]), (0, NOTHING))

    def test_its_callers_keys_are_out_of_reach(self):
        _, found = self.speaking()
        self.assertEqual(found["callers_key"], errno.EACCES)


class Containers(Case):
    """The kernel, or the container's manager, refuses some of this."""

    def test_without_keyrings_and_landlock_it_works_and_is_closed_in_by_the_rest(self):
        names = ("keyctl", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
        process, found = self.speaking(before=lambda: refuse_by_seccomp(*names))
        self.assertEqual((found["socket_16"], found["fork"], found["execve"]), (errno.EAFNOSUPPORT, NOTHING, NOTHING))
        self.assert_without_privileges(process)


if __name__ == "__main__":
    unittest.main()
