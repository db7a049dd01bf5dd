"""Decide a bound condition over an item. What is not there makes a comparison false, never an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from prejoin.protocol.expressions.nodes import (
    And,
    Between,
    Call,
    Compare,
    Condition,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
)
from prejoin.protocol.expressions.paths import read
from prejoin.protocol.values import ORDERABLE, Item, Value, equal, kind, ordered, unbase64

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(condition: Condition, item: Item) -> bool:
    """Whether the item fulfils the condition; a missing item is an empty one.

    >>> evaluate(Compare("<", Path(("n",)), Literal({"N": "10"})), {"n": {"N": "9"}})
    True
    """
    match condition:
        case Compare(comparator, left, right):
            return _compare(comparator, _resolve(left, item), _resolve(right, item))
        case Call(function, arguments):
            return _predicate(function, arguments, item)
        case And(parts):
            return all(evaluate(part, item) for part in parts)
        case Or(parts):
            return any(evaluate(part, item) for part in parts)
        case Not(part):
            return not evaluate(part, item)
        case Between(operand, low, high):
            value = _resolve(operand, item)
            return _compare(">=", value, _resolve(low, item)) and _compare("<=", value, _resolve(high, item))
        case In(operand, options):
            value = _resolve(operand, item)
            return any(_compare("=", value, _resolve(option, item)) for option in options)


def _resolve(operand: Operand, item: Item) -> Value | None:
    match operand:
        case Path(steps):
            return read(item, steps)
        case Literal(value):
            return value
        case Call("size", arguments):
            size = _size(_resolve(arguments[0], item))
            return None if size is None else {"N": str(size)}
    raise AssertionError(operand)


def _compare(comparator: str, left: Value | None, right: Value | None) -> bool:
    if comparator == "<>":
        # True also where one side does not exist: it is not equal to anything.
        return left is None or right is None or not equal(left, right)
    if left is None or right is None:
        return False
    if comparator == "=":
        return equal(left, right)
    name = kind(left)
    if name != kind(right) or name not in ORDERABLE:
        return False
    return _ORDER[comparator](ordered(left), ordered(right))


def _predicate(function: str, arguments: tuple[Operand, ...], item: Item) -> bool:
    value = _resolve(arguments[0], item)
    if function == "attribute_exists":
        return value is not None
    if function == "attribute_not_exists":
        return value is None
    operand = _resolve(arguments[1], item)
    if value is None or operand is None:
        return False
    if function == "attribute_type":
        return bool(kind(value) == operand["S"])
    if function == "begins_with":
        return _begins_with(value, operand)
    return _contains(value, operand)


def _begins_with(value: Value, prefix: Value) -> bool:
    if "S" in value and "S" in prefix:
        return value["S"].startswith(prefix["S"])  # type: ignore[no-any-return]
    if "B" in value and "B" in prefix:
        return unbase64(value["B"]).startswith(unbase64(prefix["B"]))
    return False


def _contains(value: Value, sought: Value) -> bool:
    name = kind(value)
    if name == "L":
        return any(equal(member, sought) for member in value["L"])
    other = kind(sought)
    if name == "S" and other == "S":
        return sought["S"] in value["S"]
    if name == "B" and other == "B":
        return unbase64(sought["B"]) in unbase64(value["B"])
    if name in ("SS", "NS", "BS") and name[0] == other:
        return sought[other] in value[name]
    return False


def _size(value: Value | None) -> int | None:
    if value is None:
        return None
    name = kind(value)
    if name in ("N", "BOOL", "NULL"):
        return None
    return len(unbase64(value["B"])) if name == "B" else len(value[name])
