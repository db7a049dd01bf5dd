"""What a query asks of the sort key: one value, a prefix, or a range fenced in its entity's prefix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal as Choice

from .errors import KeyValueError
from .shape import TOP
from .template import Field, Literal, Template

Op = Choice["", "=", "<", "<=", ">", ">=", "between", "begins_with"]

MOST_PK_BYTES = 2048
MOST_SK_BYTES = 1024


@dataclass(frozen=True)
class KeyCondition:
    """What one Query asks of the key: the partition, and the sort key by `op` (`high` is for `between`)."""

    pk: str
    op: Op = ""
    low: str = ""
    high: str = ""

    def admits(self, sk: str) -> bool:
        """Whether DynamoDB would return an item of this partition with this sort key."""
        match self.op:
            case "":
                return True
            case "=":
                return sk == self.low
            case "<":
                return sk < self.low
            case "<=":
                return sk <= self.low
            case ">":
                return sk > self.low
            case ">=":
                return sk >= self.low
            case "begins_with":
                return sk.startswith(self.low)
            case "between":
                return self.low <= sk <= self.high

    def __str__(self) -> str:
        match self.op:
            case "":
                return self.pk
            case "=":
                return f"{self.pk} / {self.low}"
            case "begins_with":
                return f"{self.pk} / {self.low}*"
            case "between":
                return f"{self.pk} / {self.low} … {shortened(self.high)}"
            case op:
                return f"{self.pk} / {op} {shortened(self.low)}"


@dataclass(frozen=True)
class Bounds:
    """The values of a range over one attribute, as the caller means them.

    >>> Bounds.of("between", ("a", "c"))
    Bounds(low='a', high='c', low_open=False, high_open=False, beginning=False)
    """

    low: object = None
    high: object = None
    low_open: bool = False
    high_open: bool = False
    beginning: bool = False
    """`low` is what the attribute begins with, and there is no `high`."""

    @classmethod
    def of(cls, op: str, value: object) -> Bounds:
        """Bounds from an operator and its value; for `between` a pair, both ends included."""
        if isinstance(value, Bounds):
            return value
        match op:
            case "<" | "<=":
                return cls(high=value, high_open=op == "<")
            case ">" | ">=":
                return cls(low=value, low_open=op == ">")
            case "begins_with":
                return cls(low=value, beginning=True)
            case "between":
                if not isinstance(value, tuple | list) or len(value) != 2:
                    raise KeyValueError(f"between takes two values, not {value!r}")
                return cls(*value)
            case _:
                raise KeyValueError(f"{op!r} is not a range: use <, <=, >, >=, between or begins_with")


def ranged(
    template: Template, count: int, values: Mapping[str, object], bounds: Bounds, pk: str
) -> KeyCondition | None:
    """The keys of a template with these first values, and the next field within bounds. None: no key can be.

    >>> from prejoin.types import STRING
    >>> order = Template.of("ORDER#{day}#{id}", {"day": STRING, "id": STRING})
    >>> str(ranged(order, 1, {}, Bounds.of(">=", "2026-05-04"), "USER#1"))
    'USER#1 / ORDER#2026-05-04 … ORDER$'
    >>> str(ranged(order, 1, {}, Bounds.of("between", ("2026-05-04", "2026-05-06")), "USER#1"))
    'USER#1 / ORDER#2026-05-04 … ORDER#2026-05-06$'
    """
    place = template.parts[count]
    assert isinstance(place, Field)
    fence = template.head(count, values)
    following = template.parts[count + 1] if count + 1 < len(template.parts) else None
    stop = following.text[0] if isinstance(following, Literal) else ""

    def key(value: object) -> str:
        return fence + place.write({place.attribute: value})

    if bounds.beginning:
        start = key(bounds.low)
        return KeyCondition(pk, "begins_with", _sized(start)) if start else KeyCondition(pk)
    if place.encoding.descending:
        bounds = Bounds(bounds.high, bounds.low, bounds.high_open, bounds.low_open)
    low = high = None
    if bounds.low is not None:
        low = key(bounds.low) + (_after(template, stop) if bounds.low_open else "")
    if bounds.high is not None:
        high = key(bounds.high)
        if bounds.high_open and not stop:
            below = just_below(fence, high, fixed=place.encoding.width is not None)
            if below is None:
                return None
            high = below
        elif not bounds.high_open and stop:
            high += _next(stop)
    return spanned(pk, low, high, fence, template)


def spanned(pk: str, low: str | None, high: str | None, fence: str, template: Template) -> KeyCondition | None:
    """From one key to another, both included; where one is None, to the edge of what begins with `fence`."""
    if fence:
        low = fence if low is None else low
        high = after_prefix(fence, template) if high is None else high
    if high == "":
        return None
    low = low or None  # no key is empty: from "" on is from the start
    if low is not None and high is not None:
        if low > high:
            return None
        return KeyCondition(pk, "between", _sized(low), _sized(high))
    if low is not None:
        return KeyCondition(pk, ">=", _sized(low))
    if high is not None:
        return KeyCondition(pk, "<=", _sized(high))
    return KeyCondition(pk)


def after_prefix(prefix: str, template: Template) -> str:
    """A text above all keys with this prefix, and below all others above them."""
    if prefix.endswith(template.separator.char) and not template.raw:
        # "ORDER$" for "ORDER#": never a key itself, for no template and no value ends with a bare escape.
        return prefix[:-1] + _next(prefix[-1])
    return _filled(prefix)


def just_below(fence: str, key: str, fixed: bool) -> str | None:
    """The greatest key less than this one; DynamoDB's between includes its ends, so `<` has to move one down.

    >>> just_below("DAY#", "DAY#2026-05-04", fixed=True)
    'DAY#2026-05-03'
    """
    if key == fence:
        return None
    last = ord(key[-1])
    if last == 0:
        return key[:-1]
    below = key[:-1] + chr(0xD7FF if last == 0xE000 else last - 1)
    return below if fixed else _filled(below)


def _after(template: Template, stop: str) -> str:
    if not stop and template.raw:
        return "\x00"
    return _next(stop or template.separator.char)


def _next(char: str) -> str:
    return chr(ord(char) + 1)


def _filled(prefix: str) -> str:
    """The prefix with the greatest characters up to the most bytes a sort key can have."""
    room = MOST_SK_BYTES - len(prefix.encode())
    return prefix + TOP * (room // 4) + ("", "\x7f", "\u07ff", "\uffff")[room % 4] if room > 0 else prefix


def _sized(sk: str) -> str:
    return sized(sk, "sort key", MOST_SK_BYTES)


def sized(key: str, what: str, most: int) -> str:
    """The key itself, if DynamoDB takes it."""
    if not key:
        raise KeyValueError(f"the {what} would be empty, and DynamoDB takes no empty key")
    if len(key) * 4 > most and len(key.encode()) > most:
        raise KeyValueError(f"the {what} {shortened(key)!r} would be longer than {most} bytes")
    return key


def shortened(key: str) -> str:
    """A key as people look at it: without the filling that stands for "to the end"."""
    bare = key.rstrip("\x7f\u07ff\uffff" + TOP)
    return key if bare == key else bare + "…"
