"""Conditions as expressions: comparisons, hidden items, and the bounds of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import assert_never

from prejoin.design.model import (
    ItemChange,
)
from prejoin.design.requests.placeholders import (
    ConstantSource,
    InputSource,
    Placeholders,
    RoomSource,
    Source,
    TimeSource,
)
from prejoin.protocol.expressions.nodes import (
    And,
    Between,
    Compare,
    Condition,
    FunctionCall,
    In,
    Not,
    Operand,
)
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
    found = to.constant(value.const or "", attribute)
    if not is_negative:
        return found
    return replace(found, text=found.text.removeprefix("-") if found.text.startswith("-") else f"-{found.text}")


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
            least, most = (comparison(test.attribute, op, (end,), to) for op, end in ((Op.GE, low), (Op.LE, high)))
            return And((least, most))
        case Comparison():
            return comparison(test.attribute, test.op, test.values, to)
        case AnyOf() | AllOf():
            parts = [condition_of(part, partition_key, to) for part in test.parts]
            whole = any_of(parts) if isinstance(test, AnyOf) else all_of(parts)
            assert whole is not None  # a condition has parts
            return whole
        case Negation():
            return Not(condition_of(test.part, partition_key, to))
        case _:
            assert_never(test)


def bound_conditions(
    change: ItemChange, value: Value, bounds: tuple[int | None, int | None], to: Placeholders
) -> Iterator[tuple[str, Condition]]:
    """The conditions on a number under which a change keeps it within its bounds.

    The stored number is within them, so that what is added can only exceed the greatest value, and what is taken away
    can only go below the least.
    """
    least, greatest = bounds
    name, path = change.attribute, to.path(change.attribute)
    absent = FunctionCall("attribute_not_exists", (path,))
    is_added = change.op is ChangeOp.ADD
    if value.const is not None:
        number = Decimal(value.const)
        amount = number if is_added else -number
        tests: list[Condition] = []
        if greatest is not None and amount > 0:
            tests.append(Compare("<=", path, to.value(ConstantSource(str(greatest - amount), "N"), f"most_{name}")))
        if least is not None and amount < 0:
            tests.append(Compare(">=", path, to.value(ConstantSource(str(least - amount), "N"), f"least_{name}")))
        is_beyond = (least is not None and amount < least) or (greatest is not None and amount > greatest)
        if change.is_from_zero and is_beyond:
            present: list[Condition] = [FunctionCall("attribute_exists", (path,))]
            yield from (("", test) for test in tests or present)
        else:
            for test in tests:
                yield "", either(absent, test) if change.is_from_zero else test
        return
    if value.param is None:
        return
    # Whether the amount is positive, and whether an absent number may become it, is known at the call.
    sign = "-" if is_added else "+"
    if greatest is not None:
        test = Compare("<=", path, to.value(RoomSource(greatest, sign, value.param), f"most_{name}"))
        case = f"{value.param} {'>' if is_added else '<'} 0"
        yield from _in_cases(case, test, absent, change)
    if least is not None:
        test = Compare(">=", path, to.value(RoomSource(least, sign, value.param), f"least_{name}"))
        case = f"{value.param} {'<' if is_added else '>'} 0"
        yield from _in_cases(case, test, absent, change)


def _in_cases(case: str, test: Condition, absent: Condition, change: ItemChange) -> Iterator[tuple[str, Condition]]:
    if not change.is_from_zero:
        yield case, test
        return
    yield f"{case}, and {change.attribute} may become the amount", either(absent, test)
    yield f"{case}, and the amount is beyond the bounds", test
