"""A black hole on loopback."""

import socket


class FullListener:
    """A port whose queue is full: the kernel drops further SYNs, as a black hole would."""

    #: One connection waits in a queue of length 0. The others are for kernels that count differently.
    IN_THE_QUEUE = 4

    def __init__(self, address="127.0.0.1", port=0):
        self.address, self.port = address, port

    def __enter__(self):
        self.listener = socket.socket()
        self.listener.bind((self.address, self.port))
        self.listener.listen(0)
        self.clients = [socket.socket() for _ in range(self.IN_THE_QUEUE)]
        for client in self.clients:
            client.setblocking(False)
            client.connect_ex(self.listener.getsockname())
        return self.listener.getsockname()[1]

    def __exit__(self, *_):
        for one in [*self.clients, self.listener]:
            one.close()
