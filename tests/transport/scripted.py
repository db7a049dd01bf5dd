"""A scripted HTTP server that misbehaves, and counts the requests that it applied."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any

OK = b'{"ok":true}'


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the server received."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int

    @property
    def operation(self) -> str:
        return self.headers["x-amz-target"].rpartition(".")[2]


class Hung(Exception):  # noqa: N818 - it is not an error
    """Raised by a behaviour to end the connection."""


Behaviour = Callable[["Scripted", socket.socket, ReceivedRequest], None]


@dataclass
class Scripted:
    """A server that handles each request with the next behaviour of its script, then with `well`."""

    script: Iterable[Behaviour] = ()
    context: SSLContext | None = None
    requests: list[ReceivedRequest] = field(default_factory=list)
    applied: int = 0
    """The number of applied requests, whether or not the client got the response."""
    connections: int = 0
    on_connection: Callable[[int, socket.socket], None] | None = None

    def __post_init__(self) -> None:
        self._script = iter(self.script)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._open: set[socket.socket] = set()
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        # Closing alone does not wake a thread in accept.
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Closes all connections, as a server does with idle ones."""
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Sleeps until the test ends, at most this long."""
        self._stop.wait(seconds)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                number = self.connections
                self._open.add(sock)
            threading.Thread(target=self._serve, args=(number, sock), daemon=True).start()

    def _serve(self, number: int, sock: socket.socket) -> None:
        plain = sock
        try:
            with contextlib.suppress(OSError, Hung):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.on_connection is not None:
                    self.on_connection(number, sock)
                if self.context is not None:
                    sock = self.context.wrap_socket(sock, server_side=True)
                rest = b""
                while True:
                    request, rest = self._read(number, sock, rest)
                    with self._lock:
                        self.requests.append(request)
                        behave = next(self._script, well)
                    behave(self, sock, request)
        finally:
            with self._lock:
                self._open.discard(plain)
            sock.close()

    def _read(self, number: int, sock: socket.socket, rest: bytes) -> tuple[ReceivedRequest, bytes]:
        while b"\r\n\r\n" not in rest:
            rest += self._more(sock)
        head, _, rest = rest.partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", 0))
        while len(rest) < size:
            rest += self._more(sock)
        return ReceivedRequest(line, headers, rest[:size], number), rest[size:]

    def _more(self, sock: socket.socket) -> bytes:
        data = sock.recv(65536)
        if not data:
            raise Hung
        return data

    def apply(self) -> None:
        with self._lock:
            self.applied += 1


def answer(body: bytes = OK, status: int = 200, *, crc: int | None = None, **headers: str) -> bytes:
    """The bytes of a response, like DynamoDB's."""
    given = {
        "Server": "Server",
        "Content-Type": "application/x-amz-json-1.0",
        "Content-Length": str(len(body)),
        "x-amzn-RequestId": "REQUEST1",
        "x-amz-crc32": str(zlib.crc32(body) if crc is None else crc),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode() + body


# Behaviours. All of them apply the request, unless `applied` is False.


def well(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
    server.apply()
    sock.sendall(answer())


def sends(data: bytes, *, applied: bool = True, hang_up: bool = False) -> Behaviour:
    """Responds with these bytes."""

    def behave(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
        if applied:
            server.apply()
        sock.sendall(data)
        if hang_up:
            raise Hung

    return behave


def fails(code: str, status: int = 400, *, applied: bool = False, **headers: str) -> Behaviour:
    """Responds with an error."""
    body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}).encode()
    return sends(answer(body, status, **headers), applied=applied)


def drops(sock: socket.socket) -> None:
    """Resets the connection."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise Hung


def resets(part: int = 0, *, applied: bool = True) -> Behaviour:
    """Sends this many bytes of the response, and resets the connection."""

    def behave(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
        if applied:
            server.apply()
        if part:
            sock.sendall(answer()[:part])
            time.sleep(0.02)  # a reset discards data that was not read yet
        drops(sock)

    return behave


def silent(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
    """Never responds."""
    server.apply()
    server.wait(30)
    raise Hung


def late(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
    """Responds after 0.2 seconds."""
    server.apply()
    server.wait(0.2)
    sock.sendall(answer())


def drips(server: Scripted, sock: socket.socket, request: ReceivedRequest) -> None:
    """Responds byte by byte: each byte comes before the timeout, the whole response does not."""
    server.apply()
    for byte in answer():
        sock.sendall(bytes([byte]))
        server.wait(0.05)


def chunked(body: bytes = OK, pieces: int = 3) -> bytes:
    step = max(1, -(-len(body) // pieces))
    parts = [body[start : start + step] for start in range(0, len(body), step)]
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nx-amz-crc32: {zlib.crc32(body)}\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def signed_at(request: ReceivedRequest) -> str:
    return request.headers["x-amz-date"]


def signed_by(request: ReceivedRequest) -> str:
    found = re.search(r"Credential=([^/]+)/", request.headers["authorization"])
    assert found
    return found[1]


def item(**members: Any) -> bytes:
    return json.dumps({"TableName": "shop", **members}).encode()
