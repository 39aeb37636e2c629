"""A host of a test's own, with the packages' files in root's folder `debs`, as packaging/build-deb leaves them."""

import os
import shutil
import unittest

from host_case import PROJECT
from Support.Hosts import testhost

PACKAGES = "/root/debs"


def own_host():
    """Booted, without the packages and with Debian's own sshd. Raises SkipTest if no host can be booted."""
    host = testhost.Host(os.environ.get("IAMPASS_BIN", PROJECT / ".build-product" / "release"))
    try:
        host.boot()
    except testhost.CannotBoot as error:
        shutil.rmtree(host.folder, ignore_errors=True)
        raise unittest.SkipTest(str(error)) from error
    try:
        host.add_packages(PACKAGES)
        host.run("bash", "-c", "ssh-keygen -q -A; systemctl start ssh")
    except BaseException:
        host.stop()
        raise
    return host
