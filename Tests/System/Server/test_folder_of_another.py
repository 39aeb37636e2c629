"""Root starts the service on a data directory that belongs to the service's user, who may be broken into."""

import os
import re
import unittest

from Support.Service import ports
from Support.Service.server import CONFIG, ServerWorld, until
from Support.Service.world import program, read
from test_backup_by_root import OWNER, leave_journal


class Case(unittest.TestCase):
    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        self.world.server.stop()
        os.chmod(self.world.folder, 0o711)


class ServedByRoot(Case):
    def setUp(self):
        super().setUp()
        self.give_away()

    def give_away(self):
        data = self.world.path("data")
        for name in (data, *(os.path.join(data, name) for name in os.listdir(data))):
            os.lchown(name, OWNER, OWNER)

    def owners(self):
        data = self.world.path("data")
        return {name: os.lstat(os.path.join(data, name)).st_uid for name in os.listdir(data)}

    def test_it_goes_on_as_the_owner_and_leaves_no_file_of_roots(self):
        world = self.world
        world.start_server()
        world.server.wait_for("goes on as the owner of the data directory")
        # The first thread waits for signals alone, and is one that glibc leaves out (setuid(2)).
        for thread in os.listdir(f"/proc/{world.server.process.pid}/task"):
            status = read(f"/proc/{world.server.process.pid}/task/{thread}/status")
            for kind in ("Uid", "Gid"):
                self.assertRegex(status, re.compile(rf"^{kind}:\s+" + r"\s+".join([str(OWNER)] * 4) + "$", re.MULTILINE))
            self.assertRegex(status, re.compile(r"^CapPrm:\s+0+$", re.MULTILINE))
        self.assertEqual(world.server.count("goes on as the owner of the data directory"), 1)
        # The key is root's alone.
        world.server.wait_for(r"(?=.*server\.key).*cannot read a file of the certificate")
        world.enroll_alice()
        running = self.owners()
        self.assertTrue(any(name.startswith("serving-") for name in running), running)
        world.server.stop()
        self.assertIn("clean-stop", self.owners())
        self.assertEqual(set(running.values()) | set(self.owners().values()), {OWNER})

    def test_a_journal_of_the_owners_reaches_no_file_of_roots(self):
        world = self.world
        world.write("precious", "auth required pam_unix.so\n", mode=0o644)
        leave_journal(world.path("data", "iampass.sqlite"), world.path("precious"))
        self.give_away()
        server = world.start(
            program("iampass-server"), "serve", "--data", world.path("data"), "--listen", f"127.0.0.1:{ports.take()}",
            "--tls-cert", world.certificate, "--tls-key", world.key)
        until(lambda: server.process.poll() is not None or server.count("listening on https"), "the end of the start")
        self.assertEqual(read(world.path("precious")), "auth required pam_unix.so\n")


class Paths(Case):
    def refused(self, data, said):
        """By each kind of command."""
        world = self.world
        for words in (["application", "list"], ["application", "create", "other"], ["audit"], ["database", "check"],
                      ["backup", world.path("copy")]):  # fmt: skip
            with self.subTest(words=words):
                done = world.command(*words, data=data)
                self.assertEqual(done.returncode, CONFIG, done.stderr)
                self.assertIn(said, done.stderr)
        done = world.serve_here(data=data)
        self.assertEqual(done.returncode, CONFIG, done.stderr)
        self.assertIn(said, done.stderr)
        self.assertFalse(os.path.exists(world.path("copy")))

    def test_a_part_of_another_users_is_refused_and_named(self):
        world = self.world
        os.mkdir(world.path("theirs"), 0o755)
        os.rename(world.path("data"), world.path("theirs/data"))
        self.assertEqual(world.command("application", "list", data="theirs/data").returncode, 0)
        os.chown(world.path("theirs"), OWNER - 1, OWNER - 1)
        said = (f"{world.path('theirs')}, on the way to the data directory {world.path('theirs/data')}, "
                f"belongs to user {OWNER - 1}\nhint: ")  # fmt: skip
        self.refused("theirs/data", said)
        # The data are the service's user's, and the part above them is a third one's.
        for name in ("", *os.listdir(world.path("theirs/data"))):
            os.chown(world.path("theirs/data", name), OWNER, OWNER)
        self.refused("theirs/data", said)
        os.chown(world.path("theirs"), OWNER, OWNER)
        done = world.command("application", "list", data="theirs/data")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_link_of_the_owners_does_not_lead_root_to_a_folder_of_roots(self):
        world = self.world
        os.mkdir(world.path("theirs"), 0o755)
        os.mkdir(world.path("precious"), 0o700)
        os.symlink(world.path("precious"), world.path("theirs/data"))
        for name in ("theirs", "theirs/data"):
            os.lchown(world.path(name), OWNER, OWNER)
        self.refused("theirs/data", f"{world.path('theirs')}, on the way to the data directory ")
        self.assertEqual(os.listdir(world.path("precious")), [])


if __name__ == "__main__":
    unittest.main()
