"""A server with as much of S3's API as the benchmark needs, in memory: `python bucket.py PORT`."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

OBJECTS: dict[str, bytes] = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        data = OBJECTS.get(self.path.partition("?")[0])
        if data is None:
            return self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        wanted = self.headers["Range"]
        low, _, high = (wanted or "bytes=0-").removeprefix("bytes=").partition("-")
        return self._answer(206 if wanted else 200, data[int(low) : int(high) + 1 if high else None])

    def do_PUT(self) -> None:
        if self.headers["Expect"] == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        OBJECTS[self.path.partition("?")[0]] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(200, b"")

    def do_DELETE(self) -> None:
        OBJECTS.pop(self.path.partition("?")[0], None)
        self._answer(204, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
