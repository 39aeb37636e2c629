"""`users = service`: the helper keeps the service's list, and the module goes by it."""

import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import unittest

from control import ControlWorld
from Support.Service.server import until
from Support.Service.world import ENROLLED, SUCCESS, USER_UNKNOWN, program, read, run


def setUpModule():
    global world
    world = ControlWorld()
    unittest.addModuleCleanup(world.close)
    world.serve()
    os.unlink(world.path("users"))
    os.unlink(world.path("credentials"))
    # daemon stands for a person.
    world.configure(server=None, ca_file=None, users_from_service="1-59999")
    made = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate", world.certificate,
               "--data", world.path("data"))  # fmt: skip
    world.joined = world.ctl("join", world.address, made.split()[-1], "--name", "desk-1", "--yes")
    world.helper = world.start(program("iampass-helper"), "--config", world.path("iampass.conf"))


def users(*words, check=True):
    done = subprocess.run(
        [program("iampass-server"), "user", words[0], "tests", *words[1:], "--data", world.path("data")], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def sql(text, *values):
    with contextlib.closing(sqlite3.connect(world.path("data/iampass.sqlite"), timeout=30)) as database, database:
        return database.execute(text, values).fetchall()


def kept():
    path = world.path("state/service/users")
    return set(re.findall(r"^([^#:\n]+):", read(path), re.MULTILINE)) if os.path.exists(path) else set()


def known(*names):
    until(lambda: kept() == set(names), lambda: f"the list has {kept()}", 20)


class Lists(unittest.TestCase):
    def setUp(self):
        listed = re.findall(r"^(\S+)", users("list"), re.MULTILINE)
        if listed:
            users("remove", *listed)
        known()

    def test_the_join_has_written_that_users_are_the_services(self):
        self.assertEqual(world.joined.code, 0, world.joined.text)
        self.assertIn("users = service\n", read(world.path("iampass.conf")))
        self.assertIn("the service lists 0 users\n", world.joined.out)

    def test_a_user_is_here_and_gone_as_the_service_says(self):
        users("add", "alice", "bob", "--no-link")
        known("alice", "bob")
        self.assertEqual(os.stat(world.path("state/service/users")).st_mode & 0o7777, 0o600)
        self.assertEqual(sorted(world.ctl("user", "list").out.split()), ["alice", "bob"])
        users("remove", "alice")
        known("bob")

    def test_whoever_is_listed_signs_in_by_their_phone(self):
        told = users("add", ENROLLED)
        known(ENROLLED)
        world.configure(**dict(re.findall(r"^(\w+) = (.*)$", read(world.path("iampass.conf")), re.MULTILINE)))
        link = re.search(r"https://\S+/register/\S+", told)[0]
        run(program("iampass-phone"), "register", link, "--state", world.path("listed.json"), "--ca", world.certificate)
        world.pam("sudo")
        phone = world.phone("approve", state="listed.json")
        self.addCleanup(phone.stop)
        self.assertEqual(world.play("sudo")["codes"], [SUCCESS])
        users("remove", ENROLLED)
        known()
        self.assertEqual(world.play("sudo")["codes"], [USER_UNKNOWN])

    def test_root_is_not_signed_in_however_listed(self):
        users("add", "alice", "--no-link")
        known("alice")
        sql("UPDATE listed_user SET name = 'root', version = (SELECT version + 1 FROM user_list) WHERE name = 'alice'")
        sql("UPDATE user_list SET version = version + 1")
        # The entry of alice has gone without a word: the list does not add up, and is fetched as a whole.
        known("root")
        world.pam("sudo")
        self.assertEqual(world.play("sudo", user="root")["codes"], [USER_UNKNOWN])

    def test_without_the_service_the_last_list_goes_on(self):
        users("add", "alice", "--no-link")
        known("alice")
        world.server.stop()
        world.helper.stop()
        self.assertEqual(kept(), {"alice"})
        world.helper = world.start(program("iampass-helper"), "--config", world.path("iampass.conf"))
        self.assertEqual(world.ctl("user", "list").out.split(), ["alice"])
        world.restart_server()
        users("add", "bob", "--no-link")
        known("alice", "bob")

    def test_check_says_who_is_listed(self):
        users("add", ENROLLED, "--no-link")
        known(ENROLLED)
        self.assertIn("the service lists 1 user, 1 of whom may sign in here", world.ctl("check").out)


class Groups(unittest.TestCase):
    def test_a_computer_has_its_groups_users_alone(self):
        code = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--group", "lab", "--certificate",
                   world.certificate, "--data", world.path("data")).split()[-1]  # fmt: skip
        users("add", "alice", "--group", "lab", "--no-link")
        users("add", "bob", "--no-link")
        other = world.path("other")
        os.makedirs(other, exist_ok=True)
        with open(other + "/iampass.conf", "w") as file:
            file.write(f"run_dir = {other}/run\nstate_dir = {other}/state\nworker = {world.path('iampass-https')}\nworker_user = nobody\n")
        done = world.ctl("join", world.address, code, "--name", "lab-1", "--yes", "--config", other + "/iampass.conf", configured=False)
        self.assertIn("the service lists 1 user\n", done.out)
        listed = read(other + "/state/service/users")
        self.assertEqual(re.findall(r"^([^#:\n]+):", listed, re.MULTILINE), ["alice"])
        self.assertIn("alice  group=lab  no phone", users("list"))
        users("add", "alice", "--no-group", "--no-link")
        self.assertIn("alice  no phone", users("list"))
        users("remove", "alice", "bob")


class Copies(unittest.TestCase):
    """A computer whose folders were copied, with its credential and all."""

    def setUp(self):
        self.name = f"copied-{id(self)}"
        self.folder = world.path(self.name)
        code = run(program("iampass-server"), "join-code", "create", "tests", "--unattended", "--certificate", world.certificate,
                   "--data", world.path("data")).split()[-1]  # fmt: skip
        self.make("original")
        run(program("iampassctl"), "join", world.address, code, "--name", self.name, "--yes", "--config", self.conf("original"))

    def conf(self, name):
        return os.path.join(self.folder, name, "iampass.conf")

    def make(self, name):
        os.makedirs(os.path.join(self.folder, name))
        lines = {
            "run_dir": os.path.join(self.folder, name, "run"), "state_dir": os.path.join(self.folder, name, "state"),
            "worker": world.path("iampass-https"), "worker_user": "nobody",
        }  # fmt: skip
        with open(self.conf(name), "w") as file:
            file.writelines(f"{key} = {value}\n" for key, value in lines.items())

    def copy(self, source, target):
        shutil.copytree(os.path.join(self.folder, source), os.path.join(self.folder, target))
        with open(self.conf(target), "r+") as file:
            text = file.read().replace(f"/{source}/", f"/{target}/")
            file.seek(0)
            file.write(text)
            file.truncate()

    def helper(self, name):
        helper = world.start(program("iampass-helper"), "--config", self.conf(name))
        self.addCleanup(helper.stop)
        return helper

    def confirmed(self, name, former=None):
        """The mark that the service has answered."""
        path = os.path.join(self.folder, name, "state/service/mark")

        def mark():
            return json.loads(read(path)).get("confirmed") if os.path.exists(path) else None
        until(lambda: mark() not in (None, former), "no mark is confirmed", 20)
        return mark()

    def listed(self):
        out = run(program("iampass-server"), "computer", "list", "tests", "--copied", "--json", "--data", world.path("data"))
        return {line["name"]: line["copied"] for line in map(json.loads, out.splitlines())}.get(self.name)

    def test_a_helper_that_starts_again_is_the_same_computer(self):
        mark = None
        for _ in range(3):
            helper = self.helper("original")
            mark = self.confirmed("original", mark)
            helper.stop()
        self.assertIsNone(self.listed())

    def test_a_copy_that_runs_beside_its_original_is_named_and_signs_in_on(self):
        helper = self.helper("original")
        first = self.confirmed("original")
        helper.stop()
        self.copy("original", "copy")
        self.helper("original")
        self.confirmed("original", first)
        self.helper("copy")
        # Nobody held these questions: a change brings both at once.
        until(lambda: users("add", f"u{os.urandom(4).hex()}", "--no-link") and (self.listed() or {}).get("are_both_used"),
              "the copy is not noticed", 30)  # fmt: skip
        self.assertEqual({self.listed()["address"], self.listed()["other_address"]}, {"127.0.0.1"})
        self.assertIn("computer copied", run(program("iampass-server"), "audit", "--data", world.path("data")))
        self.assertIn("a computer was copied, or its disk was put back", "\n".join(world.server.lines))

    def test_a_disk_that_was_put_back_is_noticed_once_and_settled(self):
        helper = self.helper("original")
        mark = self.confirmed("original")
        helper.stop()
        self.copy("original", "before")
        for _ in range(2):
            helper = self.helper("original")
            mark = self.confirmed("original", mark)
            helper.stop()
        shutil.rmtree(os.path.join(self.folder, "original"))
        self.copy("before", "original")
        back = json.loads(read(os.path.join(self.folder, "original/state/service/mark")))["confirmed"]
        helper = self.helper("original")
        self.confirmed("original", back)
        self.assertIs(self.listed()["are_both_used"], False)
        run(program("iampass-server"), "computer", "settle", "tests", self.name, "--data", world.path("data"))
        helper.stop()
        settled = self.confirmed("original")
        self.helper("original")
        self.confirmed("original", settled)
        self.assertIsNone(self.listed())
