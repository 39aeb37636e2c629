"""Requests of which a proxy before the service might see another end: none is answered, nor what follows it."""

import unittest

from strangers import StrangersWorld, replies, request


def setUpModule():
    global world
    world = StrangersWorld()
    unittest.addModuleCleanup(world.close)
    world.serve_alone()


class Smuggling(unittest.TestCase):
    AFTER = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    def framed(self, *headers, body=b""):
        return request("POST /healthz", *headers) + body

    def ambiguous(self):
        after, chunked = self.AFTER, "Transfer-Encoding: chunked"
        end = b"0\r\n\r\n"
        return {
            "length, then chunks": self.framed("Content-Length: 5", chunked, body=end),
            "chunks, then length": self.framed(chunked, "Content-Length: 5", body=end),
            "two lengths": self.framed("Content-Length: 0", f"Content-Length: {len(after)}"),
            "two lengths in one": self.framed(f"Content-Length: 0, {len(after)}"),
            "unknown coding": self.framed("Transfer-Encoding: xchunked", body=end),
            "chunks not last": self.framed("Transfer-Encoding: chunked, identity", body=end),
            "chunks twice": self.framed(chunked, chunked, body=end),
            "no coding, then chunks": self.framed("Transfer-Encoding: identity", chunked, body=end),
            "coding before chunks": self.framed("Transfer-Encoding: gzip, chunked", body=end),
            "tab in the coding": self.framed("Transfer-Encoding: \x0bchunked", body=end),
            "space before the colon": self.framed("Content-Length : 0"),
            "coding with a space before its colon": self.framed("Transfer-Encoding : chunked", body=end),
            "signed length": self.framed("Content-Length: +0"),
            "negative length": self.framed("Content-Length: -1"),
            "hexadecimal length": self.framed("Content-Length: 0x0"),
            "length of two words": self.framed("Content-Length: 0 0"),
            "empty length": self.framed("Content-Length: "),
            "length beyond 64 bits": self.framed(f"Content-Length: {1 << 64}"),
            "chunk beyond 64 bits": self.framed(chunked, body=b"10000000000000000\r\n\r\n"),
            "hexadecimal chunk": self.framed(chunked, body=b"0x0\r\n\r\n"),
            "chunk that is longer than said": self.framed(chunked, body=b"1\r\nab\r\n" + end),
            "chunks of bare line feeds": self.framed(chunked, body=b"0\n\n"),
            "bare line feeds": self.framed("Content-Length: 0").replace(b"\r\n", b"\n"),
            "one bare line feed": self.framed("X: a\nContent-Length: 0"),
            "one bare carriage return": self.framed("X: a\rContent-Length: 0"),
            "folded header": self.framed("X: a", " b", "Content-Length: 0"),
            "folded coding": self.framed("Transfer-Encoding:", " chunked", body=end),
            "space before the first header": self.framed().replace(b"Host", b" Host"),
            "header without a colon": self.framed("X", "Content-Length: 0"),
            "null in a header": self.framed("X: a\0b", "Content-Length: 0"),
            "two hosts": self.framed("Host: y", "Content-Length: 0"),
            "chunks in HTTP/1.0": self.framed(chunked, body=end).replace(b"HTTP/1.1", b"HTTP/1.0"),
            "space in the target": self.framed("Content-Length: 0").replace(b"/healthz", b"/health z"),
        }  # fmt: skip

    def test_what_two_readers_could_read_differently_is_refused(self):
        for name, text in self.ambiguous().items():
            with self.subTest(name), world.saying(text + self.AFTER) as connection:
                connection.settimeout(20)
                received = replies(connection)
                self.assertLessEqual(received.count(b"HTTP/1.1 "), 1, received)
                self.assertNotIn(b"HTTP/1.1 200", received)
                self.assertTrue(not received or received.startswith(b"HTTP/1.1 400 "), received)

    def test_a_target_of_another_authority_is_refused(self):
        for target, host, status in (
            ("https://elsewhere.test/healthz", "x", 400), ("http://x/healthz", "x", 400), ("x:/healthz", "x", 400),
            ("https://x/healthz", "x", 200),
        ):  # fmt: skip
            with self.subTest(target), world.saying(request("GET " + target, "Connection: close", host=host)) as connection:
                received = replies(connection)
                self.assertTrue(received.startswith(f"HTTP/1.1 {status} ".encode()), received)

    def test_what_only_one_reading_has_is_answered(self):
        """Otherwise the other tests would prove nothing."""
        plain = {
            "length": self.framed("Content-Length: 2", body=b"{}"),
            "chunks": self.framed("Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
        }
        for name, text in plain.items():
            with self.subTest(name), world.saying(text + self.AFTER[:-2] + b"Connection: close\r\n\r\n") as connection:
                received = replies(connection)
                self.assertEqual(received.count(b"HTTP/1.1 "), 2, received)
                self.assertIn(b"HTTP/1.1 200", received)


if __name__ == "__main__":
    unittest.main()
