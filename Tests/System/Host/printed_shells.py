"""Works through what a page prints: its commands are typed in shells, and what the shells show must stand on the page, or be
left out there."""

import contextlib
import re
import time

import pexpect
from Support.Hosts.terminal import without_escapes

#: Seconds for one line, on a busy machine.
PATIENCE = 180
#: What differs from one host to the next, and what stands for it when a page is compared with a terminal. Nothing else may.
DIFFERS = (
    (r"\bIJ[12][\w.-]*…?", "CODE"),
    (r"/(enter|register)/\w+…?", r"/\1/LINK"),
    (r"\b\d{4}-\d\d-\d\dT[\d:]{8}Z", "TIME"),
    (r"\b(desk-7|workstation)\b", "COMPUTER"),
    (r"digits \d{6}\b", "digits DIGITS"),
    (r"^(COMPUTER \()\d{6},", r"\1DIGITS,"),
    (r"last two digits: \d\d$", "last two digits: DD"),
    (r"\bcode( on the terminal:)? \d\d$", r"code\1 DD"),
    (r"\(\d+ ms\)$", "(N ms)"),
    # The reply's time stamp has whole seconds.
    (r"service's \([01] s\)$", "service's (N s)"),
    (r"^(  session       )[0-9a-f]{8}$", r"\1ID"),
    (r"^(  terminal      /dev/pts/)\d+$", r"\1N"),
    (r"^(  time left     )\d+ s$", r"\1N s"),
)
#: What a person reads in one place and types in another.
READ = (r"\bIJ[12][\w.-]*…?", r"https://[\w.]+/register/\w+…?", r"\bcode (\d\d)$", r"\b(desk-7|workstation)\b")
#: A question; what comes after it on the page is what the person types.
QUESTION = re.compile(r".*\[y/[Nn]\] |code on the terminal: ")
PROMPTS = {"# ": None, "$ ": "alice"}
#: A line of the page that stands for one line of the shell or more, up to the page's next one. A question is not left out.
LEFT_OUT = "…"


def blocks(text):
    """The page's fenced blocks below a line such as `**First shell**, as root:`. Pairs of the shell's name and the lines."""
    found = re.findall(r"^\*\*(\w+) shell\*\*[^\n]*(?:\n[^\n]+)*\n\n```\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    if len(found) * 2 != len(re.findall("^```", text, re.MULTILINE)):
        raise AssertionError(f"a block names no shell; these do: {[name for name, _ in found]}")
    return [(name.lower(), body.split("\n")) for name, body in found]


def commands(text):
    return [line[2:] for _, lines in blocks(text) for line in lines if line[:2] in PROMPTS]


def as_anywhere(line):
    for pattern, instead in DIFFERS:
        line = re.sub(pattern, instead, line)
    return line.rstrip()


class Shell:
    """An interactive bash on a terminal of its own."""

    def __init__(self, host, prompt):
        user = PROMPTS[prompt]
        self.prompt = prompt
        self.child = host.terminal("cd; exec bash --norc --noprofile -i", user=user, environment={"PS1": prompt}, timeout=PATIENCE)
        #: Characters of the screen that were compared.
        self.seen = 0

    def rest(self):
        return without_escapes(self.child.screen.replace("\r", ""))[self.seen:]

    def wait_for(self, is_there, what):
        """What was not compared yet, as soon as `is_there` says yes to it."""
        end = time.monotonic() + PATIENCE
        while not is_there(self.rest()):
            ended = self.child.expect([pexpect.TIMEOUT, pexpect.EOF], timeout=0.1) == 1
            if (ended and not is_there(self.rest())) or time.monotonic() > end:
                raise AssertionError(f"{what} does not come; the terminal shows:\n{without_escapes(self.child.screen)}")
        return self.rest()

    def take_line(self, what):
        line = self.wait_for(lambda text: "\n" in text, what).split("\n", 1)[0]
        self.seen += len(line) + 1
        return line

    def type(self, command):
        """At a prompt before which nothing stands that was not compared."""
        shown = self.wait_for(lambda text: text.endswith(self.prompt), f"a prompt for {command!r}")
        if shown != self.prompt:
            raise AssertionError(f"before the prompt for {command!r} the terminal shows what is not printed:\n{shown}")
        self.child.sendline(command)
        self.take_line(command)

    def skip(self, command):
        """Whatever the command shows, up to the next prompt."""
        self.seen += len(self.wait_for(lambda text: text.endswith("\n" + self.prompt), f"the end of {command!r}")) - len(self.prompt)


class Reader:
    """A person who does what the page says, and compares.

    `quiet`: commands whose own words are not on the page.
    """

    def __init__(self, host, quiet=()):
        self.host, self.quiet = host, quiet
        self.shells, self.known = {}, {}
        #: Shells of which the page leaves lines out.
        self.cut = set()

    def close(self):
        for shell in self.shells.values():
            with contextlib.suppress(pexpect.ExceptionPexpect):
                shell.child.close()

    def work_through(self, pairs):
        for name, lines in pairs:
            for line in lines:
                if line == LEFT_OUT:
                    self.cut.add(self.shells[name])
                elif line[:2] in PROMPTS:
                    shell = self.shells.setdefault(name, None) or Shell(self.host, line[:2])
                    self.shells[name] = shell
                    self.command(shell, line[2:])
                else:
                    self.line(self.shells[name], line)
        for shell in self.shells.values():
            self.skip_to_the_prompt(shell, "the end of the page")
            if shell.rest().strip() not in ("", shell.prompt.strip()):
                raise AssertionError(f"at the end a terminal shows what is not printed:\n{shell.rest()}")

    def command(self, shell, printed):
        for word, real in self.known.items():
            printed = re.sub(rf"(?<!\S){re.escape(word)}(?!\S)", real.replace("\\", ""), printed)
        self.skip_to_the_prompt(shell, printed)
        shell.type(printed)
        if printed in self.quiet:
            shell.skip(printed)

    def skip_to_the_prompt(self, shell, what):
        if shell in self.cut:
            self.cut.remove(shell)
            shell.skip(f"what stands before {what}")

    def line(self, shell, printed):
        question = QUESTION.match(printed)
        if question and shell in self.cut:
            raise AssertionError(f"lines are left out just before a question: {printed}")
        if question:
            shell.wait_for(lambda text: text.startswith(question[0]), printed)
            answer = printed[question.end():]
            shell.child.sendline(self.known.get(answer, answer))
        shown = shell.take_line(printed)
        if shell in self.cut:
            self.cut.remove(shell)
            # At least one line is left out.
            shown = shell.take_line(printed)
            while as_anywhere(shown) != as_anywhere(printed):
                shown = shell.take_line(printed)
        if as_anywhere(shown) != as_anywhere(printed):
            raise AssertionError(f"printed: {printed}\nshown:   {shown}\nthe terminal:\n{without_escapes(shell.child.screen)}")
        for pattern in READ:
            for there, real in zip(re.findall(pattern, printed), re.findall(pattern, shown)):
                self.known[there] = real
