"""Draws a recording of record_picture.py as an animated SVG: the terminal beside the phone's page.

usage: draw_picture.py RECORDING PICTURE

Times are the recording's, after a moment in which the command is typed. A viewer of SVG that does not animate shows
the end. The phone's page is drawn after Sources/Service/IAMPASSServer/PhonePage, with what the recorded phone printed of its
request.
"""

import html
import json
import pathlib
import re
import sys

WIDTH, HEIGHT = 860, 372
#: Milliseconds: the pause before typing, a key, from the last key to the first event, and how long the end stays.
PAUSE, KEY, ENTER, END = 600, 70, 250, 3500
#: Milliseconds between the last digit that is typed on the phone, and the tap on Approve.
TAP = 450
PROMPT = "alice@workstation:~$ "
COLUMN, LINE = 8.43, 22
#: What the page calls it, and what the phone as a command does.
SHOWN = {"Computer": "host", "Service": "service", "User": "user", "Terminal": "terminal"}
STYLE = """
text{font:14px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#16202a}
.t{font:14px ui-monospace,"DejaVu Sans Mono",Menlo,monospace;fill:#dfe7ee;white-space:pre}
.p{fill:#7fd6b3}.q{fill:#505d6a}.b{font-weight:700}.m{text-anchor:middle}
.w{fill:#fff;font-weight:700;text-anchor:middle}
"""


class Picture:
    def __init__(self, length):
        self.length = length
        self.rules, self.parts = [], []

    def add(self, part):
        self.parts.append(part)

    def during(self, part, begin, end=None):
        """Shows a part from one time to another, in milliseconds; without an end, to the end."""
        name = f"a{len(self.rules)}"
        first, last = (round(100 * time / self.length, 3) for time in (begin, end or self.length))
        gone = f"{last}%,100%{{opacity:0}}" if end else "100%{opacity:1}"
        self.rules.append(
            f"@keyframes {name}{{0%,{first}%{{opacity:0}}{first + 0.01:.3f}%,{last - 0.01:.3f}%{{opacity:1}}{gone}}}"
            f".{name}{{animation:{name} {self.length}ms infinite{';opacity:0' if end else ''}}}")
        self.add(f'<g class="{name}">{part}</g>')

    def text(self):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
                "<title>sudo asks the phone: the terminal shows two digits, the phone wants them, the command runs</title>"
                f"<style>{STYLE}{''.join(self.rules)}</style>\n" + "\n".join(self.parts) + "\n</svg>\n")


def escape(text):
    return html.escape(text, quote=False)


def first(events, place):
    return next((time, text) for time, kind, text in events if kind == place)


def fields(events):
    """What the phone printed of its request: name to value."""
    printed = "".join(text for _, kind, text in events if kind == "phone")
    return {name: escape(value) for name, value in re.findall(r"^  (\w[\w ]*?) {2,}(.+)$", printed, re.MULTILINE)}


def draw_terminal(picture, events, offset):
    picture.add('<rect x="8" y="8" width="524" height="356" rx="10" fill="#10151b"/>'
                '<text x="270" y="31" class="m" style="fill:#a9b5c0">alice@workstation</text>')
    left, top = 26, 66
    shown = first(events, "command")[1]
    picture.add(f'<text class="t p" x="{left}" y="{top}">{escape(PROMPT)}</text>')
    for index, letter in enumerate(shown):
        at = left + (len(PROMPT) + index) * COLUMN
        picture.during(f'<text class="t" x="{at:.1f}" y="{top}">{escape(letter)}</text>', PAUSE + index * KEY)
    row = 1
    for time, kind, text in events:
        if kind != "terminal":
            continue
        for line in filter(None, text.replace("\r", "").split("\n")):
            picture.during(f'<text class="t" x="{left}" y="{top + row * LINE}">{escape(line)}</text>', offset + time)
            row += 1
    last = max(time for time, kind, _ in events if kind == "terminal")
    picture.during(f'<text class="t p" x="{left}" y="{top + row * LINE}">{escape(PROMPT)}</text>', offset + last + 60)


def draw_phone(picture, events, offset):
    asked = next(time for time, kind, text in events if kind == "phone" and "sign-in request" in text)
    typed, code = first(events, "typed")
    values = fields(events)
    picture.add('<rect x="548" y="8" width="304" height="356" rx="26" fill="#16202a"/>'
                '<rect x="556" y="16" width="288" height="340" rx="19" fill="#f4f6f8"/>'
                '<rect x="572" y="30" width="24" height="24" rx="5" fill="#0b6e4f"/>'
                '<rect x="580" y="34" width="8" height="16" rx="1.5" fill="none" stroke="#fff"/>'
                '<text x="604" y="48" class="b">IAMPASS</text>'
                '<text x="828" y="48" class="q" style="text-anchor:end;font-size:12px">Connected</text>'
                '<text x="572" y="80" class="b">Requests</text>')
    picture.during('<text x="572" y="106" class="q">Nothing waits for you.</text>', 0, offset + asked)
    card = ['<rect x="568" y="92" width="264" height="244" rx="10" fill="#fff" stroke="#0b6e4f" stroke-width="2"/>',
            f'<text x="582" y="118" class="b" style="font-size:16px">{values["service"]} on {values["host"]}</text>']
    for row, (label, name) in enumerate(SHOWN.items()):
        y = 142 + row * 21
        card.append(f'<text x="582" y="{y}" class="q">{label}</text>'
                    f'<text x="664" y="{y}" class="b">{values[name]}</text>')
    card.append('<text x="582" y="236" class="b" style="font-size:12px">Type the two digits</text>'
                '<text x="582" y="254" class="b" style="font-size:12px">that the computer shows</text>'
                '<rect x="768" y="220" width="50" height="40" rx="7" fill="#f4f6f8" stroke="#505d6a"/>'
                '<rect x="582" y="290" width="114" height="38" rx="7" fill="#0b6e4f"/>'
                '<text x="639" y="314" class="w">Approve</text>'
                '<rect x="704" y="290" width="114" height="38" rx="7" fill="#fff" stroke="#c5ced7"/>'
                '<text x="761" y="314" class="b m">Deny</text>')
    picture.during("".join(card), offset + asked)
    # The recorded phone takes digits and approval in one line.
    for index, digit in enumerate(code):
        begin = offset + typed - TAP - (len(code) - index) * 220
        picture.during(f'<text x="{787 + 12 * index}" y="246" class="b m" style="font-size:17px">{digit}</text>', begin)
    picture.during('<rect x="582" y="290" width="114" height="38" rx="7" fill="#000" opacity=".35"/>',
                   offset + typed - 150, offset + typed)
    done = ('<rect x="557" y="86" width="286" height="251" fill="#f4f6f8"/>'
            '<text x="572" y="106" class="q">Nothing waits for you.</text>'
            '<rect x="568" y="124" width="264" height="40" rx="8" fill="#e3eef9"/>'
            '<text x="582" y="149">Approved.</text>')
    picture.during(done, offset + typed + 20)


def draw(events):
    command = first(events, "command")[1]
    offset = PAUSE + len(command) * KEY + ENTER
    picture = Picture(offset + events[-1][0] + END)
    draw_terminal(picture, events, offset)
    draw_phone(picture, events, offset)
    return picture.text()


def main():
    if len(sys.argv) != 3:
        print(__doc__.strip())
        return 64
    pathlib.Path(sys.argv[2]).write_text(draw(json.loads(pathlib.Path(sys.argv[1]).read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
