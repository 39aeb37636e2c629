"""Acts of packaging/demo-fleet: an administrator's phone signs the list of users, is lost, and a database is put back."""

import re
import time

from Support.Demo.stage import claim, note, title
from Support.Hosts.testhost import PUSH_LINE_WITH_CODE, Phone

DATA = "/var/lib/iampass-server"
CREDENTIALS = "/etc/iampass/credentials"
#: After a list that it refused, a computer asks again in a minute.
LONGEST_REFUSAL = 90
COPY = f"{DATA}/copy"
KEY = "/root/recovery-key"


class SignedActs:
    """With the machines, users and commands of `fleet`."""

    def __init__(self, fleet):
        self.fleet = fleet
        self.service, self.computers = fleet.service, fleet.computers

    def play(self):
        self.begin()
        self.join_again()
        self.sign_in()
        before = [computer.path(CREDENTIALS).read_text() for computer in self.computers]
        self.lose_the_phone()
        self.put_back()
        claim("no computer had to join again", before == [computer.path(CREDENTIALS).read_text() for computer in self.computers])

    def type(self, command):
        return self.fleet.type(self.service, f"{command} --data {DATA}")

    def zoe(self):
        return Phone(self.service, "approve", state="/home/phone/zoe.json", signs=True)

    def begin(self):
        title("6. zoe's phone signs the list of users")
        note("zoe's phone, a command here, signs unread; a person reads what it shows.")
        with self.zoe() as phone:
            self.type("iampass-server administrator start-signing")
            shown = self.type("iampass-server administrator recovery-key")
            self.key = re.search(r"IRK1\S+", shown)[0]
            self.type("iampass-server user sign")
            claim("the phone showed the first list", "first list" in phone.printed)
        made = self.type("iampass-server join-code create office --uses 3 --unattended")
        self.line = re.search(r"join https://\S+ IJ2\S+", made)[0]

    def join_again(self):
        note("computers that have joined before go on as they are; by the new code they believe phones alone.")
        note("their names are free again once their credentials are revoked.")
        for computer in self.computers:
            self.type(f"iampass-server host-credential revoke office {computer.name}")
            said = self.fleet.type(computer, f"iampassctl {self.line} --again --yes")
            claim(f"{computer.name} takes what zoe signs", "counts if zoe signs it" in said)
            self.wait("has the phone's key", computer, lambda: "\nalice:" in self.kept(computer, "phones"))

    def sign_in(self):
        desk = self.computers[0]
        with self.fleet.phone("alice") as phone:
            child = desk.terminal("sudo id -un", user="alice", timeout=30)
            child.expect(PUSH_LINE_WITH_CODE)
            phone.type(child.match[1])
            status = child.finish(30)
        claim("alice signs in, and the computer has verified her phone's signature",
              status == 0 and re.search(r"user=alice .*phone=\S+ method=acceptance", desk.journal()) is not None)

    def lose_the_phone(self):
        title("7. zoe's phone is lost")
        said = self.type("iampass-server administrator link zoe --lost")
        link = re.search(r"https://\S+/register/\S+", said.replace("\r", ""))[0]
        self.service.run("rm", "/home/phone/zoe.json")
        self.fleet.register("zoe", link)
        note("the recovery key from paper signs that the new phone is zoe's; it signs nothing else.")
        self.service.path(KEY).touch(mode=0o600)
        self.service.path(KEY).write_text(self.key + "\n")
        self.type(f"iampass-server administrator sign --recovery-key {KEY} --yes")
        self.service.run("rm", KEY)
        for computer in self.computers:
            self.wait("follows the new set", computer, lambda: "administrators=3" in computer.journal())
        self.change("bob is gone", "user remove office bob", lambda users: "bob" not in users)

    def put_back(self):
        title("8. the database is put back from a copy, in which bob is")
        self.change("bob is there", "user add office bob --no-link", lambda users: "bob" in users)
        self.type(f"iampass-server backup {COPY}")
        self.change("bob is gone", "user remove office bob", lambda users: "bob" not in users)
        self.service.run("systemctl", "stop", "iampass-server")
        self.service.run("sh", "-c", f"rm {DATA}/iampass.sqlite*; "
                         f"install -m 600 -o _iampass-server -g _iampass-server {COPY} {DATA}/iampass.sqlite")
        self.service.run("systemctl", "start", "iampass-server")
        for computer in self.computers:
            self.wait("refuses the older list", computer, lambda: "its version is older" in computer.journal(), LONGEST_REFUSAL)
            claim(f"{computer.name} keeps its own", "bob" not in self.fleet.users_of(computer))
        note("one signature is enough for all computers.")
        with self.zoe():
            self.type("iampass-server user sign")
        for computer in self.computers:
            self.wait("has bob again", computer, lambda: "bob" in self.fleet.users_of(computer), LONGEST_REFUSAL)

    def change(self, what, command, is_seen):
        """A user is added or removed, and zoe signs that."""
        self.type(f"iampass-server {command}")
        with self.zoe():
            self.fleet.change(what, f"iampass-server user sign --data {DATA}", is_seen)

    @staticmethod
    def kept(computer, name):
        path = computer.path(f"/var/lib/iampass/service/{name}")
        return "\n" + path.read_text() if path.exists() else ""

    @staticmethod
    def wait(what, computer, is_so, patience=30):
        began = time.monotonic()
        while not is_so() and time.monotonic() < began + patience:
            time.sleep(0.2)
        claim(f"{computer.name} {what}, after {time.monotonic() - began:.1f} s", is_so())
