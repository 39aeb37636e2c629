"""Two servers of the service on a PostgreSQL server at which something goes wrong."""

import contextlib
import subprocess

from Support.Hosts import signed_requests
from Support.Service.two_servers import TwoServers
from Support.Service.world import PATIENCE

#: Seconds after which every request has an answer while the database hangs: see PostgreSQLStorage.
GREATEST_WAIT = 30


class FaultyWorld(TwoServers):
    def adds(self, name, number=0):
        """The code of a request that adds a user; 0 if there was no answer."""
        path = f"/management/add_users/{self.application['application_id']}"
        address = self.servers[number][1]
        body = b'{"users": ["%s"]}' % name.encode()
        keys = (self.application["application_id"], self.application["application_secret"])
        headers = signed_requests.headers(*keys, address + path)
        try:
            return self.get(path, "POST", body, {**headers, "Content-Type": "application/json"}, address=address)[0]
        except OSError:
            return 0

    @contextlib.contextmanager
    def sql_goes_on(self, text):
        """A transaction of the administrator's that has said `text` and does not end before the `with` block does. Gives what
        asks further in it, and returns the answer's lines."""
        asking = subprocess.Popen(
            ["psql", "-X", "-A", "-t", "-q", self.postgresql.url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def ask(text):
            asking.stdin.write(f"{text}; SELECT 'said';\n")
            asking.stdin.flush()
            lines = []
            while (line := asking.stdout.readline()) != "said\n":
                assert line, "the database's administrator was sent away"
                lines.append(line)
            return lines

        try:
            ask(f"BEGIN; {text}")
            yield ask
        finally:
            asking.communicate("ROLLBACK;\n", timeout=PATIENCE)

    def users(self):
        return set(self.postgresql.sql("SELECT name FROM app_user"))
