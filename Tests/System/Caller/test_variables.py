"""FAULTS H12: what a login asks its caller's environment for stands in `variables.txt`, and is recorded again here.

After an update of a library, where `variables.txt` lacks a name: find out what the library does with it, and set it to
something hostile in Tests/System/Host/test_environment.py.
"""

import os
import re
import time
import unittest

from caller import HERE, CallerWorld, approving_service, signing_service
from Support.Service.world import AUTHINFO_UNAVAIL, SUCCESS, read, run

# Attaching to a worker takes a second. The rest of the time is for its request.
LONGEST_RECORDING = 120

# Scenes that run different code, by their changes to the configuration.
SCENES = {
    "approved": {},
    "the system's authorities": {"ca_file": None},
    "a name that is looked up": {"server": "https://nowhere.invalid"},
    "a proxy": {"proxy": "http://127.0.0.1:1"},
    "no worker": {"worker": "/nowhere/iampass-https"},
    "no server": {"server": None},
    "an approval that is verified": {"approvals": "verified"},
}

# Other machines' name services would ask for their own variables.
OWN_NAME_SERVICES = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/nsswitch.conf; exec "$@"')
NAME_SERVICES = "passwd: files\ngroup: files\nhosts: files dns\n"

# Not asked for by name: code that refers to it may read all of it.
WALK = "environ"

# Swift's runtime, which a debug program loads from the toolchain. A release has the runtime inside: what it asks for is then
# the program's, and counts.
TOOLCHAIN = re.compile(r"lib(swift\w*|dispatch|BlocksRuntime|_?Foundation\w*)\.so")


def setUpModule():
    global world, recorded
    world = CallerWorld()
    unittest.addModuleCleanup(world.close)
    # Without symbols that nobody needs here and that gdb would read.
    run("strip", world.path("pam_iampass.so"), world.path("iampass-https"))
    world.write("nsswitch.conf", NAME_SERVICES, 0o644)
    world.write("watched", watched_worker(), 0o755)
    recorded = {who: set() for who in ("caller", "worker")}
    for name, changes in SCENES.items():
        for who, found in record(changes).items():
            recorded[who] |= found


def gdb_words(who):
    script = os.path.join(HERE, "record_variables.py")
    return ["gdb", "-nx", "-batch", "-ex", f'python RECORDED = "{world.path(who)}"', "-x", script]


def watched_worker():
    """A worker that waits until gdb has it, and then becomes the real one in the same process."""
    words = " ".join(f"'{word}'" for word in gdb_words("worker"))
    log = world.path("gdb.log")
    return f"""#!/bin/sh
echo began >>{log}
(PATH=/usr/bin:/bin {words} -p $$ </dev/null >>{log} 2>&1 3>&-; echo ended >>{log}) &
tracer=0
while [ "$tracer" = 0 ]; do
    while read -r name value; do [ "$name" != TracerPid: ] || tracer=$value; done </proc/$$/status
    /bin/sleep 0.02
done
exec {world.path("iampass-https")} "$1"
"""


def record(changes):
    """What caller and worker asked for in this scene, as (name, library)."""
    for name in ("caller", "worker", "gdb.log"):
        world.write(name, "")
    with signing_service(world) if "approvals" in changes else approving_service() as service:
        world.serve_by(service)
        world.configure(worker=world.path("watched"))
        world.configure(**changes)
        world.log_in(before=[*OWN_NAME_SERVICES, world.path("nsswitch.conf"), *gdb_words("caller"), "--args"])
    wait_for_the_end_of_gdb()
    return {who: variables(read(world.path(who)).splitlines()) for who in ("caller", "worker")}


def wait_for_the_end_of_gdb():
    end = time.monotonic() + LONGEST_RECORDING
    while (lines := read(world.path("gdb.log")).splitlines()).count("began") > lines.count("ended"):
        if time.monotonic() > end:
            raise AssertionError(f"gdb goes on: {lines}")
        time.sleep(0.1)


def variables(lines):
    found = set()
    for line in lines:
        kind, *words = line.split()
        if kind == "read":
            found.add(tuple(words))
        elif walks(words[0]):
            found.add((WALK, os.path.basename(words[0])))
    return {(name, library) for name, library in found if not TOOLCHAIN.fullmatch(library)}


def walks(path):
    """Whether a library refers to libc's `environ`. libc and the loader, whose it is, do."""
    if not re.search(r"\.so(\.[0-9.]+)?$", path) or os.path.basename(path).startswith(("libc.so", "ld-linux")):
        return False
    symbols = run("nm", "--dynamic", "--format=just-symbols", "--without-symbol-versions", path).split()
    return bool({"environ", "__environ", "_environ"} & set(symbols))


def listed(who):
    """The lines of `variables.txt` for caller or worker, as (name, library)."""
    rows = [line.split() for line in read(os.path.join(HERE, "variables.txt")).splitlines()]
    return {(name, library) for name, asker, library in (row for row in rows if row and row[0] != "#") if asker == who}


class Variables(unittest.TestCase):
    def test_the_recorder_sees_what_is_asked_for(self):
        """Otherwise nothing new would be found."""
        self.assertIn(("TZ", "libc.so.6"), recorded["caller"])
        self.assertIn((WALK, "pam_iampass.so"), recorded["caller"])
        self.assertIn(("SSLKEYLOGFILE", "libcurl.so.4"), recorded["worker"])

    def test_the_caller_is_asked_for_nothing_that_is_not_listed(self):
        self.assertEqual(recorded["caller"] - listed("caller"), set())

    def test_the_worker_asks_for_nothing_that_is_not_listed(self):
        self.assertEqual(recorded["worker"] - listed("worker"), set())


class Workers(unittest.TestCase):
    def test_a_worker_gets_none_of_its_callers_variables(self):
        seen = world.path("seen")
        world.write("shows", f"#!/bin/sh\ntr '\\0' '\\n' </proc/$$/environ >{seen}\necho end >>{seen}\n", 0o755)
        with approving_service() as service:
            world.serve_by(service)
            world.configure(worker=world.path("shows"))
            world.log_in(environment={**os.environ, "SSLKEYLOGFILE": "/nowhere", "LC_ALL": "C.UTF-8"})
        self.assertEqual(read(seen), "end\n")


class Hidden(unittest.TestCase):
    #: The first decides which instructions libcrypto uses, the second has the Swift runtime take signal handlers.
    HOSTILE = {"OPENSSL_ia32cap": "0xffffffffffffffff:0xffffffffffffffff", "SWIFT_BACKTRACE": "enable=yes"}

    def test_libcrypto_is_opened_without_its_callers_variables(self):
        with signing_service(world) as service:
            world.serve_by(service)
            world.configure(approvals="verified")
            for hostile in (self.HOSTILE, {**self.HOSTILE, "OPENSSL_CONF": "/nowhere", "OPENSSL_MODULES": "/nowhere"}):
                report = world.log_in("count=2", environment={**os.environ, **hostile})
                self.assertEqual((report.codes, report.changed, report.printed), ([SUCCESS] * 2, [], ""))

    def test_what_claims_handlers_is_there_again_after_the_load_and_had_no_effect(self):
        """The Swift runtime reads SWIFT_* in setuid programs too; libcrypto, which is not loaded here, OPENSSL_*."""
        with approving_service() as service:
            world.serve_by(service)
            for bound in ({}, {"LD_BIND_NOW": "1"}):
                report = world.log_in("count=2", environment={**os.environ, **self.HOSTILE, **bound})
                # The host compares its whole environment, and its signal handlers.
                self.assertEqual((report.codes, report.changed, report.printed), ([SUCCESS] * 2, [], ""))


class WithoutLibcrypto(unittest.TestCase):
    #: Runs a command where the system's folder of libraries does not have libcrypto.
    HIDE = """
        folder=$(dirname "$(ldconfig -p | sed -n 's/.*libcrypto.so.3 .*x86-64.* => //p' | head -n 1)")
        mount -t tmpfs none "$0"
        mkdir "$0/upper" "$0/work"
        mount -t overlay none -o "lowerdir=$folder,upperdir=$0/upper,workdir=$0/work" "$folder"
        rm "$folder"/libcrypto.so*
        exec "$@"
        """

    def test_a_computer_without_libcrypto_rings_nobody(self):
        os.makedirs(world.path("layers"), exist_ok=True)
        before = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", self.HIDE, world.path("layers")]
        with signing_service(world) as service:
            world.serve_by(service)
            world.configure(approvals="verified")
            report = world.log_in("count=1", before=before)
            self.assertEqual((report.codes, report.changed, report.printed), ([AUTHINFO_UNAVAIL], [], ""))
            self.assertEqual(service.requests, [])
            # The library is all that was missing.
            self.assertEqual(world.log_in("count=1").codes, [SUCCESS])


class OwnLibcrypto(unittest.TestCase):
    """A program that has libcrypto itself, and a configuration of its own for it."""

    LEGACY = "openssl_conf = a\n[a]\nproviders = b\n[b]\nlegacy = c\ndefault = c\n[c]\nactivate = 1\n"

    def setUp(self):
        preload = world.compile("uses_libcrypto.c", "-shared", "-fPIC", "-lcrypto", "-ldl")
        world.write("openssl.cnf", self.LEGACY, 0o644)
        self.environment = {**os.environ, "LD_PRELOAD": preload, "OPENSSL_CONF": world.path("openssl.cnf")}

    def log_in(self, **configuration):
        with signing_service(world) as service:
            world.serve_by(service)
            world.configure(**configuration)
            report = world.log_in("count=1", environment=self.environment)
        self.assertEqual(report.codes, [SUCCESS])
        return report.printed

    def test_it_still_reads_its_configuration_after_a_verified_sign_in(self):
        self.assertEqual(self.log_in(approvals="verified"), "MD4 is there\n")

    def test_without_its_configuration_it_would_not_have_the_algorithm(self):
        """Otherwise the test above could not fail."""
        self.environment["OPENSSL_CONF"] = "/nowhere"
        self.assertEqual(self.log_in(approvals="verified"), "MD4 is not there\n")


if __name__ == "__main__":
    unittest.main()
