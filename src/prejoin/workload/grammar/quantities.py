"""Quantities: `10K`, `400 B`, `~100 per User`, `2M/day peak 555/s`, `7 days`."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.model import Cardinality, Level, Per, Rate

_NUMBER = r"\d[\d_,]*+(?:\.\d++)?"
_COUNT = re.compile(rf"({_NUMBER})\s*+([kKmMbB]?)\Z")
_SIZE = re.compile(rf"~?\s*+({_NUMBER})\s*+(B|bytes?|KB|KiB|MB|MiB)\Z", re.IGNORECASE)
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000, "b": 1_000_000_000}
_UNITS = {"b": 1, "byte": 1, "bytes": 1, "kb": 1024, "kib": 1024, "mb": 1024**2, "mib": 1024**2}
_MAX_COUNT = 10**15
"""Larger figures are taken for typing errors."""

COUNT_FIX = "write a figure such as `100`, `10K` or `1.5M`"
SIZE_FIX = "write a size such as `400 B`, `2 KB` or `1 MB`"
RATE_FIX = (
    "write `Hot` (> 100/s), `Warm` (1–100/s), `Cold` (< 1/s), or a figure: `250/s`, `2M/day peak 555/s`, `weight 3`"
)
CARDINALITY_FIX = (
    "write figures such as `~100 per User, 1M total`, `at most 100 per User`, `unbounded per User` or `singleton`"
)


def _number(digits: str) -> Decimal:
    try:
        number = Decimal(digits.replace(",", "").replace("_", ""))
    except InvalidOperation as problem:
        raise Inexact(f"`{digits}` is not a number", COUNT_FIX) from problem
    if number > _MAX_COUNT:
        raise Inexact(f"`{digits}` is too large to be meant", COUNT_FIX)
    return number


def read_count(text: str) -> int:
    """Read a count.

    >>> read_count("1.5M"), read_count("10,000")
    (1500000, 10000)
    """
    match = _COUNT.match(text.strip())
    if not match:
        raise Inexact(f"`{text.strip()}` is not a number of things", COUNT_FIX)
    return int(_number(match[1]) * _SCALE[match[2].lower()])


def _average(text: str) -> int | float:
    """Read a count that may be a fraction.

    >>> _average("0.8"), _average("2.0K")
    (0.8, 2000)
    """
    count = read_count(text)
    match = _COUNT.match(text.strip())
    exact = _number(match[1]) * _SCALE[match[2].lower()] if match else count
    return count if exact == count else float(exact)


def write_count(count: float) -> str:
    """The shortest exact form of a count.

    >>> write_count(1_500_000), write_count(10_001), write_count(0.8)
    ('1500K', '10001', '0.8')
    """
    if count != int(count):
        return plain_number(count)
    count = int(count)
    for suffix, scale in (("B", 1_000_000_000), ("M", 1_000_000), ("K", 1_000)):
        if count >= scale and count % scale == 0:
            return f"{count // scale}{suffix}"
    return str(count)


def read_size(text: str) -> int:
    """Read a size in bytes; 1 KB is 1,024 bytes, as in DynamoDB.

    >>> read_size("1.5 KB")
    1536
    """
    match = _SIZE.match(text.strip())
    if not match:
        raise Inexact(f"`{text.strip()}` is not a size", SIZE_FIX)
    return int(_number(match[1]) * _UNITS[match[2].lower()])


def write_size(size: int) -> str:
    for unit, scale in (("MB", 1024**2), ("KB", 1024)):
        if size >= scale and size % scale == 0:
            return f"{size // scale} {unit}"
    return f"{size} B"


# --- Cardinality ------------------------------------------------------------------------------------------------------

_WORD = r"(?:\w+|`[^`]+`)"
_CARDINALITY = re.compile(
    rf"""(?P<bound>~|about|around|at\smost|max(?:imum)?|up\sto|≤|<=)?\s*+
    (?:(?P<low>{_NUMBER}(?:\s*+[kKmMbB])?)\s*+(?:-|–|—|to)\s*+)?
    (?:(?P<count>{_NUMBER}(?:\s*+[kKmMbB])?)(?![\w:])|(?P<unbounded>unbounded|unlimited))\s*+
    (?P<noun>[^\W\d]\w*+(?:\s++|\Z))??
    (?:per\s++(?P<per>{_WORD})|(?P<total>total|in\s++all|in\s++total|overall|globally))?\s*+\Z""",
    re.VERBOSE | re.IGNORECASE,
)


def read_cardinality(text: str, own: str = "") -> tuple[bool, tuple[Cardinality, ...]]:
    """Whether the entity has a single item, and its cardinalities. `own` is its name, for `10K users`.

    >>> read_cardinality("~100 per User, 1M total")[1][0]
    Cardinality(count=100, per='User', low=None, at_most=False)
    """
    if text.strip().lower() in {"singleton", "one item"}:
        return True, ()
    cardinalities = []
    offset = 0
    for part in re.split(r"[;]|,(?!\d{3}\b)", text):
        piece = part.strip()
        if piece:
            cardinalities.append(_cardinality(piece, offset + len(part) - len(part.lstrip()), own.lower()))
        offset += len(part) + 1
    return False, tuple(cardinalities)


def _cardinality(piece: str, offset: int, own: str) -> Cardinality:
    match = _CARDINALITY.match(piece)
    noun = (match["noun"] or "").strip().lower() if match else ""
    if not match or (noun and not match["per"] and not match["total"] and noun.removesuffix("s") != own):
        raise Inexact(f"`{piece}` does not say how many", CARDINALITY_FIX, offset, piece)
    bound = (match["bound"] or "").lower()
    return Cardinality(
        count=None if match["unbounded"] else _average(match["count"]),
        per=(match["per"] or "").strip("`"),
        low=read_count(match["low"]) if match["low"] else None,
        at_most=bound not in {"", "~", "about", "around"},
    )


def write_cardinality(singleton: bool, cardinality: tuple[Cardinality, ...]) -> str:
    return "singleton" if singleton else ", ".join(_write_cardinality(c) for c in cardinality)


def _write_cardinality(c: Cardinality) -> str:
    low = f"{write_count(c.low)} to " if c.low is not None else ""
    count = "unbounded" if c.count is None else low + write_count(c.count)
    bound = "at most " if c.at_most else "" if c.count is None else "~"
    return f"{bound}{count} per {write_name(c.per)}" if c.per else f"{bound}{count} total"


# --- Rates ------------------------------------------------------------------------------------------------------------

_LEVEL = re.compile(r"(hot|warm|cold)\Z", re.IGNORECASE)
_FIGURE = re.compile(
    rf"~?\s*+({_NUMBER})\s*+([kKmMbB]?)\s*+(?:/|per\s++|a\s++)\s*+(s|sec|second|min|minute|h|hour|day|month)\Z",
    re.IGNORECASE,
)
_PEAK = re.compile(rf"peak\s++({_NUMBER})\s*+([kKmMbB]?)\s*+/\s*+s\Z", re.IGNORECASE)
_WEIGHT = re.compile(rf"weight\s++({_NUMBER})\Z", re.IGNORECASE)
_HOTTEST = re.compile(rf"hottest\s++(?:({_WORD})\s++)?({_NUMBER})\s*+%\Z", re.IGNORECASE)
_PER = {"sec": "s", "second": "s", "minute": "min", "hour": "h"}


def read_rate(text: str) -> Rate:
    """Read a rate.

    >>> read_rate("2M/day peak 555/s")
    Rate(level=None, value=2000000.0, per=<Per.DAY: 'day'>, peak=555.0, weight=None, hottest=None, hottest_of='')
    """
    fields: dict[str, object] = {}
    for part in re.split(r"(?:,\s++|(?<!\s)\s++(?=peak\b|hottest\b))", text.strip(), flags=re.IGNORECASE):
        field_count = len(fields)
        if match := _LEVEL.match(part):
            fields["level"] = Level(match[1].capitalize())
        elif match := _FIGURE.match(part):
            unit = match[3].lower()
            fields |= {"value": _scale_number(match[1], match[2]), "per": Per(_PER.get(unit, unit))}
        elif match := _PEAK.match(part):
            fields["peak"] = _scale_number(match[1], match[2])
        elif match := _WEIGHT.match(part):
            fields["weight"] = float(_number(match[1]))
        elif match := _HOTTEST.match(part):
            fields |= {"hottest": float(_number(match[2])), "hottest_of": (match[1] or "").strip("`")}
        if len(fields) == field_count:
            raise Inexact(f"`{part}` is not a frequency", RATE_FIX, text.find(part), part)
    return Rate(**fields)  # type: ignore[arg-type]


def _scale_number(digits: str, suffix: str) -> float:
    return float(_number(digits) * _SCALE[suffix.lower()])


def write_rate(rate: Rate) -> str:
    parts = [rate.level.value] if rate.level else []
    if rate.value is not None:
        parts.append(f"{_figure(rate.value)}/{rate.per}")
    if rate.weight is not None:
        parts.append(f"weight {plain_number(rate.weight)}")
    if rate.peak is not None:
        parts.append(f"peak {_figure(rate.peak)}/s")
    if rate.hottest is not None:
        owner = f"{write_name(rate.hottest_of)} " if rate.hottest_of else ""
        parts.append(f"hottest {owner}{plain_number(rate.hottest)}%")
    return ", ".join(parts)


def _figure(value: float) -> str:
    return write_count(int(value)) if value == int(value) else plain_number(value)


def plain_number(value: float) -> str:
    """A number without an exponent or needless zeros."""
    return str(int(value)) if value == int(value) else format(Decimal(repr(value)), "f")


# --- Spans of time ----------------------------------------------------------------------------------------------------

SPANS = {
    "second": 1,
    "minute": 60,
    "hour": 3600,
    "day": 86_400,
    "week": 604_800,
    "month": 2_592_000,
    "year": 31_536_000,
}
"""Seconds of each unit; a month has 30 days."""


def write_span(seconds: int) -> str:
    """The largest unit that is exact.

    >>> write_span(604_800)
    '7 days'
    """
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds % length == 0:
            count = seconds // length
            return f"{count} {unit}" + ("" if count == 1 else "s")
    return f"{seconds} second" + ("" if seconds == 1 else "s")
