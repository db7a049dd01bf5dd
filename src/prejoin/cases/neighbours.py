"""Values beside another one in the order of its type: what a comparison with it can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from prejoin.types import Kind
from prejoin.workload.samples import CROCKFORD


def neighbours(value: Any, kind: Kind, steps: int) -> list[Any]:
    """Values just above and below another, as many as there are steps on each side.

    >>> neighbours(date(2026, 11, 15), Kind.DATE, 1)
    [datetime.date(2026, 11, 16), datetime.date(2026, 11, 14)]
    """
    distances: list[int] = []
    for step in range(1, steps + 1):
        distances += [step, -step]
    match value:
        case UUID():
            numbers = [value.int + distance for distance in distances]
            return [UUID(int=number) for number in numbers if 0 <= number < 2**128]
        case str() if kind is Kind.ULID:
            # A sample of the document may be any text.
            is_ulid = set(value) <= set(CROCKFORD)
            return [_ulid_beside(value, distance) for distance in distances] if is_ulid else []
        case datetime():
            return [value + timedelta(seconds=distance) for distance in distances]
        case date():
            return [value + timedelta(days=distance) for distance in distances]
        case str() if moment := _moment(value):
            return [_as_text(moment + timedelta(seconds=distance)) for distance in distances]
        case str():
            return _texts_beside(value, steps)
        case bytes():
            # A sample of a large content stays one: generated tests write it as a `LargeValue`.
            longer = [_longer_bytes(value, step) for step in range(1, steps + 1)]
            return [*longer, type(value)(value[:-1] or b"\x00")]
    return []


def ladder(values: Sequence[Any], kind: Kind, steps: int) -> list[Any]:
    """Values of which each is greater than the one before, from the first of some; else these values, in order.

    After UUIDs and ULIDs come those beside the first, because there may be too few of them.
    """
    first = values[0]
    match first:
        case datetime():
            return [first + timedelta(minutes=step) for step in range(steps)]
        case date():
            return [first + timedelta(days=step) for step in range(steps)]
        case str() if moment := _moment(first):
            return [_as_text(moment + timedelta(minutes=step)) for step in range(steps)]
        case bytes():
            return [_longer_bytes(first, step) for step in range(steps)]
        case str() if kind is Kind.STRING:
            return sorted([*values, *_longer_texts(first, steps - 1)])
    return [*sorted(values, key=str), *neighbours(first, kind, steps)]


def _texts_beside(value: str, steps: int) -> list[str]:
    # What begins with the text, what it begins with, what contains it, and what sorts before it.
    longer = _longer_texts(value, steps)
    shorter = [value[:-1]] if len(value) > 1 else []
    # A text before it, and more of them: `!` is before all letters and digits.
    before = [chr(max(ord(value[0]) - 1, 33)) + "!" * step for step in range(steps)] if value else []
    return [longer[0], *shorter, f"x{value}x", *before, *longer[1:]]


def _longer_texts(value: str, steps: int) -> list[str]:
    return [value + "x" * step for step in range(1, steps + 1)]


def _longer_bytes(value: bytes, step: int) -> bytes:
    return type(value)(value + b"x" * step)


def _ulid_beside(value: str, step: int) -> str:
    """The ULID so many steps after another, or before it."""
    number = step
    for place, letter in enumerate(reversed(value)):
        number += CROCKFORD.index(letter) * len(CROCKFORD) ** place
    letters = ""
    for _ in value:
        number, digit = divmod(number, len(CROCKFORD))
        letters = CROCKFORD[digit] + letters
    return letters


def _moment(text: str) -> datetime | None:
    """The time that a text is, as in `2026-11-15T12:00:00Z`; None if it is none."""
    try:
        return datetime.fromisoformat(text) if len(text) > len("2026-11-15") else None
    except ValueError:
        return None


def _as_text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
