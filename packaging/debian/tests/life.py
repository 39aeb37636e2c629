"""The packages' whole life on a machine: installed, used, upgraded, removed and purged. A test goes on where the one
before it ended, so the first that fails is the last."""

import unittest

import installing
import removal
import service
import sign_ins
import upgrades


class Life(installing.Installing, service.Service, sign_ins.SignIns, upgrades.Upgrades, removal.Removal):
    """All stages on one machine, by the numbers of their tests."""


if __name__ == "__main__":
    unittest.main(failfast=True)
