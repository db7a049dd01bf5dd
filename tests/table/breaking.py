"""A way to a real server that breaks on purpose: requests are passed on or not, and answers come back whole or not.

What was done is seen in the engine behind it, which can be asked without this way.
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
from tests.transport.scripted import Asked, Behaviour, Hung, Scripted, answer, drops, fails, signed_by

PATIENCE = 0.3
"""Seconds that clients wait for an answer: less than the slow ones take."""

Fault = Callable[["Breaking", socket, Asked], None]


@dataclass
class Breaking(Scripted):
    """Does with the next requests what it is told, and passes on all others."""

    upstream: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.then()

    def __enter__(self) -> Breaking:
        return self

    def then(self, *faults: Fault, ever: Fault | None = None) -> None:
        """What happens to the next requests; `ever` to all after them. Those asked before are forgotten."""
        self.asked.clear()
        self._script: Any = chain(faults, repeat(ever or passes))

    @property
    def operations(self) -> list[str]:
        return [asked.operation for asked in self.asked]

    def ask(self, asked: Asked, body: bytes | None = None) -> tuple[bytes, int]:
        """Passes a request on, or another in its place; what the server answers."""
        headers = {name: value for name, value in asked.headers.items() if name not in ("host", "content-length")}
        connection = HTTPConnection(urlsplit(self.upstream).netloc, timeout=10)
        try:
            connection.request("POST", "/", asked.body if body is None else body, headers)
            response = connection.getresponse()
            return response.read(), response.status
        finally:
            connection.close()


def passes(way: Breaking, sock: socket, asked: Asked) -> None:
    sock.sendall(answer(*way.ask(asked)))


def lost(part: float) -> Fault:
    """It is done. So much of the answer comes back, from 0 to 1, and the connection is reset."""

    def fault(way: Breaking, sock: socket, asked: Asked) -> None:
        whole = answer(*way.ask(asked))
        sock.sendall(whole[: int(len(whole) * part)])
        time.sleep(0.01)  # a reset overtakes what was sent before it
        drops(sock)

    return fault


def never_passed_on(way: Breaking, sock: socket, asked: Asked) -> None:
    """It is not done, and the connection is reset."""
    drops(sock)


def slow(way: Breaking, sock: socket, asked: Asked) -> None:
    """It is done, and nobody waits until the answer comes."""
    way.ask(asked)
    way.wait(PATIENCE * 2)
    raise Hung


def failed_after(way: Breaking, sock: socket, asked: Asked) -> None:
    """It is done, and then something else goes wrong in the server."""
    way.ask(asked)
    fails("InternalServerError", 500)(way, sock, asked)


def refused(code: str, status: int = 400) -> Behaviour:
    """It is not done, and the answer says so, or does not."""
    return fails(code, status)


def half(way: Breaking, sock: socket, asked: Asked) -> None:
    """Of a batch the first half is done, and the rest handed back."""
    body = msgspec.json.decode(asked.body)
    ((table, said),) = body["RequestItems"].items()
    batch = said if isinstance(said, list) else said["Keys"]
    now, later = batch[: len(batch) // 2], batch[len(batch) // 2 :]

    def of(part: list[Any]) -> dict[str, Any]:
        return {table: part if said is batch else {**said, "Keys": part}}

    did, status = way.ask(asked, msgspec.json.encode({**body, "RequestItems": of(now)}))
    rest = "UnprocessedItems" if said is batch else "UnprocessedKeys"
    sock.sendall(answer(msgspec.json.encode({**msgspec.json.decode(did), rest: of(later)}), status))


def expired(access_key: str) -> Fault:
    """Whoever signs with this key is refused; all others are let through."""

    def fault(way: Breaking, sock: socket, asked: Asked) -> None:
        if signed_by(asked) == access_key:
            fails("ExpiredTokenException")(way, sock, asked)
        else:
            passes(way, sock, asked)

    return fault
