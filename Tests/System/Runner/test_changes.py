"""Which tests a change brings about."""

import contextlib
import fcntl
import pathlib
import tempfile
import unittest

from Support.Runner.changes import Change, importers, job_name, stages
from Support.Runner.plan import PROJECT, Plan


def chosen(*changed):
    """(The filter for unit tests, names that run once, names that run beside noise.)"""
    units, first, several, rest = in_order(*changed)
    return units, {*first, *rest}, set(several)


def in_order(*changed, took=None):
    """(The filter for unit tests, names of checks and the build, names that run beside noise, the others' names.)"""
    change = Change(PROJECT, list(changed))
    jobs = Plan(pathlib.Path("/nowhere"), None, units=change.units, debug=True).everything()
    return change.units or "", *([job.name for job in part] for part in change.choose(jobs, took or {}))


def left_out(*changed):
    change = Change(PROJECT, list(changed))
    return change.left_out(Plan(pathlib.Path("/nowhere"), None, debug=True).everything())


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

    def test_a_module_brings_nobody_who_imports_one_of_its_name(self):
        files = {job_name(path) for path in importers(PROJECT / "Tests", ["Tests/System/Module/test_verified.py"])}
        self.assertIn("module/test_verified_computer", files)
        # It imports that of its own folder.
        self.assertNotIn("browser/test_offline", files)

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


class Order(unittest.TestCase):
    """Ten minutes may be too short for everything that a change touches."""

    def test_checks_and_the_build_come_first(self):
        _, first, _, rest = in_order("Sources/Computer/HostState/Ledger/SessionLedger.swift")
        self.assertEqual(first, ["format", "layers", "imports", "words", "links", "unit-build"])
        self.assertEqual(rest[0], "unit-tests/all")

    def test_the_suites_of_what_has_changed_come_before_those_of_what_is_made_of_it(self):
        _, _, _, rest = in_order("Sources/Commands/iampassctl/main.swift", "Sources/Computer/HostState/Ledger/SessionLedger.swift")
        last_of_its_own = max(map(rest.index, named(rest, "control/")))
        self.assertLess(last_of_its_own, min(map(rest.index, named(rest, "module/"))))

    def test_what_imports_a_changed_module_comes_before_suites(self):
        _, _, _, rest = in_order("Tests/System/Control/signed_case.py", "Sources/Commands/iampassctl/main.swift")
        self.assertLess(rest.index("control/test_signed_sign_ins"), rest.index("control/test_audit"))

    def test_the_quickest_of_those_as_near_comes_first(self):
        took = {"control/test_audit": 40, "control/test_check": 30, "module/test_codes": 2}
        _, _, _, rest = in_order("Sources/Commands/iampassctl/main.swift", took=took)
        self.assertLess(rest.index("control/test_check"), rest.index("control/test_audit"))

    def test_noise_leaves_half_of_the_time_to_the_others(self):
        shares = lambda *parts: [stage.share for stage in stages(*parts)]  # noqa: E731
        self.assertEqual(shares(["build"], ["own"], ["suite"]), [1, 0.5, 1])
        self.assertEqual(shares(["build"], ["own"], []), [1, 1, 1])

    def test_the_runner_is_tried_if_it_has_changed(self):
        self.assertEqual(named(chosen("README.md")[1], "runner/"), [])
        self.assertIn("runner/test_stamp", chosen("Tests/Support/Runner/main.py")[1])
        self.assertIn("runner/test_kept_builds", chosen("packaging/swift-build")[1])

    def test_a_changed_test_that_needs_a_host_is_named_as_left_out(self):
        general = "what needs packages or a booted host (--changed)"
        self.assertEqual(left_out("Tests/System/Module/test_codes.py", "Tests/System/Module/test_gone.py"), [general])
        self.assertEqual(left_out("Tests/System/Host/test_sudo.py"),
                         [general, "host/test_sudo, which has changed: it needs packages or a booted host"])  # fmt: skip


def named(names, beginning):
    return [name for name in names if name.startswith(beginning)]


if __name__ == "__main__":
    unittest.main()
