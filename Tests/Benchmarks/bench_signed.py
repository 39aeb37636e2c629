"""What packaging/bench measures of a list of users with phones that an administrator's phone signs."""

import asyncio
import base64
import contextlib
import json
import re
import secrets
import sqlite3
import time

from bench_fleet import Computer, Fleet
from bench_phones import PATIENCE, canonical
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from Support.Service.world import program, run

#: What is asked: MiB, KiB.
MOST_LIST, MOST_PAGE, MOST_CHANGE = 2.5, 64, 2
#: Bytes of a credential's id: those of phones' own authenticators have 16 to 32.
CREDENTIAL_SIZE = 32


def measure_signed(world, report):
    """Goes on with the users that the service has; each gets a phone with a screen lock."""
    report.part("The same users with phones, in a list that an administrator's phone signs")
    asyncio.run(_measure(SignedFleet(world, report)))


async def _measure(fleet):
    fleet.give_phones()
    await fleet.begin()
    computer = SignedComputer(fleet, "signed")
    await computer.join()
    await computer.open()
    await fleet.measure_list(computer)
    await fleet.measure_change(computer)
    await computer.close()


def public_key():
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    return base64.b64encode(key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)).decode()  # fmt: skip


class SignedComputer(Computer):
    epoch = 0

    def path(self, after):
        return f"{super().path(after)}&signed=1&epoch={self.epoch}&administrators=1"

    async def page(self, after=""):
        """A page, and the bytes of its reply."""
        _, body = await asyncio.wait_for(self.ask(after), PATIENCE)
        return json.loads(body), len(body)


class SignedFleet(Fleet):
    def give_phones(self):
        """As if all had registered a phone's page with a screen lock."""
        with self.database() as database:
            users = database.execute("SELECT user FROM listed_user WHERE user IS NOT NULL").fetchall()
            for (user,) in users:
                self.give_phone(user, database)

    @staticmethod
    def give_phone(user, database):
        phone, now = secrets.token_hex(16), int(time.time() * 1_000)
        database.execute(
            "INSERT INTO phone (id, user, public_key, display_name, name, presence, registered_at)"
            " VALUES (?, ?, ?, ?, 'Chrome on Android', 'present', ?)", (phone, user, public_key(), f"user-{user}", now))
        database.execute(
            "INSERT INTO phone_credential (phone, credential, public_key, counter, added_at) VALUES (?, ?, ?, 0, ?)",
            (phone, secrets.token_urlsafe(CREDENTIAL_SIZE), public_key(), now))

    @contextlib.contextmanager
    def database(self):
        with contextlib.closing(sqlite3.connect(self.world.path("data/iampass.sqlite"), timeout=60)) as found, found:
            yield found

    async def begin(self):
        link = re.search(r"https://\S+/register/\S+", self.command("administrator", "add", "zoe", "--role", "admin"))[0]
        state = self.world.path("zoe.json")
        run(program("iampass-phone"), "register", link, "--state", state, "--ca", self.world.certificate)
        self.command("administrator", "start-signing")
        self.phone = self.world.phone("approve", "--sign-documents", state="zoe.json")
        began = time.monotonic()
        await asyncio.to_thread(self.command, "user", "sign", "office")
        self.report.add("until a phone has fetched and signed it", [time.monotonic() - began], "s")
        self.make_code(1)

    async def measure_list(self, computer):
        page, size = await computer.page()
        head, sizes = page["head"], [size / 1024]
        while page["more"]:
            page, size = await computer.page(json.loads(page["users"][-1][1:])["name"])
            sizes.append(size / 1024)
        computer.version, computer.epoch = head["number"], head["epoch"]
        self.report.add("the whole list's size", [sum(sizes) / 1024], "MiB", MOST_LIST)
        self.report.add("its largest page", [max(sizes)], "KiB", MOST_PAGE)

    async def measure_change(self, computer):
        """A user with a phone is added, and signed."""
        self.command("user", "add", "office", "zz-newcomer", "--no-link")
        with self.database() as database:
            (user,), = database.execute("SELECT user FROM listed_user WHERE name = 'zz-newcomer'").fetchall()
            self.give_phone(user, database)
        await asyncio.to_thread(self.command, "user", "sign", "office")
        page, size = await computer.page()
        names = [json.loads(one[1:])["name"] for one in page["users"]]
        if names != ["zz-newcomer"]:
            raise SystemExit(f"bench: the change is {names}")
        self.report.add("a change's size, without what is signed of it", [
            (size - sum(len(canonical(page[part])) for part in ("head", "proof"))) / 1024], "KiB", MOST_CHANGE)
        self.report.add("the same, with the head and its proof", [size / 1024], "KiB", MOST_CHANGE)
