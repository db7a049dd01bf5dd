"""Key conditions: a partition, and one sort key, a prefix, or a range that stays within its entity's prefix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import msgspec

from prejoin.keys.errors import KeyValueError
from prejoin.keys.template.parts import KeyField, KeyText, Writer
from prejoin.keys.template.shape import TOP
from prejoin.keys.template.template import Template

Op = Literal["", "=", "<", "<=", ">", ">=", "between", "begins_with"]

MOST_PK_BYTES = 2048
MOST_SK_BYTES = 1024
SAFE_PK, SAFE_SK = MOST_PK_BYTES // 4, MOST_SK_BYTES // 4
"""This many characters never exceed the limit in bytes."""


Scalar = str | int | Decimal | bytes
"""The value of one key attribute: S, N or B."""

KeyValue = Scalar | tuple[Scalar, ...]
"""A partition or sort key: one attribute, or several of an index."""


class KeyCondition(msgspec.Struct, frozen=True):
    """The key condition of one Query: the partition, and `op` on the sort key (`high` is for `between`)."""

    pk: KeyValue
    op: Op = ""
    low: Scalar = ""
    high: Scalar = ""
    head: tuple[Scalar, ...] = ()
    """In a sort key of several attributes, the values of the first ones; `op` applies to the next."""

    def tests(self, pk: Sequence[str], sk: Sequence[str]) -> list[tuple[str, Op, tuple[Scalar, ...]]]:
        """The condition on each attribute, given the names of the key attributes.

        >>> KeyCondition("USER#1", "begins_with", "ORDER#").tests(["pk"], ["sk"])
        [('pk', '=', ('USER#1',)), ('sk', 'begins_with', ('ORDER#',))]
        >>> KeyCondition(("DE", "Bonn"), ">=", 7, head=("OPEN",)).tests(["country", "city"], ["status", "total"])
        [('country', '=', ('DE',)), ('city', '=', ('Bonn',)), ('status', '=', ('OPEN',)), ('total', '>=', (7,))]
        """
        first = self.pk if isinstance(self.pk, tuple) else (self.pk,)
        equal = (*zip(pk, first, strict=True), *zip(sk, self.head, strict=False))
        found: list[tuple[str, Op, tuple[Scalar, ...]]] = []
        for name, value in equal:
            found.append((name, "=", (value,)))
        if self.op:
            ends = (self.low, self.high) if self.op == "between" else (self.low,)
            found.append((sk[len(self.head)], self.op, ends))
        return found

    def admits(self, sk: KeyValue) -> bool:
        """Whether DynamoDB would return an item of this partition with this sort key."""
        whole = sk if isinstance(sk, tuple) else (sk,)
        at = len(self.head)
        if whole[:at] != self.head:
            return False
        return not self.op or satisfies(self.op, whole[at], self.low, self.high)

    def __str__(self) -> str:
        texts = [_text_of(self.pk), *map(_text_of, self.head)]
        match self.op:
            case "":
                pass
            case "=":
                texts.append(_text_of(self.low))
            case "begins_with":
                texts.append(f"{_text_of(self.low)}*")
            case "between":
                texts.append(f"{_text_of(self.low)} … {_text_of(self.high)}")
            case op:
                texts.append(f"{op} {_text_of(self.low)}")
        return " / ".join(texts)


def satisfies(op: Op, value: Any, low: Any, high: Any) -> bool:
    """Whether a value of a key attribute satisfies a comparison."""
    match op:
        case "=":
            return bool(value == low)
        case "<":
            return bool(value < low)
        case "<=":
            return bool(value <= low)
        case ">":
            return bool(value > low)
        case ">=":
            return bool(value >= low)
        case "begins_with":
            return bool(value.startswith(low))
        case _:
            return bool(low <= value <= high)


def _text_of(value: KeyValue) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_text_of, value))
    if isinstance(value, bytes):
        return value.hex()
    return shortened(value) if isinstance(value, str) else str(value)


class Bounds(msgspec.Struct, frozen=True):
    """The values of a range over one attribute, as the caller gave them.

    >>> Bounds.of("between", ("a", "c"))
    Bounds(low='a', high='c', low_open=False, high_open=False, beginning=False)
    """

    low: object = None
    high: object = None
    low_open: bool = False
    high_open: bool = False
    beginning: bool = False
    """`low` is a prefix of the attribute, and there is no `high`."""

    @classmethod
    def of(cls, op: str, value: object) -> Bounds:
        """Bounds from an operator and its value. `between` takes a pair and includes both ends."""
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


RangeCondition = Callable[[Mapping[str, object], Bounds, KeyValue], "KeyCondition | None"]
"""From values, bounds and partition to the condition. None if no key can match."""


def range_condition(
    template: Template, count: int, values: Mapping[str, object], bounds: Bounds, pk: KeyValue
) -> KeyCondition | None:
    """The condition for keys with these first values and the next field within bounds. None if no key can match.

    >>> from prejoin.types import STRING
    >>> order = Template.of("ORDER#{day}#{id}", {"day": STRING, "id": STRING})
    >>> str(range_condition(order, 1, {}, Bounds.of(">=", "2026-05-04"), "USER#1"))
    'USER#1 / ORDER#2026-05-04 … ORDER$'
    >>> str(range_condition(order, 1, {}, Bounds.of("between", ("2026-05-04", "2026-05-06")), "USER#1"))
    'USER#1 / ORDER#2026-05-04 … ORDER#2026-05-06$'
    """
    return compile_range(template, count)(values, bounds, pk)


def compile_range(template: Template, count: int, others: Sequence[Template] = ()) -> RangeCondition:
    """The function that builds the condition of a range over one field, after the parts before it.

    `others` are keys with the same parts up to that field, which the condition finds, too. They may go on with another
    text, or end there: `AT#{at}` beside `AT#{at}#ORDER#{id}`.
    """
    place = template.parts[count]
    assert isinstance(place, KeyField)
    attribute, encoding, encode = place.attribute, place.encoding, place.encoding.encode
    lead = template.heading(count)
    following = [next(iter(one.parts[count + 1 :]), None) for one in (template, *others)]
    stops = [part.text[0] if isinstance(part, KeyText) else "" for part in following]
    stop = max(stops)
    ends = "" in stops
    after = "\x00" if template.raw and not stop else _next(stop or template.separator.char)
    runs_on = any(isinstance(part, KeyField) for part in following)  # only if this one has a fixed width
    # A missing value is in no range. It lies before all others or, with `desc`, after them.
    above_missing = after if encoding.missing == "" else None
    below_missing = _before(encoding.missing) if encoding.missing else None

    def condition(values: Mapping[str, object], bounds: Bounds, pk: KeyValue) -> KeyCondition | None:
        fence = lead(values)

        def key(value: object) -> str:
            try:
                return f"{fence}{encode(value)}"
            except KeyValueError as error:
                raise KeyValueError(f"{attribute}: {error}") from None

        if bounds.beginning:
            if encoding.missing is None or bounds.low:
                start = key(bounds.low)
                return KeyCondition(pk, "begins_with", _sized(start)) if start else KeyCondition(pk)
            bounds = Bounds(low=bounds.low)
        if encoding.descending:
            bounds = Bounds(bounds.high, bounds.low, bounds.high_open, bounds.low_open)
        low = high = None
        if bounds.low is not None:
            low = key(bounds.low)
            if bounds.low_open:
                low = low[:-1] + _next(low[-1]) if runs_on else low + after
        elif above_missing is not None:
            low = fence + above_missing
        if bounds.high is not None:
            high = key(bounds.high)
            if bounds.high_open and ends:
                high = just_below(fence, high, fixed=encoding.width is not None and not runs_on and not stop)
                if high is None:
                    return None
            elif runs_on:
                high = _filled(high)
            elif not bounds.high_open and stop:
                high += _next(stop)
        elif below_missing is not None:
            high = fence + below_missing
        return span_condition(pk, low, high, fence, template)

    return condition


def span_condition(
    pk: KeyValue, low: str | None, high: str | None, fence: str, template: Template
) -> KeyCondition | None:
    """From one key to another, both included. None means up to the edge of the prefix `fence`."""
    if fence:
        low = fence if low is None else low
        high = after_prefix(fence, template) if high is None else high
    if high == "":
        return None
    low = low or None  # no key is empty, so "" starts at the beginning
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
    """A text above all keys with this prefix, and below all other keys above them."""
    if prefix.endswith(template.separator.char) and not template.raw:
        # "ORDER$" for "ORDER#": never a key itself, because no template or value ends with a bare escape character.
        return prefix[:-1] + _next(prefix[-1])
    return _filled(prefix)


def just_below(fence: str, key: str, fixed: bool) -> str | None:
    """The greatest key below this one. DynamoDB's BETWEEN includes its ends, so `<` has to move one down.

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


def _before(char: str) -> str:
    return chr(ord(char) - 1)


def _next(char: str) -> str:
    return chr(ord(char) + 1)


def _filled(prefix: str) -> str:
    """The prefix, filled with the greatest characters up to the maximum length of a sort key."""
    room = MOST_SK_BYTES - len(prefix.encode())
    return prefix + TOP * (room // 4) + ("", "\x7f", "\u07ff", "\uffff")[room % 4] if room > 0 else prefix


def _sized(sk: str) -> str:
    return check_size(sk, "sort key", MOST_SK_BYTES)


def check_size(key: str, label: str, most: int) -> str:
    """Return the key, or raise KeyValueError if DynamoDB does not accept it."""
    if not key:
        raise KeyValueError(f"the {label} would be empty, and DynamoDB does not accept empty keys")
    if len(key) * 4 > most and len(key.encode()) > most:
        raise KeyValueError(f"the {label} {shortened(key)!r} would be longer than {most} bytes")
    return key


def checked_writer(write: Writer, label: str, most: int) -> Writer:
    """The function that writes a key and refuses what DynamoDB does not accept."""
    safe = most // 4  # this many characters never exceed the limit in bytes

    def check(values: Mapping[str, object]) -> str:
        key = write(values)
        return key if 0 < len(key) <= safe else check_size(key, label, most)

    return check


def shortened(key: str) -> str:
    """A key for display, without the filling that means "to the end"."""
    bare = key.rstrip("\x7f\u07ff\uffff" + TOP)
    return key if bare == key else bare + "…"
