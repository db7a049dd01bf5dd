"""The specs of a field, `{attribute:spec}`: padding, descending order, time buckets, shards, paths and folded case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta

import msgspec

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
    encoding = _encoding(spec, type_, separator, raw, stop)
    if not optional_:
        return encoding
    if raw:
        raise TemplateError(
            "'?' encodes a missing value in prejoin's own way, which other programs cannot read in a raw key"
        )
    return optional(encoding, separator)


def _encoding(spec: str, type_: Type, separator: Separator, raw: bool, stop: str) -> Encoding:
    word, is_descending = _read_spec(spec)
    plain_encoding = verbatim(type_, stop) if raw else default(type_, separator)
    if word is None:
        return descending_encoding(type_, default(type_, separator)) if is_descending else plain_encoding
    kind, numbers = _kind_of(word)
    if is_descending and (kind is None or not kind.takes_desc):
        raise TemplateError(f"'desc' goes with a number, date or time as it is, or with padding; not with {word!r}")
    if kind is None:
        examples = ", ".join(kind.examples for kind in _KINDS if kind.examples)
        raise TemplateError(f"{word!r} is not a spec: there are {examples}")
    if kind.suits is not None and not kind.suits(type_):
        raise TemplateError(f"{word!r} {kind.purpose}, and this is a {type_}")
    return kind.make(_SpecifiedField(spec, word, numbers, is_descending, type_, separator, plain_encoding))


def _read_spec(spec: str) -> tuple[str | None, bool]:
    """The word of a spec, and whether `desc` stands beside it. There is no word in `desc` alone, and in no spec."""
    if not spec:
        return None, False
    parts = [part.strip() for part in spec.split(",")]
    words = [part for part in parts if part != "desc"]
    if len(words) > 1:
        raise TemplateError(f"{spec!r} has two encodings: {' and '.join(words)}")
    return words[0] if words else None, len(words) < len(parts)


class _SpecifiedField(msgspec.Struct, frozen=True, gc=False):
    """A field whose encoding is made."""

    spec: str
    word: str
    """The spec without `desc`."""
    numbers: tuple[int, ...]
    """The numbers in the word: `09.2f` has 9 and 2."""
    is_descending: bool
    type: Type
    separator: Separator
    plain_encoding: Encoding
    """The encoding without a spec; in a raw key, of the value as it is."""


class _SpecKind(msgspec.Struct, frozen=True):
    """A kind of spec: the words that mean it, the types that it suits, and the encoding that it makes."""

    examples: str
    """For a message that lists all specs. Empty if they are beside those of another kind."""
    make: Callable[[_SpecifiedField], Encoding]
    words: tuple[str, ...] = ()
    pattern: str = ""
    """For words with numbers; these are its groups."""
    takes_desc: bool = False
    suits: Callable[[Type], bool] | None = None
    """None if `make` checks the type itself."""
    purpose: str = ""
    """For the message about a type that it does not suit: what the word does."""


def _kind_of(word: str) -> tuple[_SpecKind | None, tuple[int, ...]]:
    """The kind of a word, and the numbers in it."""
    # Words before patterns: `re` compiles a pattern on its first use, and a Lambda function that starts uses few.
    kind = _KIND_OF_WORD.get(word)
    if kind is not None:
        return kind, ()
    for kind in _KINDS:
        match = re.fullmatch(kind.pattern, word) if kind.pattern else None
        if match is not None:
            return kind, tuple(map(int, filter(None, match.groups())))
    return None, ()


def _is_numeric(type_: Type) -> bool:
    return type_.numeric


def _is_text(type_: Type) -> bool:
    return type_.kind is Kind.STRING


def _is_datetime(type_: Type) -> bool:
    return type_.kind is Kind.DATETIME


def _plain_number(field: _SpecifiedField) -> Encoding:
    if not field.type.numeric or field.is_descending:
        raise TemplateError(f"'plain' writes a number without an order, and this is a {field.spec!r} of a {field.type}")
    return unordered_number(field.type, field.separator)


def _precision(field: _SpecifiedField) -> Encoding:
    encoding = datetime_encoding(field.word)
    return descending_encoding(field.type, encoding) if field.is_descending else encoding


def _spread(field: _SpecifiedField) -> Encoding:
    count, *read = field.numbers
    return _shard(count, read[0] if read else None, default(field.type, field.separator))


def buckets(unit: str, low: object, high: object) -> Iterator[str]:
    """The buckets from one day or time to another as they appear in keys, oldest first.

    >>> from datetime import UTC
    >>> list(buckets("month", datetime(2025, 11, 30, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)))
    ['2025-11', '2025-12', '2026-01']
    """
    start = _start(unit, low)
    last_start = _start(unit, high)
    for _ in range(MOST_BUCKETS):
        if start > last_start:
            return
        yield _label(unit, start)
        try:
            start = _next(unit, start)
        except OverflowError:
            return
    if start <= last_start:
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
        point = start(value)
        assert isinstance(point, date)
        return _label(unit, point)

    return Encoding(f"{unit} bucket", encode, None, shape_of_picture(BUCKETS[unit]), bucket=unit)


def _shard(count: int, read: int | None, encoding: Encoding) -> Encoding:
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
        return str(crc32(encoding.encode(value).encode()) % count)

    widths = [(Chars(DIGIT),) * width for width in range(1, len(str(shards - 1)) + 1)]
    shape: Shape = widths[0] if len(widths) == 1 else (Either(tuple(widths)),)
    name = f"{encoding.name} shard of {count}"
    return Encoding(name, encode, None, shape, False, shards=shards, settled=read is None)


def shard_labels(encoding: Encoding) -> list[str]:
    """All shards as they appear in keys.

    >>> shard_labels(encoding_for("shard(2 of 3)", Type(Kind.STRING), Separator()))
    ['0', '1', '2']
    """
    return [str(shard) for shard in range(encoding.shards)]


def _path(encoding: Encoding, separator: Separator) -> Encoding:
    """A path that ends with `/`. So the paths below it begin with it, and `/docs` is not the beginning of `/docs2`."""

    def encode(value: object) -> str:
        value = plain(value)
        if not isinstance(value, str):
            raise type_error(value, "text")
        names = path_names(value)
        return str(encoding.encode("".join(f"/{name}" for name in names) + "/"))

    def decode(text: str) -> str:
        assert encoding.decode
        return str(encoding.decode(text)).removesuffix("/") or "/"

    if separator.char == "/":
        raise TemplateError("the names of a path are separated by '/', which is also the separator of keys here")
    return Encoding(f"{encoding.name} path", encode, decode, encoding.shape, ordered=False, prefixes=True)


def path_names(path: str) -> list[str]:
    """The names in a path, from the root.

    >>> path_names("/docs/projects/2024"), path_names("/")
    (['docs', 'projects', '2024'], [])
    """
    names = path[1:].split("/") if path != "/" else []
    if not path.startswith("/") or "" in names:
        raise KeyValueError(f"{path!r} is not a path: it starts with '/', and has a name after each, as '/docs/2024'")
    return names


def _fold(word: str, encoding: Encoding) -> Encoding:
    fold = _FOLDS[word]

    def encode(value: object) -> str:
        value = plain(value)
        if not isinstance(value, str):
            raise type_error(value, "text")
        return str(encoding.encode(fold(value)))

    return Encoding(f"{encoding.name} {word}", encode, None, encoding.shape, encoding.ordered, folds=True)


_KINDS = (
    _SpecKind(
        "a width such as 06d or 09.2f",
        lambda field: padded_integer(field.numbers[0], field.is_descending),
        pattern=r"0?([1-9]\d?)d?",
        takes_desc=True,
        suits=_is_numeric,
        purpose="pads integers",
    ),
    _SpecKind(
        "",
        lambda field: fixed_point(field.numbers[0], field.numbers[1], field.is_descending),
        pattern=r"0?([1-9]\d?)\.([1-9]\d?)f?",
        takes_desc=True,
        suits=_is_numeric,
        purpose="pads decimals",
    ),
    _SpecKind("plain, desc", _plain_number, words=("plain",), takes_desc=True),
    _SpecKind("shard(8)", _spread, pattern=r"shard\((\d+)(?: of (\d+))?\)"),
    _SpecKind(
        "tree",
        lambda field: _path(field.plain_encoding, field.separator),
        words=("tree",),
        suits=_is_text,
        purpose="writes a path",
    ),
    _SpecKind(", ".join(BUCKETS), lambda field: _bucket(field.word, field.type), words=tuple(BUCKETS)),
    _SpecKind(
        "seconds, millis",
        _precision,
        words=("seconds", "millis"),
        takes_desc=True,
        suits=_is_datetime,
        purpose="is the precision of a date and time",
    ),
    _SpecKind(
        ", ".join(_FOLDS),
        lambda field: _fold(field.word, field.plain_encoding),
        words=tuple(_FOLDS),
        suits=_is_text,
        purpose="folds text",
    ),
)
"""All specs, in the order in which a message lists them. `desc` stands alone, or beside those that take it."""

_KIND_OF_WORD = {word: kind for kind in _KINDS for word in kind.words}


__all__ = ["BUCKETS", "MOST_BUCKETS", "MOST_SHARDS", "buckets", "encoding_for", "path_names", "shard_labels"]
