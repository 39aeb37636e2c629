"""What must be right before the service uses a PostgreSQL server: its certificate, a password, and a role's rights."""

import json
import os
import subprocess
import unittest

from Support.Service import ports
from Support.Service.postgresql import PostgreSQL
from Support.Service.server import CONFIG, UNAVAILABLE, ServerWorld, until
from Support.Service.world import PATIENCE, program, run

PASSWORD = "geheim-7f3a"


class Database(ServerWorld):
    """A PostgreSQL server at a port of 127.0.0.1, with TLS and a password."""

    def begin(self):
        self.port = ports.take()
        self.authority("authority")
        self.authority("stranger")
        self.postgresql = PostgreSQL(self.folder)
        self.show("good", "DNS:localhost", 2)
        self.show("other", "DNS:db.example.org", 2)
        self.show("expired", "DNS:localhost", -1)
        with open(os.path.join(self.postgresql.data, "pg_hba.conf"), "w", encoding="utf-8") as rules:
            rules.write("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        for setting, value in (("listen_addresses", "127.0.0.1"), ("port", self.port), ("ssl_cert_file", "good.crt"),
                               ("ssl_key_file", "good.key"), ("ssl", "on")):  # fmt: skip
            self.postgresql.sql(f"ALTER SYSTEM SET {setting} = '{value}'")
        self.postgresql.stop()
        self.postgresql.start()
        self.postgresql.url += f"&port={self.port}"
        self.postgresql.sql(f"ALTER ROLE iampass PASSWORD '{PASSWORD}'")
        self.postgresql.sql(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")

    def authority(self, name):
        run(*"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2".split(),
            "-subj", f"/CN={name}", "-keyout", self.path(name + ".key"), "-out", self.path(name + ".crt"))  # fmt: skip

    def show(self, name, names, days):
        """Makes a certificate of the authority's, in the database's folder."""
        key, asked, made = (os.path.join(self.postgresql.data, name + end) for end in (".key", ".csr", ".crt"))
        run(*"openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=db".split(),
            "-addext", "subjectAltName=" + names, "-keyout", key, "-out", asked)  # fmt: skip
        run("openssl", "x509", "-req", "-in", asked, "-copy_extensions", "copy", "-days", str(days), "-out", made,
            "-CA", self.path("authority.crt"), "-CAkey", self.path("authority.key"))  # fmt: skip
        for path in (key, made):
            os.chmod(path, 0o600)
            self.postgresql.own(path)

    def showing(self, name):
        """Each new connection to the database's server sees this certificate from now on."""
        self.postgresql.set(ssl_cert_file=name + ".crt", ssl_key_file=name + ".key")
        address = ["openssl", "s_client", "-starttls", "postgres", "-connect", f"127.0.0.1:{self.port}", "-showcerts"]
        with open(os.path.join(self.postgresql.data, name + ".crt"), encoding="utf-8") as file:
            wanted = file.read().strip()
        until(lambda: wanted in subprocess.run(address, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                               timeout=PATIENCE).stdout, "the new certificate")  # fmt: skip

    def using(self, *words, **place):
        """A command by TLS; without words, one that makes tables."""
        words, options = self.by_tls(*(words or ("database", "migrate")), **place)
        return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, **options)

    def by_tls(self, *words, role="iampass", password=PASSWORD, authority="authority", database="postgres"):
        """How a command is run as that role."""
        self.write("pgpass", f"*:*:*:*:{password}\n")
        place = f"localhost:{self.port}/{database}?hostaddr=127.0.0.1"
        url = f"postgresql://{role}@{place}&sslrootcert={self.path(authority)}.crt"
        return (
            [program("iampass-server"), *words, "--database", url],
            {"env": {**os.environ, "PGPASSFILE": self.path("pgpass")}})  # fmt: skip

    def close(self):
        self.postgresql.stop("immediate")
        super().close()


def setUpModule():
    global world
    world = Database()
    unittest.addModuleCleanup(world.close)
    world.begin()


class Access(unittest.TestCase):
    def refused(self, said, *words):
        self.assertEqual(said.returncode, UNAVAILABLE, said.stdout + said.stderr)
        for word in words:
            self.assertIn(word, said.stderr)
        self.assertEqual(said.stdout, "")
        self.assertNotIn(PASSWORD, said.stderr)

    def test_a_wrong_password_is_refused_and_not_shown(self):
        said = world.using(password="falsch-91c2")
        self.refused(said, "password authentication failed")
        self.assertNotIn("falsch-91c2", said.stderr)

    def test_a_role_without_rights_changes_nothing(self):
        self.refused(world.using(role="guest"), "permission denied")
        self.assertEqual(world.postgresql.sql("SELECT 1 FROM pg_tables WHERE tableowner = 'guest'"), [])

    def test_a_server_whose_authority_the_service_does_not_trust_is_refused(self):
        self.refused(world.using(authority="stranger"), "certificate verify failed")

    def test_a_certificate_of_another_name_is_refused(self):
        world.showing("other")
        try:
            self.refused(world.using(), "does not match host name")
        finally:
            world.showing("good")

    def test_an_expired_certificate_is_refused(self):
        world.showing("expired")
        try:
            # libpq does not say why: the right one of this authority is taken.
            self.refused(world.using(), "certificate verify failed")
        finally:
            world.showing("good")

    def test_a_role_needs_to_see_where_the_history_is_written(self):
        database = world.postgresql
        database.sql(f"CREATE ROLE plain LOGIN PASSWORD '{PASSWORD}'")
        database.sql("CREATE DATABASE plain OWNER plain")
        place = {"role": "plain", "database": "plain"}
        serve = ("serve", "--listen", "127.0.0.1:0", "--tls-cert", os.path.join(database.data, "good.crt"), "--tls-key",
                 os.path.join(database.data, "good.key"))  # fmt: skip

        def administer(text):
            url = database.url.replace("/postgres?", "/plain?")
            subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", url, "-c", text], check=True, timeout=PATIENCE)

        administer("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        said = world.using(*serve, **place)
        self.assertEqual(said.returncode, CONFIG, said.stderr)
        self.assertIn("does not say whether it was promoted or put back: ", said.stderr)
        self.assertIn("permission denied for function pg_control_system", said.stderr)
        self.assertIn("hint: GRANT EXECUTE ON FUNCTION pg_control_system()", said.stderr)
        # As the manual has it.
        administer("GRANT EXECUTE ON FUNCTION pg_control_system(), pg_current_wal_lsn(), pg_walfile_name(pg_lsn) TO plain")
        words, options = world.by_tls(*serve, **place)
        server = world.start(*words, **options)
        server.wait_for("listening on https")
        server.stop()

    def test_a_right_certificate_and_password_are_taken(self):
        said = world.using()
        self.assertEqual(said.returncode, 0, said.stderr)
        said = world.using("application", "create", "office", "--json")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("application_id", json.loads(said.stdout))


if __name__ == "__main__":
    unittest.main()
