"""A server that answers from an engine and injects faults, over HTTP, TLS or a CONNECT tunnel.

A `FaultProxy` takes requests as DynamoDB does and hands them to an engine. Its script says which fault each request
gets; requests after the end of the script are answered well. `applied` has every request that the engine carried out,
whether or not the client learned of it.

A fault is a function that is given the `Exchange` of one request. It may read, apply and answer the request, break the
connection by `close` or `reset`, or do any of these in part.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import Transport

CERTIFIED = "localhost"
"""The name in the certificate. The proxy listens on 127.0.0.1 only."""

_LATEST = 10.0
"""Seconds after which a fault that waits gives up, whatever happens."""


@dataclass(frozen=True)
class Identity:
    """The TLS contexts of a proxy and of clients that trust it."""

    server: dict[str, ssl.SSLContext]
    """By version: `1.2` and `1.3`."""
    client: ssl.SSLContext


def has_openssl() -> bool:
    """Whether a certificate can be made here."""
    return shutil.which("openssl") is not None


def make_identity(folder: Path) -> Identity:
    """Makes a certificate that signs itself, with the `openssl` command."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", f"/CN={CERTIFIED}", "-addext", f"subjectAltName=DNS:{CERTIFIED},IP:127.0.0.1"]
    subprocess.run([*command.split(), *names, "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    server = {}
    for name, version in (("1.2", ssl.TLSVersion.TLSv1_2), ("1.3", ssl.TLSVersion.TLSv1_3)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = version
        context.load_cert_chain(cert, key)
        server[name] = context
    return Identity(server, ssl.create_default_context(cafile=str(cert)))


class Ended(Exception):  # noqa: N818 - not an error
    """The connection is over."""


@dataclass(frozen=True)
class Applied:
    """One request that the engine carried out without an error."""

    operation: str
    body: bytes


@dataclass
class FaultProxy:
    """Listens on a free port of 127.0.0.1 until it is closed."""

    engine: Transport
    context: ssl.SSLContext | None = None
    """For TLS; None is plain HTTP."""
    tunnel: bool = False
    """Whether each connection begins with CONNECT: the proxy is then the HTTP proxy and the server in one."""
    applied: list[Applied] = field(default_factory=list)
    requests: int = 0
    """Requests that arrived, at least in part."""
    connections: int = 0
    injected: int = 0
    """Faults that were used up."""

    def __post_init__(self) -> None:
        self._script: list[Fault] = []
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._idle = threading.Condition(self._lock)
        self._reserved = self._bound(0)
        self.port: int = self._reserved.getsockname()[1]
        self._listen()

    @property
    def url(self) -> str:
        return f"{'https' if self.context else 'http'}://{CERTIFIED}:{self.port}"

    def __enter__(self) -> FaultProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def play(self, faults: Iterable[Fault]) -> None:
        """Sets the script for the requests from now on."""
        self._hurry.clear()
        with self._lock:
            self._script = list(faults)

    def settle(self) -> None:
        """Lets faults that wait go on, and returns when no request is being handled. The script is empty then."""
        self._hurry.set()
        with self._idle:
            self._script = []
            if not self._idle.wait_for(lambda: self._busy == 0, timeout=_LATEST):
                raise AssertionError("the proxy is still handling a request")

    def refuse(self) -> None:
        """Stops listening, so that the next connection is refused. Connections there are stay."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # closing alone does not wake a thread that accepts
        self._listening.close()

    def accept(self) -> None:
        """Listens again, on the same port, after `refuse`."""
        self._listen()

    def close(self) -> None:
        """Closes all connections and waits for the threads."""
        self._hurry.set()
        self.refuse()
        self._reserved.close()
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_LATEST)

    def wait(self, seconds: float = _LATEST) -> None:
        """Waits, until `settle` or `close` at most."""
        self._hurry.wait(seconds)

    def next_fault(self, *, at_accept: bool) -> Fault | None:
        """Takes the next fault from the script, if its time has come."""
        with self._lock:
            if not self._script or self._script[0].at_accept is not at_accept:
                return None
            self.injected += 1
            return self._script.pop(0)

    def apply(self, operation: str, body: bytes) -> tuple[int, bytes]:
        """Has the engine carry out a request; the status and the body of its answer."""
        try:
            answer = self.engine.send(operation, body)
        except DynamoDBError as error:
            return error.status, error.body()
        with self._lock:
            self.applied.append(Applied(operation, body))
        return 200, answer

    def _listen(self) -> None:
        self._listening = self._reserved
        # The next one to listen, bound before this one listens: so nobody else gets the port after `refuse`.
        self._reserved = self._bound(self.port)
        self._listening.listen(64)
        self._start(self._accept, self._listening)

    def _bound(self, port: int) -> socket.socket:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # A small window: the client's send buffer fills soon where the request is not read.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.bind(("127.0.0.1", port))
        return sock

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
            self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        # TLS takes its socket over; the duplicate is for what goes past TLS.
        plain, stream = sock.dup(), sock
        with self._lock:
            self._open.add(plain)
        try:
            with contextlib.suppress(OSError, Ended):
                plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                plain.settimeout(_LATEST)
                if fault := self.next_fault(at_accept=True):
                    fault(Exchange(self, sock, plain))
                if self.tunnel:
                    self._connect(plain)
                if self.context is not None:
                    stream = self.context.wrap_socket(sock, server_side=True)
                while True:
                    if not plain.recv(1, socket.MSG_PEEK):
                        return
                    with self._busily():
                        self._one(Exchange(self, stream, plain))
        finally:
            with self._lock:
                self._open.discard(plain)
            for one in (sock, stream, plain):
                with contextlib.suppress(OSError):
                    one.close()

    @contextlib.contextmanager
    def _busily(self) -> Iterator[None]:
        with self._lock:
            self._busy += 1
        try:
            yield
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _one(self, exchange: Exchange) -> None:
        if self.context is not None and not exchange.peeked():
            return  # part of TLS itself, and no request yet
        self.requests += 1
        fault = self.next_fault(at_accept=False)
        if fault is not None:
            fault(exchange)
        else:
            exchange.read()
            exchange.answer(*exchange.apply())

    def _connect(self, plain: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            data = plain.recv(1)
            if not data:
                raise Ended
            head += data
        plain.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")


class Exchange:
    """One request on one connection, read and answered as far as a fault lets it."""

    def __init__(self, proxy: FaultProxy, stream: socket.socket, plain: socket.socket) -> None:
        self.proxy = proxy
        self.stream = stream
        """What the request comes over: TLS or the socket itself."""
        self.plain = plain
        """The socket below TLS."""
        self.operation = ""
        self.body = b""
        self._seen = b""

    def peeked(self) -> bool:
        """Reads a first byte of a request over TLS; false at the end of the connection."""
        self._seen = self.stream.recv(1)
        if not self._seen:
            raise Ended
        return True

    def read_head(self) -> int:
        """Reads the head of the request; the length of its body."""
        while b"\r\n\r\n" not in self._seen:
            self._more()
        head, _, self._seen = self._seen.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")[1:]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        self.operation = headers["x-amz-target"].rpartition(".")[2]
        return int(headers["content-length"])

    def read(self) -> None:
        """Reads the whole request."""
        size = self.read_head()
        while len(self._seen) < size:
            self._more()
        self.body = self._seen[:size]

    def apply(self) -> tuple[int, bytes]:
        """Has the engine carry the request out; the status and the body of the answer."""
        return self.proxy.apply(self.operation, self.body)

    def answer(self, status: int, body: bytes) -> None:
        self.send(response(status, body))

    def send(self, data: bytes) -> None:
        self.stream.sendall(data)

    def close(self) -> NoReturn:
        """Ends the connection: for TLS without a word, as a process that is killed does."""
        with contextlib.suppress(OSError):
            self.plain.shutdown(socket.SHUT_WR)
        raise Ended

    def reset(self) -> NoReturn:
        """Ends the connection by a reset."""
        self.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Ended

    def _more(self) -> None:
        data = self.stream.recv(65536)
        if not data:
            raise Ended
        self._seen += data


def response(status: int, body: bytes, *, crc: int | None = None, more: str = "") -> bytes:
    """The bytes of an answer in HTTP, with the checksum that DynamoDB sends."""
    checksum = zlib.crc32(body) if crc is None else crc
    return (
        f"HTTP/1.1 {status} Status\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: FAULT\r\n"
        f"Content-Length: {len(body)}\r\nx-amz-crc32: {checksum}\r\n{more}\r\n"
    ).encode() + body


def failure(code: str, status: int = 400) -> tuple[int, bytes]:
    """The status and body of an error."""
    return status, json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "injected"}).encode()


# --- The faults -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """A fault, by name. `at_accept`: it concerns a new connection, before anything of a request was read."""

    name: str
    inject: Callable[[Exchange], None]
    at_accept: bool = False

    def __call__(self, exchange: Exchange) -> None:
        self.inject(exchange)


FAULTS: dict[str, Fault] = {}


def fault(inject: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    FAULTS[inject.__name__] = Fault(inject.__name__, inject)
    return inject


def fault_at_accept(inject: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    FAULTS[inject.__name__] = Fault(inject.__name__, inject, at_accept=True)
    return inject


# New connections.


@fault_at_accept
def close_at_accept(exchange: Exchange) -> None:
    exchange.close()


@fault_at_accept
def reset_at_accept(exchange: Exchange) -> None:
    exchange.reset()


@fault_at_accept
def silent_at_accept(exchange: Exchange) -> None:
    exchange.proxy.wait()
    exchange.close()


@fault_at_accept
def close_in_handshake(exchange: Exchange) -> None:
    """Closes after the first bytes: of the CONNECT, of the TLS handshake or of the request."""
    exchange.plain.recv(16)
    exchange.close()


@fault_at_accept
def garbage_at_accept(exchange: Exchange) -> None:
    exchange.plain.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    exchange.close()


@fault_at_accept
def close_after_connect(exchange: Exchange) -> None:
    """Opens the tunnel, if there is one, and closes it at once."""
    if exchange.proxy.tunnel:
        exchange.proxy._connect(exchange.plain)
    exchange.close()


@fault_at_accept
def refuse_connect(exchange: Exchange) -> None:
    """Refuses the tunnel, if there is one; else closes."""
    if exchange.proxy.tunnel:
        exchange.plain.recv(4096)
        exchange.plain.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
    exchange.close()


# Before the request is applied.


@fault
def close_unread(exchange: Exchange) -> None:
    exchange.close()


@fault
def reset_unread(exchange: Exchange) -> None:
    exchange.reset()


@fault
def close_in_request(exchange: Exchange) -> None:
    exchange.stream.recv(100)
    exchange.close()


@fault
def reset_in_request(exchange: Exchange) -> None:
    exchange.read_head()
    exchange.reset()


@fault
def slow_reading(exchange: Exchange) -> None:
    """Stops reading until the client has given up."""
    exchange.stream.recv(100)
    exchange.proxy.wait()
    exchange.reset()


@fault
def close_before_applying(exchange: Exchange) -> None:
    exchange.read()
    exchange.close()


@fault
def reset_before_applying(exchange: Exchange) -> None:
    exchange.read()
    exchange.reset()


@fault
def early_refusal(exchange: Exchange) -> None:
    """Refuses the request before its body was read, and closes."""
    exchange.read_head()
    exchange.send(response(*failure("ValidationException"), more="Connection: close\r\n"))
    exchange.close()


@fault
def unavailable(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*failure("ServiceUnavailable", 503))


@fault
def throttled(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*failure("ThrottlingException"))


@fault
def throughput_exceeded(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*failure("ProvisionedThroughputExceededException"))


@fault
def transaction_conflict(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*failure("TransactionConflictException"))


@fault
def request_timeout(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(*failure("RequestTimeout", 408), more="Connection: close\r\n"))
    exchange.close()


@fault
def access_denied(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*failure("AccessDeniedException"))


@fault
def garbage(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    exchange.close()


@fault
def redirect(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(301, b"", more="Location: https://elsewhere.example/\r\n"))


@fault
def applied_late(exchange: Exchange) -> None:
    """Applies the request when the client has given up."""
    exchange.read()
    exchange.proxy.wait()
    exchange.answer(*exchange.apply())


# After the request was applied.


@fault
def close_after_applying(exchange: Exchange) -> None:
    exchange.read()
    exchange.apply()
    exchange.close()


@fault
def reset_after_applying(exchange: Exchange) -> None:
    exchange.read()
    exchange.apply()
    exchange.reset()


@fault
def tls_close_after_applying(exchange: Exchange) -> None:
    """Ends TLS as the protocol wants it, by close_notify."""
    exchange.read()
    exchange.apply()
    _close_notify(exchange)


@fault
def answered_late(exchange: Exchange) -> None:
    exchange.read()
    answer = exchange.apply()
    exchange.proxy.wait()
    exchange.answer(*answer)


@fault
def internal_error(exchange: Exchange) -> None:
    exchange.read()
    exchange.apply()
    exchange.answer(*failure("InternalServerError", 500))


@fault
def bad_gateway(exchange: Exchange) -> None:
    exchange.read()
    exchange.apply()
    exchange.answer(502, b"<html>Bad gateway</html>")


@fault
def gateway_timeout(exchange: Exchange) -> None:
    """As API gateways and meshes answer: JSON, and no DynamoDB error."""
    exchange.read()
    exchange.apply()
    exchange.answer(504, b'{"message":"Endpoint request timed out"}')


@fault
def web_page(exchange: Exchange) -> None:
    exchange.read()
    exchange.apply()
    exchange.answer(200, b"<html>Please log in</html>")


@fault
def truncated_head(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(*exchange.apply())[:40])
    exchange.close()


@fault
def truncated_body(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(*exchange.apply())[:-1])
    exchange.close()


@fault
def truncated_body_without_length(exchange: Exchange) -> None:
    exchange.read()
    _, body = exchange.apply()
    exchange.send(b"HTTP/1.0 200 OK\r\n\r\n" + body[:-1])
    exchange.close()


@fault
def reset_in_answer(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(*exchange.apply())[:-1])
    exchange.reset()


@fault
def tls_close_in_answer(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(*exchange.apply())[:-1])
    _close_notify(exchange)


@fault
def broken_tls_in_answer(exchange: Exchange) -> None:
    """Sends bytes that are no TLS record; without TLS, bytes that are not of the answer."""
    exchange.read()
    exchange.send(response(*exchange.apply())[:-8])
    exchange.plain.sendall(b"\x00" * 64)
    exchange.close()


@fault
def corrupted_body(exchange: Exchange) -> None:
    exchange.read()
    status, body = exchange.apply()
    flipped = bytes([body[0] ^ 1]) + body[1:]
    exchange.send(response(status, flipped, crc=zlib.crc32(body)))


# Answers that are whole.


@fault
def answered_twice(exchange: Exchange) -> None:
    exchange.read()
    exchange.send(response(*exchange.apply()) * 2)


@fault
def byte_by_byte(exchange: Exchange) -> None:
    exchange.read()
    for byte in response(*exchange.apply()):
        exchange.send(bytes([byte]))


@fault
def informational_first(exchange: Exchange) -> None:
    exchange.read()
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    exchange.send(early + response(*exchange.apply()))


@fault
def answer_without_length(exchange: Exchange) -> None:
    exchange.read()
    status, body = exchange.apply()
    exchange.send(b"HTTP/1.0 %d Status\r\n\r\n" % status + body)
    exchange.close()


@fault
def close_after_answer(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*exchange.apply())
    exchange.close()


@fault
def reset_after_answer(exchange: Exchange) -> None:
    exchange.read()
    exchange.answer(*exchange.apply())
    exchange.reset()


def _close_notify(exchange: Exchange) -> NoReturn:
    if isinstance(exchange.stream, ssl.SSLSocket):
        exchange.stream.settimeout(0.05)
        with contextlib.suppress(OSError, ValueError):
            exchange.stream.unwrap()
    exchange.close()
