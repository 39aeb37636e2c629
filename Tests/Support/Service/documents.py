"""Documents that administrators' phones sign, by other people's code: python3-cryptography."""

import base64
import hashlib

from Support.HostileService.signing_phone import Key, SigningPhone
from Support.Service.approvals import canonical

ORIGIN = "https://iampass.test"
APPLICATION = "8f14e45f"
NOTHING = {"set": 0, "digest": "", "lists": {}, "signed": {}}


def digest(value):
    return hashlib.sha256(canonical(value)).hexdigest()


def challenge(document):
    return base64.b64encode(bytes.fromhex(digest(document))).decode()


def fields(phone, name=None, lock=True, since=1_700_000_000):
    """A phone as lists and sets have it."""
    lock = (getattr(phone, "credential", "AQID"), phone.lock.text) if lock else ("", "")
    return ":".join([phone.name, phone.key.text, *lock, str(since), name or "Pixel 8"])


def key(name, phone=None, paper=None, lock=True, phone_name=None):
    """A key of a set of administrators."""
    if paper:
        return {"name": name, "kind": "recovery", "key": paper.text}
    return {"name": name, "kind": "phone", "phone": fields(phone, phone_name, lock)}


def administrators(keys, former=None):
    return {
        "purpose": "iampass-administrators/1", "number": former["number"] + 1 if former else 1,
        "previous": digest(former) if former else "",
        "keys": sorted(keys, key=lambda one: (one["kind"], one["name"], one.get("phone") or one["key"])),
    }  # fmt: skip


def entry(name, *groups, phones=(), token=None):
    return {
        "name": name, "groups": sorted(groups), "phones": sorted(phones), "token": token or "token-of-" + name}  # fmt: skip


def head(entries, number, epoch=1, groups=(), application=APPLICATION, under=None, former=None):
    """The head of a list of these users, under a set of administrators, after the list with the head `former`."""
    groups = sorted({"", *groups, *(group for one in entries for group in one["groups"])})
    lists = []
    for group in groups:
        own = sorted((one for one in entries if not group or group in one["groups"]), key=lambda one: one["name"])
        lines = [{name: one[name] for name in ("name", "phones", "token")} for one in own]
        text = b"".join(canonical(line) + b"\n" for line in lines)
        lists.append({"group": group, "count": len(own), "digest": hashlib.sha256(text).hexdigest()})
    return {
        "purpose": "iampass-user-list/1", "application": application, "epoch": epoch, "number": number,
        "administrators": digest(under), "previous": digest(former) if former else "", "lists": lists}  # fmt: skip


def context(document):
    is_set = "keys" in document
    return {
        "host": "administrators" if is_set else "users", "service": "iampass-document",
        "command": f"administrators of this service, number {document['number']}" if is_set else
        f"users of {document['application']}, version {document['epoch']}.{document['number']}"}  # fmt: skip


def proof(document, phone, /, lock=True, origin=ORIGIN, **changed):
    """The phone's signature of the document."""
    start = {"context": context(document), "challenge": challenge(document)}
    members = {"method": "device" if lock else "acceptance", "code": "", "document": digest(document), **changed}
    return phone.approval(phone.statement(origin, "s-7", start, **members))


def recovery_proof(document, paper):
    text = canonical({"purpose": "iampass-recovery/1", "document": digest(document)})
    return {"recovery": paper.text, "signature": base64.b64encode(paper.raw(text)).decode()}


def request(document, /, **changed):
    """What a service asks a phone to sign."""
    made = {
        "session": "s-8", "nonce": "n-8", "expires": 1_800_000_000, "seconds_left": 60, "context": context(document),
        "method": "acceptance", "match_code": False, "challenge": challenge(document),
        "document": {"kind": "administrators" if "keys" in document else "users"}, **changed,
    }  # fmt: skip
    return {name: value for name, value in made.items() if value is not None}


def pages(document, sets, entries=(), former=None, former_entries=(), size=3):
    """The document as a service shows it.

    `sets`: with their proofs. `former`: the head and the proof of the last list, which has `former_entries`.
    """
    now, last = ({one["name"]: one for one in all} for all in (entries, former_entries))
    parts = {
        "sets": [{"set": one, "proof": made} for one, made in sets], "entries": sorted(entries, key=lambda one: one["name"]),
        "other": [last[name] for name in sorted(last) if last[name] != now.get(name)] if former else [],
        "new": sorted(set(now) - set(last)) if former else [],
    }  # fmt: skip
    items = [(name, item) for name, all in parts.items() for item in all]
    made = [{"status": True}]
    if "keys" in document:
        made[0]["set"] = document
    else:
        made[0].update(head=document, former=former and {"head": former[0], "proof": former[1]})
    for start in range(0, len(items), size):
        page = made[0] if start == 0 else {"status": True}
        if start:
            made[-1]["next"] = f"page {start}"
            made.append(page)
        for name, item in items[start : start + size]:
            page.setdefault(name, []).append(item)
    made[-1]["next"] = None
    return made


def memory(one, *heads, signed=()):
    """What a phone remembers that has seen this set, these lists in force, and has signed those."""
    lists, own = (
        {head["application"]: {"epoch": head["epoch"], "number": head["number"], "digest": digest(head)} for head in all}
        for all in (heads, signed))
    return {"set": one["number"], "digest": digest(one), "lists": lists, "signed": own}


class Signers:
    """Two administrators, a recovery key, and lists that they signed."""

    def __init__(self, own=None, origin=ORIGIN):
        self.own, self.bob, self.carol = own or SigningPhone("own"), SigningPhone("bob-1"), SigningPhone("carol-1")
        self.paper = Key()
        self.first = administrators([key("alice", self.own, lock=bool(own)), key("bob", self.bob)])
        self.second = administrators([*self.first["keys"], key("recovery", paper=self.paper)], self.first)
        self.sets = [(self.first, None), (self.second, proof(self.second, self.bob, origin=origin))]
        self.users = [
            entry("bob", "office", phones=[fields(self.bob)]), entry("carol", "lab", "office", phones=[fields(self.carol)]),
            entry("eve", "office")]  # fmt: skip
        self.last = self.head(self.users, 7, former=self.head(self.users, 6))
        self.former = (self.last, proof(self.last, self.bob, origin=origin))

    def head(self, users, number=7, **changed):
        return head(users, number, **{"under": self.second, **changed})

    def changed(self):
        """The users, with one change of each kind."""
        carol, new = SigningPhone("carol-2"), SigningPhone("zoe-1")
        return [
            entry("bob", "office", phones=[fields(self.bob, "Bob’s “new” phone")], token="another"),
            entry("carol", "office", "secret", phones=[fields(carol, "  evil‹ ")]),
            entry("zoe", phones=[fields(new, "שלום", lock=False)])]  # fmt: skip

    def of(self, users, number=8, epoch=1, sets=None, former=True, remembered=None, under=None, after=True, **changed):
        """`after`: the head which the new one names as the one before, if that is not the one that is shown."""
        former = self.former if former is True else former
        before = former and former[0] if after is True else after
        document = head(users, number, epoch, under=under or (sets or self.sets)[-1][0], former=before)
        return {
            "document": document, "memory": remembered or NOTHING, "request": request(document, **changed),
            "pages": pages(document, sets or self.sets, users, former, self.users if former else ())}  # fmt: skip

    def of_set(self, document, sets=None, remembered=None, **changed):
        return {
            "document": document, "memory": remembered or NOTHING, "request": request(document, **changed),
            "pages": pages(document, sets or self.sets)}  # fmt: skip
