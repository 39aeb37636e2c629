"""A place for `iampass-server setup` with a unit: systemd's command is a script, which starts the service as the unit does."""

import os
import stat
import subprocess

from setup_world import SERVICE_USER, SetupWorld
from Support.Service.world import PATIENCE, Background, program

UNIT = "iampass-trial"

SYSTEMCTL = """#!/bin/sh
# $1 is the word; the unit's name comes last.
cd {folder} || exit 1
echo "$1" >> calls
runs() {{ [ -e pid ] && kill -0 "$(cat pid)" 2> /dev/null && ! grep -q '^State:.Z' "/proc/$(cat pid)/status"; }}
set_to() {{ sed -n "s/^$1=//p" settings; }}
ends() {{
  if runs; then kill "$(cat pid)"; while runs; do sleep 0.05; done; fi
  rm -f pid
}}
case $1 in
  show) case "$*" in *ExecMainStatus*) [ ! -e status ] || cat status ;; esac ;;
  is-active) if runs; then echo active; else echo inactive; exit 3; fi ;;
  reload) kill -HUP "$(cat pid)" ;;
  stop) ends ;;
  restart)
    [ ! -e hangs ] || {{ echo > hanging; sleep 300; }}
    [ ! -e status ] || exit 1
    ends
    if [ -e deaf ] && [ "$(set_to LISTEN)" = "$(cat deaf)" ]; then exit 0; fi
    [ -d data ] || install -d -m 700 -o {user} -g {user} data
    setsid setpriv --reuid={user} --regid={user} --clear-groups {server} serve --data {folder}/data --listen "$(set_to LISTEN)" \\
      --tls-cert "$(set_to TLS_CERT)" --tls-key "$(set_to TLS_KEY)" $(set_to OPTIONS) > log 2>&1 < /dev/null &
    echo $! > pid ;;
esac
"""

#: systemd runs this computer, and its command is the script.
INSIDE = """set -e
mount --bind "$0" /usr/bin/systemctl
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system
if [ -e "${0%/*}/container" ]; then cp "${0%/*}/container" /run/systemd; fi
exec "$@"
"""


class UnitWorld(SetupWorld):
    def __init__(self):
        super().__init__()
        self.script = self.path("systemctl")
        with open(self.script, "w") as file:
            file.write(SYSTEMCTL.format(folder=self.folder, user=SERVICE_USER, server=program("iampass-server")))
        os.chmod(self.script, stat.S_IRWXU)

    def close(self):
        self.stop()
        super().close()

    def stop(self):
        subprocess.run([self.script, "stop", UNIT], check=True, timeout=PATIENCE)

    @property
    def places(self):
        return [UNIT if word == "none" else word for word in super().places]

    def words(self, *words, command="setup"):
        own = [program("iampass-server"), *command.split(), *words, *self.places]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", INSIDE, self.script, *own]

    def begin(self, *words):
        return Background(*self.words(*words))

    def put(self, name, text=""):
        """What the script goes by: "deaf" has the address that a started service never listens on; with "hangs" it hangs;
        with "status" the service ends with that status. "container" has the kind of container that systemd runs in."""
        with open(self.path(name), "w") as file:
            file.write(text)

    def hangs(self):
        """Whether the script has begun to hang. Until then it could still restart the service."""
        return os.path.exists(self.path("hanging"))

    def take(self, name):
        os.unlink(self.path(name))

    @property
    def pid(self):
        """The service's, or nothing."""
        if not os.path.exists(self.path("pid")):
            return ""
        pid = self.read("pid").decode().strip()
        return pid if os.path.exists(f"/proc/{pid}") else ""

    def calls(self):
        return self.read("calls").decode().split()


__all__ = ["UNIT", "UnitWorld"]
