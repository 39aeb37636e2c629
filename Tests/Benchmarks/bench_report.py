"""What packaging/bench has measured: shown as it comes, and kept as a page with plots."""

import datetime
import os
import pathlib
import platform
import re
import statistics
import subprocess

#: Colours of Okabe and Ito, which are told apart without red and green.
SEEN, ASKED = "#0072b2", "#d55e00"

STAND_IN = "a stand-in approves at once, as installed: "
HEAD = """# Benchmarks

What `packaging/bench --save` measured, each part on its day. Compare times with others of the same part: `pam_permit` and
`pam_unix` are in it for that. If a figure exceeds its limit, both are shown.
"""
#: What is asked on each engine under a company's load.
LOAD_FIGURES = (
    ("status beside a stranger by undisturbed", "", 3, "median, beside the stranger by undisturbed"),
    ("the same, p99", "", 3, "99th percentile, beside the stranger by undisturbed"),
    ("start while 5,000 users are added, p99", "ms", 200, "a start beside them: 99th percentile"),
    ("a session's end with 20,000 live, p99", "ms", 10, "20 of them end: the request that ends one: 99th percentile"),
    ("status beside that, p99", "ms", 10, "a signed status beside the ends: 99th percentile"),
    ("50,000 overdue: to the last end", "s", 60, "50,000 overdue at a server's start: to the last end"),
    ("start beside that, p99", "ms", 100, "a start beside the ends: 99th percentile"),
)
#: Each figure of the summary: its label and unit, what is asked and which way, and the line, or two whose ratio it is.
ASKED_FIGURES = (
    ("signed status requests as a share of fixed texts, SQLite", "", 0.6, "least",
     [("The service", "signed requests as a share of fixed texts")]),
    ("the same, PostgreSQL, one server", "", 0.35, "least",
     [("PostgreSQL, one server", "signed requests as a share of fixed texts")]),
    ("starts a second, PostgreSQL, one server", "1/s", 250, "least",
     [("PostgreSQL at a socket", "starts a second, one server")]),
    ("starts a second, PostgreSQL, two servers", "1/s", 300, "least",
     [("PostgreSQL at a socket", "starts a second, two servers")]),
    ("sign-ins a second, PostgreSQL at a socket", "1/s", 200, "least",
     [("PostgreSQL at a socket", "sign-ins a second, at a socket")]),
    ("sign-ins a second, PostgreSQL with 1 ms of network each way", "1/s", 60, "least",
     [("PostgreSQL with 1 ms of network", "sign-ins a second, with 1 ms of network each way")]),
    ("5,000 held and 5,000 pages open, resident", "MiB", 450, "asked",
     [("The service", "resident, 5000 held, 5000 phones' pages open")]),
    ("the same, PostgreSQL", "MiB", 450, "asked",
     [("Silent pages of 5,000 phones", "resident, 5000 held, 5000 phones' pages open")]),
    ("transactions a second of 5,000 silent pages, PostgreSQL", "1/s", 50, "asked",
     [("Silent pages of 5,000 phones", "of them by the pages")]),
    ("leave to waiter's reply, other server, PostgreSQL", "ms", 15, "asked",
     [("PostgreSQL, two servers", "leave to waiter's reply, the other server")]),
    ("sign-in by the stand-in: whole process by pam_unix's", "", 1, "asked",
     [("A sign-in", STAND_IN + "whole process"), ("A sign-in", "pam_unix: whole process")]),
    ("the same: processor time of all processes by pam_unix's", "", 1.2, "asked",
     [("A sign-in", STAND_IN + "CPU, all processes"), ("A sign-in", "pam_unix: CPU, all processes")]),
    ("sign-ins that were lost while servers were killed", "", 0, "asked",
     [("PostgreSQL, two servers", "of them not to PAM_SUCCESS")]),
    ("a move of 100,000 users: nobody could write for", "s", 5, "asked",
     [("A move of 100,000 users", "to PostgreSQL: nobody could write for")]),
    *((f"{engine}, the slowest page of the console, 2,000,000 sessions", "ms", 50, "asked",
       [(f"The console on {engine}{place}, 2,000,000 sessions", "the slowest page")])
      for engine, place in (("SQLite", ""), ("PostgreSQL", " at a socket"))),
    *((f"{engine}, {label}", unit, asked, "asked", [(f"A company's load on {engine}", line)])
      for engine in ("SQLite", "PostgreSQL") for label, unit, asked, line in LOAD_FIGURES),
)


class Row:
    """One line: samples of one thing, or a single number."""

    def __init__(self, label, samples, unit, asked, least=None):
        ordered = sorted(samples)
        #: The least says what the machine's other work cannot disturb.
        self.least, self.median = ordered[0], statistics.median(ordered)
        self.p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
        self.label, self.unit, self.asked, self.count = label, unit, asked if least is None else least, len(ordered)
        self.is_least = least is not None

    @property
    def columns(self):
        if self.count == 1:
            return ["", rounded(self.median), ""]
        return [rounded(self.least), rounded(self.median), rounded(self.p95)]

    @property
    def bound(self):
        return "" if self.asked is None else f"{'≥ ' if self.is_least else ''}{self.asked:g}"


def rounded(value):
    if 0 < abs(value) < 1:
        return f"{value:.2f}"
    return f"{value:.0f}" if abs(value) >= 1_000 or value == int(value) else f"{value:.1f}"


class Report:
    def __init__(self):
        #: Titles with their rows, as they came.
        self.parts = []

    def part(self, title):
        self.parts.append((title, []))
        print(f"\n{title}\n{'':<58}{'least':>8}{'median':>8}{'p95':>8}  {'unit':<13}asked", flush=True)

    def add(self, label, samples, unit, asked=None, least=None):
        """Samples of one thing; `asked` is the most that they should take, or `least` the least that they should reach."""
        row = Row(label, samples, unit, asked, least)
        self.parts[-1][1].append(row)
        least, median, p95 = row.columns
        print(f"{label:<58}{least:>8}{median:>8}{p95:>8}  {unit:<13}{row.bound}", flush=True)

    def median(self, part, label):
        """The median of the line with this label in the first part whose title begins so; None without one."""
        for title, rows in self.parts:
            for row in rows:
                if title.startswith(part) and row.label == label:
                    return row.median
        return None

    def summary(self):
        """The figures that were asked for, side by side, as far as this run has what they are made of."""
        found = []
        for label, unit, asked, bound, made_of in ASKED_FIGURES:
            values = [self.median(*place) for place in made_of]
            if None not in values:
                value = values[0] / values[1] if len(values) == 2 else values[0]
                found.append((label, value, unit, {bound: asked}))
        if found:
            self.part("What was asked for, from this run")
        for label, value, unit, bound in found:
            self.add(label, [value], unit, **bound)

    def save(self, page, pictures):
        """Writes this run's parts into the page, and a plot a part beside the pictures. The page's other parts stay."""
        kept = dict(re.findall(r"(?ms)^## (.*?)\n\n(.*?)(?=^## |\Z)", page.read_text())) if page.exists() else {}
        for title, rows in self.parts:
            plot = f"bench-{re.sub(r'[^a-z]+', '-', title.lower()).strip('-')}.svg"
            lines = [self._machine(), "", "| | least | median | p95 | unit | asked |", "|---|--:|--:|--:|---|--:|"]
            lines += [f"| {row.label} | {' | '.join(row.columns)} | {row.unit} | {row.bound} |" for row in rows]
            lines += ["", f"![{title}: medians as bars, from the least to the 95th percentile as lines, what is asked as marks]"
                          f"({os.path.relpath(pictures, page.parent)}/{plot})"]
            kept[title] = "\n".join(lines)
            draw(title, rows, pictures / plot)
        parts = [f"## {title}\n\n{text.strip()}\n" for title, text in kept.items()]
        page.write_text("\n".join([HEAD, *parts]))

    @staticmethod
    def _machine():
        model = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        openssl = subprocess.run(["openssl", "version"], check=True, capture_output=True, text=True, timeout=10)
        return (f"{datetime.date.today():%-d %B %Y}: {system}, Linux {platform.release()},\n"
                f"{len(os.sched_getaffinity(0))} cores of {model[1] if model else platform.machine()}, {memory:.0f} GiB,"
                f" {' '.join(openssl.stdout.split()[:2])}; load {os.getloadavg()[0]:.1f} when it ended.")


def draw(title, rows, path):
    """One panel for each unit."""
    import matplotlib
    matplotlib.use("svg")
    # Text stays text; the same figures give the same file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "iampass", "font.family": "sans-serif", "font.size": 9})
    from matplotlib import pyplot

    units = list(dict.fromkeys(row.unit for row in rows))
    shares = [sum(row.unit == unit for row in rows) for unit in units]
    figure, panels = pyplot.subplots(
        len(units), figsize=(9, 0.32 * len(rows) + 0.7 * len(units) + 0.4), height_ratios=shares, squeeze=False,
        layout="constrained")
    figure.suptitle(title)
    for unit, panel in zip(units, panels[:, 0]):
        fill(panel, unit, [row for row in rows if row.unit == unit])
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def fill(panel, unit, rows):
    places = range(len(rows))
    medians = [row.median for row in rows]
    reach = [[row.median - row.least for row in rows], [row.p95 - row.median for row in rows]]
    panel.barh(places, medians, color=SEEN, height=0.6)
    panel.errorbar(medians, places, xerr=reach, fmt="none", ecolor="black", elinewidth=1, capsize=2)
    for place, row in zip(places, rows):
        if row.asked is not None:
            panel.plot([row.asked, row.asked], [place - 0.42, place + 0.42], color=ASKED, linewidth=2)
    panel.set_yticks(places, [row.label for row in rows])
    panel.invert_yaxis()
    panel.set_xlim(left=0)
    panel.set_xlabel(unit)
    panel.spines[["top", "right"]].set_visible(False)
