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
            get_first, get_second = _getter(left), _getter(right)
            return lambda item, values: _compare(comparator, get_first(item, values), get_second(item, values))
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
            get_value, get_low, get_high = _getter(operand), _getter(low), _getter(high)

            def between(item: Item, values: Values) -> bool:
                value = get_value(item, values)
                return _compare(">=", value, get_low(item, values)) and _compare("<=", value, get_high(item, values))

            return between
        case In(operand, options):
            get_operand, option_getters = _getter(operand), tuple(map(_getter, options))

            def is_in(item: Item, values: Values) -> bool:
                value = get_operand(item, values)
                return any(_compare("=", value, option(item, values)) for option in option_getters)

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
            get_subject = _getter(arguments[0])
            return lambda item, values: _size(get_subject(item, values))
    raise AssertionError(operand)


def _compare(comparator: str, first: Value | None, second: Value | None) -> bool:
    if comparator == "<>":
        # Also true if one side does not exist: it is not equal to anything.
        return first is None or second is None or not equal(first, second)
    if first is None or second is None:
        return False
    if comparator == "=":
        return equal(first, second)
    name = kind(first)
    if name != kind(second) or name not in ORDERABLE:
        return False
    return _ORDER[comparator](ordered(first), ordered(second))


def _predicate(function: str, subject: Get, *other_getters: Get) -> Test:
    if function == "attribute_exists":
        return lambda item, values: subject(item, values) is not None
    if function == "attribute_not_exists":
        return lambda item, values: subject(item, values) is None
    decide = {"attribute_type": _is_of_type, "begins_with": _begins_with, "contains": _contains}[function]
    (get_operand,) = other_getters

    def test(item: Item, values: Values) -> bool:
        value, operand = subject(item, values), get_operand(item, values)
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


def _contains(value: Value, sought_value: Value) -> bool:
    name = kind(value)
    if name == "L":
        return any(equal(member, sought_value) for member in value["L"])
    member_type = kind(sought_value)
    if name == "S" and member_type == "S":
        return sought_value["S"] in value["S"]
    if name == "B" and member_type == "B":
        return unbase64(sought_value["B"]) in unbase64(value["B"])
    if name in ("SS", "NS", "BS") and name[0] == member_type:
        return sought_value[member_type] in value[name]
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
