"""A stand-in for the service that shows an administrator's phone whatever a test wants signed."""

import http.server
import json
import pathlib
import queue
import shutil
import ssl
import sys
import tempfile
import threading
import types

from browser_world import Authority

PAGE = pathlib.Path(__file__).resolve().parents[3] / "Sources/Service/IAMPASSServer/PhonePage"
TYPES = {
    ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".html": "text/html",
    ".webmanifest": "application/manifest+json"}  # fmt: skip
STATUS = {
    "status": True, "application": "office", "user": "alice", "presence": "present", "sessions": [], "methods": [],
    "walkaway": True, "training_required": [], "codes_used": [], "phones": []}  # fmt: skip


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        # A page that is closed leaves its connections.
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, address)


class DocumentService:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="iampass-documents-")
        self.authority = Authority(self.folder)
        self.streams, self.requests = [], []
        self.answers = queue.Queue()
        self.phone = None
        #: What replies to asks for pages: takes `after`, returns a status and bytes.
        self.page = None
        self.asked = []
        #: Names of the page's files that do not arrive.
        self.missing = set()
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                service.get(self)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.post(self, self.path.rpartition("/")[2], body)

            def log_message(self, *words):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.authority.certificate, self.authority.key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.origin = self.address = f"https://localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        for stream in self.streams:
            stream.put(None)
        self.server.shutdown()
        self.server.server_close()
        shutil.rmtree(self.folder)

    # --- What a test does ---

    def ask(self, *requests):
        """Has these requests open, and no others."""
        self.requests = list(requests)
        self.tell()

    def show(self, case, page=None):
        """Asks for the signature of a case of `documents`. `page`: replies to asks for pages, instead of the case's own."""
        pages = {"": case["pages"][0]}
        for before, one in zip(case["pages"], case["pages"][1:]):
            pages[before["next"]] = one
        self.page = page or (lambda after: (200, json.dumps(pages[after]).encode()))
        self.ask(case["request"])

    def tell(self):
        for stream in self.streams:
            stream.put(self.requests)

    # --- What the page asks ---

    def get(self, handler):
        path = handler.path.partition("?")[0]
        if path.startswith("/register/") and "text/html" not in handler.headers["Accept"]:
            reply = {"status": True, "application": "office", "user": "alice", "seconds_left": 600}
            return self.send(handler, 200, json.dumps(reply).encode())
        name = path.removeprefix("/phone/") if path.startswith("/phone/") else ""
        file = PAGE / (name or "phone.html")
        if not file.is_file() or file.name in self.missing:
            return self.send(handler, 404, b"{}")
        return self.send(handler, 200, file.read_bytes(), TYPES[file.suffix])

    def post(self, handler, name, body):
        statement = body.get("statement", {})
        if name == "register":
            lock = body["credential"]
            self.phone = types.SimpleNamespace(
                name="page-1", key=types.SimpleNamespace(text=body["public_key"]), credential=lock and lock["id"],
                lock=types.SimpleNamespace(text=lock and lock["public_key"]))  # fmt: skip
            reply = {
                "status": True, "device": "page-1", "application": "office", "user": "alice",
                "methods": ["acceptance", "device"]}  # fmt: skip
            return self.send(handler, 200, json.dumps(reply).encode())
        if name == "events":
            return self.stream(handler)
        if name == "document":
            self.asked.append(statement)
            return self.send(handler, *self.page(statement["after"]))
        if name == "answer":
            self.answers.put(body)
            self.ask(*(one for one in self.requests if one["session"] != statement["session"]))
        return self.send(handler, 200, json.dumps(STATUS).encode())

    def stream(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        changes = queue.Queue()
        self.streams.append(changes)
        try:
            self.event(handler, "status", STATUS)
            requests = self.requests
            while requests is not None:
                self.event(handler, "requests", {"status": True, "requests": requests, "answered": []})
                requests = changes.get()
        except OSError:
            pass
        finally:
            self.streams.remove(changes)
            handler.close_connection = True

    def event(self, handler, name, value):
        handler.wfile.write(f"event: {name}\ndata: {json.dumps(value)}\n\n".encode())
        handler.wfile.flush()

    def send(self, handler, status, body, kind="application/json"):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
