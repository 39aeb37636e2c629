"""`packaging/test --changed`: the tests of what has changed, within minutes, on the programs of the debug build.

Checks and the build come first, then the test files that have changed themselves, beside noise, then everything else: the
nearest to the change first, and of those the quickest. Whatever needs packages or a booted host is left to the whole run.
"""

import dataclasses
import fnmatch
import json
import pathlib
import re
import subprocess
import tempfile

from Support.Runner.jobs import Stage

#: Seconds for all of it.
LONGEST = 10 * 60
#: What is tried whatever has changed.
ALWAYS = ("format", "layers", "imports", "words", "links", "unit-build")
#: The suites that try a program, a library or a file, by the beginnings of paths.
SUITES = {
    "pam": ("module/*", "caller/*"),
    "Sources/Worker/iampass-https": ("module/*", "helper/test_hostile_service"),
    "Sources/Computer/iampass-helper": ("helper/*", "module/test_broker*", "module/test_keyring"),
    "Sources/Commands/iampassctl": ("control/*",),
    "Sources/Commands/ServerCommands": ("server/*", "browser/*"),
    "Sources/Commands/PhoneCommands": ("module/test_endings", "server/test_phone"),
    "Sources/Service/IAMPASSServer/PhonePage": ("browser/*",),
    "Sources/Service/IAMPASSServer/Replies/Console": ("browser/test_console*", "server/test_console*"),
    "Tests/Support/Demo": ("demo-acts",),
    "Tests/Support/Runner": ("runner/*",),
    "packaging": ("packaging/*", "runner/test_kept_builds", "runner/test_shared_builds"),
}
#: How often a test file that has changed itself is run, beside noise.
TIMES = 5
#: The part of the time left, once the programs are built, that these may take if there is more to do.
NOISE_SHARE = 0.5
#: The module, if names of it are imported, and what is imported.
IMPORT = re.compile(r"^[ \t]*(?:from ([\w.]+) )?import (\([^)]*\)|[^#\n]*)", re.MULTILINE)


class Package:
    """The targets of Package.swift, by what they are made of."""

    def __init__(self, project):
        # In a folder of its own: it would wait until a build has given back the project's.
        with tempfile.TemporaryDirectory() as scratch:
            words = ["swift", "package", "--package-path", project, "--scratch-path", scratch, "dump-package"]
            done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120, stdin=subprocess.DEVNULL)
        self.paths, self.users, self.tests = {}, {}, set()
        for target in json.loads(done.stdout)["targets"]:
            self.paths[target["name"]] = target.get("path") or f"Sources/{target['name']}"
            if target["type"] == "test":
                self.tests.add(target["name"])
            for dependency in target["dependencies"]:
                name = next(iter(dependency.values()))[0]
                self.users.setdefault(name, set()).add(target["name"])

    def affected(self, changed):
        """The targets that a changed file is in, and all that are made of them."""
        found, waiting = set(), [name for name, path in self.paths.items() if any(one.startswith(path + "/") for one in changed)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.users.get(name, ())
        return found


def imported(tests, path):
    """The files that a file may import: by a name from Tests on, as those of Support, or by one of its own folder."""
    names = set()
    for module, said in IMPORT.findall(path.read_text()):
        # Each may be a module of a package, or a name of a module.
        ones = re.findall(r"[\w.]+", said)
        names.update([module, *(f"{module}.{one}" for one in ones)] if module else ones)
    return {folder / f"{name.replace('.', '/')}.py" for name in names for folder in (tests, path.parent)}


def importers(tests, changed):
    """The test files that import a changed module of Support or of their folder, at whatever distance."""
    files = {path: imported(tests, path) for path in tests.glob("*/*/*.py")}
    wanted, found = {tests.parent / one for one in changed}, set()
    while new := {path for path, modules in files.items() if modules & wanted and path not in found}:
        found |= new
        wanted |= new
    return {path for path in found if path.stem.startswith("test_")}


def job_name(path):
    """The job of a test file."""
    return f"{path.parent.name.lower()}/{path.stem}"


class Change:
    """What has changed, and what tries it."""

    def __init__(self, project, changed):
        self.project, self.changed = project, changed
        package = Package(project)
        affected = package.affected(changed)
        self.touched = [*changed, *(f"{package.paths[name]}/" for name in affected)]
        #: Swift Testing's filter for the unit tests of what has changed; None if there are none.
        self.units = rf"^({'|'.join(sorted(units))})\." if (units := affected & package.tests) else None

    def choose(self, jobs, took):
        """(Checks and the build, test files that have changed themselves, everything else in the order in which it is tried.)

        `took`: the seconds of each job in a whole run, by its name."""
        nearest = {}
        for rank, patterns in enumerate(self.patterns()):
            for job in jobs:
                if any(fnmatch.fnmatch(job.name, pattern) for pattern in patterns):
                    nearest.setdefault(job.name, rank)
        own = self.own_jobs()
        chosen = [job for job in jobs if can_run(job) and (job.name in nearest or job.name in own)]
        first = [job for job in chosen if not job.needs and "suite" not in job.lanes]
        rest = [job for job in chosen if job not in first and job.name not in own]
        rest.sort(key=lambda job: (nearest[job.name], took.get(job.name, 0)))
        return [[debug(job) for job in part] for part in (first, [job for job in chosen if job.name in own], rest)]

    def patterns(self):
        """Patterns of jobs, the nearest to the change first."""
        yield [*ALWAYS, *(["unit-tests/*"] if self.units else [])]
        yield [job_name(path) for path in importers(self.project / "Tests", self.changed)]
        for changed in (self.changed, self.touched):
            yield [one for beginning, suites in SUITES.items() for one in suites
                   if any(path.startswith(beginning + "/") for path in changed)]  # fmt: skip

    def own_jobs(self):
        """The names of the jobs of test files that have changed themselves."""
        files = [pathlib.Path(one) for one in self.changed if one.startswith("Tests/System/")]
        return {job_name(path) for path in files if path.stem.startswith("test_") and (self.project / path).exists()}

    def left_out(self, jobs):
        """Lines about what has changed and is not tried."""
        needs = "packages or a booted host"
        cannot = sorted(self.own_jobs() - {job.name for job in jobs if can_run(job)})
        return [f"what needs {needs} (--changed)", *(f"{name}, which has changed: it needs {needs}" for name in cannot)]


def stages(first, several, rest):
    """What runs one after the other, and how the time is shared."""
    return [Stage(first), Stage(several, beside_noise=True, share=NOISE_SHARE if rest else 1), Stage(rest)]


def debug(job):
    """The job, once the debug programs are built, which now give way to nothing."""
    return dataclasses.replace(job, needs=("unit-build",) if job.needs else (), gives_way=False, behind=())


def can_run(job):
    return set(job.needs) <= {"unit-build", "build"} and not job.name.startswith("host-")
