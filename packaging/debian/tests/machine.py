"""The machine that the packages are tried on: commands, terminals, a phone, and what stands in its files."""

import contextlib
import glob
import hashlib
import os
import re
import stat
import subprocess
import tempfile
import time

import pexpect

#: Seconds; longer than anything here takes on a busy machine.
PATIENCE = 60
CHOOSE_PROMPT = "Press Enter alone to approve on your phone\r\nPassword: "
CODE_PROMPT = r"Code \d+: approve on your phone, then press Enter: "
PHONE_STATE = "/home/phone/phone.json"
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb", "LANG": "C.UTF-8",
               "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}


class Failed(AssertionError):
    """A command that had to end well did not."""


def run(*words, user=None, check=True, text_in="", timeout=300, package=None):
    """Output and errors, together; with `check` off, also the exit status: (status, text).

    With `package`, as dpkg runs that package's scripts.
    """
    ours = {"DPKG_MAINTSCRIPT_PACKAGE": package, "DPKG_MAINTSCRIPT_NAME": "prerm"} if package else {}
    done = subprocess.run(as_user(user) + list(words), input=text_in, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=timeout, env={**environment(user), **ours}, check=False)
    if not check:
        return done.returncode, done.stdout
    if done.returncode != 0:
        raise Failed(f"{words} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def as_user(user):
    # setpriv and not runuser: the latter is a PAM host itself.
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []


def environment(user):
    return {**ENVIRONMENT, **({"HOME": f"/home/{user}", "USER": user} if user else {})}


def apt(*words):
    return run("apt-get", "-q", "-y", "--no-install-recommends", "-o", "APT::Sandbox::User=root", *words, timeout=600)


def terminal(command, user=None):
    words = as_user(user) + ["sh", "-c", command]
    child = pexpect.spawn(words[0], words[1:], timeout=PATIENCE, encoding="utf-8", codec_errors="replace", echo=False,
                          env=environment(user))
    child.delaybeforesend = 0.02
    return child


def finish(child):
    """Reads to the end: exit status and all that was shown since the last thing waited for."""
    child.expect(pexpect.EOF)
    shown = child.before.replace("\r\n", "\n")
    child.close()
    return child.exitstatus, shown


def press_enter_for_the_phone(child):
    """At the choice, and at the prompt that shows a code, where there is one."""
    child.expect_exact(CHOOSE_PROMPT)
    # An answer that comes faster than anybody reads is not taken for Enter.
    time.sleep(0.5)
    child.sendline("")
    if child.expect([CODE_PROMPT, r"\n"]) == 0:
        child.sendline("")


def wait_until(claim, check, patience=PATIENCE):
    end = time.monotonic() + patience
    while not check():
        if time.monotonic() > end:
            raise Failed(f"not within {patience} s: {claim}")
        time.sleep(0.1)


class Phone:
    """Alice's phone: `iampass-phone watch`, until the block ends."""

    def __init__(self, answer):
        self.words = ["iampass-phone", "watch", "--state", PHONE_STATE, "--answer", answer]

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(as_user("phone") + self.words, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT, env=environment("phone"))
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()

    def rings(self):
        text = os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace")
        return len(re.findall(r"^sign-in request$", text, re.MULTILINE))


def leave():
    run("iampass-phone", "leave", "--state", PHONE_STATE, user="phone")


def is_active(unit):
    return run("systemctl", "is-active", unit, check=False)[1].strip() == "active"


def sessions(user):
    """The user's sessions at logind; of which later versions also count the user's service manager as one."""
    lines = run("loginctl", "list-sessions", "--no-legend").splitlines()
    return [line for line in lines if user in line.split() and not re.search(r"\bmanager(-early)?\b", line)]


def sudo_tickets(user):
    """What spares the user sudo's next question: a file of the user's name, from sudo 1.9.16 on of the number."""
    names = {user, run("id", "-u", user).strip()}
    return [path for path in glob.glob("/run/sudo/ts/*") if os.path.basename(path) in names]


def main_pid(unit):
    return run("systemctl", "show", "--property=MainPID", "--value", unit).strip()


def journal_of_the_module(mark, least="debug"):
    """The module's lines since the line `mark`, of this level and those above it."""
    run("journalctl", "--sync")
    text = run("journalctl", "--no-pager", "--output=short-iso", f"--priority={least}")
    return [line for line in text.split(mark, 1)[-1].splitlines() if "pam_iampass" in line]


def mark(name):
    text = f"mark {name} {time.monotonic_ns()}"
    run("logger", "--priority", "authpriv.info", text)
    return text


@contextlib.contextmanager
def moved_away(path):
    os.rename(path, path + ".away")
    try:
        yield
    finally:
        os.rename(path + ".away", path)


def module_path():
    return glob.glob("/usr/lib/*/security/pam_iampass.so")[0]


def library_path(name):
    return glob.glob(f"/usr/lib/*/{name}")[0]


# What stands on the machine

#: What changes by itself, or is a log, a cache, or dpkg's and debconf's own account of what was there once.
PASSING = re.compile(
    r"^/(proc|sys|dev|tmp|run|root|home|var/(log|cache|tmp|backups)|usr/share/info/dir$|"
    r"var/lib/(dpkg|apt|systemd|ucf|private)|etc/(ld\.so\.cache|ssh/|machine-id|\.pwd\.lock|"
    r"(passwd|shadow|group|gshadow|subuid|subgid)-?$)|var/lib/iampass-tests|.*/__pycache__)")


def files():
    """Each file's path and what tells it from another: mode, owner, content."""
    found = {}
    for folder, names, others in os.walk("/"):
        names[:] = [name for name in names if not PASSING.match(os.path.join(folder, name))]
        for name in names + others:
            path = os.path.join(folder, name)
            if not PASSING.match(path):
                found[path] = describe(path)
    return found


def describe(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(path)
    # /usr does not change but by the package, whose files are new ones.
    if stat.S_ISREG(status.st_mode) and not path.startswith("/usr/"):
        with open(path, "rb") as file:
            return status.st_mode, status.st_uid, hashlib.sha256(file.read()).hexdigest()
    return stat.S_IFMT(status.st_mode), status.st_uid


def pam_files():
    found = {}
    for path in glob.glob("/etc/pam.d/*"):
        with open(path, "rb") as file:
            found[path] = file.read()
    return found


def accounts():
    return sorted(run("getent", "passwd").splitlines() + run("getent", "group").splitlines())


def debconf_answers():
    """Whatever debconf's database has of us."""
    with open("/var/cache/debconf/config.dat", errors="replace") as file:
        answers = file.read()
    with open("/var/cache/debconf/templates.dat", errors="replace") as file:
        return sorted(line for line in (answers + file.read()).splitlines() if "iampass" in line.lower())


def units():
    return sorted(line for line in run("systemctl", "list-unit-files", "--no-pager", "--no-legend", "--plain").splitlines()
                  if "iampass" in line)
