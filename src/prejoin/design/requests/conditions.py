"""Conditions as expressions: comparisons, hidden items, and the bounds of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from prejoin.design.model import ItemChange
from prejoin.design.requests.placeholders import (
    ConstantSource,
    InputSource,
    Placeholders,
    RoomSource,
    Source,
    TimeSource,
)
from prejoin.protocol.expressions.nodes import And, Between, Compare, Condition, FunctionCall, In, Not, Operand
from prejoin.protocol.expressions.text import all_of, any_of, either
from prejoin.workload.model import (
    Absence,
    AllOf,
    AnyOf,
    ChangeOp,
    Comparison,
    Negation,
    Op,
    Presence,
    Test,
    Value,
)
from prejoin.workload.program.resolved_write import is_range_of_inputs


def comparison(attribute: str, op: Op, values: Sequence[Value], to: Placeholders) -> Condition:
    path = to.path(attribute)
    if op is Op.CONTAINS:
        to = to.of_elements()
    operands = [operand_of(value, attribute, to) for value in values]
    match op:
        case Op.EXISTS:
            return FunctionCall("attribute_exists", (path,))
        case Op.NOT_EXISTS:
            return FunctionCall("attribute_not_exists", (path,))
        case Op.BEGINS_WITH | Op.CONTAINS:
            return FunctionCall(op.value, (path, operands[0]))
        case Op.IN:
            return In(path, tuple(operands))
        case Op.BETWEEN:
            return Between(path, operands[0], operands[1])
        case Op.EQ | Op.NE | Op.LT | Op.LE | Op.GT | Op.GE:
            return Compare(op.value, path, operands[0])
        case _:
            assert_never(op)


def operand_of(value: Value, attribute: str, to: Placeholders) -> Operand:
    if value.attribute is not None:
        return to.path(value.attribute)
    return to.value(source_of(value, attribute, to), value_name(value, attribute))


def source_of(value: Value, attribute: str, to: Placeholders, is_negative: bool = False) -> Source:
    if value.now is not None:
        return TimeSource(value.now, to.time_form(attribute))
    if value.param is not None:
        return InputSource(value.param, is_negative, to.is_moment_in_seconds(attribute))
    constant = to.constant(value.const or "", attribute)
    if not is_negative:
        return constant
    return replace(constant, text=_negate(constant.text))


def _negate(number: str) -> str:
    return number.removeprefix("-") if number.startswith("-") else f"-{number}"


def value_name(value: Value, attribute: str) -> str:
    """A readable name of a placeholder: that of the input, the constant, or the attribute."""
    if value.now is not None:
        return "now"
    if value.param is not None:
        return value.param
    if value.const and re.fullmatch(r"[A-Za-z]\w{0,30}", value.const, re.ASCII):
        return value.const
    return attribute.rpartition(".")[2]


def condition_of(test: Test, partition_key: str, to: Placeholders) -> Condition:
    """A test of an item as a condition. The item is there if its partition key is."""
    match test:
        case Presence():
            return FunctionCall("attribute_exists", (to.path(test.attribute or partition_key),))
        case Absence():
            return FunctionCall("attribute_not_exists", (to.path(test.attribute or partition_key),))
        case Comparison() if is_range_of_inputs(test):
            # DynamoDB refuses a BETWEEN whose ends are the wrong way round.
            low, high = test.values
            from_low = comparison(test.attribute, Op.GE, (low,), to)
            return And((from_low, comparison(test.attribute, Op.LE, (high,), to)))
        case Comparison():
            return comparison(test.attribute, test.op, test.values, to)
        case AnyOf():
            return any_of([condition_of(part, partition_key, to) for part in test.parts])
        case AllOf():
            all_parts = all_of([condition_of(part, partition_key, to) for part in test.parts])
            assert all_parts is not None  # a condition has parts
            return all_parts
        case Negation():
            return Not(condition_of(test.part, partition_key, to))
        case _:
            assert_never(test)


def bound_conditions(
    change: ItemChange, value: Value, bounds: tuple[int | None, int | None], to: Placeholders
) -> Iterator[tuple[str, Condition]]:
    """The conditions on a number under which a change keeps it within its bounds, each with the case that it is for.

    The stored number is within them, so that what is added can only exceed the greatest value, and what is taken away
    can only go below the least: `stock - {quantity}` with the bounds 0 to 100 is refused unless `stock >= 0 + quantity`
    where `quantity > 0`, and unless `stock <= 100 + quantity` where `quantity < 0`. An empty case is each call.
    """
    if value.const is not None:
        amount = Decimal(value.const)
        if change.op is not ChangeOp.ADD:
            amount = -amount
        for condition in _bounds_of_constant(change, amount, bounds, to):
            yield "", condition
    elif value.param is not None:
        yield from _bounds_of_input(change, value.param, bounds, to)


def _bounds_of_constant(
    change: ItemChange, amount: Decimal, bounds: tuple[int | None, int | None], to: Placeholders
) -> Iterator[Condition]:
    """The conditions of a change by a constant: its sign says which bound it can reach."""
    lowest, highest = bounds
    name, path = change.attribute, to.path(change.attribute)
    tests: list[Condition] = []
    if highest is not None and amount > 0:
        tests.append(Compare("<=", path, to.value(ConstantSource(str(highest - amount), "N"), f"most_{name}")))
    if lowest is not None and amount < 0:
        tests.append(Compare(">=", path, to.value(ConstantSource(str(lowest - amount), "N"), f"least_{name}")))
    if not change.is_from_zero:
        yield from tests
        return
    # An absent number becomes the amount.
    is_beyond = (lowest is not None and amount < lowest) or (highest is not None and amount > highest)
    if is_beyond:
        yield from tests or [FunctionCall("attribute_exists", (path,))]
        return
    for test in tests:
        yield either(FunctionCall("attribute_not_exists", (path,)), test)


def _bounds_of_input(
    change: ItemChange, parameter: str, bounds: tuple[int | None, int | None], to: Placeholders
) -> Iterator[tuple[str, Condition]]:
    """The conditions of a change by an input.

    Whether the amount is positive, and whether an absent number may become it, is known at the call.
    """
    lowest, highest = bounds
    is_added = change.op is ChangeOp.ADD
    sign, rising, falling = ("-", ">", "<") if is_added else ("+", "<", ">")
    name, path = change.attribute, to.path(change.attribute)
    if highest is not None:
        test = Compare("<=", path, to.value(RoomSource(highest, sign, parameter), f"most_{name}"))
        yield from _in_cases(f"{parameter} {rising} 0", test, change, to)
    if lowest is not None:
        test = Compare(">=", path, to.value(RoomSource(lowest, sign, parameter), f"least_{name}"))
        yield from _in_cases(f"{parameter} {falling} 0", test, change, to)


def _in_cases(case: str, test: Condition, change: ItemChange, to: Placeholders) -> Iterator[tuple[str, Condition]]:
    if not change.is_from_zero:
        yield case, test
        return
    absent = FunctionCall("attribute_not_exists", (to.path(change.attribute),))
    yield f"{case}, and {change.attribute} may become the amount", either(absent, test)
    yield f"{case}, and the amount is beyond the bounds", test
