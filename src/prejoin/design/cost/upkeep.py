"""The entries that writes cause under a candidate key, and the estimated price of an index with it."""

from __future__ import annotations

import math

from prejoin.design.cost.assumptions import SEVERAL, count_of, per_second, several, share_meeting, size_of
from prejoin.design.solver.candidates import Candidate
from prejoin.protocol.prices import GB, MONTH_SECONDS, STORAGE_OVERHEAD, dollars, write_units
from prejoin.workload.model import Entity, Workload
from prejoin.workload.program.resolved_write import Step, resolve_write


def index_cents(workload: Workload, entity: Entity, candidate: Candidate) -> int:
    """The cost of an entity's entries in an index: one write for each write of an item, two if the key changes."""
    size = size_of(entity)
    units = 0.0
    for step in steps_on(workload, entity):
        units += per_second(step.write.rate) * write_units(size) * entries(candidate, step) * items_of(step)
    stored_bytes = (size_of(entity) + STORAGE_OVERHEAD) * count_of(workload, entity)
    money = dollars(writes=units * MONTH_SECONDS, gb_months=stored_bytes / GB)
    return max(1, round(float(money) * 100 * share_of(workload, entity, candidate)))


def items_of(step: Step) -> int:
    """The number of items that one call writes."""
    return (several(step.workload, step.write, step.entity) or SEVERAL) if step.is_list else 1


def share_of(workload: Workload, entity: Entity, candidate: Candidate) -> float:
    """The fraction of items that have the key."""
    share = math.prod(share_meeting(workload, entity, name, (value,)) for name, value in candidate.when)
    for condition in candidate.only:
        share *= share_meeting(workload, entity, condition.attribute, condition.values or None, condition.absent)
    # An item without an attribute of the partition has no entry.
    attributes = filter(None, map(entity.attribute, candidate.pk))
    optional_names = {attribute.name for attribute in attributes if attribute.optional}
    return share * math.prod(share_meeting(workload, entity, name) for name in sorted(optional_names))


def entries(candidate: Candidate, step: Step) -> int:
    """The number of entries a step causes under this key: a changed key means a delete and a put."""
    is_moved = step.action.updates and not step.changed.isdisjoint({*candidate.attributes, *candidate.deciding})
    return 2 if is_moved else 1


def steps_on(workload: Workload, entity: Entity) -> list[Step]:
    """All steps of writes on items of an entity."""
    steps: list[Step] = []
    for write in workload.changing:
        steps += [step for step in resolve_write(workload, write).written_steps if step.entity is entity]
    return steps
