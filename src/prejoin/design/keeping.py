"""What it costs to keep a key: units of every write that touches it, and storage, a month, in cents."""

from __future__ import annotations

from prejoin.design.assumed import count_of, per_second, size_of
from prejoin.design.candidates import Candidate
from prejoin.protocol.prices import STORAGE_OVERHEAD, dollars, write_units
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Entity, Verb, Workload, Write

_MONTH = 2_592_000
_GB = 1_000_000_000


def index_cents(workload: Workload, entity: Entity, candidate: Candidate) -> int:
    """An entity's entries in an index: each write of an item writes them again, a change of the key twice."""
    size = size_of(entity)
    units = sum(
        per_second(write.rate) * write_units(size) * _entries(candidate, write, action, entity)
        for write, action in writes_of(workload, entity)
    )
    return _cents(units, size * count_of(workload, entity))


def copy_cents(workload: Workload, entity: Entity) -> int:
    """A second item: written in one transaction with the first, so that both cost twice."""
    size = size_of(entity)
    units = 0.0
    for write, action in writes_of(workload, entity):
        more = 2 if write.atomic or len(write.actions) > 1 else 3
        units += per_second(write.rate) * write_units(size) * more * (2 if action.many else 1)
    return _cents(units, size * count_of(workload, entity))


def _entries(candidate: Candidate, write: Write, action: Action, entity: Entity) -> int:
    if action.verb is not Verb.UPDATE:
        return 1
    changed = {change.attribute for change in changes(write, action, entity)}
    return 2 if changed & {*candidate.attributes, *(name for name, _ in candidate.when)} else 1


def writes_of(workload: Workload, entity: Entity) -> list[tuple[Write, Action]]:
    """All that is done to items of an entity."""
    every = (*workload.writes, *workload.deletes)
    return [(write, action) for write in every for action in write.actions if action.entity == entity.name]


def _cents(units_per_second: float, stored: int) -> int:
    stored += STORAGE_OVERHEAD
    money = dollars(writes=units_per_second * _MONTH, gb_months=stored / _GB)
    return max(1, round(money * 100))
