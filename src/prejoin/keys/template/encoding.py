"""Encodings: how values of each type are written into a key.

Every encoding is injective: two values never have the same text, so a key can be parsed again. The exceptions are
derived encodings (time buckets, shards, folded case), which have no `decode`. Encodings with `ordered` are also
order-preserving: their texts sort like the values, with whatever follows in the key.

    text      escaped, see `separator`          a b -> a$20b
    number    see `numbers`                     -19.99 -> -k80.00~
    date      ISO 8601, of fixed width          2026-05-04
    datetime  ISO 8601 in UTC, of fixed width   2026-05-04T12:00:00.000000Z
    boolean   false or true
    binary    hex digits                        01ff

Fixed widths make order trivial: texts differ first where the values do. Descending order complements the digits of
dates, or negates numbers. None is never written as text; an optional attribute has its own encoding.
"""

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
from .numbers import complement, decode_number, encode_number, negate
from .separator import Separator
from .shape import DIGIT, HEX, TOP, Chars, Either, Shape, literal, many, shape_of_picture, width, words

DATETIME_PICTURE = "9999-99-99T99:99:99.999999Z"
_LENGTH_AND_DIGITS: Shape = (Chars((("A", "Z"), ("a", "l"))), Chars(DIGIT), *many((".", "."), ("0", "9")))
_NUMBER_SHAPE: Shape = (Either((_LENGTH_AND_DIGITS, (*literal("-"), *_LENGTH_AND_DIGITS, *literal("~")))),)
_ULID_CHARS = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")


Inline = Callable[[str, str, str], str]
"""From a free name, the source of the value and the name of `encode`, to the source of the text."""


class Encoding(msgspec.Struct, frozen=True, dict=True):
    """How the values of one field become text. Encodings with the same name write the same value alike."""

    name: str
    encode: Callable[[Any], Any]
    """From a value to its text. For a key that is an attribute itself, to the value that DynamoDB stores."""
    decode: Callable[[str], object] | None
    """None if the text is only derived from the value: a bucket, a shard, folded case."""
    shape: Shape
    ordered: bool = True
    """Whether the texts sort like the values."""
    descending: bool = False
    """Whether the texts sort like the values in reverse."""
    prefixes: bool = False
    """Whether the text of a value's beginning is the beginning of its text, so that `begins_with` works."""
    bucket: str = ""
    shards: int = 0
    digits: int = 0
    """The number of digits of a padded integer."""
    folds: bool = False
    """Whether texts that differ in case are written alike."""
    settled: bool = True
    """Whether a value is always in the shard computed for it. False while the number of shards is being changed: older
    items may be in any shard.
    """
    missing: str | None = None
    """The text for a missing value, if the attribute is optional."""
    inline: Inline | None = None
    """The source of `encode` for the most common values, where that is faster than a call."""

    def source(self, value: str, code: FunctionSource) -> str:
        """The source of the text, given the source of the value."""
        if self.inline is not None:
            return self.inline(code.new_name(), value, code.constant(self.encode))
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
        """The number of characters, if it is fixed."""
        return width(self.shape)

    @property
    def derived(self) -> bool:
        return self.decode is None


def type_error(value: object, label: str) -> KeyValueError:
    return KeyValueError(f"{value!r} is not {label}")


def default(type_: Type, separator: Separator) -> Encoding:
    """The encoding of a type without a spec.

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
            hyphen = literal("-")
            shape = (*_hex_digits(8), *(*hyphen, *_hex_digits(4)) * 3, *hyphen, *_hex_digits(12))
            return Encoding("uuid", _encode_uuid, uuid.UUID, shape)
        case Kind.ULID:
            return Encoding("ulid", _encode_ulid, str, (Chars((("0", "9"), ("A", "Z"))),) * 26)
        case Kind.BINARY:
            shape = (Chars(HEX, many=True),)
            return Encoding("binary", _encode_binary, bytes.fromhex, shape, separator.ordered, prefixes=True)
        case _:
            raise TemplateError(f"a {type_} cannot be part of a key")


def _hex_digits(count: int) -> Shape:
    return (Chars(HEX),) * count


def text(separator: Separator, members: tuple[str, ...] = ()) -> Encoding:
    """Escaped text. For an enum, only its members are accepted."""
    text_of_member = {member: separator.quote(member) for member in members}

    def encode(value: object) -> str:
        if type(value) is not str:
            value = _text(value)
        # Letters and digits of any script sort above every separator, so most ids need no escaping.
        return value if value.isalnum() else separator.quote(value)

    def inline(name: str, value: str, encode: str) -> str:
        return f"({name} if type({name} := {value}) is str and {name}.isalnum() else {encode}({name}))"

    def encode_member(value: object) -> str:
        text = text_of_member.get(value if type(value) is str else _text(value))
        if text is None:
            raise type_error(plain(value), f"one of {', '.join(members)}")
        return text

    shape: Shape = many((separator.escape, TOP))
    if members:
        shape = words(text_of_member.values())
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
    """A value as it is in a table filled by other programs: unescaped, up to `stop`, or to the end if that is empty.

    >>> verbatim(Type(Kind.STRING), "").encode("a#b")
    'a#b'
    """
    ordinary = default(type_, Separator())
    if ordinary.width is not None:
        return ordinary

    def encode(value: object) -> str:
        value = plain(value)
        text = _write_verbatim(value, type_)
        if stop and stop in text:
            raise KeyValueError(
                f"{value!r} contains {stop!r}, which ends the value in this key: two values would have the same key"
            )
        return text

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
    text = _text(value)
    if type_.values and text not in type_.values:
        raise type_error(text, f"one of {', '.join(type_.values)}")
    return text


def unordered_number(type_: Type, separator: Separator) -> Encoding:
    """Numbers in ordinary notation, for places where their order does not matter.

    >>> one = unordered_number(Type(Kind.NUMBER), Separator())
    >>> one.encode(42), one.encode(Decimal("4.20")), one.encode(-5), one.encode(Decimal("1E+3"))
    ('42', '4.2', '-5', '1000')
    """
    if separator.char in "0123456789.-":
        raise TemplateError(f"a plain number may contain {separator.char!r}, which separates the parts of this key")
    check = integer if type_.kind is Kind.INTEGER else decimal

    def encode(value: object) -> str:
        if type(value) is int:  # most ids: six times as fast
            return str(value)
        text = f"{Decimal(check(value)):f}"
        if not Decimal(text).is_finite():
            raise type_error(value, "a number")
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return "0" if text in ("-0", "") else text

    def decode(text: str) -> object:
        return Decimal(text) if "." in text else int(text)

    return Encoding("plain number", encode, decode, many(("-", "."), ("0", "9")), ordered=False)


def padded_integer(width: int, descending: bool = False) -> Encoding:
    """Non-negative integers with a fixed number of digits.

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
        format_source = f"{picture!r} % {name}"
        return f"({format_source} if type({name} := {value}) is int and 0 <= {name} < {limit} else {encode}({name}))"

    def decode(digits: str) -> int:
        return int(complement(digits) if descending else digits)

    shape = (Chars(DIGIT),) * width
    if descending:
        return Encoding(f"{width} digits desc", encode, decode, shape, descending=True, digits=width)
    return Encoding(f"{width} digits", encode, decode, shape, digits=width, inline=inline)


def descending_encoding(type_: Type, plain_: Encoding) -> Encoding:
    """The encoding in descending order: dates with complemented digits, numbers negated.

    >>> newest_first = descending_encoding(Type(Kind.DATE), default(Type(Kind.DATE), Separator()))
    >>> newest_first.encode(date(2026, 5, 4)) < newest_first.encode(date(2026, 5, 3))
    True
    """
    decode = plain_.decode
    if decode is None or not (type_.numeric or type_.kind in (Kind.DATE, Kind.DATETIME)):
        raise TemplateError(f"descending order is for numbers, dates and times, not for a {type_}")
    name = f"{plain_.name} desc"
    if type_.numeric:
        to_number: Callable[[object], int | Decimal] = integer if type_.kind is Kind.INTEGER else decimal
        return Encoding(
            name,
            lambda value: encode_number(negate(to_number(value))),
            lambda text: negate(decode_number(text)),
            plain_.shape,
            plain_.ordered,
            descending=True,
        )
    return Encoding(
        name,
        lambda value: complement(plain_.encode(value)),
        lambda text: decode(complement(text)),
        plain_.shape,
        descending=True,
    )


def fixed_point(width: int, places: int, descending: bool = False) -> Encoding:
    """Non-negative decimals with a fixed number of characters and of decimal places.

    >>> fixed_point(8, 2).encode(Decimal("19.9")), fixed_point(8, 2, descending=True).encode(Decimal("19.9"))
    ('00019.90', '99980.09')
    """
    if not 0 < places < width - 1:
        raise TemplateError(f"{width} characters are too few for {places} decimal places")

    def encode(value: object) -> str:
        number = decimal(value)
        # Not abs(number): arithmetic rounds to the context's 28 digits. Nor is an exponent of a million written out.
        fits = number.is_finite() and number >= 0 and (not number or abs(number.adjusted()) < width)
        integer_digits, _, fraction = f"{number.copy_abs():f}".partition(".") if fits else ("", "", "")
        before = integer_digits.lstrip("0").rjust(width - places - 1, "0")
        after = fraction.rstrip("0").ljust(places, "0")
        if not fits or len(before) + 1 + len(after) != width:
            raise KeyValueError(f"{value} does not fit into {width} characters with {places} after the point")
        digits = f"{before}.{after}"
        return complement(digits) if descending else digits

    def decode(text: str) -> Decimal:
        return Decimal(complement(text) if descending else text)

    shape = shape_of_picture("9" * (width - places - 1) + "." + "9" * places)
    return Encoding(f"{width}.{places} digits{' desc' * descending}", encode, decode, shape, descending=descending)


def datetime_encoding(unit: str) -> Encoding:
    """A point in time with whole seconds or milliseconds, as many existing tables have it.

    >>> datetime_encoding("seconds").encode(datetime(2026, 5, 4, 12, tzinfo=UTC))
    '2026-05-04T12:00:00Z'
    """
    timespec = {"seconds": "seconds", "millis": "milliseconds"}[unit]
    picture = {"seconds": "9999-99-99T99:99:99Z", "millis": "9999-99-99T99:99:99.999Z"}[unit]
    finer = {"seconds": 1_000_000, "millis": 1_000}[unit]

    def encode(value: object) -> str:
        point_in_time = moment(value).replace(tzinfo=None)
        if point_in_time.microsecond % finer:
            raise KeyValueError(
                f"{point_in_time.isoformat()} is finer than {timespec}: two points in time would have the same key"
            )
        return point_in_time.isoformat(timespec=timespec) + "Z"

    return Encoding(f"datetime {unit}", encode, datetime.fromisoformat, shape_of_picture(picture))


def optional(encoding: Encoding, separator: Separator) -> Encoding:
    """The encoding of an optional attribute. A missing value sorts before all others.

    It is written as the empty text, so the empty string gets an escape of its own, which sorts next. In descending
    order it is written as `~`, which sorts last.

    >>> name = optional(text(Separator()), Separator())
    >>> [name.encode(value) for value in (None, "", "a b")]
    ['', '$-', 'a$20b']
    >>> [name.decode(written) for written in ("", "$-", "a$20b")]
    [None, '', 'a b']
    """
    encode, decode = encoding.encode, encoding.decode
    if decode is None:
        raise TemplateError("'?' needs a value itself, not a derived one")
    missing = "~" if encoding.descending else ""
    empty = separator.escape + "-"

    def encode_optional(value: object) -> str:
        return missing if value is None else encode(value) or empty

    def decode_optional(text: str) -> object:
        return None if text == missing else decode("" if text == empty else text)

    shape: Shape = (Either((literal(missing), literal(empty), encoding.shape)),)
    # An empty text followed by a separator above letters would not sort first.
    is_in_order = encoding.ordered and (encoding.descending or separator.ordered)
    return msgspec.structs.replace(
        encoding,
        name=f"{encoding.name} or none",
        encode=encode_optional,
        decode=decode_optional,
        shape=shape,
        ordered=is_in_order,
        missing=missing,
    )


def plain(value: object) -> object:
    """The value of an enum member; anything else unchanged."""
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
    """A point in time in UTC."""
    if not isinstance(value, datetime):
        raise type_error(value, "a date and time")
    if value.tzinfo is None:
        raise KeyValueError(f"{value.isoformat()} has no time zone, so the point in time is unknown")
    return value.astimezone(UTC)


def encode_datetime(value: object) -> str:
    if not isinstance(value, datetime) or value.tzinfo is not UTC:
        value = moment(value)
    try:
        text = _encode_json(value)  # an eighth of the time of `isoformat`
    except TypeError:  # a subclass of datetime
        return value.isoformat(timespec="microseconds")[:26] + "Z"
    # In quotes, and without a fraction if it is zero.
    return (text[1:-1] if len(text) == _WITH_FRACTION else text[1:20] + b".000000Z").decode()


_encode_json = msgspec.json.Encoder().encode
_WITH_FRACTION = len('"2026-05-04T12:00:00.000001Z"')


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
    text = value if isinstance(value, str) else str(value)
    if len(text) != 26 or not _ULID_CHARS.issuperset(text):
        raise type_error(value, "a ULID (26 characters, upper case)")
    return text


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
