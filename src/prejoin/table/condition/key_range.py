"""A recorded condition as keys can test it: what is equal to a value, and one range."""

from __future__ import annotations

from typing import Any

from prejoin.keys import Bounds, Within
from prejoin.table.errors import TableError

from .record import Between, Compare, Condition, Function, conjuncts


def taken_apart(where: Condition, values: dict[str, Any]) -> tuple[Within | None, Bounds | None]:
    """Takes a condition apart: equalities go to `values`, what is left is a range over one attribute."""
    attribute = ""
    bounds: Bounds | None = None
    for condition in conjuncts(where):
        match condition:
            case Compare((str(name),), "=", value):
                if name in values:
                    raise TableError(f"{name} is given twice")
                values[name] = value
                continue
            case Compare((str(name),), "<" | "<=" | ">" | ">=" as op, value):
                new = Bounds.of(op, value)
            case Between((str(name),), low, high):
                new = Bounds(low, high)
            case Function("begins_with", (str(name),), value):
                new = Bounds.of("begins_with", value)
            case _:
                from .describe import worded  # for the message only

                raise TableError(f"no key can test {worded([condition])}; if what does not match is few, use filter=")
        if new.low is None and new.high is None:
            raise TableError(f"{name} is compared with None: a range has an end")
        if attribute not in ("", name):
            raise TableError(f"a query has a range over one attribute, not over {attribute} and {name}; use filter=")
        attribute, bounds = name, new if bounds is None else _both(name, bounds, new)
    if bounds is None:
        return None, None
    if attribute in values:
        raise TableError(f"{attribute} is given as a value and as a range")
    return Within(attribute, _op(bounds)), bounds


def _both(name: str, one: Bounds, other: Bounds) -> Bounds:
    low, high = (one, other) if one.high is None else (other, one)
    if low.beginning or high.beginning or low.low is None or low.high is not None or high.low is not None:
        raise TableError(f"the conditions on {name} are not one range, from one value to another")
    return Bounds(low.low, high.high, low.low_open, high.high_open)


def _op(bounds: Bounds) -> str:
    if bounds.beginning:
        return "begins_with"
    if bounds.low is not None and bounds.high is not None:
        return "between"
    if bounds.low is not None:
        return ">" if bounds.low_open else ">="
    return "<" if bounds.high_open else "<="
