"""The work that one request can cause grows with its size, and no faster."""

from __future__ import annotations

import gc
import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.attack import requests as attack

from prejoin.engine import Embedded, serialization
from prejoin.engine.http import KeyPair, Server, compression
from prejoin.engine.http.handler import SHORT_BODY, SHORT_READS, RequestHandler
from prejoin.engine.http.messages import HttpRequest
from prejoin.engine.http.signature import refusal
from prejoin.protocol import numbers
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP, item, send
from .test_server import Client

LIST = b'{"Limit": 1}'
MEMBER = gzip.compress(b"", mtime=0)


# --- Compressed bodies ------------------------------------------------------------------------------------------------


class Decompressors:
    """Counts what zlib is given."""

    def __init__(self) -> None:
        self.made = self.given = 0

    def __call__(self, window: int) -> Any:
        self.made += 1
        real = zlib.decompressobj(window)
        counted = self

        class Counted:
            eof = property(lambda self: real.eof)
            unused_data = property(lambda self: real.unused_data)

            def decompress(self, data: bytes, most: int) -> bytes:
                counted.given += len(data)
                return real.decompress(data, most)

        return Counted()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Decompressors:
    found = Decompressors()
    monkeypatch.setattr(compression, "_decompressor", found)
    return found


@pytest.mark.parametrize("number", [1_000, 50_000])
def test_empty_gzip_members_are_limited(made: Decompressors, number: int) -> None:
    with pytest.raises(DynamoDBError):
        compression.decompress(MEMBER * number, "gzip", 10**6)
    assert made.made == 16
    assert made.given < 2_000_000


def test_long_body_is_read_once(made: Decompressors) -> None:
    body = gzip.compress(bytes(range(256)) * 8192, compresslevel=0, mtime=0)
    assert len(compression.decompress(body * 4, "gzip", 10**8)) == 4 * 256 * 8192
    assert made.given < 4 * len(body) + 5 * 65_536


def test_decompressing_ends_where_the_limit_is(made: Decompressors) -> None:
    bomb = zlib.compressobj()
    first, more = (bomb.compress(b" " * 10**6) + bomb.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    body = first + more * 99  # 100 MB
    assert len(body) > 65_536
    with pytest.raises(compression.BodyTooLargeError):
        compression.decompress(body, "deflate", 1000)
    assert made.given <= 65_536
    assert compression.decompress(zlib.compress(b" " * 1000), "deflate", 1000) == b" " * 1000


@pytest.mark.parametrize("members", [1, 2, 16])
@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 300_000])
def test_bodies_of_several_members_are_whole(members: int, size: int) -> None:
    piece = (b"%d" % size * size)[:size]
    compressed = gzip.compress(piece, compresslevel=0, mtime=0)
    assert compression.decompress(compressed * members, "gzip", 10**8) == piece * members
    if members < 16:
        assert compression.decompress(compressed * members + b"more", "gzip", 10**8) == piece * members
    with pytest.raises(DynamoDBError):
        compression.decompress((compressed * members)[:-1], "gzip", 10**8)


# --- HTTP -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def client() -> Iterator[Client]:
    with Embedded() as engine, Server(engine, port=0, in_memory=True) as url, Client(url) as client:
        yield client


def test_large_and_compressed_bodies_are_left_to_threads() -> None:
    with Embedded() as engine:
        handler = RequestHandler(engine, at_once=SHORT_READS)
        for body, more in (
            (b" " * SHORT_BODY, []),
            (b" " * (SHORT_BODY + 1), []),
            (b"x", [(b"content-encoding", b"gzip")]),
        ):
            headers = [
                (b"host", b"localhost"),
                (b"content-type", b"application/x-amz-json-1.0"),
                (b"x-amz-target", b"DynamoDB_20120810.ListTables"),
                (b"authorization", b"AWS4-x"),
                *more,
            ]
            answer = handler.respond_now(HttpRequest(b"POST", b"/", headers, body))
            assert (answer == "") is (len(body) > SHORT_BODY or bool(more))


def test_request_may_come_byte_by_byte(client: Client) -> None:
    for byte in client.head("ListTables", len(LIST)) + LIST:
        client.send(bytes((byte,)))
    assert client.read().json == {"TableNames": []}


def test_chunks_may_have_one_byte_each(client: Client) -> None:
    head = client.head("ListTables", 0, Content_Length=None, Transfer_Encoding="chunked")
    body = LIST + b" " * 20_000
    client.send(head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
    assert client.read().json == {"TableNames": []}


@pytest.mark.parametrize(
    "what", [b"2\r\n{}\r\n0\r\nX: ", b"2\r\n{}\r\n0\r\nX", b"2;"], ids=["trailer", "its name", "extension"]
)
def test_trailers_and_chunk_extensions_have_a_limit(client: Client, what: bytes) -> None:
    client.send(client.head("ListTables", 0, Content_Length=None, Transfer_Encoding="chunked") + what)
    for _ in range(100):
        client.send(b"x" * 10_000)
    assert client.read().status == 400


def test_short_trailers_are_ignored(client: Client) -> None:
    head = client.head("ListTables", 0, Content_Length=None, Transfer_Encoding="chunked")
    client.send(head + b"c\r\n" + LIST + b"\r\n0\r\nX-Checksum: abc\r\n\r\n")
    assert client.read().json == {"TableNames": []}


class CountedHeaders(list[tuple[bytes, bytes]]):
    passes = 0

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        self.passes += 1
        return super().__iter__()


def test_headers_are_gone_through_a_few_times_however_many_are_signed() -> None:
    now = datetime(2026, 5, 1, tzinfo=UTC)
    signed = "host;" + ";".join(["a"] * 3000)
    headers = CountedHeaders([(b"host", b"localhost"), (b"x-amz-date", b"20260501T000000Z"), *[(b"a", b"")] * 3000])
    credential = "key/20260501/us-east-1/dynamodb/aws4_request"
    text = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={signed}, Signature=0"
    headers.append((b"authorization", text.encode()))
    answer = refusal(HttpRequest(b"POST", b"/", headers, b"{}"), KeyPair("key", "secret"), now)
    assert answer is not None
    assert b"does not match" in answer.body
    assert headers.passes < 10


CROWDS = {
    "numbers": {"NS": [str(number) for number in range(101)]},
    "lists": {"L": [{"L": []} for _ in range(60)]},
    "members": {"M": {str(number): {"S": ""} for number in range(60)}},
    "wrong type": {"L": [{"N": 1} for _ in range(60)]},
}
"""Values with more members than an item can have, if that is 100."""


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize(
    ("operation", "request_of"),
    [
        ("PutItem", lambda value: {"TableName": "shop", "Item": {"x": value}}),
        ("Scan", lambda value: {"ScanFilter": {"x": {"ComparisonOperator": "EQ", "AttributeValueList": [value]}}}),
        ("TransactWriteItems", lambda value: {"TransactItems": [{"Put": {"TableName": "shop", "Item": {"x": value}}}]}),
        ("BatchWriteItem", lambda value: {"RequestItems": {"shop": [{"PutRequest": {"Item": {"x": value}}}]}}),
        ("ExecuteStatement", lambda value: {"Statement": "SELECT * FROM shop", "Parameters": [value]}),
    ],
)
def test_value_with_too_many_members_is_refused_first(
    monkeypatch: pytest.MonkeyPatch, operation: str, request_of: Callable[[Any], dict[str, Any]], crowd: str
) -> None:
    monkeypatch.setattr(serialization, "_LARGE_BODY", 100)
    monkeypatch.setattr(serialization, "_MAX_MEMBERS", 100)
    with Embedded() as engine, pytest.raises(DynamoDBError) as refused:
        engine.send(operation, json.dumps(request_of(CROWDS[crowd])).encode())
    if crowd == "wrong type":
        assert refused.value.code == "SerializationException"
    else:
        assert refused.value.message == "Item size has exceeded the maximum allowed size"
    assert gc.isenabled()


def test_large_body_of_a_wrong_type_is_decoded_without_garbage_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "_LARGE_BODY", 100)
    body = json.dumps({"Limit": "one", "ExclusiveStartKey": {str(n): {"S": ""} for n in range(20_000)}}).encode()
    collections: list[str] = []
    with Embedded() as engine:
        gc.callbacks.append(count := lambda phase, _: collections.append(phase))
        try:
            with pytest.raises(DynamoDBError, match="STRING_VALUE cannot be converted to Integer"):
                engine.send("Scan", body)
        finally:
            gc.callbacks.remove(count)
    assert len(collections) < 20  # two for each collection; there were dozens


def test_large_requests_of_small_parts_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "_LARGE_BODY", 100)
    monkeypatch.setattr(serialization, "_MAX_MEMBERS", 100)
    with Embedded() as engine:
        send(engine, "CreateTable", **SHOP)
        writes = [{"PutRequest": {"Item": {**item(pk="a", sk=str(n)), "x": {"NS": ["1", "2"]}}}} for n in range(25)]
        assert send(engine, "BatchWriteItem", RequestItems={"shop": writes}) == {"UnprocessedItems": {}}
        keys = [item(pk="a", sk=str(number)) for number in range(100)]
        assert len(send(engine, "BatchGetItem", RequestItems={"shop": {"Keys": keys}})["Responses"]["shop"]) == 25


@pytest.mark.slow
def test_attack_by_requests_finds_nothing() -> None:
    result = attack.run(0.0, seed=5)
    assert result.tries >= len(attack.ATTACKS)
    assert result.findings == []


# --- The engine -------------------------------------------------------------------------------------------------------


def test_long_numbers_are_not_kept() -> None:
    numbers._normalise.cache_clear()
    assert numbers.normalise("0" * 10_000 + "7") == "7"
    assert numbers.normalise("007") == "7"
    assert numbers._normalise.cache_info().currsize == 1


def _put(value: str) -> tuple[str, str]:
    return "PutItem", f'{{"TableName":"shop","Item":{{"pk":{{"S":"1"}},"sk":{{"S":"1"}},"v":{value}}}}}'


def _condition(text: str) -> tuple[str, str]:
    more = f'"ConditionExpression":"{text}","ExpressionAttributeValues":{{":a":{{"S":"x"}}}}'
    return "PutItem", f'{{"TableName":"shop","Item":{{"pk":{{"S":"1"}},"sk":{{"S":"1"}}}},{more}}}'


def _update(text: str) -> tuple[str, str]:
    more = f'"UpdateExpression":"{text}","ExpressionAttributeValues":{{":a":{{"S":"x"}}}}'
    return "UpdateItem", f'{{"TableName":"shop","Key":{{"pk":{{"S":"1"}},"sk":{{"S":"1"}}}},{more}}}'


LARGE: dict[str, tuple[int, Callable[[int], tuple[str, str]]]] = {
    "digits": (1_000_000, lambda n: _put('{"N":"' + "9" * n + '"}')),
    "zeros": (1_000_000, lambda n: _put('{"N":"' + "0" * n + '1"}')),
    "exponent": (1_000_000, lambda n: _put('{"N":"1e' + "9" * n + '"}')),
    "integer": (100_000, lambda n: ("Scan", '{"TableName":"shop","Limit":' + "9" * n + "}")),
    "nested lists": (100_000, lambda n: _put('{"L":[' * n + "]}" * n)),
    "nested unknown": (100_000, lambda n: ("Scan", '{"X":' + "[" * n + "]" * n + "}")),
    "text set": (20_000, lambda n: _put('{"SS":[' + ",".join(f'"{i}"' for i in range(n)) + "]}")),
    "number set": (10_000, lambda n: _put('{"NS":[' + ",".join(f'"{i}"' for i in range(n)) + "]}")),
    "attributes": (20_000, lambda n: _put('{"M":{' + ",".join(f'"a{i}":{{"S":""}}' for i in range(n)) + "}}")),
    "parentheses": (1_000, lambda n: _condition("(" * n + "a=:a" + ")" * n)),
    "open parentheses": (2_000, lambda n: _condition("(" * n)),
    "NOT": (500, lambda n: _condition("NOT " * n + "a=:a")),
    "AND": (200, lambda n: _condition(" AND ".join(["a=:a"] * n))),
    "IN": (600, lambda n: _condition("a IN (" + ",".join([":a"] * n) + ")")),
    "path": (1_000, lambda n: _condition("a" + ".a" * n + "=:a")),
    "long expression": (1_000_000, lambda n: _condition("a" * n)),
    "SET": (200, lambda n: _update("SET " + ",".join(f"a{i}=:a" for i in range(n)))),
    "REMOVE": (250, lambda n: _update("REMOVE " + ",".join(f"l[{i}]" for i in range(n)))),
    "functions": (100, lambda n: _update("SET a=" + "if_not_exists(b," * n + ":a" + ")" * n)),
    "actions": (
        20_000,
        lambda n: (
            "TransactWriteItems",
            '{"TransactItems":[' + ",".join(['{"Put":{"TableName":"shop","Item":{}}}'] * n) + "]}",
        ),
    ),
    "keys": (
        20_000,
        lambda n: (
            "BatchGetItem",
            '{"RequestItems":{"shop":{"Keys":[' + ",".join(f'{{"pk":{{"S":"{i}"}}}}' for i in range(n)) + "]}}}",
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_twice_the_input_takes_no_more_than_about_twice_the_time(name: str) -> None:
    size, make = LARGE[name]
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)

        def took(number: int) -> float:
            operation, text = make(number)
            body, times = text.encode(), []
            gc.disable()  # a collection looks at all that other tests have left
            for _ in range(3):
                begun = time.process_time()
                try:
                    dynamodb.send(operation, body)
                except DynamoDBError as error:
                    json.loads(error.body())
                times.append(time.process_time() - begun)
            gc.enable()
            return min(times)

        # What is quadratic takes sixteen times as long. The rest is for machines that do other things as well.
        assert took(4 * size) < 10 * took(size) + 0.1
