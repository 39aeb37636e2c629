"""The sign-in part of packaging/bench: what a sign-in costs, says to the service, and waits for."""

import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import time

from bench_parts import CountingProxy, dlopen_times, peaks
from bench_runs import PASSWORD, PATIENCE, USER, Run, as_installed, helper_of, measure, peak_of, served_world, taken_pam_folder
from Support.HostileService import hostile_case
from Support.HostileService.signing_phone import ServiceOfPhone, SigningPhone
from Support.Service.world import ABORT, AUTH_ERR


def measure_sign_in(report, runs):
    with contextlib.ExitStack() as ending:
        world = ending.enter_context(served_world())
        world.register_phone()
        ending.enter_context(taken_pam_folder(world))
        phone = world.phone("approve")
        phone.wait_for("waiting for sign-ins")
        asked = (16, 15)
        report.part(f"A sign-in, {runs} runs")
        measure(report, "pam_permit", "bench-permit", runs)
        measure(report, "pam_unix", "bench-unix", runs, PASSWORD + "\n")
        measure(report, "pam_iampass", "sudo", runs, asked=asked)
        with helper_of(world) as helper:
            measure(report, "pam_iampass, helper running", "sudo", runs, asked=asked, helper=helper)
        with as_installed(world) as (waiting, helper):
            measure(report, "pam_iampass, as installed", "sudo", runs, asked=asked, waiting=waiting, helper=helper)
            report.add("waiting program: peak resident", [peak_of(waiting.pid) / 1024], "MiB", 25)
        measure_memory(report, "sudo")
        measure_lookup(report, world, runs)
        measure_loading(report, world.path("pam_iampass.so"), runs)
        measure_stand_in(report, world, runs, asked)
        phone.stop()
        report.part(f"What a sign-in says to the service, {runs} runs")
        measure_traffic(report, world, runs, "alone")
        with helper_of(world):
            measure_traffic(report, world, runs, "helper running")
        with as_installed(world):
            measure_traffic(report, world, runs, "as installed")
        measure_waits(report, world)


def measure_stand_in(report, world, runs, asked):
    """By a service that approves at once, so that neither a phone nor a real service's work is in the figures: one that is
    believed, and one behind which a phone signs."""
    service = hostile_case.HostileService().start()
    application = re.search(r"application_id\s*=\s*(\S+)", pathlib.Path(world.path("credentials")).read_text())[1]
    token = pathlib.Path(world.path("users")).read_text().strip().split(":")[1]
    start = f"/authentication/authenticate_user/{application}/{token}"
    phone = SigningPhone()
    signing = ServiceOfPhone(phone, hostile_case.started)
    signing.url = service.url
    world.write("phones", phone.line(USER), 0o644)
    answered = []

    def noting(answer):
        def send(stream, request):
            answer(stream, request)
            answered.append(time.monotonic())

        return send

    before = dict(world.settings)
    median = {}
    try:
        world.write("stand-in.pem", pathlib.Path(service.ca_file).read_text(), 0o644)
        world.configure(server=service.url, ca_file=world.path("stand-in.pem"))
        for name, approvals, answers in (
            ("a stand-in approves at once", "service", (hostile_case.session(), hostile_case.ACTIVE)),
            ("a stand-in's phone signs at once", "verified", (signing.answer_start, signing.answer_status)),
        ):  # fmt: skip
            service.behaviour = {start: answers[0], "/s": noting(answers[1]), "/l": hostile_case.DONE}
            world.configure(approvals=approvals)
            answered.clear()
            with as_installed(world) as (waiting, helper):
                name += ", as installed"
                seen = measure(report, name, "sudo", runs, asked=asked, waiting=waiting, helper=helper)
                pairs = list(zip(seen, answered[1:], strict=True))
                proven = [(run.succeeded - answer) * 1_000 for run, answer in pairs]
                report.add(f"{name}: answered to PAM_SUCCESS", proven, "ms", 3)
                gone = [(run.ended - answer) * 1_000 for run, answer in pairs]
                report.add(f"{name}: answered to process gone", gone, "ms", 3)
                median[approvals] = (statistics.median(proven), statistics.median(run.until_success for run in seen))
        added = [verified - believed for believed, verified in zip(median["service"], median["verified"])]
        report.add("verifying adds to answered to PAM_SUCCESS (medians)", added[:1], "ms")
        report.add("verifying adds to a whole sign-in to PAM_SUCCESS (medians)", added[1:], "ms")
    finally:
        world.settings = before
        world.configure()
        service.stop()


def measure_waits(report, world):
    """The time until the code is seen, and until the call ends by Ctrl-C or without an answer, in PAM hosts of the tests."""
    report.part("Waits")
    # Where the proxy stood.
    world.restart_server()
    world.pam("sudo", "prompt=push timeout=5s")
    world.pam("sshd", "prompt=push timeout=30s")
    with contextlib.closing(Answering(world, "ignore")):
        unanswered = [seconds_of(world, AUTH_ERR) for _ in range(3)]
        world.pam("sudo", "prompt=push timeout=30s")
        interrupted = [seconds_of(world, ABORT, interrupt_after=1, block_interrupts=True) for _ in range(10)]
    subprocess.run(
        [os.path.join(os.environ["IAMPASS_BIN"], "iampass-server"), "application", "set", "tests", "--match-code", "on",
         "--data", world.path("data")], check=True, capture_output=True, timeout=PATIENCE)
    world.configure(send_context="yes")
    with contextlib.closing(Answering(world, "deny")):
        shown = [code_time(world) for _ in range(5)]
    report.add("Ctrl-C in sudo's wait to the module's answer (10 runs)", [(time - 1) * 1_000 for time in interrupted], "ms", 300)
    report.add("ssh's prompt with the code, from the host's start (5 runs)", [time * 1_000 for time in shown], "ms", 500)
    report.add("timeout=5s that nobody answers (3 runs)", unanswered, "s", 6)


class Answering:
    """A phone for a while."""

    def __init__(self, world, answer):
        self.phone = world.phone(answer)
        self.phone.wait_for("waiting for sign-ins")

    def close(self):
        self.phone.stop()


def seconds_of(world, code, **scene):
    """The time of a call with this ending."""
    world.forget_attempts()
    result = world.play(**scene)
    if result["codes"] != [code]:
        raise SystemExit(f"bench: the module answered {result['codes']}, not {code}: {result['texts']}")
    return result["calls"][0]["seconds"]


def code_time(world):
    world.forget_attempts()
    began = time.monotonic()
    with world.playing("sshd", own=False, answers=[""]):
        world.code_on_the_screen()
        return time.monotonic() - began


def measure_lookup(report, world, runs):
    """What a large users file adds: a user who has no token is looked up and refused."""
    small = refusals(runs)
    users = pathlib.Path(world.path("users"))
    text = users.read_text()
    users.write_text(text + "".join(f"user{number}:{number:032x}\n" for number in range(100_000)))
    large = refusals(runs)
    users.write_text(text)
    added = statistics.median(large) - statistics.median(small)
    report.add(f"a user among 100,000: more than in a file of one ({runs} runs)", [added], "ms", 5)


def refusals(runs):
    """Milliseconds of whole processes that end with PAM_USER_UNKNOWN."""
    times = []
    for _ in range(runs + 1):
        began = time.monotonic()
        done = subprocess.run(["pamtester", "sudo", "bin", "authenticate"], stdin=subprocess.DEVNULL, check=False,
                              capture_output=True, timeout=PATIENCE)
        times.append((time.monotonic() - began) * 1_000)
        if done.returncode == 0:
            raise SystemExit("bench: a user without a token was signed in")
    return times[1:]


def measure_memory(report, service):
    caller, *workers = peaks(["pamtester", service, USER, "authenticate"])
    # The second worker, if there is one, ends the session.
    for (name, kilobytes, nanoseconds), asked in [(caller, 10), *((worker, 25) for worker in workers)]:
        report.add(f"{name}: peak resident", [kilobytes / 1024], "MiB", asked)
        report.add(f"{name}: CPU of the traced run", [nanoseconds / 1e6], "ms")


def measure_traffic(report, world, runs, beside):
    """Through a proxy that counts; it speaks HTTP/1.1, so its times are not those of the part above."""
    with CountingProxy(world) as proxy, contextlib.closing(Answering(world, "approve")):
        to_success, to_end, counts = [], [], []
        for _ in range(runs):
            proxy.reset()
            run = Run("sudo")
            answered = proxy.answered_active
            if answered is None:
                raise SystemExit(f"bench: the proxy saw no approval in {proxy.requests}")
            to_success.append((run.succeeded - answered) * 1_000)
            to_end.append((run.ended - answered) * 1_000)
            counts.append((*proxy.counted(False), *proxy.counted(True)))
    connections, requests, ending_connections, ends = zip(*counts)
    report.add(f"{beside}: connections up to PAM_SUCCESS", connections, "", 1)
    report.add(f"{beside}: requests up to PAM_SUCCESS", requests, "", 2)
    report.add(f"{beside}: connections to end the session", ending_connections, "")
    report.add(f"{beside}: requests to end the session", ends, "")
    report.add(f"{beside}: service answered to PAM_SUCCESS", to_success, "ms")
    report.add(f"{beside}: service answered to process gone", to_end, "ms", 3)


def measure_loading(report, module, runs):
    report.add("dlopen of the module", dlopen_times(module, runs), "ms", 1.8)
    report.add("dlopen of libcrypto, for verified approvals alone", dlopen_times("libcrypto.so.3", runs), "ms")
