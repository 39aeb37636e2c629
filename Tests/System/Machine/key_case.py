"""What tests of security keys share: a virtual machine with a service, a phone and a key of software, and its sign-ins."""

import contextlib
import json
import pathlib
import unittest

from Support.Machine.machine import Machine
from Support.Service.world import MODULE

TOUCH = "Please touch the FIDO authenticator."
ASKED = "Approve the sign-in on your phone"
CHOOSE_LINE = "Press Enter alone to approve on your phone"
#: A pattern: a terminal ends a line by more than one character.
CHOOSE = CHOOSE_LINE + r"\s+Password: "
GREETER = "Password, or Enter for phone: "
UNREACHABLE = "server not reachable"
PROJECT = pathlib.Path(__file__).resolve().parents[3]
PROFILES = PROJECT / "packaging" / "pam-configs"
KEYS = "/etc/iampass/security-keys"
SERVICES = "sudo,login,sshd,greetd"


class KeyMachine(Machine):
    """With a service, alice, her phone and her key; bob has a password alone."""

    def set_up(self):
        for name in ("iampass-https", "iampass-server", "iampass-phone"):
            self.give(name)
        self.put("pam_iampass.so", pathlib.Path(MODULE))
        for name in ("iampass", "iampass-session"):
            self.put(f"{name}.profile", PROFILES / name)
        for name in ("security_key.py", "sudo.py", "guest_terminal.py"):
            self.put(name, PROJECT / "Tests" / "Support" / "Machine" / name)
        self.put("greetd_greeter.py", PROJECT / "Tests" / "System" / "Host" / "greetd_greeter.py")
        self.run(r"""
            set -e
            mkdir -p /usr/lib/swift-tests /usr/libexec/iampass /etc/iampass
            cp -r /share/lib/. /usr/lib/swift-tests
            echo /usr/lib/swift-tests >/etc/ld.so.conf.d/swift-tests.conf
            ldconfig
            install -m 755 /share/bin/iampassctl /usr/sbin
            install -m 711 /share/bin/iampass-https /usr/libexec/iampass
            install -m 644 /share/pam_iampass.so /usr/lib/x86_64-linux-gnu/security
            for name in iampass iampass-session; do
                install -m 644 /share/$name.profile /usr/share/pam-configs/$name
            done
            useradd --system --shell /usr/sbin/nologin _iampass
            for name in alice bob; do
                id -u $name >/dev/null 2>&1 || useradd --create-home $name
                echo "$name ALL=(ALL) ALL" >>/etc/sudoers
                echo "$name:sesame" | chpasswd
            done
            modprobe uhid hid_generic
            cd /root
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 9 \
                -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
            install -m 644 cert.pem /etc/iampass/ca.pem
            mkdir -m 700 data
            /share/bin/iampass-server application create tests --data data --match-code off >/etc/iampass/credentials
            chmod 600 /etc/iampass/credentials
            printf '%s\n' 'server = https://localhost:8443' 'ca_file = /etc/iampass/ca.pem' \
                'services = sudo sudo-i login sshd greetd' 'session_duration = 1h' >/etc/iampass/iampass.conf
        """)
        self.serve()
        self.run(r"""
            set -e
            iampassctl user add alice
            link=$(iampassctl enroll alice --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["register_url"])')
            /share/bin/iampass-phone register "$link" --state /root/phone --ca /etc/iampass/ca.pem
        """)

    def put(self, name, source):
        (self.share / name).write_bytes(source.read_bytes())

    def serve(self):
        self.run("""
            systemd-run --quiet --collect --unit=service --working-directory=/root --setenv=LD_LIBRARY_PATH=/usr/lib/swift-tests \
                /share/bin/iampass-server serve --data data --listen 127.0.0.1:8443 --tls-cert cert.pem --tls-key key.pem
            for ((turn = 0; turn < 300; turn++)); do
                (exec 3<>/dev/tcp/127.0.0.1/8443) 2>/dev/null && exit 0
                sleep 0.2
            done
            exit 1
        """)

    @contextlib.contextmanager
    def service_down(self):
        self.run("systemctl stop service")
        try:
            yield
        finally:
            self.serve()

    @contextlib.contextmanager
    def interface_down(self):
        """The machine has no other one."""
        self.run("ip link set lo down")
        try:
            yield
        finally:
            self.run("ip link set lo up")

    def plug(self, secret, finger="touched"):
        self.run(f"""
            systemd-run --quiet --collect --unit=key python3 /share/security_key.py {secret} {finger}
            for ((turn = 0; turn < 300; turn++)); do compgen -G '/dev/hidraw*' >/dev/null && exit 0; sleep 0.1; done
            exit 1
        """)

    def unplug(self):
        self.run("systemctl stop key 2>/dev/null; sleep 0.3")

    def phone(self, answer):
        self.run(f"""
            systemctl stop phone 2>/dev/null
            systemd-run --quiet --collect --unit=phone --setenv=LD_LIBRARY_PATH=/usr/lib/swift-tests \
                /share/bin/iampass-phone watch --state /root/phone --answer {answer}
        """)

    def sudo(self, user, *typed, command="sudo -k id -un"):
        """Exit status and screen."""
        status, screen = json.loads(self.run(f"python3 /share/sudo.py {user} '{command}' {' '.join(typed)}"))
        return status, screen

    def open_ways(self):
        """sshd and greetd, with a session of their own."""
        self.run(r"""
            set -e
            mkdir -p /run/sshd /var/lib/test-greeter
            chmod 777 /var/lib/test-greeter
            mkfifo -m 666 /var/lib/test-greeter/typed
            install -m 755 /share/greetd_greeter.py /usr/local/bin/test-greeter
            printf '#!/bin/sh\nexec sleep 1000\n' >/usr/local/bin/test-desktop
            chmod 755 /usr/local/bin/test-desktop
            printf '%s\n' '[terminal]' 'vt = "none"' '[default_session]' 'command = "/usr/local/bin/test-greeter"' \
                'user = "_greetd"' >/etc/greetd/config.toml
            rm /etc/systemd/system/greetd.service
            systemctl daemon-reload
            systemd-run --quiet --collect --unit=tested-sshd /usr/sbin/sshd -D
        """)

    def enable(self, place):
        """sshd reads its settings again."""
        self.run(f"iampassctl enable --services {SERVICES} --sshd {place} --force && systemctl kill --signal=HUP tested-sshd")

    def at_terminal(self, command, *pairs):
        """Exit status and screen of a command at a terminal, which gets each line at its prompt: a pattern, a line, …"""
        (self.share / "terminal.json").write_text(json.dumps([command, pairs]))
        return json.loads(self.run("python3 /share/guest_terminal.py /share/terminal.json"))

    def login(self, user, *pairs):
        """`login` on a terminal, with a session of none, as a getty starts it."""
        return self.at_terminal(
            "systemd-run --quiet --pty --collect --wait --service-type=exec login", ("login: ", user), *pairs)

    def ssh(self, user, *pairs):
        command = f"ssh -tt -o PreferredAuthentications=keyboard-interactive -o StrictHostKeyChecking=no {user}@localhost"
        return self.at_terminal(command, *pairs)

    def greet(self, user, *answers):
        """What a greeter of greetd's shows, up to the end of one sign-in."""
        lines = "\n".join(f"answer {text}" for text in answers)
        return self.run(f"""
            cd /var/lib/test-greeter
            wait_for() {{
                for ((turn = 0; turn < 450; turn++)); do (($(grep -cE "$1" said) >= $2)) && return; sleep 0.1; done
                cat said
                exit 1
            }}
            systemctl stop greetd
            loginctl terminate-user {user} 2>/dev/null
            install -m 666 /dev/null said
            systemctl start greetd
            wait_for ready 1
            echo 'user {user}' >typed
            count=0
            while read -r line; do
                [[ $line ]] || continue
                wait_for ^prompt $((++count))
                echo "$line" >typed
            done <<'END'
{lines}
END
            wait_for '^refused|^signed in' 1
            systemctl stop greetd
            cat said
        """)


class KeyCase(unittest.TestCase):
    """`machine` is the module's."""

    machine = None

    def setUp(self):
        self.addCleanup(self.machine.unplug)

    def assert_in(self, ended, user="root"):
        self.assertEqual(ended[0], 0, ended[1])
        self.assertRegex(ended[1], rf"(?m)^{user}\r?$")
        return ended[1]

    def assert_out(self, ended, user="root"):
        self.assertNotEqual(ended[0], 0, ended[1])
        self.assertNotRegex(ended[1], rf"(?m)^{user}\r?$")
        return ended[1]
