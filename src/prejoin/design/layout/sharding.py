"""Hot partitions: the load on the busiest partition of a key, and the shards or time buckets that it needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from prejoin.design.cost.assumptions import (
    BUCKET_SECONDS,
    count_by,
    count_of,
    grows,
    peak,
    retention_of,
    size_of,
    values_of,
)
from prejoin.design.cost.heat import MOST_SHARDS, Load, is_common, write_share
from prejoin.design.cost.upkeep import entries, items_of, share_of, writes_of
from prejoin.design.counters import counters_of, is_spread
from prejoin.design.solver.candidates import Candidate, serves
from prejoin.design.solver.needs import ReadNeeds
from prejoin.protocol.limits import GB
from prejoin.protocol.prices import write_units
from prejoin.types import Kind
from prejoin.workload.lookup import bare_name, identified
from prejoin.workload.model import AtMost, Attribute, Entity, Op, Read, Spread, Without, Workload

MOST_BYTES = 10 * GB
"""A larger partition of an unbounded entity is split by time. It is the limit of a partition with a local index, and
about what DynamoDB keeps in one place.
"""
LARGE = GB
"""The size of all items of an entity from which their partition is split by time: long before it is too large."""
_STARTING = frozenset({Op.GT, Op.GE, Op.BETWEEN})


def expected_writes(workload: Workload, entity: Entity, candidate: Candidate, table: bool) -> Load:
    """The writes to a key before there is a design: each writes whole items, in the table or in an index.

    What a write does to several items is a transaction, which counts twice in the table.
    """
    found = Load(entity.name, "", "", 0.0, 0.0, 0.0)
    counters = counters_of(workload)
    for write, action in writes_of(workload, entity):
        if is_spread(counters, write, action, entity):
            continue  # it is written to shards, and not to the item
        calls = peak(write.rate) * items_of(workload, write, action, entity)
        together = table and (bool(write.atomic) or len(write.actions) > 1)
        units = calls * entries(candidate, write, action, entity) * write_units(size_of(entity), transactional=together)
        found = found.with_write(calls, units, write_share(workload, entity, candidate.pk, write))
    return found


def shards_of(
    workload: Workload, entity: Entity, candidate: Candidate, bucket: bool = False, table: bool = False
) -> int:
    """The number of shards of a partition: as decided, or as many as its writes and its size need.

    It is in the `table` or in an index. With a `bucket`, time cuts its size already. A partition of one
    item is not split: see `spread_by`. Neither is a key in the table without the id, which keeps a value unique.
    """
    pins = [d.pin for d in workload.decisions]
    if Without("shards", entity.name) in pins or spread_by(workload, entity, candidate) is None:
        return 1
    if table and not {a.name for a in entity.id}.issubset(candidate.attributes):
        return 1
    # DynamoDB itself splits a large partition by its sort keys, but not one that grows at one end.
    grows_at_end = is_common(entity, candidate.pk) and not bucket
    size = 0.0
    if grows_at_end:
        there = msgspec.structs.replace(candidate, pk=())  # optional attributes of the partition are counted already
        size = count_by(workload, entity, candidate.pk) * share_of(workload, entity, there) * size_of(entity)
    writes = 1 if candidate.whole else expected_writes(workload, entity, candidate, table).shards
    enough = max(writes, min(MOST_SHARDS, math.ceil(size / MOST_BYTES)))
    decided = [pin.shards for pin in pins if isinstance(pin, Spread) and pin.entity == entity.name and pin.shards]
    most = [pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == "shards"]
    if decided and (enough > 1 or is_common(entity, candidate.pk)):
        return decided[0]
    return min([enough, *(max(1, count) for count in most)])


def spread_by(workload: Workload, entity: Entity, candidate: Candidate) -> str | None:
    """The attribute whose values spread the items of a partition over shards; None if there is one item.

    It is the part of the id that differs most within the partition. A part of the partition itself spreads nothing, and
    a time spreads badly: whatever is written at one moment would go to one shard.
    """

    def spreads(attribute: Attribute) -> tuple[bool, bool, float]:
        is_time = attribute.type.kind in (Kind.DATE, Kind.DATETIME)
        return not is_time, not attribute.references, values_of(workload, entity, attribute.name)

    if identified(entity, candidate.pk):
        return None
    free = [a for a in entity.id if a.name not in candidate.pk]
    best = max(free, key=spreads, default=None)
    return best.name if best else None


def bucket_of(
    workload: Workload, entity: Entity, candidate: Candidate, questions: Sequence[ReadNeeds]
) -> tuple[str, str] | None:
    """The time attribute and unit that split a partition, if every read of it gives a start time.

    That applies to a partition of all items, unless they are declared to be few; to a smaller one if it is decided, or
    if it outgrows a partition.
    """
    pins = [d.pin for d in workload.decisions if isinstance(d.pin, Spread) and d.pin.entity == entity.name]
    decided = next((pin.bucket for pin in pins if pin.bucket), "") or (
        "" if pins else _outgrown(workload, entity, candidate)
    )
    if not decided and not _is_large(workload, entity):
        return None
    if not decided and (candidate.pk or candidate.sparse or pins):
        return None
    if any(d.pin in (AtMost("buckets", 0), Without("buckets", entity.name)) for d in workload.decisions):
        return None
    found = {starts_of(entity, question.read) for question in asked_of(entity, candidate, questions)}
    starts = found.pop() if len(found) == 1 else ()
    # The bucket of an item follows from its key only if the key holds the time.
    times = [name for name in starts if not candidate.pk or name in {one.attribute for one in candidate.sk}]
    return (times[0], decided or "day") if times else None


def _is_large(workload: Workload, entity: Entity) -> bool:
    """Whether all items of an entity are too many for one partition, or will be."""
    return grows(entity) or count_of(workload, entity) * size_of(entity) > LARGE


def _outgrown(workload: Workload, entity: Entity, candidate: Candidate) -> str:
    """The unit of time that keeps a partition of an unbounded entity below 10 GB; empty if it is."""
    if not candidate.pk or not grows(entity):
        return ""
    size = count_by(workload, entity, candidate.pk) * size_of(entity)
    if size <= MOST_BYTES:
        return ""
    units = ("year", "month", "day")
    return next((u for u in units if size * BUCKET_SECONDS[u] <= MOST_BYTES * retention_of(entity)), "hour")


def asked_of(entity: Entity, candidate: Candidate, questions: Sequence[ReadNeeds]) -> list[ReadNeeds]:
    """The reads that a key of an entity serves."""
    return [q for q in questions if any(n.entity == entity.name and serves(candidate, n) for n in q.needs)]


def starts_of(entity: Entity, read: Read) -> tuple[str, ...]:
    """The time attribute whose start a read gives; empty if it gives none."""
    for one in read.inputs:
        attribute = entity.attribute(bare_name(one.attribute))
        known = one.op in _STARTING and not one.filter and not one.optional
        if known and attribute and attribute.type.kind in (Kind.DATETIME, Kind.DATE):
            return (attribute.name,)
    return ()
