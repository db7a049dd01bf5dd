"""Hostile HTTP requests against a server: damaged heads and bodies, compressed bombs, chunks, deep and long JSON.

While each is sent, another client asks for something small. A finding is a request that keeps the server busy for long,
an answer that is no HTTP answer of DynamoDB's kind, or a server that is no longer there.
"""

from __future__ import annotations

import gzip
import json
import random
import socket
import struct
import time
import zlib
from collections.abc import Callable

from prejoin.engine import Embedded
from prejoin.engine.http import Server

from .result import Result

SECONDS = 2.0
"""Longer than this nobody else waits for an answer, even on a loaded machine. Each attack took longer before."""
MEMBER = gzip.compress(b"", mtime=0)


def head(operation: str = "GetItem", *lines: str, length: int | None = None) -> bytes:
    """The head of a request."""
    given = [
        "POST / HTTP/1.1",
        "Host: localhost",
        "Content-Type: application/x-amz-json-1.0",
        f"X-Amz-Target: DynamoDB_20120810.{operation}",
        "Authorization: AWS4-x",
        *lines,
    ]
    if length is not None:
        given.append(f"Content-Length: {length}")
    return "\r\n".join([*given, "", ""]).encode("latin-1")


def request(body: bytes, operation: str = "GetItem", *lines: str) -> bytes:
    return head(operation, *lines, length=len(body)) + body


Attack = Callable[[random.Random], bytes]


def _empty_members(chance: random.Random) -> bytes:
    return request(MEMBER * chance.choice((100, 10_000, 100_000)), "GetItem", "Content-Encoding: gzip")


def _bomb(chance: random.Random) -> bytes:
    make = zlib.compress if (encoding := chance.choice(("gzip", "deflate"))) == "deflate" else gzip.compress
    return request(make(b" " * chance.choice((10**6, 10**8))), "GetItem", f"Content-Encoding: {encoding}")


def _empty_blocks(chance: random.Random) -> bytes:
    """Deflate with blocks that hold nothing."""
    body = b"\x78\x01" + b"\x00\x00\x00\xff\xff" * chance.choice((1000, 1_000_000))
    return request(body, "GetItem", "Content-Encoding: deflate")


def _encodings(chance: random.Random) -> bytes:
    return request(b"{}", "GetItem", "Content-Encoding: " + ", ".join(["gzip"] * chance.choice((2, 1000))))


def _small_chunks(chance: random.Random) -> bytes:
    return head("GetItem", "Transfer-Encoding: chunked") + b"1\r\n \r\n" * 200_000 + b"0\r\n\r\n"


def _trailers(chance: random.Random) -> bytes:
    size = chance.choice((10_000, 30_000_000))
    return head("GetItem", "Transfer-Encoding: chunked") + b"2\r\n{}\r\n0\r\nX: " + b"x" * size + b"\r\n\r\n"


def _chunk_extension(chance: random.Random) -> bytes:
    return head("GetItem", "Transfer-Encoding: chunked") + b"1;" + b"x" * 30_000_000 + b"\r\n \r\n0\r\n\r\n"


def _many_headers(chance: random.Random) -> bytes:
    return head("GetItem", *["a:"] * chance.choice((100, 3000, 100_000)), length=2) + b"{}"


def _long_header(chance: random.Random) -> bytes:
    return head("GetItem", "a: " + "x" * chance.choice((10_000, 10_000_000)), length=2) + b"{}"


def _json(chance: random.Random) -> bytes:
    size = chance.choice((100, 10_000, 1_000_000))
    body = chance.choice(
        (
            b"[" * size,
            b'{"Item":' + b'{"a":{"M":' * size,
            b'{"Limit":' + b"9" * size + b"}",
            b'{"TableName":"' + b"\\u0000" * size + b'"}',
            b'{"TableName":"attack","Key":{"pk":{"N":"' + b"0" * size + b'1"}}}',
            b'{"TableName":"attack","ExpressionAttributeValues":{"a":{"N":"1e' + b"9" * size + b'"}}}',
            b'{"TableName":"attack","ConditionExpression":"' + b"(" * size + b'"}',
            b'{"TableName":"attack","ConditionExpression":"' + b"NOT " * size + b'"}',
            b'{"TableName":"attack","ConditionExpression":"a IN (' + b":a," * size + b':a)"}',
        )
    )
    return request(body, chance.choice(("PutItem", "GetItem", "UpdateItem", "Scan", "Query")))


def _pipelined(chance: random.Random) -> bytes:
    return request(b"{}", "ListTables") * chance.choice((10, 5000))


def _noise(chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice((1, 100, 100_000)))


def _mutated(chance: random.Random) -> bytes:
    sent = bytearray(request(b'{"TableName":"attack","Key":{"pk":{"S":"1"}}}'))
    for _ in range(chance.randrange(1, 8)):
        sent[chance.randrange(len(sent))] = chance.randrange(256)
    return bytes(sent)


ATTACKS: dict[str, Attack] = {
    "empty gzip members": _empty_members,
    "compressed bomb": _bomb,
    "empty deflate blocks": _empty_blocks,
    "list of encodings": _encodings,
    "chunks of one byte": _small_chunks,
    "long trailer": _trailers,
    "long chunk extension": _chunk_extension,
    "many headers": _many_headers,
    "long header": _long_header,
    "JSON": _json,
    "pipelined": _pipelined,
    "noise": _noise,
    "mutated": _mutated,
}


def longest_wait(port: int, sent: bytes, *, drops: bool = False) -> float:
    """Send a request, and meanwhile ask for something small again and again: the longest time that took.

    With `drops`, the connection is reset in the middle instead of being read.
    """
    longest = 0.0
    with _connect(port) as attacker, _connect(port) as other:
        attacker.setblocking(False)
        rest, answered, quiet = memoryview(sent), False, 0
        while quiet < 20 and not answered:
            if rest:
                try:
                    rest = rest[attacker.send(rest[: 1 << 18]) :]
                except BlockingIOError:
                    pass
                except OSError:
                    break  # refused, and closed
            try:
                answered = bool(attacker.recv(1 << 18)) and not rest
            except BlockingIOError:
                pass
            except OSError:
                answered = True
            begun = time.monotonic()
            _ask(other)
            longest = max(longest, time.monotonic() - begun)
            if not rest:
                quiet += 1
            if drops and len(rest) < len(sent) // 2:
                attacker.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                break
    return longest


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def _ask(connection: socket.socket) -> None:
    connection.sendall(request(b"{}", "ListTables"))
    answer = b""
    while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
        got = connection.recv(1 << 16)
        if not got:
            raise ConnectionError("the server closed the connection of another client")
        answer += got
    status, _, body = answer.partition(b"\r\n\r\n")
    if not status.startswith(b"HTTP/1.1 200 ") or json.loads(body) != {"TableNames": ["attack"]}:
        raise ConnectionError(f"another client was answered {answer[:200]!r}")


TABLE = {
    "TableName": "attack",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}


def run(seconds: float, seed: int) -> Result:
    """Try hostile requests for some seconds. The same seed tries the same ones in the same order."""
    chance = random.Random(seed)
    result = Result()
    with Embedded() as engine:
        engine.send("CreateTable", json.dumps(TABLE).encode())
        with Server(engine, port=0, in_memory=True) as url:
            port = int(url.rpartition(":")[2])
            end = time.monotonic() + seconds
            names = list(ATTACKS)
            chance.shuffle(names)
            while time.monotonic() < end or result.tries < len(names):
                name = names[result.tries % len(names)]
                result.tries += 1
                try:
                    took = longest_wait(port, ATTACKS[name](chance), drops=chance.random() < 0.2)
                except OSError as error:
                    result.findings.append(f"{name}: {error!r}")
                    continue
                if took > SECONDS:
                    result.findings.append(f"{name}: another client waited {took:.1f} s")
    return result
