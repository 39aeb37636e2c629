"""Documents that an administrator's phone signs: the page shows what they change, and signs nothing that does not fit."""

import json
import os
import subprocess
import unittest

from browser import start_browser
from browser_world import PATIENCE, PROGRAMS, run
from document_service import DocumentService
from phone_page_case import PhonePageCase
from Support.Service import approvals, document_vectors, documents
from Support.Service.documents import entry


def setUpModule():
    DocumentCase.service = DocumentService()
    unittest.addModuleCleanup(DocumentCase.service.close)
    DocumentCase.browser = start_browser(DocumentCase.service.authority.file)
    unittest.addModuleCleanup(DocumentCase.browser.close)


class DocumentCase(unittest.TestCase):
    def setUp(self):
        self.addCleanup(self.browser.forget, self.service)
        self.addCleanup(self.service.ask)
        self.service.ask()
        self.browser.open(self.service.address + "/register/" + "0" * 32)
        self.browser.tap("#register")
        self.browser.sees("#said", "phone now.")
        self.browser.sees("#connection", "Connected")
        self.signers = documents.Signers(self.service.phone, self.service.origin)
        self.service.asked.clear()

    def case(self, users=None, number=8, **changed):
        changed = {"method": "device", "credential": self.service.phone.credential, **changed}
        return self.signers.of(users or [*self.signers.users, entry("dan", "office")], number, **changed)

    def show(self, case):
        self.service.show(case)
        self.browser.sees(".request", "To sign as an administrator")

    def lines(self):
        return self.browser.each(".document-lines li")

    def approved(self):
        self.browser.tap(".request .approve")
        return self.service.answers.get(timeout=PATIENCE)

    def refuses(self, words):
        """The page says why it does not sign, and offers a denial alone."""
        self.browser.sees(".document-misfit", words)
        self.browser.misses(".request .approve")
        self.browser.misses(".request .not-me")
        self.browser.tap(".request .deny")
        statement = self.service.answers.get(timeout=PATIENCE)["statement"]
        self.assertEqual(statement["answer"], "deny")
        self.assertNotIn("document", statement)


class Signing(DocumentCase):
    def test_the_changes_are_shown_and_signed(self):
        case = self.case()
        self.show(case)
        self.browser.sees(".document-title", "Users of 8f14e45f, version 1.8")
        self.browser.sees(".document-heading", "1 change to version 1.7, which “bob” signed")
        self.assertEqual(self.lines(), ["add dan (office), no phone"])
        self.browser.sees(".document-notes", "This phone sees the administrators for the first time")
        self.assertNotIn("iampass-document", self.browser.text())
        answer = self.approved()
        statement, digest = answer["statement"], documents.digest(case["document"])
        self.assertEqual((statement["document"], statement["challenge"]), (digest, case["request"]["challenge"]))
        phone = self.service.phone
        self.assertTrue(approvals.is_signed(answer, phone.key.text))
        self.assertTrue(approvals.is_unlocked(answer, phone.lock.text, self.service.origin))

    def test_all_of_a_long_list_can_be_read(self):
        users = [*self.signers.users, *(entry(f"u{number:04}") for number in range(62))]
        self.show(self.case(users))
        self.browser.sees(".document-heading", "62 changes")
        self.assertEqual(len(self.lines()), 50)
        self.browser.tap(".document-more", "Show 12 more")
        self.assertEqual(self.lines()[-1], "add u0061 (no group), no phone")
        self.browser.misses(".document-more")

    def test_what_was_signed_is_remembered(self):
        self.show(self.case(number=9))
        self.approved()
        self.browser.misses(".request")
        self.browser.open(self.service.address + "/phone/")
        self.browser.sees("#connection", "Connected")
        self.service.show(self.case(number=8))
        self.refuses("version 1.8 is older than version 1.9, which was signed before")
        self.assertEqual(self.service.asked[-1]["administrators"], 2)

    def test_what_was_denied_is_not_remembered(self):
        self.show(self.case(number=9))
        self.browser.sees(".document-heading", "1 change")
        self.browser.tap(".request .deny")
        self.service.answers.get(timeout=PATIENCE)
        self.show(self.case(number=8))
        self.browser.sees(".document-heading", "1 change")
        self.approved()

    def test_an_outage_can_be_tried_again(self):
        case = self.case()
        self.service.show(case, lambda after: (503, b"{}"))
        self.browser.sees(".document-misfit", "Try again in a moment")
        self.browser.misses(".request .approve")
        self.service.show(case)
        self.browser.tap(".document-again")
        self.browser.sees(".document-heading", "1 change")
        self.approved()

    def test_new_administrators_are_shown(self):
        gone = documents.administrators(self.signers.second["keys"][:1] + self.signers.second["keys"][2:], self.signers.second)
        self.show(self.signers.of_set(gone, method="device", credential=self.service.phone.credential))
        self.browser.sees(".document-heading", "1 change")
        self.assertIn("remove phone “Pixel 8”", self.lines()[0])
        self.assertEqual(self.approved()["statement"]["document"], documents.digest(gone))


class Hostile(DocumentCase):
    def test_users_that_do_not_make_the_list_are_refused(self):
        case = self.case()
        case["pages"][0]["entries"][0]["name"] = "ben"
        self.show(case)
        self.refuses("not the list that is to be signed")

    def test_the_reserved_name_without_a_document_is_refused(self):
        case = self.case()
        del case["request"]["document"]
        self.show(case)
        self.refuses("does not say what for")
        self.assertEqual(self.service.asked, [])

    def test_a_document_under_another_name_is_refused(self):
        self.show(self.case(context={"host": "web-1", "service": "sudo", "user": "alice"}))
        self.refuses("does not say what for")

    def test_a_sign_in_with_a_documents_challenge_signs_no_document(self):
        request = self.case()["request"]
        del request["document"]
        self.service.ask({**request, "context": {"host": "web-1", "service": "iampass-document ", "user": "alice"}})
        self.browser.sees(".request", "iampass-document‹1 space›")
        self.assertNotIn("document", self.approved()["statement"])

    def endless(self, more):
        """Whether the page leaves these further pages, of which there is no end, at the first that is too much."""
        case = self.case()
        first, more = (json.dumps({**page, "next": "more"}).encode() for page in (case["pages"][0], more))
        self.service.show(case, lambda after: (200, more if after else first))
        self.refuses("does not end, or is too large")

    def test_pages_that_never_end_are_left(self):
        self.endless({"status": True, "new": ["dan"]})
        self.assertEqual(len(self.service.asked), 6)

    def test_pages_without_content_are_left(self):
        self.endless({"status": True})
        self.assertEqual(len(self.service.asked), 2)

    def test_a_million_users_are_left_at_the_first_page_that_is_too_much(self):
        self.endless({"status": True, "entries": [entry(f"u{number}") for number in range(500)]})
        self.assertEqual(len(self.service.asked), 2)

    def test_a_page_without_end_is_left(self):
        case = self.case()
        page = json.dumps({**case["pages"][0], "more": "x" * 200_000}).encode()
        self.service.show(case, lambda after: (200, page))
        self.refuses("does not end, or is too large")

    def test_nothing_but_the_card_can_approve(self):
        """The service worker, for one, approves from notifications."""
        request = self.case()["request"]
        said = self.browser.script(
            """
            const { accounts, answerStatement } = globalThis.iampass;
            const [account] = await accounts.all();
            const [request] = args;
            const tries = [request, { ...request, document: null }, { ...request, context: { host: "web-1" } }];
            const results = await Promise.allSettled(tries.map((one) => answerStatement(account, one, "approve")));
            return results.map(({ reason }) => reason?.message ?? "signed");""", request)  # fmt: skip
        self.assertEqual(said, ["this page did not show what is to be signed. Nothing was signed."] * 3)


class Vectors(DocumentCase):
    def test_the_page_judges_each_vector(self):
        vectors = document_vectors.written()
        found = self.browser.script(
            """
            const { review } = await import("./review.js");
            const [{ cases, phone, origin }] = args;
            const account = { device: phone.device, publicKey: phone.public_key };
            const judged = [];
            for (const { request, memory, pages } of cases) {
              async function* all() {
                for (const json of pages) yield { json, size: 0 };
              }
              judged.push(await review(account, request, memory, all(), origin).catch(({ message }) => message));
            }
            return judged;""", vectors)  # fmt: skip
        for case, judged in zip(vectors["cases"], found):
            with self.subTest(case["name"]):
                if "misfit" in case:
                    self.assertEqual(judged, case["explanation"])
                else:
                    self.assertIsInstance(judged, dict, judged)
                    judged["memory_once_signed"] = judged.pop("memoryOnceSigned")
                    shown = {name: judged[name] for name in case["shown"]}
                    self.assertEqual((judged["digest"], shown), (case["digest"], case["shown"]))


class WithTheService(PhonePageCase):
    """The real service, whose administrator has the browser as a phone."""

    def server(self, *words):
        return run(os.path.join(PROGRAMS, "iampass-server"), *words, "--data", self.world.path("data"))

    def signed(self, act, *words):
        """What the command prints that asks for a signature; and the page's lines, before `act` on the page."""
        command = [os.path.join(PROGRAMS, "iampass-server"), *words, "--data", self.world.path("data")]
        asking = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            self.browser.sees(".document-heading")
            lines = self.browser.each(".document-lines li")
            self.browser.tap(f".request .{act}")
            said = asking.communicate(timeout=PATIENCE)[0]
        finally:
            asking.kill()
            asking.communicate()
        self.browser.misses(".request")
        return said, lines

    def test_an_administrator_signs_a_list_and_what_changes_it(self):
        link = self.server("administrator", "add", "ada", "--role", "admin").split()[-1]
        self.browser.open(link)
        self.browser.tap("#register")
        self.browser.sees("#said", "ada’s phone now.")
        self.connected()
        self.server("administrator", "start-signing")
        for name in ("bob", "eve"):
            self.server("user", "add", "office", name, "--no-link")
        said, lines = self.signed("approve", "user", "sign", "office")
        self.assertEqual(lines, ["bob (no group), no phone", "eve (no group), no phone"])
        self.assertIn("office: signed", said)
        self.server("user", "remove", "office", "eve")
        said, lines = self.signed("deny", "user", "sign", "office")
        self.assertNotIn("signed", said)
        said, lines = self.signed("approve", "user", "sign", "office")
        self.assertEqual(lines, ["remove eve (no group)"])
        self.assertIn("office: signed", said)
        said, lines = self.signed("approve", "administrator", "recovery-key")
        self.assertRegex(lines[0], r"^add recovery key “[^”]+” \(\w+( \w+){5}\)$")


if __name__ == "__main__":
    unittest.main()
