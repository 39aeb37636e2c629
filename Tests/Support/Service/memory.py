"""Where a process's memory has what it should not."""

import re

#: Read at once, in bytes; two reads overlap by the longest needle.
CHUNK = 1 << 20


class Found:
    """A secret in a process's memory; `name` says which, and never what."""

    def __init__(self, name, mapping, is_left_out):
        self.name, self.mapping = name, mapping
        #: The kernel leaves this mapping out of core dumps (madvise(2), MADV_DONTDUMP).
        self.is_left_out = is_left_out

    def __repr__(self):
        return f"{self.name} in {self.mapping}" + (" (not dumped)" if self.is_left_out else "")


def search(pid, needles):
    """Finds of the needles, a map from names to texts, in all that the process can write or was left in its pages."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, mapping, is_left_out in mappings(pid):
            for name in names_inside(memory, begin, end, needles):
                found.append(Found(name, mapping, is_left_out))
    return found


def mappings(pid):
    """(begin, end, name, whether a core dump leaves it out), from proc(5)'s smaps."""
    with open(f"/proc/{pid}/smaps") as file:
        text = file.read()
    for block in re.split(r"\n(?=[0-9a-f]+-[0-9a-f]+ )", text):
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+\s*(.*)", block)
        flags = re.search(r"VmFlags: (.*)", block)
        if head[3].startswith("r") and head[4] not in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
            yield int(head[1], 16), int(head[2], 16), head[4] or "anonymous", "dd" in flags[1].split()


def names_inside(memory, begin, end, needles):
    longest = max(map(len, needles.values()))
    found, tail, place = [], b"", begin
    while place < end:
        try:
            memory.seek(place)
            piece = memory.read(min(CHUNK, end - place))
        except OSError:
            return found
        if not piece:
            return found
        text = tail + piece
        for name, needle in needles.items():
            found += [name] * text.count(needle.encode())
        tail, place = text[-longest + 1:], place + len(piece)
    return found
