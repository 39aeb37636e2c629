"""The acts of packaging/try-automation, on booted hosts: the manual's recipes of debconf, cloud-init and Ansible, and
recovery codes for several computers in one step.

usage: automation_acts.py RELEASE    with the packages in the folder that IAMPASS_DEBS names
"""

import contextlib
import pathlib
import re
import subprocess
import sys

from Support.Demo.fleet_acts import AUTHORITY, DATA, LIST, NAME, BareHost, connect, links, shorter
from Support.Demo.stage import Failed, claim, note, play_or_exit, title
from Support.Hosts.testhost import Phone

MANUAL = pathlib.Path(__file__).resolve().parents[3] / "packaging" / "man" / "iampassctl.1"
INSTALL = ("apt-get", "install", "-q", "-y", "--no-install-recommends", "-o", "APT::Sandbox::User=root", "-o",
           "Dpkg::Options::=--force-unsafe-io")  # fmt: skip
#: Whichever this release's cloud-init has, in their order.
CLOUD_UNITS = ("cloud-init-main", "cloud-init-local", "cloud-init", "cloud-init-network", "cloud-config", "cloud-final")
#: For Ansible on the service's machine.
ANSIBLE = {"ANSIBLE_HOST_KEY_CHECKING": "False", "LC_ALL": "C.UTF-8", "ANSIBLE_PYTHON_INTERPRETER": "/usr/bin/python3"}
ANSIBLE_LOG = "/root/ansible.log"
CODE = r"\b[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}\b"
PLAYBOOK = "- hosts: all\n  gather_facts: false\n  tasks:\n"


def recipes():
    """The manual's three, in its order."""
    section = re.search(r'^\.SH AUTOMATION\n(.*?)^\.SH ', MANUAL.read_text(), re.MULTILINE | re.DOTALL)[1]
    blocks = re.findall(r"^\.nf\n\.RS 4\n(.*?)^\.RE\n\.fi", section, re.MULTILINE | re.DOTALL)
    plain = [text.replace(r"\-", "-").replace(r"\e", "\\") for text in blocks]
    debconf, = (text for text in plain if "debconf-set-selections" in text)
    cloud, = (text for text in plain if text.startswith("#cloud-config"))
    ansible, = (text for text in plain if "ansible.builtin" in text)
    return debconf, cloud, ansible


def collecting(name):
    """The manual's command for recovery codes by a tool of this name, in one line."""
    section = re.search(r'^\.SS "recovery collect"\n(.*?)^\.SS ', MANUAL.read_text(), re.MULTILINE | re.DOTALL)[1]
    blocks = [re.sub(r"\\f[BR]|^\$ ", "", text) for text in re.findall(r"^\.EX\n(.*?)^\.EE", section, re.MULTILINE | re.DOTALL)]
    command, = (text for text in blocks if f" {name} " in text)
    return re.sub(r"\s*\\\n\s*", " ", command.replace(r"\-", "-").replace(r"\e", "\\")).strip()


def install_debians(machine, *names):
    """Debian's own packages: through this machine's network, into the host."""
    words = ["nsenter", f"--target={machine.leader}", "--mount", "--pid", "--wdns=/", "--", "env", "-i",
             "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"]  # fmt: skip
    for command in (("apt-get", "update", "-q"), (*INSTALL, *names)):
        done = subprocess.run([*words, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.stdout[-800:]}{done.stderr[-800:]}")


def install_ours(machine):
    return machine.run("sh", "-c", f"DEBIAN_FRONTEND=noninteractive {' '.join(INSTALL)} /root/debs/*.deb", timeout=400)


class Automation:
    def __init__(self, service, computers):
        self.service = service
        self.by_debconf, self.by_cloud, self.by_ansible = computers
        self.debconf, self.cloud, self.ansible = recipes()

    def show(self, machine, text):
        for line in text.rstrip().splitlines():
            print(f"   {machine.name} | {shorter(line)}", flush=True)

    def set_up(self):
        title("the service, whose administrator's phone signs the list of users, and a code for unattended joins")
        install_ours(self.service)
        self.service.run("useradd", "--create-home", "phone")
        said = self.service.run("iampass-server", "setup", "--name", NAME, "--administrator", "zoe", "--yes")
        link = next(one for one in links(said) if "/register/" in one)
        self.service.run("iampass-phone", "register", link, "--state", "/home/phone/zoe.json", "--ca", AUTHORITY, user="phone")
        self.command("administrator", "start-signing")
        self.command("user", "add", "office", "alice", "--no-link")
        with Phone(self.service, "approve", state="/home/phone/zoe.json", signs=True):
            self.show(self.service, self.command("user", "sign", "office"))
        self.code = self.command("join-code", "create", "office", "--uses", "3", "--unattended").split()[-1]
        claim("the code names the administrators whose phones sign", self.code.startswith("IJ2"))

    def command(self, *words):
        return self.service.run("iampass-server", *words, "--data", DATA)

    def filled(self, recipe):
        return re.sub(r"\bCODE\b", self.code, recipe)

    def has_joined(self, machine, is_on):
        host = machine.path("/etc/iampass/credentials")
        users = machine.path(LIST)
        claim("it has a credential of its own, and the service's users",
              host.exists() and users.exists() and "\nalice:" in "\n" + users.read_text())
        checked = machine.run("iampassctl", "check", check=False)
        claim("it takes only what zoe signs, and believes phones alone", "counts if zoe signs it (set 1); version" in checked
              and "approvals = verified" in machine.path("/etc/iampass/iampass.conf").read_text())
        asks = "pam_iampass" in machine.path("/etc/pam.d/common-auth").read_text()
        claim("sign-ins ask the phone" if is_on else "sign-ins do not ask the phone yet", asks == is_on)

    def debconf_joins(self):
        title("debconf: preseeded, then installed")
        command = self.filled(re.sub(r"^# ", "", self.debconf))
        self.show(self.by_debconf, self.debconf)
        self.by_debconf.run("sh", "-c", command)
        found = "grep -rlF -e \"$1\" /var/cache/debconf /var/lib/dpkg /var/log /etc/iampass 2>/dev/null"
        claim("debconf has the code, as root alone can read", self.by_debconf.run("sh", "-c", found, "-", self.code, check=False).split()
              == ["/var/cache/debconf/passwords.dat"])
        said = install_ours(self.by_debconf)
        self.show(self.by_debconf, "\n".join(line for line in said.splitlines() if "joined" in line or "lists" in line))
        self.has_joined(self.by_debconf, is_on=False)
        claim("no file has the code any more", not self.by_debconf.run("sh", "-c", found, "-", self.code, check=False))

    def cloud_init_joins(self):
        title("cloud-init: user data of a NoCloud seed, by Debian's units")
        machine = self.by_cloud
        install_ours(machine)
        install_debians(machine, "cloud-init")
        seed = machine.path("/var/lib/cloud/seed/nocloud")
        seed.mkdir(parents=True)
        (seed / "meta-data").write_text(f"instance-id: one\nlocal-hostname: {machine.name}\n")
        self.show(machine, self.cloud)
        (seed / "user-data").touch(mode=0o600)
        (seed / "user-data").write_text(self.filled(self.cloud))
        # The network is there already.
        machine.path("/etc/cloud/cloud.cfg.d/99-seed.cfg").write_text("datasource_list: [NoCloud]\nnetwork: {config: disabled}\n")
        machine.run("systemctl", "daemon-reload")
        for unit in CLOUD_UNITS:
            if machine.run("systemctl", "list-unit-files", "--no-legend", f"{unit}.service", check=False).strip():
                # One of its modules may fail on a host that is not a cloud; the next unit runs all the same.
                machine.run("systemctl", "start", f"{unit}.service", timeout=180, check=False)
        self.show(machine, machine.run("cloud-init", "--version") + machine.run("cloud-init", "status", check=False))
        log = machine.path("/var/log/cloud-init-output.log").read_text()
        self.show(machine, "\n".join(line for line in log.splitlines() if "joined" in line or "lists" in line))
        self.has_joined(machine, is_on=True)
        kept = machine.run("grep", "-rlF", self.code, "/var/lib/cloud", check=False).split()
        modes = {machine.path(path).stat().st_mode & 0o077 for path in kept if not machine.path(path).is_symlink()}
        claim("cloud-init keeps the code where root alone reads it, as the manual says", bool(kept) and modes <= {0})

    def ansible_joins(self):
        title("Ansible: over ssh from the service's machine")
        machine = self.by_ansible
        install_ours(machine)
        install_debians(self.service, "ansible-core")
        self.service.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id_ed25519")
        self.let_in(machine)
        self.show(self.service, self.ansible)
        indented = "".join(f"    {line}\n" for line in self.ansible.splitlines())
        self.service.path("/root/join.yml").write_text(PLAYBOOK + indented)
        self.service.path("/root/code.yml").write_text(f"join_code: {self.code}\n")
        self.service.path("/root/code.yml").chmod(0o600)
        said = [self.play_book(machine) for _ in range(2)]
        self.show(self.service, "\n".join(re.search(r"^.*ok=.*$", text, re.MULTILINE)[0] for text in said))
        claim("the first run changes one thing, and the second run nothing", "changed=1" in said[0] and "changed=0" in said[1])
        claim("Ansible did not print the code", self.code not in "".join(said))
        self.has_joined(machine, is_on=True)

    def play_book(self, machine):
        return self.service.run(
            "ansible-playbook", "-i", f"{machine.address},", "-u", "root", "-e", "@/root/code.yml", "/root/join.yml", timeout=300,
            environment=ANSIBLE)

    def let_in(self, machine):
        """Root of the service's machine, by ssh."""
        machine.path("/root/.ssh").mkdir(mode=0o700, exist_ok=True)
        machine.path("/root/.ssh/authorized_keys").write_text(self.service.path("/root/.ssh/id_ed25519.pub").read_text())
        machine.run("ssh-keygen", "-q", "-A")
        machine.run("systemctl", "restart", "ssh")

    def codes_come(self):
        title("recovery codes of three computers in one step: by Ansible, by ssh, and with a computer away")
        computers = {machine.name: machine for machine in (self.by_debconf, self.by_cloud, self.by_ansible)}
        for machine in computers.values():
            if machine is not self.by_ansible:
                self.let_in(machine)
            machine.run("useradd", "--create-home", "alice")
        lines = [f"{name} ansible_host={machine.address} ansible_user=root\n" for name, machine in computers.items()]
        self.service.path("/etc/ansible").mkdir(exist_ok=True)
        self.service.path("/etc/ansible/hosts").write_text("[desks]\n" + "".join(lines))
        with self.service.path("/etc/hosts").open("a") as hosts:
            hosts.writelines(f"{machine.address} {name}\n" for name, machine in computers.items())
        earlier = self.collect("ansible", computers)
        log = self.service.path(ANSIBLE_LOG).read_text()
        claim("Ansible's log has sealed texts and no code", log.count("iampass-codes-1.") >= 3 and not re.search(CODE, log))
        self.sign_in_by_code(self.by_ansible, earlier["by-ansible"][0])
        codes = self.collect("ssh", computers)
        claim("they are other codes", not {*sum(earlier.values(), [])} & {*sum(codes.values(), [])})
        self.by_cloud.run("sh", "-c", "systemctl stop ssh ssh.socket")
        some = self.collect("ansible", computers, away="by-cloud-init")
        claim("the computer that is away has its codes as before", "10 of 10" in self.by_cloud.run("iampassctl", "recovery", "list"))
        self.sign_in_by_code(self.by_ansible, some["by-ansible"][-1])

    def collect(self, tool, computers, away=None):
        """By the manual's command, at a terminal; the codes of each computer."""
        command = collecting(tool).replace("desk-1,desk-2", ",".join(computers)).replace("desk-1 desk-2", " ".join(computers))
        print(f"   root@{self.service.name}$ {shorter(command)}", flush=True)
        # A connection that is kept would reach a computer that is away.
        environment = {**ANSIBLE, "ANSIBLE_LOG_PATH": ANSIBLE_LOG, "ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}
        options = "StrictHostKeyChecking accept-new\nConnectTimeout 10\n"
        self.service.path("/root/.ssh/config").write_text(options)
        child = self.service.terminal(command, environment=environment, timeout=180)
        status = child.finish(180)
        found, codes = {}, []
        for line in child.screen.splitlines():
            if named := re.fullmatch(r"([\w-]+): alice", line):
                codes = found[named[1]] = []
            codes += re.findall(CODE, line)
        self.show(self.service, "\n".join(line for line in child.screen.splitlines() if not re.search(CODE, line)))
        here = [name for name in computers if name != away]
        claim(f"ten codes came from each of {', '.join(here)}", sorted(found) == sorted(here) and all(
            len(set(one)) == 10 for one in found.values()))
        if away:
            claim(f"{away} is named", status != 0 and f"no codes came from {away}" in child.screen)
        else:
            claim("it ended well", status == 0)
        return found

    def sign_in_by_code(self, machine, code):
        configuration = machine.path("/etc/iampass/iampass.conf")
        if "methods_offline" not in configuration.read_text():
            configuration.write_text(configuration.read_text() + "methods_offline = recovery\n")
            machine.path("/etc/sudoers.d/alice").write_text("alice ALL=(ALL) ALL\n")
        child = machine.terminal("sudo --reset-timestamp id -un", user="alice")
        child.expect("ecovery code[^\n]*: ")
        child.sendline(code)
        status = child.finish()
        self.show(machine, child.screen)
        claim("a code of these signs alice in to sudo there", status == 0 and re.search(r"(?m)^root$", child.screen))

    def look_back(self):
        title("the service")
        listed = self.command("join-code", "list")
        self.show(self.service, listed)
        names = [machine.name for machine in (self.by_debconf, self.by_cloud, self.by_ansible)]
        claim("the list of codes names the three", all(re.search(rf"^  {name}  joined", listed, re.MULTILINE) for name in names))


def play(release):
    with contextlib.ExitStack() as stack:
        machines = []
        for number, name in enumerate(("service", "by-debconf", "by-cloud-init", "by-ansible"), 1):
            machine = BareHost(name, f"10.99.0.{number}", release)
            stack.callback(machine.stop)
            machine.__enter__()
            machines.append(machine)
        service, *computers = machines
        connect(service, computers)
        service.bring_packages("iampass-server", "libpam-iampass", "iampass-phone")
        for computer in computers:
            computer.bring_packages("libpam-iampass")
        automation = Automation(service, computers)
        automation.set_up()
        automation.debconf_joins()
        automation.ansible_joins()
        automation.cloud_init_joins()
        automation.look_back()
        automation.codes_come()
        title(f"done, Debian {release}")
        note("the recipes are those of iampassctl(1).")


def main():
    release = sys.argv[1]
    print(f"Booting four machines with Debian {release} …", flush=True)
    play_or_exit("try-automation", lambda: play(release))


if __name__ == "__main__":
    main()
