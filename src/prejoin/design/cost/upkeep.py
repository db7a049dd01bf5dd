"""The entries that writes cause under a candidate key, and the estimated price of an index with it."""

from __future__ import annotations

import math

from prejoin.design.cost.assumptions import PRESENT, SEVERAL, count_of, per_second, several, size_of, values_of
from prejoin.design.solver.candidates import Candidate
from prejoin.protocol.prices import GB, MONTH_SECONDS, STORAGE_OVERHEAD, dollars, write_units
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Entity, Verb, Workload, Write


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
    stored = (size_of(entity) + STORAGE_OVERHEAD) * count_of(workload, entity)
    money = dollars(writes=units * MONTH_SECONDS, gb_months=stored / GB)
    return max(1, round(float(money) * 100 * share_of(workload, entity, candidate)))


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
