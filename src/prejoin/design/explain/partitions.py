"""Explains the partitions of each key: how many, the largest, and the busiest with its load, limit and shards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from prejoin.design.cost.assumptions import BUCKET_SECONDS, PRESENT, count_by, count_of, created, hottest
from prejoin.design.cost.estimates import Estimates, share_in
from prejoin.design.cost.heat import Load, loads, unnamed_hottest
from prejoin.design.cost.upkeep import steps_on
from prejoin.design.explain.model import AboutKey, AboutPartition, Because
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import TABLE, Design, ItemName
from prejoin.design.phrases import amount, count, listed, share, size
from prejoin.keys import Facet, KeyText
from prejoin.protocol.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from prejoin.types import Kind
from prejoin.workload.grammar.quantities import write_rate
from prejoin.workload.model import Entity, Workload

WORTH_TELLING = 0.01
"""The fraction of the limit from which the arithmetic of the load is shown."""


def explain_partitions(workload: Workload, design: Design, keys: tuple[AboutKey, ...]) -> tuple[AboutPartition, ...]:
    """The partitions of every key, except those of a single item."""
    facets = {(facet.entity, facet.copy, facet.slot): facet for facet in planner_facets(design, workload)}
    loads_by_key: dict[tuple[str, str, str], list[Load]] = {}
    for load in loads(workload, design):
        loads_by_key.setdefault((load.entity, load.copy, load.slot), []).append(load)
    measures: list[_Measure] = []
    for key in keys:
        entity = workload.entity(key.entity)
        assert entity is not None
        if not entity.singleton:
            name = key.entity, key.copy, key.slot
            measures.append(_measure(workload, design, key, entity, facets[name], loads_by_key.get(name, [])))
    # Items of two entities are in the same partitions if their partition keys have the same words.
    by_partition_key: dict[tuple[str, ...], list[AboutPartition]] = {}
    for measure in measures:
        by_partition_key.setdefault(measure.words, []).append(measure.partition)
    explanations = []
    for measure in measures:
        partition = _with_neighbours(measure.partition, by_partition_key[measure.words])
        sentences = (*_load_sentences(partition, measure.writes), *measure.hints)
        explanations.append(replace(partition, text=sentences))
    return tuple(explanations)


@dataclass(frozen=True, slots=True)
class _Measure:
    """What is measured of the partitions of one key by itself."""

    partition: AboutPartition
    writes: Load
    """The load of its writes before they are split into shards."""
    words: tuple[str, ...]
    """The slot and the words of the partition key, with an empty word for each attribute."""
    hints: tuple[str, ...]


def _measure(
    workload: Workload, design: Design, key: AboutKey, entity: Entity, facet: Facet, key_loads: Sequence[Load]
) -> _Measure:
    attributes = _partition_attributes(key)
    encodings = [field.encoding for field in facet.pk.fields if field.encoding.derived]
    shards = math.prod(encoding.shards for encoding in encodings if encoding.shards)
    bucket = next((encoding.bucket for encoding in encodings if not encoding.shards), "")
    no_writes = Load(key.entity, key.copy, key.slot, 0.0, 0.0, 0.0)
    split_writes = next((load for load in key_loads if not load.read), no_writes)
    # The loads are those of one shard; the limit is compared with what they would be without shards.
    writes = replace(split_writes, share=split_writes.share * shards)
    read_units = sum(_units_on_busiest(load) * shards for load in key_loads if load.read)

    entries = max(1.0, count_of(workload, entity) * share_in(workload, entity, facet))
    number = min(entries, _distinct_values(workload, entity, attributes)) if attributes else 1.0
    largest = _items_in_largest(workload, entity, attributes, bucket, entries, number)
    item_size = Estimates(design, workload).size(ItemName(key.entity, key.copy), key.slot)
    partition = AboutPartition(
        entity=key.entity,
        slot=key.slot,
        pk=key.pk,
        copy=key.copy,
        write_units=_units_on_busiest(writes),
        read_units=read_units,
        shards=shards,
        bucket=bucket,
        enough=max(writes.shards, math.ceil(read_units / PARTITION_READ_UNITS), 1),
        number=math.ceil(round(number, 6)) * shards,
        items=math.ceil(largest / shards),
        size=math.ceil(largest / shards) * item_size,
    )
    words = [part.text if isinstance(part, KeyText) else "" for part in _key_text_parts(facet)]
    hints = tuple(_hottest_sentence(workload, entity, attributes))
    return _Measure(partition, writes, (key.slot, *words), hints)


def _items_in_largest(
    workload: Workload, entity: Entity, attributes: Sequence[str], bucket: str, entries: float, number: float
) -> float:
    """Items in the largest partition, of all its shards; with time buckets, of the items of one bucket."""
    average = entries / number
    largest = min(entries, max(average, _declared_largest(workload, entity, attributes, entries)))
    created_per_second = created(workload, entity)
    if bucket in BUCKET_SECONDS and created_per_second:
        created_in_bucket = created_per_second * BUCKET_SECONDS[bucket]
        largest = min(largest, max(1.0, created_in_bucket * largest / entries))
    return largest


def _key_text_parts(facet: Facet) -> Sequence[object]:
    return getattr(facet.pk, "parts", facet.pk.fields)


def _partition_attributes(key: AboutKey) -> tuple[str, ...]:
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


def _units_on_busiest(load: Load) -> float:
    """Units a second on the busiest partition, be they ever so few."""
    return load.busiest or load.units * load.share


def _distinct_values(workload: Workload, entity: Entity, pk: Sequence[str]) -> float:
    """The number of different partitions, if all items that have the attributes of a partition key were in the slot."""
    attributes = [entity.attribute(name) for name in pk]
    optional_count = sum(attribute is not None and attribute.optional for attribute in attributes)
    return count_of(workload, entity) * PRESENT**optional_count / count_by(workload, entity, pk)


def _declared_largest(workload: Workload, entity: Entity, pk: Sequence[str], entries: float) -> float:
    """Items in a partition that is larger than the others, as far as the document says.

    A status or a boolean may be the same for nearly all items. A hottest key gets its share of the new items, and a
    limit may be declared (`at most 500 per User`).
    """
    if entity.id and {attribute.name for attribute in entity.id} <= set(pk):
        return 1.0
    attributes = [attribute for attribute in map(entity.attribute, pk) if attribute is not None]
    if all(attribute.type.values or attribute.type.kind is Kind.BOOLEAN for attribute in attributes):
        return entries
    creating = [step.write for step in steps_on(workload, entity) if step.is_new]
    share_of_hottest = max((hottest(workload, entity, pk, write.rate) for write in creating), default=0.0)
    return max(entries * share_of_hottest, _declared_limit(entity, pk))


def _declared_limit(entity: Entity, pk: Sequence[str]) -> float:
    """The most items that the application allows under a parent, if nothing but the parent is in the partition key."""
    if len(pk) != 1:
        return 0.0
    limits = [limit for limit in entity.cardinality if limit.at_most and limit.per]
    return max((limit.count or 0.0 for limit in limits), default=0.0)


def _with_neighbours(partition: AboutPartition, sharing: Sequence[AboutPartition]) -> AboutPartition:
    """With the other items that are in the same partitions."""
    neighbours = [neighbour for neighbour in sharing if neighbour is not partition]
    names: dict[str, None] = {}
    for neighbour in neighbours:
        names[f"{neighbour.entity}, copy {neighbour.copy}" if neighbour.copy else neighbour.entity] = None
    return replace(
        partition,
        beside=tuple(names),
        whole_items=partition.items + sum(neighbour.items for neighbour in neighbours),
        whole_size=partition.size + sum(neighbour.size for neighbour in neighbours),
    )


def _load_sentences(partition: AboutPartition, writes: Load) -> Iterator[str]:
    yield _extent_sentence(partition)
    if partition.beside:
        contents = f"{count(partition.whole_items, 'item')} and {size(partition.whole_size)}"
        yield f"Together with {listed(partition.beside)} the largest has {contents}."
    is_worth_telling = partition.shards > 1 or bool(partition.bucket) or _fraction_used(partition) >= WORTH_TELLING
    if is_worth_telling:
        if writes.busiest:
            yield _peak_sentence(writes)
        if partition.read_units:
            limit = amount(PARTITION_READ_UNITS)
            yield f"Reads use {_amount_or_less(partition.read_units)} read units a second of the limit of {limit}."
    else:
        used_units = []
        if partition.write_units:
            used_units.append(f"{_amount_or_less(partition.write_units)} write")
        if partition.read_units:
            used_units.append(f"{_amount_or_less(partition.read_units)} read")
        yield f"The busiest uses {listed(used_units or ['no'])} units a second."
    yield from _verdict_sentences(partition, is_worth_telling)


def _peak_sentence(writes: Load) -> str:
    units_per_write = count(writes.units / writes.calls, "unit")
    units = amount(writes.units)
    part = "All of it can go" if writes.share == 1 else f"{share(writes.share)} of it goes"
    return (
        f"The peak is {amount(writes.calls)} writes a second at {units_per_write}, {units} write units a second. "
        f"{part} to one partition: {amount(writes.busiest)} of the limit of {amount(PARTITION_WRITE_UNITS)}."
    )


def _fraction_used(partition: AboutPartition) -> float:
    """The load of the busiest partition as a fraction of DynamoDB's limits, of the one that is reached first."""
    return max(partition.write_units / PARTITION_WRITE_UNITS, partition.read_units / PARTITION_READ_UNITS)


def _amount_or_less(number: float) -> str:
    return "less than 0.01" if number < 0.01 else amount(number)


def _extent_sentence(partition: AboutPartition) -> str:
    """The number of partitions and the largest one."""
    largest_contents = f"{count(partition.items, 'item')} and {size(partition.size)}"
    if partition.bucket:
        return f"A new partition each {partition.bucket}; the largest has {largest_contents}."
    if partition.number == 1:
        return f"One partition, with {largest_contents}."
    return f"{count(partition.number, 'partition')}; the largest has {largest_contents}."


def _verdict_sentences(partition: AboutPartition, is_worth_telling: bool) -> Iterator[str]:
    bucket, shards, enough = partition.bucket, partition.shards, partition.enough
    if bucket:
        yield f"It is split by {bucket}, which limits its size. New items still go to one partition at a time."
    if shards > 1:
        units_per_shard = amount(partition.write_units / shards)
        yield f"It is split into {count(shards, 'shard')} of {units_per_shard} write units each; {enough} are enough."
    if enough > shards:
        # A throttled index holds back writes to the table, too: DynamoDB refuses what it cannot replicate.
        slowdown = "" if partition.slot == TABLE else ", and with the index also writes to the table"
        remedy = f"{enough} shards would be enough" if partition.items > 1 else "No shards divide a single item"
        yield f"This exceeds the limit: DynamoDB will throttle requests{slowdown}. {remedy}."
    elif shards == 1 and is_worth_telling and _fraction_used(partition):
        yield f"This is {share(_fraction_used(partition))} of the limit."
