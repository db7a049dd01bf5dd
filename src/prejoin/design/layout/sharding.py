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
from prejoin.design.cost.upkeep import entries, items_of, share_of, steps_on
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
    load = Load(entity.name, "", "", 0.0, 0.0, 0.0)
    counters = counters_of(workload)
    for step in steps_on(workload, entity):
        if is_spread(counters, step):
            continue  # it is written to shards, and not to the item
        write = step.write
        calls = peak(write.rate) * items_of(step)
        is_transaction = table and (bool(write.atomic) or len(write.actions) > 1)
        units = calls * entries(candidate, step) * write_units(size_of(entity), transactional=is_transaction)
        load = load.with_write(calls, units, write_share(workload, entity, candidate.pk, write))
    return load


def shards_of(
    workload: Workload, entity: Entity, candidate: Candidate, bucket: bool = False, table: bool = False
) -> int:
    """The number of shards of a partition: as decided, or as many as its writes and its size need.

    It is in the `table` or in an index. With a `bucket`, time cuts its size already. A partition of one
    item is not split: see `spread_by`. Neither is a key in the table without the id, which keeps a value unique.
    """
    pins = [decision.pin for decision in workload.decisions]
    if Without("shards", entity.name) in pins or spread_by(workload, entity, candidate) is None:
        return 1
    if table and not {a.name for a in entity.id}.issubset(candidate.attributes):
        return 1
    writes = 1 if candidate.whole else expected_writes(workload, entity, candidate, table).shards
    sufficient = max(writes, _shards_by_size(workload, entity, candidate, bucket))
    decided_number = _decided_shards(workload, entity)
    if decided_number and (sufficient > 1 or is_common(entity, candidate.pk)):
        return decided_number
    limits = [pin.count for pin in pins if isinstance(pin, AtMost) and pin.what == "shards"]
    return min([sufficient, *(max(1, limit) for limit in limits)])


def _decided_shards(workload: Workload, entity: Entity) -> int:
    """The number of shards that a decision demands for an entity; 0 if none does."""
    for decision in workload.decisions:
        pin = decision.pin
        if isinstance(pin, Spread) and pin.entity == entity.name and pin.shards:
            return pin.shards
    return 0


def _shards_by_size(workload: Workload, entity: Entity, candidate: Candidate, bucket: bool) -> int:
    """The number of shards that the size of a partition needs.

    DynamoDB itself splits a large partition by its sort keys, but not one that grows at one end.
    """
    if bucket or not is_common(entity, candidate.pk):
        return 0
    # Optional attributes of the partition are counted already.
    without_pk = msgspec.structs.replace(candidate, pk=())
    count = count_by(workload, entity, candidate.pk) * share_of(workload, entity, without_pk)
    return min(MOST_SHARDS, math.ceil(count * size_of(entity) / MOST_BYTES))


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
    spread_pins = [d.pin for d in workload.decisions if isinstance(d.pin, Spread) and d.pin.entity == entity.name]
    unit = next((pin.bucket for pin in spread_pins if pin.bucket), "")
    if not spread_pins:
        unit = _needed_unit(workload, entity, candidate)
    holds_all_items = not (candidate.pk or candidate.sparse or spread_pins)
    if not unit and holds_all_items and _is_large(workload, entity):
        unit = "day"
    if not unit:
        return None
    if any(d.pin in (AtMost("buckets", 0), Without("buckets", entity.name)) for d in workload.decisions):
        return None
    time = _common_start(entity, candidate, questions)
    return (time, unit) if time else None


def _common_start(entity: Entity, candidate: Candidate, questions: Sequence[ReadNeeds]) -> str:
    """The time whose start every read of a key gives; empty if they give none, or different ones."""
    starts = {starts_of(entity, question.read) for question in questions_of(entity, candidate, questions)}
    if len(starts) != 1:
        return ""
    # The bucket of an item follows from its key only if the key holds the time.
    sort_names = {key.attribute for key in candidate.sk}
    times = [name for name in starts.pop() if not candidate.pk or name in sort_names]
    return times[0] if times else ""


def _is_large(workload: Workload, entity: Entity) -> bool:
    """Whether all items of an entity are too many for one partition, or will be."""
    return grows(entity) or count_of(workload, entity) * size_of(entity) > LARGE


def _needed_unit(workload: Workload, entity: Entity, candidate: Candidate) -> str:
    """The unit of time that keeps a partition of an unbounded entity below 10 GB; empty if it is."""
    if not candidate.pk or not grows(entity):
        return ""
    size = count_by(workload, entity, candidate.pk) * size_of(entity)
    if size <= MOST_BYTES:
        return ""
    for unit in ("year", "month", "day"):
        if size * BUCKET_SECONDS[unit] <= MOST_BYTES * retention_of(entity):
            return unit
    return "hour"


def questions_of(entity: Entity, candidate: Candidate, questions: Sequence[ReadNeeds]) -> list[ReadNeeds]:
    """The reads that a key of an entity serves."""

    def is_served(question: ReadNeeds) -> bool:
        return any(need.entity == entity.name and serves(candidate, need) for need in question.needs)

    return [question for question in questions if is_served(question)]


def starts_of(entity: Entity, read: Read) -> tuple[str, ...]:
    """The time attribute whose start a read gives; empty if it gives none."""
    for condition in read.inputs:
        attribute = entity.attribute(bare_name(condition.attribute))
        is_start = condition.op in _STARTING and not condition.filter and not condition.optional
        if is_start and attribute and attribute.type.kind in (Kind.DATETIME, Kind.DATE):
            return (attribute.name,)
    return ()
