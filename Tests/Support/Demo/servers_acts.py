"""The acts of packaging/demo-servers, on a booted host.

usage: servers_acts.py BUILT RELEASE FOLDER

FOLDER has a Debian of that release with PostgreSQL, whose programs the host gets.
"""

import glob
import os
import re
import subprocess
import sys
import time

import pexpect
from Support.Demo.demo_acts import Demo
from Support.Demo.stage import Failed, claim, note, title
from Support.Hosts import testhost
from Support.Hosts.testhost import Phone

NAME, PORT = "iampass.example", 8443
#: The servers' units and their addresses, which the name has both.
SERVERS = {"iampass-a": "127.0.0.1", "iampass-b": "127.0.0.2"}
DATA = "/var/lib/iampass-server"
URL = "postgresql:///postgres?user=iampass&host=/srv/primary,/srv/standby"

#: A certificate for the name, by an authority of its own, and the name in the host.
SET_UP = f"""
set -euo pipefail
systemctl stop iampass-server iampass-helper
cd "$(mktemp -d)"
ec='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
openssl req -x509 $ec -days 2 -subj '/CN=Demo CA' -keyout ca.key -out /etc/iampass/ca.pem
openssl req -new $ec -subj '/CN={NAME}' -keyout tls.key -out tls.csr
printf 'subjectAltName=DNS:{NAME}\\nextendedKeyUsage=serverAuth\\n' >names
openssl x509 -req -in tls.csr -CA /etc/iampass/ca.pem -CAkey ca.key -CAcreateserial -days 2 -out tls.crt -extfile names
install -m 644 tls.crt /etc/iampass-server/cert.pem
install -m 640 -g _iampass-server tls.key /etc/iampass-server/key.pem
printf '%s {NAME}\\n' {" ".join(SERVERS.values())} >>/etc/hosts
sed -i 's|^server = .*|server = https://{NAME}:{PORT}|' /etc/iampass/iampass.conf
sed -i 's|^OPTIONS="|&--public-url https://{NAME}:{PORT} |' /etc/default/iampass-server
systemctl start iampass-server iampass-helper
"""

#: A primary, and a standby that its commits wait for.
DATABASES = """
set -euo pipefail
id postgres >/dev/null 2>&1 || useradd --system postgres
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
run() {
    systemd-run --quiet --unit="postgresql-$1" --uid=postgres "$bin/postgres" -D "/srv/$1/data" -c listen_addresses= \\
        -c "unix_socket_directories=/srv/$1"
    for _ in $(seq 100); do ! as "$bin/pg_isready" -q -h "/srv/$1" || return 0; sleep 0.1; done
    return 1
}
bin=$(echo /usr/lib/postgresql/*/bin)
for name in primary standby; do install -d -o postgres -g postgres "/srv/$name"; done
as "$bin/initdb" -D /srv/primary/data -U iampass --auth=trust --no-locale -E UTF8 >/dev/null
run primary
as "$bin/pg_basebackup" -D /srv/standby/data -d "host=/srv/primary user=iampass" -R -c fast
run standby
for statement in "ALTER SYSTEM SET synchronous_standby_names = '*'" "SELECT pg_reload_conf()"; do
    as "$bin/psql" -q -At -h /srv/primary -U iampass -d postgres -c "$statement" >/dev/null
done
"""


def copy_postgresql(host, origin):
    """PostgreSQL's programs of the same Debian in the folder `origin`, and the libraries that the host lacks."""
    def found(pattern):
        return [path.removeprefix(origin.rstrip("/")) for path in sorted(glob.glob(origin.rstrip("/") + pattern))]

    folders = [*found("/usr/lib/postgresql/*/bin"), *found("/usr/share/postgresql/*"), *found("/usr/share/zoneinfo/Etc")]
    folders += [path for path in found("/usr/lib/postgresql/*/lib/*.so") if "llvm" not in path]
    told = subprocess.run(["chroot", origin, "ldd", *found("/usr/lib/postgresql/*/bin/*")], capture_output=True, text=True,
                          timeout=60, check=False).stdout
    libraries = set(re.findall(r"=> (/\S+)", told))
    # A name leads to a file beside it.
    for name in list(libraries):
        target = os.path.realpath(os.path.join(origin, name.lstrip("/")))
        libraries.add(os.path.join(os.path.dirname(name), os.path.basename(target)))
    folders += [path for path in sorted(libraries) if not host.path(path).exists()]
    packing = subprocess.Popen(["tar", "-C", origin, "-c", *(path.lstrip("/") for path in folders)], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-C", str(host.path("/")), "-x"], stdin=packing.stdout, check=True, timeout=120)
    if packing.wait(60) != 0:
        raise Failed("PostgreSQL could not be copied")


class Servers(Demo):
    def set_up(self, postgresql):
        self.host.run("bash", "-c", SET_UP)
        self.wait_for("127.0.0.1")
        said = self.host.run("iampassctl", "lost-device", "alice")
        link = re.findall(r"https?://\S+", said)[-1]
        self.host.run("iampass-phone", "register", link, "--force", "--state", testhost.PHONE_STATE, "--ca", "/etc/iampass/ca.pem",
                      user="phone")
        copy_postgresql(self.host, postgresql)
        self.host.run("bash", "-c", DATABASES)

    def wait_for(self, address):
        end = time.monotonic() + 60
        while not self.host.run("ss", "-Hltn", f"src {address}:{PORT}"):
            if time.monotonic() > end:
                raise Failed(f"nobody listens on {address}:{PORT}")
            time.sleep(0.1)

    def serve(self, unit):
        self.host.run(
            "systemd-run", "--quiet", f"--unit={unit}", "--uid=_iampass-server", "--property=Restart=always",
            "--property=RestartSec=1", "iampass-server", "serve", "--database", URL, "--listen", f"{SERVERS[unit]}:{PORT}",
            "--tls-cert", "/etc/iampass-server/cert.pem", "--tls-key", "/etc/iampass-server/key.pem", "--public-url",
            f"https://{NAME}:{PORT}")

    def sudo(self):
        """Whether the phone signed alice in, without a password."""
        child, screen = self.terminal("sudo id -un", "alice")
        status = self.finish(child, screen)
        return status == 0 and "root" in child.screen and "assword" not in child.screen

    def moved(self):
        title("1. the running service moves to PostgreSQL")
        with Phone(self.host, "approve", after=1):
            claim("alice signs in before", self.sudo())
        print(f"   root@workstation$ iampass-server database move --from {DATA} --to '{URL}'", flush=True)
        for line in self.host.run("iampass-server", "database", "move", "--from", DATA, "--to", URL).splitlines():
            print(f"   | {line}", flush=True)
        self.host.run("systemctl", "disable", "--now", "--quiet", "iampass-server")
        for unit, address in SERVERS.items():
            self.serve(unit)
            self.wait_for(address)
        with Phone(self.host, "approve", after=1):
            claim("and after, by one of two servers on the new database", self.sudo())

    def killed(self):
        title("2. sign-ins go on while a server is killed")
        with Phone(self.host, "approve", after=1):
            for number, unit in enumerate(list(SERVERS) * 3, 1):
                self.host.run("systemctl", "kill", "--signal=KILL", unit)
                claim(f"{unit} is killed, and alice signs in ({number} of {2 * 3})", self.sudo())
                self.wait_for(SERVERS[unit])

    def promoted(self):
        title("3. the primary is gone, and the standby is promoted")
        note("as after a crash: nothing is written any more.")
        self.host.run("systemctl", "kill", "--signal=KILL", "postgresql-primary")
        child, screen = self.terminal("sudo id -un", "alice")
        self.type_password(child, screen, "alice")
        claim("meanwhile the password works", self.finish(child, screen) == 0)
        note("pg_ctl -D /srv/standby/data promote")
        self.host.run("sh", "-c", "exec /usr/lib/postgresql/*/bin/pg_ctl -D /srv/standby/data -w promote", user="postgres")
        with Phone(self.host, "approve", after=1):
            end = time.monotonic() + 30
            while not (signed_in := self.sudo()) and time.monotonic() < end:
                time.sleep(1)
            claim("alice signs in by the standby", signed_in)
            self.host.run("systemctl", "kill", "--signal=KILL", "iampass-a")
            claim("also while a server is killed", self.sudo())


def main():
    try:
        print("Booting a Debian of our own, with the service, a primary and a standby …", flush=True)
        built, release, postgresql = sys.argv[1:]
        with testhost.Host(built, release=release) as host:
            servers = Servers(host)
            servers.set_up(postgresql)
            version = host.run("sh", "-c", "/usr/lib/postgresql/*/bin/postgres --version").split()[2]
            note(f"Debian {release}, PostgreSQL {version}")
            servers.moved()
            servers.killed()
            servers.promoted()
        title("done")
        print("All three acts went as they must. The host is gone; it lived in memory.")
    except testhost.CannotBoot as refusal:
        sys.exit(f"demo-servers: no host can be booted on this machine: {refusal}")
    except (Failed, pexpect.ExceptionPexpect) as failure:
        sys.exit(f"demo-servers: {str(failure).splitlines()[0]}")


if __name__ == "__main__":
    main()
