"""Runs inside gdb: writes down each variable that a process asks for, and every library that it maps.

gdb and not a library of ours in LD_PRELOAD: that would miss what glibc asks for itself, and be dropped by setuid
programs and by the worker, whose environment is empty.

The process is the one that gdb was started with, or the one it was attached to, from its next exec on. RECORDED, which
gdb's command line sets, names the file: "read NAME LIBRARY" and "map FILE" lines.
"""

import os

import gdb

# The places of a function's first argument and of its caller's address, before its first instruction.
REGISTERS = {
    "x86_64": ("(char *)$rdi", "*(unsigned long *)$rsp"),
    "aarch64": ("(char *)$x0", "(unsigned long)$x30"),
}  # fmt: skip

mapped = set()


def write(line):
    # Written at once: a worker is killed, and gdb may not end in order.
    with open(RECORDED, "a") as file:  # noqa: F821  (set by gdb's command line)
        file.write(line + "\n")


def note_libraries():
    with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
        found = {words[5] for line in maps if len(words := line.split()) == 6 and ".so" in words[5]}
    for path in sorted(found - mapped):
        write(f"map {path}")
    mapped.update(found)


class Asked(gdb.Breakpoint):
    def stop(self):
        name, caller = REGISTERS[os.uname().machine]
        library = gdb.solib_name(int(gdb.parse_and_eval(caller))) or "program"
        write(f"read {gdb.parse_and_eval(name).string()} {os.path.basename(library)}")
        note_libraries()
        return False


class Leaving(gdb.Breakpoint):
    def stop(self):
        note_libraries()
        return False


def main():
    # Symbols of libc only: those of all thirty libraries take seconds.
    for setting in ("pagination off", "confirm off", "breakpoint pending on", "debuginfod enabled off",
                    "auto-solib-add off", "startup-with-shell off"):
        gdb.execute("set " + setting)
    if gdb.selected_inferior().pid:
        gdb.execute("catch exec")
        gdb.execute("continue")
        gdb.execute("delete")
    else:
        gdb.execute("starti")
    gdb.execute("catch load libc.so")
    gdb.execute("continue")
    gdb.execute("sharedlibrary libc.so")
    gdb.execute("delete")
    Asked("getenv")
    Asked("secure_getenv")
    Leaving("_exit")
    gdb.execute("continue")


main()
