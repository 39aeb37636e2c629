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
    ask(host, "POST", record["logout_url"], record["session_token"], record["session_secret"])


def link_for_a_lost_phone(host, user):
    """The link of a phone in place of the user's, as whoever has the application's secret gets it."""
    keys = dict(line.split(" = ") for line in host.path("/etc/iampass/credentials").read_text().splitlines() if " = " in line)
    users = dict(line.split(":") for line in host.path("/etc/iampass/users").read_text().splitlines() if ":" in line)
    application = keys["application_id"]
    url = f"https://localhost:8443/management/lost_user_mobile_device/{application}/{users[user]}"
    return ask(host, "GET", url, application, keys["application_secret"])["register_url"]


def ask(host, method, url, client, secret):
    """The reply's JSON. Only in the host's own network is its service to be reached."""
    request = {"method": method, "url": url, "client": client, "secret": secret}
    done = subprocess.run(
        ["nsenter", f"--target={host.leader}", "--net", sys.executable, "-B", __file__,
         str(host.path("/etc/iampass/ca.pem"))],
        input=json.dumps(request), text=True, timeout=20, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    asked = json.load(sys.stdin)
    signed = headers(asked["client"], asked["secret"], asked["url"])
    data = b"" if asked["method"] == "POST" else None
    request = urllib.request.Request(asked["url"], data=data, method=asked["method"], headers=signed)
    with urllib.request.urlopen(request, context=ssl.create_default_context(cafile=sys.argv[1]), timeout=10) as reply:
        print(reply.read().decode())


if __name__ == "__main__":
    main()
