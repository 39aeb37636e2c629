"""A browser at the console, for tests that look at pages and send their forms."""

import http.client
import ssl
import urllib.parse

from Support.Service.world import PATIENCE


class Visitor:
    """Keeps its cookies, and follows no redirect.

    `address`: the console's, as the browser knows it. `authority`: a file with the certificate that it trusts.
    """

    def __init__(self, address, authority):
        self.origin = address
        address = urllib.parse.urlsplit(address)
        self.connection = http.client.HTTPSConnection(
            address.hostname, address.port, timeout=PATIENCE, context=ssl.create_default_context(cafile=authority))
        self.cookies = {}

    def ask(self, method, path, **form):
        """Status and text."""
        headers = {"Accept": "text/html", "Origin": self.origin, "Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items()),
                   "Content-Type": "application/x-www-form-urlencoded"}  # fmt: skip
        self.connection.request(method, "/console" + path, urllib.parse.urlencode(form), headers)
        reply = self.connection.getresponse()
        for line in reply.headers.get_all("Set-Cookie") or ():
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply.status, reply.read().decode()
