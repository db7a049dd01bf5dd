"""Designs that differ from another in one place, as a person might change them: `mutants_of_design(design, workload)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msgspec.structs import replace

from prejoin.design.model import Design, Facet, Guard, Item, KeyAttribute, Projection, ProjectionKind, Slot, When
from prejoin.keys import fields_of
from prejoin.workload.model import Entity, Workload

_T = TypeVar("_T")
NOWHERE = "nowhere"
"""An attribute that no entity has."""


@dataclass(frozen=True, slots=True)
class DesignMutant:
    """A changed design. Its operations are left out, so that they are mapped again."""

    text: str
    design: Design


def mutants_of_design(design: Design, workload: Workload) -> list[DesignMutant]:
    """All mutants of a design, in the order of its parts."""
    plain = replace(design, operations=(), decisions=())
    mutants = [*_settings(plain), *_slots(plain), *_guards_and_counters(plain, workload)]
    for number, item in enumerate(plain.items):
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        changed_items = _items(item, entity, plain)
        mutants += [
            DesignMutant(f"{item.name}: {text}", replace(plain, items=_with_element(plain.items, number, changed)))
            for text, changed in changed_items
        ]
    return mutants


def _with_element(elements: Sequence[_T], number: int, changed: _T | None) -> tuple[_T, ...]:
    """The elements with one replaced, or removed if the new one is None."""
    new = () if changed is None else (changed,)
    return (*elements[:number], *new, *elements[number + 1 :])


# --- The table and its indexes --------------------------------------------------------------------------------------


def _settings(design: Design) -> Iterator[DesignMutant]:
    yield DesignMutant("raw keys", replace(design, raw_keys=not design.raw_keys))
    yield DesignMutant("no type attribute", replace(design, type_attribute=""))
    yield DesignMutant("the partition key is the type attribute", replace(design, type_attribute="pk"))
    yield DesignMutant("no separator", replace(design, separator=""))
    yield DesignMutant("the separator |", replace(design, separator="|"))
    yield DesignMutant("a ttl attribute of nobody", replace(design, ttl_attribute=NOWHERE))
    yield DesignMutant("no ttl attribute", replace(design, ttl_attribute=""))
    yield DesignMutant("no items", replace(design, items=()))
    yield DesignMutant("no slots", replace(design, slots=()))
    if len(design.items) > 1:
        first, second = design.items[:2]
        same_tag = _with_element(design.items, 1, replace(second, tag=first.tag))
        yield DesignMutant("one type for two items", replace(design, items=same_tag))


def _slots(design: Design) -> Iterator[DesignMutant]:
    for number, slot in enumerate(design.slots):
        for text, changed in _changed_slots(slot, design):
            slots = _with_element(design.slots, number, changed)
            yield DesignMutant(f"{slot.name}: {text}", replace(design, slots=slots))
    for slot in design.slots[1:]:
        slots = tuple(one for one in design.slots if one is not slot)
        items = tuple(
            replace(item, facets=tuple(facet for facet in item.facets if facet.slot != slot.name))
            for item in design.items
        )
        yield DesignMutant(f"{slot.name}: removed with its keys", replace(design, slots=slots, items=items))
    if len(design.slots) > 1:
        table, index = design.slots[:2]
        yield DesignMutant("the first index before the table", replace(design, slots=(index, table, *design.slots[2:])))


def _changed_slots(slot: Slot, design: Design) -> Iterator[tuple[str, Slot | None]]:
    yield "removed", None
    yield "without a sort key", replace(slot, sk=())
    yield "a number as partition key", replace(slot, pk=tuple(replace(key, type="N") for key in slot.pk))
    yield "an unknown type", replace(slot, pk=tuple(replace(key, type="X") for key in slot.pk))
    yield "two sort keys", replace(slot, sk=(*slot.sk, KeyAttribute(f"{slot.name}more")))
    yield "the same key twice", replace(slot, sk=slot.pk)
    if slot.name == "table":
        return
    yield "local", replace(slot, local=True)
    yield "keys only", replace(slot, projection=Projection(ProjectionKind.KEYS_ONLY))
    yield "holds an unknown attribute", replace(slot, projection=Projection(ProjectionKind.INCLUDE, (NOWHERE,)))
    yield "holds everything", replace(slot, projection=Projection())
    yield "the keys of the table", replace(slot, pk=design.slots[0].pk, sk=design.slots[0].sk)


def _guards_and_counters(design: Design, workload: Workload) -> Iterator[DesignMutant]:
    if design.guards:
        yield DesignMutant("no guards", replace(design, guards=()))
        turned = tuple(replace(guard, attributes=guard.attributes[::-1]) for guard in design.guards)
        if turned != design.guards:
            yield DesignMutant("guards in another order", replace(design, guards=turned))
    if design.counters:
        yield DesignMutant("no counters", replace(design, counters=()))
        no_shards = tuple(replace(counter, shards=0) for counter in design.counters)
        yield DesignMutant("counters without shards", replace(design, counters=no_shards))
    if design.stores:
        yield DesignMutant("no stores", replace(design, stores=()))
    entity = workload.entities[0].name
    yield DesignMutant("a guard of an unknown attribute", replace(design, guards=(Guard(entity, (NOWHERE,)),)))
    yield DesignMutant("a guard of an unknown entity", replace(design, guards=(Guard("Nobody", ("id",)),)))


# --- Items and their keys -------------------------------------------------------------------------------------------


def _items(item: Item, entity: Entity, design: Design) -> Iterator[tuple[str, Item | None]]:
    yield "removed", None
    yield "another entity", replace(item, entity="Nobody")
    yield "no type", replace(item, tag="")
    yield "no keys", replace(item, facets=())
    names = [attribute.name for attribute in entity.attributes]
    if item.copy:
        yield "a copy of its id alone", replace(item, attributes=tuple(a.name for a in entity.id))
        yield "a copy of an unknown attribute", replace(item, attributes=(NOWHERE,))
    else:
        yield "a copy, and no item", replace(item, copy="lookup")
    for number, facet in enumerate(item.facets):
        for text, changed in _facets(facet, names):
            facets = _with_element(item.facets, number, changed)
            yield f"{facet.slot}: {text}", replace(item, facets=facets)
    for slot in design.indexes:
        if item.facet(slot.name) is None:
            added = Facet(slot.name, item.facets[0].pk[:1] * len(slot.pk), item.facets[0].sk[:1] * len(slot.sk))
            yield f"{slot.name}: added", replace(item, facets=(*item.facets, added))


def _facets(facet: Facet, names: Sequence[str]) -> Iterator[tuple[str, Facet | None]]:
    yield "removed", None
    yield "in an unknown slot", replace(facet, slot="gsi99")
    yield "without a sort key", replace(facet, sk=())
    yield "the sort key as partition key", replace(facet, pk=facet.sk, sk=facet.pk)
    yield "written and not read", replace(facet, write_only=True)
    for text, conditions in _conditions(names):
        yield text, replace(facet, when=conditions)
    if facet.when:
        yield "for all items", replace(facet, when=())
    for number, template in enumerate(facet.pk):
        for text, changed in _templates(template, names):
            yield f"partition key {text}", replace(facet, pk=_with_element(facet.pk, number, changed))
    for number, template in enumerate(facet.sk):
        for text, changed in _templates(template, names):
            yield f"sort key {text}", replace(facet, sk=_with_element(facet.sk, number, changed))


def _conditions(names: Sequence[str]) -> Iterator[tuple[str, tuple[When, ...]]]:
    yield "if an unknown attribute exists", (When(NOWHERE),)
    yield f"if {names[-1]} exists", (When(names[-1]),)
    yield f"if {names[-1]} is absent", (When(names[-1], absent=True),)
    yield f"if {names[-1]} is a word", (When(names[-1], ("WORD",)),)
    yield f"if {names[0]} is a word", (When(names[0], ("WORD",)),)


def _templates(template: str, names: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Other templates for a part of a key, with what is different."""
    texts = {
        "an unknown attribute": f"{template}#{{{NOWHERE}}}",
        "only an unknown attribute": f"{{{NOWHERE}}}",
        "a constant": "ALL",
        "empty": "",
        "an unclosed field": f"{template}{{",
        "two fields without a separator": f"{template}{{{names[0]}}}{{{names[-1]}}}",
        "an unknown spec": f"{{{names[-1]}:sideways}}",
        "a date format": f"DAY#{{{names[-1]}:MM/DD/YY}}",
        "rounded": f"N#{{{names[-1]}:floor}}",
        "padded": f"N#{{{names[-1]}:06d}}",
        "descending": f"N#{{{names[-1]}:desc}}",
        "by day": f"DAY#{{{names[-1]}:day}}",
        "in shards": f"{template}#{{{names[0]}:shard(4)}}",
        "in shards of an unknown attribute": f"{template}#{{{NOWHERE}:shard(4)}}",
        "an optional part": f"{template}#{{{names[-1]}?}}",
        "the last attribute": f"X#{{{names[-1]}}}",
        "the last attribute alone": f"{{{names[-1]}}}",
        "other characters": f"é ☃#{template}",
    }
    for field in fields_of(template):
        texts[f"{field} with another name"] = template.replace(f"{{{field}", f"{{{NOWHERE}")
        texts[f"{field} as {names[-1]}"] = template.replace(f"{{{field}", f"{{{names[-1]}")
    return [(text, changed) for text, changed in texts.items() if changed != template]
