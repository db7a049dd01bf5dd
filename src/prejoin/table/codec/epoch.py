"""Times as DynamoDB deletes by them: numbers, the seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from prejoin.table.errors import CodecError
from prejoin.types import Kind

from .structs import or_none, through
from .values import Json, ValueCodec


def epoch(value: ValueCodec) -> ValueCodec:
    """The codec of a date and time, to be stored as seconds. What is a number already stays as it is.

    >>> from .values import codec_for
    >>> codec = epoch(codec_for(datetime))
    >>> codec.encode(datetime(2026, 5, 4, 12, tzinfo=UTC))
    {'N': '1777896000'}
    >>> codec.decode({"N": "1777896000"})
    datetime.datetime(2026, 5, 4, 12, 0, tzinfo=datetime.timezone.utc)
    """
    if value.type.kind is not Kind.DATETIME:
        return value
    wire = through(read_seconds, "N")

    def encode(time: Any) -> Json:
        return {"NULL": True} if time is None and value.optional else {"N": str(seconds(time))}

    def decode(stored: Json) -> Any:
        if "NULL" in stored and value.optional:
            return None
        try:
            return read_seconds(stored["N"])
        except (KeyError, ValueError, ArithmeticError) as error:
            raise CodecError(f"{stored!r} is not a time in seconds since 1970") from error

    return replace(value, encode=encode, decode=decode, wire=or_none(wire) if value.optional else wire)


def seconds(time: object) -> int:
    """A moment in whole seconds; what is left over is dropped."""
    if not isinstance(time, datetime):
        raise CodecError(f"{time!r} is not a date and time")
    if time.tzinfo is None:
        raise CodecError(f"{time.isoformat()} has no time zone: which moment it is cannot be known")
    return int(time.timestamp() // 1)


def read_seconds(text: str) -> datetime:
    return datetime.fromtimestamp(int(Decimal(text)), UTC)
