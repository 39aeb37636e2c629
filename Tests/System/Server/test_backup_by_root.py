"""Root's backups of a database that belongs to the service's user, who may be broken into."""

import contextlib
import fcntl
import os
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import unittest

from Support.Service.server import CANNOT_CREATE, NO_INPUT, ServerWorld, until
from Support.Service.world import PATIENCE, program, read

OWNER = 65534
MAGIC = bytes.fromhex("d9d505f920a163d7")
PAGE = 4096


def leave_journal(database, named):
    """A rollback journal, which SQLite's next reader plays back. Then it deletes the file that the journal names as the one
    of a transaction in several databases (SQLite's "fileformat2", "The Rollback Journal", and its pager_delsuper)."""
    name = os.fsencode(named)
    head = MAGIC + struct.pack(">5I", 0, 0, os.path.getsize(database) // PAGE, 512, PAGE)
    lock_page = struct.pack(">I", (1 << 30) // PAGE + 1)
    with open(database + "-journal", "wb") as file:
        file.write(head.ljust(512, b"\0") + lock_page + name + struct.pack(">2I", len(name), sum(name)) + MAGIC)


class ByRoot(unittest.TestCase):
    def setUp(self):
        self.world = ServerWorld()
        self.addCleanup(self.world.close)
        self.world.serve_alone()
        os.chmod(self.world.folder, 0o711)
        os.mkdir(self.world.path("copies"), 0o700)
        self.give_away()

    def give_away(self):
        for folder, _, files in os.walk(self.world.path("data")):
            for name in (folder, *(os.path.join(folder, name) for name in files)):
                os.chown(name, OWNER, OWNER)

    def backup(self, name="copies/copy", **options):
        return self.world.command("backup", self.world.path(name), **options)

    def left(self):
        return [name for name in os.listdir(self.world.path("data")) if "partial" in name]

    def test_the_copy_of_a_running_service_is_roots_and_whole(self):
        previous = os.umask(0)
        try:
            done = self.backup()
        finally:
            os.umask(previous)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        found = os.stat(self.world.path("copies/copy"))
        self.assertEqual((found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode), found.st_nlink), (0, 0, 0o600, 1))
        self.assertEqual((os.listdir(self.world.path("copies")), self.left()), (["copy"], []))
        with contextlib.closing(self.world.database("copies/copy")) as copy:
            self.assertEqual(copy.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(copy.execute("SELECT name FROM application").fetchall(), [("office",)])
            marks = copy.execute("SELECT count(*) FROM restored_copy WHERE nonces_spent_until IS NULL").fetchall()
            self.assertEqual(marks, [(1,)])
        self.assertRegex(self.world.command("audit").stdout.splitlines()[-1], r"Z  backup made  by cli:[0-9]+")

    def test_a_journal_of_the_owners_reaches_no_file_of_roots(self):
        world = self.world
        world.server.stop()
        for name in ("lost", "precious"):
            world.write(name, "auth required pam_unix.so\n", mode=0o644)
        # SQLite does what the next lines rely on.
        os.mkdir(world.path("try"), 0o700)
        shutil.copy(world.path("data", "iampass.sqlite"), world.path("try"))
        leave_journal(world.path("try", "iampass.sqlite"), world.path("lost"))
        with contextlib.closing(sqlite3.connect(world.path("try", "iampass.sqlite"))) as database:
            database.execute("SELECT count(*) FROM sqlite_master").fetchall()
        self.assertFalse(os.path.exists(world.path("lost")))
        leave_journal(world.path("data", "iampass.sqlite"), world.path("precious"))
        self.give_away()
        self.backup()
        self.assertEqual(read(world.path("precious")), "auth required pam_unix.so\n")

    def test_a_folder_that_the_owner_can_change_is_refused(self):
        os.mkdir(self.world.path("theirs"), 0o700)
        os.chown(self.world.path("theirs"), OWNER, OWNER)
        os.mkdir(self.world.path("theirs/below"), 0o700)
        before = self.world.command("audit").stdout
        for name in ("theirs/copy", "theirs/below/copy"):
            done = self.backup(name)
            self.assertEqual(done.returncode, CANNOT_CREATE, done.stderr)
            self.assertIn("the owner of the database can change the folder of", done.stderr)
        self.assertEqual(os.listdir(self.world.path("theirs")), ["below"])
        self.assertEqual(os.listdir(self.world.path("theirs/below")), [])
        self.assertEqual(self.world.command("audit").stdout, before)

    def test_failures_are_said_as_to_the_owner(self):
        self.world.write("there", "precious")
        for name, said in (("there", "is there already"), ("nowhere/copy", "cannot be written: No such file")):
            done = self.backup(name)
            self.assertEqual(done.returncode, CANNOT_CREATE, done.stderr)
            self.assertIn(said, done.stderr)
        self.assertEqual(read(self.world.path("there")), "precious")
        os.mkdir(self.world.path("empty"), 0o700)
        os.chown(self.world.path("empty"), OWNER, OWNER)
        done = self.backup(data="empty")
        self.assertEqual(done.returncode, NO_INPUT, done.stderr)
        self.assertIn(f"there is no database {self.world.path('empty', 'iampass.sqlite')}\nhint: ", done.stderr)
        self.assertEqual(os.listdir(self.world.path("empty")), [])
        self.assertEqual(os.listdir(self.world.path("copies")), [])

    def test_nothing_stays_of_a_backup_that_is_killed(self):
        self.world.server.stop()
        with contextlib.closing(sqlite3.connect(self.world.path("data", "iampass.sqlite"), isolation_level=None)) as holder:
            # The owner's process waits for it.
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
            words = [program("iampass-server"), "backup", self.world.path("copies/copy"), "--data", self.world.path("data")]
            root = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                until(self.owners_processes, "the owner's process has begun")
            finally:
                root.send_signal(signal.SIGKILL)
                root.wait(PATIENCE)
            holder.execute("ROLLBACK")
        until(lambda: not self.owners_processes(), "the owner's process has ended")
        self.assertEqual((self.left(), os.listdir(self.world.path("copies"))), ([], []))

    def test_what_an_owners_process_left_goes_with_the_next_backup(self):
        for name in ("backup.partial-old", "backup.partial-others"):
            self.world.write(f"data/{name}", "part")
        self.give_away()
        with open(self.world.path("data/backup.partial-others")) as others:
            fcntl.flock(others, fcntl.LOCK_EX)
            done = self.backup()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.left(), ["backup.partial-others"])

    def owners_processes(self):
        """Those of this world that copy."""
        found, data = [], self.world.path("data").encode()
        for process in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
                if b"pass-copy" in words and data in words:
                    found.append(process)
        return found


if __name__ == "__main__":
    unittest.main()
