"""What speaks to the service without an HTTP library: connections on which a test says what it likes."""

import contextlib
import socket
import ssl

from Support.Service.server import ServerWorld
from Support.Service.world import PATIENCE


class StrangersWorld(ServerWorld):
    @property
    def place(self):
        host, port = self.address.removeprefix("https://").split(":")
        return host, int(port)

    def connection(self, protocol="http/1.1", patience=PATIENCE):
        """A connection over TLS on which a test says what it likes."""
        context = ssl.create_default_context(cafile=self.certificate)
        context.set_alpn_protocols([protocol])
        return context.wrap_socket(socket.create_connection(self.place, patience), server_hostname=self.place[0])

    def saying(self, text, protocol="http/1.1"):
        connection = self.connection(protocol)
        connection.sendall(text)
        return connection


def request(line, *headers, host="x"):
    return "\r\n".join([f"{line} HTTP/1.1", "Host: " + host, *headers, "", ""]).encode()


def replies(connection):
    """All that comes until the other side has nothing more to say."""
    received = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            received += piece
    return received
