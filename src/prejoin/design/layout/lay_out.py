"""Turns selected keys into a design: slots, key templates, items and guards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from prejoin.design.counters import counters_of, with_kept
from prejoin.design.layout.growth import with_recorded_attributes
from prejoin.design.layout.key_words import KeyWords, free_type
from prejoin.design.model import TABLE, Design, Facet, Guard, Item, KeyAttribute, Slot
from prejoin.design.solver.candidates import Candidate, extendable
from prejoin.design.solver.fixed_keys import free_name, key_names, names_in
from prejoin.design.solver.placement import BASE, OWN, Placement, Problem, Selection
from prejoin.design.stores import stores_of
from prejoin.workload.model import Entity, Workload


def lay_out(problem: Problem, chosen: Selection) -> Design:
    """The design of a selection, without operations."""
    workload, kept = problem.workload, problem.fixed.design
    names = names_in(workload)
    separator = names.get("separator", kept.separator)
    words = KeyWords(problem, chosen, separator)
    slots = _slots(problem, chosen)
    items: list[Item] = []
    for entity in workload.entities:
        own = [p for p in chosen.placed if p.entity == entity.name]
        for number in sorted({p.item for p in own}):
            placed = sorted((p for p in own if p.item == number), key=lambda p: p.slot)
            facets = tuple(words.facet(p, slots[p.slot].name) for p in placed)
            found = _item(problem, words, placed[0], facets, items)
            items.append(found if found.copy else with_recorded_attributes(found, workload))
    return msgspec.structs.replace(
        kept,
        table=names.get("table", _table_name(workload) if kept.table == TABLE else kept.table),
        slots=slots,
        items=tuple(items),
        guards=tuple(dict.fromkeys((*kept.guards, *_guards(workload, chosen)))),
        # The key of a shard is made of the item's key, which has to be two texts.
        counters=with_kept(kept.counters, counters_of(workload) if slots[0].sk and not kept.raw_keys else ()),
        stores=stores_of(workload, kept.stores),
        type_attribute=names.get("type attribute")
        or (kept.type_attribute if kept.items else free_name(kept.type_attribute, workload)),
        separator=separator,
        ttl_attribute=kept.ttl_attribute
        or next((a.name for e in workload.entities for a in e.attributes if a.ttl), _end_of_versions(workload)),
    )


def _end_of_versions(workload: Workload) -> str:
    """The TTL attribute of a table in which only earlier versions end; empty if they do not."""
    ends = any(e.history and e.history.seconds is not None for e in workload.entities)
    return free_name("expiresAt", workload) if ends else ""


def _item(
    problem: Problem, words: KeyWords, placed: Placement, facets: tuple[Facet, ...], before: Sequence[Item]
) -> Item:
    """An item with its keys. An existing item keeps its name and type."""
    name, number = placed.entity, placed.item
    there = problem.fixed.design.item(name) if number == OWN else None
    if 0 < number <= len(copies := problem.fixed.copies(name)):
        there = copies[number - 1]
    if there:
        return msgspec.structs.replace(there, facets=facets)
    if number == OWN:
        return Item(name, free_type(name, problem.fixed.design), facets)
    copy = _copy_name(words.parents_first(placed))
    while any((item.entity, item.copy) == (name, copy) for item in before):
        copy += f"-{number}"
    own = next((item for item in before if item.entity == name and not item.copy), None)
    return Item(name, f"{own.tag if own else name}.{copy}", facets, copy)


def _slots(problem: Problem, chosen: Selection) -> tuple[Slot, ...]:
    """The table and its indexes, existing ones first. New indexes continue the naming of existing ones."""
    found = list(problem.fixed.design.slots)
    pk, sk = key_names(problem.workload)
    if not any(place[2] == BASE for place in problem.fixed.facets):
        found[:1] = [Slot(TABLE, (KeyAttribute(pk),), (KeyAttribute(sk),))]
    while len(found) <= chosen.indexes:
        number = len(found)
        ours = [KeyAttribute(free_name(f"gsi{number}{name}", problem.workload)) for name in (pk, sk)]
        usual = Slot(f"gsi{number}", (ours[0],), (ours[1],))
        found.append(_like(found[-1], number) or usual)
    return tuple(found)


def _like(last: Slot, number: int) -> Slot | None:
    """A slot with the next number, if the last one is numbered: `GSI2` with `GSI2PK` follows `GSI1` with `GSI1PK`."""
    before, now = str(number - 1), str(number)
    texts = [last.name, *(attribute.name for attribute in (*last.pk, *last.sk))]
    if number == 1 or len(texts) != 3 or any(text.count(before) != 1 for text in texts):
        return None
    name, pk, sk = (text.replace(before, now) for text in texts)
    return Slot(name, (KeyAttribute(pk),), (KeyAttribute(sk),))


def _copy_name(names: Sequence[str]) -> str:
    return "by-" + "-".join(re.sub(r"\W+", "-", name) for name in (names or ("all",)))


def _table_name(workload: Workload) -> str:
    text = re.sub(r"[^a-z0-9]+", "-", workload.title.lower()).strip("-")[:60].strip("-")
    return text if len(text) >= 3 else "table"


def _guards(workload: Workload, chosen: Selection) -> Iterable[Guard]:
    for entity in workload.entities:
        base = next(p.candidate for p in chosen.placed if (p.entity, p.item, p.slot) == (entity.name, OWN, BASE))
        yield from guards_of(workload, entity, base)


def guards_of(workload: Workload, entity: Entity, base: Candidate) -> Iterator[Guard]:
    """Guards for unique values, and for a natural id that is only a part of the table's key."""
    groups = [(a.name,) for a in entity.attributes if a.unique and not a.id] + list(entity.unique)
    ids = tuple(a.name for a in entity.id)
    if ids and set(base.attributes) > set(ids) and not extendable(workload, entity) and not base.fixed:
        groups.append(ids)
    for group in dict.fromkeys(groups):
        if set(group) != set(base.attributes):
            yield Guard(entity.name, tuple(group))
