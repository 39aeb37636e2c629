"""What packaging/bench measures with: peaks of memory by ptrace, a counting proxy, a timer of dlopen, a memory folder."""

import contextlib
import ctypes
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long

PTRACE_TRACEME, PTRACE_CONT, PTRACE_SETOPTIONS = 0, 7, 0x4200
EVENT_EXIT = 6
WALL = 0x40000000
#: New children are traced too, each stops once before it ends, and all die with the tracer.
OPTIONS = 0x2 | 0x4 | 0x8 | 0x10 | 0x40 | 0x100000


def peaks(words):
    """(name, VmHWM in KiB, CPU in ns) of the process and its children, the process itself first.

    wait4's ru_maxrss will not do: it keeps what a process had before its exec, here Python's own memory.
    """
    reader, writer = os.pipe()
    tracer = os.fork()
    if tracer == 0:
        # A process of its own: waiting for any child must not catch the service.
        status = 1
        try:
            lines = [" ".join(map(str, fields)) for fields in _trace(words)]
            os.write(writer, "\n".join(lines).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as lines:
        found = [line.split() for line in lines.read().splitlines()]
    os.waitpid(tracer, 0)
    return [(name, int(size), int(nanoseconds)) for name, size, nanoseconds in found]


def _trace(words):
    signal.alarm(60)
    first = os.fork()
    if first == 0:
        quiet = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        libc.ptrace(PTRACE_TRACEME, 0, None, None)
        os.execvp(words[0], words)
    os.waitpid(first, WALL)
    libc.ptrace(PTRACE_SETOPTIONS, first, None, OPTIONS)
    libc.ptrace(PTRACE_CONT, first, None, None)
    found, living, new = {}, {first}, set()
    while living:
        pid, status = os.waitpid(-1, WALL)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            living.discard(pid)
            continue
        deliver = os.WSTOPSIG(status)
        if pid not in living:
            living.add(pid)
            new.add(pid)
        if status >> 16 == EVENT_EXIT:
            text = pathlib.Path(f"/proc/{pid}/status").read_text()
            ran = pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]
            found[pid] = (re.search(r"Name:\s*(\S+)", text)[1], re.search(r"VmHWM:\s*(\d+)", text)[1], ran)
        if status >> 16 or deliver == signal.SIGTRAP or (pid in new and deliver == signal.SIGSTOP):
            new.discard(pid)
            deliver = 0
        libc.ptrace(PTRACE_CONT, pid, None, deliver)
    return [found.pop(first), *found.values()]


@contextlib.contextmanager
def memory_at(folder):
    """A folder in memory, as /run is: what is synchronised there costs no disk."""
    os.mkdir(folder, 0o700)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700", "bench", folder], check=True, timeout=30)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True, timeout=30)


class CountingProxy:
    """Ends TLS, counts connections and requests, and passes them on; HTTP/1.1 only."""

    def __init__(self, world):
        self.world = world
        self._listener = None
        self._inward = ssl.create_default_context(cafile=world.certificate)
        self._outward = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._outward.load_cert_chain(world.certificate, world.key)
        self.reset()

    def reset(self):
        #: For each connection of the module's, its request lines.
        self.requests, self.answered_active = {}, None

    def counted(self, ending):
        """Connections and requests up to the approval, or those of the session's end that opened one of their own."""
        lines = {key: [line for line in said if ("logout" in line) == ending] for key, said in self.requests.items()}
        # The session's end may come over the connection that is there already.
        opened = [key for key, said in self.requests.items() if ("logout" in said[0]) == ending]
        return len(opened), sum(map(len, lines.values()))

    def __enter__(self):
        """Takes the service's address; the service moves behind it, and is told its public address."""
        self.world.server.stop()
        self._server = self.world.start(
            os.path.join(os.environ["IAMPASS_BIN"], "iampass-server"), "serve", "--data", self.world.path("data"),
            "--listen", "127.0.0.1:0", "--tls-cert", self.world.certificate, "--tls-key", self.world.key,
            "--public-url", self.world.address)
        line = self._server.wait_for("listening on")
        self._target = ("127.0.0.1", int(re.search(r"https://[0-9.]+:(\d+)", line)[1]))
        self._listener = socket.create_server(("127.0.0.1", int(self.world.address.rsplit(":", 1)[1])))
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        # Wakes the accepting thread, which a mere close would not.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._server.stop()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            with self._outward.wrap_socket(client, server_side=True) as outer, \
                    socket.create_connection(self._target) as plain, \
                    self._inward.wrap_socket(plain, server_hostname="127.0.0.1") as inner:
                # Otherwise a small message waits for the other side's acknowledgement.
                for connection in (outer, inner):
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while request := read_message(outer):
                    # The phone comes this way too.
                    own = b"/device/v1/" not in request.split(b"\r\n", 1)[0]
                    if own:
                        line = request.split(b"\r\n", 1)[0].decode(errors="replace")
                        self.requests.setdefault(id(client), []).append(line)
                    inner.sendall(request)
                    reply = read_message(inner)
                    if own and b'"active"' in reply:
                        self.answered_active = self.answered_active or time.monotonic()
                    outer.sendall(reply)
        except OSError:
            pass  # the worker closes without ceremony


def read_message(stream):
    """One HTTP/1.1 message with a Content-Length or none; empty at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = stream.recv(65536)
        if not more:
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    left = int(length[1]) - len(body) if length else 0
    while left > 0:
        more = stream.recv(65536)
        if not more:
            return b""
        data += more
        left -= len(more)
    return data


DLOPEN = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
int main(int count, char **words) {
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  void *module = count == 2 ? dlopen(words[1], RTLD_NOW) : NULL;
  clock_gettime(CLOCK_MONOTONIC, &b);
  if (module == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  printf("%f\n", (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
  return 0;
}
"""


def dlopen_times(module, runs):
    """Milliseconds, each in a fresh process that has libpam already, as every PAM host does."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "load")
        subprocess.run(["cc", "-O1", "-x", "c", "-", "-o", program, "-Wl,--no-as-needed", "-l:libpam.so.0"],
                       input=DLOPEN, text=True, check=True, timeout=60)
        return [float(subprocess.run([program, module], check=True, capture_output=True, text=True, timeout=30).stdout)
                for _ in range(runs)]
