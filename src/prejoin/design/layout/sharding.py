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
from prejoin.design.pins import is_refused, least_limit, pins_of
from prejoin.design.solver.candidates import Candidate, serves
from prejoin.design.solver.needs import ReadNeeds
from prejoin.protocol.limits import GB
from prejoin.protocol.prices import write_units
from prejoin.types import Kind
from prejoin.workload.lookup import bare_name, identified
from prejoin.workload.model import Attribute, Entity, Op, Read, Spread, Workload

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
    if is_refused(workload, "shards", entity.name) or spread_by(workload, entity, candidate) is None:
        return 1
    if table and not {a.name for a in entity.id}.issubset(candidate.attributes):
        return 1
    # A key that several entities are read from together stays whole: a Query reads one partition.
    writes = 1 if candidate.whole else expected_writes(workload, entity, candidate, table).shards
    sufficient = max(writes, _shards_by_size(workload, entity, candidate, bucket))
    decided_number = _decided_shards(workload, entity)
    if decided_number and (sufficient > 1 or is_common(entity, candidate.pk)):
        return decided_number
    limit = least_limit(workload, "shards")
    return sufficient if limit is None else min(sufficient, max(1, limit))


def _decided_shards(workload: Workload, entity: Entity) -> int:
    """The number of shards that a decision demands for an entity; 0 if none does."""
    numbers = [pin.shards for pin in _spread_pins(workload, entity) if pin.shards]
    return numbers[0] if numbers else 0


def _spread_pins(workload: Workload, entity: Entity) -> list[Spread]:
    """The decisions that split the partitions of an entity into shards or by time."""
    return [pin for pin in pins_of(workload, Spread) if pin.entity == entity.name]


def _shards_by_size(workload: Workload, entity: Entity, candidate: Candidate, bucket: bool) -> int:
    """The number of shards that the size of a partition needs.

    DynamoDB itself splits a large partition by its sort keys, but not one that grows at one end.
    """
    # A partition under an id may be large: DynamoDB splits it by its sort keys.
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
    # `max` keeps the first of equals, in the order of the id.
    best = max(free, key=spreads, default=None)
    return best.name if best else None


def bucket_of(
    workload: Workload, entity: Entity, candidate: Candidate, questions: Sequence[ReadNeeds]
) -> tuple[str, str] | None:
    """The time attribute and unit that split a partition, if every read of it gives a start time.

    That applies to a partition of all items, unless they are declared to be few; to a smaller one if it is decided, or
    if it outgrows a partition.
    """
    unit = _unit_of_time(workload, entity, candidate)
    is_forbidden = least_limit(workload, "buckets") == 0 or is_refused(workload, "buckets", entity.name)
    if not unit or is_forbidden:
        return None
    time = _common_start(entity, candidate, questions)
    return (time, unit) if time else None


def _unit_of_time(workload: Workload, entity: Entity, candidate: Candidate) -> str:
    """The unit of time that should split a partition: as decided, or by its size; empty for none."""
    spread_pins = _spread_pins(workload, entity)
    if spread_pins:
        units = [pin.bucket for pin in spread_pins if pin.bucket]
        return units[0] if units else ""
    if candidate.pk:
        return _needed_unit(workload, entity, candidate)
    return "day" if not candidate.sparse and _is_large(workload, entity) else ""


def _common_start(entity: Entity, candidate: Candidate, questions: Sequence[ReadNeeds]) -> str:
    """The time whose start every read of a key gives; empty if they give none, or different ones."""
    starts = {starts_of(entity, question.read) for question in questions_of(entity, candidate, questions)}
    if len(starts) != 1:
        return ""
    # The bucket of an item follows from its key only if the key holds the time.
    sort_names = {key.attribute for key in candidate.sk}
    for name in starts.pop():
        if not candidate.pk or name in sort_names:
            return name
    return ""


def _is_large(workload: Workload, entity: Entity) -> bool:
    """Whether all items of an entity are too many for one partition, or will be."""
    return grows(entity) or count_of(workload, entity) * size_of(entity) > LARGE


def _needed_unit(workload: Workload, entity: Entity, candidate: Candidate) -> str:
    """The unit of time that keeps a partition of an unbounded entity below 10 GB; empty if it is."""
    if not grows(entity):
        return ""
    size = count_by(workload, entity, candidate.pk) * size_of(entity)
    if size <= MOST_BYTES:
        return ""
    # The largest unit that is small enough: a Query of a range asks each bucket in it.
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
