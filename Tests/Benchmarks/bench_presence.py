"""What packaging/bench measures of iampass-presence: what a look costs, in the virtual machine of Tests/System/Machine.

The machine emulates its processor, which makes each figure some ten times larger than on a real one.
"""

import json

#: Looks in an hour while each of the phones is near, with the interval of 20 s.
LOOKS_AN_HOUR = 180
LOOKS = 15
#: Asks the probe in the virtual machine: a look every 2.6 s, and what the process has used before and after.
ASK = """
import json, socket, sys, time
def figures():
    import subprocess
    words = ["systemctl", "show", "--property=MainPID", "--value", "iampass-presence"]
    folder = "/proc/" + subprocess.check_output(words, text=True).strip()
    status = dict(line.split(":", 1) for line in open(folder + "/status"))
    nanoseconds = int(open(folder + "/schedstat").read().split()[0])
    return nanoseconds, int(status["voluntary_ctxt_switches"]), int(status["VmRSS"].split()[0])
def look():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        asking.settimeout(30)
        asking.connect("/run/iampass-presence/socket")
        asking.send(b"{adapter} {phone} medium")
        said = asking.recv(200).split()
    time.sleep(2.6)
    return said[1].decode(), int(said[2])
look()
before = figures()
looks = [look() for _ in range(int(sys.argv[1]))]
after = figures()
print(json.dumps(dict(looks=looks, nanoseconds=after[0] - before[0], wakes=after[1] - before[1], resident=after[2])))
"""


#: From the phone's going to the lock, with the defaults, this often.
LEAVES = 3
#: The phone's controller is switched off; then when the helper has begun to doubt, has concluded, and the screen is locked.
LEAVE = """
set -e
until grep -q '"state":"armed"' /run/iampass/presence; do sleep 0.1; done
# Anywhere between two looks.
sleep {pause}
power() {
    for try in 1 2 3 4; do
        sleep 2.5
        ! busctl --timeout=15 set-property org.bluez /org/bluez/hci1 org.bluez.Adapter1 Powered b "$1" 2>/dev/null || return 0
    done
    return 1
}
power false
date +%s.%N
for state in doubtful left; do
    until grep -q "\\"state\\":\\"$state\\"" /run/iampass/presence; do sleep 0.1; done
    date +%s.%N
done
until [[ $(loginctl show-session --property=LockedHint --value {session}) == yes ]]; do sleep 0.1; done
date +%s.%N
power true
loginctl unlock-session {session}
"""


def measure_probe(report):
    from Support.Machine.machine import Machine

    machine = Machine()
    try:
        machine.answer_at_once()
        machine.install()
        machine.restart_controllers()
        machine.bond()
        measure_looks(machine, report)
        measure_leaves(machine, report)
    finally:
        machine.close()


def measure_leaves(machine, report):
    machine.sit_down()
    session = machine.run("loginctl list-sessions --no-legend | awk '$3 == \"alice\" && $4 == \"seat0\" { print $1 }'").strip()
    report.part("From the phone's going to the locked screen, with the defaults")
    times = []
    for turn in range(LEAVES):
        script = LEAVE.replace("{session}", session).replace("{pause}", str(20 * turn // LEAVES))
        times.append([float(word) for word in machine.run(script, seconds=300).split()])
    for name, first, last in (("until the first look that finds nothing", 0, 1), ("until the phone has left", 1, 2),
                              ("until the screen is locked", 2, 3), ("all of it", 0, 3)):
        report.add(name, [time[last] - time[first] for time in times], "s", 60 if (first, last) == (0, 3) else None)
    machine.stand_up()


def measure_looks(machine, report):
    from Support.Machine.machine import ADAPTER, PHONE

    (machine.share / "ask.py").write_text(
        ASK.replace("{adapter}", ADAPTER).replace("{phone}", PHONE))
    report.part(f"The probe for phones by Bluetooth, {LOOKS} looks on an emulated processor")
    found = json.loads(machine.run(f"python3 /share/ask.py {LOOKS}"))
    assert {word for word, _ in found["looks"]} == {"near"}, found
    report.add("a look at a near phone", [milliseconds for _, milliseconds in found["looks"]], "ms")
    for phones in (1, 5):
        looks = LOOKS_AN_HOUR * phones / LOOKS
        name = f"{phones} near phone{'s' if phones > 1 else ''}"
        report.add(f"{name}: processor time", [found["nanoseconds"] * looks / 3.6e12 * 100], "% of a core")
        report.add(f"{name}: wake-ups", [found["wakes"] * looks], "/h")
    report.add("probe: resident", [found["resident"] / 1024], "MiB", 6)
    machine.power("hci1", False)
    gone = json.loads(machine.run("python3 /share/ask.py 3"))
    assert {word for word, _ in gone["looks"]} == {"silent"}, gone
    report.add("a look at a phone that is gone", [milliseconds for _, milliseconds in gone["looks"]], "ms")
    machine.power("hci1", True)
