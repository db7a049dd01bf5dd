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


def decompress(body: bytes, encoding: str, limit: int) -> bytes:
    """Decompress a body according to its Content-Encoding. As at AWS, an unknown encoding is an internal error.

    >>> decompress(zlib.compress(b"{}"), "deflate", 100)
    b'{}'
    """
    if encoding in ("", "identity"):
        return body
    window = _WINDOWS.get(encoding)
    if window is None:
        raise DynamoDBError("InternalServerError", f"A body cannot be in the encoding {encoding!r}")
    content = b""
    position = 0
    # A gzip body is a series of members, each compressed by itself. A deflate body is a single stream.
    for _ in range(_MOST_MEMBERS):
        try:
            member, position = _decompress_member(body, position, window, limit - len(content))
        except zlib.error:
            if not position:
                break
            # What follows a whole body is ignored, as at AWS.
            return content
        if member is None:
            break
        content += member
        if encoding == "deflate" or position == len(body):
            return content
    raise DynamoDBError("InternalServerError", f"The body is not what {encoding} makes")


def _decompress_member(body: bytes, position: int, window: int, limit: int) -> tuple[bytes | None, int]:
    """Decompress the member at a position. Return its content, or None if it is incomplete, and where it ends.

    zlib copies all unused input, so slices keep this linear.
    """
    decompressor = _decompressor(window)
    view = memoryview(body)
    pieces: list[bytes] = []
    while position < len(body) and not decompressor.eof:
        chunk = view[position : position + _SLICE]
        # One byte more than allowed distinguishes a body that is too large from one that just fits.
        pieces.append(decompressor.decompress(chunk, limit + 1))
        limit -= len(pieces[-1])
        if limit < 0:
            raise BodyTooLargeError
        position += len(chunk) - len(decompressor.unused_data)
    return b"".join(pieces) if decompressor.eof else None, position


def compress(body: bytes, encoding: str) -> bytes:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOWS[encoding])
    return compressor.compress(body) + compressor.flush()


@lru_cache(maxsize=64)
def preferred_encoding(header: bytes) -> str | None:
    """The supported encoding that an Accept-Encoding header prefers, or None.

    As DynamoDB reads it: identity is the last resort, and an invalid weight counts as the highest.

    >>> headers = b"gzip, deflate", b"deflate, gzip;q=0.5", b"*", b"*, gzip;q=0.1", b"*;q=0"
    >>> [preferred_encoding(header) for header in headers]
    ['gzip', 'deflate', 'gzip', 'deflate', None]
    """
    weighted_encodings: list[tuple[float, str]] = []
    default_weight = 0.0
    for entry in header.decode("latin-1").lower().split(","):
        name, _, parameters = entry.partition(";")
        name, weight = name.strip(), _weight(parameters)
        if name == "*":
            default_weight = weight
        elif name in _WINDOWS:
            weighted_encodings.append((weight, name))
    named_encodings = {name for _, name in weighted_encodings}
    # `*` is the weight of every encoding that is not named.
    weighted_encodings += [(default_weight, name) for name in _WINDOWS if name not in named_encodings]
    # Of equal weights `max` takes the first, as DynamoDB does.
    weight, name = max(weighted_encodings, key=lambda weighted_encoding: weighted_encoding[0])
    return name if weight > 0 else None


def _weight(parameters: str) -> float:
    _, weight_key, value = parameters.partition("q=")
    if not weight_key:
        return 1.0
    try:
        return min(float(value.partition(";")[0]), 1.0)
    except ValueError:
        return 1.0
