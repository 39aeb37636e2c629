"""A PostgreSQL server of Debian's package for the tests: at a Unix socket only, and not as root."""

import os
import subprocess

from Support.Service.world import PATIENCE

#: Runs PostgreSQL's programs as their user.
AS_POSTGRES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../LocalPostgreSQL/as-postgres")


class PostgreSQL:
    """Made in a folder of its own below `folder`, and running."""

    def __init__(self, folder, name="postgresql", primary=None):
        """`primary`: of which this one is a standby. Commits then wait for it."""
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)
        os.chmod(folder, 0o711)
        self.world = folder
        self.own(self.folder)
        self.data = os.path.join(self.folder, "data")
        if primary:
            self.do("pg_basebackup", "-D", self.data, "-d", primary.url, "-R", "-c", "fast", "--no-sync")
        else:
            self.do("initdb", "-D", self.data, "-U", "iampass", "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8")
        with open(os.path.join(self.data, "postgresql.conf"), "a", encoding="utf-8") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n")
        self.start()
        self.url = f"postgresql:///postgres?user=iampass&host={self.folder}"
        if primary:
            primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.sql("SELECT pg_reload_conf()")

    def own(self, path):
        """Gives a file or folder to the user that the server runs as."""
        self.do("--own", path)

    def do(self, program, *words):
        subprocess.run(
            [AS_POSTGRES, self.world, program, *words], cwd=self.folder, check=True, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def start(self):
        self.do("pg_ctl", "-D", self.data, "-w", "-l", os.path.join(self.folder, "log"), "start")

    def stop(self, how="fast"):
        """`immediate`: as after a crash."""
        self.do("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def promote(self):
        self.do("pg_ctl", "-D", self.data, "-w", "promote")

    def sql(self, text):
        """The answer's lines, as the administrator of the database asks."""
        asked = subprocess.run(
            ["psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", self.url, "-c", text], check=True,
            timeout=PATIENCE, capture_output=True, text=True)
        return asked.stdout.splitlines()

    def set(self, **settings):
        """Changes settings of the running server that need no restart."""
        for name, value in settings.items():
            self.sql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.sql("SELECT pg_reload_conf()")
