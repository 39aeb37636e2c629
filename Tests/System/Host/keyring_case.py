"""What tests of GNOME's keyring share: whether it is open, and which password is kept for it."""

from desktop_case import RUNTIME

SETTING = "keyring = sealed\n"
LOCKED = (
    "gdbus", "call", "--session", "--dest", "org.freedesktop.secrets", "--object-path",
    "/org/freedesktop/secrets/collection/login", "--method", "org.freedesktop.DBus.Properties.Get",
    "org.freedesktop.Secret.Collection", "Locked")


class KeyringCase:
    """Beside a test case with a host."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.host.run, "pkill", "-KILL", "-x", "gnome-keyring-d", check=False)
        self.host.run("iampassctl", "keyring", "forget", "alice")
        self.assertEqual(self.kept(), [])

    def is_locked(self):
        words = ("(<true>,)", "(<false>,)")
        bus = {"XDG_RUNTIME_DIR": RUNTIME, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={RUNTIME}/bus"}
        said = []

        def look():
            said[:] = [self.host.run(*LOCKED, user="alice", environment=bus, timeout=60, check=False).strip()]
            return said[0] in words

        self.assert_eventually("there is no keyring", look)
        return said[0] == words[0]

    def kept(self):
        return self.host.run("sh", "-c", "ls /var/lib/iampass/keyring 2>/dev/null", check=False).split()

    def assert_sealed(self):
        self.assert_eventually("it is not sealed", lambda: self.kept() == ["1000.host"])
