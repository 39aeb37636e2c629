"""Which tests a change brings about."""

import contextlib
import fcntl
import pathlib
import tempfile
import unittest

from changes import Change, importers
from plan import PROJECT, Plan


def chosen(*changed):
    """(Names that run once, names that run beside noise.)"""
    change = Change(PROJECT, list(changed))
    jobs = Plan(pathlib.Path("/nowhere"), None, units=change.units, debug=True).everything()
    return change.units or "", *({job.name for job in part} for part in change.choose(jobs))


class Changes(unittest.TestCase):
    def test_a_target_brings_the_tests_of_all_that_are_made_of_it(self):
        units, once, _ = chosen("Sources/Computer/HostState/Ledger/SessionLedger.swift")
        for name in ("HostStateTests", "LoginModuleTests", "SessionHelperTests"):
            self.assertIn(name, units)
        self.assertNotIn("IAMPASSServerTests", units)
        self.assertLessEqual({"unit-tests/all", "module/test_endings", "helper/test_presence", "control/test_check"}, once)
        self.assertNotIn("server/test_killed", once)

    def test_the_page_brings_browsers_and_no_sign_ins(self):
        _, once, _ = chosen("Sources/Service/IAMPASSServer/PhonePage/page.js")
        self.assertIn("browser/test_answers", once)
        self.assertNotIn("module/test_endings", once)

    def test_a_test_file_runs_beside_noise(self):
        units, once, several = chosen("Tests/System/Module/test_codes.py")
        self.assertEqual((units, several), ("", {"module/test_codes"}))
        self.assertNotIn("module/test_codes", once)

    def test_what_tests_share_brings_whoever_imports_it(self):
        files = {path.stem for path in importers(PROJECT / "Tests", ["Tests/Support/HostileService/signing_phone.py"])}
        # By its own import, and by that of a module of its folder.
        self.assertLessEqual({"test_verified", "test_races"}, files)
        self.assertNotIn("test_answers", files)

    def test_a_build_of_the_project_does_not_hold_it_up(self):
        # What SwiftPM locks for as long as it builds, which it may be doing.
        name = str(PROJECT / ".build").replace("/", "_") + ".lock"
        with open(pathlib.Path(tempfile.gettempdir()) / name, "a") as lock:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.assertEqual(chosen("README.md")[2], set())

    def test_nothing_needs_a_release_a_package_or_a_host(self):
        _, once, several = chosen("Sources/Wire/IAMPASSProtocol/JSON.swift", "Tests/System/Host/test_sudo.py")
        self.assertEqual({name for name in once | several if name.startswith(("host", "debian", "build", "packages"))}, set())


if __name__ == "__main__":
    unittest.main()
