"""What is run: every suite, with what it needs, how long it may take, and beside what it can run.

Four lanes. `build`: one compiler at a time, since one keeps every processor at work. `suite`: tests, which mostly wait,
several at once; each has folders, ports and namespaces of its own. `host`: booted hosts, fewer, since each is a whole
system. `light`: what hardly costs anything.
"""

import pathlib

from jobs import Job
from results import read_lines, read_swift, read_unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
TESTS, PACKAGING = PROJECT / "Tests", PROJECT / "packaging"
SUITE = pathlib.Path(__file__).with_name("suite.py")
#: Apart from .build, where developers build: tests and fuzzers are built here one after the other, so that libraries of
#: others are compiled once for both. Both keep the index, by which the unit tests are found: another option would compile
#: everything again.
SCRATCH = PROJECT / ".build-tests"
PYTHON = "/usr/bin/python3"

#: The files of a suite that Firefox runs too.
FIREFOX = ("answers", "approvals", "methods", "registration", "sessions", "console", "looks.Looks")

#: What each booted host of Tests/System/Host runs, split so that they take about as long; the traces of each come last.
HOSTS = {
    "host-sign-ins": "test_sudo test_ssh test_login_su test_faults test_environment",
    "host-helper": "test_helper test_helper_trouble test_helper_killed test_worker",
    "host-control": "test_control test_walkthrough test_desktop",
}
TRACES = "test_zz_traces"
#: On Debian 13 with screen lockers and polkit.
DESKTOP = "test_lockers test_polkit test_unlocking test_gnome_keyring"
#: A reboot empties folders in which the traces are looked for.
AFTER_TRACES = {"host-control": ["test_reboot"]}

#: Files that take longest, which begin first.
LONG = "test_hostile_service test_one_process test_hostile_network test_floods test_scarcity test_hostile test_variables".split()


class Plan:
    def __init__(self, logs, pattern=None):
        self.logs = logs
        self.debs = logs / "debs"
        self.pattern = pattern
        self.jobs = []

    def add(self, name, words, seconds, lane, suite=None, **more):
        self.jobs.append(Job(name, suite or name, words if callable(words) else lambda: [str(word) for word in words],
                             seconds, lane, **more))  # fmt: skip

    def built(self):
        """Where the release is; build-product's last line says so."""
        return (self.logs / "build.log").read_text().splitlines()[-1]

    def with_programs(self, *words):
        """A command that finds the release's programs, module and packages in its environment."""
        return lambda: [
            "env", f"IAMPASS_BIN={self.built()}", f"IAMPASS_MODULE={self.built()}/libpam_iampass.so",
            f"IAMPASS_DEBS={self.debs}", *map(str, words)]  # fmt: skip

    def python(self, folder, modules, *patterns):
        chosen = patterns or ((self.pattern,) if self.pattern else ())
        options = [word for pattern in chosen for word in ("-k", pattern)]
        return self.with_programs(PYTHON, "-B", SUITE, TESTS / "System" / folder, *modules, *options)

    def suite(self, folder, seconds):
        """A job for each file of the folder."""
        names = sorted((path.stem for path in (TESTS / "System" / folder).glob("test_*.py")), key=lambda name: (name not in LONG, name))
        for name in names:
            # It compiles, in the folder of the unit tests.
            lane, needs = ("build", ("build", "unit-build")) if name == "test_strangers" else ("suite", ("build",))
            self.add(f"{folder.lower()}/{name}", self.python(folder, [name]), seconds, lane, suite=folder.lower(),
                     needs=needs, read=read_unittest)  # fmt: skip

    def everything(self):
        self.add("format", "swift format lint --strict --recursive --parallel Package.swift Sources Tests".split(), 120, "light")
        self.add("layers", [TESTS / "check-layers"], 60, "light")
        self.add("words", [TESTS / "check-words"], 60, "light")
        self.add("links", [TESTS / "check-links"], 60, "light")
        self.add("model", [TESTS / "check-model"], 600, "light")
        self.add("build", [PACKAGING / "build-product"], 1800, "build")
        for release in ("12", "13", "13-desktop"):
            self.add(f"root-{release}", [TESTS / "Support/Hosts/make-root", release], 1200, "light")
        self.add("machine-13", [TESTS / "Support/Machine/make-machine"], 1200, "light")
        self.unit_tests()
        self.add("load-check", lambda: [str(PROJECT / "pam/check-load"), self.built() + "/libpam_iampass.so"], 60, "light",
                 needs=("build",))  # fmt: skip
        self.add("man-pages", lambda: [str(PACKAGING / "man/check"), self.built()], 60, "light", needs=("build",))
        self.packages()
        self.hosts()
        self.suites()
        self.sanitizers_and_fuzzers()
        return self.jobs

    def unit_tests(self):
        self.add("unit-build", ["swift", "build", "--package-path", PROJECT, "--scratch-path", SCRATCH, "--build-tests"],
                 2400, "build", gives_way=True)  # fmt: skip
        filters = ["--filter", self.pattern] if self.pattern else []
        self.add("unit-tests", ["env", "SWIFT_BACKTRACE=enable=no", SCRATCH / "debug/iampassPackageTests.xctest",
                                "--testing-library", "swift-testing", *filters],
                 900, "suite", needs=("unit-build",), read=read_swift)  # fmt: skip

    def packages(self):
        # Uncompressed, which takes seconds.
        words = lambda out: lambda: [  # noqa: E731
            str(PACKAGING / "build-deb"), "--built", self.built(), "--uncompressed", "--out", str(out)]  # fmt: skip
        self.add("packages", words(self.debs), 600, "light", needs=("build",))
        self.add("packages-again", words(self.debs / "again"), 600, "light", needs=("packages",))
        self.add("check-packages", [PACKAGING / "check-deb", self.debs, self.debs / "again"], 600, "light",
                 needs=("packages-again",))  # fmt: skip

    def hosts(self):
        for release in ("13", "12"):
            words = self.with_programs(TESTS / "Support/Hosts/package-suite", release, self.debs)
            self.add(f"debian-{release}", words, 1200, "host", needs=("packages", f"root-{release}"), read=read_unittest)
        for name, modules in HOSTS.items():
            files = (*modules.split(), TRACES, *AFTER_TRACES.get(name, []))
            self.add(name, self.python("Host", files), 1800, "host", suite="host", needs=("packages", "root-12"),
                     read=read_unittest, files=files)  # fmt: skip
        files = tuple(DESKTOP.split())
        self.add("host-desktop", self.python("Host", files), 900, "host", suite="host",
                 needs=("packages", "root-13-desktop"), read=read_unittest, files=files)  # fmt: skip

    def suites(self):
        for folder in ("Helper", "Caller", "Browser", "Server", "Module", "Control", "Packaging", "Libraries"):
            self.suite(folder, 1500)
        # A virtual machine each, for which a processor works all the time.
        self.add("machine/test_presence", self.python("Machine", ["test_presence"]), 900, "host", suite="machine",
                 needs=("build", "machine-13"), read=read_unittest)  # fmt: skip
        for name in FIREFOX:
            module = "test_" + name.partition(".")[0]
            job = self.python("Browser", [module], *([f"test_{name}"] if "." in name else []))
            self.add(f"firefox/{module}", job, 900, "suite", suite="firefox", needs=("build",), read=read_unittest,
                     environment={"IAMPASS_BROWSER": "firefox"})  # fmt: skip
        # What packaging/demo shows if no host can boot.
        self.add("demo-acts", lambda: [PYTHON, "-B", str(TESTS / "Support/Demo/private_acts.py"), self.built()], 300,
                 "suite", needs=("build",))  # fmt: skip

    def sanitizers_and_fuzzers(self):
        self.add("sanitizers-build", [PACKAGING / "sanitize", "--build", "address"], 1800, "build", gives_way=True)
        self.add("sanitizers", self.with_programs(PACKAGING / "sanitize", "address"), 1200, "suite",
                 needs=("sanitizers-build", "build"), read=read_lines)  # fmt: skip
        # In the folder of the unit tests, so after them.
        self.add("fuzzers-build", [PACKAGING / "fuzz", "--build"], 1800, "build", needs=("unit-build",), gives_way=True)
        # The same choices each time, so that a failure can be repeated.
        self.add("fuzzers", [PACKAGING / "fuzz", "--seconds", "60", "--seed", "1"], 2400, "light", needs=("fuzzers-build",),
                 read=read_lines, gives_way=True)  # fmt: skip


#: Suites that --quick leaves out: they need booted hosts, or builds of their own.
SLOW = ("host", "debian-12", "debian-13", "root-12", "root-13", "root-13-desktop", "machine", "machine-13", "sanitizers", "sanitizers-build", "fuzzers", "fuzzers-build")


def closure(jobs, chosen):
    """The chosen jobs with all that they need, in the plan's order."""
    by_name = {job.name: job for job in jobs}
    wanted, waiting = set(), [job.name for job in chosen]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += by_name[name].needs
    return [job for job in jobs if job.name in wanted]
