"""Checks load and size: hot partitions, unbounded partitions and large items, with the arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.report import Report
from prejoin.design.checks.writes import check_appends
from prejoin.design.cost.assumptions import count_of, is_count_known, size_of, surely_created
from prejoin.design.cost.contents import content_fix
from prejoin.design.cost.heat import Load, loads, unnamed_hottest
from prejoin.design.counters import MOST_SHARDS, obstacle
from prejoin.design.counters import load as counter_load
from prejoin.design.layout.sharding import spread_by
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE
from prejoin.design.solver.candidates import Candidate
from prejoin.protocol import limits
from prejoin.protocol.prices import write_units
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.model import Verb

_SOON = 86_400
"""A number of items that is created within so many seconds is wrong, even if the rate is of a busy hour."""
_MANY_TIMES = 10
"""The items within a retention that contradict the declared number: this many times as many."""
FEW = 1000
"""With this few items their partition does not matter."""
LARGE = 100 * limits.KB
CACHE = "keep several copies of what is read, cache it, or read less at a time"
"""The fix for too many reads of one partition."""


def check_load(r: Report) -> None:
    found = _loads(r)
    for load in found:
        _hot(r, load)
    _hot_together(r, found)
    _hot_counters(r)
    _few_partitions(r, found)
    _unbounded(r)
    _items(r)
    _counts(r)
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


def _loads(r: Report) -> list[Load]:
    """The loads of the keys that can be parsed, and of guards whose attributes exist."""
    usable = {(facet.entity, facet.copy, facet.slot) for facet in usable_facets(r.design, r.workload)}
    items = []
    for item in r.design.items:
        facets = tuple(f for f in item.facets if (item.entity, item.copy, f.slot) in usable)
        if facets:
            items.append(replace(item, facets=facets))
    guards = tuple(
        guard
        for guard in r.design.guards
        if (entity := r.workload.entity(guard.entity)) and all(map(entity.attribute, guard.attributes))
    )
    return list(loads(r.workload, map_patterns(replace(r.design, items=tuple(items), guards=guards), r.workload)))


def _hot(r: Report, load: Load) -> None:
    key = next((k for k in r.keys if (k.entity.name, k.item.copy, k.slot) == (load.entity, load.copy, load.slot)), None)
    if key is None or not load.hot:
        return
    where = f"{key.facet.pk[0]} in {key.slot}"
    part = f"{load.share:.0%} go to one partition of {where}: {load.busiest:,.0f}, and {load.limit:,} is the limit"
    if load.read:
        calls = f"{load.calls:,.0f} reads/s of {load.units / load.calls:,.1f} units"
        r.say(
            codes.HOT,
            f"{load.read}: {calls} are {load.units:,.0f} read units/s, of which {part}",
            CACHE + _hottest_phrase(r, key),
            load.read,
        )
        return
    fix = f"split it into {load.shards * _shards(key)} shards" if _spreads(r, key) else _no_key(r, key)
    r.say(
        codes.HOT,
        f"{key.name}: {load.calls:,.0f} writes/s are {load.units:,.0f} write units/s, of which {part}",
        fix + _hottest_phrase(r, key),
        key.item.entity,
        key.slot,
    )


def _hottest_phrase(r: Report, key: BoundKey) -> str:
    """How to say that a hottest key is not a partition, but one value of an attribute with many partitions."""
    names = _partition(key)
    patterns = unnamed_hottest(r.workload, key.entity, names)
    return (
        f"; if the hottest of {name_list(patterns)} is one `{names[0]}`, write `hottest {names[0]} …%`"
        if patterns
        else ""
    )


def _hot_together(r: Report, found: Iterable[Load]) -> None:
    """Partitions that several reads, or the writes of several entities, make hot together, but none of them alone."""
    keys = {(key.entity.name, key.item.copy, key.slot): key for key in r.keys}
    shared: dict[tuple[str, str, bool], list[Load]] = {}
    for load in found:
        if key := keys.get((load.entity, load.copy, load.slot)):
            shared.setdefault((load.slot, key.facet.pk[0], bool(load.read)), []).append(load)
    for (slot, pk, reads), together in shared.items():
        units = sum(load.busiest for load in together)
        if units <= together[0].limit or any(load.hot for load in together):
            continue
        limit = f"on one partition of {pk} in {slot}, and {together[0].limit:,} is the limit"
        if reads:
            what = f"{name_list([load.read for load in together])}: together {units:,.0f} read units/s"
            fix = CACHE
        else:
            what = f"writes of {name_list([load.entity for load in together])}: together {units:,.0f} write units/s"
            fix = "give one of them partitions of its own"
        r.say(codes.HOT, f"{what} {limit}", fix, together[0].entity, slot)


def _hot_counters(r: Report) -> None:
    for counter in r.design.counters:
        entity = r.workload.entity(counter.entity)
        if entity is None:
            continue
        for attribute in (a for name in counter.attributes if (a := entity.attribute(name))):
            units = counter_load(r.workload, entity, attribute)
            if units > limits.PARTITION_WRITE_UNITS * counter.shards:
                enough = math.ceil(units / limits.PARTITION_WRITE_UNITS)
                more = f"`{entity.name}.{attribute.name} in {enough} shards`"
                r.say(
                    codes.HOT,
                    f"{counter.name}: additions to one {entity.name} are {units:,.0f} write units/s, in "
                    f"{counter.shards} shards {units / counter.shards:,.0f} each, and 1,000 is the limit",
                    more if enough <= MOST_SHARDS else "collect its writes in a queue and write it less often",
                    entity.name,
                )


def _spreads(r: Report, key: BoundKey) -> bool:
    """Whether shards would spread the items of a partition; not if it holds one item."""
    return spread_by(r.workload, key.entity, Candidate(key.entity.name, _partition(key))) is not None


def _no_key(r: Report, key: BoundKey) -> str:
    """The fix for an item that is written too often: no key spreads it."""
    for attribute in key.entity.attributes:
        if units := counter_load(r.workload, key.entity, attribute):
            shards = max(2, math.ceil(units / limits.PARTITION_WRITE_UNITS))
            why = obstacle(r.workload, key.entity, attribute)
            if not why:
                decision = f"`{key.entity.name}.{attribute.name} in {shards} shards`"
                return f"no key spreads one item: add to one of {shards} items and read their sum, {decision}"
            return f"no key spreads one item, and `{attribute.name}` cannot be a sharded counter: {why}"
    return "no key spreads one item: collect its writes in a queue and write it less often"


def _few_partitions(r: Report, found: Iterable[Load]) -> None:
    writes = {(load.entity, load.copy, load.slot): load for load in found if not load.read}
    for key in r.keys:
        names = _partition(key)
        attributes = [key.entity.attribute(name) for name in names]
        few = all(a is not None and (a.type.values or a.type.kind is Kind.BOOLEAN) for a in attributes)
        if not few or _shards(key) > 1 or key.entity.singleton or not key.entity.id:
            continue
        declared = any(c.count is not None for c in key.entity.cardinality)
        if declared and count_of(r.workload, key.entity) <= FEW:
            continue
        load = writes.get((key.entity.name, key.item.copy, key.slot))
        each = load.units / load.calls if load and load.units else write_units(size_of(key.entity))
        if load and load.hot:
            continue  # reported as hot already
        r.say(
            codes.FEW_PARTITIONS,
            f"{key.name}: all new items go to one partition of {key.slot}, `{key.facet.pk[0]}`; it takes "
            f"{limits.PARTITION_WRITE_UNITS / each:,.0f} writes/s"
            + (f", and has {load.calls:,.1f}" if load and load.calls >= 0.1 else ""),
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


def _counts(r: Report) -> None:
    """Entities that are created more often than their declared number allows."""
    removed = {a.entity for w in r.writes for a in w.actions if a.verb in (Verb.DELETE, Verb.EXPIRE)}
    for entity in r.workload.entities:
        rate = surely_created(r.workload, entity)
        declared = any(c.count is not None for c in entity.cardinality) and is_count_known(r.workload, entity)
        if not rate or not declared or entity.name in removed:
            continue
        number = count_of(r.workload, entity)
        each = f"{rate:,.{0 if rate >= 10 else 2}f} new items/s"
        reached = f"{each} reach the declared number of {number:,} after {_duration(number / rate)}"
        fix = "correct the frequency or the cardinality"
        if entity.retention is not None and rate * entity.retention > _MANY_TIMES * number:
            kept = f"they are kept for {write_span(entity.retention)}, which makes {rate * entity.retention:,.0f}"
            r.say(codes.CONTRADICTED, f"{entity.name}: {reached}, and {kept}", fix, entity.name)
        elif entity.retention is None and not any(a.ttl for a in entity.attributes) and number < rate * _SOON:
            fix += "; or say how long they are kept, `**Retention**: 30 days`"
            r.say(codes.CONTRADICTED, f"{entity.name}: {reached}, and nothing removes them", fix, entity.name)


def _duration(seconds: float) -> str:
    """About how long, in the largest unit of which there are two."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}s"
    return f"{seconds:,.0f} seconds"


def _items(r: Report) -> None:
    for entity in r.workload.entities:
        size = size_of(entity)
        if size > limits.ITEM_SIZE:
            largest = max(entity.attributes, key=lambda a: a.size or 0)
            split = "give the large part the type `content`, which is kept beside the item, or split the item"
            r.say(
                codes.ITEM_SIZE,
                f"a {entity.name} has {size / limits.KB:,.0f} KB, and an item has at most 400",
                content_fix(largest.name, largest.size) if largest.size and largest.size > LARGE else split,
                entity.name,
            )
            continue
        for attribute in entity.attributes:
            if attribute.size and attribute.size > LARGE and attribute.type.kind is not Kind.CONTENT:
                r.say(
                    codes.LARGE_ATTRIBUTE,
                    f"{entity.name}.{attribute.name} has {attribute.size / limits.KB:,.0f} KB; each write of the item "
                    f"costs {write_units(attribute.size):,.0f} units for it",
                    content_fix(attribute.name, attribute.size),
                    entity.name,
                )
