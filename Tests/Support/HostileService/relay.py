"""An intermediary between a computer and the real service, who may change what is carried."""

import ssl
import urllib.error
import urllib.request

from Support.HostileService.hostile_replies import reply
from Support.HostileService.hostile_service import HostileService
from Support.Service.world import PATIENCE


class Relay(HostileService):
    """Carries everything to the service of a world, and reads along."""

    def __init__(self, world):
        super().__init__()
        self.world = world
        self.carried = []
        self.behaviour["*"] = self.carry

    def carry(self, stream, request):
        path, body = self.changed(request)
        status, headers, answer = self.ask(request.method, path, request.headers, body)
        self.carried.append((path, status, answer))
        reply(status, answer, headers)(stream, request)

    def changed(self, request):
        """The path and the body that the service gets."""
        return request.path, request.body

    def ask(self, method, path, headers, body=b""):
        """The service's answer: its status, the headers of ours, and its body."""
        sent = {name: value for name, value in headers if name.lower() != "content-length"}
        request = urllib.request.Request(self.world.address + path, method=method, headers=sent, data=body or None)
        context = ssl.create_default_context(cafile=self.world.certificate)
        try:
            answer = urllib.request.urlopen(request, timeout=PATIENCE, context=context)
        except urllib.error.HTTPError as refusal:
            answer = refusal
        with answer:
            ours = [(name, value) for name, value in answer.headers.items() if name.lower().startswith("x-iampass")]
            return answer.status, ours, answer.read()
