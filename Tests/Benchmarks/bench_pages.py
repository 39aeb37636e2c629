"""What packaging/bench measures of the console: its list pages with thousands of users, computers and sessions."""

import http.client
import re
import secrets
import sqlite3
import ssl
import time
import urllib.parse

from Support.Service.world import program, run

COMPUTERS, SESSIONS, ENDED = 5_000, 5_000, 20_000
#: Asked once for the connection, then so often.
LOOKS = 10
HEADERS = {"Content-Type": "application/x-www-form-urlencoded"}


def measure_pages(world, report):
    """Goes on with the fleet's database, which has its users and some computers."""
    fill(world.path("data", "iampass.sqlite"))
    browser = Browser(world)
    code = re.search(r'href="/console/joins/([0-9a-f]{12})"', browser.get("/joins"))[1]
    application = re.search(r'href="/console/application/([0-9a-f]+)"', browser.get("/applications"))[1]
    report.part(f"The console's pages: 5,000 users, {COMPUTERS:,} computers, {SESSIONS:,} live and {ENDED:,} ended sessions")
    for name, path in {
        "front page": "", "applications": "/applications", "users": f"/application/{application}",
        "users, a late page": f"/application/{application}?after=4000", "users, searched": f"/application/{application}?q=user4321",
        "computers": "/joins", "computers, searched": "/joins?q=pc-4321", "computers, silent": "/joins?silent=on",
        "computers, copied": "/joins?copied=on", "who joined by a code": f"/joins/{code}", "sessions": "/sessions",
        "sessions, searched": "/sessions?computer=pc-4321", "audit": "/audit", "audit, searched": "/audit?user=nobody-at-all",
    }.items():
        times = []
        for _ in range(LOOKS):
            began = time.monotonic()
            page = browser.get(path)
            times.append((time.monotonic() - began) * 1_000)
        report.add(f"{name}, {len(page) / 1024:.0f} KiB", times, "ms")


class Browser:
    """Signed in by a one-time link, over one connection."""

    def __init__(self, world, place=None):
        """`place`: the words that say where the database is."""
        parts = urllib.parse.urlsplit(world.address)
        self.origin, self.cookie = world.address, None
        self.connection = http.client.HTTPSConnection(
            parts.hostname, parts.port, context=ssl.create_default_context(cafile=world.certificate), timeout=60)
        place = place or ("--data", world.path("data"))
        link = run(program("iampass-server"), "console-link", *place).strip()
        code = link.rstrip("/").rpartition("/")[2]
        self.connection.request("POST", "/console/enter", f"code={code}", {**HEADERS, "Origin": self.origin})
        reply = self.connection.getresponse()
        reply.read()
        self.cookie = reply.getheader("Set-Cookie").partition(";")[0]

    def get(self, path):
        self.connection.request("GET", "/console" + path, headers={"Cookie": self.cookie, "Accept": "text/html"})
        reply = self.connection.getresponse()
        page = reply.read().decode()
        if reply.status != 200:
            raise SystemExit(f"bench: {path} gave {reply.status}: {page[:300]}")
        return page


def fill(path):
    """Writes computers and sessions beside the service, which would take hours to make them by approvals."""
    with sqlite3.connect(path, timeout=30) as db:
        db.row_factory = sqlite3.Row
        pattern = dict(db.execute("SELECT * FROM host_credential WHERE name LIKE 'pc-%' LIMIT 1").fetchone())
        known = {row[0] for row in db.execute("SELECT name FROM host_credential")}
        code, = db.execute("SELECT id FROM join_code LIMIT 1").fetchone()
        for number in range(COMPUTERS):
            if (name := f"pc-{number}") in known:
                continue
            one = {**pattern, "id": secrets.token_hex(16), "name": name, "host": name}
            insert(db, "host_credential", one)
            insert(db, "joining", {
                "id": secrets.token_hex(16), "code": code, "name": name, "mark": "123456", "state": "joined", "address": "192.0.2.1",
                "asked_at": pattern["created_at"], "credential": one["id"], "secret_digest": secrets.token_hex(32)})  # fmt: skip
            insert(db, "host_report", {"credential": one["id"], "software": "0.10.0", "list_version": number})
        computers = db.execute("SELECT id, host, application FROM host_credential WHERE name LIKE 'pc-%'").fetchall()
        users = [row[0] for row in db.execute("SELECT id FROM user WHERE application = ?", (pattern["application"],))]
        for number in range(SESSIONS + ENDED):
            computer, is_live = computers[number % len(computers)], number < SESSIONS
            at = pattern["created_at"] - number
            insert(db, "session", {
                "id": secrets.token_hex(16), "token": secrets.token_hex(16), "secret": secrets.token_hex(16),
                "application": computer["application"], "user": users[number % len(users)], "source": "192.0.2.1",
                "context": f'{{"host":"{computer["host"]}","service":"sudo","user":"user{number}"}}', "answer_nonce": secrets.token_hex(8),
                "status": "active" if is_live else "closed", "ending": None if is_live else "LOGGED_OUT", "started_at": at,
                "duration": 43_200_000, "approved_at": at, "collected_at": at, "ended_at": None if is_live else at + 1,
                "delivered": "active", "delivered_at": at,
                "credential": computer["id"], "method": "acceptance", "reply_secret": secrets.token_hex(16), "answer_time": 60})  # fmt: skip


def insert(db, table, values):
    """Columns that a table does not have are left out."""
    columns = {row["name"] for row in db.execute(f"PRAGMA table_info({table})")}
    kept = {name: value for name, value in values.items() if name in columns}
    db.execute(f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({', '.join('?' * len(kept))})", list(kept.values()))
