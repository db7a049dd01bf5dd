"""Explains each entity: its key, its number of items, what makes them unique, and what a write amounts to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from prejoin.design.cost.assumptions import BUCKET_SECONDS, count_of, created, grows, retention_of, size_of
from prejoin.design.cost.contents import entity_contents
from prejoin.design.cost.refreshes import Refresh, refreshes
from prejoin.design.cost.upkeep import writes_of
from prejoin.design.counters import load
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.keys import key_shape
from prejoin.design.explain.model import AboutEntity, AboutKey
from prejoin.design.explain.phrases import amount, coded, count, listed, money, natural_order, rate, size, verb
from prejoin.design.mapping.facets import counter_templates, history_key
from prejoin.design.model import TABLE, Design
from prejoin.design.solver.candidates import extendable
from prejoin.keys import Plan
from prejoin.protocol.limits import PARTITION_WRITE_UNITS
from prejoin.protocol.prices import STORAGE_OVERHEAD
from prejoin.workload.grammar.quantities import write_span
from prejoin.workload.grammar.values import write_history
from prejoin.workload.lookup import identified
from prejoin.workload.model import Entity, FixedKey, Under, Verb, Workload


def entities(
    workload: Workload, design: Design, keys: Sequence[AboutKey], planned: Mapping[str, Plan], costs: Costs
) -> tuple[AboutEntity, ...]:
    """The explanations of all entities in the table, in document order."""
    found = []
    followed = refreshes(workload, design)
    for entity in workload.entities:
        mine = [key for key in keys if key.entity == entity.name]
        own = next((key for key in mine if key.slot == TABLE and not key.copy), None)
        if own is None:
            continue
        written = costs.written.get(entity.name, ())
        said = (
            *own.text,
            *_together(own, keys, planned, design.separator),
            *_decided(workload, entity),
            *_unique(workload, entity, own, design),
            *_counted(workload, entity, design),
            *_beside(workload, design, entity),
            *(_followed(one) for one in followed if one.link.entity is entity),
            *_versions(entity, design),
            *_stored(workload, entity),
            *_elsewhere(mine),
            *costs.write_sentences.get(entity.name, ()),
        )
        guards = tuple("+".join(g.attributes) for g in design.guards if g.entity == entity.name)
        found.append(AboutEntity(entity.name, own, size_of(entity), count_of(workload, entity), guards, written, said))
    return tuple(found)


def _together(own: AboutKey, keys: Sequence[AboutKey], planned: Mapping[str, Plan], separator: str) -> Iterator[str]:
    """The other entities in its partition, and the reads that need them there."""
    beside = [
        k
        for k in keys
        if k is not own and k.slot == own.slot and key_shape(k.pk) == key_shape(own.pk) and k.entity != own.entity
    ]
    wanted = natural_order(read for read in own.patterns if read in planned and len(planned[read].lookup.entities) > 1)
    if wanted:
        others = dict.fromkeys(e for read in wanted for e in planned[read].lookup.entities if e != own.entity)
        reads = f"{listed(wanted)} {verb(wanted, 'reads', 'read')}"
        yield f"It shares an item collection with {listed(others)}, which {reads} in one request."
        if own.sk.startswith(separator):
            yield f"The sort key begins with `{separator}`, which sorts before letters, to keep the order of that read."
    elif beside:
        names = list(dict.fromkeys(key.entity for key in beside))
        yield f"It shares its partitions with {listed(names)}."
        spared = natural_order(
            read for k in beside for read in k.patterns if read in planned and len(planned[read].lookup.entities) > 1
        )
        if own.sk.startswith(separator) and spared:
            reads = f"{listed(spared)} {verb(spared, 'does', 'do')}"
            yield f"The sort key begins with `{separator}`, which sorts before letters, so that {reads} not read it."


def _decided(workload: Workload, entity: Entity) -> Iterator[str]:
    """The document's decisions about its key."""
    for decision in workload.decisions:
        if isinstance(decision.pin, Under) and decision.pin.entity == entity.name:
            yield f"The document places it under {decision.pin.parent}."
        if isinstance(decision.pin, FixedKey) and decision.pin.entity == entity.name and not decision.pin.index:
            yield "The document fixes its key."


def _unique(workload: Workload, entity: Entity, own: AboutKey, design: Design) -> Iterator[str]:
    """What prevents two items from sharing a key, and duplicates."""
    ids = [a.name for a in entity.id]
    made = [a.name for a in entity.id if a.generated]
    key = {part.attribute for part in (*own.partition, *own.sort)}
    if not key.issuperset(ids) and identified(entity, key):
        natural = natural_order(key)
        yield (
            f"{coded(natural)} {verb(natural, 'is', 'are')} unique, and the key keeps it so: a second item with the "
            "same value is refused."
        )
    elif made:
        yield f"{coded(made)} {verb(made, 'is', 'are')} generated, so two writers never create the same key."
    elif extendable(workload, entity):
        yield (
            f"{coded(ids)} is assumed to be generated, so that two writers never create the same key. Write `natural` "
            "if somebody chooses it."
        )
    elif ids and key == set(ids):
        verbs = {action.verb for _, action in writes_of(workload, entity)}
        second = "would replace the item"
        if Verb.CREATE in verbs:
            second = "fails"
        elif Verb.PUT in verbs:
            second = "replaces the item"
        elif Verb.UPSERT in verbs:
            second = "changes the item"
        chosen = f"{coded(ids)} {verb(ids, 'is', 'are')} not generated"
        yield f"{chosen}: a second write with the same key {second}."
    for guard in (g for g in design.guards if g.entity == entity.name):
        values = verb(guard.attributes, "value", "values")
        unique = f"{coded(guard.attributes)} {verb(guard.attributes, 'is', 'together are')} unique"
        yield f"{unique}: a guard item with the {values} as its key is written in the same transaction."


def _counted(workload: Workload, entity: Entity, design: Design) -> Iterator[str]:
    """Its sharded counter, with the arithmetic, and what it does not do."""
    counter = design.counter(entity.name)
    if counter is None:
        return
    attributes = [a for name in counter.attributes if (a := entity.attribute(name))]
    units = max((load(workload, entity, a) for a in attributes), default=0.0)
    partition, _ = counter_templates(design, entity)
    yield (
        f"{coded(counter.attributes)} {verb(counter.attributes, 'is', 'are')} a sharded counter: the busiest item gets "
        f"{amount(units)} write units a second of additions, and one item takes {amount(PARTITION_WRITE_UNITS)}. Each "
        f"goes to one of {counter.shards} items at random, `{partition.text}`."
    )
    yield (
        f"A read of {listed(counter.attributes)} sums them: {counter.shards * 0.5:g} more read units. An addition does "
        f"not check that the {entity.name} exists, and no key or condition can use the sum."
    )


def _beside(workload: Workload, design: Design, entity: Entity) -> Iterator[str]:
    """Its large contents, with the price of parts and of S3."""
    for one in entity_contents(workload, design, entity):
        costs = (
            f"At these rates, writing and deleting costs {money(one.written + one.deleted)} a month and storage "
            f"{money(one.kept)}"
        )
        if one.stored:
            yield (
                f"`{one.attribute}` is in an object store, {count(one.object_count, 'object')} for each of "
                f"{size(one.size)}: S3 takes a request to write or to read one, and the table no units beside those of "
                "the item, which has its size, checksum and place."
            )
            yield f"{costs}; in parts in the table both would be {money(one.parts)}."
            from_parts = replace(one, stored=False).thousand_reads
            yield f"Reading a thousand costs ${one.thousand_reads}; from parts it would be ${from_parts:.4f}."
        else:
            yield (
                f"`{one.attribute}` is kept beside the item, in {count(one.part_count, 'part')} in its item "
                f"collection: storing one of {size(one.size)} takes {count(one.write_units, 'write unit')}, reading it "
                f"{count(one.read_units, 'read unit')}. The item has its size, checksum and place."
            )
            yield (
                f"{costs}; in S3 both would be {money(one.objects)}, in a second service with permissions and backups "
                f"of its own. `{one.name} in a store` decides for it, and so does `minimise money`."
            )


def _followed(one: Refresh) -> str:
    """How attributes that follow others are kept equal to them, and what that costs."""
    following = one.link
    what = listed(f"`{own}` follows {following.source.name}.{of}" for own, of in following.attributes.items())
    by = "a call of `refresh` updates the items after a change"
    if following.within is not None:
        by = f"the table's stream updates the items within {write_span(following.within)} of a change"
    units = f"{count(one.units.read, 'read unit')} and {count(one.units.write, 'write unit')}"
    often = f"{rate(one.rate)}, that is {money(one.dollars)} a month"
    return f"{what}: {by}. For {count(round(one.items), 'item')} that takes {units}; {often}."


def _versions(entity: Entity, design: Design) -> Iterator[str]:
    """Its history: where versions are, how many, and what they cost."""
    if entity.history is None:
        return
    pk, sk = history_key(design, entity)
    more = " and deletes the one that is too many" if entity.history.versions is not None else ""
    yield (
        f"Earlier versions of each item ({write_history(entity.history)}) are kept under `{pk}`, `{sk}`: an update or "
        f"a delete reads the item, and its transaction puts the version that it replaces{more}."
    )


def _stored(workload: Workload, entity: Entity) -> Iterator[str]:
    number, each = count_of(workload, entity), size_of(entity)
    if entity.singleton:
        yield f"It takes {size(each)}."
        return
    grown = ""
    new, kept = created(workload, entity), retention_of(entity)
    if grows(entity) and number == round(new * kept):
        grown = f", {amount(new)} new ones a second for {count(kept / BUCKET_SECONDS['day'], 'day')}"
    stored = size(number * (each + STORAGE_OVERHEAD))
    yield f"About {count(number, 'item')} of {size(each)}{grown}: {stored} in the table."


def _elsewhere(mine: Sequence[AboutKey]) -> Iterator[str]:
    indexes = [key.slot for key in mine if key.slot != TABLE and not key.copy]
    copies = dict.fromkeys(key.copy for key in mine if key.copy)
    parts = [f"in {listed(indexes)}" if indexes else "", f"as the copy {listed(copies)}" if copies else ""]
    if any(parts):
        yield f"It is also stored {' and '.join(p for p in parts if p)}."
