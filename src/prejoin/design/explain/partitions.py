"""Explains the partitions of each key: how many, the largest, and the busiest with its load, limit and shards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.design.cost.assumptions import BUCKET_SECONDS, PRESENT, count_by, count_of, created, hottest
from prejoin.design.cost.estimates import Estimates, share_in
from prejoin.design.cost.heat import Load, loads, unnamed_hottest
from prejoin.design.cost.upkeep import writes_of
from prejoin.design.explain.model import AboutKey, AboutPartition, Because
from prejoin.design.explain.phrases import amount, count, listed, share, size
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import TABLE, Design, ItemName
from prejoin.keys import Facet, KeyText
from prejoin.protocol.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from prejoin.types import Kind
from prejoin.workload.grammar.quantities import write_rate
from prejoin.workload.model import Entity, Workload
from prejoin.workload.targets import NEW

WORTH_TELLING = 0.01
"""The fraction of the limit from which the arithmetic of the load is told."""


def partitions(workload: Workload, design: Design, keys: tuple[AboutKey, ...]) -> tuple[AboutPartition, ...]:
    """The partitions of every key, except those of a single item."""
    facets = {(facet.entity, facet.copy, facet.slot): facet for facet in planner_facets(design, workload)}
    found: list[AboutPartition] = []
    warm: list[Load] = []
    hints: list[list[str]] = []
    every: dict[tuple[str, str, str], list[Load]] = {}
    for load in loads(workload, design):
        every.setdefault((load.entity, load.copy, load.slot), []).append(load)
    places: list[tuple[object, ...]] = []
    for key in keys:
        entity = workload.entity(key.entity)
        assert entity is not None
        facet = facets[key.entity, key.copy, key.slot]
        if not entity.singleton:
            there = every.get((key.entity, key.copy, key.slot), [])
            about, load = _partition(workload, design, key, entity, facet, there)
            found.append(about)
            warm.append(load)
            hints.append(list(_hottest_sentence(workload, entity, _names(key))))
            places.append((key.slot, *(p.text if isinstance(p, KeyText) else "" for p in _parts(facet))))
    shared: dict[tuple[object, ...], list[AboutPartition]] = {}
    for place, about in zip(places, found, strict=True):
        shared.setdefault(place, []).append(about)
    whole = [_beside(about, shared[place]) for about, place in zip(found, places, strict=True)]
    return tuple(
        replace(about, text=(*_sentences(about, load), *hint))
        for about, load, hint in zip(whole, warm, hints, strict=True)
    )


def _parts(facet: Facet) -> Sequence[object]:
    return getattr(facet.pk, "parts", facet.pk.fields)


def _partition(
    workload: Workload, design: Design, key: AboutKey, entity: Entity, facet: Facet, there: Sequence[Load]
) -> tuple[AboutPartition, Load]:
    """What is told of a key's partitions, and its writes, before they are split into shards."""
    pk = _names(key)
    cuts = [field.encoding for field in facet.pk.fields if field.encoding.derived]
    shards = math.prod(cut.shards for cut in cuts if cut.shards)
    bucket = next((cut.bucket for cut in cuts if not cut.shards), "")
    writes = next((load for load in there if not load.read), Load(key.entity, key.copy, key.slot, 0.0, 0.0, 0.0))
    writes = replace(writes, share=writes.share * shards)
    entries = max(1.0, count_of(workload, entity) * share_in(workload, entity, facet))
    number = min(entries, _values(workload, entity, pk)) if pk else 1.0
    each = entries / number
    largest = min(entries, max(each, _largest(workload, entity, pk, entries)))
    if bucket in BUCKET_SECONDS and (new := created(workload, entity)):
        largest = min(largest, max(1.0, new * BUCKET_SECONDS[bucket] * largest / entries))
    held = Estimates(design, workload).size(str(ItemName(key.entity, key.copy)), key.slot)
    reads = sum(_units(load) * shards for load in there if load.read)
    enough = max(writes.shards, math.ceil(reads / PARTITION_READ_UNITS), 1)
    return AboutPartition(
        key.entity,
        key.slot,
        key.pk,
        key.copy,
        _units(writes),
        reads,
        shards,
        bucket,
        enough,
        math.ceil(round(number, 6)) * shards,
        math.ceil(largest / shards),
        math.ceil(largest / shards) * held,
    ), writes


def _names(key: AboutKey) -> tuple[str, ...]:
    """The attributes that distinguish partitions."""
    return tuple(dict.fromkeys(part.attribute for part in key.partition if part.because is not Because.SPREAD))


def _hottest_sentence(workload: Workload, entity: Entity, pk: Sequence[str]) -> Iterator[str]:
    if patterns := unnamed_hottest(workload, entity, pk):
        pattern = workload.pattern(patterns[0])
        assert pattern is not None
        assert pattern.rate is not None
        example = write_rate(replace(pattern.rate, hottest_of=pk[0]))
        yield (
            f"The hottest key of {listed(patterns)} is taken for one partition. If it is one `{pk[0]}`, "
            f"write `{example}` under Frequency."
        )


def _units(load: Load) -> float:
    """Units a second on the busiest partition, be they ever so few."""
    return load.busiest or load.units * load.share


def _values(workload: Workload, entity: Entity, pk: Sequence[str]) -> float:
    """The number of different partitions, if all items that have the attributes of a partition key were there."""
    optional = sum(bool(a and a.optional) for a in map(entity.attribute, pk))
    return count_of(workload, entity) * PRESENT**optional / count_by(workload, entity, pk)


def _largest(workload: Workload, entity: Entity, pk: Sequence[str], entries: float) -> float:
    """Items in a partition that is larger than the others, as far as the document says.

    A status or a boolean may be the same for nearly all items. A hottest key gets its share of the new items, and a
    limit may be declared (`at most 500 per User`).
    """
    if entity.id and {a.name for a in entity.id} <= set(pk):
        return 1.0
    attributes = [a for name in pk if (a := entity.attribute(name))]
    if all(a.type.values or a.type.kind is Kind.BOOLEAN for a in attributes):
        return entries
    creating = [w for w, action in writes_of(workload, entity) if action.verb in NEW]
    shares = [hottest(workload, entity, pk, w.rate) for w in creating]
    limits = [c.count for c in entity.cardinality if c.count and c.at_most and c.per and len(pk) == 1]
    return max([entries * max(shares, default=0.0), *(float(limit) for limit in limits)])


def _beside(about: AboutPartition, there: Sequence[AboutPartition]) -> AboutPartition:
    """With the other items that are in the same partitions."""
    others = [one for one in there if one is not about]
    names = tuple(dict.fromkeys(f"{o.entity}, copy {o.copy}" if o.copy else o.entity for o in others))
    return replace(
        about,
        beside=names,
        whole_items=about.items + sum(one.items for one in others),
        whole_size=about.size + sum(one.size for one in others),
    )


def _sentences(found: AboutPartition, warm: Load) -> Iterator[str]:
    yield _extent(found)
    if found.beside:
        together = f"{count(found.whole_items, 'item')} and {size(found.whole_size)}"
        yield f"Together with {listed(found.beside)} the largest has {together}."
    busiest = max(found.write_units / PARTITION_WRITE_UNITS, found.read_units / PARTITION_READ_UNITS)
    told = found.shards > 1 or bool(found.bucket) or busiest >= WORTH_TELLING
    if warm.busiest and told:
        each = count(warm.units / warm.calls, "unit")
        part = "All of it can go" if warm.share == 1 else f"{share(warm.share)} of it goes"
        yield (
            f"The peak is {amount(warm.calls)} writes a second at {each}, {amount(warm.units)} write units a second. "
            f"{part} to one partition: {amount(warm.busiest)} of the limit of {amount(PARTITION_WRITE_UNITS)}."
        )
    if found.read_units and told:
        limit = amount(PARTITION_READ_UNITS)
        yield f"Reads use {_little(found.read_units)} read units a second of the limit of {limit}."
    if not told:
        taken = [f"{_little(n)} {what}" for n, what in ((found.write_units, "write"), (found.read_units, "read")) if n]
        yield f"The busiest uses {listed(taken or ['no'])} units a second."
    yield from _verdict(found, told)


def _little(number: float) -> str:
    return "less than 0.01" if number < 0.01 else amount(number)


def _extent(found: AboutPartition) -> str:
    """The number of partitions and the largest one."""
    held = f"{count(found.items, 'item')} and {size(found.size)}"
    if found.bucket:
        return f"A new partition each {found.bucket}; the largest has {held}."
    if found.number == 1:
        return f"One partition, with {held}."
    return f"{count(found.number, 'partition')}; the largest has {held}."


def _verdict(found: AboutPartition, told: bool) -> Iterator[str]:
    busiest = max(found.write_units / PARTITION_WRITE_UNITS, found.read_units / PARTITION_READ_UNITS)
    if found.bucket:
        yield f"It is split by {found.bucket}, which limits its size. New items still go to one partition at a time."
    if found.shards > 1:
        each = amount(found.write_units / found.shards)
        yield f"It is split into {count(found.shards, 'shard')} of {each} write units each; {found.enough} are enough."
    if found.enough > found.shards:
        slow = "" if found.slot == TABLE else ", and with the index also writes to the table"
        remedy = f"{found.enough} shards would be enough" if found.items > 1 else "No shards divide a single item"
        yield f"This exceeds the limit: DynamoDB will throttle requests{slow}. {remedy}."
    elif found.shards == 1 and busiest and told:
        yield f"This is {share(busiest)} of the limit."
