"""What `iampass-phone` shows of a sign-in request."""

from server import *


def setUpModule():
    global world
    world = ServerWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()
    world.enroll_alice()


class Request(unittest.TestCase):
    def test_the_six_pairs_have_labels_and_all_others_their_names_in_quotes(self):
        own = {"service": "sudo", "user": "alice", "tty": "pts/1", "remote_host": "192.0.2.7"}
        further = {"from": "10.1.1.1", "Host": "db-server", "time left": "1 h", "held back": "0"}
        lines = world.denied("web-1", {**own, **further})
        shown = lines[lines.index("sign-in request") + 1 : lines.index("denied")]
        rows = [(row[2:16].strip(), row[16:]) for row in shown]
        self.assertEqual(
            rows[:-1],
            [("application", "office"), ("host", "web-1"), ("service", "sudo"), ("user", "alice"), ("terminal", "pts/1"),
             ("from", "192.0.2.7"), ("“Host”", "db-server"), ("“from”", "10.1.1.1"), ("“held back”", "0"),
             ("“time left”", "1 h")])
        self.assertEqual(rows[-1][0], "time left")

    def test_a_name_that_ends_in_a_space_is_not_asked_with(self):
        path = f"/authentication/authenticate_user/{world.application['application_id']}/alice"
        code, _, reply = world.ask("POST", path, {"context": {"host": "web-1", "host ": "db-server"}})
        self.assertEqual((code, reply["reason"]), (400, "BAD_REQUEST"))


if __name__ == "__main__":
    unittest.main()
