"""A security key of software: the kernel has it as a FIDO device of USB's kind, by /dev/uhid.

usage: security_key.py SECRET touched|untouched

It speaks CTAPHID and CTAP 2.0 as far as libfido2 asks it to. Each credential's private key is derived from SECRET, so that
the same secret is the same key after it was pulled out. An untouched key blinks until its time is over.
"""

import hashlib
import hmac
import os
import secrets
import select
import struct
import sys
import time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor

SECRET, TOUCHED = sys.argv[1].encode(), sys.argv[2] == "touched"
#: Seconds that it waits for a finger. Keys wait for 30.
PATIENCE = 8
UHID_CREATE2, UHID_INPUT2, UHID_OUTPUT = 11, 12, 6
BUS_USB = 3
#: One input and one output report of 64 bytes, on FIDO's usage page.
DESCRIPTOR = bytes.fromhex("06d0f10901a1010920150026ff00750895408102" "0921150026ff00750895409102c0")
PING, MSG, INIT, CBOR, CANCEL, KEEPALIVE, ERROR = 0x01, 0x03, 0x06, 0x10, 0x11, 0x3B, 0x3F
MAKE_CREDENTIAL, GET_ASSERTION, GET_INFO = 0x01, 0x02, 0x04
NO_CREDENTIALS, USER_ACTION_TIMEOUT, CANCELLED, INVALID_COMMAND = 0x2E, 0x2F, 0x2D, 0x01
ES256 = -7
USER_PRESENT, HAS_CREDENTIAL = 0x01, 0x40
CURVE_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Refused(Exception):
    """Its status byte is the whole answer."""


class Key:
    """What a key decides, without the cable."""

    def __init__(self, wait_for_touch):
        self.wait_for_touch = wait_for_touch
        self.counter = 0

    def answer(self, command, request):
        if command == GET_INFO:
            return {1: ["FIDO_2_0"], 3: bytes(16), 4: {"rk": False, "up": True, "plat": False}, 5: 1200}
        if command == MAKE_CREDENTIAL:
            return self.make(request[2]["id"], request[1])
        if command == GET_ASSERTION:
            return self.sign(request[1], request[2], request.get(3, []), request.get(5, {}).get("up", True))
        raise Refused(INVALID_COMMAND)

    def private_key(self, host, nonce):
        number = int.from_bytes(hmac.digest(SECRET, host.encode() + nonce, "sha256"), "big") % (CURVE_ORDER - 1) + 1
        return ec.derive_private_key(number, ec.SECP256R1())

    def tag(self, host, nonce):
        return hmac.digest(SECRET, b"tag" + host.encode() + nonce, "sha256")[:16]

    def data(self, host, flags):
        self.counter += 1
        return hashlib.sha256(host.encode()).digest() + struct.pack(">BI", flags, self.counter)

    def make(self, host, digest):
        self.wait_for_touch()
        nonce = secrets.token_bytes(32)
        credential = nonce + self.tag(host, nonce)
        key = self.private_key(host, nonce)
        point = key.public_key().public_numbers()
        public = {1: 2, 3: ES256, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        data = self.data(host, USER_PRESENT | HAS_CREDENTIAL) + bytes(16)
        data += struct.pack(">H", len(credential)) + credential + cbor.encode(public)
        return {1: "packed", 2: data, 3: {"alg": ES256, "sig": key.sign(data + digest, ec.ECDSA(hashes.SHA256()))}}

    def sign(self, host, digest, allowed, needs_touch):
        known = [one for one in allowed if self.tag(host, one["id"][:32]) == one["id"][32:]]
        if not known:
            raise Refused(NO_CREDENTIALS)
        if needs_touch:
            self.wait_for_touch()
        data = self.data(host, USER_PRESENT if needs_touch else 0)
        signature = self.private_key(host, known[0]["id"][:32]).sign(data + digest, ec.ECDSA(hashes.SHA256()))
        return {1: {"id": known[0]["id"], "type": "public-key"}, 2: data, 3: signature}


class Cable:
    """Reports of 64 bytes, and the messages in them."""

    def __init__(self):
        self.device = os.open("/dev/uhid", os.O_RDWR)
        head = struct.pack(
            "<I128s64s64sHHIIII", UHID_CREATE2, b"Key of software", b"", b"", len(DESCRIPTOR), BUS_USB, 0x1050, 0x0407, 1, 0)
        os.write(self.device, head + DESCRIPTOR.ljust(4096, b"\0"))
        self.key = Key(self.wait_for_touch)
        self.channel = b""
        self.channels = 0

    def report(self, seconds=None):
        """The next report that somebody sent; None after `seconds`."""
        while True:
            if not select.select([self.device], [], [], seconds)[0]:
                return None
            event = os.read(self.device, 4380)
            if struct.unpack_from("<I", event)[0] == UHID_OUTPUT:
                size = struct.unpack_from("<H", event, 4 + 4096)[0]
                # hidraw puts the report's number, which is 0, in front.
                return event[4 + size - 64:4 + size]

    def send(self, channel, command, payload):
        parts = [struct.pack(">BH", 0x80 | command, len(payload)) + payload[:57]]
        rest = payload[57:]
        for place in range(0, len(rest), 59):
            parts.append(bytes([place // 59]) + rest[place:place + 59])
        for part in parts:
            report = (channel + part).ljust(64, b"\0")
            os.write(self.device, struct.pack("<IH", UHID_INPUT2, 64) + report)

    def message(self):
        """Channel, command and payload of the next whole message."""
        first = self.report()
        channel, command, size = first[:4], first[4] & 0x7F, struct.unpack_from(">H", first, 5)[0]
        payload = first[7:]
        while len(payload) < size:
            payload += self.report()[5:]
        return channel, command, payload[:size]

    def wait_for_touch(self):
        if TOUCHED:
            return
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # "Touch me."
            self.send(self.channel, KEEPALIVE, b"\x02")
            report = self.report(0.1)
            if report is not None and report[4] & 0x7F == CANCEL:
                raise Refused(CANCELLED)
        raise Refused(USER_ACTION_TIMEOUT)

    def serve(self):
        while True:
            self.channel, command, payload = self.message()
            if command == INIT:
                self.channels += 1
                self.send(self.channel, INIT, payload[:8] + struct.pack(">I", self.channels) + bytes([2, 1, 0, 0, 0x0C]))
            elif command == PING:
                self.send(self.channel, PING, payload)
            elif command == CBOR:
                self.send(self.channel, CBOR, self.answer(payload))
            elif command != CANCEL:
                self.send(self.channel, ERROR, b"\x01")

    def answer(self, payload):
        try:
            reply = self.key.answer(payload[0], cbor.decode(payload[1:]) if len(payload) > 1 else {})
        except Refused as refusal:
            return bytes([refusal.args[0]])
        return b"\0" + cbor.encode(reply)


if __name__ == "__main__":
    Cable().serve()
