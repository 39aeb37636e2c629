"""`iampassctl join`, broken off: killed, stopped, a reply that is lost, and a service that has too much to do or restarts."""

import os
import re
import subprocess

from control import INTERRUPTED, UNAVAILABLE
from join_case import JoinCase, busy_service, command, new_code, open_world, sql
from Support.Service.world import program, read, run


def setUpModule():
    global world
    world = open_world()


class BrokenOff(JoinCase):
    def credentials_at_the_service(self):
        listed = run(program("iampass-server"), "host-credential", "list", "tests", "--data", world.path("data"))
        return listed.count(f"host={self.name()}  ")

    def test_killed_at_any_moment_it_goes_on_with_the_same_code(self):
        code, _ = new_code("--unattended")
        words = [program("iampassctl"), "join", world.address, code, "--name", self.name(), "--yes",
                 "--config", world.path("iampass.conf")]  # fmt: skip
        for delay in (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.3):
            child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                child.wait(delay)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        done = self.join(code)
        self.assertEqual(done.code, 0, done.text)
        self.assertEqual(self.credentials_at_the_service(), 1)
        self.assertFalse(os.path.exists(world.path("joining")))

    def test_a_reply_that_is_lost_makes_no_second_credential(self):
        code, _ = new_code("--unattended")
        self.assertEqual(self.join(code).code, 0)
        # As if the reply had never come: the note is there, the files are not.
        secret = re.search(r"application_secret = (\S+)", read(world.path("credentials")))[1]
        digest = sql("SELECT digest FROM join_code ORDER BY created_at DESC LIMIT 1")[0][0]
        os.unlink(world.path("credentials"))
        world.write("iampass.conf", self.settings, 0o644)
        world.write("joining", f"server = {world.address}\ncode = {digest}\nname = {self.name()}\nsecret = {secret}\n")
        self.assertEqual(self.join(code).code, 0)
        self.assertEqual(self.credentials_at_the_service(), 1)

    def test_stopped_while_waiting_it_goes_on(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(r"digits (\d+)")
        digits = child.match[1]
        child.sendintr()
        self.assertEqual(world.finish(child), INTERRUPTED)
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect(r"digits (\d+)")
        self.assertEqual(child.match[1], digits)
        command("approve", self.name())
        world.finish(child)
        self.assertEqual(self.credentials_at_the_service(), 1)

    def test_a_service_with_too_much_to_do_is_asked_again(self):
        code, _ = new_code("--unattended")
        with busy_service() as busy:
            child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
            child.expect("the service has too much to do at the moment; asking again for up to a minute")
            busy.rollback()
            child.expect("joined tests")
            world.finish(child)
        self.assertEqual(self.credentials_at_the_service(), 1)

    def test_a_service_that_never_gets_to_it_is_told(self):
        code, _ = new_code("--unattended")
        with busy_service():
            self.refused(code, UNAVAILABLE, "server error 503", words=("--wait", "4s"))
        self.assertEqual(self.join(code).code, 0)

    def test_a_service_that_restarts_ends_no_wait(self):
        code, _ = new_code()
        child = world.terminal("join", world.address, code, "--name", self.name(), "--yes")
        child.expect("digits")
        world.restart_server()
        command("approve", self.name())
        child.expect("joined tests")
        world.finish(child)
