"""Checks load and size: hot partitions, unbounded partitions and large items, with the arithmetic."""

from __future__ import annotations

import math

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.reads import expected
from prejoin.design.checks.report import Report
from prejoin.design.checks.writes import check_appends
from prejoin.design.cost.assumptions import busiest, count_of, size_of
from prejoin.design.counters import is_spread, load, obstacle
from prejoin.design.layout.sharding import Heat, heat, spread_by
from prejoin.design.model import TABLE, ProjectionKind
from prejoin.design.solver.candidates import Candidate
from prejoin.protocol import limits
from prejoin.protocol.prices import read_units, write_units
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.lookup import changes
from prejoin.workload.model import Entity, Read, Result

FEW = 1000
"""With this few items their partition does not matter."""
LARGE = 100 * limits.KB


def check_load(r: Report) -> None:
    for key in r.keys:
        _hot_writes(r, key)
    _hot_reads(r)
    _few_partitions(r)
    _unbounded(r)
    _items(r)
    check_appends(r)


def _partition(key: BoundKey) -> tuple[str, ...]:
    """The attributes that distinguish partitions, without shards, and without time buckets, which are all current."""
    found = [f.attribute for f in key.form.pk.fields if not f.encoding.shards and not f.encoding.bucket]
    return tuple(dict.fromkeys(found))


def _shards(key: BoundKey) -> int:
    found = 1
    for field in key.form.pk.fields:
        found *= field.encoding.shards or 1
    return found


def _size(key: BoundKey) -> int:
    """Bytes of an entry."""
    whole = size_of(key.entity)
    kind = key.place.projection.kind
    if key.slot == TABLE or kind is ProjectionKind.ALL:
        return whole
    held = set(key.form.attributes) | {a.name for a in key.entity.id}
    if kind is ProjectionKind.INCLUDE:
        held |= set(key.place.projection.attributes)
    few = tuple(a for a in key.entity.attributes if a.name in held)
    return min(whole, size_of(Entity(key.entity.name, attributes=few)))


def heat_of(r: Report, key: BoundKey) -> Heat:
    """The writes to the busiest partition of a key in a second."""
    entity = r.workload.entity(key.item.entity)
    assert entity is not None
    share = heat(r.workload, entity, Candidate(entity.name, _partition(key)), r.design.counters).share
    unit = write_units(_size(key))
    writes = units = 0.0
    for write, action in r.actions(entity.name):
        if is_spread(r.design.counters, write, action, entity):
            continue
        rate = busiest(write.rate)
        changed = {change.attribute for change in changes(write, action, entity)}
        times = 1
        if action.updates and key.slot != TABLE:
            times = 2 if changed & set(key.form.placing) else 1
        transacted = 2 if key.slot == TABLE and (write.atomic or len(write.actions) > 1) else 1
        writes += rate
        units += rate * unit * times * transacted
    return Heat(writes, units, share / _shards(key))


def _hot_writes(r: Report, key: BoundKey) -> None:
    found = heat_of(r, key)
    if found.hottest <= limits.PARTITION_WRITE_UNITS:
        return
    enough = found.shards * _shards(key)
    where = f"{key.facet.pk[0]} in {key.slot}"
    r.say(
        codes.HOT,
        f"{key.name}: {found.writes:,.0f} writes/s are {found.units:,.0f} write units/s, of which {found.share:.0%} go "
        f"to one partition of {where}: {found.hottest:,.0f}, and 1,000 is the limit",
        f"split it into {enough} shards" if _spreads(r, key) else _no_key(r, key),
        key.item.entity,
        key.slot,
    )


def _spreads(r: Report, key: BoundKey) -> bool:
    """Whether shards would spread the items of a partition; not if it holds one item."""
    return spread_by(r.workload, key.entity, Candidate(key.entity.name, _partition(key))) is not None


def _no_key(r: Report, key: BoundKey) -> str:
    """What to do about one item that is written too often: no key spreads it."""
    for attribute in key.entity.attributes:
        if units := load(r.workload, key.entity, attribute):
            shards = max(2, math.ceil(units / limits.PARTITION_WRITE_UNITS))
            why = obstacle(r.workload, key.entity, attribute)
            if not why:
                decision = f"`{key.entity.name}.{attribute.name} in {shards} shards`"
                return f"no key spreads one item: add to one of {shards} items and read their sum, {decision}"
            return f"no key spreads one item, and `{attribute.name}` cannot be a sharded counter: {why}"
    return "no key spreads one item: collect its writes in a queue and write it less often"


def _hot_reads(r: Report) -> None:
    for read in r.reads:
        found = r.answers.get(read.id)
        if not found:
            continue
        share = _share(r, read, found.plan.facets[0].slot)
        units = _read_units(r, read) * (2 if found.plan.lookup.consistent else 1)
        total = busiest(read.rate) * units * share
        if total > limits.PARTITION_READ_UNITS:
            r.say(
                codes.HOT,
                f"{read.id}: {busiest(read.rate):,.0f} reads/s of {units:,.1f} units, of which {share:.0%} go to one "
                f"partition of {found.plan.slot}: {total:,.0f} read units/s, and 3,000 is the limit",
                "keep several copies of what is read, cache it, or read less at a time",
                read.id,
            )


def _share(r: Report, read: Read, slot: str) -> float:
    if read.rate and read.rate.hottest:
        return read.rate.hottest / 100
    used = r.answers[read.id].plan.facets[0]
    key = next((k for k in r.keys if k.form == used), None)
    if key is None:
        return 0.0
    names = _partition(key)
    counts = [len(a.type.values) if (a := key.entity.attribute(name)) else 0 for name in names]
    if not all(counts):
        return 0.0
    share = 1.0
    for count in counts:
        share /= count
    return share / _shards(key)


def _read_units(r: Report, read: Read) -> float:
    ask = r.answers[read.id].plan.lookup
    total = 0
    for name in ask.entities:
        entity = r.workload.entity(name)
        if entity is None:
            continue
        number = 1 if read.result is Result.ONE else expected(r.workload, entity, ask) or 1
        total += min(number, read.limit or read.page or number) * size_of(entity)
    return read_units(min(total, limits.PAGE_SIZE))


def _few_partitions(r: Report) -> None:
    for key in r.keys:
        names = _partition(key)
        attributes = [key.entity.attribute(name) for name in names]
        few = all(a is not None and (a.type.values or a.type.kind is Kind.BOOLEAN) for a in attributes)
        if not few or _shards(key) > 1 or key.entity.singleton or not key.entity.id:
            continue
        declared = any(c.count is not None for c in key.entity.cardinality)
        if declared and count_of(r.workload, key.entity) <= FEW:
            continue
        found = heat_of(r, key)
        each = found.units / found.writes if found.writes else write_units(_size(key))
        if found.hottest > limits.PARTITION_WRITE_UNITS:
            continue  # reported as hot already
        r.say(
            codes.FEW_PARTITIONS,
            f"{key.name}: all new items go to one partition of {key.slot}, `{key.facet.pk[0]}`; it takes "
            f"{limits.PARTITION_WRITE_UNITS / each:,.0f} writes/s"
            + (f", and has {found.writes:,.1f}" if found.writes else ""),
            "shard it before that",
            key.item.entity,
            key.slot,
        )


def _unbounded(r: Report) -> None:
    local = [slot.name for slot in r.design.slots if slot.local]
    for key in r.keys:
        if key.slot != TABLE or any(field.encoding.bucket for field in key.form.pk.fields):
            continue
        own = set(key.form.pk.attributes) & {a.name for a in key.entity.id} == {a.name for a in key.entity.id}
        if own:
            continue
        open_ended = any(c.count is None for c in key.entity.cardinality)
        number = max((c.count or 0 for c in key.entity.cardinality if c.per), default=0)
        size = number * size_of(key.entity)
        if not _partition(key):
            number = count_of(r.workload, key.entity)
            size = number * size_of(key.entity)
        if local and (open_ended or size > limits.COLLECTION_SIZE_WITH_LOCAL_INDEX):
            how = "without bound" if open_ended else f"to {size / limits.GB:,.0f} GB"
            r.say(
                codes.LOCAL_LIMIT,
                f"{key.name}: a partition `{key.facet.pk[0]}` grows {how}, and {name_list(local)} limits it to 10 GB",
                "use a global index instead",
                key.item.entity,
                TABLE,
            )
        elif open_ended and key.entity.retention is None and not any(a.ttl for a in key.entity.attributes):
            r.say(
                codes.UNBOUNDED,
                f"{key.name}: nothing limits the number of items under one `{key.facet.pk[0]}`",
                "split it by time, or let old items expire",
                key.item.entity,
                TABLE,
            )


def _items(r: Report) -> None:
    for entity in r.workload.entities:
        size = size_of(entity)
        if size > limits.ITEM_SIZE:
            r.say(
                codes.ITEM_SIZE,
                f"a {entity.name} has {size / limits.KB:,.0f} KB, and an item has at most 400",
                "keep the large part in S3, or split it into several items",
                entity.name,
            )
            continue
        for attribute in entity.attributes:
            if attribute.size and attribute.size > LARGE:
                r.say(
                    codes.LARGE_ATTRIBUTE,
                    f"{entity.name}.{attribute.name} has {attribute.size / limits.KB:,.0f} KB; each write of the item "
                    f"costs {write_units(attribute.size):,.0f} units for it",
                    "keep it in an item of its own, or in S3",
                    entity.name,
                )
