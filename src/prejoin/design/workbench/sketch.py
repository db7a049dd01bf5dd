"""Sketches access patterns for existing keys: a read for each key, and the obvious writes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from prejoin.design.mapping.facets import planner_facet
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item, When
from prejoin.keys import fields_of
from prejoin.workload.model import Combine, Entity, Input, Op, Pattern, Read, Result, Value, Workload
from prejoin.workload.stubs import add, create, delete, get, plural


def sketch_patterns(workload: Workload, design: Design) -> Workload:
    """The workload with a read for each key and item collection that is served, and writes for each entity."""
    candidates = workload
    for read in _reads(workload, design):
        candidates = add(candidates, "reads", read)
    # Types that share a partition without words of their own cannot be read alone.
    mapped_design = map_patterns(design, candidates)
    for read in candidates.reads:
        operation = mapped_design.operation(read.id)
        if operation is not None and operation.served:
            workload = add(workload, "reads", read)
    for kind, make_pattern in (("writes", create), ("deletes", delete)):
        for entity in workload.entities:
            pattern: Pattern = make_pattern(entity)
            workload = add(workload, kind, pattern)
    return workload


def _reads(workload: Workload, design: Design) -> list[Read]:
    reads = [get(entity) for entity in workload.entities]
    collections: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for item in design.items:
        entity = workload.entity(item.entity)
        if entity is None:
            continue
        for facet in item.facets:
            read = _partition_read(design, entity, item, facet)
            if read is not None and not _is_among(read, reads):
                reads.append(read)
            names = collections.setdefault((facet.slot, facet.pk), [])
            if item.entity not in names:
                names.append(item.entity)
    for (_, pk), names in collections.items():
        key_names = _names_in(pk)
        if len(names) > 1 and key_names:
            read = _collection_read(names, key_names)
            if not _is_among(read, reads):
                reads.append(read)
    return reads


def _collection_read(names: Sequence[str], key_names: Sequence[str]) -> Read:
    entities = f"{', '.join(map(plural, names[:-1]))} and {plural(names[-1])}"
    description = f"List the {entities} by {' and '.join(key_names)}"
    inputs = tuple(Input(name) for name in key_names)
    return Read("", "", tuple(names), description, inputs, Result.MANY, paginated=True, combine=Combine.COLLECTION)


def _partition_read(design: Design, entity: Entity, item: Item, facet: Facet) -> Read | None:
    """The read of a partition; None if it is one item, which has a read by id."""
    key_names = _names_in(facet.pk)
    sort_names = _names_in(facet.sk)
    if facet.slot == TABLE and set(sort_names) <= set(key_names):
        return None
    inputs = {name: Input(name) for name in key_names}
    for when in facet.when:
        if when.values or when.absent:
            inputs[when.attribute] = _condition(when)
    spans: list[Input] = []
    if sort_names and _may_be_absent(entity, sort_names[0]) and sort_names[0] not in key_names:
        spans.append(Input(sort_names[0], Op.BETWEEN))
    # An index or a copy may hold less than whole items. The read then needs just that.
    projection = planner_facet(design, entity, item, facet).holds
    needs: tuple[str, ...] = ()
    if projection is not None:
        needs = tuple(name for name in entity.types if name in projection)
    quantifier = "the" if key_names else "all"
    by = f" by {' and '.join(key_names)}" if key_names else ""
    description = f"List {quantifier} {plural(entity.name)}{by}"
    return Read("", "", (entity.name,), description, (*inputs.values(), *spans), Result.MANY, needs, paginated=True)


def _may_be_absent(entity: Entity, name: str) -> bool:
    """Whether an item may lack a sort attribute: then it is not in the index, and the read asks for a range of it."""
    attribute = entity.attribute(name)
    return attribute is not None and attribute.optional


def _names_in(texts: Sequence[str]) -> tuple[str, ...]:
    """The attributes in key templates, each once."""
    return tuple(dict.fromkeys(chain.from_iterable(map(fields_of, texts))))


def _condition(when: When) -> Input:
    """The condition of a sparse index as an input."""
    if when.absent:
        return Input(when.attribute, Op.NOT_EXISTS)
    values = tuple(Value(const=value) for value in when.values)
    return Input(when.attribute, Op.EQ if len(values) == 1 else Op.IN, values)


def _is_among(read: Read, reads: list[Read]) -> bool:
    """Whether another read asks for the same."""
    question = (read.entities, read.inputs, read.result)
    return question in [(other.entities, other.inputs, other.result) for other in reads]
