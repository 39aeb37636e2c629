"""Plays a PAM host: reads one scene as JSON on standard input, makes the calls, prints what happened as JSON.

A process of its own for each scene, so that nothing of one reaches the next. It has a private /dev with a /dev/log of
its own, so that the module's log lines can be read.
"""

import ctypes
import json
import os
import resource
import signal
import socket
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
pam = ctypes.CDLL("libpam.so.0")

LOG_NDELAY = 8
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x00020000, 4096, 16384, 1 << 18
PAM_BUF_ERR, PAM_CONV_ERR = 5, 19
ITEMS = {"tty": 3, "rhost": 4, "ruser": 8}


class Message(ctypes.Structure):
    _fields_ = [("style", ctypes.c_int), ("text", ctypes.c_char_p)]


class Response(ctypes.Structure):
    _fields_ = [("text", ctypes.c_void_p), ("code", ctypes.c_int)]


CONVERSE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.POINTER(Message)),
    ctypes.POINTER(ctypes.POINTER(Response)),
    ctypes.c_void_p,
)


class Conversation(ctypes.Structure):
    _fields_ = [("converse", CONVERSE), ("data", ctypes.c_void_p)]


libc.calloc.restype = ctypes.c_void_p
libc.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
libc.strdup.restype = ctypes.c_void_p
pam.pam_getenvlist.restype = ctypes.POINTER(ctypes.c_char_p)


def mount(source, target, kind, flags):
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, None) != 0:
        raise OSError(ctypes.get_errno(), "mount " + target)


def take_the_log(folder):
    """Puts a socket at /dev/log that only this process and its children see."""
    if libc.unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    mount("none", "/", "none", MS_REC | MS_PRIVATE)
    devices = os.path.join(folder, "dev")
    os.makedirs(devices, exist_ok=True)
    for name in ("null", "zero", "full", "random", "urandom", "tty", "pts"):
        place = os.path.join(devices, name)
        if os.path.isdir("/dev/" + name):
            os.makedirs(place, exist_ok=True)
        else:
            open(place, "a").close()
        mount("/dev/" + name, place, "none", MS_BIND)
    mount(devices, "/dev", "none", MS_BIND | MS_REC)
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    if os.path.exists("/dev/log"):
        os.unlink("/dev/log")
    log.bind("/dev/log")
    # As syslog's own: programs that are not root write to it too.
    os.chmod("/dev/log", 0o666)
    log.setblocking(False)
    return log


def see_sessions(folder, own_uid=None):
    """What logind says of sessions is what stands in the folder. After `take_the_log`, so that only this process sees it.

    `own_uid`: logind also says that this process leads the session c1 of this user."""
    if own_uid is not None:
        with open(os.path.join(folder, "c1"), "w") as file:
            file.write(f"LEADER={os.getpid()}\nUID={own_uid}\nCLASS=user\nTYPE=tty\nREMOTE=1\nACTIVE=1\nSTATE=active\n")
    mount("tmpfs", "/run", "tmpfs", 0)
    os.makedirs("/run/systemd/sessions")
    mount(folder, "/run/systemd/sessions", "none", MS_BIND)


def read_log(log):
    lines = []
    while True:
        try:
            lines.append(log.recv(65536).decode("utf-8", "backslashreplace"))
        except BlockingIOError:
            return lines


def status():
    """User, umask, and what is ignored or caught of the standard signals (glibc's own begin at 32)."""
    found = {}
    for line in read("/proc/self/status").splitlines():
        name, _, value = line.partition(":")
        if name in ("SigIgn", "SigCgt"):
            found[name] = int(value, 16) & 0x7FFFFFFF
        elif name in ("Umask", "Uid", "Gid", "Groups"):
            found[name] = value.strip()
    return found


def peak():
    """KiB. Not ru_maxrss, which keeps what the parent had before the exec."""
    return next(int(line.split()[1]) for line in read("/proc/self/status").splitlines() if line.startswith("VmHWM:"))


def read(path):
    with open(path) as file:
        return file.read()


def state():
    """What a module must leave as it was."""
    numbers = range(1, 32)
    return {
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)),
        "environment": dict(os.environ),
        "mask": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "handlers": [str(signal.getsignal(number)) for number in numbers],
        "folder": os.getcwd(),
        "status": status(),
        "threads": len(os.listdir("/proc/self/task")),
        # Without /proc of this pid namespace, the number there is another.
        "children": read(f"/proc/self/task/{os.readlink('/proc/self')}/children").split(),
    }


class Scene:
    def __init__(self, scene, log):
        self.scene = scene
        self.log = log
        self.lines = []
        self.shown = []
        self.answers = list(scene.get("answers", []))

    def converse(self, count, messages, responses, _data):
        if self.scene.get("deaf"):
            return PAM_CONV_ERR
        # The kernel keeps ten lines for a reader; the next one would wait.
        self.lines += read_log(self.log) if self.log else []
        array = libc.calloc(count, ctypes.sizeof(Response))
        for index in range(count):
            message = messages[index].contents
            self.act_at(message.text.decode("utf-8", "backslashreplace"))
            text = message.text.decode("utf-8", "backslashreplace")
            self.shown.append({"style": message.style, "text": text, "at": time.monotonic()})
            if self.scene.get("screen"):
                # For a test that watches while the call waits.
                with open(self.scene["screen"], "a") as screen:
                    screen.write(text + "\n")
            if message.style in (1, 2):
                answer = self.answers.pop(0) if self.answers else None
                if isinstance(answer, dict):
                    answer = awaited(answer["file"])
                if answer == "HANG UP":
                    return PAM_CONV_ERR
                if answer == "":
                    # As a person does after reading the text.
                    time.sleep(self.scene.get("reading_time", 0.4))
                if answer is not None:
                    Response.from_address(array + index * ctypes.sizeof(Response)).text = libc.strdup(answer.encode())
        responses[0] = ctypes.cast(array, ctypes.POINTER(Response))
        return 0

    def act_at(self, text):
        """A host whose conversation function sets another user's name, at a text."""
        renaming = self.scene.get("renaming")
        if renaming and renaming["at"] in text:
            assert pam.pam_set_item(self.handle, 2, renaming["to"].encode()) == 0

    def play(self):
        scene = self.scene
        conversation = Conversation(CONVERSE(self.converse), None)
        handle = self.handle = ctypes.c_void_p()
        user = scene["user"].encode() if scene.get("user") is not None else None
        code = pam.pam_start_confdir(
            scene["service"].encode(), user, ctypes.byref(conversation), scene["folder"].encode(), ctypes.byref(handle)
        )
        assert code == 0, code
        for name, value in scene.get("items", {}).items():
            assert pam.pam_set_item(handle, ITEMS[name], value.encode()) == 0
        # A host has its connection to the log; without one the first line of libpam would open it.
        libc.openlog(None, LOG_NDELAY, 0)
        before = state()
        calls = []
        for call in scene["calls"]:
            began = time.monotonic()
            calls.append({"call": call, "code": self.call(handle, call), "seconds": time.monotonic() - began})
        after = state()
        variables = self.variables(handle)
        if not scene.get("leave_open"):
            pam.pam_end(handle, 0)
        return {
            "calls": calls,
            "codes": [call["code"] for call in calls],
            "shown": self.shown,
            "texts": [message["text"] for message in self.shown],
            "variables": variables,
            "changed": {name: [before[name], after[name]] for name in before if before[name] != after[name]},
            "peak_kilobytes": peak(),
        }

    def call(self, handle, call):
        if call.startswith("user="):
            return pam.pam_set_item(handle, 2, call[5:].encode())
        if call.startswith("putenv="):
            return pam.pam_putenv(handle, call[7:].encode())
        if call.startswith("in_child:"):
            return self.call_in_child(handle, call.removeprefix("in_child:"))
        name, _, flags = call.partition(":")
        interruption = None
        if self.scene.get("interrupt_after"):
            # Few scenes need what takes each of them 4 ms to load.
            import subprocess

            # From a process of its own: a thread here would take the signal while the module has it blocked.
            kill = f"sleep {self.scene['interrupt_after']}; kill -INT {os.getpid()}"
            interruption = subprocess.Popen(["/bin/sh", "-c", kill])
        code = getattr(pam, "pam_" + name)(handle, int(flags or 0))
        if interruption:
            interruption.wait()
        return code

    def call_in_child(self, handle, call):
        """As sshd authenticates: the child's PAM data is lost, its variables come back."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                code = self.call(handle, call)
                variables = self.variables(handle)
                if self.scene.get("child_ends"):
                    pam.pam_end(handle, code)
                with os.fdopen(writing, "w") as file:
                    json.dump([code, variables, self.shown, self.lines], file)
                status = 0
            finally:
                os._exit(status)
        os.close(writing)
        with os.fdopen(reading) as file:
            code, variables, self.shown, self.lines = json.load(file)
        os.waitpid(child, 0)
        for variable in variables:
            assert pam.pam_putenv(handle, variable.encode()) == 0
        return code

    @staticmethod
    def variables(handle):
        found, index = [], 0
        listed = pam.pam_getenvlist(handle)
        while listed[index]:
            found.append(listed[index].decode())
            index += 1
        return found


def awaited(path):
    """What a test writes there, once it has seen the prompt. The file is read once."""
    end = time.monotonic() + 60
    while not os.path.exists(path):
        assert time.monotonic() < end, path
        time.sleep(0.02)
    text = read(path)
    os.unlink(path)
    return text


def linger(path):
    """Stays, with all that the calls left in this process's memory, until the file is gone again."""
    open(path, "x").close()
    while os.path.exists(path):
        time.sleep(0.02)


def main():
    scene = json.load(sys.stdin)
    if scene.get("pid_file"):
        with open(scene["pid_file"], "w") as file:
            file.write(str(os.getpid()))
    # The demo also plays scenes without a mount namespace.
    log = None if scene.get("without_log") else take_the_log(scene["folder"])
    if scene.get("sessions"):
        see_sessions(scene["sessions"], scene.get("own_uid"))
    for place, file in scene.get("files", {}).items():
        # A link's target, in this process's own namespace.
        mount(file, os.path.realpath(place), "none", MS_BIND)
    for name, value in scene.get("environment", {}).items():
        os.environ[name] = value
    if scene.get("ignore_children"):
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if scene.get("block_interrupts"):
        # As sudo does while PAM runs.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    if scene.get("handle_interrupts"):
        signal.signal(signal.SIGINT, lambda *_: None)
    if "uid" in scene:
        os.setresuid(*[scene["uid"]] * 3)
    if "effective_uid" in scene:
        # As a program of root's that has put its rights aside.
        os.seteuid(scene["effective_uid"])
    if "real_uid" in scene:
        # As in a setuid program that this user began.
        os.setresuid(scene["real_uid"], 0, 0)
    for name, value in scene.get("limits", {}).items():
        soft, hard = value if isinstance(value, list) else (value, value)
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (soft, hard))
    played = Scene(scene, log)
    result = played.play()
    result["log"] = played.lines + (read_log(log) if log else [])
    if scene.get("linger"):
        linger(scene["linger"])
    json.dump(result, sys.stdout)


main()
