"""Reads that cost too much to be served as they are, whatever keys the table has: `excess(read, workload)`.

The best key of a read finds the items by its required inputs and one range. What is left is a filter: optional inputs,
and comparisons that no key answers. A call then reads everything the key finds, or until its page is full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from prejoin.design.cost.assumptions import (
    KEY_SIZE,
    PRESENT,
    count_by,
    is_count_known,
    is_value_count_known,
    kept_by_all,
    share_within,
    size_of,
    span,
    value_sizes,
    values_of,
)
from prejoin.protocol.limits import PAGE_SIZE
from prejoin.protocol.prices import EVENTUAL, READ_UNIT_SIZE, STRONG, read_units
from prejoin.workload.lookup import bare_name, bindings, identified
from prejoin.workload.model import (
    RANGES,
    Accept,
    Combine,
    Entity,
    Input,
    Model,
    Op,
    Read,
    Result,
    Workload,
)

FACTOR = 20
"""A read is not served if it reads more than this many times the units of its result. `filter` accepts it."""
MARGIN = 10
"""The limits are this many times higher if the estimate rests on an assumption."""
ACCEPTING = frozenset({"filter", "scan", "several pages"})
"""The decisions that accept such a read: `AP-007 may filter`."""


_HELD = frozenset({Op.EXISTS, Op.NOT_EXISTS, Op.IN})


class Excess(Model, frozen=True):
    """An estimate of a call that reads too much."""

    size: int
    """Bytes that a call reads."""
    units: float
    returned: float
    """The read units of the result."""
    filters: tuple[str, ...] = ()
    """The attributes that are left to a filter."""
    count: bool = False


def excess(read: Read, workload: Workload, tested: Sequence[Input] = ()) -> Excess | None:
    """The estimate of a read that is not served as it is; None for a reasonable one.

    `tested` are inputs that could be answered by an index that holds only their items, and are left to a filter by the
    keys that there are.

    That is one that reads more than a page of 1 MB in a call (for each value of a list), or `FACTOR` times as much as
    it returns. A decision accepts both, a `filter` in the document the second, and a stated number of items the first
    if all are returned.
    """
    if any(
        isinstance(d.pin, Accept) and d.pin.pattern == read.id and d.pin.how in ACCEPTING for d in workload.decisions
    ):
        return None
    names = read.entities[:1] if read.combine is Combine.JOIN else read.entities
    entities = [e for e in map(workload.entity, names) if e]
    if (read.result is Result.ONE and not tested) or not entities:
        return None
    left = [*filters(read), *tested]
    found = size = 0.0
    assumed = any(i.keeps is None and not _known(workload, read, i) for i in left)
    for entity in entities:
        bound = {
            i: a
            for i in read.inputs
            if i not in left and (a := bindings(workload, names, i.attribute).get(entity.name))
        }
        given = [a for i, a in bound.items() if i.op is Op.EQ and i.keeps is None]
        ranges = [i for i in bound if i.op in RANGES]
        many = count_by(workload, entity, given) * math.prod(share_within(workload, entity, i) for i in ranges)
        many *= math.prod(_share(workload, entity, i, bound[i]) for i in bound if i.op in _HELD)
        many *= math.prod(i.keeps / 100 for i in bound if i.op is Op.EQ and i.keeps is not None)
        found, size = found + many, size + many * _entry_size(read, entity)
        assumed |= not is_count_known(workload, entity) or not all(
            is_value_count_known(workload, entity, name, given) for name in given
        )
        assumed |= any(i.keeps is None and span(i) is None for i in ranges)
        assumed |= any(i.op in (Op.EXISTS, Op.NOT_EXISTS) and i.keeps is None for i in bound)
    if not found or all(identified(e, _given(workload, names, e, read, left)) for e in entities):
        return None
    kept = kept_by_all(workload, read, left)
    limit = read.limit or read.page
    part = min(1.0, limit / kept / found) if limit else 1.0
    consistency = STRONG if read.is_consistent else EVENTUAL
    total = size * part
    if read.paginated and not limit:
        total = min(total, PAGE_SIZE)
    returned = read_units(round(min(total, size * part * kept)), consistency)
    units = math.ceil(total / READ_UNIT_SIZE) * consistency
    margin = MARGIN if assumed else 1
    counted = read.result is Result.COUNT
    beyond = total > PAGE_SIZE * margin and (bool(left) or not limit)
    wasteful = units > returned * FACTOR * margin and any(not i.filter for i in left) and not counted
    if not beyond and not wasteful:
        return None
    return Excess(round(total), units, returned, tuple(bare_name(i.attribute) for i in left), counted)


def filters(read: Read) -> list[Input]:
    """The inputs that no key answers: declared filters, optional inputs, and further ranges.

    An index can hold only the items with or without an attribute, or with one of several values, so these are none.
    """
    return [
        i
        for i in read.inputs
        if i.filter or i.optional or i.op in {Op.NE, Op.CONTAINS} or (i.op is Op.IN and not i.values)
    ]


def _given(workload: Workload, names: tuple[str, ...], entity: Entity, read: Read, left: list[Input]) -> list[str]:
    found = [
        bindings(workload, names, i.attribute).get(entity.name) for i in read.inputs if i.op is Op.EQ and i not in left
    ]
    return [name for name in found if name]


def _share(workload: Workload, entity: Entity, one: Input, name: str) -> float:
    """The fraction of items in an index that holds only those with or without an attribute, or with some values."""
    if one.keeps is not None:
        return one.keeps / 100
    if one.op is Op.IN:
        return min(1.0, len(one.values) / values_of(workload, entity, name))
    return PRESENT if one.op is Op.EXISTS else 1 - PRESENT


def _known(workload: Workload, read: Read, one: Input) -> bool:
    """Whether the part that passes an equality follows from the type of its attribute."""
    entity = workload.entity(read.entities[0])
    attribute = entity.attribute(bare_name(one.attribute)) if entity else None
    return one.op is Op.EQ and bool(attribute and attribute.type.values)


def _entry_size(read: Read, entity: Entity) -> int:
    """Bytes of an entry in the smallest index that would do: the keys, and the wanted attributes if they are named."""
    if not read.needs and read.result is not Result.COUNT:
        return size_of(entity)
    wanted = {bare_name(name) for name in (*read.needs, *(i.attribute for i in read.inputs))}
    return min(size_of(entity), KEY_SIZE + sum(len(n) + s for n, s in value_sizes(entity).items() if n in wanted))
