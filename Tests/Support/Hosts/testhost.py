"""A booted test host, its phone and its terminals, for the demo and for Tests/System/Host."""

import contextlib
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from Support.Hosts.terminal import PATIENCE, Terminal, children_of

HERE = pathlib.Path(__file__).resolve().parent
#: `host start` says with it that this machine cannot boot one.
CANNOT_BOOT = 3
PUSH_LINE = "Approve the sign-in on your phone"
CHOOSE_LINE = "Press Enter alone to approve on your phone"
#: As a terminal shows the question that comes before the phone is asked, and as a greeter does.
CHOOSE_PROMPT = CHOOSE_LINE + "\r\nPassword: "
GREETER_PROMPT = "Password, or Enter for phone: "
#: Where the application has match codes: sudo and login show the first, ssh the second.
PUSH_LINE_WITH_CODE = r"Approve the sign-in on your phone: code (\d\d)"
CODE_PROMPT = r"Code (\d\d): approve on your phone, then press Enter: "
#: How logind and PAM log a session that alice opens by ssh.
SSH_OPENED = r"New session \S+ of user alice|sshd:session\): session opened for user alice"
COMMON_AUTH = "/etc/pam.d/common-auth"
CONFIGURATION = "/etc/iampass/iampass.conf"
PHONE_STATE = "/home/phone/phone.json"
SERVICE_DATABASE = "/var/lib/iampass-server/iampass.sqlite"


class CannotBoot(Exception):
    """No host can be booted on this machine."""


def password_of(user):
    return f"{user}-password"


class Host:
    """A fresh host from `boot` to `stop`; a context manager that does both.

    A new application has match codes, as anywhere; `match_codes=False` is for who means something else. `release`: as
    make-root takes it.
    """

    def __init__(self, built, match_codes=False, release="12"):
        self.built = str(built)
        self.release = release
        self.match_codes = match_codes
        # Not a TemporaryDirectory: that one goes at exit before a host that is stopped at exit has read it.
        self.folder = tempfile.mkdtemp(prefix="iampass-host-")
        self.leader = None

    def __enter__(self):
        # Whoever ends us by TERM or HUP ends the host too.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: sys.exit(1))
        try:
            self.boot()
            self._call("install-built", self.folder, self.built)
            if not self.match_codes:
                self.set_match_codes("off")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def boot(self):
        answer = subprocess.run(
            [HERE / "host", "start", self.folder, self.release], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, timeout=1200, check=False)
        if answer.returncode == CANNOT_BOOT:
            raise CannotBoot(answer.stderr.strip())
        if answer.returncode != 0:
            raise RuntimeError(answer.stderr)
        self._find_leader()

    def add_packages(self, place):
        """Their files alone, in a folder inside."""
        self._call("install-built", self.folder, self.built, place)

    def reboot(self):
        """As after a power cut: nothing ends in order. Comes back with the service."""
        self._call("host", "reboot", self.folder)
        self._find_leader()
        self.wait_for_service()

    def _find_leader(self):
        self.leader = int(pathlib.Path(self.folder, "leader").read_text())

    def stop(self):
        self._call("host", "stop", self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, script, *words):
        answer = subprocess.run(
            [HERE / script, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            # A second Ctrl-C must not stop the stopping.
            text=True, timeout=180, check=False, start_new_session=True)
        if answer.returncode != 0:
            raise RuntimeError(f"{script} failed:\n{answer.stdout}")

    def path(self, inside):
        """The host's file as seen from here."""
        return pathlib.Path(f"/proc/{self.leader}/root") / str(inside).lstrip("/")

    def command(self, words, user=None, environment=None):
        """The words that run `words` in the host, with an environment of their own."""
        enter = ["nsenter", f"--target={self.leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup",
                 "--wdns=/", "--"]
        home = f"/home/{user}" if user else "/root"
        variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb",
                     "LANG": "C.UTF-8", "HOME": home, "USER": user or "root", **(environment or {})}
        # setpriv and not runuser: the latter is a PAM host itself.
        become = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        return enter + ["env", "-i"] + [f"{k}={v}" for k, v in variables.items()] + become + list(words)

    def run(self, *words, user=None, environment=None, check=True, timeout=120, text_in=None):
        """Runs a command without a terminal; its standard output and error, together."""
        answer = subprocess.run(
            self.command(words, user, environment), input=text_in or "", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
        if check and answer.returncode != 0:
            raise RuntimeError(f"{shlex.join(words)} ended with {answer.returncode}:\n{answer.stdout}")
        return answer.stdout

    def start(self, *words, user=None, environment=None, **options):
        """Starts a command without a terminal."""
        options.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(self.command(words, user, environment), **options)

    def terminal(self, command, user=None, environment=None, timeout=PATIENCE, show=None):
        """Runs a shell command on a terminal of the host's own, which `script` makes inside."""
        words = ["script", "--quiet", "--flush", "--return", "--command", command, "/dev/null"]
        return Terminal(self.command(words, user, environment), timeout, show)

    def login_terminal(self, show=None):
        """A `login` that starts with a session of none, as a getty's does."""
        return self.terminal("systemd-run --quiet --pty --collect --wait --service-type=exec login", show=show)

    # The service and the module's set-up

    def start_service(self):
        self.run("systemctl", "start", "iampass-server")
        self.wait_for_service()

    def wait_for_service(self):
        deadline = time.monotonic() + 60
        while not self.run("ss", "-Hltn", "src 127.0.0.1:8443"):
            if time.monotonic() > deadline:
                raise RuntimeError(self.run("journalctl", "--no-pager", "--lines=20", "--unit=iampass-server"))
            time.sleep(0.05)

    def set_match_codes(self, setting):
        self.run("iampass-server", "application", "set", "workstation", "--data", "/var/lib/iampass-server",
                 "--match-code", setting, user="_iampass-server")

    @contextlib.contextmanager
    def with_match_codes(self):
        self.set_match_codes("on")
        try:
            yield
        finally:
            self.set_match_codes("off")

    @contextlib.contextmanager
    def service_down(self):
        self.run("systemctl", "stop", "iampass-server")
        try:
            yield
        finally:
            self.start_service()

    @contextlib.contextmanager
    def changed(self, inside, change):
        """The host's file with its text changed, put back at the end."""
        before = self.path(inside).read_text()
        self.path(inside).write_text(change(before))
        try:
            yield
        finally:
            # After a reboot the same file has another path from here.
            self.path(inside).write_text(before)

    def module_arguments(self, words):
        """The auth line of common-auth with these arguments."""
        return self.changed(COMMON_AUTH, lambda text: re.sub(
            r"(pam_iampass\.so)[^\n]*", lambda match: f"{match[1]} {words}", text))

    def forget_attempts(self):
        """What the module remembers of unanswered and denied requests, and the service of denied ones."""
        self.run("find", "/run/iampass/attempts", "-type", "f", "-delete", check=False)
        # A process of its own, since it moves into the host's mount namespace.
        subprocess.run(
            [sys.executable, "-B", HERE / "forget_denials.py", str(self.leader), SERVICE_DATABASE], check=True, timeout=60)

    def journal(self, since=None):
        self.run("journalctl", "--sync")
        words = ["journalctl", "--no-pager", "--output=short-iso"] + ([f"--since=@{since}"] if since else [])
        return self.run(*words)

    def workers(self):
        """The process ids of the module's workers that run now; the phone's has another user, the helper's its own."""
        own = [*self.helper_workers(), self.main_pid("iampass-worker")]
        return [pid for pid in self._workers() if pid not in own]

    def helper_workers(self):
        helper = self.main_pid("iampass-helper")
        return self._workers("-P", helper) if helper != "0" else []

    def main_pid(self, unit):
        return self.run("systemctl", "show", "--property=MainPID", "--value", unit).strip()

    def _workers(self, *more):
        return self.run("pgrep", "-u", "_iampass", "-x", *more, "iampass-https", check=False).split()


class Phone:
    """Alice's phone, or whose `state` is given: `iampass-phone watch` in the host, and what it printed.

    `signs`: an administrator's phone, which signs documents unread.
    """

    def __init__(self, host, answer, after=None, state=PHONE_STATE, signs=False):
        self.host = host
        self.words = ["iampass-phone", "watch", "--state", state, "--answer", answer]
        if after is not None:
            self.words += ["--after", str(after)]
        if signs:
            self.words.append("--sign-documents")
        self._process = None
        self._log = None
        self.printed_at_last = ""
        self.typed = ""

    def __enter__(self):
        self._log = tempfile.TemporaryFile()
        self._process = self.host.start(
            "timeout", "--foreground", "300", *self.words, user="phone", stdin=subprocess.PIPE, stdout=self._log,
            stderr=subprocess.STDOUT)
        return self

    def type(self, text):
        """What a person types at the phone, such as the code that the terminal shows."""
        self.typed = text
        self._process.stdin.write(text.encode() + b"\n")
        self._process.stdin.flush()

    def __exit__(self, *_):
        # nsenter waits for its child, which gets the signal through `timeout`.
        for child in children_of(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            # One that lived on would answer for the next.
            for child in children_of(self._process.pid):
                for number in (*children_of(child), child):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(number, signal.SIGKILL)
            self._process.wait(timeout=30)
        self.printed_at_last = self.printed
        self._log.close()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    @property
    def printed(self):
        if self._log.closed:
            return self.printed_at_last
        size = os.fstat(self._log.fileno()).st_size
        return os.pread(self._log.fileno(), size, 0).decode(errors="replace")

    def requests(self):
        """The requests that rang."""
        return re.findall(REQUEST_LINE, self.printed, re.MULTILINE)

    def wait_for(self, text, patience=60):
        """Until the phone has printed it."""
        deadline = time.monotonic() + patience
        while text not in self.printed:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the phone did not print {text!r}:\n{self.printed}")
            time.sleep(0.02)

    def wait_for_requests(self, count, patience=60):
        deadline = time.monotonic() + patience
        while len(self.requests()) < count and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.requests()


#: How `iampass-phone watch` begins the line of a request.
REQUEST_LINE = r"^sign-in request$"
