"""The specs of a field, `{attribute:spec}`: padding, descending order, time buckets, shards, paths and folded case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

from prejoin.keys.errors import KeyValueError, TemplateError
from prejoin.types import Kind, Type

from .encoding import (
    Encoding,
    datetime_encoding,
    day,
    default,
    descending_encoding,
    fixed_point,
    moment,
    optional,
    padded_integer,
    plain,
    type_error,
    unordered_number,
    verbatim,
)
from .separator import Separator
from .shape import DIGIT, Chars, Either, Shape, shape_of_picture

BUCKETS = {
    "year": "9999",
    "month": "9999-99",
    "week": "9999-W99",
    "day": "9999-99-99",
    "hour": "9999-99-99T99",
    "minute": "9999-99-99T99:99",
}
"""The units of time that can split a partition, and their form in a key."""

MOST_BUCKETS = 1000
"""A range over more buckets is refused, because each is a request."""

MOST_SHARDS = 1000

# Compiled on first use: a Lambda function that starts uses few of them.
_PADDING = r"0?([1-9]\d?)d?"
_FIXED_POINT = r"0?([1-9]\d?)\.([1-9]\d?)f?"
_PRECISIONS = ("seconds", "millis")
_SHARD = r"shard\((\d+)(?: of (\d+))?\)"
_FOLDS: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}


def encoding_for(
    spec: str, type_: Type, separator: Separator, raw: bool = False, stop: str = "", optional_: bool = False
) -> Encoding:
    """The encoding for a field's spec; without a spec, the encoding of the attribute's type.

    >>> order_id = encoding_for("shard(8)", Type(Kind.STRING), Separator())
    >>> order_id.encode("o-1"), order_id.derived
    ('2', True)
    >>> encoding_for("06d", Type(Kind.INTEGER), Separator()).encode(42)
    '000042'
    """
    found = _encoding(spec, type_, separator, raw, stop)
    if not optional_:
        return found
    if raw:
        raise TemplateError(
            "'?' encodes a missing value in prejoin's own way, which other programs cannot read in a raw key"
        )
    return optional(found, separator)


def _encoding(spec: str, type_: Type, separator: Separator, raw: bool, stop: str) -> Encoding:
    words = [word.strip() for word in spec.split(",")] if spec else []
    descending = "desc" in words
    words = [word for word in words if word != "desc"]
    if len(words) > 1:
        raise TemplateError(f"{spec!r} has two encodings: {' and '.join(words)}")
    plain_ = verbatim(type_, stop) if raw else default(type_, separator)
    if not words:
        return descending_encoding(type_, default(type_, separator)) if descending else plain_
    word = words[0]
    if found := re.fullmatch(_PADDING, word):
        if not type_.numeric:
            raise TemplateError(f"{word!r} pads integers, and this is a {type_}")
        return padded_integer(int(found[1]), descending)
    if found := re.fullmatch(_FIXED_POINT, word):
        if not type_.numeric:
            raise TemplateError(f"{word!r} pads decimals, and this is a {type_}")
        return fixed_point(int(found[1]), int(found[2]), descending)
    if word == "plain":
        if not type_.numeric or descending:
            raise TemplateError(f"'plain' writes a number without an order, and this is a {spec!r} of a {type_}")
        return unordered_number(type_, separator)
    if word in _PRECISIONS:
        if type_.kind is not Kind.DATETIME:
            raise TemplateError(f"{word!r} is the precision of a date and time, and this is a {type_}")
        written = datetime_encoding(word)
        return descending_encoding(type_, written) if descending else written
    if descending:
        raise TemplateError(f"'desc' goes with a number, date or time as it is, or with padding; not with {word!r}")
    if word in BUCKETS:
        return _bucket(word, type_)
    if found := re.fullmatch(_SHARD, word):
        return _shard(int(found[1]), int(found[2]) if found[2] else None, default(type_, separator))
    if word == "tree":
        if type_.kind is not Kind.STRING:
            raise TemplateError(f"'tree' writes a path, and this is a {type_}")
        return _path(plain_, separator)
    if word in _FOLDS:
        if type_.kind is not Kind.STRING:
            raise TemplateError(f"{word!r} folds text, and this is a {type_}")
        return _folded(word, plain_)
    known = "a width such as 06d or 09.2f, plain, desc, shard(8), tree, " + ", ".join([*BUCKETS, *_PRECISIONS, *_FOLDS])
    raise TemplateError(f"{word!r} is not a spec: there are {known}")


def buckets(unit: str, low: object, high: object) -> Iterator[str]:
    """The buckets from one day or time to another as they appear in keys, oldest first.

    >>> from datetime import UTC
    >>> list(buckets("month", datetime(2025, 11, 30, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)))
    ['2025-11', '2025-12', '2026-01']
    """
    here = _start(unit, low)
    last = _start(unit, high)
    for _ in range(MOST_BUCKETS):
        if here > last:
            return
        yield _label(unit, here)
        try:
            here = _next(unit, here)
        except OverflowError:
            return
    if here <= last:
        raise KeyValueError(f"{low} to {high} is more than {MOST_BUCKETS} {unit}s, and each is a request")


def _start(unit: str, value: object) -> datetime:
    if isinstance(value, datetime):
        value = moment(value).replace(tzinfo=None)
    elif isinstance(value, date):
        value = datetime(value.year, value.month, value.day)
    else:
        raise type_error(value, "a date or time")
    start = value.replace(second=0, microsecond=0)
    if unit == "minute":
        return start
    start = start.replace(minute=0)
    if unit != "hour":
        start = start.replace(hour=0)
    if unit == "week":
        return start - timedelta(days=start.weekday())
    if unit in ("month", "year"):
        start = start.replace(day=1)
    return start.replace(month=1) if unit == "year" else start


def _next(unit: str, start: datetime) -> datetime:
    if unit in ("minute", "hour", "day", "week"):
        return start + timedelta(**{f"{unit}s": 1})
    months = start.year * 12 + start.month - 1 + (1 if unit == "month" else 12)
    if months // 12 > date.max.year:
        raise OverflowError
    return start.replace(year=months // 12, month=months % 12 + 1)


def _label(unit: str, start: date) -> str:
    if unit == "week":
        year, week, _ = start.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return start.isoformat()[: len(BUCKETS[unit])]


def _bucket(unit: str, type_: Type) -> Encoding:
    if type_.kind is Kind.DATETIME:
        start: Callable[[object], object] = moment
    elif type_.kind is Kind.DATE and unit not in ("hour", "minute"):
        start = day
    else:
        raise TemplateError(f"a {type_} has no {unit} for a bucket")

    def encode(value: object) -> str:
        found = start(value)
        assert isinstance(found, date)
        return _label(unit, found)

    return Encoding(f"{unit} bucket", encode, None, shape_of_picture(BUCKETS[unit]), bucket=unit)


def _shard(count: int, read: int | None, of: Encoding) -> Encoding:
    """Values are spread over `count` shards. If `read` is given, that many shards are read, because older items may be
    in any of them.

    Labels are not padded, so that a shard keeps its name when more are added.
    """
    shards = read or count
    if shards < 2 or count < 1:
        raise TemplateError("a partition needs at least two shards")
    if shards < count:
        raise TemplateError(f"{count} shards are not {count} of {shards}: the second number is the total that is read")
    if shards > MOST_SHARDS:
        raise TemplateError(f"a partition is split into at most {MOST_SHARDS} shards, because each is a request")

    from zlib import crc32  # only keys with shards need it

    def encode(value: object) -> str:
        return str(crc32(of.encode(value).encode()) % count)

    widths = [(Chars(DIGIT),) * width for width in range(1, len(str(shards - 1)) + 1)]
    shape: Shape = widths[0] if len(widths) == 1 else (Either(tuple(widths)),)
    name = f"{of.name} shard of {count}"
    return Encoding(name, encode, None, shape, False, shards=shards, settled=read is None)


def shard_labels(encoding: Encoding) -> list[str]:
    """All shards as they appear in keys.

    >>> shard_labels(encoding_for("shard(2 of 3)", Type(Kind.STRING), Separator()))
    ['0', '1', '2']
    """
    return [str(shard) for shard in range(encoding.shards)]


def _path(of: Encoding, separator: Separator) -> Encoding:
    """A path that ends with `/`. So the paths below it begin with it, and `/docs` is not the beginning of `/docs2`."""

    def encode(value: object) -> str:
        value = plain(value)
        if not isinstance(value, str):
            raise type_error(value, "text")
        names = path_names(value)
        return str(of.encode("".join(f"/{name}" for name in names) + "/"))

    def decode(written: str) -> str:
        assert of.decode
        return str(of.decode(written)).removesuffix("/") or "/"

    if separator.char == "/":
        raise TemplateError("the names of a path are separated by '/', which is also the separator of keys here")
    return Encoding(f"{of.name} path", encode, decode, of.shape, ordered=False, prefixes=True)


def path_names(path: str) -> list[str]:
    """The names in a path, from the root.

    >>> path_names("/docs/projects/2024"), path_names("/")
    (['docs', 'projects', '2024'], [])
    """
    names = path[1:].split("/") if path != "/" else []
    if not path.startswith("/") or "" in names:
        raise KeyValueError(f"{path!r} is not a path: it starts with '/', and has a name after each, as '/docs/2024'")
    return names


def _folded(word: str, of: Encoding) -> Encoding:
    fold = _FOLDS[word]

    def encode(value: object) -> str:
        value = plain(value)
        if not isinstance(value, str):
            raise type_error(value, "text")
        return str(of.encode(fold(value)))

    return Encoding(f"{of.name} {word}", encode, None, of.shape, of.ordered, folds=True)


__all__ = ["BUCKETS", "MOST_BUCKETS", "MOST_SHARDS", "buckets", "encoding_for", "path_names", "shard_labels"]
