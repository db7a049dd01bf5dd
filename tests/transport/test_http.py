"""Responses are parsed the same however their bytes are split."""

from __future__ import annotations

import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.transport.connection import http
from prejoin.transport.connection.http import (
    MalformedResponse,
    RequestHead,
    ResponseParser,
    WireResponse,
    response_damage,
)
from prejoin.transport.url import read_url

from .scripted import answer, chunked

bodies = st.binary(max_size=200)
streams = st.one_of(
    bodies.map(answer),
    bodies.map(lambda body: answer(body, Connection="close")),
    st.builds(chunked, bodies, st.integers(1, 5)),
    bodies.map(lambda body: b"HTTP/1.1 100 Continue\r\n\r\n" + answer(body, 400)),
    bodies.map(lambda body: answer(body)[:-1]),
    bodies.map(lambda body: answer(body) + b"more"),
    bodies.map(lambda body: b"HTTP/1.0 200 OK\r\n\r\n" + body),
    st.binary(max_size=300),
    st.binary(max_size=100).map(lambda rest: b"HTTP/1.1 200 OK\r\n" + rest),
)


def read(pieces: list[bytes]) -> tuple[object, ...]:
    """The parsed response; `("broken",)` if it is malformed or incomplete."""
    parser = ResponseParser()
    try:
        for piece in (*[piece for piece in pieces if piece], b""):
            if parser.feed(piece):
                found = parser.response()
                return (found.status, found.headers, found.body)
    except MalformedResponse:
        pass
    return ("broken",)


@given(streams, st.lists(st.integers(0, 600)))
def test_response_parses_the_same_however_it_is_split(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    assert read(pieces) == read([stream])


@given(bodies, st.integers(1, 7))
def test_body_round_trips(body: bytes, pieces: int) -> None:
    assert read([answer(body)])[2] == read([chunked(body, pieces)])[2] == body


def test_connection_parses_several_responses() -> None:
    parser = ResponseParser()
    for body in (b'{"a":1}', b'{"b":2}', b"{}"):
        parser.begin()
        assert parser.feed(answer(body))
        assert (parser.response().body, parser.keep_alive) == (body, True)


def test_response_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_LARGEST_BODY", 1000)
    parser = ResponseParser()
    assert not parser.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 1000)
    with pytest.raises(MalformedResponse, match="more than 1000 bytes"):
        parser.feed(b"x")


def test_header_size_is_limited() -> None:
    parser = ResponseParser()
    with pytest.raises(MalformedResponse, match="headers"):
        for _ in range(100):
            parser.feed(b"HTTP/1.1 200 OK\r\n" if not parser.began else b"x: " + b"y" * 1000 + b"\r\n")


@given(bodies)
def test_damaged_body_is_detected(body: bytes) -> None:
    whole = b"{" + body
    assert response_damage(WireResponse(200, {b"x-amz-crc32": b"%d" % zlib.crc32(whole)}, whole)) is None
    assert response_damage(WireResponse(200, {b"x-amz-crc32": b"%d" % zlib.crc32(whole)}, whole + b"x")) is not None


def test_request_has_required_headers() -> None:
    request = RequestHead(read_url("https://dynamodb.eu-west-1.amazonaws.com"), None).request(
        "Query", "Signed: yes\r\n", b"{}"
    )
    head, _, body = request.partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    assert (line, body) == ("POST / HTTP/1.1", b"{}")
    assert {
        "Host: dynamodb.eu-west-1.amazonaws.com",
        "Content-Type: application/x-amz-json-1.0",
        "X-Amz-Target: DynamoDB_20120810.Query",
        "Accept-Encoding: identity",
        "Content-Length: 2",
        "Signed: yes",
    } <= set(headers)
