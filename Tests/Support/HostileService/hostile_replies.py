"""What a service can answer: `reply(status, body)`, and every fault of FAULTS by name."""

import gzip
import json
import socket
import struct
import time

REASONS = {200: "OK", 302: "Found", 404: "Not Found"}
# Seconds; a test that lasts longer has failed anyway.
LONGEST = 60
HUGE = 1024 * 1024 * 1024


class Hangup(Exception):
    """The connection is to be closed now."""


def reply(status, body=b"", headers=(), delay=0):
    """An ordinary reply with its length, on a connection that stays."""

    def send(stream, request):
        time.sleep(delay)
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        stream.sendall("\r\n".join(lines + ["", ""]).encode("latin-1") + body)

    return send


def raw(*pieces, pause=0.0):
    """Bytes as they are, then the end of the connection."""

    def send(stream, request):
        for piece in pieces:
            stream.sendall(piece)
            time.sleep(pause)
        raise Hangup

    return send


def endless(head, piece, total=HUGE, pause=0.0):
    """`head`, then `piece` again and again up to `total` bytes or until the client has gone."""

    def send(stream, request):
        stream.sendall(head)
        end = time.monotonic() + LONGEST
        sent = 0
        while sent < total and time.monotonic() < end:
            stream.sendall(piece)
            sent += len(piece)
            time.sleep(pause)
        raise Hangup

    return send


def silent(stream, request):
    """Nothing, until the client goes."""
    stream.settimeout(LONGEST)
    stream.recv(1)
    raise Hangup


def close(stream, request):
    """FIN instead of an answer."""
    raise Hangup


def reset(stream, request):
    """RST instead of an answer."""
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Hangup


def cut(stream, request):
    """A body whose end is the connection's end, which TLS does not confirm."""
    stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf")
    raise Hangup


def no_length(stream, request):
    """A body whose end is the connection's end, confirmed by TLS."""
    stream.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nwhole")
    if hasattr(stream, "unwrap"):
        stream.settimeout(2)
        stream.unwrap()
    raise Hangup


def drop_if_reused(stream, request):
    """The connection's first request is answered, its second ends it."""
    if request.on_connection > 1:
        raise Hangup
    reply(200, b"{}")(stream, request)


def echo(stream, request):
    reply(200, json.dumps(request.described()).encode())(stream, request)


def redirect(status, location):
    return reply(status, b"{}", [("Location", location)])


#: Replies whose end two readers could see in two places, or that may have been cut short. Each body is whole.
FRAMING = {
    "two_lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 2\r\n\r\nwhole"),
    "same_length_twice": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nwhole"),
    "lengths_in_one_line": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nwhole"),
    "length_with_a_sign": raw(b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nwhole"),
    "length_and_chunks": raw(
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n"),
    "chunked_twice": raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n"),
    "identity": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nwhole"),
    "empty_without_length": raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
    "chunks_without_end": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n"),
    "refusal_without_length": raw(b"HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\nhalf"),
}

FAULTS = {
    "ok": reply(200, b"{}", [("Content-Type", "application/json"), ("X-Kept", "yes")]),
    "whole": reply(200, b"whole"),
    "echo": echo,
    "silent": silent,
    "close": close,
    "reset": reset,
    "cut": cut,
    "no_length": no_length,
    "drop_if_reused": drop_if_reused,
    "slow_header": endless(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"a", pause=1),
    "slow_body": endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b"a", pause=1),
    "huge_body": endless(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % HUGE, b" " * 65536),
    "huge_unannounced": endless(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b" " * 65536),
    "endless_chunked": endless(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "huge_header": endless(b"HTTP/1.1 200 OK\r\nX-Huge: ", b"a" * 65536),
    "many_headers": reply(200, b"{}", [(f"X-{number}", "a") for number in range(150)]),
    "gzip_bomb": reply(200, gzip.compress(bytes(30 * 1024 * 1024)), [("Content-Encoding", "gzip")]),
    "greatest_body": reply(200, b" " * 65536),
    "too_great_body": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n" + b" " * 65537 + b"\r\n0\r\n\r\n"),
    "not_http": raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "http_0_9": raw(b"<html></html>"),
    "interim": raw(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-Early: yes\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
    "endless_interim": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "trailers": raw(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n2\r\n{}\r\n0\r\nX-Late: yes\r\n\r\n"),
    "truncated": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"),
    "redirect_other": redirect(302, "https://elsewhere.example/"),
    "redirect_http": redirect(301, "http://localhost/"),
    "redirect_file": redirect(307, "file:///etc/passwd"),
    "redirect_loop": redirect(308, "/fault/redirect_loop"),
    "server_error": reply(503, b"{}", [("Retry-After", "1")]),
    "slow": reply(200, b"{}", delay=3),
}
