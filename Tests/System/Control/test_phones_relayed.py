"""Keys of phones that the service, or somebody on the way, replaced: no computer pins them.

Replies need no signature here, so that the link's secret and the six words alone decide.
"""

import json
import unittest

from control import CONFIG, DATA, PROTOCOL, UNAVAILABLE
from enroll_case import open_world
from phone_case import PhoneCase, another_key, key_off_the_curve, pin_of
from Support.HostileService.hostile_replies import reply
from Support.HostileService.relay import Relay
from Support.HostileService.signing_phone import SigningPhone
from Support.Service import approvals

CREDENTIAL = {"id": "AAAA", "public_key": another_key()}


class PhonesRelay(Relay):
    """Gives the phones as `change` makes them, or a reply of its own."""

    change = staticmethod(lambda phones: phones)

    #: What takes the place of other replies, by a part of their path.
    instead = {}

    def carry(self, stream, request):
        for part, body in self.instead.items():
            if part in request.path:
                return reply(200, json.dumps(body).encode())(stream, request)
        if "/user_phones/" not in request.path:
            return super().carry(stream, request)
        _, _, body = self.ask(request.method, request.path, request.headers)
        phones = json.loads(body)["phones"]
        changed = self.change(phones)
        if callable(changed):
            return changed(stream, request)
        reply(200, json.dumps({"status": True, "phones": changed}).encode())(stream, request)


def setUpModule():
    open_world()


class Case(PhoneCase):
    def setUp(self):
        super().setUp()
        self.relay = PhonesRelay(self.world).start()
        self.addCleanup(self.relay.stop)
        self.addCleanup(
            self.world.configure, server=self.world.address, ca_file=self.world.certificate, signed_replies="required")
        self.world.configure(server=self.relay.url, ca_file=self.relay.ca_file, signed_replies=None)

    def register(self, link, state="phone.json"):
        # The service makes links for the address that it was asked at.
        super().register(link, state, self.relay.ca_file)

    def change(self, change):
        """From now on the computer is told what this makes of each list of phones."""
        self.relay.change = change

    def replace(self, **members):
        self.change(lambda phones: [{**phone, **members} for phone in phones])


class Elsewhere(Case):
    """A service whose links, or phones, belong to another address: its phones sign for that one."""

    def setUp(self):
        super().setUp()
        self.link = "https://elsewhere.example/register/" + 32 * "0"

    def assert_said(self, message):
        self.assertIn("the service registers phones at https://elsewhere.example, and server is ", message)
        self.assertIn("hint: let server here, and --public-url of iampass-server, name the same address", message)
        self.assertNotIn("0000", message)
        self.assertEqual(self.pinned(), [])

    def test_enroll_shows_no_link_of_another_address(self):
        self.relay.instead = {"/device_registration_link/": {"status": True, "register_url": self.link}}
        child = self.world.terminal("enroll", self.name)
        self.assertEqual(self.world.finish(child), CONFIG)
        self.assert_said(child.screen.getvalue())
        self.addCleanup(self.world.configure, approvals=None)
        self.world.configure(approvals="verified")
        done = self.enroll("--json")
        self.assertEqual((done.code, done.out), (CONFIG, ""))
        self.assert_said(done.err)

    def test_trust_pins_no_phone_of_another_address(self):
        words = self.registered()
        self.relay.instead = {"/.well-known/iampass": {"address": "https://elsewhere.example"}}
        done = self.world.ctl("phone", "trust", self.name, "--words", words)
        self.assertEqual(done.code, CONFIG)
        self.assert_said(done.err)
        # An older service does not tell.
        self.relay.instead = {"/.well-known/iampass": {"signed_replies": True}}
        self.assertEqual(self.world.ctl("phone", "trust", self.name, "--words", words).code, 0)

    def test_check_says_it(self):
        self.relay.instead = {"/.well-known/iampass": {"address": "https://elsewhere.example"}}
        self.addCleanup(self.world.configure, approvals=None)
        self.world.configure(approvals="verified")
        found = json.loads(self.world.ctl("check", "--json", "--pam-folder", self.world.path("pam.d")).out)["findings"]
        texts = {finding["text"]: finding["level"] for finding in found if "registers phones" in finding["text"]}
        self.assertEqual(list(texts.values()), ["problem"], found)


class Enroll(Case):
    def screen_after(self, child, link):
        self.register(link)
        return self.finish_without_trial(child)

    def assert_not_pinned(self, screen, why):
        self.assertIn(f"warning: {self.name}'s phone is registered, but this computer does not pin it: {why}", screen)
        self.assertIn(f"hint: iampassctl phone trust {self.name}, which compares six words", screen)
        self.assertNotIn("has pinned", screen)
        self.assertEqual(self.pinned(), [])

    def test_without_a_change_the_phone_is_pinned(self):
        screen = self.screen_after(*self.offered())
        self.assertIn("this computer has pinned the phone\r\n", screen)
        self.assertEqual([phone["words"] for phone in self.pinned()], [self.words()])

    def test_a_replaced_key_is_not_pinned(self):
        other = "the keys that the service tells are not those of a phone that opened this link"
        for members, why in (
            ({"public_key": another_key()}, other),
            ({"credential": CREDENTIAL}, other),
            ({"public_key": another_key(), "pin_mac": None}, "the phone has not proven its keys by the link's secret"),
            ({"pin_mac": ""}, other), ({"pin_mac": "A" * 43 + "="}, other),
        ):  # fmt: skip
            with self.subTest(members=members):
                self.replace(**members)
                self.assert_not_pinned(self.screen_after(*self.offered()), why)
                self.change(lambda phones: phones)
                self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)

    def test_a_mac_that_is_cut_off_or_has_more_behind_it_is_not_right(self):
        for change in (lambda mac: mac[:-1], lambda mac: mac[:-4], lambda mac: mac + "A", lambda mac: mac.swapcase()):
            self.change(lambda phones, change=change: [{**one, "pin_mac": change(one["pin_mac"])} for one in phones])
            screen = self.screen_after(*self.offered())
            self.assert_not_pinned(screen, "the keys that the service tells are not those")
            self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)

    def test_a_phone_of_an_earlier_link_is_not_pinned(self):
        earlier = []
        self.change(lambda phones: earlier.extend(phones) or phones)
        self.screen_after(*self.offered())
        self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)
        self.change(lambda phones: [{**phone, **earlier[-1]} for phone in phones])
        screen = self.screen_after(*self.offered())
        self.assert_not_pinned(screen, "the keys that the service tells are not those of a phone that opened this link")

    def test_the_proven_one_of_two_phones_is_pinned_alone(self):
        forged = {"id": "0" * 32, "name": "Forged", "public_key": another_key(), "credential": None, "since": 1}
        self.change(lambda phones: [{**forged, "pin_mac": phones[0]["pin_mac"]}, *phones] if phones else phones)
        self.screen_after(*self.offered())
        self.assertEqual([phone["words"] for phone in self.pinned()], [self.words()])

    def test_a_phone_that_stays_trusted_is_named(self):
        line = SigningPhone("old").line(self.name, lock=False)
        self.world.write("phones", line, 0o644)
        forged = {"id": "0" * 32, "name": "Forged", "public_key": another_key(), "credential": None, "since": 1}
        self.change(lambda phones: [forged, *phones] if phones else phones)
        screen = self.screen_after(*self.offered())
        self.assertIn("this computer has pinned the phone\r\n", screen)
        self.assertIn(f"warning: still trusted for {self.name}: Scripted phone, with the words ", screen)
        self.assertIn(f"iampassctl phone forget --phone old {self.name}\r\n", screen)

    def test_keys_of_an_unknown_form_are_not_pinned(self):
        for key in ("AAAA", key_off_the_curve()):
            child, link = self.offered()
            keys = {"public_key": key, "credential": None}
            self.replace(**keys, pin_mac=approvals.pin(keys, pin_of(link), self.relay.url, link.partition("#")[0]))
            self.register(link)
            self.assertEqual(self.world.finish(child), PROTOCOL)
            self.assertIn("phone cannot be pinned: they are not P-256 keys in the usual form", child.screen.getvalue())
            self.assertEqual(self.pinned(), [])
            self.change(lambda phones: phones)
            self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)

    def test_a_service_that_does_not_tell_keys_registers_phones_as_before(self):
        for answer in (
            reply(404, b"{}"), reply(403, b'{"status":false}'), reply(405, b""), reply(200, b"<html>"), reply(500, b""),
        ):  # fmt: skip
            self.change(lambda _, answer=answer: answer)
            child, link = self.offered()
            self.assertNotIn("#", link)
            screen = self.screen_after(child, link)
            self.assertIn("tell the phone's keys, so this computer does not pin the phone\r\n", screen)
            self.assertNotIn("warning:", screen)
            self.assertEqual(self.pinned(), [])
            self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)

    def test_a_service_that_falls_silent_about_keys_is_said(self):
        for answer, why in (
            (reply(404, b"{}"), "the service does not tell the phone's keys any more"),
            (reply(200, b'{"status":true}'), "the service gave no usable answer: answer not understood"),
            (reply(500, b""), "the service gave no usable answer: server error 500"),
        ):  # fmt: skip
            child, link = self.offered()
            self.change(lambda _, answer=answer: answer)
            self.assert_not_pinned(self.screen_after(child, link), why)
            self.change(lambda phones: phones)
            self.assertEqual(self.world.ctl("lost-device", self.name, "--json").code, 0)


class AddedInTheSameVisit(Case):
    """The page can add a screen lock while the command asks for a trial."""

    def screen_with(self, credential, secret=None):
        child, link = self.offered()
        self.register(link)
        child.expect_exact("[y/N] ")

        def added(phones):
            keys = {"public_key": phones[0]["public_key"], "credential": credential}
            mac = approvals.pin(keys, secret or pin_of(link), self.relay.url, link.partition("#")[0])
            return [{**phones[0], **keys, "pin_mac": mac}]

        self.change(added)
        child.sendline("")
        self.assertEqual(self.world.finish(child), 0)
        return child.screen.getvalue()

    def test_a_proven_screen_lock_is_pinned_too(self):
        self.assertIn("this computer has pinned the phone's new keys\r\n", self.screen_with(CREDENTIAL))
        [phone] = self.pinned()
        self.assertEqual(phone["methods"], ["acceptance", "device"])

    def test_one_that_is_not_proven_is_said_and_the_first_keys_stay(self):
        screen = self.screen_with(CREDENTIAL, bytes(16))
        self.assertIn("the keys that the service tells are not those of a phone that opened this link", screen)
        [phone] = self.pinned()
        self.assertEqual((phone["methods"], phone["words"]), (["acceptance"], self.words()))


class Trust(Case):
    def setUp(self):
        super().setUp()
        self.own = self.registered()

    def trust(self, words):
        return self.world.ctl("phone", "trust", self.name, "--words", words)

    def test_a_replaced_key_has_other_words(self):
        for members in ({"public_key": another_key()}, {"credential": CREDENTIAL}):
            self.replace(**members)
            done = self.trust(self.own)
            self.assertEqual((done.code, done.out), (DATA, ""))
            self.assertIn("take the service for broken into", done.err)
        self.assertEqual(self.pinned(), [])
        self.change(lambda phones: phones)
        self.assertEqual(self.trust(self.own).code, 0)

    def test_what_the_service_calls_the_phone_is_plain_text(self):
        self.replace(name="Alice\x1b[2J\u202e\nroot:" + "x" * 500)
        done = self.trust(self.own)
        self.assertEqual(done.code, 0, done.err)
        self.assertNotRegex(done.out, "[\x00-\x09\x0b-\x1f\u202e]")
        self.assertEqual(done.out.count("\n"), 1)
        [phone] = self.pinned()
        self.assertEqual((phone["user"], phone["words"]), (self.name, self.own))
        self.assertEqual(json.loads(self.world.ctl("phone", "list", "--json", "root").out), [])

    def test_the_words_choose_among_two_phones(self):
        second = {"id": "second", "name": "Tablet", "public_key": another_key(), "credential": None, "since": 1}
        self.change(lambda phones: [second, *phones])
        for words in (self.own, approvals.words(second)):
            self.assertEqual(self.trust(words).code, 0)
        self.assertEqual({phone["words"] for phone in self.pinned()}, {self.own, approvals.words(second)})

    def test_a_phone_that_stays_trusted_is_named(self):
        """A service that was broken into keeps a phone that is gone trusted, by saying that the user has two."""
        first = self.trust(self.own)
        self.assertEqual((first.code, first.err), (0, ""))
        [old] = self.pinned()
        second = {"id": "second", "name": "Tablet", "public_key": another_key(), "credential": None, "since": 1}
        self.change(lambda phones: [second, *phones])
        done = self.trust(approvals.words(second))
        self.assertEqual(done.code, 0)
        self.assertEqual(
            done.err, f"warning: still trusted for {self.name}: {old['name']}, with the words {self.own}\n"
            f"hint: if {self.name} does not have that phone any more: "
            f"iampassctl phone forget --phone {old['id']} {self.name}\n")  # fmt: skip
        self.assertEqual(self.world.ctl("phone", "forget", "--phone", old["id"], self.name).code, 0)
        self.assertEqual([phone["id"] for phone in self.pinned()], ["second"])

    def test_an_id_that_a_shell_would_run_is_not_proposed(self):
        self.replace(id="a;reboot")
        self.assertEqual(self.trust(self.own).code, 0)
        second = {"id": "second", "name": "Tablet", "public_key": another_key(), "credential": None, "since": 1}
        self.change(lambda phones: [second, *phones])
        done = self.trust(approvals.words(second))
        self.assertIn(f"any more: iampassctl phone list {self.name}\n", done.err)
        self.assertNotIn("reboot", done.err)

    def test_an_id_that_no_line_takes_is_not_pinned(self):
        for name in ("a:b", "a b", "a\nroot:x", "é", "x" * 129):
            self.replace(id=name)
            done = self.trust(self.own)
            self.assertEqual(done.code, PROTOCOL, done.text)
            self.assertEqual(self.pinned(), [])

    def test_a_service_without_keys_is_said(self):
        self.change(lambda _: reply(404, b"{}"))
        done = self.trust(self.own)
        self.assertEqual(
            (done.code, done.err),
            (UNAVAILABLE, "iampassctl: the service does not tell the keys of phones\n"
             "hint: pinning needs iampass-server 0.10.0 or later\n"))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
