"""GDM 43 of Debian 12, on a screen of another computer."""

import unittest

import gdm_tests
from gdm_case import GDMCase


class OnDebian12(GDMCase):
    release = "12-gdm"


class Greeter(gdm_tests.Greeter, OnDebian12):
    pass


class Lock(gdm_tests.Lock, OnDebian12):
    pass


class Commands(gdm_tests.Commands, OnDebian12):
    pass


if __name__ == "__main__":
    unittest.main()
