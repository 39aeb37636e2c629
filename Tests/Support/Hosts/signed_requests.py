"""Requests to the service as its clients sign them (the documented scheme), for tests and the bench."""

import base64
import hashlib
import hmac
import json
import secrets
import ssl
import subprocess
import sys
import time
import urllib.request


def headers(client, secret, url, nonce=None):
    nonce, now = nonce or str(secrets.randbits(64)), str(int(time.time()))
    key = secret.encode() if len(secret) == 24 else base64.b64decode(secret)
    token = hashlib.sha256(int(nonce).to_bytes(8, "big") + key).digest()[:16]
    signature = hmac.new(token, (nonce + url + now).encode(), hashlib.sha256).digest()[:16]
    return {
        "Authentication": f"hmac {client}:{nonce}:{base64.b64encode(signature).decode()}",
        "X-IAMPASS-Authentication-Timestamp": now,
    }


def close_at_the_service(host, record_id):
    """Ends a session as a client of the service does. `record_id` names a file in /run/iampass/sessions of the host."""
    record = json.loads(host.path(f"/run/iampass/sessions/{record_id}").read_text())
    # Only in the host's own network is its service to be reached.
    subprocess.run(
        ["nsenter", f"--target={host.leader}", "--net", sys.executable, "-B", __file__,
         str(host.path("/etc/iampass/ca.pem"))],
        input=json.dumps(record), text=True, timeout=20, check=True, stdout=subprocess.DEVNULL)


def main():
    record = json.load(sys.stdin)
    url = record["logout_url"]
    signed = headers(record["session_token"], record["session_secret"], url)
    request = urllib.request.Request(url, data=b"", method="POST", headers=signed)
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=sys.argv[1]), timeout=10) as reply:
        print(reply.read().decode())


if __name__ == "__main__":
    main()
