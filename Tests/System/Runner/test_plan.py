"""What the plan begins first, and what it runs beside what."""

import pathlib
import re
import unittest
from unittest import mock

from Support.Runner import main
from Support.Runner.plan import TESTS, WAITING, Plan


def jobs(**took):
    return Plan(pathlib.Path("/nowhere"), None, took={name.replace("_", "-"): seconds for name, seconds in took.items()}).everything()


def hosts(**took):
    return [job.name for job in jobs(**took) if job.lanes == ("host",)]


class Order(unittest.TestCase):
    def test_the_hosts_that_took_longest_begin_first(self):
        found = hosts(**{name.replace("-", "_"): 100 for name in hosts()} | {"host_sign_ins": 300, "debian_13": 200})
        self.assertEqual(found[:2], ["host-sign-ins", "debian-13"])

    def test_a_host_that_no_run_has_had_may_take_longest(self):
        found = hosts(**{name.replace("-", "_"): 100 for name in hosts() if name != "host-gdm-43"})
        self.assertEqual(found[0], "host-gdm-43")

    def test_without_an_earlier_run_the_plans_own_order_counts(self):
        self.assertEqual(hosts()[:3], ["host-greeters", "host-control", "host-desktop"])

    def test_an_order_leaves_out_no_job(self):
        names = [job.name for job in jobs()]
        self.assertEqual(sorted(names), sorted(job.name for job in jobs(debian_13=900)))
        self.assertEqual(len(names), len(set(names)))

    def test_the_unit_tests_wait_for_no_second_place(self):
        self.assertEqual({job.weight for job in jobs() if job.name.startswith("unit-tests/")}, {1})

    def test_a_machine_of_two_processors_has_five_suites_and_three_hosts(self):
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            lanes = main.lanes()
        self.assertEqual((lanes["suite"], lanes["host"]), (5, 3))


class UnitTests(unittest.TestCase):
    def test_no_file_that_forks_runs_beside_other_tests(self):
        texts = {path.name: path.read_text() for path in (TESTS / "Unit").glob("*/*.swift")}
        forking = {name: text for name, text in texts.items() if "iampass_fork()" in text}
        self.assertIn("WorkerHostTests.swift", forking)
        for name, text in forking.items():
            with self.subTest(name):
                # What a filter of Swift Testing's sees: the outermost types.
                suites = re.findall(r"^(?:@Suite.* )?(?:final )?(?:struct|class|extension) (\w+)", text, re.MULTILINE)
                self.assertTrue(suites)
                self.assertEqual([one for one in suites if one.endswith("Tests") and not re.search(WAITING, one)], [])
                # Without a bound.
                self.assertNotRegex(text, r"waitpid\(child, (nil|&\w+), 0\)")


if __name__ == "__main__":
    unittest.main()
