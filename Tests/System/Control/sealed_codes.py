"""Sealed recovery codes by other people's code: python3-cryptography. As a program it prints its input, sealed for a key."""

import base64
import hashlib
import hmac
import json
import os
import sys

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

BEGINNING = "iampass-codes-1."
PURPOSE = b"iampass recovery codes"
SALT, TAG, POINT = 16, 32, 65


def mac(key, *parts):
    return hmac.digest(key, b"".join(parts), "sha256")


def point(key):
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Seal:
    """What the owners of two keys derive from what they agree on, and from both keys."""

    def __init__(self, own, other, sender, receiver):
        other = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), other)
        secret = mac(PURPOSE, own.exchange(ec.ECDH(), other), sender, receiver)
        self.key = hashlib.sha256(b"sealed link" + secret).digest()

    def derived(self, purpose, salt):
        return mac(self.key, purpose, b"\n", PURPOSE, b"\n", salt)

    def exchanged(self, text, salt):
        key = self.derived(b"encrypt", salt)
        stream = b"".join(mac(key, block.to_bytes(4, "big")) for block in range(len(text) // 32 + 1))
        return bytes(one ^ other for one, other in zip(text, stream))

    def tag(self, encrypted, salt):
        return mac(self.derived(b"tag", salt), encrypted)


class Receiver:
    def __init__(self):
        self.own = ec.generate_private_key(ec.SECP256R1())
        self.text = base64url(point(self.own))

    def opened(self, text):
        assert text.startswith(BEGINNING), text
        data = from_base64url(text.removeprefix(BEGINNING))
        sender, salt, encrypted, tag = data[:POINT], data[POINT:POINT + SALT], data[POINT + SALT:-TAG], data[-TAG:]
        seal = Seal(self.own, sender, sender, point(self.own))
        assert hmac.compare_digest(tag, seal.tag(encrypted, salt)), "the tag is another"
        return json.loads(seal.exchanged(encrypted, salt))


def sealed(text, key):
    own, receiver, salt = ec.generate_private_key(ec.SECP256R1()), from_base64url(key), os.urandom(SALT)
    seal = Seal(own, receiver, point(own), receiver)
    encrypted = seal.exchanged(text, salt)
    return BEGINNING + base64url(point(own) + salt + encrypted + seal.tag(encrypted, salt))


if __name__ == "__main__":
    print(sealed(sys.stdin.buffer.read(), sys.argv[1]))
