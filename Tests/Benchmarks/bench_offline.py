"""The offline part of packaging/bench: what the ways without the service cost while it is there, and how soon they are
offered without it."""

import os
import pathlib
import re
import socket
import subprocess
import time

from bench_runs import PATIENCE, USER, measure, served_world, taken_pam_folder
from Support.HostileService import hostile_case
from Support.HostileService.full_listener import FullListener
from Support.HostileService.signing_phone import Key, ServiceOfPhone, SigningPhone

OFFER = rb"Digits on your phone, recovery code, or password: "
WAYS = "phone recovery"
#: The time to look the name up or to connect (Transfer.Phase), and what else a sign-in takes.
GREATEST = 3_000
#: A port of it takes questions and answers none.
NAME_SERVER = "127.0.0.153"
AT_ONCE = 100


def measure_offline(report, runs):
    with served_world() as world, taken_pam_folder(world):
        report.part(f"With the service, which approves at once, {runs} runs")
        measure_beside(report, world, runs)
        report.part(f"Without the service: from the start to the prompt, {runs} runs")
        measure_prompts(report, world, runs)


def measure_beside(report, world, runs):
    """A sign-in by a phone that the computer gets to know, with these ways and without them."""
    service = hostile_case.HostileService().start()
    application = re.search(r"application_id\s*=\s*(\S+)", pathlib.Path(world.path("credentials")).read_text())[1]
    token = pathlib.Path(world.path("users")).read_text().strip().split(":")[1]
    phone = SigningPhone()
    signing = ServiceOfPhone(phone, hostile_case.started)
    signing.url, signing.changed = service.url, {"agreement_key": Key().text}
    world.write("phones", phone.line(USER), 0o644)
    start = f"/authentication/authenticate_user/{application}/{token}"
    service.behaviour = {start: signing.answer_start, "/s": signing.answer_status, "/l": hostile_case.DONE}
    try:
        world.write("stand-in.pem", pathlib.Path(service.ca_file).read_text(), 0o644)
        world.configure(server=service.url, ca_file=world.path("stand-in.pem"), approvals="verified")
        # Twice, so that what else the machine does shows.
        for ways in (None, WAYS, None, WAYS):
            world.configure(methods_offline=ways)
            measure(report, f"methods_offline = {ways or 'none'}", "sudo", runs)
    finally:
        service.stop()
    if not os.path.exists(world.path("state", "offline", "key")):
        raise SystemExit("bench: the computer has not met the phone")


def measure_prompts(report, world, runs):
    with FullListener() as port:
        world.configure(server=f"https://127.0.0.1:{port}")
        offered(report, "address black-holed", world, max(3, runs // 8), [], GREATEST)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind((NAME_SERVER, 53))
        world.write("resolv.conf", f"nameserver {NAME_SERVER}\n", 0o644)
        world.configure(server="https://iampass.example.org")
        place = f'mount --bind {world.path("resolv.conf")} "$(readlink -f /etc/resolv.conf)"; exec "$@"'
        before = ["unshare", "--mount", "sh", "-c", place, "sh"]
        offered(report, "name server silent", world, max(3, runs // 8), before, GREATEST)
    world.configure(server="https://127.0.0.1:1")
    offered(report, "connection refused", world, runs, [], AT_ONCE)
    # A network of its own, whose one interface is down.
    offered(report, "interface down", world, runs, ["unshare", "--net"], AT_ONCE)
    world.configure(server="https://iampass.example.org")
    offered(report, "interface down, service by name", world, runs, ["unshare", "--net"], AT_ONCE)


def offered(report, name, world, runs, before, asked):
    world.forget_attempts()
    report.add(f"{name}: to the prompt", [prompt_time(before) for _ in range(runs)], "ms", asked)


def prompt_time(before):
    """Milliseconds from the host's start until the prompt is there."""
    ours, theirs = os.openpty()
    began = time.monotonic()
    process = subprocess.Popen(
        [*before, "pamtester", "sudo", USER, "authenticate"], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    try:
        while OFFER not in shown:
            more = os.read(ours, 4096)
            if not more or time.monotonic() - began > PATIENCE:
                raise SystemExit(f"bench: no offer: {shown.decode(errors='replace')}")
            shown += more
        return (time.monotonic() - began) * 1_000
    finally:
        process.kill()
        process.wait()
        os.close(ours)
