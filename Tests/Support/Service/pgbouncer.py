"""PgBouncer of Debian's package before a PostgreSQL server of the tests: at a Unix socket only, and not as root."""

import os
import pwd
import shutil

from Support.Service import ports

USER = "postgres"


class PgBouncer:
    """Running, in a folder of its own below `world.folder`, until the world is closed."""

    def __init__(self, world, postgresql, mode, **settings):
        """`mode`: session, transaction or statement."""
        self.folder = world.path(f"pgbouncer-{mode}-{len(settings)}")
        os.makedirs(self.folder)
        port = ports.take()
        lines = {
            "listen_port": port, "unix_socket_dir": self.folder, "pool_mode": mode, "auth_type": "trust", "default_pool_size": 40,
            "auth_file": self.write("users", '"iampass" ""\n'), **settings}  # fmt: skip
        options = "".join(f"{name} = {value}\n" for name, value in lines.items())
        file = self.write(
            "pgbouncer.ini", f"[databases]\npostgres = host={postgresql.folder} dbname=postgres\n[pgbouncer]\n{options}")
        owner = pwd.getpwnam(USER)
        for path in (self.folder, file, lines["auth_file"]):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        program = shutil.which("pgbouncer", path="/usr/sbin:" + os.environ["PATH"])
        assert program, "packaging/install-needs"
        self.process = world.start("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", program, file)
        self.process.wait_for("process up")
        self.url = f"postgresql:///postgres?user=iampass&host={self.folder}&port={port}"

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path
