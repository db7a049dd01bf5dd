"""Explains each entity: its key, its number of items, what makes them unique, and what a write amounts to."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from prejoin.constructs.registry import added_constructs, constructs_of
from prejoin.design.cost.assumptions import BUCKET_SECONDS, count_of, created, grows, retention_of, size_of
from prejoin.design.cost.contents import entity_contents
from prejoin.design.cost.refreshes import Refresh, refreshes
from prejoin.design.cost.upkeep import steps_on
from prejoin.design.counters import load
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.keys import key_shape
from prejoin.design.explain.model import AboutEntity, AboutKey
from prejoin.design.model import TABLE, Design
from prejoin.design.phrases import amount, coded, count, listed, money, natural_order, rate, size, verb
from prejoin.design.solver.candidates import extendable
from prejoin.keys import Plan
from prejoin.protocol.limits import PARTITION_WRITE_UNITS
from prejoin.protocol.prices import STORAGE_OVERHEAD
from prejoin.workload.lookup import identified
from prejoin.workload.model import Entity, FixedKey, Under, Verb, Workload


def explain_entities(
    workload: Workload, design: Design, keys: Sequence[AboutKey], read_plans: Mapping[str, Plan], costs: Costs
) -> tuple[AboutEntity, ...]:
    """The explanations of all entities in the table, in document order."""
    explanations = []
    all_refreshes = refreshes(workload, design)
    for entity in workload.entities:
        entity_keys = [key for key in keys if key.entity == entity.name]
        table_key = next((key for key in entity_keys if key.slot == TABLE and not key.copy), None)
        if table_key is None:
            continue
        sentences = (
            *table_key.text,
            *_shared_partition_sentences(table_key, keys, read_plans, design.separator),
            *_decision_sentences(workload, entity),
            *_uniqueness_sentences(workload, entity, table_key, design),
            *_counter_sentences(workload, entity, design),
            *_large_content_sentences(workload, design, entity),
            *(_refresh_sentence(refresh, design) for refresh in all_refreshes if refresh.bound.entity is entity),
            *chain.from_iterable(construct.explanation(design) for construct in constructs_of(entity)),
            *_storage_sentences(workload, entity),
            *_other_places_sentences(entity_keys),
            *costs.write_sentences.get(entity.name, ()),
        )
        explanations.append(
            AboutEntity(
                entity.name,
                table_key,
                size_of(entity),
                count_of(workload, entity),
                tuple("+".join(guard.attributes) for guard in design.guards if guard.entity == entity.name),
                costs.written.get(entity.name, ()),
                sentences,
            )
        )
    return tuple(explanations)


def _shared_partition_sentences(
    table_key: AboutKey, keys: Sequence[AboutKey], read_plans: Mapping[str, Plan], separator: str
) -> Iterator[str]:
    """The other entities in its partition, and the reads that need them there."""
    # The separator sorts before all letters, so an item whose sort key begins with it comes first in its collection:
    # a read of the collection gets it before the others, or leaves it out with a range.
    is_first = table_key.sk.startswith(separator)
    collection_reads = _collection_reads(table_key, read_plans)
    if collection_reads:
        companions: dict[str, None] = {}
        for read in collection_reads:
            companions.update(dict.fromkeys(read_plans[read].lookup.entities))
        companions.pop(table_key.entity, None)
        reads = f"{listed(collection_reads)} {verb(collection_reads, 'reads', 'read')}"
        yield f"It shares an item collection with {listed(companions)}, which {reads} in one request."
        if is_first:
            yield f"The sort key begins with `{separator}`, which sorts before letters, to keep the order of that read."
        return
    neighbours = [key for key in keys if _is_neighbour(key, table_key)]
    if neighbours:
        yield f"It shares its partitions with {listed(dict.fromkeys(key.entity for key in neighbours))}."
        spared_by = natural_order(chain.from_iterable(_collection_reads(key, read_plans) for key in neighbours))
        if is_first and spared_by:
            reads = f"{listed(spared_by)} {verb(spared_by, 'does', 'do')}"
            yield f"The sort key begins with `{separator}`, which sorts before letters, so that {reads} not read it."


def _collection_reads(key: AboutKey, read_plans: Mapping[str, Plan]) -> list[str]:
    """The reads that find items of several entities by a key."""
    reads = [read for read in key.patterns if read in read_plans]
    return natural_order(read for read in reads if len(read_plans[read].lookup.entities) > 1)


def _is_neighbour(key: AboutKey, table_key: AboutKey) -> bool:
    """Whether a key puts items of another entity into the same partitions."""
    is_same_partition = key.slot == table_key.slot and key_shape(key.pk) == key_shape(table_key.pk)
    return is_same_partition and key.entity != table_key.entity


def _decision_sentences(workload: Workload, entity: Entity) -> Iterator[str]:
    """The document's decisions about its key."""
    for decision in workload.decisions:
        pin = decision.pin
        if isinstance(pin, Under) and pin.entity == entity.name:
            yield f"The document places it under {pin.parent}."
        if isinstance(pin, FixedKey) and pin.entity == entity.name and not pin.index:
            yield "The document fixes its key."


def _uniqueness_sentences(workload: Workload, entity: Entity, table_key: AboutKey, design: Design) -> Iterator[str]:
    """What prevents two items from sharing a key, and duplicates."""
    ids = [attribute.name for attribute in entity.id]
    generated_ids = [attribute.name for attribute in entity.id if attribute.generated]
    key_attributes = {part.attribute for part in (*table_key.partition, *table_key.sort)}
    if not key_attributes.issuperset(ids) and identified(entity, key_attributes):
        natural = natural_order(key_attributes)
        yield (
            f"{coded(natural)} {verb(natural, 'is', 'are')} unique, and the key keeps it so: a second item with the "
            "same value is refused."
        )
    elif generated_ids:
        yield (
            f"{coded(generated_ids)} {verb(generated_ids, 'is', 'are')} generated, so two writers never create the "
            "same key."
        )
    elif extendable(workload, entity):
        yield (
            f"{coded(ids)} is assumed to be generated, so that two writers never create the same key. Write `natural` "
            "if somebody chooses it."
        )
    elif ids and key_attributes == set(ids):
        effect = _effect_of_second_write({step.verb for step in steps_on(workload, entity)})
        yield f"{coded(ids)} {verb(ids, 'is', 'are')} not generated: a second write with the same key {effect}."
    for construct in added_constructs(entity, design):
        yield from construct.explanation(design)


def _effect_of_second_write(verbs: Container[Verb]) -> str:
    """What happens to a second item with the same key, by the strictest of the writes that create the entity."""
    if Verb.CREATE in verbs:
        return "fails"
    if Verb.PUT in verbs:
        return "replaces the item"
    if Verb.UPSERT in verbs:
        return "changes the item"
    # No pattern creates it. Other writers of the table use PutItem, which replaces without a condition.
    return "would replace the item"


def _counter_sentences(workload: Workload, entity: Entity, design: Design) -> Iterator[str]:
    """Its sharded counter, with the arithmetic, and what it does not do."""
    constructs = added_constructs(entity, design)
    construct = next((construct for construct in constructs if construct.item_name.counter), None)
    counter = design.counter(entity.name)
    if construct is None or counter is None:
        return
    units = 0.0
    for name in counter.attributes:
        if attribute := entity.attribute(name):
            units = max(units, load(workload, entity, attribute))
    partition = construct.templates(design)[0]
    # A shard is a small item: an eventually consistent read takes half a unit.
    sum_units = counter.shards * 0.5
    yield (
        f"{coded(counter.attributes)} {verb(counter.attributes, 'is', 'are')} a sharded counter: the busiest item gets "
        f"{amount(units)} write units a second of additions, and one item takes {amount(PARTITION_WRITE_UNITS)}. Each "
        f"goes to one of {counter.shards} items at random, `{partition.text}`."
    )
    yield (
        f"A read of {listed(counter.attributes)} sums them: {sum_units:g} more read units. An addition does "
        f"not check that the {entity.name} exists, and no key or condition can use the sum."
    )


def _large_content_sentences(workload: Workload, design: Design, entity: Entity) -> Iterator[str]:
    """Its large contents, with the price of parts and of S3."""
    for content in entity_contents(workload, design, entity):
        costs = (
            f"At these rates, writing and deleting costs {money(content.written + content.deleted)} a month and "
            f"storage {money(content.kept)}"
        )
        if content.stored:
            yield (
                f"`{content.attribute}` is in an object store, {count(content.object_count, 'object')} for each of "
                f"{size(content.size)}: S3 takes a request to write or to read one, and the table no units beside "
                "those of the item, which has its size, checksum and place."
            )
            yield f"{costs}; in parts in the table both would be {money(content.parts)}."
            from_parts = replace(content, stored=False).thousand_reads
            yield f"Reading a thousand costs ${content.thousand_reads}; from parts it would be ${from_parts:.4f}."
        else:
            yield (
                f"`{content.attribute}` is kept beside the item, in {count(content.part_count, 'part')} in its item "
                f"collection: storing one of {size(content.size)} takes {count(content.write_units, 'write unit')}, "
                f"reading it {count(content.read_units, 'read unit')}. The item has its size, checksum and place."
            )
            yield (
                f"{costs}; in S3 both would be {money(content.objects)}, in a second service with permissions and "
                f"backups of its own. `{content.name} in a store` decides for it, and so does `minimise money`."
            )


def _refresh_sentence(refresh: Refresh, design: Design) -> str:
    """How attributes that repeat others are kept equal to them, and what that costs."""
    construct = refresh.bound
    origin = f"{construct.flag.name} {construct.source.name}"
    repeated = listed(f"`{own}` {origin}.{source}" for own, source in construct.attributes.items())
    means = "; ".join(construct.explanation(design))
    units = f"{count(refresh.units.read, 'read unit')} and {count(refresh.units.write, 'write unit')}"
    price = f"{rate(refresh.rate)}, that is {money(refresh.dollars)} a month"
    if refresh.unchanged_sources:
        price = f"no write changes {refresh.unchanged_sources}, so it costs nothing"
    return f"{repeated}: {means}. For {count(round(refresh.items), 'item')} that takes {units}; {price}."


def _storage_sentences(workload: Workload, entity: Entity) -> Iterator[str]:
    number, item_size = count_of(workload, entity), size_of(entity)
    if entity.singleton:
        yield f"It takes {size(item_size)}."
        return
    growth = ""
    created_per_second, lifetime = created(workload, entity), retention_of(entity)
    # Told only if the number follows from it: a number that the document states needs no derivation.
    if grows(entity) and number == round(created_per_second * lifetime):
        days = count(lifetime / BUCKET_SECONDS["day"], "day")
        growth = f", {amount(created_per_second)} new ones a second for {days}"
    total_size = size(number * (item_size + STORAGE_OVERHEAD))
    yield f"About {count(number, 'item')} of {size(item_size)}{growth}: {total_size} in the table."


def _other_places_sentences(entity_keys: Sequence[AboutKey]) -> Iterator[str]:
    places = []
    if indexes := [key.slot for key in entity_keys if key.slot != TABLE and not key.copy]:
        places.append(f"in {listed(indexes)}")
    if copies := dict.fromkeys(key.copy for key in entity_keys if key.copy):
        places.append(f"as the copy {listed(copies)}")
    if places:
        yield f"It is also stored {' and '.join(places)}."
