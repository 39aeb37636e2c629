"""The units: systemd ends a service that hangs, and starts it again; one that may not go on is left alone. What callers
start by a socket may fail to start, and comes when it can."""

import subprocess

from host_case import HostCase

UNIT = "iampass-server"
DROP_IN = f"/run/systemd/system/{UNIT}.service.d/watched.conf"


class Watched(HostCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.start_service)
        self.addCleanup(self.host.run, "systemctl", "reset-failed", UNIT, check=False)

    def property(self, name):
        return self.host.run("systemctl", "show", "--property", name, "--value", UNIT).strip()

    def with_settings(self, *lines):
        text = "\n".join(["[Service]", *lines, ""])
        self.host.run("install", "-D", "-m", "644", "/dev/stdin", DROP_IN, text_in=text)
        self.addCleanup(self.host.run, "systemctl", "restart", UNIT)
        self.addCleanup(self.host.run, "systemctl", "daemon-reload")
        self.addCleanup(self.host.run, "rm", "-f", DROP_IN)
        self.host.run("systemctl", "daemon-reload")

    def test_a_service_whose_process_is_stopped_is_started_again(self):
        # The unit's own minute would be long for a test.
        self.with_settings("WatchdogSec=10")
        self.host.run("systemctl", "restart", UNIT)
        # systemd says that it runs once it listens.
        self.assertTrue(self.host.run("ss", "-Hltn", "src 127.0.0.1:8443"))
        self.assertRegex(self.property("StatusText"), "^Serves on https://")
        before = self.property("MainPID")
        self.host.run("kill", "-STOP", before)
        self.assert_eventually("the service is not started again", lambda: self.property("MainPID") not in ("0", before)
                               and self.property("ActiveState") == "active")
        self.assertIn("atchdog", self.journal())
        with self.phone("approve"):
            self.assertEqual(self.sudo().finish(), 0)

    def test_a_reload_keeps_the_process(self):
        before = self.property("MainPID")
        self.host.run("systemctl", "reload", UNIT)
        self.assertEqual((self.property("MainPID"), self.property("ActiveState")), (before, "active"))

    def test_a_service_that_may_not_go_on_is_not_started_again_and_again(self):
        self.host.run("systemctl", "stop", UNIT)
        folder = "/var/lib/iampass-server"
        self.addCleanup(self.host.run, "chmod", "700", folder)
        # systemd sets the mode of a state directory itself.
        self.with_settings("StateDirectory=")
        self.host.run("chmod", "777", folder)
        self.host.run("systemctl", "start", UNIT, check=False)
        self.assertEqual(self.property("ExecMainStatus"), "78")
        self.assertEqual((self.property("ActiveState"), self.property("NRestarts")), ("failed", "0"))


class BySocket(HostCase):
    #: More starts than systemd allows in ten seconds by itself.
    STARTS = 6
    #: A caller that does not give up before its input ends.
    CALLER = """
import socket, sys
caller = socket.socket(socket.AF_UNIX, int(sys.argv[2]))
caller.connect(sys.argv[1])
sys.stdin.read()
"""

    def property(self, unit, name):
        return self.host.run("systemctl", "show", "--property", name, "--value", unit).strip()

    def put_back(self, socket, service, drop_in, was):
        self.host.run("rm", "-f", drop_in)
        self.host.run("systemctl", "daemon-reload")
        self.host.run("systemctl", "stop", socket, service)
        self.host.run("systemctl", "reset-failed", socket, service, check=False)
        if was == "active":
            self.host.run("systemctl", "start", socket)

    def assert_comes_when_it_can(self, name, kind):
        socket, service = f"{name}.socket", f"{name}.service"
        drop_in = f"/run/systemd/system/{service}.d/failing.conf"
        self.addCleanup(self.put_back, socket, service, drop_in, self.property(socket, "ActiveState"))
        # As on a full disk, where systemd cannot make its folders. A second is long enough a pause, and soon over.
        self.host.run("install", "-D", "-m", "644", "/dev/stdin", drop_in,
                      text_in="[Service]\nExecStartPre=/bin/false\nRestartSec=1\n")
        self.host.run("systemctl", "daemon-reload")
        self.host.run("systemctl", "stop", service)
        self.host.run("systemctl", "start", socket)
        path = self.property(socket, "Listen").split()[0]
        caller = self.host.start("python3", "-c", self.CALLER, path, str(kind), stdin=subprocess.PIPE)
        self.addCleanup(caller.communicate, timeout=60)
        self.assert_eventually("it is not tried again", lambda: int(self.property(service, "NRestarts")) >= self.STARTS)
        self.assertEqual(self.property(socket, "ActiveState"), "active")
        self.host.run("rm", drop_in)
        self.host.run("systemctl", "daemon-reload")
        self.assert_eventually("it does not come", lambda: self.property(service, "ActiveState") == "active")
        self.assertEqual(self.property(socket, "ActiveState"), "active")

    def test_a_broker_that_could_not_start_comes_when_it_can(self):
        self.assert_comes_when_it_can("iampass-broker", 1)

    def test_a_probe_that_could_not_start_comes_when_it_can(self):
        self.assert_comes_when_it_can("iampass-presence", 5)
