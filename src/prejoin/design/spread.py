"""Hot partitions: how much is written to one partition of a key, and what it is cut into so that it bears that."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from prejoin.design.assumed import per_second, size_of
from prejoin.design.candidates import Candidate, serves
from prejoin.design.keeping import entries, items_of, writes_of
from prejoin.design.needs import Question
from prejoin.protocol.prices import write_units
from prejoin.types import Kind
from prejoin.workload.model import AtMost, Entity, Op, Rate, Spread, Without, Workload

MOST_WRITES = 1000
"""Write units a second that one partition bears; DynamoDB's limit."""
MOST_SHARDS = 200
_STARTING = frozenset({Op.GT, Op.GE, Op.BETWEEN})


class Heat(msgspec.Struct, frozen=True):
    """What is written to the busiest partition of a key, a second, and how that comes about."""

    writes: float
    units: float
    """Write units, of all items of the entity."""
    share: float
    """The part of them that falls on the busiest partition."""

    @property
    def hottest(self) -> float:
        return self.units * self.share

    @property
    def shards(self) -> int:
        """How many are enough.

        >>> Heat(555, 4440, 1.0).shards
        5
        """
        return min(MOST_SHARDS, max(1, math.ceil(self.hottest / MOST_WRITES)))


def heat(workload: Workload, entity: Entity, candidate: Candidate) -> Heat:
    """How hot a key is: busiest rates, the size of the items, and how many partitions share the writes."""
    writes = units = 0.0
    hottest = 0.0
    for write, action in writes_of(workload, entity):
        rate = _busiest(write.rate) * items_of(workload, write, action, entity)
        times = entries(candidate, write, action, entity)
        writes += rate
        units += rate * times * write_units(size_of(entity))
        if write.rate and write.rate.hottest:
            hottest = max(hottest, write.rate.hottest / 100)
    return Heat(writes, units, max(hottest, _share(entity, candidate)))


def shards_of(workload: Workload, entity: Entity, candidate: Candidate) -> int:
    """How many shards a partition is cut into: as many as somebody decided, else as are enough."""
    pins = [d.pin for d in workload.decisions]
    if Without("shards", entity.name) in pins:
        return 1
    enough = heat(workload, entity, candidate).shards
    decided = [pin.shards for pin in pins if isinstance(pin, Spread) and pin.entity == entity.name and pin.shards]
    most = [pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == "shards"]
    if decided and (enough > 1 or not candidate.pk):
        return decided[0]
    return min([enough, *(max(1, count) for count in most)])


def _busiest(rate: Rate | None) -> float:
    return rate.peak if rate and rate.peak is not None else per_second(rate)


def _share(entity: Entity, candidate: Candidate) -> float:
    """What of the writes the busiest partition gets: everything, or one member of an enum's part, or nearly nothing."""
    if not candidate.pk:
        return 1.0
    share = 1.0
    for name in candidate.pk:
        attribute = entity.attribute(name)
        members = len(attribute.type.values) if attribute else 0
        if not members:
            return 0.0  # one of many: ids, e-mails
        share = 1.0  # new items all have the same status
    return share


def bucket_of(
    workload: Workload, entity: Entity, candidate: Candidate, questions: Sequence[Question]
) -> tuple[str, str] | None:
    """The time that a partition of everything is cut by, if all that is asked of it says from when on."""
    pin = next((d.pin for d in workload.decisions if isinstance(d.pin, Spread) and d.pin.entity == entity.name), None)
    if candidate.pk or candidate.when or (pin and pin.shards):
        return None
    if any(d.pin in (AtMost("buckets", 0), Without("buckets", entity.name)) for d in workload.decisions):
        return None
    found = set()
    for question in questions:
        if any(need.entity == entity.name and serves(candidate, need) for need in question.needs):
            starts = [
                i.attribute for i in question.read.inputs if i.op in _STARTING and not i.filter and not i.optional
            ]
            found.add(starts[0].rpartition(".")[2] if starts else "")
    if len(found) != 1:
        return None
    attribute = entity.attribute(found.pop())
    if attribute is None or attribute.type.kind not in (Kind.DATETIME, Kind.DATE):
        return None
    return attribute.name, (pin.bucket if pin and pin.bucket else "day")
