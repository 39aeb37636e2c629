"""What packaging/install-needs brings: no more than each purpose needs, and all that the packages are built with."""

import pathlib
import re
import subprocess
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
#: Nobody who only looks at the demo wants these.
FOR_TESTS = {"postgresql", "pgbouncer", "firefox-esr", "chromium", "qemu-system-x86", "valgrind", "gdb", "spin", "lintian"}


def needs(*words):
    command = [PROJECT / "packaging" / "install-needs", "--list", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split()


def build_depends():
    control = (PROJECT / "packaging" / "debian" / "control").read_text()
    listed = re.search(r"^Build-Depends:\n((?: .*\n)+)", control, re.MULTILINE)[1]
    return set(re.findall(r"^ ([\w.+-]+)", listed, re.MULTILINE)) - {"debhelper-compat"} | {"debhelper"}


class Needs(unittest.TestCase):
    def test_each_purpose_has_what_the_one_before_has(self):
        build, demo, servers, test = (set(needs(name)) for name in ("build", "demo", "servers", "test"))
        self.assertTrue(build < demo < servers < test)
        self.assertEqual(test, set(needs()))

    def test_the_demo_brings_nothing_of_the_tests(self):
        self.assertLessEqual(FOR_TESTS, set(needs("test")))
        self.assertEqual(FOR_TESTS & set(needs("demo")), set())

    def test_the_demos_ask_for_their_own(self):
        for script, purpose in (("demo", "demo"), ("demo-servers", "servers"), ("common.sh", "demo"), ("build-deb", "build")):
            text = (PROJECT / "packaging" / script).read_text()
            self.assertEqual(re.findall(r'install-needs"(?: (\w+))?', text), [purpose], script)

    def test_the_packages_are_built_with_all_that_they_name(self):
        self.assertGreater(len(build_depends()), 10)
        self.assertEqual(build_depends() - set(needs("build")), set())

    def test_an_unknown_purpose_is_refused(self):
        done = subprocess.run([PROJECT / "packaging" / "install-needs", "--list", "everything"], capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 64)


if __name__ == "__main__":
    unittest.main()
