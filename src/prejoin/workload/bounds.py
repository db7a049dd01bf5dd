"""The bounds of numbers: which attributes have them, and what they say about the inputs of writes."""

from __future__ import annotations

from typing import Any, assert_never

from prejoin.workload.lookup import changes, touched_entities
from prejoin.workload.model import (
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Op,
    Workload,
    Write,
)
from prejoin.workload.program.resolved_write import Step, resolve_write


def is_bounded(attribute: Attribute) -> bool:
    """Whether an attribute has a least or a greatest value that writes uphold."""
    return attribute.type.numeric and not attribute.ttl and attribute.bounds != (None, None)


def input_attribute(workload: Workload, write: Write, name: str) -> Attribute | None:
    """The attribute that an input of a write is, of any entity of the row. One with bounds comes first."""
    attributes = [entity.attribute(name) for entity in touched_entities(workload, write)]
    same_named = list(filter(None, attributes))
    return next(filter(is_bounded, same_named), next(iter(same_named), None))


def input_bounds(workload: Workload, write: Write, name: str) -> tuple[int | None, int | None]:
    """The bounds of an input, which are those of the attribute that it is."""
    attribute = input_attribute(workload, write, name)
    return attribute.bounds if attribute is not None and is_bounded(attribute) else (None, None)


def has_bounded_sum(step: Step) -> bool:
    """Whether a step adds to a number that has bounds, so that it is refused if the sum is beyond them."""
    for change in step.changes:
        attribute = step.entity.attribute(change.attribute) if change.is_sum else None
        if attribute is not None and is_bounded(attribute):
            return True
    return False


def must_be_positive(workload: Workload, write: Write, change: Change) -> bool:
    """Whether `-= n` is refused if n is 0 or less.

    It is, because taking away a negative amount adds it. The document may allow it: with bounds of the attribute that n
    is, or with a condition that gives n a least value. `n >= -5` allows negative amounts, and `n > 0` refuses them
    itself. `n <= 500` and `n <> 0` say nothing of the least value.
    """
    # `stock -= n` with n = -5 would add to the stock, whatever `stock >= n` says.
    name = change.value.param if change.value and change.op is ChangeOp.SUBTRACT else None
    if name is None or input_bounds(workload, write, name)[0] is not None:
        return False
    if input_attribute(workload, write, name) is not None:
        return True
    facts = [check for check in resolve_write(workload, write).input_conditions if isinstance(check, Comparison)]
    return not any(check.attribute == name and _has_least_value(check) for check in facts)


def _has_least_value(check: Comparison) -> bool:
    """Whether a condition on an input gives it a least value that the document says: a constant.

    An input as the least value, `n >= low`, leaves it to the caller, who may give a negative one.
    """
    match check.op:
        case Op.GE | Op.GT | Op.EQ | Op.BETWEEN:
            return check.values[0].const is not None
        case Op.IN:
            return all(value.const is not None for value in check.values)
        case Op.NE | Op.LT | Op.LE | Op.BEGINS_WITH | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return False
        case _:
            assert_never(check.op)


def is_within(attribute: Attribute, value: Any) -> bool:
    """Whether a value is within the bounds of its attribute."""
    minimum, maximum = attribute.bounds
    return (minimum is None or value >= minimum) and (maximum is None or value <= maximum)


def may_leave_bounds(workload: Workload, entity: Entity, attribute: Attribute) -> str:
    """The first write that may add to a number so that it leaves its bounds; empty if none may.

    A number that only grows cannot fall below its least value.
    """
    if not is_bounded(attribute):
        return ""
    for write, action in workload.actions_on(entity.name):
        for change in changes(write, action, entity):
            is_sum = change.is_sum and change.attribute == attribute.name
            if is_sum and (attribute.max is not None or not _only_grows(workload, write, change)):
                return write.id
    return ""


def _only_grows(workload: Workload, write: Write, change: Change) -> bool:
    if change.op is ChangeOp.SUBTRACT:
        return False
    if change.value is None:
        return True
    if change.value.const is not None:
        return not change.value.const.startswith("-")
    minimum = input_bounds(workload, write, change.value.param or "")[0]
    return minimum is not None and minimum >= 0
