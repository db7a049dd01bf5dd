"""The specs of a field, `{attribute:spec}`: padding, descending order, time buckets, shards, folded case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from zlib import crc32

from prejoin.types import Kind, Type

from .encoding import (
    Encoding,
    day,
    default,
    fixed_point,
    moment,
    moment_to,
    optional,
    padded,
    plain,
    turned_round,
    verbatim,
    wrong,
)
from .errors import KeyValueError, TemplateError
from .separator import Separator
from .shape import DIGIT, Chars, pictured

BUCKETS = {
    "year": "9999",
    "month": "9999-99",
    "week": "9999-W99",
    "day": "9999-99-99",
    "hour": "9999-99-99T99",
    "minute": "9999-99-99T99:99",
}
"""The units of time that a partition can be cut by, and how each looks in a key."""

MOST_BUCKETS = 1000
"""A range over more buckets than this is refused: it is that many requests."""

_PADDING = re.compile(r"0?([1-9]\d?)d?")
_FIXED_POINT = re.compile(r"0?([1-9]\d?)\.([1-9]\d?)f?")
_PRECISIONS = ("seconds", "millis")
_SHARD = re.compile(r"shard\((\d+)\)")
_FOLDS: dict[str, Callable[[str], str]] = {"lower": str.lower, "upper": str.upper}


def encoding_for(
    spec: str, type_: Type, separator: Separator, raw: bool = False, stop: str = "", optional_: bool = False
) -> Encoding:
    """The encoding that a field's spec asks for; with no spec, the one of the attribute's type.

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
        raise TemplateError("'?' writes a missing value in a way of our own; in a raw key nobody else would read it")
    return optional(found, separator)


def _encoding(spec: str, type_: Type, separator: Separator, raw: bool, stop: str) -> Encoding:
    words = [word.strip() for word in spec.split(",")] if spec else []
    descending = "desc" in words
    words = [word for word in words if word != "desc"]
    if len(words) > 1:
        raise TemplateError(f"{spec!r} asks for two encodings at once: {' and '.join(words)}")
    plain_ = verbatim(type_, stop) if raw else default(type_, separator)
    if not words:
        return turned_round(type_, default(type_, separator)) if descending else plain_
    word = words[0]
    if found := _PADDING.fullmatch(word):
        if not type_.numeric:
            raise TemplateError(f"{word!r} pads integers, and this is a {type_}")
        return padded(int(found[1]), descending)
    if found := _FIXED_POINT.fullmatch(word):
        if not type_.numeric:
            raise TemplateError(f"{word!r} pads decimals, and this is a {type_}")
        return fixed_point(int(found[1]), int(found[2]), descending)
    if word in _PRECISIONS:
        if type_.kind is not Kind.DATETIME:
            raise TemplateError(f"{word!r} is how fine a date and time is written, and this is a {type_}")
        written = moment_to(word)
        return turned_round(type_, written) if descending else written
    if descending:
        raise TemplateError(f"'desc' goes with a number, date or time as it is, or with padding; not with {word!r}")
    if word in BUCKETS:
        return _bucket(word, type_)
    if found := _SHARD.fullmatch(word):
        return _shard(int(found[1]), default(type_, separator))
    if word in _FOLDS:
        if type_.kind is not Kind.STRING:
            raise TemplateError(f"{word!r} folds text, and this is a {type_}")
        return _folded(word, plain_)
    known = "a width such as 06d or 09.2f, desc, shard(8), " + ", ".join([*BUCKETS, *_PRECISIONS, *_FOLDS])
    raise TemplateError(f"{word!r} is not a spec: there are {known}")


def buckets(unit: str, low: object, high: object) -> Iterator[str]:
    """The buckets from one day or moment to another, as they stand in keys, oldest first.

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
        raise wrong(value, "a date or time")
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
        raise TemplateError(f"a {type_} has no {unit} to be put in a bucket by")

    def encode(value: object) -> str:
        found = start(value)
        assert isinstance(found, date)
        return _label(unit, found)

    return Encoding(f"{unit} bucket", encode, None, pictured(BUCKETS[unit]), bucket=unit)


def _shard(count: int, of: Encoding) -> Encoding:
    if count < 2:
        raise TemplateError("a partition is split into two shards or more")
    width = len(str(count - 1))

    def encode(value: object) -> str:
        return f"{crc32(of.encode(value).encode()) % count:0{width}d}"

    return Encoding(f"{of.name} shard of {count}", encode, None, (Chars(DIGIT),) * width, False, shards=count)


def shard_labels(encoding: Encoding) -> list[str]:
    """All shards as they stand in keys.

    >>> shard_labels(encoding_for("shard(3)", Type(Kind.STRING), Separator()))
    ['0', '1', '2']
    """
    width = len(encoding.shape)
    return [f"{shard:0{width}d}" for shard in range(encoding.shards)]


def _folded(word: str, of: Encoding) -> Encoding:
    fold = _FOLDS[word]

    def encode(value: object) -> str:
        value = plain(value)
        if not isinstance(value, str):
            raise wrong(value, "text")
        return str(of.encode(fold(value)))

    return Encoding(f"{of.name} {word}", encode, None, of.shape, of.ordered)


__all__ = ["BUCKETS", "MOST_BUCKETS", "buckets", "encoding_for", "shard_labels"]
