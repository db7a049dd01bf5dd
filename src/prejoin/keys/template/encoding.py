"""How one value is written in a key: an encoding for each type of attribute, one to one and in order."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from prejoin.keys.errors import KeyValueError, TemplateError
from prejoin.types import Kind, Type

from .codegen import FunctionSource
from .numbers import complement, decode_number, encode_number, negated
from .separator import Separator
from .shape import DIGIT, HEX, TOP, Chars, Either, Shape, literal, many, shape_of_picture, width, words

DATETIME_PICTURE = "9999-99-99T99:99:99.999999Z"
_NUMBER_SHAPE = many(("-", "."), ("0", "9"), ("A", "Z"), ("a", "l"), ("~", "~"))
_ULID_CHARS = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


Inline = Callable[[str, str, str], str]
"""From a name that is free, the source of the value, and the name of `encode`, to the source of the text."""


class Encoding(msgspec.Struct, frozen=True, dict=True):
    """How the values of one field become text. Two encodings of one name write the same value alike."""

    name: str
    encode: Callable[[Any], Any]
    """A value as text; for a key that is an attribute itself, as what DynamoDB stores."""
    decode: Callable[[str], object] | None
    """None where the text is only derived from the value: a bucket, a shard, folded case."""
    shape: Shape
    ordered: bool = True
    """Whether text sorts as the values do."""
    descending: bool = False
    """Whether it sorts as the values do, turned round."""
    prefixes: bool = False
    """Whether the beginning of a value is the beginning of its text, so that `begins_with` has a meaning."""
    bucket: str = ""
    shards: int = 0
    settled: bool = True
    """Whether a value's shard is the one it has; if not, it may be in any, for their number is being changed."""
    missing: str | None = None
    """What stands for a value that is not there, if one need not be."""
    inline: Inline | None = None
    """The source of `encode` for the commonest values, where that is quicker than to call it."""

    def source(self, value: str, code: FunctionSource) -> str:
        """The source of the text, of that of the value."""
        if self.inline is not None:
            return self.inline(code.fresh(), value, code.constant(self.encode))
        return f"{code.constant(self.encode)}({value})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Encoding) and self._likeness == other._likeness

    def __hash__(self) -> int:
        return hash(self._likeness)

    @cached_property
    def _likeness(self) -> tuple[object, ...]:
        return self.name, self.ordered, self.descending, self.prefixes, self.bucket, self.shards, self.settled

    @cached_property
    def width(self) -> int | None:
        """The number of characters where it is always the same."""
        return width(self.shape)

    @property
    def derived(self) -> bool:
        return self.decode is None


def type_error(value: object, what: str) -> KeyValueError:
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
            shape = words(["false", "true"])
            return Encoding("boolean", _encode_boolean, {"false": False, "true": True}.__getitem__, shape)
        case Kind.DATE:
            return Encoding(
                "date", lambda value: day(value).isoformat(), date.fromisoformat, shape_of_picture("9999-99-99")
            )
        case Kind.DATETIME:
            return Encoding("datetime", encode_datetime, datetime.fromisoformat, shape_of_picture(DATETIME_PICTURE))
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
    known = {member: separator.quote(member) for member in members}

    def encode(value: object) -> str:
        if type(value) is not str:
            value = _text(value)
        # Letters and digits of any script sort above every separator: most ids stand as they are.
        return value if value.isalnum() else separator.quote(value)

    def inline(name: str, value: str, encode: str) -> str:
        return f"({name} if type({name} := {value}) is str and {name}.isalnum() else {encode}({name}))"

    def encode_member(value: object) -> str:
        found = known.get(value if type(value) is str else _text(value))
        if found is None:
            raise type_error(plain(value), f"one of {', '.join(members)}")
        return found

    shape: Shape = many((separator.escape, TOP))
    if members:
        shape = words(known.values())
    elif not separator.ordered:
        shape = many(("\x00", chr(ord(separator.char) - 1)), (chr(ord(separator.char) + 1), TOP))
    if members:
        return Encoding("text", encode_member, separator.unquote, shape, separator.ordered, prefixes=True)
    return Encoding("text", encode, separator.unquote, shape, separator.ordered, prefixes=True, inline=inline)


def _text(value: object) -> str:
    value = plain(value)
    if not isinstance(value, str):
        raise type_error(value, "text")
    return value


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
    if type_.values:
        shape = words(value for value in type_.values if not stop or stop not in value)
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
    found = _text(value)
    if type_.values and found not in type_.values:
        raise type_error(found, f"one of {', '.join(type_.values)}")
    return found


def unordered_number(type_: Type, separator: Separator) -> Encoding:
    """Numbers as people write them, for places where their order does not matter.

    >>> one = unordered_number(Type(Kind.NUMBER), Separator())
    >>> one.encode(42), one.encode(Decimal("4.20")), one.encode(-5), one.encode(Decimal("1E+3"))
    ('42', '4.2', '-5', '1000')
    """
    if separator.char in "0123456789.-":
        raise TemplateError(f"a plain number may contain {separator.char!r}, which separates the parts of this key")
    check = integer if type_.kind is Kind.INTEGER else decimal

    def encode(value: object) -> str:
        written = f"{Decimal(check(value)):f}"
        if not Decimal(written).is_finite():
            raise type_error(value, "a number")
        if "." in written:
            written = written.rstrip("0").rstrip(".")
        return "0" if written in ("-0", "") else written

    def decode(written: str) -> object:
        return Decimal(written) if "." in written else int(written)

    return Encoding("plain number", encode, decode, many(("-", "."), ("0", "9")), ordered=False)


def padded_integer(width: int, descending: bool = False) -> Encoding:
    """Non-negative integers in a fixed number of digits.

    >>> padded_integer(6).encode(42), padded_integer(6, descending=True).encode(42)
    ('000042', '999957')
    """

    limit = 10**width
    picture = f"%0{width}d"

    def encode(value: object) -> str:
        number = value if type(value) is int else integer(value)
        if not 0 <= number < limit:
            raise KeyValueError(f"{number} does not fit into {width} digits")
        digits = picture % number
        return complement(digits) if descending else digits

    def inline(name: str, value: str, encode: str) -> str:
        written = f"{picture!r} % {name}"
        return f"({written} if type({name} := {value}) is int and 0 <= {name} < {limit} else {encode}({name}))"

    def decode(digits: str) -> int:
        return int(complement(digits) if descending else digits)

    shape = (Chars(DIGIT),) * width
    if descending:
        return Encoding(f"{width} digits desc", encode, decode, shape, descending=True)
    return Encoding(f"{width} digits", encode, decode, shape, inline=inline)


def descending_encoding(type_: Type, plain_: Encoding) -> Encoding:
    """The encoding in descending order: digits of dates complemented, numbers negated.

    >>> newest_first = descending_encoding(Type(Kind.DATE), default(Type(Kind.DATE), Separator()))
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


def fixed_point(width: int, places: int, descending: bool = False) -> Encoding:
    """Non-negative decimals in a fixed number of characters, with so many places after the point.

    >>> fixed_point(8, 2).encode(Decimal("19.9")), fixed_point(8, 2, descending=True).encode(Decimal("19.9"))
    ('00019.90', '99980.09')
    """
    if not 0 < places < width - 1:
        raise TemplateError(f"{width} characters are too few for {places} places, the point and what is before it")

    def encode(value: object) -> str:
        number = decimal(value)
        # Not abs(number): arithmetic rounds to the context's 28 digits. Nor is an exponent of a million written out.
        fits = number.is_finite() and number >= 0 and (not number or abs(number.adjusted()) < width)
        whole, _, fraction = f"{number.copy_abs():f}".partition(".") if fits else ("", "", "")
        before, after = whole.lstrip("0").rjust(width - places - 1, "0"), fraction.rstrip("0").ljust(places, "0")
        if not fits or len(before) + 1 + len(after) != width:
            raise KeyValueError(f"{value} does not fit into {width} characters with {places} after the point")
        digits = f"{before}.{after}"
        return complement(digits) if descending else digits

    def decode(written: str) -> Decimal:
        return Decimal(complement(written) if descending else written)

    shape = shape_of_picture("9" * (width - places - 1) + "." + "9" * places)
    return Encoding(f"{width}.{places} digits{' desc' * descending}", encode, decode, shape, descending=descending)


def datetime_encoding(unit: str) -> Encoding:
    """A moment that is whole seconds or milliseconds, as many tables have it.

    >>> datetime_encoding("seconds").encode(datetime(2026, 5, 4, 12, tzinfo=UTC))
    '2026-05-04T12:00:00Z'
    """
    timespec = {"seconds": "seconds", "millis": "milliseconds"}[unit]
    picture = {"seconds": "9999-99-99T99:99:99Z", "millis": "9999-99-99T99:99:99.999Z"}[unit]
    finer = {"seconds": 1_000_000, "millis": 1_000}[unit]

    def encode(value: object) -> str:
        found = moment(value).replace(tzinfo=None)
        if found.microsecond % finer:
            raise KeyValueError(f"{found.isoformat()} is finer than {timespec}: two moments would look alike")
        return found.isoformat(timespec=timespec) + "Z"

    return Encoding(f"datetime {unit}", encode, datetime.fromisoformat, shape_of_picture(picture))


def optional(of: Encoding, separator: Separator) -> Encoding:
    """The encoding of a value that need not be there. One that is not is less than all others.

    What is missing is written as nothing, and then the empty text as an escape of its own, which sorts next; where
    the order is turned round, as `~`, above all.

    >>> name = optional(text(Separator()), Separator())
    >>> [name.encode(value) for value in (None, "", "a b")]
    ['', '$-', 'a$20b']
    >>> [name.decode(written) for written in ("", "$-", "a$20b")]
    [None, '', 'a b']
    """
    encode, decode = of.encode, of.decode
    if decode is None:
        raise TemplateError("'?' goes with a value as it is, not with what is only derived from it")
    missing = "~" if of.descending else ""
    empty = separator.escape + "-"

    def encode_optional(value: object) -> str:
        return missing if value is None else encode(value) or empty

    def decode_optional(written: str) -> object:
        return None if written == missing else decode("" if written == empty else written)

    shape: Shape = (Either((literal(missing), literal(empty), of.shape)),)
    # Nothing, followed by a separator that sorts above letters, would not be first.
    ordered = of.ordered and (of.descending or separator.ordered)
    return msgspec.structs.replace(
        of,
        name=f"{of.name} or none",
        encode=encode_optional,
        decode=decode_optional,
        shape=shape,
        ordered=ordered,
        missing=missing,
    )


def plain(value: object) -> object:
    """An enum member as its value; anything else as it is."""
    return value.value if isinstance(value, Enum) else value


def integer(value: object) -> int:
    value = plain(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise type_error(value, "an integer")
    return value


def decimal(value: object) -> Decimal:
    value = plain(value)
    if isinstance(value, float):
        value = Decimal(repr(value))
    if not isinstance(value, int | Decimal) or isinstance(value, bool):
        raise type_error(value, "a number")
    return Decimal(value)


def day(value: object) -> date:
    if not isinstance(value, date) or isinstance(value, datetime):
        raise type_error(value, "a date")
    return value


def moment(value: object) -> datetime:
    """A point in time, in UTC."""
    if not isinstance(value, datetime):
        raise type_error(value, "a date and time")
    if value.tzinfo is None:
        raise KeyValueError(f"{value.isoformat()} has no time zone: which moment it is cannot be known")
    return value.astimezone(UTC)


def encode_datetime(value: object) -> str:
    if not isinstance(value, datetime) or value.tzinfo is not UTC:
        value = moment(value)
    return value.isoformat(timespec="microseconds")[:26] + "Z"


def _encode_decimal(value: object) -> str:
    return encode_number(decimal(value))


def _encode_boolean(value: object) -> str:
    if not isinstance(value, bool):
        raise type_error(value, "true or false")
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
    raise type_error(value, "a UUID in its usual form (lower case, with hyphens)")


def _encode_ulid(value: object) -> str:
    written = value if isinstance(value, str) else str(value)
    if len(written) != 26 or not _ULID_CHARS.issuperset(written):
        raise type_error(value, "a ULID (26 characters, upper case)")
    return written


def _encode_binary(value: object) -> str:
    if not isinstance(value, bytes | bytearray):
        raise type_error(value, "binary")
    return bytes(value).hex()


__all__ = [
    "Encoding",
    "datetime_encoding",
    "default",
    "descending_encoding",
    "encode_datetime",
    "fixed_point",
    "optional",
    "padded_integer",
    "text",
    "verbatim",
]
