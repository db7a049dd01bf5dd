"""Compressed bodies: Content-Encoding of requests and Accept-Encoding for responses."""

from __future__ import annotations

import zlib
from functools import lru_cache

from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.limits import KB

COMPRESSION_THRESHOLD = 4 * KB
"""DynamoDB compresses responses above this number of bytes."""
_WINDOWS = {"gzip": 31, "deflate": 15}
_LEVEL = 1
"""Clients are usually on the same machine, so time matters more than bytes."""


_MOST_MEMBERS = 16
"""The number of concatenated gzip members in a body. SDKs send one; many small ones would cost more than their bytes.
"""
_SLICE = 64 * KB
_decompressor = zlib.decompressobj


class BodyTooLargeError(Exception):
    """The decompressed body exceeds the limit."""


def decompress(body: bytes, encoding: str, most: int) -> bytes:
    """Decompress a body according to its Content-Encoding. As at AWS, an unknown encoding is an internal error.

    >>> decompress(zlib.compress(b"{}"), "deflate", 100)
    b'{}'
    """
    if encoding in ("", "identity"):
        return body
    window = _WINDOWS.get(encoding)
    if window is None:
        raise DynamoDBError("InternalServerError", f"A body cannot be in the encoding {encoding!r}")
    found = b""
    at = 0
    for _ in range(_MOST_MEMBERS):
        try:
            member, at = _member(body, at, window, most - len(found))
        except zlib.error:
            if not at:
                break
            return found  # what follows a whole body is ignored, as at AWS
        if member is None:
            break
        found += member
        if encoding == "deflate" or at == len(body):
            return found
    raise DynamoDBError("InternalServerError", f"The body is not what {encoding} makes")


def _member(body: bytes, at: int, window: int, most: int) -> tuple[bytes | None, int]:
    """Decompress the member at a position. Return its content, or None if it is incomplete, and where it ends.

    zlib copies all unused input, so slices keep this linear.
    """
    decompressor = _decompressor(window)
    view = memoryview(body)
    pieces: list[bytes] = []
    while at < len(body) and not decompressor.eof:
        given = view[at : at + _SLICE]
        pieces.append(decompressor.decompress(given, most + 1))
        most -= len(pieces[-1])
        if most < 0:
            raise BodyTooLargeError
        at += len(given) - len(decompressor.unused_data)
    return b"".join(pieces) if decompressor.eof else None, at


def compress(body: bytes, encoding: str) -> bytes:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOWS[encoding])
    return compressor.compress(body) + compressor.flush()


@lru_cache(maxsize=64)
def preferred_encoding(accepted: bytes) -> str | None:
    """The supported encoding that an Accept-Encoding header prefers, or None.

    As DynamoDB reads it: identity is the last resort, and an invalid weight counts as the highest.

    >>> headers = b"gzip, deflate", b"deflate, gzip;q=0.5", b"*", b"*, gzip;q=0.1", b"*;q=0"
    >>> [preferred_encoding(header) for header in headers]
    ['gzip', 'deflate', 'gzip', 'deflate', None]
    """
    liked: list[tuple[float, str]] = []
    others = 0.0
    for entry in accepted.decode("latin-1").lower().split(","):
        name, _, parameters = entry.partition(";")
        name, weight = name.strip(), _weight(parameters)
        if name == "*":
            others = weight
        elif name in _WINDOWS:
            liked.append((weight, name))
    named = {name for _, name in liked}
    liked += [(others, name) for name in _WINDOWS if name not in named]
    weight, name = max(liked, key=lambda one: one[0])
    return name if weight > 0 else None


def _weight(parameters: str) -> float:
    _, found, after = parameters.partition("q=")
    if not found:
        return 1.0
    try:
        return min(float(after.partition(";")[0]), 1.0)
    except ValueError:
        return 1.0
