"""The reference answer: what a read should give, found by looking at every item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from prejoin.proof.constants import value_of
from prejoin.proof.data import Values
from prejoin.workload.lookup import bindings
from prejoin.workload.model import Direction, Entity, Input, Op, Read, Sort, Workload


def reference(
    read: Read, workload: Workload, items: Mapping[str, Sequence[Values]], given: Mapping[str, Any], now: datetime
) -> list[tuple[str, Values]]:
    """All items that answer a read, entity by entity; in the order asked for where one entity is asked for."""
    found: list[tuple[str, Values]] = []
    entities = read.entities[:1] if read.combine and read.combine.value == "Join" else read.entities
    for name in entities:
        entity = workload.entity(name)
        if entity is None:
            continue
        bound = {i: bindings(workload, entities, i.attribute).get(name) for i in read.inputs}
        matching = [
            v for v in items.get(name, ()) if all(_holds(i, bound[i], v, entity, given, now) for i in read.inputs)
        ]
        found += [(name, values) for values in _ordered(matching, read.sort, workload, entities, name)]
    return found


def _holds(
    one: Input, attribute: str | None, values: Values, entity: Entity, given: Mapping[str, Any], now: datetime
) -> bool:
    described = entity.attribute(attribute) if attribute else None
    if attribute is None or described is None:
        return True  # The entity has no such attribute: the input is about the others.
    present = attribute in values and values[attribute] is not None
    if one.op in {Op.EXISTS, Op.NOT_EXISTS}:
        return present is (one.op is Op.EXISTS)
    asked = [value_of(v, described, now) for v in one.values] or given.get(one.attribute)
    if asked is None:
        return one.optional
    if not present:
        return False
    return compare(
        one.op, values[attribute], asked if one.values or isinstance(asked, list | tuple) else [asked], one.many
    )


def compare(op: Op, value: Any, asked: Sequence[Any], many: bool = False) -> bool:
    """Whether a value is as asked.

    >>> compare(Op.BETWEEN, 3, (1, 5)), compare(Op.BEGINS_WITH, "Anna", ["An"])
    (True, True)
    """
    if many or op is Op.IN:
        return value in asked
    match op:
        case Op.EQ:
            return bool(value == asked[0])
        case Op.NE:
            return bool(value != asked[0])
        case Op.LT:
            return bool(value < asked[0])
        case Op.LE:
            return bool(value <= asked[0])
        case Op.GT:
            return bool(value > asked[0])
        case Op.GE:
            return bool(value >= asked[0])
        case Op.BETWEEN:
            return bool(asked[0] <= value <= asked[1])
        case Op.BEGINS_WITH:
            return str(value).startswith(str(asked[0]))
        case Op.CONTAINS:
            return asked[0] in value
        case _:
            raise AssertionError(op)


def _ordered(
    items: Iterable[Values], sort: Sequence[Sort], workload: Workload, entities: tuple[str, ...], entity: str
) -> list[Values]:
    found = list(items)
    for one in reversed(sort):
        name = bindings(workload, entities, one.attribute).get(entity)
        if name:
            found.sort(key=_by(name), reverse=one.direction is Direction.DESC)
    return found


def _by(name: str) -> Callable[[Values], Any]:
    """The order of an attribute; what lacks it comes last."""
    return lambda values: (values.get(name) is None, values.get(name))
