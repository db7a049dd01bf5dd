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
class Condition:
    """A condition on an item, or on one of its attributes. Without an attribute it is about the item as a whole."""

    attribute: str
    op: str
    values: tuple[Any, ...] = ()


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


def fulfils(item: Item | None, condition: Condition, arguments: Mapping[str, Any], now: Any) -> bool:
    """Whether an item, or None for an absent one, fulfils a condition.

    >>> fulfils({"stock": 5}, Condition("stock", ">=", (Given("least"),)), {"least": 5}, None)
    True
    >>> fulfils(None, Condition("stock", "<>", (5,)), {}, None), fulfils(None, Condition("stock", "=", (5,)), {}, None)
    (True, False)
    """
    if not condition.attribute:
        return (item is not None) == (condition.op == "exists")
    value = (item or {}).get(condition.attribute)
    if condition.op in ("exists", "not exists"):
        return (value is not None) == (condition.op == "exists")
    if value is None:
        return condition.op == "<>"
    return _COMPARISONS[condition.op](value, *(_resolve(v, arguments, now) for v in condition.values))


def _resolve(value: Any, arguments: Mapping[str, Any], now: Any) -> Any:
    if isinstance(value, Given):
        return arguments[value.name]
    return now if isinstance(value, Now) else value


def accepts(
    verb: str,
    stored: Item | None,
    new: Item | None,
    conditions: Sequence[Condition],
    arguments: Mapping[str, Any],
    now: Any,
) -> bool:
    """Whether a verb on an item is accepted. `check` is a condition on an item that the write does not change."""

    def all_hold(item: Item | None, of: Sequence[Condition]) -> bool:
        return all(fulfils(item, condition, arguments, now) for condition in of)

    is_new = any(condition.op == "not exists" and not condition.attribute for condition in conditions)
    if verb == "create" or (verb == "put" and is_new):
        about_the_new = [c for c in conditions if c.attribute]
        return stored is None and all_hold(new, about_the_new)
    if verb == "upsert" and stored is None:
        return all_hold(None, [c for c in conditions if not c.attribute])
    if verb == "update" and stored is None:
        return False
    return all_hold(stored, conditions)


def contradicts(verb: str, conditions: Sequence[Condition]) -> bool:
    """Whether no item can fulfil the conditions of a verb, so that `check` has to refuse the row."""
    whole = {condition.op for condition in conditions if not condition.attribute}
    if verb in ("upsert", "check") and "not exists" in whole and len(conditions) > 1:
        return True  # there is no stored item to compare
    return (verb == "create" and "exists" in whole) or (verb in ("update", "delete") and "not exists" in whole)
