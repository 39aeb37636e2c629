"""In which order the plan begins what waits for one thing, so that no processor is idle at the end."""

import pathlib
import unittest

from Support.Runner.plan import Plan


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


if __name__ == "__main__":
    unittest.main()
