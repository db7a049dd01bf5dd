"""Edge values: separators, prefixes of each other, the first and last moments of days, equal numbers.

Each is a value of its type that an application may well have. What sorts, escapes, pads, folds or cuts wrongly is found
by one of them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import lru_cache
from typing import Any, assert_never

from prejoin.types import Kind

TEXTS = (
    "1",
    "10",
    "2",  # text sorts it after 10
    "01",
    "a",
    "A",
    "a#b",
    "a#",
    "#",
    "a b",
    "a!",
    "aa",
    " ",
    "a%23b",
    "%",
    "\\",
    "{userId}",
    "None",
    "null",
    "USER#1",
    "-1",
    "1.0",
    "\u00e9",
    "e\u0301",  # the same letter, written as two
    "ss",
    "ß",
    "日本",
    "\ufb01",
    "\uffff",
    "\U0001f600",
    "\U0001f600#",
    "~",
    "a\x00b",
    "\n",
    "'\"",
    "count",
    "a" * 60,
)
EMPTY = ""
WHOLE = (0, 1, 2, 10, 100, -1, -2, -10, 99, 10**15, -(10**15), 10**30, 7, 7)
FRACTIONS = tuple(
    map(Decimal, ("0", "1.5", "1.50", "-1.5", "0.001", "-0.001", "10", "9.99", "1E+20", "-1E+20", "1E-20", "2", "2.0"))
)
BYTES = (b"a", b"ab", b"\x00", b"\x00\x00", b"\xff", b"#", bytes(range(16)))


@lru_cache(16)
def moments(now: datetime) -> tuple[datetime, ...]:
    """Times up to now: at the edges of seconds, days, weeks and months, some equal, one in another time zone."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    month = day.replace(day=1)
    tick = timedelta(microseconds=1)
    week = now - timedelta(days=7)
    return (
        now,
        now - timedelta(seconds=1),
        day,
        day,
        day - tick,
        day - timedelta(days=1),
        month,
        month - tick,
        week,
        week - tick,
        week + tick,
        (now - timedelta(hours=3)).astimezone(timezone(timedelta(hours=5, minutes=30))),
        now - timedelta(days=2, microseconds=500_000),
    )


def dates(now: datetime) -> tuple[date, ...]:
    return tuple(dict.fromkeys(moment.astimezone(UTC).date() for moment in moments(now)))


def edge_values_of(kind: Kind, now: datetime) -> Sequence[Any]:
    """The edge values of a type; none for a type without any."""
    match kind:
        case Kind.STRING:
            return TEXTS
        case Kind.INTEGER:
            return WHOLE
        case Kind.NUMBER:
            return (*WHOLE, *FRACTIONS[1:5])
        case Kind.DECIMAL:
            return FRACTIONS
        case Kind.BINARY:
            return BYTES
        case Kind.DATETIME:
            return moments(now)
        case Kind.DATE:
            return dates(now)
        case Kind.UUID:
            return (uuid.UUID(int=0), uuid.UUID(int=1), uuid.UUID(int=2**128 - 1), uuid.UUID(int=16))
        case Kind.ULID:
            return ("0" * 26, "0" * 25 + "1", "7" + "Z" * 25)
        case Kind.BOOLEAN | Kind.LIST | Kind.MAP | Kind.SET | Kind.ENUM | Kind.CONTENT:
            return ()
        case _:
            assert_never(kind)
