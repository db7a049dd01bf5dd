"""Natural keys: attributes used as keys as they are, text, numbers or binary. An index may have several in a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from functools import cached_property
from typing import Any, Literal

import msgspec

from prejoin.keys.errors import KeyValueError, TemplateError
from prejoin.keys.planner.key_condition import MOST_SK_BYTES, Bounds, KeyCondition, KeyValue, Op, Scalar, just_below
from prejoin.protocol import limits
from prejoin.types import Kind, Type

from .encoding import Encoding, decimal, default, integer, plain, type_error
from .parts import KeyField, shape
from .separator import Separator
from .shape import ANYTHING, Shape, words

Tag = Literal["S", "N", "B"]
"""The types of a key attribute."""

_STEP = Context(prec=limits.NUMBER_DIGITS)
_SMALLEST_NUMBER = Decimal((0, (1,), limits.NUMBER_EXPONENT_MINIMUM))


def tag_of(type_: Type) -> Tag | None:
    """The type that DynamoDB stores a value as, if it can be a key attribute."""
    if type_.numeric:
        return "N"
    if type_.kind is Kind.BINARY:
        return "B"
    return "S" if type_.scalar and type_.kind is not Kind.BOOLEAN else None


class Natural(msgspec.Struct, frozen=True, dict=True):
    """Attributes that are a partition or sort key as they are.

    >>> from prejoin.types import STRING
    >>> by = Natural.of(["country", "total"], {"country": STRING, "total": Type(Kind.INTEGER)})
    >>> by.build({"country": "DE", "total": 7}), by.tags
    (('DE', 7), ('S', 'N'))
    """

    parts: tuple[KeyField, ...]
    tags: tuple[Tag, ...]

    @classmethod
    def of(cls, attributes: Sequence[str], types: Mapping[str, Type]) -> Natural:
        tags = []
        for name in attributes:
            tag = tag_of(types[name])
            if tag is None:
                raise TemplateError(f"{name} is a {types[name]}, but a key attribute must be text, a number or binary")
            tags.append(tag)
        parts = tuple(
            KeyField(name, "", _natural(types[name], tag)) for name, tag in zip(attributes, tags, strict=True)
        )
        return cls(parts, tuple(tags))

    @property
    def fields(self) -> tuple[KeyField, ...]:
        return self.parts

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        return tuple(part.attribute for part in self.parts)

    @cached_property
    def shape(self) -> Shape:
        return shape(self.parts)

    @property
    def columns(self) -> tuple[Shape, ...]:
        """The shape of each attribute."""
        return tuple(part.shape for part in self.parts)

    @property
    def text(self) -> str:
        return " + ".join(self.attributes)

    def build(self, values: Mapping[str, object]) -> KeyValue:
        """The key of an item with these values: one value, or one for each attribute."""
        return self.writer(values)

    @cached_property
    def writer(self) -> Callable[[Mapping[str, object]], KeyValue]:
        """`build` as one function, created once."""
        heading = self.heading(len(self.parts))
        if len(self.parts) == 1:
            return lambda values: heading(values)[0]
        return heading

    def parse(self, key: object) -> dict[str, object] | None:
        """The values of the attributes, from the stored key. None if they would be stored differently."""
        parts: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)
        try:
            values = {}
            for part, value in zip(self.parts, parts, strict=True):
                decode = part.encoding.decode
                assert decode is not None  # an attribute as it is, and not derived from one
                values[part.attribute] = decode(value)
            return values if self.build(values) == key else None
        except (ValueError, TypeError, ArithmeticError):
            return None

    def heading(self, count: int) -> Callable[[Mapping[str, object]], tuple[Scalar, ...]]:
        """The function that gives the values of the first `count` attributes."""
        parts = self.parts[:count]

        def write(values: Mapping[str, object]) -> tuple[Scalar, ...]:
            return tuple([_write_field(part, values.get(part.attribute)) for part in parts])

        return write

    def __str__(self) -> str:
        return self.text


def _natural(type_: Type, tag: Tag) -> Encoding:
    if tag == "N":
        encode: Callable[[Any], Scalar] = integer if type_.kind is Kind.INTEGER else decimal
    elif tag == "B":
        encode = _binary
    elif type_.kind in (Kind.STRING, Kind.ENUM):
        encode = _text
    else:
        encode = default(type_, Separator()).encode
    is_written_as_text = tag == "S" and type_.kind not in (Kind.STRING, Kind.ENUM)
    decode = default(type_, Separator()).decode if is_written_as_text else _identity
    value_shape = words(type_.values) if type_.values else ANYTHING
    return Encoding(f"natural {tag}", encode, decode, value_shape, prefixes=tag != "N")


def _identity(value: Any) -> Any:
    return value


def _text(value: object) -> str:
    value = plain(value)
    if not isinstance(value, str):
        raise type_error(value, "text")
    return value


def _binary(value: object) -> bytes:
    if not isinstance(value, bytes | bytearray):
        raise type_error(value, "binary")
    return bytes(value)


def _write_field(part: KeyField, value: object) -> Scalar:
    if value is None:
        raise KeyValueError(f"{part.attribute} has no value, and a key needs one")
    try:
        key_value: Scalar = part.encoding.encode(value)
    except KeyValueError as error:
        raise KeyValueError(f"{part.attribute}: {error}") from None
    if key_value == "" or key_value == b"":
        raise KeyValueError(f"{part.attribute} is empty, and DynamoDB does not accept empty keys")
    return key_value


def natural_range(
    natural: Natural, count: int, head: tuple[Scalar, ...], bounds: Bounds, pk: KeyValue
) -> KeyCondition | None:
    """The condition for keys with these first values and the next attribute within bounds. None if no key can match.

    DynamoDB takes one condition per attribute. Two ends become a BETWEEN, which includes both, so an excluded end moves
    by the smallest possible step.
    """
    part = natural.parts[count]

    def encode_bound(value: object) -> Any:
        # An empty bound is not a key but has a meaning: from there on is everything, up to there is nothing.
        try:
            return part.encoding.encode(value)
        except KeyValueError as error:
            raise KeyValueError(f"{part.attribute}: {error}") from None

    def condition(op: Op = "", low: Scalar = "", high: Scalar = "") -> KeyCondition:
        return KeyCondition(pk, op, low, high, head)

    low = None if bounds.low is None else encode_bound(bounds.low)
    high = None if bounds.high is None else encode_bound(bounds.high)
    if high in ("", b""):
        return None
    if low in ("", b""):
        low = None  # no key is empty, so this starts at the beginning
    if bounds.beginning:
        return condition() if low is None else condition("begins_with", low)
    if low is not None and high is not None:
        ends = _closed_ends(low, high, bounds)
        return None if ends is None else condition("between", *ends)
    if low is not None:
        return condition(">" if bounds.low_open else ">=", low)
    if high is not None:
        return condition("<" if bounds.high_open else "<=", high)
    return condition()


def _closed_ends(low: Any, high: Any, bounds: Bounds) -> tuple[Any, Any] | None:
    """Both ends as BETWEEN takes them, included. None if no value lies between."""
    if bounds.low_open:
        low = _above(low)
    if bounds.high_open:
        high = _below(high)
    # DynamoDB refuses a BETWEEN whose ends are in the wrong order.
    return (low, high) if high is not None and low <= high else None


def _above(value: Any) -> Any:
    """The next larger value.

    >>> _above(7), _above(Decimal("0.5"))
    (8, Decimal('0.50000000000000000000000000000000000001'))
    """
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "\x00"
    if isinstance(value, bytes):
        return value + b"\x00"
    return _nearest_stored(_STEP.next_plus(Decimal(value)), above=True)


def _below(value: Any) -> Any:
    """The next smaller value, or None."""
    if isinstance(value, int):
        return value - 1
    if isinstance(value, str):
        return just_below("", value, is_fixed=False) or None
    if isinstance(value, bytes):
        if value[-1] == 0:
            return value[:-1] or None
        start = value[:-1] + bytes([value[-1] - 1])
        return start + b"\xff" * (MOST_SK_BYTES - len(start))
    return _nearest_stored(_STEP.next_minus(Decimal(value)), above=False)


def _nearest_stored(number: Decimal, above: bool) -> Decimal:
    """The nearest number that DynamoDB can store: around zero there is a gap."""
    if abs(number) >= _SMALLEST_NUMBER:
        return number
    if above:
        return _SMALLEST_NUMBER if number > 0 else Decimal(0)
    return -_SMALLEST_NUMBER if number < 0 else Decimal(0)
