"""The acts of packaging/demo-fleet, on booted hosts: a service, three computers and ten users, from nothing.

usage: fleet_acts.py RELEASE    with the packages in the folder that IAMPASS_DEBS names
"""

import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from Support.Demo.signed_acts import SignedActs
from Support.Demo.stage import Failed, Screen, claim, note, play_or_exit, title
from Support.Hosts.testhost import PUSH_LINE_WITH_CODE, Host, Phone

NAME, SERVICE_ADDRESS = "iampass.example.org", "10.99.0.1"
COMPUTERS = ("desk-1", "desk-2", "desk-3")
USERS = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy")
#: Comes later.
NEWCOMER = "mallory"
DATA = "/var/lib/iampass-server"
LIST = "/var/lib/iampass/service/users"
AUTHORITY = "/etc/iampass-server/own/authority.pem"
#: What is asked.
LONGEST_SET_UP, LONGEST_CHANGE = 180, 2


class BareHost(Host):
    """A booted Debian with nothing of ours, at an address of its own."""

    def __init__(self, name, address, release):
        super().__init__("", release=release)
        self.name, self.address = name, address

    def __enter__(self):
        self.boot()
        self.path("/etc/hostname").write_text(f"{self.name}\n")
        self.run("hostname", self.name)
        # In place of a name server.
        self.path("/etc/hosts").write_text(f"127.0.0.1 localhost {self.name}\n{SERVICE_ADDRESS} {NAME}\n")
        return self

    def bring_packages(self, *names):
        """As downloaded."""
        self.path("/root/debs").mkdir()
        for name in names:
            for path in pathlib.Path(os.environ["IAMPASS_DEBS"]).glob(f"{name}_*.deb"):
                shutil.copy(path, self.path("/root/debs"))


def connect(service, computers):
    """A switch on the service's machine, with a cable to each computer."""

    def ip(host, *words):
        subprocess.run(["nsenter", f"--target={host.leader}", "--net", "ip", *words], check=True, timeout=30)

    ip(service, "link", "add", "switch", "type", "bridge")
    ip(service, "address", "add", f"{service.address}/24", "dev", "switch")
    ip(service, "link", "set", "switch", "up")
    for number, computer in enumerate(computers):
        ip(service, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", str(computer.leader))
        ip(service, "link", "set", f"port{number}", "master", "switch", "up")
        ip(computer, "address", "add", f"{computer.address}/24", "dev", "eth0")
        ip(computer, "link", "set", "eth0", "up")


class Fleet:
    def __init__(self, service, computers):
        self.service, self.computers = service, computers
        self.commands = {machine.name: 0 for machine in (service, *computers)}

    def type(self, machine, command, timeout=120):
        """Types a command on a machine, and prints it with what it says and how long it took."""
        self.commands[machine.name] += 1
        screen = Screen(f"root@{machine.name}", shorter(command))
        began = time.monotonic()
        child = machine.terminal(command, timeout=timeout, show=lambda text: screen(shorter(text)))
        status = child.finish(timeout)
        screen.close()
        print(f"   ({time.monotonic() - began:.1f} s)", flush=True)
        if status != 0:
            raise Failed(f"{command} ended with {status}")
        return child.screen

    # 1

    def install(self):
        """On all machines at once, as they are several."""
        title("0. the packages, as downloaded")
        running = []
        for machine in (self.service, *self.computers):
            names = " ".join(sorted(path.name.partition("_")[0] for path in machine.path("/root/debs").iterdir()))
            print(f"   root@{machine.name}$ apt install {names}", flush=True)
            # Memory need not be written to a disk.
            running.append(machine.start(
                "sh", "-c", "exec apt-get install -q -y --no-install-recommends -o APT::Sandbox::User=root "
                "-o Dpkg::Options::=--force-unsafe-io /root/debs/*.deb", environment={"DEBIAN_FRONTEND": "noninteractive"},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        for one in running:
            said = one.communicate(timeout=300)[0]
            if one.returncode != 0:
                raise Failed(said)

    def set_up(self):
        title("1. the service, its administrator and ten users")
        said = self.type(self.service, f"iampass-server setup --name {NAME} --administrator zoe --yes")
        self.line = re.search(r"iampassctl (join https://\S+ IJ[12]\S+)", said)[0]
        zoe = next(one for one in links(said) if "/register/" in one)
        note("zoe's and alice's phones, each a command here, open their links:")
        said = self.type(self.service, f"iampass-server user add office {' '.join(USERS)} --data {DATA}")
        found = [one for one in links(said) if "/register/" in one]
        claim(f"a link for each of {len(USERS)} phones", len(found) == len(USERS))
        self.register("zoe", zoe)
        self.register("alice", found[0])

    def register(self, name, link):
        self.service.run("iampass-phone", "register", link, "--state", f"/home/phone/{name}.json", "--ca", AUTHORITY, user="phone")

    def join(self):
        title("2. each computer joins by the line that setup printed")
        for computer in self.computers:
            with self.phone("zoe") as zoe:
                self.commands[computer.name] += 1
                line = f"{self.line} --yes --enable"
                screen = Screen(f"root@{computer.name}", shorter(line))
                began = time.monotonic()
                child = computer.terminal(line, timeout=60, show=lambda text: screen(shorter(text)))
                child.expect(r"digits (\d+)")
                digits = child.match[1]
                zoe.wait_for(computer.name, 20)
                note(f"zoe's phone asks for {computer.name}; zoe types the last two digits of {digits}.")
                zoe.type(digits[-2:])
                status = child.finish(60)
                screen.close()
            print(f"   ({time.monotonic() - began:.1f} s)", flush=True)
            claim(f"{computer.name} has joined, and has {len(USERS)} users", status == 0 and self.users_of(computer) == sorted(USERS))

    def phone(self, name):
        return Phone(self.service, "approve", state=f"/home/phone/{name}.json")

    # 2

    def sign_in(self):
        title("3. alice's phone signs her in on each of them")
        for computer in self.computers:
            with self.phone("alice") as phone:
                screen = Screen(f"alice@{computer.name}", "sudo id -un")
                child = computer.terminal("sudo id -un", user="alice", show=screen, timeout=30)
                child.expect(PUSH_LINE_WITH_CODE)
                phone.type(child.match[1])
                status = child.finish(30)
                screen.close()
            claim("root, without a password", status == 0 and "root" in child.screen and "assword" not in child.screen)

    def named(self):
        """What the computer's journal, its administrator and the service call alice's sign-in."""
        title("4. one name for a sign-in")
        desk = self.computers[0]
        lines = [line for line in desk.journal().splitlines() if "pam_iampass(" in line and "user=alice" in line]
        for line in lines:
            print(f"   | {line}", flush=True)
        claim("the journal has one line of it", len(lines) == 1)
        session, phone = re.search(r"session=(\S+) phone=(\S+)", lines[0]).groups()
        self.type(desk, "iampassctl audit --user alice")
        shown = desk.run("iampassctl", "audit", "--user", "alice", "--json")
        claim("it names session and phone, and iampassctl audit the same session", session in shown and bool(phone))
        told = self.service.run("iampass-server", "audit", "--data", DATA)
        claim("so do the service's audit and log", f"session={session}" in told and session in self.service.journal())

    def users_of(self, computer):
        path = computer.path(LIST)
        lines = path.read_text().splitlines() if path.exists() else []
        return sorted(line.partition(":")[0] for line in lines if line and not line.startswith("#"))

    def change(self, what, command, is_seen):
        """Seconds from the command's end until each computer has the change."""
        self.type(self.service, command)
        ended, seen = time.monotonic(), {}
        while len(seen) < len(self.computers) and time.monotonic() < ended + 20:
            for computer in self.computers:
                if computer.name not in seen and is_seen(self.users_of(computer)):
                    seen[computer.name] = time.monotonic() - ended
            time.sleep(0.01)
        for name, seconds in sorted(seen.items()):
            print(f"   | {name}: {what} after {seconds:.2f} s", flush=True)
        claim(f"{what} on each computer within {LONGEST_CHANGE} s",
              len(seen) == len(self.computers) and max(seen.values()) <= LONGEST_CHANGE)

    def changes(self):
        title("5. a user is added and removed")
        self.change(f"{NEWCOMER} is there", f"iampass-server user add office {NEWCOMER} --data {DATA}", lambda users: NEWCOMER in users)
        self.change(f"{NEWCOMER} is gone", f"iampass-server user remove office {NEWCOMER} --data {DATA}", lambda users: NEWCOMER not in users)


def links(text):
    return re.findall(r"https://\S+", text.replace("\r", ""))


def shorter(text):
    """Without QR codes, and with secrets cut."""
    text = re.sub(r"(IJ[12]\S{6})\S+", r"\1…", text)
    text = re.sub(r"(IRK1\S{6})\S+", r"\1…", text)
    text = re.sub(r"(/(?:register|enter)/\S{6})\S+", r"\1…", text)
    return "".join(line for line in text.splitlines(keepends=True) if not re.search("[▀▄█]", line))


def prepare(service, computers):
    """What is there before: Debian, its users, and the packages as files."""
    service.run("useradd", "--create-home", "phone")
    # The last one is for the phones that are commands here.
    service.bring_packages("iampass-server", "libpam-iampass", "iampass-phone")
    for computer in computers:
        # As Debian's package of sshd leaves it.
        computer.run("bash", "-c", "ssh-keygen -q -A; systemctl start ssh")
        computer.bring_packages("libpam-iampass")
        for user in (*USERS, NEWCOMER):
            computer.run("useradd", "--create-home", "--shell", "/bin/bash", user)
        computer.path("/etc/sudoers.d/demo").write_text("Defaults timestamp_timeout=0\nalice ALL=(ALL) ALL\n")


def play(release):
    with contextlib.ExitStack() as stack:
        machines = []
        for number, name in enumerate(("service", *COMPUTERS), 1):
            machine = BareHost(name, f"10.99.0.{number}", release)
            stack.callback(machine.stop)
            machine.__enter__()
            machines.append(machine)
        service, *computers = machines
        connect(service, computers)
        prepare(service, computers)
        fleet = Fleet(service, computers)
        began = time.monotonic()
        fleet.install()
        installed = time.monotonic()
        fleet.set_up()
        fleet.join()
        ready = time.monotonic()
        on_service, on_computers = fleet.commands["service"], max(fleet.commands[one.name] for one in computers)
        fleet.sign_in()
        fleet.named()
        fleet.changes()
        SignedActs(fleet).play()
        title(f"done, Debian {release}")
        print(f"   packages installed on four machines: {installed - began:.0f} s; one `apt install` on each")
        print(f"   from there to three computers with ten users: {ready - installed:.0f} s")
        print(f"   commands: {on_service} on the service's machine, {on_computers} on each computer")
        claim(f"all of it within {LONGEST_SET_UP} s", ready - began <= LONGEST_SET_UP)


def main():
    release = sys.argv[1]
    print(f"Booting four machines with Debian {release} …", flush=True)
    play_or_exit("demo-fleet", lambda: play(release))


if __name__ == "__main__":
    main()
