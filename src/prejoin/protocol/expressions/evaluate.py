"""Compile a condition into a function. A missing attribute makes a comparison false, never an error."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from prejoin.protocol.expressions.nodes import (
    And,
    Between,
    Compare,
    Condition,
    DocumentPath,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Placeholder,
    Values,
)
from prejoin.protocol.expressions.paths import read
from prejoin.protocol.values import ORDERABLE, Item, Value, equal, kind, ordered, unbase64

Test = Callable[[Item, Values], bool]
Get = Callable[[Item, Values], Value | None]

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compile_condition(condition: Condition) -> Test:
    """A function that decides whether an item satisfies the condition. A missing item counts as an empty one.

    >>> is_small = compile_condition(Compare("<", DocumentPath(("n",)), Placeholder(":ten")))
    >>> is_small({"n": {"N": "9"}}, {":ten": {"N": "10"}})
    True
    """
    match condition:
        case Compare(comparator, left, right):
            mine, theirs = _getter(left), _getter(right)
            return lambda item, values: _compare(comparator, mine(item, values), theirs(item, values))
        case FunctionCall(function, arguments):
            return _predicate(function, *map(_getter, arguments))
        case And(parts):
            return _all(tuple(map(compile_condition, parts)))
        case Or(parts):
            return _any(tuple(map(compile_condition, parts)))
        case Not(part):
            test = compile_condition(part)
            return lambda item, values: not test(item, values)
        case Between(operand, low, high):
            middle, least, most = _getter(operand), _getter(low), _getter(high)

            def between(item: Item, values: Values) -> bool:
                value = middle(item, values)
                return _compare(">=", value, least(item, values)) and _compare("<=", value, most(item, values))

            return between
        case In(operand, options):
            sought, among = _getter(operand), tuple(map(_getter, options))

            def is_in(item: Item, values: Values) -> bool:
                value = sought(item, values)
                return any(_compare("=", value, option(item, values)) for option in among)

            return is_in


def _all(tests: tuple[Test, ...]) -> Test:
    def test_all(item: Item, values: Values) -> bool:
        # Not all(): its generator would cost more than most tests.
        for test in tests:  # noqa: SIM110
            if not test(item, values):
                return False
        return True

    return test_all


def _any(tests: tuple[Test, ...]) -> Test:
    def test_any(item: Item, values: Values) -> bool:
        for test in tests:  # noqa: SIM110
            if test(item, values):
                return True
        return False

    return test_any


def _getter(operand: Operand) -> Get:
    match operand:
        case DocumentPath((str(name),)):
            return lambda item, values: item.get(name)
        case DocumentPath(steps):
            return lambda item, values: read(item, steps)
        case Placeholder(name):
            return lambda item, values: values[name]
        case FunctionCall("size", arguments):
            measured = _getter(arguments[0])
            return lambda item, values: _size(measured(item, values))
    raise AssertionError(operand)


def _compare(comparator: str, left: Value | None, right: Value | None) -> bool:
    if comparator == "<>":
        # Also true if one side does not exist: it is not equal to anything.
        return left is None or right is None or not equal(left, right)
    if left is None or right is None:
        return False
    if comparator == "=":
        return equal(left, right)
    name = kind(left)
    if name != kind(right) or name not in ORDERABLE:
        return False
    return _ORDER[comparator](ordered(left), ordered(right))


def _predicate(function: str, subject: Get, *others: Get) -> Test:
    if function == "attribute_exists":
        return lambda item, values: subject(item, values) is not None
    if function == "attribute_not_exists":
        return lambda item, values: subject(item, values) is None
    decide = {"attribute_type": _is_of_type, "begins_with": _begins_with, "contains": _contains}[function]
    (other,) = others

    def test(item: Item, values: Values) -> bool:
        value, operand = subject(item, values), other(item, values)
        return value is not None and operand is not None and decide(value, operand)

    return test


def _is_of_type(value: Value, name: Value) -> bool:
    return bool(kind(value) == name["S"])


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


def _size(value: Value | None) -> Value | None:
    if value is None:
        return None
    name = kind(value)
    if name in ("N", "BOOL", "NULL"):
        return None
    content = value[name]
    if name == "B":
        content = unbase64(content)
    elif name == "S" and not content.isascii():
        return {
            "N": str(len(content.encode("utf-16-le", "surrogatepass")) // 2)
        }  # the length in UTF-16 units, as Java counts
    return {"N": str(len(content))}
