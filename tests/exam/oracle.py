"""What conditions and writes mean, over dictionaries. Written for the exams; it shares nothing with prejoin."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.exam.documents import Item


@dataclass(frozen=True, slots=True)
class Given:
    """The value of an input."""

    name: str


@dataclass(frozen=True, slots=True)
class Now:
    """The time of the call."""


@dataclass(frozen=True, slots=True)
class Other:
    """The value of another attribute of the same item."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on an item, or on one of its attributes. Without an attribute it is about the item as a whole."""

    attribute: str
    op: str
    values: tuple[Any, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is only about the item as a whole."""
        return not self.attribute


@dataclass(frozen=True, slots=True)
class Combined:
    """Conditions with `or` or `and` between them, or one after `not`."""

    word: str
    parts: tuple[Condition | Combined, ...]
    is_whole = False


Clause = Condition | Combined


def plain(clause: Clause) -> list[Condition]:
    """The conditions in a clause."""
    if isinstance(clause, Condition):
        return [clause]
    return [condition for part in clause.parts for condition in plain(part)]


_COMPARISONS: Mapping[str, Callable[..., bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "between": lambda value, low, high: low <= value <= high,
    "begins_with": lambda value, start: value.startswith(start),
    "contains": lambda value, part: part in value,
    "in": lambda value, *members: value in members,
}


def fulfils(item: Item | None, condition: Clause, arguments: Mapping[str, Any], now: Any) -> bool:
    """Whether an item, or None for an absent one, fulfils a condition.

    >>> fulfils({"stock": 5}, Condition("stock", ">=", (Given("least"),)), {"least": 5}, None)
    True
    >>> fulfils(None, Condition("stock", "<>", (5,)), {}, None), fulfils(None, Condition("stock", "=", (5,)), {}, None)
    (True, False)
    """
    if isinstance(condition, Combined):
        truths = [fulfils(item, part, arguments, now) for part in condition.parts]
        return {"or": any(truths), "and": all(truths), "not": not truths[0]}[condition.word]
    if not condition.attribute:
        return (item is not None) == (condition.op == "exists")
    value = (item or {}).get(condition.attribute)
    if condition.op in ("exists", "not exists"):
        return (value is not None) == (condition.op == "exists")
    compared = [_resolve(v, item or {}, arguments, now) for v in condition.values]
    if value is None or None in compared:
        return condition.op == "<>"
    return _COMPARISONS[condition.op](value, *compared)


def _resolve(value: Any, item: Item, arguments: Mapping[str, Any], now: Any) -> Any:
    if isinstance(value, Other):
        return item.get(value.attribute)
    if isinstance(value, Given):
        return arguments[value.name]
    return now if isinstance(value, Now) else value


def accepts(
    verb: str,
    stored: Item | None,
    new: Item | None,
    conditions: Sequence[Clause],
    arguments: Mapping[str, Any],
    now: Any,
) -> bool:
    """Whether a verb on an item is accepted. `check` is a condition on an item that the write does not change."""

    def all_hold(item: Item | None, of: Sequence[Clause]) -> bool:
        return all(fulfils(item, condition, arguments, now) for condition in of)

    is_new = any(condition.is_whole and plain(condition)[0].op == "not exists" for condition in conditions)
    if verb == "create" or (verb == "put" and is_new):
        about_the_new = [c for c in conditions if not c.is_whole]
        return stored is None and all_hold(new, about_the_new)
    if verb == "upsert" and stored is None:
        return all_hold(None, [c for c in conditions if c.is_whole])
    if verb == "update" and stored is None:
        return False
    return all_hold(stored, conditions)


def contradicts(verb: str, conditions: Sequence[Clause]) -> bool:
    """Whether no item can fulfil the conditions of a verb, so that `check` has to refuse the row.

    A condition with parts that are about the item as a whole says nothing of a new one.
    """
    if verb == "create" and any(one.is_whole for c in conditions if not c.is_whole for one in plain(c)):
        return True
    whole = {plain(condition)[0].op for condition in conditions if condition.is_whole}
    if verb in ("upsert", "check") and "not exists" in whole and len(conditions) > 1:
        return True  # there is no stored item to compare
    return (verb == "create" and "exists" in whole) or (verb in ("update", "delete") and "not exists" in whole)
