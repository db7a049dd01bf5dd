"""Turns selected keys into a design: slots, key templates, items and guards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from prejoin.constructs.registry import ending_of, lines_of
from prejoin.design.counters import counters_of, with_kept
from prejoin.design.layout.growth import with_recorded_attributes
from prejoin.design.layout.key_words import KeyWords, free_type
from prejoin.design.model import TABLE, Design, Facet, Guard, Item, KeyAttribute, Slot
from prejoin.design.solver.candidates import Candidate, declared_groups, extendable
from prejoin.design.solver.fixed_keys import free_name, key_names, names_in
from prejoin.design.solver.placement import BASE, OWN, Placement, Problem, Selection
from prejoin.design.stores import stores_of
from prejoin.workload.model import Entity, Workload
from prejoin.workload.tenants import common_tenant


def lay_out(problem: Problem, selection: Selection) -> Design:
    """The design of a selection, without operations."""
    workload, approved_design = problem.workload, problem.fixed.design
    names = names_in(workload)
    separator = names.get("separator", approved_design.separator)
    words = KeyWords(problem, selection, separator)
    slots = _slots(problem, selection)
    items: list[Item] = []
    for placements in _placements_by_item(workload, selection):
        facets = tuple([words.facet(placement, slots[placement.slot].name) for placement in placements])
        item = _item(problem, words, placements[0], facets, items)
        items.append(item if item.copy else with_recorded_attributes(item, workload))
    # The key of a shard is made of the item's key, which has to be two texts.
    can_have_shards = bool(slots[0].sk) and not approved_design.raw_keys
    return msgspec.structs.replace(
        approved_design,
        table=names.get("table", _table_name(workload) if approved_design.table == TABLE else approved_design.table),
        slots=slots,
        items=tuple(items),
        guards=tuple(dict.fromkeys((*approved_design.guards, *_guards(workload, selection)))),
        counters=with_kept(approved_design.counters, counters_of(workload) if can_have_shards else ()),
        stores=stores_of(workload, approved_design.stores),
        type_attribute=names.get("type attribute") or _type_attribute(workload, approved_design),
        separator=separator,
        ttl_attribute=approved_design.ttl_attribute or _ttl_attribute(workload),
    )


def _placements_by_item(workload: Workload, selection: Selection) -> list[list[Placement]]:
    """The keys of each item by their slots; the items in the order of the document, an entity's own item first."""
    placements_by_item: dict[tuple[str, int], list[Placement]] = {}
    for placement in sorted(selection.placed, key=lambda placement: (placement.item, placement.slot)):
        placements_by_item.setdefault((placement.entity, placement.item), []).append(placement)
    order = [entity.name for entity in workload.entities]
    return [
        placements_by_item[item]
        for item in sorted(placements_by_item, key=lambda item: (order.index(item[0]), item[1]))
    ]


def _type_attribute(workload: Workload, approved_design: Design) -> str:
    """The attribute that names the type of an item: of a new table, a name that no entity has."""
    name = approved_design.type_attribute
    return name if approved_design.items else free_name(name, workload)


def _ttl_attribute(workload: Workload) -> str:
    """The TTL attribute that the entities declare; DynamoDB has one for the whole table."""
    for entity in workload.entities:
        ending = ending_of(entity)
        if ending:
            return ending.name
    return _end_of_constructs(workload)


def _end_of_constructs(workload: Workload) -> str:
    """The TTL attribute of a table in which only items of constructs expire; empty if they do not."""
    for entity in workload.entities:
        if any(bound.ends for bound in lines_of(entity)):
            return free_name("expiresAt", workload)
    return ""


def _item(
    problem: Problem, words: KeyWords, placement: Placement, facets: tuple[Facet, ...], items: Sequence[Item]
) -> Item:
    """An item with its keys. An existing item keeps its name and type; `items` are those before it."""
    name, number = placement.entity, placement.item
    existing = problem.fixed.design.item(name) if number == OWN else None
    copies = problem.fixed.copies(name)
    if 0 < number <= len(copies):
        existing = copies[number - 1]
    if existing:
        return msgspec.structs.replace(existing, facets=facets)
    if number == OWN:
        return Item(name, free_type(name, problem.fixed.design), facets)
    # A copy is named after its partition; a second one with the same partition gets its number.
    copy = _copy_name(words.parents_first(placement))
    tags = {item.name: item.tag for item in items}
    while f"{name}/{copy}" in tags:
        copy += f"-{number}"
    return Item(name, f"{tags.get(name, name)}.{copy}", facets, copy)


def _slots(problem: Problem, selection: Selection) -> tuple[Slot, ...]:
    """The table and its indexes, existing ones first. New indexes continue the naming of existing ones."""
    slots = list(problem.fixed.design.slots)
    pk, sk = key_names(problem.workload)
    if not any(place[2] == BASE for place in problem.fixed.facets):
        slots[:1] = [Slot(TABLE, (KeyAttribute(pk),), (KeyAttribute(sk),))]
    while len(slots) <= selection.indexes:
        number = len(slots)
        index_pk, index_sk = (KeyAttribute(free_name(f"gsi{number}{name}", problem.workload)) for name in (pk, sk))
        slots.append(_like(slots[-1], number) or Slot(f"gsi{number}", (index_pk,), (index_sk,)))
    return tuple(slots)


def _like(last: Slot, number: int) -> Slot | None:
    """A slot with the next number, if the last one is numbered: `GSI2` with `GSI2PK` follows `GSI1` with `GSI1PK`."""
    previous = str(number - 1)
    texts = [last.name, *last.key_names]
    if number == 1 or len(texts) != 3 or any(text.count(previous) != 1 for text in texts):
        return None
    name, pk, sk = (text.replace(previous, str(number)) for text in texts)
    return Slot(name, (KeyAttribute(pk),), (KeyAttribute(sk),))


def _copy_name(names: Sequence[str]) -> str:
    return "by-" + "-".join(re.sub(r"\W+", "-", name) for name in (names or ("all",)))


def _table_name(workload: Workload) -> str:
    text = re.sub(r"[^a-z0-9]+", "-", workload.title.lower()).strip("-")[:60].strip("-")
    return text if len(text) >= 3 else "table"


def _guards(workload: Workload, selection: Selection) -> Iterable[Guard]:
    bases = {placement.entity: placement.candidate for placement in selection.placed if placement.is_base}
    for entity in workload.entities:
        yield from guards_of(workload, entity, bases[entity.name])


def guards_of(workload: Workload, entity: Entity, base: Candidate) -> Iterator[Guard]:
    """Guards for unique values, and for a natural id that is only a part of the table's key."""
    groups = declared_groups(entity)
    ids = tuple(a.name for a in entity.id)
    if ids and set(base.attributes) > set(ids) and not extendable(workload, entity) and not base.fixed:
        groups.append(ids)
    tenant = common_tenant(workload, entity.name)
    # The key of the table keeps its own attributes unique without a guard.
    for group in dict.fromkeys(groups):
        if set(group) != set(base.attributes):
            # As the client does: the keys of guards begin with the tenant.
            names = tuple(name for name in group if name not in tenant)
            yield Guard(entity.name, (*tenant, *names))
