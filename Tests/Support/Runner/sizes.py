"""What the run before a landing leaves to `packaging/test --all`, and when it takes a part of it back.

These parts take long, find by luck, or hold what changes rarely. A landing runs such a part if its own code differs from
that of the last commit at which the part itself passed. A commit that passed without the part says nothing about it.
"""

import fnmatch
import subprocess

from Support.Runner.plan import closure

PACKED = ("packaging/build-deb", "packaging/build-product", "packaging/swift-build", "packaging/debian", "Package.swift")
#: What every virtual machine is made by, and those with a desktop's programs.
MACHINE = ("Tests/Support/Machine/emulator", "Tests/Support/Machine/make-machine", "Tests/Support/Machine/in-machine")
KEYS = (*MACHINE, "Tests/Support/Machine/machine", "Tests/Support/Machine/guest_terminal", "Tests/System/Machine/key_case")
#: Which jobs, by pattern, and the beginnings of the paths that are their own code.
RARE = {
    "model*": ("Tests/Model", "Tests/check-model", "Sources/Computer/LoginModule"),
    "packages-again": PACKED,
    "same-packages": PACKED,
    "debian-12": (*PACKED, "packaging/pam-configs", "packaging/systemd", "Tests/Support/Hosts/package-suite"),
    "firefox/*": ("Sources/Service/IAMPASSServer/PhonePage", "Sources/Service/IAMPASSServer/Replies/Console", "Tests/System/Browser"),
    # New inputs find what has nothing to do with a landing. The unit tests try those that are kept.
    "fuzzers*": ("Tests/Fuzz/run", "Tests/Fuzz/CFuzzer", "Tests/Fuzz/Kit", "Tests/Fuzz/Login", "Tests/Fuzz/Server", "packaging/fuzz"),
    "machine/test_presence": (*KEYS, "Sources/Computer/PresenceLink", "Sources/Computer/PresenceProbe",
                              "Sources/Computer/SessionHelper/Bluetooth", "Sources/Computer/HostState/Bluetooth",
                              "Sources/Commands/IAMPASSControl/Presence", "Tests/System/Machine/test_presence",
                              "Tests/Support/Machine/bond", "Tests/Support/Machine/desktop",
                              "Tests/Support/Machine/link_keys", "Tests/Support/Machine/seat_login",
                              "packaging/systemd/iampass-presence"),  # fmt: skip
    "machine/test_rescue": (*MACHINE, "Tests/System/Machine/test_rescue"),
    "machine/test_security_key": (*KEYS, "Tests/System/Machine/test_security_key", "Tests/Support/Machine/security_key",
                                  "Tests/Support/Machine/sudo", "Sources/Commands/IAMPASSControl/SecurityKey",
                                  "Sources/Commands/HostDoctor/PAM/SecurityKey", "packaging/pam-configs"),  # fmt: skip
    "machine/test_tpm": (*MACHINE, "Tests/System/Machine/test_tpm", "Tests/Support/Machine/tpm", "Sources/Computer/KeyringSeal",
                         "Sources/Computer/HostState/Keyring", "Sources/Commands/IAMPASSControl/Keyring",
                         "packaging/systemd/iampass-keyring"),  # fmt: skip
    "runner/test_kept_builds": ("packaging/swift-build", "packaging/common.sh", "Tests/System/Runner/test_kept_builds"),
    "runner/test_second_tries": ("Tests/Support/Runner", "Tests/System/Runner/test_second_tries"),
    "server/test_setup_steps": ("Sources/Commands/ServerCommands/Setup", "Tests/System/Server/test_setup_steps",
                                "Tests/System/Server/stop_at_step"),
    "sanitizers*": ("Tests/Sanitizers", "pam/", "Sources/Shims/", "Sources/Worker/WorkerLink", "Sources/Computer/HostSystem"),
}


#: Parts that keep a processor for a quarter of an hour and more. A landing leaves them to `--all`, and says which are due.
HEAVY = ("machine/*", "sanitizers*", "fuzzers*")


def for_landing(jobs, changed):
    """The jobs of a landing's run. `changed(name)`: paths that differ from the last commit at which this job passed; None if
    nobody knows, and then the part is taken back."""
    return without_makers(closure(jobs, [job for job in jobs if not paths_of(job) or is_due(job, changed(job.name))]))


def without_heavy(jobs):
    """The jobs but the heavy parts, and the names of these."""
    left = [job.name for job in jobs if any(fnmatch.fnmatch(job.name, pattern) for pattern in HEAVY)]
    return without_makers([job for job in jobs if job.name not in left]), left


def without_makers(jobs):
    """What only makes something for others is made if one of them is there."""
    needed = {name for job in jobs for name in job.needs}
    return [job for job in jobs if job.name in needed or not job.name.startswith(("root-", "machine-13"))]


def paths_of(job):
    return next((paths for pattern, paths in RARE.items() if fnmatch.fnmatch(job.name, pattern)), ())


def is_due(job, changed):
    return changed is None or any(one.startswith(paths_of(job)) for one in changed)


def what_changed(base, passed_parts, changed_since, differing_from):
    """`for_landing`'s function. `base`: the last commit that passed a whole run; `passed_parts`: at which commit each part did.

    A part that has never passed here, or at a commit that git does not know, is compared with `base`. In the first run here
    nothing is known, and no part is due: `--all` has them."""

    def changed(name):
        if name in passed_parts and (own := differing_from(passed_parts[name])) is not None:
            return own
        return changed_since(base) or []

    return changed


def changed_since(project, base):
    """Paths that differ from a commit, with those that git does not know yet; None if there is no such commit before HEAD."""
    if base is None or git(project, "merge-base", "--is-ancestor", base, "HEAD") is None:
        return None
    return differing_from(project, base)


def differing_from(project, commit):
    """Paths that differ from a commit, wherever it stands, with those that git does not know yet; None if git does not know
    the commit."""
    found = git(project, "diff", "--name-only", commit)
    return None if found is None else found.split() + git(project, "ls-files", "--others", "--exclude-standard").split()


def git(project, *words):
    """What git prints, or None if it refuses."""
    done = subprocess.run(["git", "-C", project, *words], capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else None
