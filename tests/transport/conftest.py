"""Fixtures: both drivers behind one function, and servers that end with the test."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from prejoin.transport import Credentials, Endpoint, Retries

from .scripted import Behaviour, Scripted

QUICK = Retries(attempts=4, base=0.002, longest=0.01)
KEYS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")

Place = Any
Send = Callable[[Place, str, bytes], bytes]
Serve = Callable[..., Scripted]
Connect = Callable[..., Endpoint]


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in tuple(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server with the behaviours of its arguments."""
    with ExitStack() as stack:

        def start(*script: Behaviour, **options: Any) -> Scripted:
            return stack.enter_context(Scripted(script, **options))

        yield start


@pytest.fixture
def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture(params=["sync", "async"])
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def send(driver: str, runner: asyncio.Runner) -> Send:
    """`send` of the sync and of the async driver."""
    if driver == "sync":
        return lambda place, operation, body: bytes(place.send(operation, body))
    return lambda place, operation, body: runner.run(place.send_async(operation, body))


@pytest.fixture
def connect(driver: str, runner: asyncio.Runner) -> Iterator[Connect]:
    """Makes an endpoint, and closes it after the test. On a busy machine any response may be late, so timeouts are long."""
    made: list[Endpoint] = []

    def start(url: str, **options: Any) -> Endpoint:
        defaults = {"timeout": 30.0, "connect_timeout": 30.0, "retries": QUICK, "credentials": KEYS}
        made.append(Endpoint(url, **{**defaults, **options}))
        return made[-1]

    yield start
    for endpoint in made:
        if driver == "sync":
            endpoint.close()
        else:
            runner.run(endpoint.close_async())
