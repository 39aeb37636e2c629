"""document-vectors.json: documents that a phone may sign, and that it must not.

usage: python3 -B document_vectors.py      # writes the file again, with new keys

`shown` and `explanation` of its cases are what the phone's page showed, after somebody has read it.
"""

import copy
import json
import pathlib
import sys

if __name__ == "__main__":
    # In place of this folder, whose modules nobody imports by their names alone.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])

from Support.HostileService.signing_phone import TOUCHED, Key, SigningPhone
from Support.Service.documents import (
    ORIGIN, Signers, administrators, challenge, context, digest, entry, fields, key, memory, pages, proof, recovery_proof,
    request)


def fitting(signers):
    """Cases by name, which an administrator can sign."""
    known = memory(signers.second, signers.last)
    gone = administrators([key("alice", signers.own, lock=False)], signers.second)
    removed = [*signers.sets, (gone, recovery_proof(gone, signers.paper))]
    newer = memory(signers.second, signers.head(signers.users, 9))
    third = administrators([*signers.second["keys"], key("carol", signers.carol)], signers.second)
    grown = [*signers.sets, (third, proof(third, signers.bob))]
    lost, own = signers.head(signers.changed(), 9), signers.of([*signers.users, entry("dan")])["document"]
    twin = administrators(
        [*signers.second["keys"][:1], key("аlice", signers.carol, phone_name="x"), key("paper", paper=Key())], signers.second)
    return {
        "the first list": signers.of(signers.users, 1, former=None),
        "one change of each kind": signers.of(signers.changed(), remembered=known),
        "changes at the first sight of the administrators": signers.of([*signers.users, entry("dan")]),
        "no change": signers.of(signers.users, remembered=known),
        "the same list again, whose signature got lost": signers.of(
            [*signers.users, entry("dan")], remembered=memory(signers.second, signers.last, signed=[own])),
        "a list that this phone has signed is in force": signers.of(
            signers.users, remembered=memory(signers.second, signed=[signers.last])),
        "a list that this phone has signed got lost": signers.of(
            signers.users, 10, remembered=memory(signers.second, signers.last, signed=[lost])),
        "the first list that this phone has signed got lost": signers.of(
            signers.users, 10, former=None, remembered=memory(signers.second, signed=[lost])),
        "lists that this phone was not asked about": signers.of(
            [*signers.users, entry("dan")], remembered=memory(
                signers.second, signers.head(signers.users, 4), signed=[signers.head(signers.users, 5)])),
        "a list of an earlier set of administrators": signers.of(signers.users, sets=grown, remembered=known),
        "a restored database": signers.of(signers.users, 1, epoch=2, remembered=known),
        "a restored database of before": signers.of(signers.users, 1, epoch=2, remembered=newer),
        "a restored database without a list": signers.of(signers.users, 1, epoch=2, former=None, remembered=newer),
        "a restored database of before this phone has signed": signers.of(
            signers.users, 1, epoch=2, remembered=memory(signers.second, signed=[signers.head(signers.changed(), 7)])),
        "an administrator who signed the list was removed": signers.of(
            signers.users, sets=removed, remembered=memory(signers.second)),
        "a removed administrator's list that this phone has seen": signers.of(signers.users, sets=removed, remembered=known),
        "other administrators": signers.of_set(twin, remembered=memory(signers.second)),
        "administrators at first sight": signers.of_set(gone),
        "administrators without a change": signers.of_set(
            administrators(signers.second["keys"], signers.second), remembered=known),
    }  # fmt: skip


def with_page(case, change, page=0):
    """The case, with a change of one of its pages."""
    made = copy.deepcopy(case)
    change(made["pages"][page])
    return made


def misfits(signers):
    """Cases by name, with the reason for which none can be signed."""
    known = memory(signers.second, signers.last)
    fit = signers.of([*signers.users, entry("dan")], remembered=known)
    document = fit["document"]
    # With bob's name and screen lock.
    impostor = SigningPhone("bob-1")
    impostor.lock = signers.bob.lock
    elsewhere = signers.head(signers.users, 7, application="other")
    unknown = administrators([*signers.second["keys"], key("carol", signers.carol)], signers.first)
    third = administrators([*signers.second["keys"], key("carol", signers.carol)], signers.second)
    grown = [*signers.sets, (third, proof(third, signers.bob))]
    stray, other = signers.head(signers.users, 7, under=unknown), signers.head(signers.changed(), 7)
    thief, lone = SigningPhone("thief"), administrators([key("bob", signers.bob)], signers.second)
    forged = administrators([*signers.second["keys"], key("mallory", thief)], signers.second)

    def signed(made):
        return signers.of([*signers.users, entry("dan")], former=(signers.last, made), remembered=known)

    def proof_with(**lock):
        made = proof(signers.last, signers.bob)
        return {**made, "assertion": signers.bob.assertion(made["statement"], **lock)}

    def listed(**changed):
        """The list with a user more, who has these members."""
        return "malformed", signers.of([*signers.users, {**entry("dan"), **changed}], remembered=known)

    def headed(**changed):
        return "malformed", with_page(fit, lambda page: page["head"].update(changed))

    def keyed(*keys, **changed):
        """A set with these keys more."""
        made = {**administrators([*signers.second["keys"], *keys], signers.second), **changed}
        return "malformed", signers.of_set(made, remembered=known)

    def sets(*more):
        return signers.of(signers.users, sets=[*signers.sets, *more], remembered=known)

    return {
        "a document without its member": ("notADocument", {**fit, "request": request(document, document=None)}),
        "a sign-in with a document": ("notADocument", {**fit, "request": request(document, context={"host": "web-1"})}),
        "a document for another": ("notADocument", {**fit, "request": request(document, for_another=True)}),
        "another challenge": ("otherDocument", {**fit, "request": request(document, challenge=challenge({}))}),
        "no challenge": ("otherDocument", {**fit, "request": request(document, challenge=None)}),
        "another context": ("otherDocument", {**fit, "request": request(
            document, context={**context(document), "user": "alice"})}),
        "another kind": ("otherDocument", {**fit, "request": request(document, document={"kind": "administrators"})}),
        "a page without a document": ("malformed", with_page(fit, lambda page: page.pop("head"))),
        "a second document": ("malformed", with_page(fit, lambda page: page.update(head=document), 1)),
        "a head and a set": ("malformed", with_page(fit, lambda page: page.update(set=signers.second))),
        "root": ("malformed", signers.of([*signers.users, entry("root")], remembered=known)),
        "a name with a newline": ("malformed", signers.of([*signers.users, entry("dan\n")], remembered=known)),
        "a name with a Cyrillic letter": ("malformed", signers.of([*signers.users, entry("bоb")], remembered=known)),
        "a phone's name with a control character": ("malformed", signers.of(
            [*signers.users, entry("dan", phones=[fields(thief, "\u202eleixiP")])], remembered=known)),
        "a phone twice": listed(phones=[fields(thief), fields(thief, "other")]),
        "a phone's key twice": listed(phones=[fields(thief), "other" + fields(thief).removeprefix("thief")]),
        "five phones": listed(phones=sorted(fields(SigningPhone(f"p{number}")) for number in range(5))),
        "phones in another order": listed(phones=sorted((fields(thief), fields(signers.carol)), reverse=True)),
        "a phone without its key": listed(phones=["thief:::: 1:x"]),
        "a phone with half a credential": listed(phones=[f"thief:{thief.key.text}:AQID::1:x"]),
        "groups in another order": listed(groups=["office", "lab"]),
        "a group with a blank": listed(groups=["the office"]),
        "a token with a quote": listed(token='to"ken'),
        "a token with a colon": listed(token="to:ken"),
        "a head of another purpose": headed(purpose="iampass-user-list/2"),
        "a head with a fraction": headed(number=8.5),
        "a head of no epoch": headed(epoch=-1),
        "a head without the list of all": headed(lists=document["lists"][1:]),
        "a head with a group twice": headed(lists=[*document["lists"], document["lists"][-1]]),
        "a head with too many users": headed(lists=[{**document["lists"][0], "count": 1_000_000}]),
        "a head with a short digest": headed(lists=[{**document["lists"][0], "digest": "00"}]),
        "a head without administrators": headed(administrators=""),
        "a head with a short digest of administrators": headed(administrators="00"),
        "a head with a digest in capitals": headed(administrators=document["administrators"].upper()),
        "a head with a short digest of the list before": headed(previous="00"),
        "a head with no digest of the list before": headed(previous=None),
        "a head without the list before": ("malformed", with_page(fit, lambda page: page["head"].pop("previous"))),
        "a head with a member more": headed(uid=0),
        "a set of another purpose": keyed(purpose="iampass-administrators/2"),
        "a set with a number that does not fit": keyed(previous=""),
        "a set with a key of another kind": keyed({"name": "x", "kind": "robot", "key": Key().text}),
        "a set with a cut key": keyed({"name": "x", "kind": "recovery", "key": "MFkw"}),
        "a set with a key twice": keyed({"name": "x", "kind": "recovery", "key": signers.bob.key.text}),
        "a set with a phone's id twice": keyed(key("x", SigningPhone("bob-1"))),
        "a set with a name that turns letters around": keyed(key("\u202eecila", thief)),
        "a set with an empty name": keyed(key("", thief)),
        "a member more": ("malformed", with_page(fit, lambda page: page["entries"][0].update(uid=0), 0)),
        "more users than the list has": ("tooLarge", with_page(fit, lambda page: page.update(
            entries=[entry(f"u{number}") for number in range(9)]))),
        "an empty page": ("tooLarge", {**fit, "pages": [{**fit["pages"][0], "next": "2"}, {"status": True, "next": "3"}]}),
        "another name on the pages": ("otherUsers", with_page(fit, lambda page: page["entries"][0].update(name="ben"))),
        "a user fewer on the pages": ("otherUsers", with_page(fit, lambda page: page["entries"].pop())),
        "a user twice": ("otherUsers", with_page(fit, lambda page: page.update(
            entries=page["entries"][:1] * 3), 1)),
        "a group that the head does not name": ("otherUsers", with_page(
            fit, lambda page: page["entries"][0].update(groups=["office", "secret"]))),
        "another phone on the pages": ("otherUsers", with_page(
            fit, lambda page: page["entries"][0].update(phones=[fields(thief)]))),
        "other former users": ("otherFormerUsers", with_page(fit, lambda page: page.update(new=[]), 2)),
        "a former user who never was": ("otherFormerUsers", with_page(
            fit, lambda page: page.update(other=[entry("mallory")]), 2)),
        "a former list that nobody signed": ("formerNotSigned", signed(proof(signers.last, thief))),
        "a former list of another application": ("formerNotSigned", {**fit, "pages": pages(
            document, signers.sets, [*signers.users, entry("dan")],
            (elsewhere, signers.former[1]), signers.users)}),
        "a former list of a set that is not shown": ("formerNotSigned", signers.of(
            signers.users, former=(stray, proof(stray, signers.bob)), remembered=known)),
        "a former list by an administrator who came later": ("formerNotSigned", signers.of(
            signers.users, sets=grown, former=(signers.last, proof(signers.last, signers.carol)), remembered=known)),
        "a former list that a recovery key signed": ("formerNotSigned", signed(recovery_proof(signers.last, signers.paper))),
        "a former list that was denied": ("formerNotSigned", signed(proof(signers.last, signers.bob, answer="deny"))),
        "a former list that was not shown": ("formerNotSigned", signed(proof(signers.last, signers.bob, document=None))),
        "a former list of another service": ("formerNotSigned", signed(proof(
            signers.last, signers.bob, origin="https://other.test"))),
        "a former list without the screen lock": ("formerNotSigned", signed(proof(
            signers.last, signers.bob, method="acceptance"))),
        "a former list with another statement's lock": ("formerNotSigned", signed({
            **signers.former[1], "assertion": proof(signers.last, signers.bob, nonce="m")["assertion"]})),
        "a former list that another key signed": ("formerNotSigned", signed(proof(signers.last, impostor))),
        "a former list by a locked phone": ("formerNotSigned", signed(proof_with(flags=TOUCHED))),
        "a former list by a lock at another page": ("formerNotSigned", signed(proof_with(party="other.test"))),
        "a former list by a lock for another origin": ("formerNotSigned", signed(proof_with(origin="https://other.test"))),
        "a former list by another lock": ("formerNotSigned", signed(proof_with(key=Key()))),
        "a former list by a lock that makes a credential": ("formerNotSigned", signed(proof_with(type="webauthn.create"))),
        "a former list in a frame of another page": ("formerNotSigned", signed(proof_with(cross=True))),
        "another application's list, which is signed": ("formerNotSigned", {**fit, "pages": pages(
            document, signers.sets, [*signers.users, entry("dan")], (elsewhere, proof(elsewhere, signers.bob)), signers.users)}),
        "new users of no former list": ("otherFormerUsers", with_page(
            signers.of(signers.users, former=None, remembered=known), lambda page: page.update(new=["eve"]))),
        "a list of other administrators": ("otherSet", signers.of(signers.users, under=signers.first, remembered=known)),
        "a list of administrators of nobody": ("otherSet", signers.of(signers.users, under=unknown)),
        "a list after another one than is shown": ("notNext", signers.of(signers.users, after=other, remembered=known)),
        "a list after none, and one is shown": ("notNext", signers.of(signers.users, after=None, remembered=known)),
        "a list after one that is not shown": ("notNext", signers.of(signers.users, former=None, after=signers.last)),
        "an older former list than this phone has seen": ("formerIsOlder", signers.of(
            signers.users, 10, remembered=memory(signers.second, signers.head(signers.users, 9)))),
        "no former list, and this phone has seen one": ("formerIsOlder", signers.of(
            signers.users, 10, former=None, remembered=known)),
        "another former list of the version that this phone has seen": ("formerIsOlder", signers.of(
            signers.users, remembered=memory(signers.second, other))),
        "another former list of the version that this phone has signed": ("formerIsOlder", signers.of(
            signers.users, remembered=memory(signers.second, signed=[other]))),
        "an older list than the former one": ("older", signers.of(signers.users, 6)),
        "a list of the former one's version": ("older", signers.of(signers.users, 7)),
        "a number that this phone has signed for another list": ("older", signers.of(
            signers.users, remembered=memory(signers.second, signed=[signers.head(signers.changed(), 8)]))),
        "a list older than this phone has signed": ("older", signers.of(
            signers.users, remembered=memory(signers.second, signers.last, signed=[signers.head(signers.users, 9)]))),
        "an older list": ("older", signers.of(signers.users, 6, remembered=known)),
        "a list older than this phone has seen": ("older", signers.of(
            signers.users, 8, remembered=memory(signers.second, signers.head(signers.users, 9)))),
        "another list of the same version": ("older", signers.of([*signers.users, entry("dan")], 7, remembered=known)),
        "no administrators": ("otherAdministrators", with_page(fit, lambda page: page.pop("sets"))),
        "a set that is not signed": ("malformed", sets((forged, None))),
        "a set that its new key signed": ("otherAdministrators", sets((forged, proof(forged, thief)))),
        "a set that another recovery key signed": ("otherAdministrators", sets((forged, recovery_proof(forged, Key())))),
        "a set left out": ("otherAdministrators", sets((
            later := administrators(lone["keys"], lone), proof(later, signers.bob)))),
        "an older set than this phone has seen": ("otherAdministrators", signers.of(
            signers.users, remembered=memory(lone))),
        "another set of the same number": ("otherAdministrators", signers.of(
            signers.users, remembered=memory(administrators(lone["keys"], signers.first)))),
        "no first set for a phone that knows none": ("otherAdministrators", signers.of(signers.users, sets=signers.sets[1:])),
        "a set that does not follow": ("otherAdministrators", signers.of_set(lone, sets=signers.sets[:1])),
        "a phone that is not an administrator's": ("notAnAdministrator", sets((lone, proof(lone, signers.bob)))),
    }  # fmt: skip


def vectors():
    signers = Signers()
    own = {"device": signers.own.name, "key": signers.own.key.exported(), "public_key": signers.own.key.text}
    cases = [{"name": name, **case, "digest": digest(case["document"])} for name, case in fitting(signers).items()]
    cases += [{"name": name, "misfit": why, **case} for name, (why, case) in misfits(signers).items()]
    for case in cases:
        del case["document"]
    return {"origin": ORIGIN, "phone": own, "cases": cases}


# --- The file ---

VECTORS = pathlib.Path(__file__).with_name("document-vectors.json")
#: Characters of a text that the file has once.
LONG = 60


def packed(value, texts):
    """The value, with "@N" for a long text that is number N of `texts`."""
    if isinstance(value, dict):
        return {name: packed(one, texts) for name, one in value.items()}
    if isinstance(value, list):
        return [packed(one, texts) for one in value]
    return f"@{texts.setdefault(value, len(texts))}" if isinstance(value, str) and len(value) > LONG else value


def unpacked(value, texts):
    if isinstance(value, dict):
        return {name: unpacked(one, texts) for name, one in value.items()}
    if isinstance(value, list):
        return [unpacked(one, texts) for one in value]
    return texts[int(value[1:])] if isinstance(value, str) and value.startswith("@") else value


def written():
    """The vectors of the file."""
    made = json.loads(VECTORS.read_text())
    return unpacked(made["vectors"], made["texts"])


def write(vectors):
    texts = {}
    small = packed(vectors, texts)
    VECTORS.write_text(
        json.dumps({"vectors": small, "texts": list(texts)}, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    write(vectors())
