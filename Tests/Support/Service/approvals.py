"""What a computer verifies of an approval and of a phone's keys, by other people's code: python3-cryptography."""

import base64
import hashlib
import hmac
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils


def canonical(value):
    """The text that is signed (RFC 8785 for ASCII names, strings and whole numbers)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(value):
    return hashlib.sha256(canonical(value)).hexdigest()


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def is_signature(key, signature, message):
    """Whether the owner of `key`, the base64 of a SubjectPublicKeyInfo, made this signature in DER."""
    try:
        serialization.load_der_public_key(base64.b64decode(key)).verify(signature, message, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


def is_signed(approval, key):
    """Whether the phone with this key signed the statement."""
    raw = base64.b64decode(approval["signature"])
    assert len(raw) == 64, len(raw)
    r, s = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
    return is_signature(key, utils.encode_dss_signature(r, s), canonical(approval["statement"]))


def is_unlocked(approval, credential_key, origin):
    """Whether this credential's authenticator verified its user for the statement (WebAuthn, level 2, §7.2)."""
    authenticator, client, signature = (
        from_base64url(approval["assertion"][name]) for name in ("authenticator_data", "client_data", "signature"))
    said = json.loads(client)
    host = origin.removeprefix("https://").partition(":")[0]
    return (
        said["type"] == "webauthn.get" and said["origin"] == origin
        and from_base64url(said["challenge"]) == hashlib.sha256(canonical(approval["statement"])).digest()
        and authenticator[:32] == hashlib.sha256(host.encode()).digest() and authenticator[32] & 5 == 5
        and is_signature(credential_key, signature, authenticator + hashlib.sha256(client).digest()))  # fmt: skip


# --- A phone's keys, as `user_phones` tells them ---


def keys_of(phone):
    return {"public_key": phone["public_key"], "credential": phone["credential"]}


def pin(phone, secret, origin, link):
    """The base64 of the MAC by which the computer that made the link knows the keys."""
    message = {**keys_of(phone), "purpose": "pin", "origin": origin, "link": link.rsplit("/", 1)[1]}
    return base64.b64encode(hmac.new(secret, canonical(message), hashlib.sha256).digest()).decode()


def words(phone):
    """Six words for 66 bits: consonant 4, vowel 2, consonant 4, vowel 1."""
    bits = f"{int(digest(keys_of(phone)), 16):0256b}"
    numbers = [int(bits[place : place + 11], 2) for place in range(0, 66, 11)]
    consonants = "bdfghjklmnprstvz"
    return " ".join(
        consonants[n >> 7] + "aiou"[n >> 5 & 3] + consonants[n >> 1 & 15] + "ao"[n & 1] for n in numbers)


def fragment(secret):
    return "#pin=" + base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
