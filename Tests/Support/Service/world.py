"""A private world for the module's tests: the real service, a phone, a configuration folder, and PAM calls."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

from Support.Service import ports
from Support.Service.ends import NOT_ENDED
from Support.Service.late_line import LATE
from Support.Service.never import assert_hidden, code_of_login

HERE = os.path.dirname(os.path.abspath(__file__))
PAM_CALL = os.path.join(HERE, "pam_call.py")
PYTHON = "/usr/bin/python3"
PROGRAMS = os.environ.get("IAMPASS_BIN", os.path.join(HERE, "../../../.build-product/release"))
MODULE = os.environ.get("IAMPASS_MODULE", os.path.join(PROGRAMS, "libpam_iampass.so"))

SUCCESS, SERVICE_ERR, AUTH_ERR, AUTHINFO_UNAVAIL, USER_UNKNOWN, MAXTRIES = 0, 3, 7, 9, 10, 11
SESSION_ERR, IGNORE, ABORT = 14, 25, 26

# Users that every Debian has.
ENROLLED, WITHOUT_TOKEN = "daemon", "bin"

# A sanitizer's runtime, which the host then has to load first: packaging/sanitize.
PRELOAD = os.environ.get("IAMPASS_PRELOAD")

# The host with the module in it, Python included, which take 19 MiB. The 30 MiB of a reply that unpacks to them would be too
# much. A sanitizer has books of its own.
GREATEST_KILOBYTES = 44 * 1024 * (32 if PRELOAD else 1)

# Longer than anything here takes; a test that reaches it fails.
PATIENCE = 120


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def program(name):
    return os.path.abspath(os.path.join(PROGRAMS, name))


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words} exited with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def code_of(call):
    return code_of_login(call["code"]) if call["call"].removeprefix("in_child:").partition(":")[0] == "authenticate" else call["code"]


def make_certificate(folder, name="server", subject="/CN=localhost", names="IP:127.0.0.1,DNS:localhost"):
    key, certificate = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".crt")
    run(
        *("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split()),
        "-subj", subject, "-addext", "subjectAltName=" + names, "-keyout", key, "-out", certificate,
    )  # fmt: skip
    return key, certificate


def forget_denials(folder):
    """Has the service with this data take its denials for older than they are: three block their source for a while."""
    path = os.path.join(folder, "iampass.sqlite")
    if os.path.exists(path):
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as database, database:
            database.execute(
                "UPDATE session SET ended_at = ended_at - 3600000 WHERE ending IN ('DENIED', 'NOT_ME', 'WRONG_CODE')")  # fmt: skip


class Background:
    """A program of ours in the background, with its lines."""

    def __init__(self, *words, **options):
        self.lines = []
        options.setdefault("stdin", subprocess.DEVNULL)
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
        )
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait_for(self, pattern, seconds=60):
        """The first line that has the pattern."""
        end = time.monotonic() + seconds
        with self.changed:
            while True:
                for line in self.lines:
                    if re.search(pattern, line):
                        return line
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"no line with {pattern!r} in {self.lines}")
                self.changed.wait(left)

    def type(self, text):
        """Types a line; the program was started with a pipe as its standard input."""
        try:
            self.process.stdin.write(text + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(f"it has ended with {self.process.wait(PATIENCE)}: {self.lines}") from None

    def count(self, pattern):
        with self.changed:
            return sum(bool(re.search(pattern, line)) for line in self.lines)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(5)
        self.process.stdout.close()
        if self.process.stdin:
            # What it did not read is lost with it.
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()


class World:
    """One folder with everything: configuration, credentials, users, run folder, PAM files."""

    greatest_kilobytes = GREATEST_KILOBYTES

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="iampass-module-")
        self.backgrounds = []
        self.standbys = []
        self.settings = {}
        os.mkdir(self.path("pam.d"))
        # The worker's user must reach its program.
        shutil.copy(program("iampass-https"), self.path("iampass-https"))
        os.chmod(self.path("iampass-https"), 0o711)
        # Under its own name, which libpam writes into the log.
        shutil.copy(MODULE, self.path("pam_iampass.so"))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w", newline="") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def answer(self, name, text="", mode=0o600):
        """Writes what a conversation waits for as {"file": ...}. It comes whole: whoever waits removes it at once."""
        self.write(f"{name}-unsent", text, mode)
        os.rename(self.path(f"{name}-unsent"), self.path(name))

    def configure(self, **settings):
        """Writes iampass.conf again with these changes. None removes a key."""
        self.settings.update(settings)
        defaults = {
            "run_dir": self.path("run"), "state_dir": self.path("state"), "worker": self.path("iampass-https"),
            "worker_user": "nobody", "services": "sudo login sshd su",
        }  # fmt: skip
        lines = [f"{key} = {value}\n" for key, value in {**defaults, **self.settings}.items() if value is not None]
        self.write("iampass.conf", "".join(lines), 0o644)

    def pam(self, service, arguments="prompt=push timeout=20s", lines=None):
        """Writes a PAM file with the module alone, or with these lines (MODULE stands for the module's line)."""
        line = f"{self.path('pam_iampass.so')} config={self.path('iampass.conf')} {arguments}"
        text = lines or "auth required MODULE\nsession required MODULE\n"
        self.write("pam.d/" + service, text.replace("MODULE", line))

    def start(self, *words, **options):
        background = Background(*words, **options)
        self.backgrounds.append(background)
        return background

    def serve(self, match_code="off"):
        """Starts the service, registers an application and a user. Codes are off unless the test is about them."""
        self.key, self.certificate = make_certificate(self.folder)
        self.start_server()
        words = ("application", "create", "tests", "--data", self.path("data"), "--match-code", match_code)
        self.write("credentials", run(program("iampass-server"), *words))
        self.configure(server=self.address, ca_file=self.certificate)
        run(program("iampassctl"), "user", "add", ENROLLED, "--config", self.path("iampass.conf"))

    def start_server(self, *more, port=None):
        """At a port of its own, so that it can come back there."""
        self.server = self.start(
            program("iampass-server"), "serve", "--data", self.path("data"), "--listen", f"127.0.0.1:{port or ports.take()}",
            "--tls-cert", self.certificate, "--tls-key", self.key, *more,
        )  # fmt: skip
        self.address = re.search(r"https://[0-9.:]+", self.server.wait_for("listening on https")).group(0)

    def restart_server(self, *more):
        self.server.stop()
        self.start_server(*more, port=self.address.rpartition(":")[2])

    def wait_for_logins(self):
        """Workers that wait, as iampass-worker.socket and its service have them; the process that forks them."""
        os.makedirs(self.path("run"), 0o700, exist_ok=True)
        # They look whether their program's file is still the one that runs.
        os.chmod(self.folder, 0o711)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            pathlib.Path(self.path("run", "worker")).unlink(missing_ok=True)
            listening.bind(self.path("run", "worker"))
            os.chmod(self.path("run", "worker"), 0o600)
            listening.listen(64)
            number = listening.fileno()
            process = subprocess.Popen(
                ["/bin/sh", "-c", f'exec "$@" 3<&{number}', "sh", self.path("iampass-https"), "nobody", "standby"],
                pass_fds=(number,), stdin=subprocess.DEVNULL)
        self.standbys.append(process)
        # Loading must not count against a login's patience.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as login:
            login.settimeout(PATIENCE)
            login.connect(self.path("run", "worker"))
            if not login.recv(1):
                raise AssertionError("no worker waits")
        return process

    def register_phone(self, state="phone.json"):
        link = json.loads(run(program("iampassctl"), "enroll", ENROLLED, "--json", "--config", self.path("iampass.conf")))
        run(program("iampass-phone"), "register", link["register_url"], "--state", self.path(state), "--ca", self.certificate)

    def phone(self, answer, *words, state="phone.json"):
        return self.start(program("iampass-phone"), "watch", "--state", self.path(state), "--answer", answer, *words)

    def phone_with_keys(self, answer, *words, state="phone.json"):
        """A phone at which a person types; see ``Background.type``."""
        return self.start(
            program("iampass-phone"), "watch", "--state", self.path(state), "--answer", answer, *words,
            stdin=subprocess.PIPE)  # fmt: skip

    def phone_status(self):
        return json.loads(run(program("iampass-phone"), "status", "--state", self.path("phone.json"), "--json"))

    def scene(self, service="sudo", user=ENROLLED, calls=("authenticate",), own=True, **scene):
        """What pam_call.py plays."""
        items = {"tty": "pts/7", "ruser": user} if own and user else {}
        self.write("screen", "")
        return {
            "service": service, "user": user, "calls": list(calls), "folder": self.path("pam.d"),
            "screen": self.path("screen"), "items": {**items, **scene.pop("items", {})}, **scene,
        }  # fmt: skip

    def play(self, service="sudo", user=ENROLLED, calls=("authenticate",), own=True, arguments=(), options=(), name=PYTHON,
             before=(), **scene):  # fmt: skip
        """One PAM scene; `own`: as sudo asks, for oneself at a terminal; `arguments`: further ones of the PAM host's own;
        `options`: those that stand before its file; `name`: its argv[0]; `before`: a program that runs the host, with its
        arguments, under the host's own name.

        In its result `texts`, `shown` and `log` have what is certain. `all` has every message that was shown, `not_ended`
        the log's lines about sessions whose end the module gave up.
        """
        scene = self.scene(service, user, calls, own, **scene)
        began = time.monotonic()
        done = subprocess.run(
            [*before, PYTHON, PAM_CALL, *arguments] if before else [name, *options, PAM_CALL, *arguments],
            executable=None if before else PYTHON, input=json.dumps(scene), capture_output=True,
            text=True, timeout=PATIENCE, env={**os.environ, **({"LD_PRELOAD": PRELOAD} if PRELOAD else {})},
        )  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(f"the PAM host exited with {done.returncode}: {done.stderr}")
        result = json.loads(done.stdout)
        result["codes"] = [code_of(call) for call in result["calls"]]
        result["wall"] = time.monotonic() - began
        # libpam names no module in what is logged while a handle ends.
        result["not_ended"] = [line for line in result["log"] if NOT_ENDED in line]
        result["log"] = [line for line in result["log"] if "pam_iampass" in line and NOT_ENDED not in line]
        result["all"] = result["shown"]
        result["shown"] = [message for message in result["all"] if not LATE.search(message["text"])]
        result["texts"] = [message["text"] for message in result["shown"]]
        self.check_always(result)
        return result

    @contextlib.contextmanager
    def playing(self, *words, **scene):
        """A scene that goes on while the `with` block acts; its result is there afterwards, in the list that it gets."""
        results = []
        self.write("screen", "")
        with concurrent.futures.ThreadPoolExecutor(1) as player:
            scene_ends = player.submit(self.play, *words, **scene)
            yield results
            results.append(scene_ends.result(PATIENCE))

    def code_on_the_screen(self, seconds=60):
        """The match code, read from what the PAM host shows, as a person reads it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if shown := re.search(r"[Cc]ode (\d\d)\b", read(self.path("screen"))):
                return shown[1]
            time.sleep(0.02)
        raise AssertionError(f"no code on the screen: {read(self.path('screen'))!r}")

    def wait_for_text(self, text):
        """Until the PAM host shows it."""
        end = time.monotonic() + PATIENCE
        while text not in read(self.path("screen")):
            if time.monotonic() > end:
                raise AssertionError(f"not shown: {text}")
            time.sleep(0.02)

    def check_always(self, result):
        """What holds after every call, however it ended."""
        if result["changed"]:
            raise AssertionError(f"left behind in the host: {result['changed']}")
        told = json.dumps(result)
        for secret in self.secrets():
            assert_hidden(secret, told, "in what was shown or logged")
        if result["peak_kilobytes"] > self.greatest_kilobytes:
            raise AssertionError(f"the host grew to {result['peak_kilobytes']} KiB")

    def forget_attempts(self):
        shutil.rmtree(self.path("run", "attempts"), ignore_errors=True)
        forget_denials(self.path("data"))

    def secrets(self):
        """What no log line, message or process list may hold."""
        found = []
        for name in ("credentials", "users"):
            if os.path.isfile(self.path(name)):
                found += re.findall(r"(?:application_secret\s*=\s*|^\w+:)(\S{16,})", read(self.path(name)), re.MULTILINE)
        return found

    def close(self):
        for background in reversed(self.backgrounds):
            background.stop()
        for process in self.standbys:
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
