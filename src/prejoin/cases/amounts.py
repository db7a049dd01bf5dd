"""The bounds of numbers, and which amounts a write may take away, from the document alone.

The code asks `workload/bounds.py`. The proof finds by itself what must be refused, so that a mistake there is noticed.
"""

from __future__ import annotations

from typing import assert_never

from prejoin.workload.lookup import changes, touched_entities
from prejoin.workload.model import Attribute, Change, ChangeOp, Comparison, Op, Workload, Write

Bounds = tuple[int | None, int | None]


def has_bounds(attribute: Attribute) -> bool:
    """Whether writes uphold a least or a greatest value of an attribute. A time to live is no number to them."""
    return attribute.type.numeric and not attribute.ttl and (attribute.min is not None or attribute.max is not None)


def has_bounded_sum(workload: Workload, write: Write) -> bool:
    """Whether a write adds to a number that has bounds, or takes from one."""
    for action in write.actions:
        entity = workload.entity(action.entity)
        for change in changes(write, action, entity) if entity else ():
            attribute = entity.attribute(change.attribute) if entity else None
            if attribute is not None and change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT) and has_bounds(attribute):
                return True
    return False


def amount_bounds(workload: Workload, write: Write, name: str) -> Bounds:
    """The bounds of an input: those of the first attribute of its name that has some."""
    for entity in touched_entities(workload, write):
        attribute = entity.attribute(name)
        if attribute is not None and has_bounds(attribute):
            return attribute.bounds
    return None, None


def must_be_positive(workload: Workload, write: Write, change: Change) -> bool:
    """Whether an amount of 0 or less has to be refused: taking away a negative amount adds it.

    The document allows it where it says the least value: by bounds, or, of an input that is no attribute, by a
    condition.
    """
    name = change.value.param if change.value is not None else None
    if change.op is not ChangeOp.SUBTRACT or name is None:
        return False
    if amount_bounds(workload, write, name)[0] is not None:
        return False
    if any(entity.attribute(name) is not None for entity in touched_entities(workload, write)):
        return True
    for check in write.checks:
        if isinstance(check, Comparison) and not check.entity and check.attribute == name and _says_least(check):
            return False
    return True


def _says_least(check: Comparison) -> bool:
    """Whether a comparison says the least value of its input, as a constant."""
    match check.op:
        case Op.EQ | Op.GE | Op.GT | Op.BETWEEN:
            lower_values = check.values[:1]
        case Op.IN:
            lower_values = check.values
        case Op.NE | Op.LT | Op.LE | Op.BEGINS_WITH | Op.CONTAINS | Op.EXISTS | Op.NOT_EXISTS:
            return False
        case _:
            assert_never(check.op)
    return all(value.const is not None for value in lower_values)
