"""The commands in the EXAMPLES of the manual's pages, and why some of them are not run by test_examples."""

import re

from host_case import PROJECT

MAN = PROJECT / "packaging" / "man"

WALKED = "test_walkthrough runs this page's sections in their order"
RESCUE = "root's rescue is for a machine that boots; Machine test_rescue types what is printed"
FLEET = "a protocol of four machines, which packaging/demo-fleet plays again"

#: By page: the command as printed, or the title of a section, and who runs it, or what it would need.
ELSEWHERE = {
    "iampass-server.8": {
        "On the service's computer": WALKED,
        "On the service's computer: a user": WALKED,
        "On each computer: the join": WALKED,
        "On the service's computer: the approval, and a code for more computers": WALKED,
        "On each computer: sign-ins by phone": WALKED,
        "On the service's computer: a renewed certificate of the same authority": WALKED,
        "On the service's computer: another authority, before the computers know it": WALKED,
        "On each computer: both authorities": WALKED,
        "On the service's computer: the new certificate": WALKED,
        "On each computer: the new authority alone": WALKED,
        "A fleet, as it went": FLEET,
    },
    "pam_iampass.8": {"Root's rescue": RESCUE, "$ sudo true": "a recovery code is typed; test_recovery does it"},
}


def pages():
    return sorted(path.name for path in MAN.glob("*.[1-8]"))


def examples(page):
    """Pairs of section and command, in the page's order; commands that go on after a backslash are one."""
    text = (MAN / page).read_text()
    found = re.search(r"^\.SH EXAMPLES\n(.*?)(?=^\.SH |\Z)", text, re.MULTILINE | re.DOTALL)
    section, taken, goes_on = "", [], False
    for line in (found[1] if found else "").splitlines():
        line = line.replace(r"\-", "-").replace(r"\e", "\\")
        if line.startswith(".SS "):
            section = line[4:].strip('"')
        elif goes_on:
            taken[-1] = (section, taken[-1][1][:-1].rstrip() + " " + line.strip())
        elif re.match(r"(\([\d.]+ s\) [\w-]+)?[#$] ", line):
            taken.append((section, line))
        else:
            continue
        goes_on = line.endswith("\\")
    return taken


def to_run(page):
    """The commands that no other test runs."""
    elsewhere = ELSEWHERE.get(page, {})
    return [command for section, command in examples(page) if section not in elsewhere and command not in elsewhere]


def settings(page):
    """The blocks of iampass.conf's lines."""
    text = re.search(r"^\.SH EXAMPLES\n(.*?)^\.SH ", (MAN / page).read_text(), re.MULTILINE | re.DOTALL)[1].replace(r"\-", "-")
    return re.findall(r"^\.RS 4\n(.*?)^\.RE", text, re.MULTILINE | re.DOTALL)
