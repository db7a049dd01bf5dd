"""How one value is written in a key: an encoding for each type of attribute, one to one and in order."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

from prejoin.types import Kind, Type

from .errors import KeyValueError, TemplateError
from .numbers import complement, decode_number, encode_number, negated
from .separator import Separator
from .shape import DIGIT, HEX, TOP, Chars, Shape, many, pictured

DATETIME_PICTURE = "9999-99-99T99:99:99.999999Z"
_NUMBER_SHAPE = many(("-", "."), ("0", "9"), ("A", "Z"), ("a", "l"), ("~", "~"))
_ULID_CHARS = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


@dataclass(frozen=True)
class Encoding:
    """How the values of one field become text. Two encodings of one name write the same value alike."""

    name: str
    encode: Callable[[Any], str] = field(compare=False, repr=False)
    decode: Callable[[str], object] | None = field(compare=False, repr=False)
    """None where the text is only derived from the value: a bucket, a shard, folded case."""
    shape: Shape = field(compare=False, repr=False)
    ordered: bool = True
    """Whether text sorts as the values do."""
    descending: bool = False
    """Whether it sorts as the values do, turned round."""
    prefixes: bool = False
    """Whether the beginning of a value is the beginning of its text, so that `begins_with` has a meaning."""
    bucket: str = ""
    shards: int = 0

    @property
    def width(self) -> int | None:
        """The number of characters where it is always the same."""
        return None if any(chars.many for chars in self.shape) else len(self.shape)

    @property
    def derived(self) -> bool:
        return self.decode is None


def wrong(value: object, what: str) -> KeyValueError:
    return KeyValueError(f"{value!r} is not {what}")


def default(type_: Type, separator: Separator) -> Encoding:
    """The encoding of a type where the template asks for nothing else.

    >>> default(Type(Kind.BOOLEAN), Separator()).encode(True)
    'true'
    >>> default(Type(Kind.DATETIME), Separator()).encode(datetime(2026, 5, 4, 12, tzinfo=UTC))
    '2026-05-04T12:00:00.000000Z'
    """
    match type_.kind:
        case Kind.STRING:
            return text(separator)
        case Kind.ENUM:
            return text(separator, members=type_.values)
        case Kind.NUMBER | Kind.DECIMAL:
            return Encoding("number", _encode_decimal, decode_number, _NUMBER_SHAPE, separator.ordered)
        case Kind.INTEGER:
            return Encoding("number", lambda value: encode_number(integer(value)), decode_number, _NUMBER_SHAPE)
        case Kind.BOOLEAN:
            shape = many(("a", "z"))
            return Encoding("boolean", _encode_boolean, {"false": False, "true": True}.__getitem__, shape)
        case Kind.DATE:
            return Encoding("date", lambda value: day(value).isoformat(), date.fromisoformat, pictured("9999-99-99"))
        case Kind.DATETIME:
            return Encoding("datetime", encode_datetime, datetime.fromisoformat, pictured(DATETIME_PICTURE))
        case Kind.UUID:
            shape = tuple(Chars((("-", "-"),)) if i in (8, 13, 18, 23) else Chars(HEX) for i in range(36))
            return Encoding("uuid", _encode_uuid, uuid.UUID, shape)
        case Kind.ULID:
            return Encoding("ulid", _encode_ulid, str, (Chars((("0", "9"), ("A", "Z"))),) * 26)
        case Kind.BINARY:
            shape = (Chars(HEX, many=True),)
            return Encoding("binary", _encode_binary, bytes.fromhex, shape, separator.ordered, prefixes=True)
        case _:
            raise TemplateError(f"a {type_} cannot stand in a key")


def text(separator: Separator, members: tuple[str, ...] = ()) -> Encoding:
    """Text, escaped; of an enum, only its members."""

    def encode(value: object) -> str:
        value = plain(value)
        if not isinstance(value, str):
            raise wrong(value, "text")
        if members and value not in members:
            raise wrong(value, f"one of {', '.join(members)}")
        return separator.quote(value)

    shape: Shape = many((separator.escape, TOP))
    if not separator.ordered:
        shape = many(("\x00", chr(ord(separator.char) - 1)), (chr(ord(separator.char) + 1), TOP))
    return Encoding("text", encode, separator.unquote, shape, separator.ordered, prefixes=True)


def verbatim(type_: Type, stop: str) -> Encoding:
    """A value as it stands in a table that others filled: not escaped, up to `stop` ("": to the end).

    >>> verbatim(Type(Kind.STRING), "").encode("a#b")
    'a#b'
    """
    ordinary = default(type_, Separator())
    if ordinary.width is not None:
        return ordinary

    def encode(value: object) -> str:
        value = plain(value)
        written = _write_verbatim(value, type_)
        if stop and stop in written:
            raise KeyValueError(f"{value!r} contains {stop!r}, which ends it in this key: two values would look alike")
        return written

    decoders: dict[Kind, Callable[[str], object]] = {
        Kind.NUMBER: Decimal,
        Kind.DECIMAL: Decimal,
        Kind.INTEGER: int,
        Kind.BINARY: bytes.fromhex,
        Kind.BOOLEAN: {"false": False, "true": True}.__getitem__,
    }
    shape = many(("\x00", chr(ord(stop) - 1)), (chr(ord(stop) + 1), TOP)) if stop else many(("\x00", TOP))
    in_order = not stop and not type_.numeric
    is_text = type_.kind in (Kind.STRING, Kind.ENUM)
    decode = decoders.get(type_.kind, str)
    return Encoding(f"verbatim {ordinary.name}", encode, decode, shape, in_order, prefixes=is_text)


def _write_verbatim(value: object, type_: Type) -> str:
    if type_.numeric:
        return f"{decimal(value):f}"
    if type_.kind is Kind.BINARY:
        return _encode_binary(value)
    if type_.kind is Kind.BOOLEAN:
        return _encode_boolean(value)
    if not isinstance(value, str):
        raise wrong(value, "text")
    if type_.values and value not in type_.values:
        raise wrong(value, f"one of {', '.join(type_.values)}")
    return value


def padded(width: int, descending: bool = False) -> Encoding:
    """Non-negative integers in a fixed number of digits.

    >>> padded(6).encode(42), padded(6, descending=True).encode(42)
    ('000042', '999957')
    """

    def encode(value: object) -> str:
        number = integer(value)
        if number < 0 or number >= 10**width:
            raise KeyValueError(f"{number} does not fit into {width} digits")
        digits = f"{number:0{width}d}"
        return complement(digits) if descending else digits

    def decode(digits: str) -> int:
        return int(complement(digits) if descending else digits)

    shape = (Chars(DIGIT),) * width
    return Encoding(f"{width} digits{' desc' * descending}", encode, decode, shape, descending=descending)


def turned_round(type_: Type, plain_: Encoding) -> Encoding:
    """The encoding in descending order: digits of dates complemented, numbers negated.

    >>> newest_first = turned_round(Type(Kind.DATE), default(Type(Kind.DATE), Separator()))
    >>> newest_first.encode(date(2026, 5, 4)) < newest_first.encode(date(2026, 5, 3))
    True
    """
    decode = plain_.decode
    if decode is None or not (type_.numeric or type_.kind in (Kind.DATE, Kind.DATETIME)):
        raise TemplateError(f"descending order is for numbers, dates and times, not for a {type_}")
    name = f"{plain_.name} desc"
    if type_.numeric:
        number: Callable[[object], int | Decimal] = integer if type_.kind is Kind.INTEGER else decimal
        return Encoding(
            name,
            lambda value: encode_number(negated(number(value))),
            lambda written: negated(decode_number(written)),
            plain_.shape,
            plain_.ordered,
            descending=True,
        )
    return Encoding(
        name,
        lambda value: complement(plain_.encode(value)),
        lambda written: decode(complement(written)),
        plain_.shape,
        descending=True,
    )


def plain(value: object) -> object:
    """An enum member as its value; anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def integer(value: object) -> int:
    value = plain(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong(value, "an integer")
    return value


def decimal(value: object) -> Decimal:
    value = plain(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise wrong(value, "a number")
    return Decimal(value)


def day(value: object) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise wrong(value, "a date")
    return value


def moment(value: object) -> datetime:
    """A point in time, in UTC."""
    if not isinstance(value, datetime):
        raise wrong(value, "a date and time")
    if value.tzinfo is None:
        raise KeyValueError(f"{value.isoformat()} has no time zone: which moment it is cannot be known")
    return value.astimezone(UTC)


def encode_datetime(value: object) -> str:
    return moment(value).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _encode_decimal(value: object) -> str:
    return encode_number(decimal(value))


def _encode_boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise wrong(value, "true or false")
    return "true" if value else "false"


def _encode_uuid(value: object) -> str:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, str):
        try:
            if str(uuid.UUID(value)) == value:
                return value
        except ValueError:
            pass
    raise wrong(value, "a UUID in its usual form (lower case, with hyphens)")


def _encode_ulid(value: object) -> str:
    written = value if isinstance(value, str) else str(value)
    if len(written) != 26 or not _ULID_CHARS.issuperset(written):
        raise wrong(value, "a ULID (26 characters, upper case)")
    return written


def _encode_binary(value: object) -> str:
    if not isinstance(value, bytes | bytearray):
        raise wrong(value, "binary")
    return bytes(value).hex()


__all__ = ["Encoding", "default", "encode_datetime", "padded", "text", "turned_round", "verbatim"]
