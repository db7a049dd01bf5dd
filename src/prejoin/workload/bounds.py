"""The bounds of numbers: which attributes have them, and what they say about the inputs of writes."""

from __future__ import annotations

from typing import Any, assert_never

from prejoin.workload.lookup import changes
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Entity,
    Op,
    Workload,
    Write,
)
from prejoin.workload.targets import input_checks


def is_bounded(attribute: Attribute) -> bool:
    """Whether an attribute has a least or a greatest value that writes uphold."""
    return attribute.type.numeric and not attribute.ttl and attribute.bounds != (None, None)


def input_attribute(workload: Workload, write: Write, name: str) -> Attribute | None:
    """The attribute that an input of a write is, of any entity of the row. One with bounds comes first."""
    names = dict.fromkeys((*write.entities, *(action.entity for action in write.actions)))
    entities = [entity for name in names if (entity := workload.entity(name))]
    attributes = [attribute for entity in entities if (attribute := entity.attribute(name))]
    return next(filter(is_bounded, attributes), next(iter(attributes), None))


def input_bounds(workload: Workload, write: Write, name: str) -> tuple[int | None, int | None]:
    """The bounds of an input, which are those of the attribute that it is."""
    attribute = input_attribute(workload, write, name)
    return attribute.bounds if attribute is not None and is_bounded(attribute) else (None, None)


def has_bounded_sum(write: Write, action: Action, entity: Entity) -> bool:
    """Whether an action adds to a number that has bounds, so that it is refused if the sum is beyond them."""
    added = [one for one in changes(write, action, entity) if one.op in (ChangeOp.ADD, ChangeOp.SUBTRACT)]
    attributes = [entity.attribute(change.attribute) for change in added]
    return any(attribute is not None and is_bounded(attribute) for attribute in attributes)


def must_be_positive(workload: Workload, write: Write, change: Change) -> bool:
    """Whether `-= n` is refused if n is 0 or less.

    It is, because taking away a negative amount adds it. The document may allow it: with bounds of the attribute that n
    is, or with a condition that gives n a least value. `n >= -5` allows negative amounts, and `n > 0` refuses them
    itself. `n <= 500` and `n <> 0` say nothing of the least value.
    """
    name = change.value.param if change.value and change.op is ChangeOp.SUBTRACT else None
    if name is None or input_bounds(workload, write, name)[0] is not None:
        return False
    if input_attribute(workload, write, name) is not None:
        return True
    facts = [check for check in input_checks(write) if isinstance(check, Comparison)]
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


def is_amount_allowed(workload: Workload, write: Write, name: str, value: Any) -> bool:
    """Whether an input may have a value, apart from conditions: by its bounds, and as the amount of `-= n`."""
    least, greatest = input_bounds(workload, write, name)
    if (least is not None and value < least) or (greatest is not None and value > greatest):
        return False
    subtracted = [
        change
        for action in write.actions
        for change in action.changes
        if change.value is not None and change.value.param == name
    ]
    return not any(must_be_positive(workload, write, change) and value <= 0 for change in subtracted)


def usual_amount(workload: Workload, write: Write, name: str) -> int:
    """A small amount that an input allows: 1, or the bound that is nearest to it."""
    least, greatest = input_bounds(workload, write, name)
    amount = 1 if least is None else max(1, least)
    return amount if greatest is None else min(amount, greatest)


def is_within(attribute: Attribute, value: Any) -> bool:
    """Whether a value is within the bounds of its attribute."""
    least, greatest = attribute.bounds
    return (least is None or value >= least) and (greatest is None or value <= greatest)


def room_for(attribute: Attribute, amount: Any) -> Any:
    """A value to which an amount can be added, so that both are within the bounds; None if there is none."""
    least, greatest = attribute.bounds
    # What is taken away must be there, and what is added must have room.
    starts = [] if least is None else [least - min(amount, 0)]
    starts += [] if greatest is None else [greatest - max(amount, 0)]
    fitting = [start for start in starts if is_within(attribute, start) and is_within(attribute, start + amount)]
    return type(amount)(fitting[0]) if fitting else None


def may_leave_bounds(workload: Workload, entity: Entity, attribute: Attribute) -> str:
    """The first write that may add to a number so that it leaves its bounds; empty if none may.

    A number that only grows cannot fall below its least value.
    """
    if not is_bounded(attribute):
        return ""
    for write in (*workload.writes, *workload.deletes):
        for action in write.actions:
            if action.entity != entity.name:
                continue
            for change in changes(write, action, entity):
                if change.attribute != attribute.name or change.op not in (ChangeOp.ADD, ChangeOp.SUBTRACT):
                    continue
                if attribute.max is not None or not _only_grows(workload, write, change):
                    return write.id
    return ""


def _only_grows(workload: Workload, write: Write, change: Change) -> bool:
    if change.op is ChangeOp.SUBTRACT:
        return False
    if change.value is None:
        return True
    if change.value.const is not None:
        return not change.value.const.startswith("-")
    least = input_bounds(workload, write, change.value.param or "")[0]
    return least is not None and least >= 0
