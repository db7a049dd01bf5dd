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
        pk_values = self.pk if isinstance(self.pk, tuple) else (self.pk,)
        equal = (*zip(pk, pk_values, strict=True), *zip(sk, self.head, strict=False))
        tests: list[tuple[str, Op, tuple[Scalar, ...]]] = []
        for name, value in equal:
            tests.append((name, "=", (value,)))
        if self.op:
            ends = (self.low, self.high) if self.op == "between" else (self.low,)
            tests.append((sk[len(self.head)], self.op, ends))
        return tests

    def admits(self, sk: KeyValue) -> bool:
        """Whether DynamoDB would return an item of this partition with this sort key."""
        values = sk if isinstance(sk, tuple) else (sk,)
        position = len(self.head)
        if values[:position] != self.head:
            return False
        return not self.op or satisfies(self.op, values[position], self.low, self.high)

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


def compile_range(template: Template, count: int, other_templates: Sequence[Template] = ()) -> RangeCondition:
    """The function that builds the condition of a range over one field, after the parts before it.

    `others` are keys with the same parts up to that field, which the condition finds, too. They may go on with another
    text, or end there: `AT#{at}` beside `AT#{at}#ORDER#{id}`.
    """
    form = RangeForm.of(template, count, other_templates)
    field = template.parts[count]
    assert isinstance(field, KeyField)
    attribute, encode = field.attribute, field.encoding.encode
    lead = template.heading(count)

    def condition(values: Mapping[str, object], bounds: Bounds, pk: KeyValue) -> KeyCondition | None:
        fence = lead(values)

        def key(value: object) -> str:
            try:
                return f"{fence}{encode(value)}"
            except KeyValueError as error:
                raise KeyValueError(f"{attribute}: {error}") from None

        return form.condition(pk, bounds, fence, key)

    return condition


class RangeForm(msgspec.Struct, frozen=True):
    """The common form of the conditions of all ranges over one field of a key.

    Its conditions are made of texts, so that the designer can make them of placeholders: the fence, which is the
    beginning of all keys of the range, and the keys of both bounds.
    """

    template: Template
    after: str
    """A character above the text that follows the field."""
    stop: str
    """The first character of the text that follows the field; empty if no key has one."""
    ends: bool
    """Whether a key may end with the field."""
    runs_on: bool
    """Whether another field follows at once, so that this one has a fixed width."""
    is_fixed: bool
    """Whether all values have the same width, and nothing follows."""
    descending: bool
    is_optional: bool
    above_missing: str | None
    """The text above a missing value, which is in no range and lies before all others."""
    below_missing: str | None
    """The text below a missing value, which lies after all others."""

    @classmethod
    def of(cls, template: Template, count: int, other_templates: Sequence[Template] = ()) -> RangeForm:
        field = template.parts[count]
        assert isinstance(field, KeyField)
        encoding = field.encoding
        following_parts = [next(iter(form.parts[count + 1 :]), None) for form in (template, *other_templates)]
        stops = [part.text[0] if isinstance(part, KeyText) else "" for part in following_parts]
        stop = max(stops)
        after = "\x00" if template.raw and not stop else _next(stop or template.separator.char)
        runs_on = any(isinstance(part, KeyField) for part in following_parts)
        return cls(
            template,
            after,
            stop,
            ends="" in stops,
            runs_on=runs_on,
            is_fixed=encoding.width is not None and not runs_on and not stop,
            descending=encoding.descending,
            is_optional=encoding.missing is not None,
            above_missing=after if encoding.missing == "" else None,
            below_missing=_before(encoding.missing) if encoding.missing else None,
        )

    def condition(self, pk: KeyValue, bounds: Bounds, fence: str, key: Callable[[object], str]) -> KeyCondition | None:
        """The condition for keys within bounds, given their fence and the key of a bound."""
        if bounds.beginning:
            if not self.is_optional or bounds.low:
                start = key(bounds.low)
                return KeyCondition(pk, "begins_with", _check_sort_key(start)) if start else KeyCondition(pk)
            bounds = Bounds(low=bounds.low)
        if self.descending:
            bounds = Bounds(bounds.high, bounds.low, bounds.high_open, bounds.low_open)
        low = self._low_key(bounds, fence, key)
        high = None
        if bounds.high is not None:
            high = key(bounds.high)
            if bounds.high_open and self.ends:
                high = just_below(fence, high, is_fixed=self.is_fixed)
                if high is None:
                    return None
            elif self.runs_on:
                high = _fill_up(high)
            elif not bounds.high_open and self.stop:
                high += _next(self.stop)
        elif self.below_missing is not None:
            high = fence + self.below_missing
        return span_condition(pk, low, high, fence, self.template)

    def _low_key(self, bounds: Bounds, fence: str, key: Callable[[object], str]) -> str | None:
        """The lowest key of a range; None if it starts at the fence."""
        if bounds.low is None:
            return None if self.above_missing is None else fence + self.above_missing
        low = key(bounds.low)
        if not bounds.low_open:
            return low
        # DynamoDB's BETWEEN includes its ends, so `>` moves above all keys with this value, whatever follows it.
        return low[:-1] + _next(low[-1]) if self.runs_on else low + self.after


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
        return KeyCondition(pk, "between", _check_sort_key(low), _check_sort_key(high))
    if low is not None:
        return KeyCondition(pk, ">=", _check_sort_key(low))
    if high is not None:
        return KeyCondition(pk, "<=", _check_sort_key(high))
    return KeyCondition(pk)


def after_prefix(prefix: str, template: Template) -> str:
    """A text above all keys with this prefix, and below all other keys above them."""
    if prefix.endswith(template.separator.char) and not template.raw:
        # "ORDER$" for "ORDER#": never a key itself, because no template or value ends with a bare escape character.
        return prefix[:-1] + _next(prefix[-1])
    return _fill_up(prefix)


def just_below(fence: str, key: str, is_fixed: bool) -> str | None:
    """The greatest key below this one. DynamoDB's BETWEEN includes its ends, so `<` has to move one down.

    >>> just_below("DAY#", "DAY#2026-05-04", is_fixed=True)
    'DAY#2026-05-03'
    """
    if key == fence:
        return None
    code_point = ord(key[-1])
    if code_point == 0:
        return key[:-1]
    smaller = key[:-1] + chr(0xD7FF if code_point == 0xE000 else code_point - 1)
    return smaller if is_fixed else _fill_up(smaller)


def _before(char: str) -> str:
    return chr(ord(char) - 1)


def _next(char: str) -> str:
    return chr(ord(char) + 1)


def _fill_up(prefix: str) -> str:
    """The prefix, filled with the greatest characters up to the maximum length of a sort key."""
    room = MOST_SK_BYTES - len(prefix.encode())
    return prefix + TOP * (room // 4) + ("", "\x7f", "\u07ff", "\uffff")[room % 4] if room > 0 else prefix


def _check_sort_key(sk: str) -> str:
    return check_size(sk, "sort key", MOST_SK_BYTES)


def check_size(key: str, label: str, limit: int) -> str:
    """Return the key, or raise KeyValueError if DynamoDB does not accept it."""
    if not key:
        raise KeyValueError(f"the {label} would be empty, and DynamoDB does not accept empty keys")
    if len(key) * 4 > limit and len(key.encode()) > limit:
        raise KeyValueError(f"the {label} {shortened(key)!r} would be longer than {limit} bytes")
    return key


def checked_writer(write: Writer, label: str, limit: int) -> Writer:
    """The function that writes a key and refuses what DynamoDB does not accept."""
    safe_length = limit // 4  # this many characters never exceed the limit in bytes

    def check(values: Mapping[str, object]) -> str:
        key = write(values)
        return key if 0 < len(key) <= safe_length else check_size(key, label, limit)

    return check


def shortened(key: str) -> str:
    """A key for display, without the filling that means "to the end"."""
    bare = key.rstrip("\x7f\u07ff\uffff" + TOP)
    return key if bare == key else bare + "…"
