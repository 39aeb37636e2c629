"""`iampass-server setup` with a running service: an address is tried first, each wait ends, and what was there comes back."""

import os
import signal
import socket
import time
import unittest

from setup_unit import UnitWorld
from setup_world import SetupCase
from Support.Service import ports
from Support.Service.server import UNAVAILABLE
from Support.Service.world import PATIENCE

#: RFC 5737: no computer has it.
NOWHERE = "192.0.2.1"
#: The exit status after a signal.
AFTER = 128
LISTENS = r"waiting until the service listens, 20 seconds at most"
RESTARTS = r"waiting until the service is restarted, 30 seconds at most"
PUT_BACK = "interrupted; the settings of before are put back\nhint: \\S"


class StartCase(SetupCase):
    def setUp(self):
        self.world = UnitWorld()
        self.addCleanup(self.world.close)

    def started(self):
        self.set_up()
        self.assertEqual(self.world.get("/healthz"), 200)
        return self.world.pid, self.world.files()

    def ended(self, process, number):
        """What it said after the signal."""
        process.process.send_signal(number)
        self.assertEqual(process.process.wait(PATIENCE), AFTER + number)
        process.reader.join(PATIENCE)
        return "\n".join(process.lines) + "\n"


class Tried(StartCase):
    def refused(self, address, reason):
        pid, before = self.started()
        calls = self.world.calls()
        done = self.world.setup("--listen", address)
        self.assert_refused(done, UNAVAILABLE, rf"cannot listen on {address}: {reason}; nothing was changed")
        self.assertEqual((self.world.files(), self.world.pid), (before, pid))
        self.assertNotIn("restart", self.world.calls()[len(calls):])
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_an_address_that_this_computer_lacks(self):
        self.refused(f"{NOWHERE}:{ports.take()}", "this computer does not have the address")

    def test_an_address_that_it_lacks_with_the_port_of_before(self):
        self.refused(f"{NOWHERE}:{self.world.port}", "this computer does not have the address")

    def test_a_port_of_another_program(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            self.refused(f"127.0.0.1:{taken.getsockname()[1]}", "Address already in use")

    def test_the_port_of_before_at_an_address_of_another_program(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.2", self.world.port))
            taken.listen()
            self.refused(f"127.0.0.2:{self.world.port}", "Address already in use")

    def test_the_port_of_before_with_another_program_at_one_of_all_addresses(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.2", self.world.port))
            taken.listen()
            self.refused(f"0.0.0.0:{self.world.port}", "Address already in use")

    def test_the_services_own_port_at_all_addresses_is_taken(self):
        self.started()
        done = self.set_up("--listen", f"0.0.0.0:{self.world.port}")
        self.assertIn(f"the service listens on 0.0.0.0:{self.world.port}\n", done.stdout)
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_what_was_set_up_before_is_tried_too(self):
        _, before = self.started()
        self.world.stop()
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", self.world.port))
            taken.listen()
            self.assert_refused(self.world.setup("--yes"), UNAVAILABLE, "cannot listen on .*: Address already in use; nothing was changed")
        self.assertEqual(self.world.files(), before)


class WithoutNesting(StartCase):
    """systemd cannot make the mounts that the unit asks for."""

    SAID = r"systemd cannot set up the restrictions of iampass-trial \(226/NAMESPACE\): "

    def refused(self, reason, hint):
        self.world.put("status", "226\n")
        done = self.world.setup(*self.world.usual)
        self.assert_refused(done, UNAVAILABLE, self.SAID + reason + "; the settings of before are put back")
        self.assertIn(f"\nhint: {hint}", done.stderr)
        self.assertFalse(os.path.exists(self.world.path("settings")))
        self.world.take("status")
        self.set_up()
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_a_container_is_said_to_be_without_nesting(self):
        self.world.put("container", "lxc\n")
        self.refused(r"this container \(lxc\) seems to be without nesting", "allow nesting (Proxmox: Options, Features, nesting=1)")

    def test_elsewhere_a_folder_may_be_missing(self):
        self.refused("a folder that the unit names may be missing", "journalctl -u iampass-trial -n 20")

    def test_another_failure_says_nothing_of_it(self):
        self.world.put("container", "lxc\n")
        self.world.put("status", "1\n")
        self.assert_refused(self.world.setup(*self.world.usual), UNAVAILABLE, "systemctl restart iampass-trial failed")


class Interrupted(StartCase):
    def stuck(self, *words, line=LISTENS):
        process = self.world.begin(*words)
        self.addCleanup(process.stop)
        process.wait_for(line)
        return process

    def deaf(self):
        """An address on which a started service never listens."""
        address = f"127.0.0.3:{ports.take()}"
        self.world.put("deaf", address)
        return address

    def assert_as_before(self, pid, before):
        self.assertEqual(self.world.files(), before)
        self.assertNotEqual(self.world.pid, pid)
        self.assertEqual(self.world.get("/healthz"), 200)
        # Nobody holds the lock, and nothing is left to be done.
        restarts = self.world.calls().count("restart")
        self.set_up("--yes")
        self.assertEqual(self.world.files(), before)
        self.assertEqual(self.world.calls().count("restart"), restarts)

    def test_ctrl_c_ends_the_wait_for_the_service_and_puts_it_back(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                pid, before = self.started()
                said = self.ended(self.stuck("--listen", self.deaf()), number)
                self.assertRegex(said, PUT_BACK)
                self.assertIn(f"the service listens on 127.0.0.1:{self.world.port} again\n", said)
                self.assert_as_before(pid, before)

    def test_ctrl_c_ends_the_wait_for_systemd(self):
        pid, before = self.started()
        self.world.put("hangs")
        process = self.stuck("--listen", f"127.0.0.3:{ports.take()}", line=RESTARTS)
        end = time.monotonic() + PATIENCE
        while not self.world.hangs():
            self.assertLess(time.monotonic(), end, "systemctl was not called")
            time.sleep(0.02)
        self.world.take("hangs")
        self.assertRegex(self.ended(process, signal.SIGINT), PUT_BACK)
        self.assert_as_before(pid, before)

    def test_a_changed_authority_is_put_back_too(self):
        pid, before = self.started()
        self.world.put("deaf", f"127.0.0.1:{self.world.port}")
        process = self.stuck("--name", "127.0.0.1", "--new-authority")
        self.assertNotEqual(self.world.files()[self.world.authority], before[self.world.authority])
        os.unlink(self.world.path("deaf"))
        self.assertRegex(self.ended(process, signal.SIGTERM), PUT_BACK)
        self.assert_as_before(pid, before)

    def test_a_first_setup_leaves_nothing(self):
        self.world.put("deaf", f"127.0.0.1:{self.world.port}")
        self.assertRegex(self.ended(self.stuck(*self.world.usual), signal.SIGINT), PUT_BACK)
        self.assert_nothing_written()
        self.assertEqual((self.world.pid, self.world.calls()[-1]), ("", "stop"))
        self.world.take("deaf")
        self.started()

    def test_another_setup_is_said_to_run_while_it_does(self):
        self.started()
        process = self.stuck("--listen", self.deaf())
        self.assert_refused(self.world.setup("--yes"), UNAVAILABLE, "another setup or renewal is running")
        process.process.kill()
        process.process.wait(PATIENCE)
        # A killed one puts nothing back: the next setup names the address that works.
        done = self.set_up("--listen", f"127.0.0.1:{self.world.port}")
        self.assertIn(f"the service listens on 127.0.0.1:{self.world.port}\n", done.stdout)
        self.assertEqual(self.world.get("/healthz"), 200)

    def test_without_a_signal_the_wait_ends_by_itself(self):
        pid, before = self.started()
        address = self.deaf()
        done = self.world.setup("--listen", address)
        self.assert_refused(done, UNAVAILABLE, f"the service does not listen on {address} within 20 seconds; the settings of before are put back")
        self.assert_as_before(pid, before)


if __name__ == "__main__":
    unittest.main()
