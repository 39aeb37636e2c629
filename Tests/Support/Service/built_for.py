"""Whether the programs are a release's, or those of a debug build, which `packaging/test --changed` tries."""

import functools
import unittest

from Support.Service.world import program, run


@functools.cache
def is_release():
    """A release has Swift's runtime inside; a debug program loads it from the toolchain."""
    return "libswiftCore.so" not in run("readelf", "--dynamic", program("iampass-helper"))


def needs_release(why):
    """A test that only a release can pass. Other runs name it in their closing lines as left out; the run before a landing
    has a release, and would count it as failed if it were left out there."""
    return unittest.skipUnless(is_release(), f"needs a release: {why}")
