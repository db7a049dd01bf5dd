"""The HTTP front and what is not quite HTTP: it answers or closes, never hangs, and other clients notice nothing."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.engine import Embedded
from prejoin.engine.http import Limits, Server

from .test_server import Client

REQUEST = (
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\nAuthorization: AWS4-x\r\n"
    b"X-Amz-Target: DynamoDB_20120810.ListTables\r\nContent-Length: 2\r\n\r\n{}"
)
PIECES = st.sampled_from(
    [
        *(REQUEST[at : at + 40] for at in range(0, len(REQUEST), 40)),
        REQUEST,
        b"\r\n",
        b"\n",
        b"\x00",
        b": ",
        b"Transfer-Encoding: chunked\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Connection: Upgrade\r\nUpgrade: h2c\r\n",
        b"Connection: close\r\n",
        b"Expect: 100-continue\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"0\r\n\r\n",
        b"ffffffffffffffff\r\n",
    ]
)
SETTINGS = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    limits = Limits(body=1000, head=1000, head_seconds=0.2, pause_seconds=0.2, request_seconds=0.5, idle_seconds=0.5)
    with Embedded() as engine, Server(engine, port=0, limits=limits) as url:
        yield url


def _swallow(url: str, data: bytes, *, done: bool) -> bytes:
    """All that the server says to these bytes, until it closes the connection."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    said = b""
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        try:
            connection.sendall(data)
            if done:
                connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                said += piece
        except ConnectionError:
            pass
    return said


@SETTINGS
@given(data=st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=8).map(b"".join)))
def test_any_bytes_are_answered_or_the_connection_is_closed(
    url: str, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    with caplog.at_level(logging.WARNING), Client(url) as other:
        said = _swallow(url, data, done=True)
        assert said == b"" or said.startswith(b"HTTP/1.1 ")
        assert b" 500 " not in said
        assert other.ask("ListTables").status == 200
    assert not caplog.records


@settings(SETTINGS, max_examples=examples(8))
@given(at=st.integers(1, len(REQUEST) - 1))
def test_half_a_request_is_timed_out(url: str, at: int) -> None:
    assert _swallow(url, REQUEST[:at], done=False).startswith(b"HTTP/1.1 408 ")


@SETTINGS
@given(at=st.integers(0, len(REQUEST) - 1), put=st.binary(min_size=1, max_size=4), cut=st.integers(0, 4))
def test_damaged_request_does_not_harm_server(url: str, at: int, put: bytes, cut: int) -> None:
    said = _swallow(url, REQUEST[:at] + put + REQUEST[at + cut :], done=True)
    assert said == b"" or said.startswith(b"HTTP/1.1 ")
    with Client(url) as other:
        assert other.ask("ListTables").status == 200
