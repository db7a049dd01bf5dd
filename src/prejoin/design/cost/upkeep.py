"""The monthly cost of keeping a candidate key, in cents: the writes that touch it and its storage."""

from __future__ import annotations

import math
from collections.abc import Iterable

from prejoin.design.cost.assumptions import PRESENT, SEVERAL, count_of, per_second, several, size_of, values_of
from prejoin.design.solver.candidates import Candidate
from prejoin.design.solver.needs import given_by
from prejoin.protocol.prices import GB, MONTH_SECONDS, STORAGE_OVERHEAD, STRONG, dollars, read_units, write_units
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Change, ChangeOp, Entity, Rate, Verb, Workload, Write


def index_cents(workload: Workload, entity: Entity, candidate: Candidate) -> int:
    """The cost of an entity's entries in an index: one write for each write of an item, two if the key changes."""
    size = size_of(entity)
    units = sum(
        per_second(write.rate)
        * write_units(size)
        * entries(candidate, write, action, entity)
        * items_of(workload, write, action, entity)
        for write, action in writes_of(workload, entity)
    )
    return _cents(workload, entity, candidate, units, copy=False)


def copy_cents(workload: Workload, entity: Entity, candidate: Candidate) -> int:
    """The cost of a copy: a transaction doubles the units of both items, and a changed key moves the copy."""
    size = size_of(entity)
    units = 0.0
    for write, action in writes_of(workload, entity):
        more = 2 if write.atomic or len(write.actions) > 1 else 3
        moved = 2 * (entries(candidate, write, action, entity) - 1)
        times = items_of(workload, write, action, entity)
        units += per_second(write.rate) * write_units(size) * (more + moved) * times
    return _cents(workload, entity, candidate, units, copy=True)


def items_of(workload: Workload, write: Write, action: Action, entity: Entity) -> int:
    """The number of items of an entity that one call writes."""
    return (several(workload, write, entity) or SEVERAL) if action.many else 1


def share_of(workload: Workload, entity: Entity, candidate: Candidate) -> float:
    """The fraction of items that have the key."""
    share = math.prod(1 / values_of(workload, entity, name) for name, _ in candidate.when)
    for one in candidate.only:
        many = len(one.values) / values_of(workload, entity, one.attribute)
        share *= min(1.0, many) if one.values else PRESENT
    return share * PRESENT ** len(_optional(entity, candidate))


def find_cents(rate: Rate | None, entity: Entity) -> int:
    """The cost of a write's lookup of its item."""
    reads = per_second(rate) * read_units(size_of(entity))
    return max(1, round(dollars(reads=reads * MONTH_SECONDS) * 100))


def _unknowing(workload: Workload, entity: Entity, candidate: Candidate, copy: bool) -> float:
    """Read units a second of writes that have to read the item first."""
    return sum(
        per_second(write.rate) * read_units(size_of(entity), STRONG)
        for write, action in writes_of(workload, entity)
        if reads_first(workload, entity, candidate, write, action, copy)
    )


def reads_first(
    workload: Workload, entity: Entity, candidate: Candidate, write: Write, action: Action, copy: bool
) -> bool:
    """Whether a write has to read the item first, to rewrite a key in part or to address a copy."""
    changed = {change.attribute for change in changes(write, action, entity)}
    if action.verb is Verb.UPDATE and _leaves(candidate, changes(write, action, entity)):
        return False
    deciding = {*candidate.deciding, *_optional(entity, candidate)}
    everything = {*candidate.attributes, *deciding}
    if copy and action.verb is not Verb.CREATE:
        needed = everything
    elif not action.updates or not changed & everything:
        return False
    elif deciding:
        needed = everything - changed
    else:
        sides = (set(candidate.pk), {one.attribute for one in candidate.sk})
        needed = set().union(*(side for side in sides if side & changed)) - changed
    known = {name for one in write.inputs for name in given_by(workload, write, entity, one.attribute)} - (
        changed if copy else set()
    )
    return not needed <= known | {a.name for a in entity.id}


def _leaves(candidate: Candidate, changed: Iterable[Change]) -> bool:
    """Whether a change takes the item out of the key, so that nothing else has to be known."""
    absent = {one.attribute for one in candidate.only if one.absent}
    return any(change.attribute in absent and change.op is ChangeOp.SET for change in changed)


def _optional(entity: Entity, candidate: Candidate) -> set[str]:
    return {name for name in candidate.pk if (a := entity.attribute(name)) and a.optional}


def entries(candidate: Candidate, write: Write, action: Action, entity: Entity) -> int:
    """The number of entries a write causes under this key: a changed key means a delete and a put."""
    if not action.updates:
        return 1
    changed = {change.attribute for change in changes(write, action, entity)}
    return 2 if changed & {*candidate.attributes, *candidate.deciding} else 1


def writes_of(workload: Workload, entity: Entity) -> list[tuple[Write, Action]]:
    """All actions on items of an entity."""
    every = (*workload.writes, *workload.deletes)
    return [
        (write, action)
        for write in every
        for action in write.actions
        if action.entity == entity.name and action.verb is not Verb.EXPIRE
    ]


def _cents(workload: Workload, entity: Entity, candidate: Candidate, units_per_second: float, copy: bool) -> int:
    stored = (size_of(entity) + STORAGE_OVERHEAD) * count_of(workload, entity)
    money = dollars(
        reads=_unknowing(workload, entity, candidate, copy) * MONTH_SECONDS,
        writes=units_per_second * MONTH_SECONDS,
        gb_months=stored / GB,
    )
    return max(1, round(float(money) * 100 * share_of(workload, entity, candidate)))
