"""Gives an adapter other link keys, as an impostor with the phone's address has: none, or a wrong one.

usage: link_keys.py ADAPTER [PEER KEY]

ADAPTER is its number, PEER the address of the other side, KEY 32 hexadecimal digits.
"""

import ctypes
import os
import socket
import struct
import sys

# The kernel's management interface (include/net/bluetooth/mgmt.h).
LOAD_LINK_KEYS, COMMAND_COMPLETE = 0x0012, 0x0001
CONTROL_CHANNEL, NO_ADAPTER = 3, 0xFFFF
#: An authenticated key of P-256, so that its kind is not what gives it away.
KIND = 8


def main():
    adapter = int(sys.argv[1])
    keys = []
    if len(sys.argv) > 2:
        peer = bytes.fromhex(sys.argv[2].replace(":", ""))[::-1]
        keys.append(peer + bytes([0, KIND]) + bytes.fromhex(sys.argv[3]) + bytes([0]))
    control = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    control.settimeout(10)
    # Python cannot name the channel.
    own = struct.pack("<HHH", socket.AF_BLUETOOTH, NO_ADAPTER, CONTROL_CHANNEL)
    library = ctypes.CDLL(None, use_errno=True)
    if library.bind(control.fileno(), own, len(own)) != 0:
        raise OSError(ctypes.get_errno(), "bind")
    body = struct.pack("<BH", 0, len(keys)) + b"".join(keys)
    control.send(struct.pack("<HHH", LOAD_LINK_KEYS, adapter, len(body)) + body)
    while True:
        event, _, _, command, status = struct.unpack_from("<HHHHB", control.recv(512))
        if command == LOAD_LINK_KEYS:
            assert (event, status) == (COMMAND_COMPLETE, 0), (event, os.strerror(status))
            return


if __name__ == "__main__":
    main()
