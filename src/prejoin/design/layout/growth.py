"""What a new design adds to a table in use: indexes, keys, items and attributes, and the backfill they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import GUARD, count_of
from prejoin.design.cost.estimates import Estimates, share_in
from prejoin.design.counters import keeps_counters
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.model import TABLE, ContentStore, Counter, Design, Facet, Guard, Item, ItemName, Slot
from prejoin.keys import fields_of
from prejoin.protocol.prices import dollars, read_units, write_units
from prejoin.workload.model import Attribute, Entity, Model, Workload


class NewKey(Model, frozen=True):
    """A new key of an entity's items in an index."""

    entity: str
    slot: str
    attributes: tuple[str, ...]
    """The attributes to write into each item."""
    facet: Facet
    copy: str = ""


class Backfill(Model, frozen=True):
    """Existing items that have to be written again, or that need further items."""

    entity: str
    items: int
    """The number of items, from the document or assumed."""
    why: tuple[str, ...]
    dollars: float = 0.0
    """The price of reading and writing them, paid once. It is not part of the monthly bill."""


class Growth(Model, frozen=True):
    """The additions from one design to another. The designer changes no existing key; people may (`moved`)."""

    indexes: tuple[Slot, ...] = ()
    entities: tuple[str, ...] = ()
    keys: tuple[NewKey, ...] = ()
    copies: tuple[Item, ...] = ()
    guards: tuple[Guard, ...] = ()
    counters: tuple[Counter, ...] = ()
    """New ones, and those with more shards or numbers. Existing items need no backfill."""
    backfills: tuple[Backfill, ...] = ()
    stores: tuple[ContentStore, ...] = ()
    """Contents that go to an object store from now on. Earlier ones stay in parts, and are read there."""
    moved: tuple[str, ...] = ()
    """Entities with another type or other keys than before."""

    def __bool__(self) -> bool:
        added = (self.indexes, self.entities, self.keys, self.copies, self.guards, self.counters, self.stores)
        return any(added) or bool(self.moved)


def keeps(before: Design, after: Design) -> bool:
    """Whether a design keeps every key of another one, for the entities that are in both.

    >>> from prejoin.design.model import KeyAttribute
    >>> user = Item("User", "User", (Facet(TABLE, ("USER#{userId}",)),))
    >>> shop = Design("shop", (Slot(TABLE, (KeyAttribute("pk"),)),), (user,))
    >>> keeps(Design("shop"), shop), keeps(shop, Design("shop")), keeps(shop, Design("store"))
    (True, True, False)
    """
    if _settings(before) != _settings(after) or before.ttl_attribute not in ("", after.ttl_attribute):
        return False
    there = {item.entity for item in after.items}
    for item in before.items:
        now = after.item(item.entity, item.copy)
        if item.entity not in there:
            continue
        if now is None or now.tag != item.tag:
            return False
        for facet in item.facets:
            if now.facet(facet.slot) != facet or not _same_place(before.slot(facet.slot), after.slot(facet.slot)):
                return False
    if not keeps_counters([one for one in before.counters if one.entity in there], after):
        return False
    if not all(one in after.stores for one in before.stores if one.entity in there):
        return False
    return all(guard in after.guards for guard in before.guards if guard.entity in there)


def _settings(design: Design) -> object:
    return design.table, design.type_attribute, design.separator, design.raw_keys, design.billing


def _same_place(one: Slot | None, other: Slot | None) -> bool:
    """Whether an index is unchanged: DynamoDB changes neither its keys nor its projection."""
    return one is not None and other is not None and replace(one, purpose="") == replace(other, purpose="")


def growth(before: Design, after: Design, workload: Workload) -> Growth:
    """The changes to a table of one design that make it a table of the other."""
    old = {slot.name for slot in before.slots}
    there = {item.entity for item in before.items}
    keys, copies, why = [], [], dict[str, list[str]]()
    for item in after.items:
        earlier = before.item(item.entity, item.copy)
        if earlier is None:
            if item.copy:
                copies.append(item)
                if item.entity in there:
                    of = _having(before, workload, item.entity, item.facets[0])
                    why.setdefault(item.entity, []).append(f"the copy {item.copy} of each{of}")
            continue
        for facet in item.facets:
            if earlier.facet(facet.slot) is None:
                slot = after.slot(facet.slot)
                names = tuple(one.name for one in (*slot.pk, *slot.sk)) if slot else ()
                keys.append(NewKey(item.entity, facet.slot, names, facet, item.copy))
                of = "each copy " + item.copy if item.copy else "each"
                of += _having(before, workload, item.entity, facet)
                why.setdefault(item.entity, []).append(f"{' and '.join(names)} in {of}")
    guards = tuple(guard for guard in after.guards if guard not in before.guards)
    for guard in guards:
        if guard.entity in there:
            what = " and ".join(guard.attributes)
            has = _having(
                before, workload, guard.entity, Facet(TABLE, tuple(f"{{{name}}}" for name in guard.attributes))
            )
            why.setdefault(guard.entity, []).append(f"the item that makes its {what} unique, of each{has}")
    return Growth(
        tuple(slot for slot in after.slots if slot.name not in old and slot.name != TABLE),
        tuple(dict.fromkeys(item.entity for item in after.items if item.entity not in there)),
        tuple(keys),
        tuple(copies),
        guards,
        tuple(counter for counter in after.counters if counter not in before.counters),
        tuple(
            Backfill(
                entity.name,
                count_of(workload, entity),
                tuple(why[entity.name]),
                _backfill_dollars(workload, after, entity, keys, copies, guards),
            )
            for entity in workload.entities
            if entity.name in why
        ),
        tuple(one for one in after.stores if one not in before.stores),
        tuple(dict.fromkeys(item.entity for item in before.items if _is_moved(item, after))),
    )


def _backfill_dollars(
    workload: Workload,
    design: Design,
    entity: Entity,
    keys: Sequence[NewKey],
    copies: Sequence[Item],
    guards: Sequence[Guard],
) -> float:
    """The price of a backfill: each item is read, written with its new keys, and gets its new copies and guards."""
    figures = Estimates(design, workload)
    facets = {(f.entity, f.copy, f.slot): f for f in usable_facets(design, workload)}
    number = count_of(workload, entity)

    def entry(copy: str, slot: str) -> float:
        """The write units of one item or index entry, by the part of the items that have one."""
        facet = facets.get((entity.name, copy, slot))
        share = share_in(workload, entity, facet) if facet else 1.0
        return share * write_units(figures.size(str(ItemName(entity.name, copy)), slot))

    writes = 0.0
    changed = {key.copy for key in keys if key.entity == entity.name}
    for copy in changed:
        writes += entry(copy, TABLE)
    for key in keys:
        if key.entity == entity.name:
            writes += entry(key.copy, key.slot)
    for item in copies:
        if item.entity == entity.name:
            writes += sum(entry(item.copy, facet.slot) for facet in item.facets)
    writes += sum(write_units(GUARD) for guard in guards if guard.entity == entity.name)
    reads = read_units(number * figures.size(entity.name))
    return round(float(dollars(reads=reads, writes=number * writes)), 6)


def _is_moved(item: Item, after: Design) -> bool:
    """Whether an item of a design has another type, or another key in a slot, in a later one."""
    now = after.item(item.entity, item.copy)
    if now is None:
        return False  # it is not read any more
    kept = [(facet, now.facet(facet.slot)) for facet in item.facets]
    return now.tag != item.tag or any(facet != other for facet, other in kept if other is not None)


def _having(before: Design, workload: Workload, entity: str, facet: Facet) -> str:
    """The existing items that can have a key: those with all of its attributes.

    Every item has the attributes of its old keys. For others the old design does not say so: they may be new.
    """
    known = workload.entity(entity)
    old = [f for item in before.items if item.entity == entity for f in item.facets if f.slot == TABLE or not f.when]
    there = {
        name
        for one in old
        for text in (*one.pk, *one.sk)
        for name in fields_of(text)
        if one.slot == TABLE or not ((a := known and known.attribute(name)) and a.optional)
    }
    said = [f"whose {w.attribute} is {' or '.join(w.values)}" for w in facet.when if w.values]
    made = [n for t in (*facet.pk, *facet.sk) for n in fields_of(t) if f"{{{n}?" not in t]
    said += [f"without {w.attribute}" for w in facet.when if w.absent]
    needed = dict.fromkeys([*made, *(w.attribute for w in facet.when if not w.values and not w.absent)])
    lacking = [name for name in needed if name not in there]
    said += [f"that has {' and '.join(lacking)}"] if lacking else []
    return f" {' and '.join(said)}" if said else ""


class NewAttribute(msgspec.Struct, frozen=True):
    """A new attribute of an entity that has items already."""

    entity: str
    attribute: Attribute
    keyed: tuple[str, ...] = ()
    """The indexes whose keys contain the attribute, or whose sparse condition tests it."""

    @property
    def readable(self) -> bool:
        """Whether an item without the attribute can be read."""
        return self.attribute.optional or self.attribute.default is not None


def with_recorded_attributes(item: Item, workload: Workload) -> Item:
    """The item with a record of its entity's current attributes."""
    entity = workload.entity(item.entity)
    return replace(item, known=tuple(a.name for a in entity.attributes)) if entity else item


def record_attributes(design: Design, workload: Workload) -> Design:
    """The design with a record of the attributes of each entity."""
    items = tuple(item if item.copy else with_recorded_attributes(item, workload) for item in design.items)
    return replace(design, items=items)


def new_attributes_of(before: Design, workload: Workload, after: Design | None = None) -> Iterator[NewAttribute]:
    """The attributes that are new since a design was written, if it recorded them.

    `after` is the design that replaces it; its index keys may contain the new attributes.
    """
    for item in before.items:
        entity = workload.entity(item.entity)
        if entity is None or item.copy or not item.known:
            continue
        own = [i for i in (after or before).items if i.entity == item.entity]
        for attribute in entity.attributes:
            if attribute.name in item.known or attribute.id:
                continue
            keyed = dict.fromkeys(
                facet.slot
                for one in own
                for facet in one.facets
                if attribute.name in {n for text in (*facet.pk, *facet.sk) for n in fields_of(text)}
                or attribute.name in {when.attribute for when in facet.when}
                if facet.slot != TABLE
            )
            yield NewAttribute(entity.name, attribute, tuple(keyed))
