"""A proxy to a real server that injects faults: lost requests, lost responses, errors and delays.

Tests read the engine behind it to find out which requests were applied.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import chain, repeat
from socket import socket
from typing import Any
from urllib.parse import urlsplit

import msgspec
from tests.transport.scripted import Behaviour, Hung, ReceivedRequest, Scripted, answer, drops, fails, signed_by

PATIENCE = 1.0
"""The timeout in seconds of clients that get a slow response: long enough for the server to apply the request."""

Fault = Callable[["FaultyProxy", socket, ReceivedRequest], None]


@dataclass
class FaultyProxy(Scripted):
    """Injects faults into the next requests, and passes on all others."""

    upstream: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.then()

    def __enter__(self) -> FaultyProxy:
        return self

    def then(self, *faults: Fault, ever: Fault | None = None) -> None:
        """Sets the faults of the next requests, and `ever` for all after them. Forgets earlier requests."""
        self.requests.clear()
        self._script: Any = chain(faults, repeat(ever or passes))

    @property
    def operations(self) -> list[str]:
        return [request.operation for request in self.requests]

    def ask(self, request: ReceivedRequest, body: bytes | None = None) -> tuple[bytes, int]:
        """Passes a request on, with another body if it is given, and returns the server's response."""
        headers = {name: value for name, value in request.headers.items() if name not in ("host", "content-length")}
        connection = HTTPConnection(urlsplit(self.upstream).netloc, timeout=10)
        try:
            connection.request("POST", "/", request.body if body is None else body, headers)
            response = connection.getresponse()
            return response.read(), response.status
        finally:
            connection.close()


def passes(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
    sock.sendall(answer(*proxy.ask(request)))


def lost(part: float) -> Fault:
    """Applied. The given part of the response comes back, from 0 to 1, and the connection is reset."""

    def fault(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
        whole = answer(*proxy.ask(request))
        sock.sendall(whole[: int(len(whole) * part)])
        time.sleep(0.01)  # a reset discards data that was not read yet
        drops(sock)

    return fault


def never_passed_on(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
    """Not applied; the connection is reset."""
    drops(sock)


def slow(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
    """Applied; the response takes longer than the timeout."""
    proxy.ask(request)
    proxy.wait(PATIENCE * 2)
    raise Hung


def failed_after(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
    """Applied; the response is an internal error."""
    proxy.ask(request)
    fails("InternalServerError", 500)(proxy, sock, request)


def refused(code: str, status: int = 400) -> Behaviour:
    """Not applied; the response is an error."""
    return fails(code, status)


def half(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
    """The first half of a batch is applied, the rest is returned as unprocessed."""
    body = msgspec.json.decode(request.body)
    ((table, items),) = body["RequestItems"].items()
    batch = items if isinstance(items, list) else items["Keys"]
    now, later = batch[: len(batch) // 2], batch[len(batch) // 2 :]

    def of(part: list[Any]) -> dict[str, Any]:
        return {table: part if items is batch else {**items, "Keys": part}}

    did, status = proxy.ask(request, msgspec.json.encode({**body, "RequestItems": of(now)}))
    rest = "UnprocessedItems" if items is batch else "UnprocessedKeys"
    sock.sendall(answer(msgspec.json.encode({**msgspec.json.decode(did), rest: of(later)}), status))


def expired(access_key: str) -> Fault:
    """Requests signed with this key get an error; others are passed on."""

    def fault(proxy: FaultyProxy, sock: socket, request: ReceivedRequest) -> None:
        if signed_by(request) == access_key:
            fails("ExpiredTokenException")(proxy, sock, request)
        else:
            passes(proxy, sock, request)

    return fault
