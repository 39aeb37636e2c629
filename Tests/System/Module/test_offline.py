"""The phone without a network: its digits sign in, through libpam, by the real phone and the real service, which is down."""

import contextlib
import glob
import hashlib
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time
import unittest

from cryptography.hazmat.primitives import serialization
from sign_in_case import SignInCase, world_with_a_phone
from Support.Service import offline
from Support.Service.world import (
    AUTHINFO_UNAVAIL, AUTH_ERR, ENROLLED, MAXTRIES, PAM_CALL, PATIENCE, SUCCESS, WITHOUT_TOKEN, program, read, run)

# Nobody listens there.
NOWHERE = "https://127.0.0.1:1"
OPEN = "No network: open this on your phone"
OFFER = "Server not reachable. Digits on your phone, or password: "
BOTH = "Server not reachable. Digits on your phone, recovery code, or password: "
NOT_TAKEN = "IAMPASS: your phone does not show these digits for this sign-in"
TOO_LATE = "IAMPASS: the two minutes for these digits are over; open the new link"
TRIED = r"IAMPASS: too many codes were tried; try again in \d+ minutes\. Use your password\."
WRONG = ["00000000", "00000001", "00000002", "00000003", "00000004"]


def phone_state():
    return json.loads(read(world.path("phone.json")))


def private_key(name):
    return offline.base64.b64decode(phone_state()[name])


def agreement_key():
    return serialization.load_der_private_key(private_key("agreement_private_key"), None)


def pin():
    public = serialization.load_der_private_key(private_key("private_key"), None).public_key()
    world.write("phones", f"{ENROLLED}:{phone_state()['device']}:{offline.spki(public)}:::1700000000:test\n", 0o644)


def setUpModule():
    global world
    world = SignInCase.world = world_with_a_phone()
    world.configure()
    pin()


def links(text):
    return re.findall(r"https://\S+/phone/#offline=\S+", text)


class Offline(SignInCase):
    settings = {"methods_offline": "phone"}

    def setUp(self):
        super().setUp()
        world.configure(approvals="verified", **self.settings)
        if not os.path.exists(world.path("state", "offline", "key")):
            self.meet()
        world.configure(server=NOWHERE)

    def meet(self):
        """A sign-in with the service: from now on the computer knows the phone."""
        world.configure(server=world.address)
        with world.playing() as results:
            code = world.code_on_the_screen()
            run(program("iampass-phone"), "watch", "--state", world.path("phone.json"), "--answer", "approve", "--code", code)
        self.assertEqual(results[0]["codes"], [SUCCESS], results[0])

    def link(self, count=1):
        """The last link that the prompt shows, once there are `count`."""
        end = time.monotonic() + PATIENCE
        while len(found := links(read(world.path("screen")))) < count:
            self.assertLess(time.monotonic(), end, read(world.path("screen")))
            time.sleep(0.02)
        return found[-1]

    def digits(self, link):
        return offline.digits(link, agreement_key())

    def type(self, text):
        world.write("typing", text)
        os.rename(world.path("typing"), world.path("typed"))

    def wait_until_taken(self):
        end = time.monotonic() + PATIENCE
        while os.path.exists(world.path("typed")):
            self.assertLess(time.monotonic(), end, "nobody reads what is typed")
            time.sleep(0.02)

    @property
    def typed(self):
        return {"file": world.path("typed")}

    def signed_in(self, answers=(), **scene):
        """A sign-in by the digits of the link that it shows; `answers` come before them."""
        with world.playing(answers=[*answers, self.typed], **scene) as results:
            self.type(self.digits(self.link()))
        return results[0]

    def met_file(self):
        [path] = glob.glob(world.path("state", "offline", "*.*"))
        return path

    def uses(self):
        return [json.loads(read(path)) for path in glob.glob(world.path("state", "offline", "uses", "*"))]


class Digits(Offline):
    def test_a_phone_signs_in_with_the_service_stopped(self):
        world.configure(server=world.address)
        world.server.stop()
        self.addCleanup(world.restart_server)
        before = len(self.uses())
        with world.playing(answers=[self.typed]) as results:
            words = [program("iampass-phone"), "offline", self.link(), "--state", world.path("phone.json")]
            refused = subprocess.run([*words, "--answer", "deny"], capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotRegex(refused.stdout, r"\d{4} \d{4}")
            shown = subprocess.run(words, input="y\n", capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertRegex(shown.stdout, rf"service +sudo\n +user +{ENROLLED}\n +terminal +pts/7\n")
            typed = re.search(r"type on the computer: (\d{4} \d{4})", shown.stdout)[1]
            self.type(typed)
        result = results[0]
        self.assertEqual(result["codes"], [SUCCESS], result)
        self.assertEqual([result["texts"][0], *result["texts"][2:]], [OPEN, OFFER])
        self.assertRegex(result["log"][-1], r"approved .*session=none by=offline-phone phone=\S+$")
        self.assertEqual(typed.replace(" ", ""), self.digits(links(result["texts"][1])[0]))
        self.assertEqual(len(self.uses()), before + 1)
        use = self.uses()[-1]
        self.assertEqual((use["phone"], use["use"]["user"], use["use"]["service"]), (phone_state()["device"], ENROLLED, "sudo"))

    def test_digits_of_another_sign_in_do_not_serve(self):
        with world.playing(answers=[self.typed, ""]) as results:
            seen = self.digits(self.link())
            self.type("00000000")
        self.assertEqual(results[0]["codes"], [AUTHINFO_UNAVAIL])
        result = world.play(answers=[seen, ""])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn(NOT_TAKEN, result["texts"])
        self.assertNotEqual(links(" ".join(results[0]["texts"])), links(" ".join(result["texts"])))

    def test_a_link_that_is_opened_twice_signs_in_once(self):
        with world.playing(answers=[self.typed]) as results:
            link = self.link()
            seen = self.digits(link)
            self.assertEqual(self.digits(link), seen)
            self.type(seen)
        self.assertEqual(results[0]["codes"], [SUCCESS])
        result = world.play(answers=[seen, ""])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn(NOT_TAKEN, result["texts"])

    def test_a_neighbours_session_takes_no_digits_of_this_one(self):
        """Both ask at the same time, and the neighbour types first."""
        neighbour = {"user": ENROLLED, "items": {"ruser": "games", "tty": "pts/8"}, "without_log": True}
        with world.playing(answers=[self.typed]) as results:
            seen = self.digits(self.link())
            scene = {**world.scene(), **neighbour, "screen": world.path("screen-8"), "answers": [seen, ""]}
            done = subprocess.run(
                ["/usr/bin/python3", PAM_CALL], input=json.dumps(scene), capture_output=True, text=True, timeout=PATIENCE)
            other = json.loads(done.stdout)
            self.type(seen)
        self.assertEqual(other["codes"], [AUTHINFO_UNAVAIL], other)
        self.assertIn(NOT_TAKEN, other["texts"])
        self.assertEqual(results[0]["codes"], [SUCCESS], "the neighbour's try cost the owner nothing")

    def test_the_digits_are_those_of_what_is_shown(self):
        with world.playing(answers=[self.typed] * 3 + [""]) as results:
            link = self.link()
            address, _, context = link.rpartition(".")
            fields = address.split(".")
            other = offline.canonical({**offline.parts(link)[1]["context"], "service": "harmless"})
            encoded = offline.base64.urlsafe_b64encode(other).decode().rstrip("=")
            later = [*fields[:-2], str(int(fields[-2]) + 1), fields[-1]]
            lock = [*fields[:-1], "device"]
            for changed in (f"{address}.{encoded}", ".".join([*later, context]), ".".join([*lock, context])):
                self.type(self.digits(changed))
                self.wait_until_taken()
        self.assertEqual(results[0]["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(results[0]["texts"].count(NOT_TAKEN), 3)

    def test_five_wrong_ones_end_it(self):
        result = world.play(answers=WRONG)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(result["texts"][2:], [OFFER, NOT_TAKEN] * 5 + ["IAMPASS: too many wrong codes. Use your password."])

    def test_a_source_has_ten_tries_an_hour(self):
        world.configure(max_requests="20")
        for _ in range(2):
            world.play(answers=WRONG)
        result = self.signed_in()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertRegex(result["texts"][-1], TRIED)
        # Strangers' tries take nothing from the owner, nor the owner's from others.
        self.assertEqual(self.signed_in(items={"ruser": "games"})["codes"], [SUCCESS])

    def test_good_digits_forgive_the_request_before_them(self):
        """A service that takes requests and fails must not use up the owner's."""
        world.configure(max_requests="2")
        with self.failing_service():
            for _ in range(4):
                self.assertEqual(self.signed_in()["codes"], [SUCCESS])
            # Without them it counts.
            for _ in range(2):
                world.play(answers=[""])
            self.assertEqual(links(" ".join(world.play(answers=[""])["texts"])), [])

    @contextlib.contextmanager
    def failing_service(self):
        class Failing(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.send_error(503)

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Failing)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(world.certificate, world.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        world.configure(server=f"https://127.0.0.1:{server.server_port}")
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()

    def test_the_broker_s_services_take_none(self):
        world.configure(services="sudo i3lock", methods_offline="phone i3lock:phone")
        world.pam("i3lock")
        self.assertEqual(links(" ".join(world.play("i3lock", answers=["00000000"])["texts"])), [])

    def test_a_password_goes_to_the_next_module(self):
        world.write("keep", f"#!/bin/sh\ncat > {world.path('kept')}\n", 0o700)
        lines = f"auth required MODULE\nauth optional pam_exec.so expose_authtok quiet {world.path('keep')}\n"
        world.pam("sudo", "timeout=20s", lines=lines)
        for answers in (["hunter2"], ["00000000", "00000000"]):
            with self.subTest(answers=answers):
                self.assertEqual(world.play(answers=answers)["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(read(world.path("kept")).strip("\0"), answers[-1])

    def test_as_second_factor_the_digits_stand_for_the_phone(self):
        world.pam("sudo", "timeout=20s", lines="auth optional pam_unix.so nodelay\nauth required MODULE\n")
        result = world.play(items={"ruser": "games"}, answers=["first", "", "anything"])
        self.assertEqual(result["codes"], [AUTH_ERR])
        self.assertIn("Server not reachable. Digits on your phone, or Enter: ", result["texts"])
        self.assertEqual(self.signed_in(["first", ""], items={"ruser": "games"})["codes"], [SUCCESS])

    def test_nobody_is_offered_what_the_service_does_not_take(self):
        for changed in ({"methods_offline": "none"}, {"methods_offline": "sshd:phone"}, {"approvals": "service"}):
            with self.subTest(changed=changed):
                world.configure(**{"approvals": "verified", **changed})
                result = world.play(answers=["00000000"])
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(links(" ".join(result["texts"])), [])

    def test_a_phone_that_is_trusted_no_more_is_not_asked(self):
        os.rename(world.path("phones"), world.path("phones.away"))
        self.addCleanup(os.rename, world.path("phones.away"), world.path("phones"))
        self.assertEqual(links(" ".join(world.play(answers=["00000000"])["texts"])), [])

    def test_where_the_screen_lock_is_asked_for_a_tap_is_not_enough(self):
        world.pam("sudo", "prompt=push timeout=5s methods=device")
        self.assertEqual(links(" ".join(world.play(answers=["00000000"])["texts"])), [])

    def test_a_denial_ends_the_attempt(self):
        world.configure(server=world.address)
        self.phone("deny")
        result = world.play(answers=["00000000"])
        self.assertEqual(result["codes"], [MAXTRIES])
        self.assertEqual(links(" ".join(result["texts"])), [])

    def test_a_service_that_comes_back_changes_nothing(self):
        world.configure(server=world.address)
        world.server.stop()
        with world.playing(answers=[self.typed]) as results:
            link = self.link()
            world.restart_server()
            self.type(self.digits(link))
        self.assertEqual(results[0]["codes"], [SUCCESS])
        self.assert_no_session_is_left(results[0])

    def test_no_line_has_the_digits(self):
        world.pam("sudo", "prompt=push timeout=20s debug")
        with world.playing(answers=[self.typed]) as results:
            digits = self.digits(self.link())
            self.type(digits)
        told = "\n".join(results[0]["log"])
        self.assertIn("the digits are the phone's", told)
        self.assertNotIn(digits, told)
        self.assertNotIn("#offline=", told)


class TwoWays(Offline):
    settings = {"methods_offline": "phone recovery"}

    def test_both_are_taken_and_counted_together(self):
        # One yescrypt takes 8 MiB, here beside libcrypto.
        world.greatest_kilobytes += 8 * 1024
        self.addCleanup(setattr, world, "greatest_kilobytes", world.greatest_kilobytes - 8 * 1024)
        shown = run(program("iampassctl"), "recovery", "create", "--any-output", ENROLLED, "--config", world.path("iampass.conf"))
        code = re.search(r"\b[0-9a-z]{5}-[0-9a-z]{5}\b", shown)[0]
        result = world.play(answers=["00000000", "00000-00001", code])
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertEqual(result["texts"].count(BOTH), 3)
        world.forget_attempts()
        result = world.play(answers=["00000000", "00000-00001", "00000002", "00000-00003", "00000004"])
        self.assertEqual(result["texts"][-1], "IAMPASS: too many wrong codes. Use your password.")


class Sessions(Offline):
    def test_a_session_is_recorded_as_offline(self):
        world.configure(offline_session="2h")
        world.pam("login")
        result = self.signed_in(service="login", own=False, items={"tty": "tty1"}, leave_open=True)
        self.assertEqual(result["codes"], [SUCCESS])
        [path] = glob.glob(world.path("run", "sessions", "*"))
        record = json.loads(read(path))
        self.assertEqual((record["offline"], record["duration"], record["status_url"]), (True, 7200, ""))
        os.unlink(path)


class SecureShell(Offline):
    def setUp(self):
        super().setUp()
        world.pam("sshd", "timeout=20s")
        self.scene = {"service": "sshd", "own": False, "items": {"rhost": "192.0.2.9", "tty": "ssh"}}

    def test_the_digits_sign_in(self):
        result = self.signed_in([""], **self.scene)
        self.assertEqual(result["codes"], [SUCCESS])
        self.assertRegex(result["variables"][0], "^IAMPASS_SESSION=[0-9a-f]{32}$")
        for path in glob.glob(world.path("run", "sessions", "*")):
            os.unlink(path)

    def test_every_name_sees_the_same(self):
        seen = set()
        for name in (ENROLLED, WITHOUT_TOKEN, "no-such-user"):
            result = world.play(user=name, answers=["", *WRONG], **self.scene)
            texts = [re.sub(r"#offline=.*", "", text) for text in result["texts"]]
            seen.add(json.dumps([texts, result["codes"]]))
        self.assertEqual(len(seen), 1, seen)
        self.assertEqual(seen.pop().count(NOT_TAKEN), 5)

    def test_a_stranger_with_many_addresses_has_fifty_tries_an_hour(self):
        for name, known in ((ENROLLED, "every"), ("no-such-user", "every-unknown")):
            with self.subTest(name=name):
                scene = {**self.scene, "items": {"rhost": "192.0.2.20", "tty": "ssh"}}
                world.play(user=name, answers=["", *WRONG], **scene)
                path = world.path("run", "attempts", known, hashlib.sha256(f"{name}\0".encode()).hexdigest())
                times = read(path).split()
                self.assertEqual(len(times), 5)
                # As of other addresses.
                with open(path, "w") as file:
                    file.write("".join(f"{times[0]}\n" for _ in range(48)))
                scene["items"]["rhost"] = "198.51.100.7"
                result = world.play(user=name, answers=["", *WRONG], **scene)
                self.assertEqual(result["texts"].count(NOT_TAKEN), 2)
                self.assertRegex("\n".join(result["texts"]), TRIED)
        # The owner's own at the computer are counted apart.
        self.assertEqual(self.signed_in()["codes"], [SUCCESS])

    def test_another_name_does_not_get_in_by_the_owners_digits(self):
        result = self.signed_in(["", ""][:1], user=WITHOUT_TOKEN, **self.scene)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])


class Faults(Offline):
    def refused(self, words, **scene):
        result = self.signed_in(**scene)
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(
            result["texts"][-1], f"IAMPASS: your phone cannot approve without the network: {words}. Use your password.")
        return result

    @contextlib.contextmanager
    def disk(self, options):
        """The state on a disk of its own, full or not to be written."""
        state = world.path("state")
        os.rename(state, state + ".away")
        os.mkdir(state)
        try:
            run("mount", "-t", "tmpfs", "-o", "mode=700,size=64k", "offline", state)
            run("cp", "-a", state + ".away/offline", state)
            os.makedirs(state + "/offline/uses", 0o700, exist_ok=True)
            if options == "full":
                subprocess.run(["dd", "if=/dev/zero", f"of={state}/ballast", "bs=4k"], stderr=subprocess.DEVNULL, check=False)
            else:
                run("mount", "-o", "remount," + options, state)
            yield
        finally:
            run("umount", state)
            os.rmdir(state)
            os.rename(state + ".away", state)

    def test_a_full_disk_refuses(self):
        with self.disk("full"):
            self.refused("the disk is full")

    def test_a_disk_that_cannot_be_written_refuses(self):
        with self.disk("ro"):
            self.refused("the disk cannot be written")

    def change_key(self, change):
        path = world.path("state", "offline", "key")
        before = read(path)
        self.addCleanup(world.write, os.path.relpath(path, world.folder), before)
        world.write(os.path.relpath(path, world.folder), change(before))
        result = world.play(answers=["00000000"])
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertEqual(links(" ".join(result["texts"])), [])
        return result["texts"][-1] + result["log"][-1]

    def test_a_copied_disk_is_refused(self):
        told = self.change_key(lambda text: json.dumps({**json.loads(text), "computer": "0" * 64}))
        self.assertIn("this computer's key was made for another computer. Use your password.", told)

    def test_a_cut_key_is_refused(self):
        self.assertIn("this computer's key is damaged. Use your password.", self.change_key(lambda text: text[:50]))

    def test_a_phone_that_was_not_seen_for_long_is_refused(self):
        path = self.met_file()
        before = read(path)
        self.addCleanup(world.write, os.path.relpath(path, world.folder), before)
        for seen, words in (
            (time.time() - 31 * 86_400, "it has not signed in here with it for 30 days"),
            (time.time() + 3_600, "this computer's clock was set back"),
        ):
            with self.subTest(words):
                world.write(os.path.relpath(path, world.folder), json.dumps({**json.loads(before), "seen": int(seen)}))
                result = world.play(answers=["00000000"])
                self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
                self.assertEqual(links(" ".join(result["texts"])), [])
                self.assertEqual(
                    result["texts"][-1], f"IAMPASS: your phone cannot approve without the network: {words}. Use your password.")

    def test_a_user_whom_the_service_knows_no_phone_of_has_none_here(self):
        path = self.met_file()
        run(program("iampass-phone"), "unregister", "--state", world.path("phone.json"))
        self.addCleanup(self.register_again)
        world.configure(server=world.address)
        self.assertEqual(world.play()["codes"], [AUTHINFO_UNAVAIL])
        self.assertTrue(os.path.exists(path), "nobody has signed that")
        world.configure(signed_replies="required")
        result = world.play()
        self.assertEqual(result["codes"], [AUTHINFO_UNAVAIL])
        self.assertIn("the user's phone approves no more without the service", "\n".join(result["log"]))
        self.assertFalse(os.path.exists(path))
        world.configure(server=NOWHERE)
        self.assertEqual(links(" ".join(world.play(answers=["00000000"])["texts"])), [])

    def register_again(self):
        world.configure(server=world.address, signed_replies=None)
        world.register_phone()
        pin()
        self.meet()

    def test_a_copied_disk_gets_a_key_of_its_own(self):
        path = world.path("state", "offline", "key")
        before = json.loads(read(path))
        world.write(os.path.relpath(path, world.folder), json.dumps({**before, "computer": "0" * 64}))
        self.meet()
        after = json.loads(read(path))
        self.assertEqual(after["computer"], before["computer"])
        self.assertNotEqual(after["public"], before["public"])
        world.configure(server=NOWHERE)
        self.assertEqual(self.signed_in()["codes"], [SUCCESS])

    def test_the_files_are_roots_alone(self):
        for folder, _, names in os.walk(world.path("state", "offline")):
            self.assertEqual(os.stat(folder).st_mode & 0o777, 0o700)
            for name in names:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o777, 0o600)


if __name__ == "__main__":
    unittest.main()
