"""The digits by which a phone approves without a network, by other people's code: python3-cryptography."""

import base64
import hashlib
import hmac
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from Support.Service.approvals import canonical, from_base64url

CURVE = ec.SECP256R1()


def point(key):
    return key.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def spki(key):
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


def parts(link):
    """What the link asks, and the computer's key."""
    address, _, fragment = link.partition("#offline=")
    key, challenge, time, method, context = fragment.split(".")
    computer = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, from_base64url(key))
    origin = "/".join(address.split("/")[:3])
    message = {"purpose": "offline", "origin": origin, "challenge": challenge, "time": int(time), "method": method}
    return computer, {**message, "context": json.loads(from_base64url(context))}


def secret(private, public, computer, phone):
    """What one computer and one phone share, from either private key and the other public one."""
    agreed = private.exchange(ec.ECDH(), public)
    return HKDF(hashes.SHA256(), 32, b"iampass offline 1", point(computer) + point(phone)).derive(agreed)


def digits(link, private):
    """What the phone with this private key shows."""
    computer, message = parts(link)
    key = secret(private, computer, computer, private.public_key())
    code = hmac.new(key, canonical(message), hashlib.sha256).digest()
    start = code[31] & 15
    return f"{(int.from_bytes(code[start:start + 4], 'big') & 0x7FFFFFFF) % 10**8:08d}"
