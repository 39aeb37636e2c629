"""Records the demo's first act, sudo approved on the phone, for draw_picture.py.

usage: record_picture.py BUILT RECORDING

BUILT has the programs, as packaging/build-product prints it. RECORDING is the JSON file to write: milliseconds, who
showed or typed something, and what. Boots a host of its own, as root, with real `sudo`, the real service and
`iampass-phone`. PYTHONPATH names Tests.
"""

import json
import pathlib
import sys
import threading
import time

from Support.Hosts import testhost

COMMAND = "sudo id -un"
#: Seconds for which the phone's owner looks at the request before approving it.
LOOKS_AT_IT = 2


class Recording:
    def __init__(self):
        self.began = time.monotonic()
        self.events = []
        self.lock = threading.Lock()

    def note(self, place, text):
        with self.lock:
            self.events.append([int((time.monotonic() - self.began) * 1000), place, text])


class PhoneWatch(threading.Thread):
    """Notes what the phone prints, when it does."""

    def __init__(self, phone, recording):
        super().__init__(daemon=True)
        self.phone, self.recording, self.ended = phone, recording, threading.Event()

    def run(self):
        known = 0
        while not self.ended.wait(0.02):
            text = self.phone.printed
            if text[known:]:
                self.recording.note("phone", text[known:])
            known = len(text)

    def stop(self):
        self.ended.set()
        self.join()


def record(host):
    with testhost.Phone(host, "approve") as phone:
        phone.wait_for("waiting for sign-ins")
        recording = Recording()
        watch = PhoneWatch(phone, recording)
        watch.start()
        recording.note("command", COMMAND)
        child = host.terminal(COMMAND, user="alice", show=lambda text: recording.note("terminal", text), timeout=30)
        phone.wait_for_requests(1)
        child.expect(testhost.PUSH_LINE_WITH_CODE)
        time.sleep(LOOKS_AT_IT)
        recording.note("typed", child.match[1])
        phone.type(child.match[1])
        status = child.finish(30)
        phone.wait_for("approved")
        time.sleep(0.1)
        watch.stop()
    if status != 0 or "root" not in child.screen:
        raise SystemExit(f"record_picture: sudo ended with {status}:\n{child.screen}")
    return recording.events


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 64
    with testhost.Host(sys.argv[1], match_codes=True) as host:
        events = record(host)
    pathlib.Path(sys.argv[2]).write_text(json.dumps(events, indent=0, ensure_ascii=False) + "\n")
    print(f"{len(events)} events in {sys.argv[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
