"""Python types and DynamoDB JSON: for each type hint, the attribute type it is and how its values are written."""

from __future__ import annotations

import base64
import dataclasses
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

from prejoin.keys.encoding import encode_datetime
from prejoin.types import Kind, Type

from .errors import CodecError

Json = dict[str, Any]
"""One value in DynamoDB JSON: `{"S": "text"}`."""


@dataclass(frozen=True)
class ValueCodec:
    """How values of one type hint are written and read."""

    type: Type
    encode: Callable[[Any], Json]
    decode: Callable[[Json], Any]
    optional: bool = False


def codec_for(hint: Any) -> ValueCodec:
    """The codec of a type hint.

    >>> codec_for(Decimal).encode(Decimal("19.90"))
    {'N': '19.90'}
    >>> codec_for(list[int]).decode({"L": [{"N": "1"}, {"N": "2"}]})
    [1, 2]
    >>> str(codec_for(typing.Literal["PENDING", "SHIPPED"]).type)
    'PENDING | SHIPPED'
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        inner = codec_for(arguments[0])
        said = next((extra for extra in arguments[1:] if isinstance(extra, Type)), None)
        return dataclasses.replace(inner, type=said) if said else inner
    if origin in (typing.Union, types.UnionType):
        return _union(hint, arguments)
    if isinstance(hint, typing.NewType):
        return codec_for(hint.__supertype__)
    if origin is typing.Literal:
        return _choice(tuple(arguments), lambda value: value)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if origin in (list, tuple) or hint in (list, tuple):
        return _list(hint, origin or hint, arguments)
    if origin in (set, frozenset):
        return _set(origin, arguments[0])
    if origin in (dict, Mapping) or hint is dict:
        return _map(codec_for(arguments[1] if arguments else Any))
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice(tuple(member.value for member in hint), hint)
    if is_record(hint):
        return _record(hint)
    raise CodecError(f"{hint!r} is not a type that an attribute can have")


def is_record(hint: Any) -> bool:
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, msgspec.Struct))


def _typed(kind: type, name: str, write: Callable[[Any], Any], tag: str, read: Callable[[Any], Any]) -> Any:
    def encode(value: Any) -> Json:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise CodecError(f"{value!r} is not {name}")
        return {tag: write(value)}

    def decode(value: Json) -> Any:
        try:
            return read(value[tag])
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise CodecError(f"{value!r} is not {name}") from error

    return encode, decode


def _scalar(
    type_: Kind, python: type, name: str, tag: str, write: Callable[[Any], Any], read: Callable[[Any], Any]
) -> ValueCodec:
    return ValueCodec(Type(type_), *_typed(python, name, write, tag, read))


def _write_decimal(value: Decimal | int) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        raise CodecError(f"{value} is not a number that DynamoDB takes")
    return str(value)


def _write_float(value: float) -> str:
    return _write_decimal(Decimal(repr(float(value))))


def _write_date(value: date) -> str:
    if isinstance(value, datetime):
        raise CodecError(f"{value!r} is not a date: it has a time")
    return value.isoformat()


def _write_datetime(value: datetime) -> str:
    if value.tzinfo is None:
        raise CodecError(f"{value.isoformat()} has no time zone: which moment it is cannot be known")
    return encode_datetime(value)


def _read_datetime(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("no time zone")
    return found.astimezone(UTC)


def _same(value: Any) -> Any:
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _number(text: str) -> int | Decimal:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def encode_any(value: Any) -> Json:
    """A value of no declared type, by what it is. Never a float's binary digits: 0.1 is 0.1."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, list | tuple):
        return {"L": [encode_any(item) for item in value]}
    if isinstance(value, Mapping):
        return {"M": {str(name): encode_any(item) for name, item in value.items()}}
    if isinstance(value, set | frozenset) and value:
        return _set(set, type(next(iter(value)))).encode(value)
    if isinstance(value, Enum):
        return encode_any(value.value)
    if type(value) in _SCALARS and type(value) is not object:
        return _SCALARS[type(value)].encode(value)
    raise CodecError(f"{value!r} is not a value that an attribute can have")


def decode_any(value: Json) -> Any:
    ((tag, content),) = value.items()
    match tag:
        case "NULL":
            return None
        case "L":
            return [decode_any(item) for item in content]
        case "M":
            return {name: decode_any(item) for name, item in content.items()}
        case "N":
            return _number(content)
        case "NS":
            return {_number(item) for item in content}
        case "B":
            return base64.b64decode(content)
        case "BS":
            return {base64.b64decode(item) for item in content}
        case "SS":
            return set(content)
        case _:
            return content


_SCALARS: dict[Any, ValueCodec] = {
    str: _scalar(Kind.STRING, str, "text", "S", _same, _text),
    int: _scalar(Kind.INTEGER, int, "an integer", "N", str, int),
    Decimal: _scalar(Kind.DECIMAL, Decimal | int, "a decimal", "N", _write_decimal, Decimal),  # type: ignore[arg-type]
    float: _scalar(Kind.NUMBER, float | int, "a number", "N", _write_float, float),  # type: ignore[arg-type]
    bool: _scalar(Kind.BOOLEAN, bool, "true or false", "BOOL", _same, _same),
    bytes: _scalar(Kind.BINARY, bytes, "binary", "B", lambda value: base64.b64encode(value).decode(), base64.b64decode),
    date: _scalar(Kind.DATE, date, "a date", "S", _write_date, date.fromisoformat),
    datetime: _scalar(
        Kind.DATETIME,
        datetime,
        "a date and time",
        "S",
        _write_datetime,
        _read_datetime,
    ),
    uuid.UUID: _scalar(Kind.UUID, uuid.UUID, "a UUID", "S", str, uuid.UUID),
    Any: ValueCodec(Type(Kind.MAP), encode_any, decode_any),
    object: ValueCodec(Type(Kind.MAP), encode_any, decode_any),
}


def _union(hint: Any, arguments: tuple[Any, ...]) -> ValueCodec:
    rest = [argument for argument in arguments if argument is not type(None)]
    if len(rest) != 1 or len(rest) == len(arguments):
        if set(rest) <= {int, Decimal, float} and len(rest) == len(arguments):
            return ValueCodec(Type(Kind.NUMBER), encode_any, lambda value: _number(value["N"]))
        raise CodecError(f"{hint!r}: an attribute has one type, or one type and None")
    inner = codec_for(rest[0])

    def encode(value: Any) -> Json:
        return {"NULL": True} if value is None else inner.encode(value)

    def decode(value: Json) -> Any:
        return None if "NULL" in value else inner.decode(value)

    return ValueCodec(inner.type, encode, decode, optional=True)


def _choice(values: tuple[Any, ...], member: Callable[[Any], Any]) -> ValueCodec:
    if not all(isinstance(value, str) for value in values):
        raise CodecError(f"the members of an enum are text, not {values}")

    def encode(value: Any) -> Json:
        plain = value.value if isinstance(value, Enum) else value
        if plain not in values:
            raise CodecError(f"{value!r} is not one of {', '.join(values)}")
        return {"S": plain}

    def decode(value: Json) -> Any:
        if value.get("S") not in values:
            raise CodecError(f"{value!r} is not one of {', '.join(values)}")
        return member(value["S"])

    return ValueCodec(Type(Kind.ENUM, values=values), encode, decode)


def _list(hint: Any, origin: type, arguments: tuple[Any, ...]) -> ValueCodec:
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not ...):
        raise CodecError(f"{hint!r}: a tuple attribute is tuple[something, ...]")
    inner = codec_for(arguments[0] if arguments else Any)

    def write(values: Any) -> list[Json]:
        return [inner.encode(value) for value in values]

    def read(values: list[Json]) -> Any:
        return origin(inner.decode(value) for value in values)

    of = inner.type if arguments else None
    return ValueCodec(Type(Kind.LIST, of=of), *_typed(origin, "a list", write, "L", read))


def _set(origin: type, of: Any) -> ValueCodec:
    inner = codec_for(of)
    sample = {Kind.BINARY: "B"} | dict.fromkeys([Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL], "N")
    tag = sample.get(inner.type.kind, "S")

    def write(values: Any) -> list[Any]:
        return sorted(next(iter(inner.encode(value).values())) for value in values)

    def read(values: list[Any]) -> Any:
        return origin(inner.decode({tag: value}) for value in values)

    # A set and a frozenset of the same members are the same set on the wire.
    encode, decode = _typed(set | frozenset, "a set", write, tag + "S", read)  # type: ignore[arg-type]
    return ValueCodec(Type(Kind.SET, of=inner.type), encode, decode)


def _map(inner: ValueCodec) -> ValueCodec:
    def write(values: Mapping[str, Any]) -> Json:
        return {name: inner.encode(value) for name, value in values.items()}

    def read(values: Json) -> dict[str, Any]:
        return {name: inner.decode(value) for name, value in values.items()}

    return ValueCodec(Type(Kind.MAP), *_typed(Mapping, "a map", write, "M", read))


def _record(cls: type) -> ValueCodec:
    from .codec import Codec  # a record is made of attributes, which are made of values

    codec: Codec[Any] = Codec.of(cls)
    return ValueCodec(Type(Kind.MAP), *_typed(cls, cls.__name__, codec.encode, "M", codec.decode))
