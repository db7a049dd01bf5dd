"""Values of the database as values of attributes. Conversions are exact, or refused: never a silent loss.

Decimals keep their digits, times become UTC, a time without a zone is read in the declared one. NULL means that an item
lacks the attribute, unless the mapping has a default, or says that it is stored as NULL.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from typing import Any, assert_never
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from prejoin.keys.content import PART_SIZE
from prejoin.patterns.large.large import LargeValue
from prejoin.types import Kind, Type

FORMS: Mapping[Kind, frozenset[str]] = {
    Kind.DATETIME: frozenset({"epoch", "epoch-ms"}),
    Kind.DATE: frozenset({"epoch", "epoch-ms"}),
    Kind.INTEGER: frozenset({"epoch", "epoch-ms"}),
    Kind.BINARY: frozenset({"hex", "base64"}),
    Kind.LIST: frozenset({"json", "csv", "array"}),
    Kind.SET: frozenset({"json", "csv", "array"}),
    Kind.MAP: frozenset({"json"}),
    Kind.STRING: frozenset({"json", "hex", "base64", "trim", "lower"}),
    Kind.UUID: frozenset({"hex"}),
}
"""The values of `as` for each kind of attribute. Other kinds need none."""
_TRUE = frozenset({"1", "t", "true", "y", "yes", "on"})
_FALSE = frozenset({"0", "f", "false", "n", "no", "off"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ConversionError(ValueError):
    """A value cannot become a value of its attribute."""


def zone_of(name: str) -> tzinfo:
    """The zone of a name; UTC if the name is empty. Raises a ValueError."""
    if not name or name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"there is no zone `{name}`") from None


Converter = Callable[[Any], Any]


def converter(type_: Type, form: str = "", zone: tzinfo = UTC, members: Mapping[str, str] | None = None) -> Converter:
    """The function that converts values of a column, except None, for an attribute of a type.

    >>> from prejoin.types import Type, Kind
    >>> converter(Type(Kind.DECIMAL))(0.1), converter(Type(Kind.BOOLEAN))(1), converter(Type(Kind.DATETIME), "epoch")(0)
    (Decimal('0.1'), True, datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    # One piece: a case for each kind. Functions that are chosen once, because a load calls them for every value; the
    # usual type of a value is tested first.
    match type_.kind:
        case Kind.DATETIME:

            def moment(value: Any) -> datetime:
                has_zone = type(value) is datetime and value.tzinfo is not None
                return value.astimezone(UTC) if has_zone else _datetime(value, form, zone)

            return moment
        case Kind.DATE:
            return lambda value: _date(value, form)
        case Kind.ENUM:
            enum_members = frozenset(type_.values)
            return lambda value: _enum(value, enum_members, members or {})
        case Kind.LIST:
            inner = converter(type_.of, "", zone) if type_.of else plain
            return lambda value: [None if member is None else inner(member) for member in _sequence(value, form)]
        case Kind.SET:
            inner = converter(type_.of or Type(Kind.STRING), "", zone)
            return lambda value: {inner(member) for member in _sequence(value, form)}
        case Kind.STRING | Kind.ULID:
            return lambda value: value if type(value) is str and not form else _string(value, form)
        case Kind.BINARY:
            return lambda value: _bytes(value, form)
        case Kind.CONTENT:
            return content_value
        case Kind.INTEGER:
            return lambda value: value if type(value) is int and not form else _integer(value, form, zone)
        case Kind.DECIMAL:
            return _decimal
        case Kind.NUMBER:
            return _number
        case Kind.BOOLEAN:
            return _boolean
        case Kind.UUID:
            return _uuid
        case Kind.MAP:
            return _map
        case _:
            assert_never(type_.kind)


def _fail(value: Any, description: str) -> ConversionError:
    text = repr(value)
    return ConversionError(f"{text if len(text) <= 60 else text[:59] + '…'} is not {description}")


def _string(value: Any, form: str) -> str:
    match value:
        case str():
            text = value
        case bytes() | bytearray() | memoryview():
            if form == "hex":
                return bytes(value).hex()
            if form == "base64":
                return base64.b64encode(bytes(value)).decode()
            try:
                text = bytes(value).decode("utf-8")
            except UnicodeDecodeError:
                raise _fail(bytes(value), 'a text: declare the attribute as binary, or `as = "base64"`') from None
        case dict() | list():
            text = json.dumps(value, ensure_ascii=False, default=str)
        case timedelta():
            text = _duration(value)
        case datetime() | date() | time():
            text = value.isoformat()
        case bool():
            text = "true" if value else "false"
        case _:
            text = str(value)
    if form == "trim":
        return text.rstrip()
    return text.lower() if form == "lower" else text


def _duration(value: timedelta) -> str:
    """MySQL returns TIME as a duration."""
    sign, seconds = ("-", -value) if value < timedelta(0) else ("", value)
    hours, remainder = divmod(int(seconds.total_seconds()), 3600)
    micros = f".{seconds.microseconds:06}" if seconds.microseconds else ""
    return f"{sign}{hours:02}:{remainder // 60:02}:{remainder % 60:02}{micros}"


def _integer(value: Any, form: str, zone: tzinfo) -> int:
    if form:  # a time as a number, for a TTL
        moment = _datetime(value, "", zone)
        seconds = (moment - _EPOCH) // timedelta(milliseconds=1 if form == "epoch-ms" else 1000)
        return int(seconds)
    match value:
        case bool() | int():
            return int(value)
        case float() | Decimal() if Decimal(value).is_finite() and value == value.__trunc__():
            return int(value)
        case str():
            try:
                return int(value)
            except ValueError:
                pass
    raise _fail(value, "a whole number")


def _decimal(value: Any) -> Decimal:
    match value:
        case bool():
            return Decimal(int(value))
        case Decimal():
            number = value
        case int():
            number = Decimal(value)
        case float():
            number = Decimal(repr(value))  # the shortest text that reads as this float: 0.1, not 0.1000000000000000055…
        case str():
            try:
                number = Decimal(value.strip())
            except InvalidOperation:
                raise _fail(value, "a number") from None
        case _:
            raise _fail(value, "a number")
    if not number.is_finite():
        raise _fail(value, "a number that DynamoDB can store")
    return number


def _number(value: Any) -> int | Decimal:
    return value if isinstance(value, int) and not isinstance(value, bool) else _decimal(value)


def _boolean(value: Any) -> bool:
    match value:
        case bool():
            return value
        case int() | float() | Decimal() if value in (0, 1):
            return bool(value)
        case bytes() if value in (b"\0", b"\1"):  # BIT(1) of MySQL
            return value == b"\1"
        case str() if value.strip().lower() in _TRUE | _FALSE:
            return value.strip().lower() in _TRUE
    raise _fail(value, "true or false")


def _bytes(value: Any, form: str) -> bytes:
    match value:
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case str() if form:
            try:
                return bytes.fromhex(value) if form == "hex" else base64.b64decode(value, validate=True)
            except (ValueError, binascii.Error):
                raise _fail(value, f"{form}") from None
        case str():
            return value.encode()
    raise _fail(value, "bytes")


def _date(value: Any, form: str) -> date:
    match value:
        case datetime():
            if value.time() != time(0):
                raise _fail(value, "a date: it has a time of day")
            return value.date()
        case date():
            return value
        case int() | float() if form:
            return _datetime(value, form, UTC).date()
        case str():
            try:
                text = value.strip()
                return date.fromisoformat(text[:10] if text[10:] == " 00:00:00" else text)
            except ValueError:
                pass
    raise _fail(value, "a date")


def _datetime(value: Any, form: str, zone: tzinfo) -> datetime:
    match value:
        case datetime():
            moment = value
        case date():
            moment = datetime(value.year, value.month, value.day)
        case bool():
            raise _fail(value, "a time")
        case int() | float() | Decimal() if form:
            scale = Decimal(1000) if form == "epoch-ms" else Decimal(1)
            # As a Decimal: a float has too few digits for microseconds.
            micros = int(_decimal(value) / scale * 1_000_000)
            try:
                return _EPOCH + timedelta(microseconds=micros)
            except OverflowError:
                raise _fail(value, f"a time as {form}") from None
        case str():
            try:
                moment = datetime.fromisoformat(value.strip())
            except ValueError:
                raise _fail(value, "a time") from None
        case _:
            raise _fail(value, 'a time; say `as = "epoch"` or "epoch-ms" if it counts from 1970')
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
        # A local time that the clocks have skipped does not come back from UTC as the same time.
        if moment.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != moment.replace(tzinfo=None):
            raise _fail(value, f"a time in {zone}: the clocks were put forward then")
    return moment.astimezone(UTC)


def _uuid(value: Any) -> UUID:
    match value:
        case UUID():
            return value
        case str():
            try:
                return UUID(value)
            except ValueError:
                pass
        case bytes() if len(value) == 16:  # BINARY(16), in databases without a type for it
            return UUID(bytes=value)
    raise _fail(value, "a UUID")


def _enum(value: Any, enum_members: frozenset[str], members: Mapping[str, str]) -> str:
    text = _string(value, "")
    member = members.get(text, text)
    if member not in enum_members:
        raise _fail(value, f"one of {', '.join(sorted(enum_members))}")
    return member


def _sequence(value: Any, form: str) -> list[Any]:
    match value:
        case list() | tuple() | set() | frozenset():
            # Scalars stay as they are: they are converted as members of the type.
            scalars = str | int | float | Decimal | bytes
            return [member if isinstance(member, scalars) else plain(member) for member in value]
        case str() if form == "csv":
            return [part.strip() for part in value.split(",") if part.strip()]
        case str() if form == "array" and _ARRAY.fullmatch(value):  # as PostgreSQL writes one
            return [_element(*groups) for groups in _ELEMENT.findall(value)]
        case str():
            members = _json(value)
            if isinstance(members, list):
                return members
    raise _fail(value, "a list")


_ELEMENT = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*)"|([^,{}"\\]++)')
_ARRAY = re.compile(rf"\{{(?:(?:{_ELEMENT.pattern})(?:,(?:{_ELEMENT.pattern}))*)?\}}")


def _element(quoted_text: str, bare: str) -> str | None:
    # NULL without quotes is NULL; in quotes it is a text, with a backslash before quotes and backslashes.
    return None if bare == "NULL" else bare or re.sub(r"\\(.)", r"\1", quoted_text)


def _map(value: Any) -> dict[str, Any]:
    members = _json(value) if isinstance(value, str | bytes) else plain(value)
    if not isinstance(members, dict):
        raise _fail(value, "a JSON object")
    return members


def content_value(value: Any) -> LargeValue:
    """A content of any size, in its value until it is stored. One that was converted already stays as it is."""
    if isinstance(value, LargeValue):
        return value
    data = _bytes(value, "")
    return LargeValue("item", len(data), hashlib.sha256(data).hexdigest(), "", PART_SIZE, data)


def _json(text: str | bytes) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        raise _fail(text, "JSON") from None


def plain(value: Any) -> Any:
    """A value inside of a list or a map. JSON numbers are exact; what DynamoDB has no type for becomes text."""
    match value:
        case dict():
            return {str(name): plain(member) for name, member in value.items()}
        case list() | tuple():
            return [plain(member) for member in value]
        case float():
            return _decimal(value)
        case None | str() | int() | Decimal() | bytes():
            return value
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC).isoformat()
        case memoryview() | bytearray():
            return bytes(value)
    return _string(value, "")
