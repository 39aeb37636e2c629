"""`iampassctl presence`: paired phones, to whom they are bound, and what a probe with a script says of them."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import unittest

from control import CONFIG, DATA, INTERRUPTED, USAGE, world_with_a_phone
from Support.Service.scripted_probe import ScriptedProbe
from Support.Service.world import ENROLLED, PATIENCE, program, read

ADAPTER, OTHER_ADAPTER = "00:AA:01:00:00:00", "00:AA:01:00:00:09"
PHONE, HEADSET = "A4:C3:F0:11:22:33", "A4:C3:F0:44:55:66"
KEY = "00112233445566778899AABBCCDDEEFF"
DIGEST = hashlib.sha256(bytes.fromhex(KEY)).hexdigest()
#: sysexits.h
TEMPORARY = 75
LINE = f"{ENROLLED} {ADAPTER} {PHONE} {DIGEST}\n"


def setUpModule():
    global world
    world = world_with_a_phone()


class PresenceCase(unittest.TestCase):
    def setUp(self):
        world.settings = {"server": world.address, "ca_file": world.certificate, "presence": "bluetooth"}
        world.configure()
        shutil.rmtree(world.path("bonds"), ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(world.path("presence"))

    def bond(self, device=PHONE, adapter=ADAPTER, name="Alice's phone", kind="0x5a020c", key=KEY, key_type=8):
        os.makedirs(world.path("bonds", adapter, device), 0o700, exist_ok=True)
        world.write(
            f"bonds/{adapter}/{device}/info",
            f"[General]\nName={name}\nClass={kind}\n\n[LinkKey]\nKey={key}\nType={key_type}\nPINLength=0\n")

    def probe(self, *answers, **more):
        probe = ScriptedProbe(world.path("probe"), answers or ["{phone} near 41"], **more)
        self.addCleanup(probe.close)
        return probe

    def words(self, *words):
        return ["presence", *words, "--bonds", world.path("bonds"), "--probe", world.path("probe")]

    def ctl(self, *words):
        return world.ctl(*self.words(*words))

    def use(self, *more):
        return self.ctl("use", PHONE, "--user", ENROLLED, *more)

    def phone(self, answer):
        phone = world.phone(answer)
        self.addCleanup(phone.stop)
        phone.wait_for("waiting for sign-ins")
        return phone

    def bound(self):
        return read(world.path("presence")) if os.path.exists(world.path("presence")) else ""

    def assert_refused(self, done, code, message, hint=None):
        self.assertEqual((done.code, done.out), (code, ""), done.text)
        self.assertIn(f"iampassctl: {message}\n", done.err)
        if hint:
            self.assertIn(f"hint: {hint}", done.err)


class Listing(PresenceCase):
    def test_phones_are_listed_and_other_devices_with_all(self):
        self.bond()
        self.bond(HEADSET, name="Headset", kind="0x240404", key_type=4)
        self.assertNotIn(HEADSET, self.ctl("list").out)
        done = self.ctl("list", "--all")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertRegex(done.out, rf"(?m)^{PHONE}  Alice's phone  {ADAPTER}  authenticated +-     -$")
        self.assertRegex(done.out, rf"(?m)^{HEADSET}  Headset +{ADAPTER}  unauthenticated  -     -$")

    def test_a_bound_phone_is_listed_with_its_user_and_what_became_of_its_key(self):
        world.write("presence", LINE)
        self.assert_state("bond missing")
        self.bond()
        self.assert_state("bound")
        self.bond(key="F" * 32)
        self.assert_state("key changed")

    def assert_state(self, state):
        [listed] = json.loads(self.ctl("list", "--json").out)
        self.assertEqual((listed["address"], listed["user"], listed["state"]), (PHONE, ENROLLED, state))

    def test_a_devices_name_moves_no_cursor(self):
        self.bond(name="\x1b[2Jphone")
        self.assertNotIn("\x1b", self.ctl("list").out + self.ctl("list", "--json").out)

    def test_without_a_bond_it_says_what_else_can_be_listed(self):
        self.assertEqual(self.ctl("list").out, "no paired phone; --all lists every paired device\n")

    def test_a_key_that_others_can_read_is_refused(self):
        self.bond()
        os.chmod(world.path("bonds", ADAPTER, PHONE, "info"), 0o644)
        done = self.ctl("list")
        self.assertEqual((done.code, done.out), (CONFIG, ""))

    def test_no_output_has_the_key(self):
        self.bond()
        for words in (("list",), ("list", "--json"), ("list", "--all")):
            self.assertNotIn(KEY.lower(), self.ctl(*words).text.lower())


class Binding(PresenceCase):
    def test_a_near_phone_is_bound_with_its_users_approval(self):
        self.bond()
        probe, phone = self.probe(), self.phone("approve")
        done = self.use()
        self.assertEqual((done.code, done.err), (0, ""), done.text)
        self.assertIn(f"{ENROLLED}: bound to {PHONE}\n", done.out)
        phone.wait_for("presence: look for this phone")
        self.assertEqual(probe.asked, [f"{ADAPTER} {PHONE} medium"])
        self.assertEqual(self.bound(), LINE)
        self.assertEqual(os.stat(world.path("presence")).st_mode & 0o7777, 0o600)

    def test_that_nobody_looks_for_phones_yet_is_said(self):
        world.configure(presence=None)
        self.bond()
        self.probe()
        self.phone("approve")
        done = self.use()
        self.assertEqual((done.code, self.bound()), (0, LINE), done.text)
        self.assertIn("presence is off: the helper does not look for this phone yet\n", done.err)
        self.assertIn(f"hint: write presence = bluetooth into {world.path('iampass.conf')}\n", done.err)
        self.assertIn("phones are bound, and presence is off", world.ctl("check").out)

    def test_a_pairing_without_a_comparison_is_not_bound_if_the_configuration_wants_one(self):
        world.configure(presence_key="authenticated")
        self.bond(key_type=4)
        self.probe()
        self.assert_refused(
            self.use(), DATA,
            f"{PHONE} was paired without comparing digits, and the configuration has presence_key = authenticated",
            "remove the pairing, pair the phone again and compare the digits on both screens")
        self.assertEqual(self.bound(), "")

    def test_without_an_approval_nothing_is_bound(self):
        self.bond()
        self.probe()
        self.phone("deny")
        done = self.use()
        self.assertEqual(done.code, TEMPORARY)
        self.assertIn("the sign-in was not approved: denied on your phone", done.err)
        self.assertEqual(self.bound(), "")

    def test_what_is_not_near_is_not_bound_and_nobody_is_asked(self):
        phone = self.phone("approve")
        self.bond()
        for answer, message, hint in (
            ("{phone} silent 5100", f"{PHONE} does not answer", "switch on the phone's Bluetooth"),
            ("{phone} impostor 9", f"the device that answers as {PHONE} does not have the key of its pairing",
             "remove the pairing"),
            ("{phone} unknown-EHOSTUNREACH 0", f"the Bluetooth adapter {ADAPTER} is off or missing",
             "bluetoothctl power on"),
            ("{phone} unknown-EAFNOSUPPORT 0", "this system has no Bluetooth", "the kernel needs Bluetooth"),
            ("{phone} unknown-EBUSY 0", f"{PHONE} cannot be looked for: EBUSY", "systemctl status bluetooth"),
            ("nonsense", "iampass-presence gave no usable answer", "journalctl --unit=iampass-presence"),
            (f"{HEADSET} near 3", "iampass-presence gave no usable answer", None),
        ):  # fmt: skip
            with self.subTest(answer):
                self.probe(answer)
                self.assert_refused(self.use(), TEMPORARY, message, hint)
                self.assertEqual(self.bound(), "")
        self.assertEqual(phone.count("presence"), 0)

    def test_without_a_probe_it_says_how_to_start_one(self):
        self.bond()
        self.probe().close()
        done = self.use()
        self.assertEqual((done.code, done.out), (TEMPORARY, ""))
        self.assertIn("probe cannot be reached: Connection refused\n", done.err)
        self.assertIn("hint: systemctl start iampass-presence.socket", done.err)

    def test_what_is_not_paired_is_not_bound(self):
        self.assert_refused(self.use(), DATA, f"{PHONE} is not paired with this computer", "pair the phone")
        self.assert_refused(
            self.ctl("use", "A4:C3", "--user", ENROLLED), USAGE, "A4:C3 is not a Bluetooth address")

    def test_one_of_two_adapters_is_named(self):
        self.bond()
        self.bond(adapter=OTHER_ADAPTER)
        self.assert_refused(self.use(), DATA, f"{PHONE} is paired with several adapters of this computer")
        self.probe()
        self.phone("approve")
        self.assertEqual(self.use("--adapter", OTHER_ADAPTER).code, 0)
        self.assertEqual(self.bound(), LINE.replace(ADAPTER, OTHER_ADAPTER))

    def test_a_phone_of_another_user_stays_theirs(self):
        self.bond()
        world.write("presence", "# ours\n" + LINE.replace(ENROLLED, "bin"))
        probe = self.probe()
        self.assert_refused(self.use(), DATA, f"{PHONE} is bound to user bin", f"iampassctl presence remove {PHONE}")
        self.assertEqual((probe.asked, self.bound()), ([], "# ours\n" + LINE.replace(ENROLLED, "bin")))

    def test_a_key_that_changes_meanwhile_is_not_pinned(self):
        self.bond()
        self.probe(before_answer=lambda: self.bond(key="F" * 32))
        self.phone("approve")
        done = self.use()
        self.assertEqual(done.code, TEMPORARY)
        self.assertIn(f"the key of {PHONE} changed while the user was asked; nothing was changed", done.err)
        self.assertEqual(self.bound(), "")

    def test_a_phone_is_unbound_and_other_lines_stay(self):
        world.write("presence", f"# ours\n{LINE}")
        done = self.ctl("remove", PHONE.lower())
        self.assertEqual((done.code, done.out, self.bound()), (0, f"{PHONE}: unbound\n", "# ours\n"))
        self.assert_refused(self.ctl("remove", PHONE), DATA, f"{PHONE} is not bound", "iampassctl presence list")

    def test_a_file_with_a_bad_line_is_left_alone(self):
        world.write("presence", LINE + "alice nonsense\n")
        done = self.ctl("remove", PHONE)
        self.assertEqual((done.code, done.out, self.bound()), (CONFIG, "", LINE + "alice nonsense\n"))
        self.assertIn("presence:2: not a line of the form USER ADAPTER PHONE SHA256\nhint: correct the line", done.err)


class Looking(PresenceCase):
    def test_each_look_is_a_line(self):
        self.bond()
        world.write("presence", LINE)
        probe = self.probe("{phone} near 41", "{phone} unknown-EBUSY 7")
        done = self.ctl("test", "--count", "1")
        self.assertEqual((done.code, done.err), (0, ""))
        self.assertRegex(done.out, rf"^\d\d:\d\d:\d\d  {PHONE}  {ENROLLED}  near  41 ms\n$")
        self.assertEqual(
            json.loads(self.ctl("test", "--count", "1", "--json").out),
            {"address": PHONE, "user": ENROLLED, "answer": "unknown", "reason": "EBUSY", "milliseconds": 7})
        self.assertEqual(len(probe.asked), 2)

    def test_a_phone_with_another_key_is_not_looked_for(self):
        self.bond(key="F" * 32)
        world.write("presence", LINE)
        probe = self.probe()
        self.assertIn("unknown (key-changed)", self.ctl("test", "--count", "1").out)
        shutil.rmtree(world.path("bonds"))
        self.assertIn("unknown (bond-missing)", self.ctl("test", "--count", "1").out)
        self.assertEqual(probe.asked, [])

    def test_a_paired_device_that_is_bound_to_nobody_can_be_tried(self):
        self.bond()
        self.probe()
        self.assertRegex(self.ctl("test", PHONE, "--count", "1").out, rf"  {PHONE}  -  near  41 ms\n$")
        self.assert_refused(self.ctl("test", HEADSET), DATA, f"{HEADSET} is not paired with this computer")
        self.assert_refused(self.ctl("test"), DATA, "no phone is bound", "iampassctl presence use ADDRESS --user USER")

    def test_control_c_ends_it(self):
        self.bond()
        self.probe()
        child = subprocess.Popen(
            [program("iampassctl"), *self.words("test", PHONE), "--config", world.path("iampass.conf")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.stdout.close)
        self.assertIn("near", child.stdout.readline())
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(PATIENCE), INTERRUPTED)
        self.assertTrue(re.search("interrupted", child.stderr.read()))

    def test_check_says_what_became_of_a_bound_phone(self):
        self.assertNotIn("presence", world.ctl("check").out)
        world.write("presence", LINE)
        said = world.ctl("check").out
        # No BlueZ has a bond with this address.
        self.assertIn(f"warning  {PHONE}, the phone of {ENROLLED}, is not paired any more\n", said)
        self.assertIn(f"hint: pair it again, then iampassctl presence use {PHONE} --user {ENROLLED}\n", said)
        world.write("presence", "nonsense\n")
        said = world.ctl("check").out
        self.assertIn("presence:1: not a line of the form USER ADAPTER PHONE SHA256", said)
        self.assertIn("hint: correct the line or delete it\n", said)


if __name__ == "__main__":
    unittest.main()
