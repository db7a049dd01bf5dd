"""Key bytes: key attributes as bytes that sort like the attributes, and ranges over them.

Text is its UTF-8 bytes, a number is `numbers.sortable`, binary is itself: bytes then compare as DynamoDB compares
values. If another part follows, text and binary end with two zero bytes, and a zero byte inside becomes 00 FF. So no
value is a prefix of another, and shorter values sort first. FoundationDB's tuple layer and CockroachDB's key encoding
do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from prejoin.protocol import numbers
from prejoin.protocol.errors import invalid
from prejoin.protocol.values import Value, unbase64


class Range(NamedTuple):
    """The key bytes from `low` (included) to `high` (excluded); None is no upper bound."""

    low: bytes
    high: bytes | None


EVERYTHING = Range(b"", None)


def plain(value: Value) -> bytes:
    """The bytes of one key value that is the last part of its key."""
    text = value.get("S")
    if text is not None:
        return text.encode()  # type: ignore[no-any-return]
    text = value.get("N")
    if text is not None:
        return numbers.sortable(text)
    return unbase64(value["B"])


def hashable(value: Value) -> bytes:
    """The bytes of one key value that DynamoDB hashes."""
    return numbers.hashable(value["N"]) if "N" in value else plain(value)


def terminated(value: Value) -> bytes:
    """The bytes of one key value that another part may follow. No value is a prefix of another."""
    text = value.get("S")
    if text is not None:
        return terminated_text(text)
    return numbers.sortable(value["N"]) if "N" in value else _escape(plain(value)) + b"\x00\x00"


def terminated_text(text: str) -> bytes:
    return text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"


def joined(values: list[Value]) -> bytes:
    """The bytes of a whole key of one or several attributes.

    >>> joined([{"S": "a"}, {"S": "z"}]) < joined([{"S": "a b"}, {"S": "a"}])
    True
    """
    if len(values) == 1:
        return plain(values[0])
    return b"".join(map(terminated, values[:-1])) + plain(values[-1])


def prefix(values: Sequence[Value]) -> bytes:
    """The common beginning of keys with these first attribute values, if further attributes follow."""
    return b"".join(map(terminated, values))


def _escape(content: bytes) -> bytes:
    return content.replace(b"\x00", b"\x00\xff")


def after(key: bytes) -> bytes:
    """The smallest bytes greater than these."""
    return key + b"\x00"


def under(begin: bytes) -> Range:
    """The range of all keys with this prefix."""
    return Range(begin, beyond(begin))


def beyond(begin: bytes) -> bytes | None:
    """The smallest bytes greater than all with this prefix; None if there are none.

    >>> beyond(b"a"), beyond(b"a\\xff"), beyond(b"\\xff")
    (b'b', b'b', None)
    """
    remaining = begin.rstrip(b"\xff")
    return remaining[:-1] + bytes((remaining[-1] + 1,)) if remaining else None


NOT_INDEXABLE = "Attempted conditional constraint is not an indexable operation"


def compare_range(begin: bytes, operator: str, operands: list[Value], *, last: bool) -> Range:
    """The range of keys with this prefix whose next attribute satisfies a comparison.

    `last` says that this attribute is the last one of the key, so that nothing follows its bytes.
    """
    encode = plain if last else terminated
    first = begin + encode(operands[0])
    after_first: bytes | None = after(first) if last else beyond(first)
    upper_bound = beyond(begin) if begin else None
    match operator:
        case "=":
            return Range(first, after_first)
        case "<":
            return Range(begin, first)
        case "<=":
            return Range(begin, after_first)
        case ">":
            return Range(after_first if after_first is not None else first, upper_bound)
        case ">=":
            return Range(first, upper_bound)
        case "BETWEEN":
            upper = begin + encode(operands[1])
            return Range(first, after(upper) if last else beyond(upper))
        case "begins_with":
            start = begin + (plain(operands[0]) if last else _escape(plain(operands[0])))
            return Range(start, beyond(start) if start else None)
    raise invalid(NOT_INDEXABLE)
