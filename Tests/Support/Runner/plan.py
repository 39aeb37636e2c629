"""What is run: every suite, with what it needs, how long it may take, and beside what it can run.

Five lanes. `build`: two compilers, since each has long stretches for one processor alone. `suite`: tests, which mostly wait,
several at once; each has folders, ports and namespaces of its own. `host`: booted hosts, fewer, since each is a whole
system. `machine`: a virtual machine, which takes a host's place too, and for which a processor works all the time. `light`:
what hardly costs anything.
"""

import math
import pathlib
import re
import sys

from Support.Runner.jobs import Job
from Support.Runner.results import function_of, read_lines, read_suite, read_swift, read_unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
TESTS, PACKAGING = PROJECT / "Tests", PROJECT / "packaging"
SUITE = pathlib.Path(__file__).with_name("suite.py")
#: Apart from .build, where developers build: tests and fuzzers are built here one after the other, so that libraries of
#: others are compiled once for both. Both keep the index, by which the unit tests are found: another option would compile
#: everything again.
SCRATCH = PROJECT / ".build-tests"
PYTHON = "/usr/bin/python3"

#: The files of a suite that Firefox runs too.
FIREFOX = ("answers", "approvals", "methods", "registration", "sessions", "console", "console_applications", "offline", "looks.Looks")

#: What each booted host of Tests/System/Host runs, split so that they take about as long; the traces of each come last.
HOSTS = {
    "host-sign-ins": "test_sudo test_ssh test_ssh_gone test_ssh_prompts test_login_su test_faults test_environment "
                     "test_directory_away",
    "host-helper": "test_helper test_helper_trouble test_helper_killed test_worker test_running_on test_service_unit "
                   "test_joined",
    "host-waiting": "test_long_waits",
    "host-control": "test_control test_control_sshd test_trial test_control_sign_ins test_second_factor test_walkthrough test_readme "
                    "test_certbot test_examples test_sealed_service test_desktop test_offline "
                    "test_recovery",
}
TRACES = "test_zz_traces"
#: On Debian 13 with screen lockers and polkit. What ends alice's sessions comes before her desktop is there.
DESKTOP = "test_ssh_services test_sudo_likes test_sway test_lockers test_polkit test_polkit_strangers test_polkit_codes test_polkit_agent test_unlocking test_gnome_keyring"
#: On Debian 13 with display managers, Plasma and further lockers. Those sign alice in for good, so they come last.
GREETERS = "test_greetd test_sddm test_lightdm_gtk test_known_desktop test_sddm_plasma test_plasma test_plasma_agent test_more_lockers"
#: Each on a host of its own.
GDM = {"host-gdm-43": ("test_gdm_43", "root-12-gdm"), "host-gdm-48": ("test_gdm_48", "root-13-gdm")}
#: A reboot empties folders in which the traces are looked for.
AFTER_TRACES = {"host-control": ["test_reboot"]}

#: Debian 13's PostgreSQL, and what runs on it beside Debian 12's: the storage contract of the service, and two servers.
NEWER_POSTGRESQL = TESTS / "Support" / "LocalPostgreSQL"
NEWER_POSTGRESQL_TESTS = "StorageContract|PostgreSQL|DatabaseMove|RollingUpgrade"

#: The hosts that take longest, which begin first; what an earlier run here took counts more. What begins last is over last,
#: with processors that have nothing else to do.
LONG_HOSTS = "host-greeters host-control host-desktop host-helper host-sign-ins".split()
#: Files that take longest, which begin first.
LONG = "test_hostile_service test_one_process test_hostile_network test_floods test_scarcity test_hostile test_variables".split()
#: These of HOSTS wait for minutes and do nothing: they take no place of a host.
WAITING_HOSTS = ("host-waiting",)
#: Files that start dozens of processes or threads at once. A browser does, too.
CROWDED = "test_hostile_service test_one_process test_hostile_network test_floods test_hostile_routes test_several_servers".split()
#: Files with two versions of the service on one database. In others both servers are of this version: their tests may ask for
#: what an older one cannot do.
ROLLING = ("test_rolling_upgrade",)
#: Suites that decide nothing by waiting: they have one try.
ONCE = ("Packaging", "Runner")
#: One of them needs no programs.
OF_ITSELF = "Runner"
#: Unit tests that wait without giving up their thread, that fork, or that change what belongs to the whole process. Beside
#: others they would make all of them late, and a child could hang in a lock that another test's thread held. Also those
#: that hold a lock until several wait for it: beside others that takes longer than PostgreSQL lets a request wait.
WAITING = "WorkerTests|RunFolderTests|OpenMatchCodesTests|ClientWatchTests|SystemBus|LogindEventsTests|SessionTerminalsTests|PostgreSQLLinkTests|NameLookupTests|NonceUseQueueTests|StopBoundTests"
#: Seconds of a build that gives way: it has the processors once the suites have ended, and until the run is over.
WHOLE_RUN = 83 * 60
#: What ends the process if it fails.
ENDING = "KeptInputsTests"
#: The unit tests' program runs three times, with these options of Swift Testing's.
UNIT_TESTS = {"waiting": ["--no-parallel", "--filter", WAITING], "kept-inputs": ["--filter", ENDING],
              "others": ["--skip", f"{WAITING}|{ENDING}"]}  # fmt: skip
#: Files of Tests/Unit about what decides on a sign-in. A wrong decision has no second try.
DECIDING = ("IAMPASSProtocolTests/* HostSystemTests/* HostStateTests/* LoginModuleTests/* IAMPASSClientTests/Approval* "
            "IAMPASSClientTests/Document*").split()


class Plan:
    def __init__(self, logs, pattern, takes_its_time=False, units=None, debug=False, took=None, other=None):
        self.logs = logs
        self.debs = logs / "debs"
        self.pattern = pattern
        #: Whether what finds by luck is given time for it.
        self.takes_its_time = takes_its_time
        #: Which unit tests run, as Swift Testing's filter.
        self.units = units or pattern
        #: Whether the debug build's programs are tried.
        self.debug = debug
        #: The seconds of jobs in an earlier run, by their names.
        self.took = took or {}
        #: The folder with another version's server, if there is one: see `last_server.py`.
        self.other = other
        self.jobs = []

    def add(self, name, words, seconds, *lanes, suite=None, **more):
        self.jobs.append(Job(name, suite or name, words if callable(words) else lambda: [str(word) for word in words],
                             seconds, lanes, **more))  # fmt: skip

    def built(self):
        """Where the programs are."""
        return str(SCRATCH / "debug") if self.debug else release(self.logs)

    def with_programs(self, *words):
        """A command that finds the release's programs, module and packages in its environment."""
        return lambda: [
            "env", f"IAMPASS_BIN={self.built()}", f"IAMPASS_MODULE={self.built()}/libpam_iampass.so",
            f"IAMPASS_DEBS={self.debs}", f"IAMPASS_TEST_ALL={'yes' if self.takes_its_time else 'no'}",
            *map(str, words)]  # fmt: skip

    def python(self, folder, modules, *patterns):
        chosen = patterns or ((self.pattern,) if self.pattern else ())
        options = [word for pattern in chosen for word in ("-k", pattern)]
        words = (PYTHON, "-B", SUITE, TESTS / "System" / folder, *modules, *options)
        return self.with_programs(*words) if folder != OF_ITSELF else lambda: [str(word) for word in words]

    def python_tests(self, folder, names):
        """Tests, classes or files by their exact names."""
        return self.with_programs(PYTHON, "-B", SUITE, TESTS / "System" / folder, *(f"--test={name}" for name in sorted(names)))

    def system(self, name, folder, module, seconds, *lanes, patterns=(), **more):
        """A job for one file of a folder of Tests/System. A test of it that failed runs once more by its name."""
        words = self.python(folder, [module], *patterns)
        again = lambda names: words if has_a_job(names) else self.python_tests(folder, names)  # noqa: E731
        self.add(name, words, seconds, *lanes, read=read_suite, again=None if folder in ONCE else again, **more)

    def suite(self, folder, seconds):
        """A job for each file of the folder."""
        found = [path.stem for path in sorted((TESTS / "System" / folder).glob("test_*.py"))]
        for module in sorted(found, key=lambda module: LONG.index(module) if module in LONG else len(LONG)):
            lane, needs = "suite", () if folder == OF_ITSELF else ("build",)
            if module == "test_strangers":
                # It compiles, in the folder of the unit tests.
                lane, needs = "build", ("build", "unit-build")
            other = {"IAMPASS_OTHER_VERSION": str(self.other)} if self.other and module in ROLLING else {}
            crowded = module in CROWDED or folder == "Browser" or lane == "build"
            self.system(f"{folder.lower()}/{module}", folder, module, seconds, lane, suite=folder.lower(), needs=needs,
                        weight=2 if crowded else 1, environment=other)  # fmt: skip

    def everything(self):
        self.add("format", "swift format lint --strict --recursive --parallel Package.swift Sources Tests".split(), 600, "light")
        self.add("layers", [TESTS / "check-layers"], 300, "light")
        self.add("imports", [TESTS / "check-imports"], 300, "light")
        self.add("words", [TESTS / "check-words"], 300, "light")
        self.add("links", [TESTS / "check-links"], 300, "light")
        self.add("model", [TESTS / "check-model"], 1200, "light")
        self.add("model-computers", [TESTS / "check-model", "computers"], 1800, "light")
        self.add("build", [PACKAGING / "build-product"], 1800, "build")
        for release in ("12", "13", "13-desktop", "13-greeters", "12-gdm", "13-gdm"):
            self.add(f"root-{release}", [TESTS / "Support/Hosts/make-root", release], 1200, "light")
        self.add("root-postgresql-17", [NEWER_POSTGRESQL / "make-root"], 1200, "light")
        self.add("machine-13", [TESTS / "Support/Machine/make-machine"], 1200, "light")
        self.unit_tests()
        self.add("load-check", lambda: [str(PROJECT / "pam/check-load"), self.built() + "/libpam_iampass.so"], 300, "light",
                 needs=("build",))  # fmt: skip
        self.add("man-pages", lambda: [str(PACKAGING / "man/check"), self.built()], 600, "light", needs=("build",))
        self.packages()
        self.hosts()
        self.suites()
        self.sanitizers_and_fuzzers()
        return self.jobs

    def unit_tests(self):
        # Beside the release's build, which all suites and hosts wait for: it takes what that leaves of the processors. Then
        # beside the first suites. If it gave way to them, it would end last, and what needs it would run alone.
        self.add("unit-build", [TESTS / "Unit/build", SCRATCH], WHOLE_RUN, "build", behind=("build",))
        program = ["env", "SWIFT_BACKTRACE=enable=no", str(SCRATCH / "debug/iampassPackageTests.xctest"),
                   "--testing-library", "swift-testing"]  # fmt: skip
        parts = {"all": ["--filter", self.units]} if self.units else UNIT_TESTS
        # `others` takes one place though it has a thread for each processor: it is what ends last, and would wait for two.
        for name, options in parts.items():
            again = lambda names, options=options: lambda: [*program, *filters_of(names, options)]  # noqa: E731
            self.add(f"unit-tests/{name}", [*program, *options], 2700, "suite", suite="unit-tests", needs=("unit-build",),
                     read=read_units, again=again)  # fmt: skip

        newer_tests = ["--filter", self.pattern or NEWER_POSTGRESQL_TESTS]
        # The root's name is known once it is made.
        newer = ["sh", "-euc", 'export IAMPASS_POSTGRESQL_ROOT; IAMPASS_POSTGRESQL_ROOT=$("$0"); exec "$@"',
                 NEWER_POSTGRESQL / "make-root"]  # fmt: skip
        self.add("postgresql-17/unit-tests",
                 [*newer, *program, *newer_tests],
                 1800, "suite", suite="postgresql-17", needs=("unit-build", "root-postgresql-17"), read=read_units,
                 again=lambda names: lambda: [*map(str, newer), *program, *filters_of(names, newer_tests)])  # fmt: skip
        words = self.python("Server", ["test_postgresql"])
        with_newer = lambda: [*map(str, newer), *words()]  # noqa: E731
        self.add("postgresql-17/test_postgresql", with_newer, 900, "suite", suite="postgresql-17",
                 needs=("build", "root-postgresql-17"), read=read_suite, again=lambda names: with_newer)  # fmt: skip

    def packages(self):
        # Uncompressed, which takes seconds.
        words = lambda out: lambda: [  # noqa: E731
            str(PACKAGING / "build-deb"), "--built", self.built(), "--uncompressed", "--out", str(out)]  # fmt: skip
        self.add("packages", words(self.debs), 1200, "light", needs=("build",))
        # Beside suites, one after the other.
        self.add("packages-again", words(self.debs / "again"), 1200, "light", needs=("packages",), weight=3)
        same = 'for package in "$0"/*.deb; do cmp "$package" "$1/${package##*/}"; done'
        self.add("same-packages", ["sh", "-euc", same, self.debs, self.debs / "again"], 300, "light", needs=("packages-again",))
        self.add("check-packages", [PACKAGING / "check-deb", self.debs], 1500, "light", needs=("packages",), weight=3)

    def hosts(self):
        # The kernel gives up a Bluetooth controller that does not answer in two seconds, so that its machine has a real-time
        # class, and is alone. The others come one after the other, so they begin first.
        for module in ("test_presence", "test_rescue", "test_security_key", "test_tpm"):
            self.system(f"machine/{module}", "Machine", module, 1800, "host", "machine", suite="machine",
                        needs=("build", "machine-13"), alone=module == "test_presence")  # fmt: skip
        for release in ("13", "12"):
            words = self.with_programs(TESTS / "Support/Hosts/package-suite", release, self.debs)
            self.add(f"debian-{release}", words, 1200, "host", needs=("packages", f"root-{release}"), read=read_unittest,
                     again=lambda names, words=words: words)  # fmt: skip
        for name, modules in HOSTS.items():
            self.host(name, (*modules.split(), TRACES, *AFTER_TRACES.get(name, [])), 1800, "root-12")
        for kind, modules in {"desktop": DESKTOP, "greeters": GREETERS}.items():
            self.host(f"host-{kind}", tuple(modules.split()), 1800, f"root-13-{kind}")
        for name, (file, root) in GDM.items():
            self.host(name, (file,), 1200, root)
        self.jobs = longest_hosts_first(self.jobs, self.took)
        forgotten = {path.stem for path in (TESTS / "System/Host").glob("test_*.py")}
        forgotten -= {file for job in self.jobs for file in job.files}
        if forgotten:
            sys.exit(f"test: no job runs Tests/System/Host's {', '.join(sorted(forgotten))}")

    def host(self, name, files, seconds, root):
        """A booted host with some files. Those with a failed test run once more on a new one, whole: their order matters."""

        def again(names):
            failed = tuple(file for file in files if file in {name.split(".")[0] for name in names})
            # The traces are those of all files.
            return self.python("Host", files if has_a_job(names) or TRACES in failed else failed or files)

        lane = "light" if name in WAITING_HOSTS else "host"
        self.add(name, self.python("Host", files), seconds, lane, suite="host", needs=("packages", root), read=read_suite,
                 files=files, again=again)  # fmt: skip

    def suites(self):
        for folder in ("Helper", "Caller", "Browser", "Server", "Module", "Control", "Packaging", "Libraries", "Runner"):
            self.suite(folder, 2400)
        for name in FIREFOX:
            module = "test_" + name.partition(".")[0]
            self.system(f"firefox/{module}", "Browser", module, 900, "suite", suite="firefox", needs=("build",),
                        patterns=[f"test_{name}"] if "." in name else [], weight=2,
                        environment={"IAMPASS_BROWSER": "firefox"})  # fmt: skip
        # What packaging/demo shows if no host can boot.
        words = lambda: [PYTHON, "-B", str(TESTS / "Support/Demo/private_acts.py"), self.built()]  # noqa: E731
        self.add("demo-acts", words, 300, "suite", needs=("build",), again=lambda names: words)

    def sanitizers_and_fuzzers(self):
        # Each with the compiler's lane for itself: what more tests wait for comes first.
        self.add("sanitizers-build", [PACKAGING / "sanitize", "--build", "address"], WHOLE_RUN, "build", weight=2, gives_way=True)
        self.add("sanitizers", self.with_programs(PACKAGING / "sanitize", "address"), 1200, "suite",
                 needs=("sanitizers-build", "build"), read=read_lines)  # fmt: skip
        # In the folder of the unit tests, so after them.
        self.add("fuzzers-build", [PACKAGING / "fuzz", "--build"], WHOLE_RUN, "build", needs=("unit-build",), weight=2,
                 gives_way=True)  # fmt: skip
        words = ("--seconds", "60") if self.takes_its_time else ("--kept",)
        self.add("fuzzers", [PACKAGING / "fuzz", *words], 2400, "light", needs=("fuzzers-build",), read=read_lines,
                 gives_way=True)  # fmt: skip


#: Suites that --quick leaves out: they need booted hosts, or builds of their own.
SLOW = ("host", "debian-12", "debian-13", "root-12", "root-13", "root-13-desktop", "root-13-greeters", "root-12-gdm", "root-13-gdm", "machine", "machine-13", "postgresql-17", "root-postgresql-17", "sanitizers", "sanitizers-build", "fuzzers", "fuzzers-build")


def release(logs):
    """The folder of the release's programs: build-product's last line."""
    return (logs / "build.log").read_text().splitlines()[-1]


def has_a_job(names):
    """Whether a job is among what failed, and not tests alone: it was ended, or never began."""
    return any(" (exit " in name for name in names)


def longest_hosts_first(jobs, took):
    """The jobs with the booted hosts in the order in which they begin, where hosts were. A new one may take long."""
    hosts = [job for job in jobs if job.lanes == ("host",)]
    listed = lambda job: LONG_HOSTS.index(job.name) if job.name in LONG_HOSTS else len(LONG_HOSTS)  # noqa: E731
    ordered = iter(sorted(hosts, key=lambda job: (-took.get(job.name, math.inf), listed(job))))
    return [next(ordered) if job in hosts else job for job in jobs]


def read_units(text, status, job):
    """A failed unit test of what decides about a sign-in must never happen."""
    result = read_swift(text, status, job)
    deciding = "\n".join(path.read_text() for pattern in DECIDING for path in sorted((TESTS / "Unit").glob(pattern + ".swift")))
    result.never = {name for name in result.failed if re.search(rf"\bfunc {re.escape(function_of(name))}\(", deciding)}
    return result


def filters_of(names, options):
    """Swift Testing's, for the functions of failed tests; the former ones if the whole program has failed."""
    if has_a_job(names):
        return options
    return ["--no-parallel"] + [word for name in sorted(names) for word in ("--filter", rf"\b{re.escape(function_of(name))}\(")]


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
