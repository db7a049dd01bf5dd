"""Sketches access patterns for existing keys: a read for each key, and the obvious writes."""

from __future__ import annotations

from prejoin.design.mapping.facets import planner_facet
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item, When
from prejoin.keys import fields_of
from prejoin.workload.model import Combine, Entity, Input, Op, Pattern, Read, Result, Value, Workload
from prejoin.workload.stubs import add, create, delete, get, plural


def sketch_patterns(workload: Workload, design: Design) -> Workload:
    """The workload with a read for each key and item collection that is served, and writes for each entity."""
    asked = workload
    for read in _reads(workload, design):
        asked = add(asked, "reads", read)
    # Types that share a partition without words of their own cannot be read alone.
    mapped = map_patterns(design, asked)
    for read in asked.reads:
        if (found := mapped.operation(read.id)) and found.served:
            workload = add(workload, "reads", read)
    for kind, of in (("writes", create), ("deletes", delete)):
        for entity in workload.entities:
            pattern: Pattern = of(entity)
            workload = add(workload, kind, pattern)
    return workload


def _reads(workload: Workload, design: Design) -> list[Read]:
    found = [get(entity) for entity in workload.entities]
    together: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for item in design.items:
        entity = workload.entity(item.entity)
        for facet in item.facets if entity else ():
            assert entity is not None
            if (read := _list(design, entity, item, facet)) and not _is_asked(read, found):
                found.append(read)
            names = together.setdefault((facet.slot, facet.pk), [])
            if item.entity not in names:
                names.append(item.entity)
    for (_, pk), names in together.items():
        given = tuple(dict.fromkeys(name for text in pk for name in fields_of(text)))
        if len(names) > 1 and given:
            told = f"List the {', '.join(map(plural, names[:-1]))} and {plural(names[-1])} by {' and '.join(given)}"
            inputs = tuple(Input(name) for name in given)
            read = Read("", "", tuple(names), told, inputs, Result.MANY, paginated=True, combine=Combine.COLLECTION)
            found += [] if _is_asked(read, found) else [read]
    return found


def _list(design: Design, entity: Entity, item: Item, facet: Facet) -> Read | None:
    """The read of a partition; None if it is one item, which has a read by id."""
    pk = tuple(dict.fromkeys(name for text in facet.pk for name in fields_of(text)))
    if facet.slot == TABLE and all(set(fields_of(text)) <= set(pk) for text in facet.sk):
        return None
    by = f" by {' and '.join(pk)}" if pk else ""
    told = f"List {'the' if pk else 'all'} {plural(entity.name)}{by}"
    there = {when.attribute: _condition(when) for when in facet.when if when.values or when.absent}
    # An item without the sort attribute is not in the index, so the read asks for a range of it.
    sorted_by = [entity.attribute(name) for text in facet.sk for name in fields_of(text)][:1]
    spans = tuple(Input(a.name, Op.BETWEEN) for a in sorted_by if a and a.optional and a.name not in pk)
    inputs = (*({name: Input(name) for name in pk} | there).values(), *spans)
    held = planner_facet(design, entity, item, facet).holds
    needs = () if held is None else tuple(a.name for a in entity.attributes if a.name in held)
    return Read("", "", (entity.name,), told, inputs, Result.MANY, needs, paginated=True)


def _condition(when: When) -> Input:
    """The condition of a sparse index as an input."""
    if when.absent:
        return Input(when.attribute, Op.NOT_EXISTS)
    values = tuple(Value(const=value) for value in when.values)
    return Input(when.attribute, Op.EQ if len(values) == 1 else Op.IN, values)


def _is_asked(read: Read, found: list[Read]) -> bool:
    return any((r.entities, r.inputs, r.result) == (read.entities, read.inputs, read.result) for r in found)
