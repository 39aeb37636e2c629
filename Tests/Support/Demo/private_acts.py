"""The demo without a booted host: the same endings through libpam and a PAM folder of our own."""

import os
import pathlib
import sys
import time

PASSWORD = "demo-password"
#: sudo calls a stack this often after a refusal.
SUDO_TRIES = 3

#: As the shipped profile puts it into common-auth; the password is a script's, since no user of this machine is ours.
STACK = """\
auth [success=2 maxtries=die perm_denied=die abort=die default=ignore] MODULE
auth [success=1 default=ignore] pam_exec.so expose_authtok quiet CHECK
auth requisite pam_deny.so
auth required pam_permit.so
"""

CHECK = f"""#!/bin/sh
read -r typed
[ "$typed" = "{PASSWORD}" ]
"""

NAMES = {0: "signed in", 3: "refused", 7: "refused", 9: "refused", 11: "refused", 14: "refused", 26: "refused"}


class Acts:
    def __init__(self, world):
        self.world = world
        self.failed = False

    def stack(self, service, arguments):
        self.world.pam(service, arguments, STACK.replace("CHECK", self.world.path("check-password")))

    def play(self, title, answer, service="sudo", arguments="prompt=push timeout=20s", answers=(), tries=1, expect=0,
             rings=1):
        """One scene. To approve it, the code is read from PAM's host and typed on the phone."""
        print(f"\n── {title}\n   PAM service {service}, module arguments: {arguments}", flush=True)
        self.world.forget_attempts()
        self.stack(service, arguments)
        phone = self.world.phone_with_keys(answer) if answer else None
        calls = ["authenticate"] * tries
        try:
            with self.world.playing(service, calls=calls, answers=list(answers), without_log=True) as results:
                if answer == "approve":
                    phone.type(self.world.code_on_the_screen())
            result = results[0]
            if phone:
                # Time for a second request to arrive, were one sent.
                time.sleep(1)
            rang = phone.count("^sign-in request$") if phone else 0
        finally:
            if phone:
                phone.stop()
        for text in result["texts"]:
            print(f"   | {text}")
        codes = result["codes"]
        print(f"   {NAMES.get(codes[0], 'refused')} (PAM codes {', '.join(map(str, codes))}); the phone rang {rang}×")
        good = (codes[0] == 0) == (expect == 0) and rang == rings
        print(f"   {'✔ as it must be' if good else '✘ NOT as it must be'}", flush=True)
        self.failed = self.failed or not good

    def all(self):
        self.play("1. sudo, approved on the phone", "approve")
        self.play("2. sudo, denied on the phone, with sudo's three tries", "deny", tries=SUDO_TRIES, expect=1)
        self.play("3. ssh, approved without a password; Enter at the code", "approve", service="sshd", answers=[""])
        self.play("4. ssh, Enter at the choice and at the code", "approve", service="sshd",
                  arguments="prompt=choose timeout=20s", answers=["", ""])
        self.play("5. login, Enter at the choice", "approve", service="login", arguments="prompt=choose timeout=20s",
                  answers=[""])
        self.play("6. nobody answers: the password", "ignore", arguments="prompt=push timeout=5s", answers=[PASSWORD])
        self.world.server.stop()
        self.play("7. the service is down: the password", None, answers=[PASSWORD], rings=0)
        print("\n── 8. the phone walks away: left out, there is no logind here", flush=True)


def play(built):
    print("The same acts are played through libpam with a PAM folder of our own: no real sudo, sshd or login.")
    os.environ["IAMPASS_BIN"] = built
    os.environ["IAMPASS_MODULE"] = f"{built}/libpam_iampass.so"
    from Support.Service import world as worlds

    world = worlds.World()
    try:
        world.write("check-password", CHECK, 0o700)
        world.serve(match_code="on")
        world.configure(send_context="yes")
        world.register_phone()
        acts = Acts(world)
        acts.all()
    finally:
        world.close()
    print("\n── done\nThe folder is gone; the machine is as it was.")
    if acts.failed:
        sys.exit(1)


if __name__ == "__main__":
    # In place of this folder.
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[2])
    play(sys.argv[1])
