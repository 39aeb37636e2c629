"""packaging/bench: measures a whole sign-in, and what the background helper costs.

usage: packaging/bench [--part sign-in|offline|helper|server|scale|load|fleet|desktop|presence|all[,…]] [--runs N]
                       [--sessions N] [--phones N] [--sign-ins N] [--users N] [--overdue N] [--ended N]
                       [--computers N] [--seconds N] [--built FOLDER] [--save]

sign-in   `pamtester SERVICE USER authenticate` as a process, beside pam_permit and pam_unix: by the real service and a
          phone, and by a stand-in that approves at once
offline   sign-ins with `methods_offline` and without it while the service is there; without it, how soon its prompt comes:
          black-holed, with a name server that is silent, refused, and with the interface down
helper    from the service's word that the phone left to logind's that the session is gone, on a booted test host; and
          processor time, memory, wake-ups and connections of the helper with many watched sessions, and with one
server    signed status requests a second over 50 connections, beside a fixed text; memory with thousands of phones and
          held requests; from a phone's leaving to the reply that waits for it
scale     on PostgreSQL: signed status requests of one server; starts a second of one server and of two; sign-ins a
          second at a socket and over a network; from a phone's leaving at one server to the reply that waits at
          another; sign-ins while one of two servers is killed every five seconds; a move of --users users; transactions a
          second of --phones pages while nothing happens, and memory with these and as many held requests
load      on SQLite, and on PostgreSQL at a socket: a signed status beside 5,000 unsigned requests a second of one stranger;
          starts while 5,000 users are added, on PostgreSQL at another server; statuses while 20 of 20,000 live sessions
          end; --overdue sessions that are overdue when a server starts, and the starts beside their ends; the console's
          pages with --ended sessions
fleet     joins, one by one and many at once; the list of users of --computers computers that hold a request each: its
          size, also signed and with phones, and how soon a change reaches all; the service's memory and idle processor
          time; the console's pages with thousands of users, computers and sessions; apart from `all`
desktop   on booted hosts: from the service's word that the phone left to locked, and to gone, for sway, SDDM, lightdm
          and Plasma; from the request to unlocked, beside the password; apart from `all`
presence  what the probe for phones by Bluetooth costs, in a virtual machine with virtual controllers; apart from `all`

Beside each figure stands what is asked of it, where something is. The last part has what was asked for, made of the run's
other lines: `--part server,scale,load,sign-in` has all of it, in some minutes. --save writes the parts of this run into
Tests/Benchmarks/BENCHMARKS.md, with their plots; the page's other parts stay.

Run as root after packaging/build-product. It runs in a mount namespace of its own with a PAM folder of its own, with
the real service on loopback and `iampass-phone watch --answer approve` as the phone; the machine is left as it was.
"""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
PROJECT = TESTS.parent
PACKAGING = PROJECT / "packaging"
INSIDE = "IAMPASS_BENCH_INSIDE"
FLEET_USERS = 5_000
PARTS, APART = ("sign-in", "offline", "helper", "server", "scale", "load"), ("fleet", "desktop", "presence")


def parse():
    options = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", type=parts, default="all", help="one part or more, with commas between them (all)")
    options.add_argument("--sessions", type=int, default=1_000, help="watched sessions (1000)")
    options.add_argument("--phones", type=int, default=5_000, help="phones, held requests and pages of a server (5000)")
    options.add_argument("--sign-ins", type=int, default=1_000, help="sign-ins while servers are killed (1000)")
    options.add_argument("--users", type=int, default=100_000, help="users that are moved to another database (100000)")
    options.add_argument("--overdue", type=int, default=50_000, help="sessions that are overdue at once (50000)")
    options.add_argument("--ended", type=int, default=2_000_000, help="ended sessions behind the console (2000000)")
    options.add_argument("--computers", type=int, default=500, help="computers of the fleet, which has 5000 users (500)")
    options.add_argument("--seconds", type=int, default=60, help="how long the helper is looked at (60)")
    options.add_argument("--runs", type=int, default=40, help="runs of each case (40)")
    options.add_argument("--save", action="store_true", help="write Tests/Benchmarks/BENCHMARKS.md and its plots")
    options.add_argument("--built", default=str(PROJECT / ".build-product" / "release"), help="folder of the built programs")
    return options.parse_args()


def parts(text):
    """The names of parts; `all` is all but those that are apart."""
    chosen = set(text.split(","))
    if wrong := chosen - {*PARTS, *APART, "all"}:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(sorted(wrong))}")
    return chosen - {"all"} | (set(PARTS) if "all" in chosen else set())


def enter_namespace():
    """Runs this again where mounts are its own."""
    os.environ[INSIDE] = "yes"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "--", "/usr/bin/python3", "-B", *sys.argv])


def main():
    options = parse()
    if os.geteuid() != 0:
        raise SystemExit("bench: only root can do this\nhint: sudo packaging/bench")
    if INSIDE not in os.environ:
        enter_namespace()
    built = pathlib.Path(options.built)
    if not (built / "libpam_iampass.so").exists():
        raise SystemExit(f"bench: {built} has no built product\nhint: packaging/build-product")
    os.environ["IAMPASS_BIN"] = str(built)
    os.environ["IAMPASS_MODULE"] = str(built / "libpam_iampass.so")
    sys.path[:0] = [str(TESTS / "Benchmarks"), str(TESTS)]
    from bench_report import Report
    if options.save:
        install("python3-matplotlib")
    report = Report()
    if "sign-in" in options.part:
        from bench_sign_in import measure_sign_in
        measure_sign_in(report, options.runs)
    if "offline" in options.part:
        from bench_offline import measure_offline
        measure_offline(report, options.runs)
    if "helper" in options.part:
        measure_helper(report, options, built)
    if "server" in options.part:
        measure_server(report, options)
    if "scale" in options.part:
        install("wrk", "python3-h2", "python3-cryptography")
        from bench_scale import measure_scale
        measure_scale(report, max(200, options.runs), options.sign_ins, options.users)
        from bench_silent import measure_silent
        measure_silent(report, options.phones)
    if "load" in options.part:
        install("wrk", "python3-cryptography", "python3-h2")
        from bench_load import measure_load
        measure_load(report, options.overdue)
        from bench_console import measure_console
        measure_console(report, options.ended)
    if "fleet" in options.part:
        measure_fleet(report, options)
    if "desktop" in options.part:
        sys.path.append(str(TESTS / "System" / "Host"))
        from bench_desktop import measure_desktop
        measure_desktop(report, max(5, options.runs // 4))
    if "presence" in options.part:
        from bench_presence import measure_probe
        measure_probe(report)
    report.summary()
    if options.save:
        report.save(TESTS / "Benchmarks" / "BENCHMARKS.md", PACKAGING / "pictures")


def measure_helper(report, options, built):
    from Support.Service import world as worlds
    from bench_helper import measure_crowd, measure_latency
    from bench_parts import memory_at

    runs = max(5, options.runs // 2)
    report.part(f"From the phone's leaving to the session's end, {runs} runs")
    measure_latency(report, built, runs)
    for count in (options.sessions, 1):
        with contextlib.ExitStack() as ending:
            world = worlds.World()
            ending.callback(world.close)
            ending.enter_context(memory_at(world.path("run")))
            world.serve()
            world.register_phone()
            measure_crowd(report, world, count, options.seconds)


def install(*packages):
    """What nothing else here needs, from Debian."""
    subprocess.run(
        ["bash", "-euc", 'source "$1"; shift; install_packages "$@"', "bench", str(PACKAGING / "common.sh"), *packages],
        check=True, timeout=600)


def measure_fleet(report, options):
    install("python3-h2", "python3-cryptography")
    from Support.Service import server
    import bench_fleet
    import bench_pages
    import bench_signed

    world = server.ServerWorld()
    try:
        bench_fleet.measure_fleet(world, report, options.computers, FLEET_USERS, options.seconds)
        bench_signed.measure_signed(world, report)
        bench_pages.measure_pages(world, report)
    finally:
        world.close()


def measure_server(report, options):
    install("wrk", "python3-h2", "python3-cryptography")
    from Support.Service import server
    from bench_server import measure_service

    world = server.ServerWorld()
    try:
        measure_service(world, report, options.phones, max(200, options.runs))
    finally:
        world.close()


if __name__ == "__main__":
    main()
