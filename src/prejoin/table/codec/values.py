"""Codecs of values: for each type hint, its attribute type, and how values are encoded and decoded."""

from __future__ import annotations

import types
import typing
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import msgspec

from prejoin.keys.template.encoding import encode_datetime
from prejoin.table.errors import CodecError
from prejoin.types import Kind, Type

from .records import is_record
from .structs import Wire, any_wire, list_of, map_of, or_none, plain, set_of, through

_MOST_SHOWN = 200
Json = dict[str, Any]
"""One value in DynamoDB JSON: `{"S": "text"}`."""


class ValueCodec(msgspec.Struct, frozen=True):
    """Encodes and decodes the values of one type hint."""

    type: Type
    encode: Callable[[Any], Json]
    decode: Callable[[Json], Any]
    """Decodes one value; its errors say what is wrong."""
    wire: Wire
    """The compiled way to decode many values."""
    optional: bool = False
    empty: Callable[[], Any] | None = None
    """Makes the value of an absent attribute, for sets: DynamoDB has no empty set."""
    other_words: Mapping[str, str] = {}
    """The members of an enum that items may hold under another word, too, with that word. `ReadAs` has them."""


RecordCodec = Callable[[type], ValueCodec]
"""Makes the codec of a nested dataclass, Struct or model. `codec.py` has it: a record is made of values in turn."""


def codec_for(hint: Any, record: RecordCodec | None = None) -> ValueCodec:
    """Return the codec of a type hint. `record` makes the codecs of the records inside of it.

    >>> codec_for(Decimal).encode(Decimal("19.90"))
    {'N': '19.90'}
    >>> codec_for(list[int]).decode({"L": [{"N": "1"}, {"N": "2"}]})
    [1, 2]
    >>> str(codec_for(typing.Literal["PENDING", "SHIPPED"]).type)
    'PENDING | SHIPPED'
    """
    # One list from top to bottom: a type hint is of the first form that it has, so the order matters. `NewType` and
    # `Annotated` are wrappers, and an enum may be a `str` as well.
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        inner = codec_for(arguments[0], record)
        declared_type = next((extra for extra in arguments[1:] if isinstance(extra, Type)), None)
        return msgspec.structs.replace(inner, type=declared_type) if declared_type else inner
    if origin in (typing.Union, types.UnionType):
        return _union(hint, arguments, record)
    if isinstance(hint, typing.NewType):
        return codec_for(hint.__supertype__, record)
    if origin is typing.Literal:
        return _choice({word: word for word in arguments}, hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if origin in (list, tuple) or hint in (list, tuple):
        return _list(hint, origin or hint, arguments, record)
    if origin in (set, frozenset):
        return _set(hint, origin, arguments[0])
    if origin in (dict, Mapping) or hint is dict:
        return _map(hint, arguments or (str, Any), record)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _choice({member.value: member for member in hint}, hint)
    if is_record(hint) and record is not None:
        return record(hint)
    raise CodecError(f"{hint!r} is not a type that an attribute can have")


def message_text(value: object) -> str:
    """Return a value for a message, up to 200 characters of it."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def typed_coders(
    kinds: tuple[type, ...], name: str, write: Callable[[Any], Any] | None, tag: str, read: Callable[[Any], Any]
) -> tuple[Callable[[Any], Json], Callable[[Json], Any]]:
    """Return an encoder and a decoder for values of some types under a tag. Without `write`, values are kept."""

    def check(value: Any) -> None:
        # bool is a subclass of int.
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise CodecError(f"{message_text(value)} is not {name}")

    def encode_plain(value: Any) -> Json:
        if type(value) not in kinds:
            check(value)
        return {tag: value}

    def encode(value: Any) -> Json:
        if type(value) not in kinds:
            check(value)
        return {tag: write(value)}  # type: ignore[misc]

    def decode(value: Json) -> Any:
        try:
            return read(value[tag])
        except CodecError:
            raise
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise CodecError(f"{message_text(value)} is not {name}") from error

    return encode if write else encode_plain, decode


def _scalar(
    type_: Kind,
    kinds: tuple[type, ...],
    name: str,
    wire: Wire,
    write: Callable[[Any], Any] | None,
    read: Callable[[Any], Any],
) -> ValueCodec:
    return ValueCodec(Type(type_), *typed_coders(kinds, name, write, wire.tag, read), wire)


def _write_decimal(value: Decimal | int) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        raise CodecError(f"{value} is not a number that DynamoDB can store")
    return str(value)


def _write_float(value: float) -> str:
    return _write_decimal(Decimal(repr(float(value))))


def _write_date(value: date) -> str:
    if isinstance(value, datetime):
        raise CodecError(f"{value!r} is not a date: it has a time")
    return value.isoformat()


def _write_datetime(value: datetime) -> str:
    if value.tzinfo is None:
        raise CodecError(f"{value.isoformat()} has no time zone")
    return encode_datetime(value)


def _read_datetime(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is UTC:
        return moment
    if moment.tzinfo is None:
        raise ValueError("no time zone")
    return moment.astimezone(UTC)


def _read_integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = Decimal(text)  # other programs may write 1E+3, or 3.0
        if number != number.to_integral_value():
            raise
        return int(number)


def _exactly(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(value)
        return value

    return read


def _write_binary(value: bytes) -> str:
    from base64 import b64encode  # only for binary values

    return b64encode(value).decode()


def _read_binary(text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text)


def _number(text: str) -> int | Decimal:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def encode_any(value: Any) -> Json:
    """Encode a value without a declared type. A float is written with its shortest digits: 0.1 is 0.1."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, list | tuple):
        return {"L": [encode_any(item) for item in value]}
    if isinstance(value, Mapping):
        return {"M": {str(name): encode_any(item) for name, item in value.items()}}
    if isinstance(value, set | frozenset) and value:
        return _set(set, set, type(next(iter(value)))).encode(value)
    if isinstance(value, Enum):
        return encode_any(value.value)
    if type(value) in _SCALARS and type(value) is not object:
        return _SCALARS[type(value)].encode(value)
    raise CodecError(f"{message_text(value)} is not a value that an attribute can have")


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
            return _read_binary(content)
        case "BS":
            return {_read_binary(item) for item in content}
        case "SS":
            return set(content)
        case _:
            return content


_SCALARS: dict[Any, ValueCodec] = {
    str: _scalar(Kind.STRING, (str,), "text", plain("S", str), None, _exactly(str)),
    int: _scalar(Kind.INTEGER, (int,), "an integer", through(int, "N"), str, _read_integer),
    Decimal: _scalar(Kind.DECIMAL, (Decimal, int), "a decimal", plain("N", Decimal), _write_decimal, Decimal),
    float: _scalar(Kind.NUMBER, (float, int), "a number", through(float, "N"), _write_float, float),
    bool: _scalar(Kind.BOOLEAN, (bool,), "true or false", plain("BOOL", bool), None, _exactly(bool)),
    bytes: _scalar(Kind.BINARY, (bytes,), "binary", plain("B", bytes), _write_binary, _read_binary),
    date: _scalar(Kind.DATE, (date,), "a date", plain("S", date), _write_date, date.fromisoformat),
    datetime: _scalar(
        Kind.DATETIME, (datetime,), "a date and time", through(_read_datetime, "S"), _write_datetime, _read_datetime
    ),
    uuid.UUID: _scalar(Kind.UUID, (uuid.UUID,), "a UUID", plain("S", uuid.UUID), str, uuid.UUID),
    Any: ValueCodec(Type(Kind.MAP), encode_any, decode_any, any_wire(decode_any), optional=True),
    object: ValueCodec(Type(Kind.MAP), encode_any, decode_any, any_wire(decode_any), optional=True),
}

TEXT = _SCALARS[str]


def _union(hint: Any, arguments: tuple[Any, ...], record: RecordCodec | None) -> ValueCodec:
    members = [argument for argument in arguments if argument is not type(None)]
    if set(members) <= {int, Decimal, float} and len(members) > 1:
        inner = ValueCodec(
            Type(Kind.NUMBER), *typed_coders((int, Decimal, float), "a number", _write_number, "N", _number), _NUMBER
        )
    elif len(members) == 1:
        inner = codec_for(members[0], record)
    else:
        raise CodecError(f"{hint!r}: an attribute can have one type, or one type and None")
    if len(members) == len(arguments):
        return inner

    def encode(value: Any) -> Json:
        return {"NULL": True} if value is None else inner.encode(value)

    def decode(value: Json) -> Any:
        return None if "NULL" in value else inner.decode(value)

    wire = or_none(inner.wire) if inner.wire.tag else any_wire(decode)
    return ValueCodec(inner.type, encode, decode, wire, optional=True)


_NUMBER = through(_number, "N")


def _write_number(value: int | Decimal | float) -> str:
    return _write_float(value) if isinstance(value, float) else _write_decimal(value)


def _choice(members: Mapping[Any, Any], hint: Any) -> ValueCodec:
    """Return the codec of an enum or Literal; `members` maps stored words to Python values."""
    if not all(isinstance(word, str) for word in members):
        raise CodecError(f"the values of an enum must be text, not {', '.join(map(repr, members))}")
    words = ", ".join(members)

    def encode(value: Any) -> Json:
        word = value.value if isinstance(value, Enum) else value
        if not isinstance(word, str) or word not in members:
            raise CodecError(f"{message_text(value)} is not one of {words}")
        return {"S": word}

    def decode(value: Json) -> Any:
        word = value.get("S")
        if word not in members:
            raise CodecError(f"{message_text(value)} is not one of {words}")
        return members[word]

    wire = plain("S", hint)
    if isinstance(hint, type) and any("_missing_" in vars(cls) for cls in hint.__mro__ if cls is not Enum):
        # An enum with `_missing_` may accept any text, but an item must have a member.
        wire = through(members.__getitem__, "S")
    return ValueCodec(Type(Kind.ENUM, values=tuple(members)), encode, decode, wire)


def _list(hint: Any, origin: type, arguments: tuple[Any, ...], record: RecordCodec | None) -> ValueCodec:
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not ...):
        raise CodecError(f"{hint!r}: a tuple attribute must be tuple[something, ...]")
    inner = codec_for(arguments[0] if arguments else Any, record)

    def write(values: Any) -> list[Json]:
        return [inner.encode(value) for value in values]

    def read(values: list[Json]) -> Any:
        return origin(inner.decode(value) for value in values)

    of = inner.type if arguments else None
    encode, decode = typed_coders((origin,), "a list", write, "L", read)
    return ValueCodec(Type(Kind.LIST, of=of), encode, decode, list_of(inner.wire, origin))


def _set(hint: Any, origin: type, of: Any) -> ValueCodec:
    inner = codec_for(of)
    tag = inner.wire.tag
    if tag not in ("S", "N", "B") or inner.optional:
        raise CodecError(f"{hint!r}: a set can contain text, numbers or binary")

    def write(values: Any) -> list[Any]:
        return sorted(inner.encode(value)[tag] for value in values)

    def read(values: list[Any]) -> Any:
        return origin(inner.decode({tag: value}) for value in values)

    # A set and a frozenset are stored in the same way.
    encode, decode = typed_coders((set, frozenset), "a set", write, tag + "S", read)
    return ValueCodec(Type(Kind.SET, of=inner.type), encode, decode, set_of(inner.wire, origin), empty=origin)


def _map(hint: Any, arguments: tuple[Any, ...], record: RecordCodec | None) -> ValueCodec:
    name = arguments[0]
    if getattr(name, "__supertype__", name) is not str:
        raise CodecError(f"{hint!r}: the names in a map must be text")
    inner = codec_for(arguments[1], record)

    def write(values: Mapping[str, Any]) -> Json:
        return {name: inner.encode(value) for name, value in values.items()}

    def read(values: Json) -> dict[str, Any]:
        return {name: inner.decode(value) for name, value in values.items()}

    encode, decode = typed_coders((dict, Mapping), "a map", write, "M", read)
    return ValueCodec(Type(Kind.MAP), encode, decode, map_of(inner.wire))


__all__ = ["Json", "ValueCodec", "codec_for", "decode_any", "encode_any", "is_record", "typed_coders"]
