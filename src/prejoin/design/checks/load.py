"""Checks load and size: hot partitions, unbounded partitions and large items, with the arithmetic."""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec.structs import replace

from prejoin.constructs.registry import ending_of
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.report import Report
from prejoin.design.checks.writes import check_appends
from prejoin.design.cost.assumptions import count_of, is_count_known, size_of, surely_created
from prejoin.design.cost.contents import content_fix
from prejoin.design.cost.heat import Load, is_common, loads, unnamed_hottest
from prejoin.design.counters import MOST_SHARDS, obstacle
from prejoin.design.counters import load as counter_load
from prejoin.design.layout.sharding import spread_by
from prejoin.design.mapping.facets import partition_names, shard_count, usable_facets
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Guard
from prejoin.design.solver.candidates import Candidate
from prejoin.protocol import limits
from prejoin.protocol.prices import write_units
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.model import Entity, Verb

_SOON = 86_400
"""A number of items that is created within so many seconds is wrong, even if the rate is of a busy hour."""
_MANY_TIMES = 10
"""The items within a retention that contradict the declared number: this many times as many."""
FEW = 1000
"""With this few items their partition does not matter."""
LARGE = 100 * limits.KB
CACHE = "keep several copies of what is read, cache it, or read less at a time"
"""The fix for too many reads of one partition."""


def check_load(report: Report) -> None:
    key_loads = _key_loads(report)
    for load in key_loads:
        _check_hot(report, load)
    _check_shared_partitions(report, key_loads)
    _check_counters(report)
    _check_few_partitions(report, key_loads)
    _check_unbounded(report)
    _check_item_sizes(report)
    _check_counts(report)
    check_appends(report)


def _key_loads(report: Report) -> list[Load]:
    """The loads of the keys that can be parsed, and of guards whose attributes exist."""
    usable = {(facet.entity, facet.copy, facet.slot) for facet in usable_facets(report.design, report.workload)}
    items = []
    for item in report.design.items:
        facets = tuple(facet for facet in item.facets if (item.entity, item.copy, facet.slot) in usable)
        if facets:
            items.append(replace(item, facets=facets))
    guards = tuple(guard for guard in report.design.guards if _has_attributes(report, guard))
    design = replace(report.design, items=tuple(items), guards=guards)
    return list(loads(report.workload, map_patterns(design, report.workload)))


def _has_attributes(report: Report, guard: Guard) -> bool:
    entity = report.workload.entity(guard.entity)
    return entity is not None and entity.types.keys() >= set(guard.attributes)


def _key_of(report: Report, load: Load) -> BoundKey | None:
    """The key that a load is on; None for the keys of guards."""
    place = (load.entity, load.copy, load.slot)
    for key in report.keys:
        if (key.entity.name, key.item.copy, key.slot) == place:
            return key
    return None


def _check_hot(report: Report, load: Load) -> None:
    key = _key_of(report, load)
    if key is None or not load.hot:
        return
    place = f"{key.facet.pk[0]} in {key.slot}"
    part = f"{load.share:.0%} go to one partition of {place}: {load.busiest:,.0f}, and {load.limit:,} is the limit"
    if load.read:
        calls = f"{load.calls:,.0f} reads/s of {load.units / load.calls:,.1f} units"
        report.say(
            codes.HOT,
            f"{load.read}: {calls} are {load.units:,.0f} read units/s, of which {part}",
            CACHE + _hottest_phrase(report, key),
            load.read,
        )
        return
    fix = _fix_for_single_item(report, key)
    if _is_spread_by_shards(report, key):
        fix = f"split it into {load.shards * shard_count(key.form)} shards"
    report.say_of_key(
        key,
        codes.HOT,
        f"{load.calls:,.0f} writes/s are {load.units:,.0f} write units/s, of which {part}",
        fix + _hottest_phrase(report, key),
    )


def _hottest_phrase(report: Report, key: BoundKey) -> str:
    """How to say that a hottest key is not a partition, but one value of an attribute with many partitions."""
    names = partition_names(key.form)
    patterns = unnamed_hottest(report.workload, key.entity, names)
    if not patterns:
        return ""
    return f"; if the hottest of {name_list(patterns)} is one `{names[0]}`, write `hottest {names[0]} …%`"


def _check_shared_partitions(report: Report, key_loads: Iterable[Load]) -> None:
    """Partitions that several reads, or the writes of several entities, make hot together, but none of them alone."""
    loads_by_partition: dict[tuple[str, str, bool], list[Load]] = {}
    for load in key_loads:
        if key := _key_of(report, load):
            loads_by_partition.setdefault((load.slot, key.facet.pk[0], bool(load.read)), []).append(load)
    for (slot, pk, is_read), partition_loads in loads_by_partition.items():
        first = partition_loads[0]
        units = sum(load.busiest for load in partition_loads)
        if units <= first.limit or any(load.hot for load in partition_loads):
            continue
        if is_read:
            subject = f"{name_list([load.read for load in partition_loads])}: together {units:,.0f} read units/s"
            fix = CACHE
        else:
            entities = name_list([load.entity for load in partition_loads])
            subject = f"writes of {entities}: together {units:,.0f} write units/s"
            fix = "give one of them partitions of its own"
        message = f"{subject} on one partition of {pk} in {slot}, and {first.limit:,} is the limit"
        report.say(codes.HOT, message, fix, first.entity, slot)


def _check_counters(report: Report) -> None:
    for counter in report.design.counters:
        entity = report.workload.entity(counter.entity)
        if entity is None:
            continue
        for attribute in filter(None, map(entity.attribute, counter.attributes)):
            units = counter_load(report.workload, entity, attribute)
            if units > limits.PARTITION_WRITE_UNITS * counter.shards:
                enough = math.ceil(units / limits.PARTITION_WRITE_UNITS)
                decision = f"`{entity.name}.{attribute.name} in {enough} shards`"
                report.say(
                    codes.HOT,
                    f"{counter.name}: additions to one {entity.name} are {units:,.0f} write units/s, in "
                    f"{counter.shards} shards {units / counter.shards:,.0f} each, and 1,000 is the limit",
                    decision if enough <= MOST_SHARDS else "collect its writes in a queue and write it less often",
                    entity.name,
                )


def _is_spread_by_shards(report: Report, key: BoundKey) -> bool:
    """Whether shards would spread the items of a partition; not if it holds one item."""
    return spread_by(report.workload, key.entity, Candidate(key.entity.name, partition_names(key.form))) is not None


def _fix_for_single_item(report: Report, key: BoundKey) -> str:
    """The fix for an item that is written too often: no key spreads it."""
    for attribute in key.entity.attributes:
        if units := counter_load(report.workload, key.entity, attribute):
            shards = max(2, math.ceil(units / limits.PARTITION_WRITE_UNITS))
            reason = obstacle(report.workload, key.entity, attribute)
            if not reason:
                decision = f"`{key.entity.name}.{attribute.name} in {shards} shards`"
                return f"no key spreads one item: add to one of {shards} items and read their sum, {decision}"
            return f"no key spreads one item, and `{attribute.name}` cannot be a sharded counter: {reason}"
    return "no key spreads one item: collect its writes in a queue and write it less often"


def _check_few_partitions(report: Report, key_loads: Iterable[Load]) -> None:
    """Keys whose partitions are the values of an enum or a boolean, before they are hot."""
    write_loads = {(load.entity, load.copy, load.slot): load for load in key_loads if not load.read}
    for key in report.keys:
        load = write_loads.get((key.entity.name, key.item.copy, key.slot))
        if not _may_have_few_partitions(report, key) or (load and load.hot):
            continue  # a hot one is reported as such already
        units_per_write = load.units / load.calls if load and load.units else write_units(size_of(key.entity))
        writes_allowed = limits.PARTITION_WRITE_UNITS / units_per_write
        present_load = f", and has {load.calls:,.1f}" if load and load.calls >= 0.1 else ""
        report.say_of_key(
            key,
            codes.FEW_PARTITIONS,
            f"all new items go to one partition of {key.slot}, `{key.facet.pk[0]}`; it takes "
            f"{writes_allowed:,.0f} writes/s{present_load}",
            "shard it before that",
        )


def _may_have_few_partitions(report: Report, key: BoundKey) -> bool:
    """Whether only enums and booleans distinguish partitions, or nothing, and there may be many items."""
    entity = key.entity
    if entity.singleton or not entity.id or shard_count(key.form) > 1:
        return False
    is_small = _has_count(entity) and count_of(report.workload, entity) <= FEW
    return not is_small and is_common(entity, partition_names(key.form))


def _has_count(entity: Entity) -> bool:
    """Whether the document says how many items there are, in all or of another entity."""
    return any(limit.count is not None for limit in entity.cardinality)


def _check_unbounded(report: Report) -> None:
    """Partitions of the table that grow without bound, or beyond the limit that local indexes set."""
    for key in report.keys:
        has_bucket = any(field.encoding.bucket for field in key.form.pk.fields)
        if key.slot != TABLE or has_bucket or _has_own_partitions(key):
            continue
        if not _report_local_limit(report, key) and _is_unbounded(key.entity) and not _is_removed_in_time(key.entity):
            report.say_of_key(
                key,
                codes.UNBOUNDED,
                f"nothing limits the number of items under one `{key.facet.pk[0]}`",
                "split it by time, or let old items expire",
            )


def _has_own_partitions(key: BoundKey) -> bool:
    """Whether each item has a partition of its own."""
    return {part.name for part in key.entity.id}.issubset(key.form.pk.attributes)


def _is_unbounded(entity: Entity) -> bool:
    """Whether the document says that the number of items of another entity has no limit."""
    return any(limit.count is None for limit in entity.cardinality)


def _is_removed_in_time(entity: Entity) -> bool:
    return entity.retention is not None or ending_of(entity) is not None


def _report_local_limit(report: Report, key: BoundKey) -> bool:
    """Report the partitions of a key that local indexes limit, and return whether there are any.

    With a local index, all items of a partition key are stored together, at most 10 GB of them.
    """
    local_indexes = [slot.name for slot in report.design.slots if slot.local]
    size = _items_in_partition(report, key) * size_of(key.entity)
    is_unbounded = _is_unbounded(key.entity)
    if not local_indexes or not (is_unbounded or size > limits.COLLECTION_SIZE_WITH_LOCAL_INDEX):
        return False
    extent = "without bound" if is_unbounded else f"to {size / limits.GB:,.0f} GB"
    partition = f"a partition `{key.facet.pk[0]}`"
    report.say_of_key(
        key,
        codes.LOCAL_LIMIT,
        f"{partition} grows {extent}, and {name_list(local_indexes)} limits it to 10 GB",
        "use a global index instead",
    )
    return True


def _items_in_partition(report: Report, key: BoundKey) -> float:
    """The greatest number of items in a partition that the document says."""
    if not partition_names(key.form):
        return count_of(report.workload, key.entity)
    return max((limit.count or 0 for limit in key.entity.cardinality if limit.per), default=0)


def _check_counts(report: Report) -> None:
    """Entities that are created more often than their declared number allows."""
    for entity in report.workload.entities:
        rate = surely_created(report.workload, entity)
        is_declared = _has_count(entity) and is_count_known(report.workload, entity)
        if rate and is_declared and not _has_removal(report, entity):
            _check_count(report, entity, rate)


def _has_removal(report: Report, entity: Entity) -> bool:
    """Whether a write deletes items of an entity, or lets them expire."""
    return any(action.verb in (Verb.DELETE, Verb.EXPIRE) for _, action in report.actions(entity.name))


def _check_count(report: Report, entity: Entity, rate: float) -> None:
    """The declared number of items, of which so many are created in a second."""
    number = count_of(report.workload, entity)
    rate_text = f"{rate:,.{0 if rate >= 10 else 2}f} new items/s"
    statement = f"{rate_text} reach the declared number of {number:,} after {_duration(number / rate)}"
    fix = "correct the frequency or the cardinality"
    if entity.retention is not None and rate * entity.retention > _MANY_TIMES * number:
        retention_text = f"they are kept for {write_span(entity.retention)}, which makes {rate * entity.retention:,.0f}"
        report.say(codes.CONTRADICTED, f"{entity.name}: {statement}, and {retention_text}", fix, entity.name)
    elif not _is_removed_in_time(entity) and number < rate * _SOON:
        fix += "; or say how long they are kept, `**Retention**: 30 days`"
        report.say(codes.CONTRADICTED, f"{entity.name}: {statement}, and nothing removes them", fix, entity.name)


def _duration(seconds: float) -> str:
    """About how long, in the largest unit of which there are two."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}s"
    return f"{seconds:,.0f} seconds"


def _check_item_sizes(report: Report) -> None:
    for entity in report.workload.entities:
        size = size_of(entity)
        if size > limits.ITEM_SIZE:
            largest = max(entity.attributes, key=lambda attribute: attribute.size or 0)
            advice = "give the large part the type `content`, which is kept beside the item, or split the item"
            report.say(
                codes.ITEM_SIZE,
                f"a {entity.name} has {size / limits.KB:,.0f} KB, and an item has at most 400",
                content_fix(largest.name, largest.size) if largest.size and largest.size > LARGE else advice,
                entity.name,
            )
            continue
        for attribute in entity.attributes:
            if attribute.size and attribute.size > LARGE and attribute.type.kind is not Kind.CONTENT:
                report.say(
                    codes.LARGE_ATTRIBUTE,
                    f"{entity.name}.{attribute.name} has {attribute.size / limits.KB:,.0f} KB; each write of the item "
                    f"costs {write_units(attribute.size):,.0f} units for it",
                    content_fix(attribute.name, attribute.size),
                    entity.name,
                )
