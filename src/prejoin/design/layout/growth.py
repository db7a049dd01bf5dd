"""What a new design adds to a table in use: indexes, keys, items and attributes, and the backfill they need."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_of
from prejoin.design.cost.estimates import Estimates, share_in
from prejoin.design.counters import keeps_counters
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.model import TABLE, ContentStore, Counter, Design, Facet, Guard, Item, ItemName, Slot
from prejoin.keys import fields_of
from prejoin.protocol.prices import dollars, read_units, write_units
from prejoin.workload.model import Attribute, Entity, Model, Workload

_Part = TypeVar("_Part")


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
        additions = (self.indexes, self.entities, self.keys, self.copies, self.guards, self.counters, self.stores)
        return any(additions) or bool(self.moved)


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
    entities = {item.entity for item in after.items}
    for item in before.items:
        if item.entity in entities and not _keeps_item(item, before, after):
            return False
    additions: list[Guard | ContentStore] = [*before.guards, *before.stores]
    missing = set(additions).difference(after.guards, after.stores)
    counters = [counter for counter in before.counters if counter.entity in entities]
    return keeps_counters(counters, after) and entities.isdisjoint(addition.entity for addition in missing)


def _keeps_item(item: Item, before: Design, after: Design) -> bool:
    """Whether an item has the same type and keys in a later design."""
    later = after.item(item.entity, item.copy)
    # The type is stored in each item and tells items apart, so another one is another item.
    if later is None or later.tag != item.tag:
        return False
    for facet in item.facets:
        if later.facet(facet.slot) != facet:
            return False
        if not _is_same_slot(before.slot(facet.slot), after.slot(facet.slot)):
            return False
    return True


def _settings(design: Design) -> object:
    return design.table, design.type_attribute, design.separator, design.raw_keys, design.billing


def _is_same_slot(slot: Slot | None, other: Slot | None) -> bool:
    """Whether an index is unchanged: DynamoDB changes neither its keys nor its projection."""
    return slot is not None and other is not None and replace(slot, purpose="") == replace(other, purpose="")


def growth(before: Design, after: Design, workload: Workload) -> Growth:
    """The changes to a table of one design that make it a table of the other."""
    new_keys: list[NewKey] = []
    copies: list[Item] = []
    reasons = _Reasons(before, workload)
    for item in after.items:
        earlier = before.item(item.entity, item.copy)
        if earlier is not None:
            for key in _new_keys(item, earlier, after):
                new_keys.append(key)
                reasons.add_key(key)
        elif item.copy:
            copies.append(item)
            reasons.add_copy(item)
    guards = _added_parts(before.guards, after.guards)
    for guard in guards:
        reasons.add_guard(guard)
    backfills: list[Backfill] = []
    for entity in workload.entities:
        if entity.name in reasons.by_entity:
            price = _backfill_dollars(workload, after, entity, new_keys, copies, guards)
            texts = tuple(reasons.by_entity[entity.name])
            backfills.append(Backfill(entity.name, count_of(workload, entity), texts, price))
    names = dict.fromkeys(item.entity for item in after.items)
    moved_items = [item for item in before.items if _is_moved(item, after)]
    return Growth(
        indexes=_new_indexes(before, after),
        entities=_added_parts(reasons.old_entities, names),
        keys=tuple(new_keys),
        copies=tuple(copies),
        guards=guards,
        counters=_added_parts(before.counters, after.counters),
        backfills=tuple(backfills),
        stores=_added_parts(before.stores, after.stores),
        moved=tuple(dict.fromkeys(item.entity for item in moved_items)),
    )


def _added_parts(before: Container[_Part], after: Iterable[_Part]) -> tuple[_Part, ...]:
    """The parts of a design that an earlier one does not have."""
    return tuple([part for part in after if part not in before])


def _new_indexes(before: Design, after: Design) -> tuple[Slot, ...]:
    old_names = {TABLE, *(slot.name for slot in before.slots)}
    return tuple(slot for slot in after.slots if slot.name not in old_names)


def _new_keys(item: Item, earlier: Item, after: Design) -> Iterator[NewKey]:
    """The keys of an item in indexes that it was not in."""
    for facet in item.facets:
        if earlier.facet(facet.slot) is None:
            slot = after.slot(facet.slot)
            names = slot.key_names if slot else ()
            yield NewKey(item.entity, facet.slot, names, facet, item.copy)


class _Reasons:
    """Why existing items have to be written again, or need further items, in words."""

    def __init__(self, before: Design, workload: Workload) -> None:
        self.by_entity: dict[str, list[str]] = {}
        self._before = before
        self._workload = workload
        self.old_entities = {item.entity for item in before.items}

    def add_key(self, key: NewKey) -> None:
        items = f"each copy {key.copy}" if key.copy else "each"
        items += _having(self._before, self._workload, key.entity, key.facet)
        self._add(key.entity, f"{' and '.join(key.attributes)} in {items}")

    def add_copy(self, copy: Item) -> None:
        items = _having(self._before, self._workload, copy.entity, copy.facets[0])
        self._add(copy.entity, f"the copy {copy.copy} of each{items}")

    def add_guard(self, guard: Guard) -> None:
        value = " and ".join(guard.attributes)
        facet = Facet(TABLE, tuple(f"{{{name}}}" for name in guard.attributes))
        items = _having(self._before, self._workload, guard.entity, facet)
        self._add(guard.entity, f"the item that makes its {value} unique, of each{items}")

    def _add(self, entity: str, text: str) -> None:
        if entity in self.old_entities:  # a new entity has no items yet
            self.by_entity.setdefault(entity, []).append(text)


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
        return share * write_units(figures.size(ItemName(entity.name, copy), slot))

    writes = 0.0
    own_keys = [key for key in keys if key.entity == entity.name]
    # An item with several new keys is written once.
    for copy in {key.copy for key in own_keys}:
        writes += entry(copy, TABLE)
    for key in own_keys:
        writes += entry(key.copy, key.slot)
    for item in copies:
        if item.entity == entity.name:
            writes += sum(entry(item.copy, facet.slot) for facet in item.facets)
    own_guards = [guard for guard in guards if guard.entity == entity.name]
    writes += sum(write_units(figures.size(guard.item_name)) for guard in own_guards)
    reads = read_units(number * figures.size(ItemName(entity.name)))
    return round(float(dollars(reads=reads, writes=number * writes)), 6)


def _is_moved(item: Item, after: Design) -> bool:
    """Whether an item of a design has another type, or another key in a slot, in a later one."""
    later = after.item(item.entity, item.copy)
    if later is None:
        return False  # it is not read any more
    if later.tag != item.tag:
        return True
    facets = [(facet, later.facet(facet.slot)) for facet in item.facets]
    return any(other not in (facet, None) for facet, other in facets)


def _having(before: Design, workload: Workload, entity: str, facet: Facet) -> str:
    """The existing items that can have a key: those with all of its attributes.

    Every item has the attributes of its old keys. For others the old design does not say so: they may be new.
    """
    conditions = [f"whose {w.attribute} is {' or '.join(w.values)}" for w in facet.when if w.values]
    conditions += [f"without {w.attribute}" for w in facet.when if w.absent]
    # What the old keys hold, every item has: nothing else about old items is known.
    present = _present_attributes(before, workload, entity)
    lacking = [name for name in _required_attributes(facet) if name not in present]
    if lacking:
        conditions.append(f"that has {' and '.join(lacking)}")
    return f" {' and '.join(conditions)}" if conditions else ""


def _present_attributes(before: Design, workload: Workload, name: str) -> set[str]:
    """The attributes that every existing item of an entity has, as far as its old keys say so."""
    entity = workload.entity(name)
    present: set[str] = set()
    for item in before.items:
        if item.entity != name:
            continue
        for facet in item.facets:
            # All items are in the table. In an index without a condition, those without an optional attribute lack.
            if facet.slot == TABLE:
                present |= facet.fields
            elif not facet.when:
                present |= {field for field in facet.fields if not _is_optional(entity, field)}
    return present


def _is_optional(entity: Entity | None, name: str) -> bool:
    attribute = entity.attribute(name) if entity else None
    return attribute is not None and attribute.optional


def _required_attributes(facet: Facet) -> list[str]:
    """The attributes without which an item has no key: those of `{name}`, but not of `{name?}`."""
    names: dict[str, None] = {}
    for text in facet.templates:
        names |= dict.fromkeys(name for name in fields_of(text) if f"{{{name}?" not in text)
    for when in facet.when:
        if not when.values and not when.absent:
            names[when.attribute] = None
    return list(names)


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
        for attribute in entity.attributes:
            if attribute.name not in item.known and not attribute.id:
                slots = _dependent_indexes(after or before, entity.name, attribute.name)
                yield NewAttribute(entity.name, attribute, slots)


def _dependent_indexes(design: Design, entity: str, name: str) -> tuple[str, ...]:
    """The indexes whose keys contain an attribute of an entity, or whose sparse condition tests it."""
    slots: dict[str, None] = {}
    for item in design.items:
        for facet in item.facets if item.entity == entity else ():
            if facet.slot != TABLE and _depends_on(facet, name):
                slots[facet.slot] = None
    return tuple(slots)


def _depends_on(facet: Facet, name: str) -> bool:
    """Whether an attribute is in the keys of a facet, or decides whether an item is in it."""
    return name in facet.fields or any(when.attribute == name for when in facet.when)
