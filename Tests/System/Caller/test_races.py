"""Files that change while they are read, and folders that someone else made first: one or the other, or refused."""

import concurrent.futures
import contextlib
import os
import shutil
import threading
import unittest

from caller import SECRET, START, TOKEN, CallerWorld, ServedCase, asked, assert_ended, given_up
from Support.Service.world import AUTHINFO_UNAVAIL, ENROLLED, MAXTRIES, SERVICE_ERR, SUCCESS, read

NOBODY = 65534
OTHER_TOKEN = "other-token-of-the-user-012345"
# Larger than one read, so that a mix would show: 1 MB.
MANY_USERS = "".join(f"user{number}:token-of-another-user\n" for number in range(30_000))
# A tenth of a second each, in which the file changes some hundred times.
LOGINS = 60


def setUpModule():
    global world
    world = CallerWorld()
    unittest.addModuleCleanup(world.close)


class Case(ServedCase):
    def keep(self, name):
        """Puts the file back after the test."""
        text = read(world.path(name))
        self.addCleanup(world.write, name, text)
        self.addCleanup(self.remove, world.path(name))

    @staticmethod
    def remove(path):
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)
        elif os.path.isdir(path):
            shutil.rmtree(path)


@contextlib.contextmanager
def swapped(name, makers):
    """While the block runs, one maker after the other writes the file and renames it into its place."""
    ends = threading.Event()
    path = world.path(name)

    def swap():
        while not ends.is_set():
            for make in makers:
                make(path + ".next")
                os.rename(path + ".next", path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        yield
    finally:
        ends.set()
        swapping.join()


class Swaps(Case):
    def test_a_users_file_that_is_replaced_is_seen_old_or_new_and_never_mixed(self):
        service = self.serve()
        other = START.replace(TOKEN, OTHER_TOKEN)
        service.behaviour[other] = service.behaviour[START]
        self.keep("users")
        # The line is at the beginning of one file and at the end of the other: a mix has two lines or none.
        world.write("old", f"{ENROLLED}:{TOKEN}\n{MANY_USERS}")
        world.write("new", f"{MANY_USERS}{ENROLLED}:{OTHER_TOKEN}\n")
        with swapped("users", [self.linked("old"), self.linked("new")]):
            report = world.log_in(f"count={LOGINS}")
        self.assertEqual(set(report.codes), {SUCCESS}, report.text)
        self.assertEqual(asked(service, START) + asked(service, other), LOGINS)

    def test_credentials_that_turn_into_a_link_are_never_followed(self):
        service = self.serve()
        self.keep("credentials")
        world.write("real", read(world.path("credentials")))
        world.write("elsewhere", f"application_id = elsewhere\napplication_secret = {SECRET}\n")
        with swapped("credentials", [self.linked("real"), lambda path: os.symlink(world.path("elsewhere"), path)]):
            report = world.log_in(f"count={LOGINS}")
        # The helper ends some of these: their credentials were missing again when the handle was closed.
        self.assertLessEqual(set(report.codes), {SUCCESS, SERVICE_ERR})
        self.assertEqual([request.path for request in service.requests if "elsewhere" in request.path], [])

    @staticmethod
    def linked(name):
        """A maker of a second name for a file, which is as quick as a rename."""
        return lambda path: os.link(world.path(name), path)


class Folders(Case):
    """FAULTS L9: what is in the way of `run_dir` is refused, and no request is sent whose answer could not be kept."""

    FAULTS = {
        "another owner": lambda path: (os.mkdir(path, 0o700), os.chown(path, NOBODY, NOBODY)),
        "writable by all": lambda path: (os.mkdir(path), os.chmod(path, 0o777)),
        "readable by its group": lambda path: (os.mkdir(path), os.chmod(path, 0o750)),
        "a link": lambda path: (os.makedirs(path + "-planted", 0o700), os.symlink(path + "-planted", path)),
        "a link to nowhere": lambda path: os.symlink("/nowhere", path),
        "a file": lambda path: open(path, "w").close(),
    }

    def end(self, name, fault, service):
        """How a login ends with the fault at this place of `run_dir`, and how often it asked the service for a phone."""
        answering = self.serve()
        path = world.path(*name)
        self.remove(world.path("run"))
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        self.FAULTS[fault](path)
        self.addCleanup(self.remove, world.path("run"))
        report = world.log_in(service=service)
        self.assertEqual(report.changed, [])
        # Nothing was written through it.
        self.assertEqual(os.listdir(path) if os.path.isdir(path) else [], [])
        assert_ended(answering, report, asked(answering, START))
        return report.codes, asked(answering, START)

    def test_a_run_folder_that_someone_else_made_sends_no_request(self):
        for fault in self.FAULTS:
            for name in (["run"], ["run", "attempts"], ["run", "attempts", "own"]):
                with self.subTest(fault=fault, name=name):
                    self.assertEqual(self.end(name, fault, "sudo"), ([AUTHINFO_UNAVAIL], 0))

    def test_a_folder_of_records_that_someone_else_made_signs_in_only_what_is_not_watched(self):
        for fault in self.FAULTS:
            with self.subTest(fault=fault):
                self.assertEqual(self.end(["run", "sessions"], fault, "login"), ([AUTHINFO_UNAVAIL], 0))
                self.assertEqual(self.end(["run", "sessions"], fault, "sudo"), ([SUCCESS], 1))

    def test_a_folder_of_what_waits_that_someone_else_made_opens_nothing_that_is_to_be_watched(self):
        for fault in self.FAULTS:
            with self.subTest(fault=fault):
                self.assertEqual(self.end(["run", "waiting"], fault, "login"), ([AUTHINFO_UNAVAIL], 1))
                self.assertEqual(self.end(["run", "waiting"], fault, "sudo"), ([SUCCESS], 1))


class TwoAtOnce(Case):
    def log_in_by_two(self):
        with concurrent.futures.ThreadPoolExecutor(2) as hosts:
            started = [hosts.submit(world.log_in, service="login") for _ in range(2)]
            return [host.result() for host in started]

    def test_two_logins_of_one_user_are_two_requests_and_two_sessions(self):
        service = self.serve(*["pending"] * 4, "active")
        shutil.rmtree(world.path("run"), ignore_errors=True)
        reports = self.log_in_by_two()
        self.assertEqual([report.codes for report in reports], [[SUCCESS], [SUCCESS]])
        self.assertEqual(asked(service, START), 2)
        last = max(reports, key=lambda report: report.ended)
        assert_ended(service, last, 2)
        # Then the records are the helper's.
        if not given_up(service, last):
            self.assertEqual(os.listdir(world.path("run", "sessions")), [])

    def test_eight_logins_at_once_send_the_one_request_that_is_left(self):
        slow = world.compile("slow_counting.c", "-shared", "-fPIC")
        # A denial is never cancelled, so that the order does not matter.
        service = self.serve("cancelled")
        world.configure(max_requests="1")
        report = world.log_in("threads=8", environment={**os.environ, "LD_PRELOAD": slow})
        self.assertEqual(sorted(report.codes), [AUTHINFO_UNAVAIL] * 7 + [MAXTRIES])
        self.assertEqual(asked(service, START), 1)


class Attempts(Case):
    """A limiter's file that cannot be counted refuses this login and the next: it begins again as used up."""

    def test_a_file_that_is_full_or_garbage_sends_no_request(self):
        for text in ("garbage\n", "\0" * 100, "9" * 600 + "\n", "1\n" * 600, "-1\n" * 5 + "x"):
            with self.subTest(text=text[:10]):
                service = self.serve("cancelled")
                world.log_in()
                self.assertEqual(asked(service, START), 1)
                folder = world.path("run", "attempts", "own")
                (name,) = os.listdir(folder)
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
                self.assertEqual([world.log_in().codes for _ in range(2)], [[AUTHINFO_UNAVAIL]] * 2)
                self.assertEqual(asked(service, START), 1)


if __name__ == "__main__":
    unittest.main()
