"""A system bus with a logind of our own: writes down what it is told to do, and does nothing (D-Bus Specification 0.41)."""

import contextlib
import os
import socket
import struct
import threading

METHOD_CALL, METHOD_RETURN, ERROR = 1, 2, 3
PATH, MEMBER, ERROR_NAME, REPLY_SERIAL, SENDER, SIGNATURE = 1, 3, 4, 5, 7, 8
NO_SUCH_SESSION = "org.freedesktop.login1.NoSuchSession"
#: Methods that change nothing.
QUESTIONS = {"Hello", "AddMatch", "RemoveMatch", "GetSession", "GetAll", "Get", "ListSessions", "GetNameOwner"}


class ScriptedBus:
    """`orders`: the calls that would have done something, as (method, first argument). `sessions`: what is listed, as
    (uid, user, seat) by id; a listed session that was told to lock says that it has."""

    def __init__(self, path):
        self.orders = []
        self.sessions = {}
        self.address = "unix:path=" + path
        self._connections = []
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(8)
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self):
        """Loses all connections, and takes no more."""
        # Wakes the waiting threads, which a mere close would not.
        for one in [self._listener, *self._connections]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection, connection.makefile("rb") as reader:
                greet(connection, reader)
                serial = 0
                while message := read_message(reader):
                    serial += 1
                    connection.sendall(self._answer(serial, *message))
        except OSError:
            pass

    def _answer(self, serial, kind, its_serial, member, argument, path):
        if kind != METHOD_CALL:
            return b""
        if member not in QUESTIONS:
            self.orders.append((member, argument))
        if member == "Hello":
            return made(METHOD_RETURN, serial, its_serial, "s", text(":1.1"))
        if member == "ListSessions":
            return made(METHOD_RETURN, serial, its_serial, "a(susso)", self._listed())
        if member == "GetSession" and argument in self.sessions:
            return made(METHOD_RETURN, serial, its_serial, "o", text(f"/session/{argument}"))
        if member == "Get" and path.startswith("/session/"):
            is_locked = ("LockSession", path.removeprefix("/session/")) in self.orders
            return made(METHOD_RETURN, serial, its_serial, "v", b"\1b\0\0" + struct.pack("<I", is_locked))
        if member in ("GetSession", "GetAll", "Get"):
            return made(ERROR, serial, its_serial, "s", text("unknown"), NO_SUCH_SESSION)
        return made(METHOD_RETURN, serial, its_serial)

    def _listed(self):
        data = b""
        for session, (uid, user, seat) in list(self.sessions.items()):
            data += bytes(-len(data) % 8)
            for value in (session, uid, user, seat, f"/session/{session}"):
                data += bytes(-len(data) % 4) + (struct.pack("<I", value) if isinstance(value, int) else text(value))
        # Structures begin at a multiple of 8, and the length does not count what comes before them.
        return struct.pack("<II", len(data), 0) + data


def greet(connection, reader):
    """SASL, as sd-bus speaks it: all its lines at once, EXTERNAL with an empty identity."""
    reader.read(1)
    while (line := reader.readline().strip()) != b"BEGIN":
        if line == b"AUTH EXTERNAL":
            connection.sendall(b"DATA\r\n")
        elif line.startswith((b"AUTH", b"DATA")):
            connection.sendall(b"OK " + os.urandom(16).hex().encode() + b"\r\n")
        elif line == b"NEGOTIATE_UNIX_FD":
            connection.sendall(b"AGREE_UNIX_FD\r\n")
        elif not line:
            raise OSError("the client has gone")


def read_message(reader):
    """(kind, serial, member, first argument where that is a text, path), or None at the end; little-endian, as sd-bus
    writes here."""
    fixed = reader.read(16)
    if len(fixed) < 16:
        return None
    kind = fixed[1]
    body_length, serial, fields_length = struct.unpack("<III", fixed[4:])
    fields = reader.read(fields_length + -fields_length % 8)
    body = reader.read(body_length)
    found = dict(read_fields(fields, fields_length))
    argument = read_text(body, 0)[0] if found.get(SIGNATURE, "").startswith("s") else None
    return kind, serial, found.get(MEMBER, ""), argument, found.get(PATH, "")


def read_fields(data, end):
    place = 0
    while place < end:
        place += -place % 8
        code, length = data[place], data[place + 1]
        signature = data[place + 2:place + 2 + length].decode()
        place += 3 + length
        if signature in ("s", "o"):
            value, place = read_text(data, place + -place % 4)
        elif signature == "g":
            value = data[place + 1:place + 1 + data[place]].decode()
            place += 2 + data[place]
        else:
            place += -place % 4 + 4
            value = None
        yield code, value


def read_text(data, place):
    length, = struct.unpack_from("<I", data, place)
    return data[place + 4:place + 4 + length].decode(), place + 5 + length


def text(value):
    return struct.pack("<I", len(value)) + value.encode() + b"\0"


def made(kind, serial, reply_to, signature="", body=b"", error=None):
    fields = [(REPLY_SERIAL, "u", struct.pack("<I", reply_to)), (SENDER, "s", text("org.freedesktop.DBus"))]
    if error:
        fields.append((ERROR_NAME, "s", text(error)))
    if signature:
        fields.append((SIGNATURE, "g", bytes([len(signature)]) + signature.encode() + b"\0"))
    data = b""
    for code, type_of, value in fields:
        data += bytes(-len(data) % 8) + bytes([code, 1]) + type_of.encode() + b"\0"
        # All headers begin at a multiple of 8, so that the alignment is the same inside.
        data += (b"" if type_of == "g" else bytes(-len(data) % 4)) + value
    head = struct.pack("<cBBBIII", b"l", kind, 1, 1, len(body), serial, len(data))
    return head + data + bytes(-len(data) % 8) + body
