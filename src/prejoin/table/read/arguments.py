"""The arguments of a query, and what a key can test of them: equalities, a range, membership of sparse indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from prejoin.keys import Bounds, Order, When, Within
from prejoin.keys.template.encoding import plain
from prejoin.table.codec.codec import Codec
from prejoin.table.condition.describe import condition_text
from prejoin.table.condition.record import (
    Between,
    Compare,
    Condition,
    Exists,
    Function,
    In,
    Path,
    Recorder,
    Where,
    conjuncts,
    recorded,
)
from prejoin.table.errors import TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.schema import Schema

from .cursor import Cursors, Position, open_cursor


class QueryArguments(msgspec.Struct, frozen=True):
    """The arguments that `query`, `pages`, `count` and `collect` share."""

    where: Where[Any] | None
    equal: Mapping[str, Any]
    order: str | Iterable[str | Order] = ()
    reverse: bool = False
    limit: int | None = None
    after: str | None = None
    filter: Where[Any] | None = None
    consistent: bool = False
    now: datetime | None = None
    into: type | None = None
    cursors: Cursors | None = None
    """How the client writes cursors."""
    keep: bool = False
    """Whether unreadable items are returned beside the others, instead of raising."""
    hidden: bool = False
    """Whether to return items that reads hide, too."""

    @property
    def sorted_by(self) -> Iterable[str | Order]:
        return (self.order,) if isinstance(self.order, str) else self.order

    @property
    def start(self) -> Position | None:
        """The position to continue after."""
        return None if self.after is None else open_cursor(self.after, self.cursors, self.now)

    def after_page(self, cursor: str) -> QueryArguments:
        """Return the arguments of the next page."""
        return replace(self, after=cursor)

    def key_values(self, codec: Codec[Any]) -> KeyValues:
        """Return what a key can test: the equalities, by keyword or in `where`, and the rest of `where`."""
        condition = recorded(self.where, codec)
        return KeyValues(dict(self.equal)) if condition is None else key_values(condition, self.equal)

    def recorded_filter(self, codec: Codec[Any]) -> tuple[Condition | None, frozenset[str]]:
        """Return the filter, and the attributes that it tests."""
        test = self.filter
        if test is None:
            return None, frozenset()
        recorder = _AttributeRecorder(codec)
        return recorded(lambda _: test(recorder), codec), frozenset(recorder._seen)


class _AttributeRecorder(Recorder):
    """A recorder that also notes which attributes a condition uses."""

    def __init__(self, codec: Codec[Any]) -> None:
        super().__init__(codec)
        self._seen: set[str] = set()

    def __getattr__(self, name: str) -> Path:
        path = super().__getattr__(name)
        self._seen.add(name)
        return path


class KeyValues(msgspec.Struct, frozen=True):
    """The tests of a query that a key can do."""

    equal: dict[str, Any]
    within: Within | None = None
    bounds: Bounds | None = None
    only: frozenset[When] = frozenset()
    """Conditions that only the membership in a sparse index can meet."""

    def check_only(self, schema: Schema, entity: BoundEntity[Any]) -> None:
        """Refuse conditions on attributes that decide about no sparse index."""
        deciding = {when.attribute for facet in schema.facets if facet.entity == entity.tag for when in facet.when}
        for condition in self.only:
            if condition.attribute not in deciding:
                raise TableError(f"no key can test that {condition}. If it excludes few items, pass it as filter=")


def key_values(condition: Condition, equal: Mapping[str, Any]) -> KeyValues:
    """Split a condition: equalities, in addition to those given; a range over one attribute; and conditions that a
    sparse index may meet.
    """
    # DynamoDB's key condition: the partition key equals a value, and the sort key is in at most one range.
    values = dict(equal)
    only: set[When] = set()
    attribute = ""
    bounds: Bounds | None = None
    for conjunct in conjuncts(condition):
        match conjunct:
            case Compare((str(name),), "=", value):
                if name in values:
                    raise TableError(f"{name} is given twice")
                values[name] = value
            case Exists((str(name),), present):
                only.add(When(name, absent=not present))
            case In((str(name),), choices):
                only.add(When(name, frozenset(map(plain, choices))))
            case _:
                name, ends = _range_of(conjunct)
                if attribute not in ("", name):
                    raise TableError(
                        f"a query has a range over one attribute, not over {attribute} and {name}. Use filter="
                    )
                attribute, bounds = name, ends if bounds is None else _intersection(name, bounds, ends)
    if bounds is None:
        return KeyValues(values, only=frozenset(only))
    if attribute in values:
        raise TableError(f"{attribute} is given both as a value and as a range")
    return KeyValues(values, Within(attribute, _operator(bounds)), bounds, frozenset(only))


def _range_of(condition: Condition) -> tuple[str, Bounds]:
    """Return the attribute and the bounds of a condition that is a range; raise TableError for any other."""
    match condition:
        case Compare((str(name),), "<" | "<=" | ">" | ">=" as op, value):
            bounds = Bounds.of(op, value)
        case Between((str(name),), low, high):
            bounds = Bounds(low, high)
        case Function("begins_with", (str(name),), value):
            bounds = Bounds.of("begins_with", value)
        case _:
            raise TableError(
                f"no key can test {condition_text([condition])}. If it excludes few items, pass it as filter="
            )
    if bounds.low is None and bounds.high is None:
        raise TableError(f"{name} is compared with None. A range needs a value")
    return name, bounds


def _intersection(name: str, first: Bounds, second: Bounds) -> Bounds:
    low, high = (first, second) if first.high is None else (second, first)
    if low.beginning or high.beginning or low.low is None or low.high is not None or high.low is not None:
        raise TableError(f"the conditions on {name} are not one range, from one value to another")
    return Bounds(low.low, high.high, low.low_open, high.high_open)


def _operator(bounds: Bounds) -> str:
    if bounds.beginning:
        return "begins_with"
    if bounds.low is not None and bounds.high is not None:
        return "between"
    if bounds.low is not None:
        return ">" if bounds.low_open else ">="
    return "<" if bounds.high_open else "<="
