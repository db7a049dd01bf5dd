"""Projections of the indexes: `with_projections(design, workload)`, after the keys are selected.

An index holds whole items, unless every read from it names the attributes it wants and a narrower index is worth it.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import product

from msgspec.structs import replace

from prejoin.constructs.registry import held_attributes
from prejoin.design.cost.bill import bill
from prejoin.design.mapping.map_patterns import map_changed_index, map_patterns
from prejoin.design.mapping.map_reads import ask_of
from prejoin.design.model import TABLE, Design, Item, Operation, Projection, ProjectionKind, Request, Slot
from prejoin.protocol.limits import INDEX_PROJECTED_ATTRIBUTES, PROJECTED_ATTRIBUTES
from prejoin.workload.model import Read, Workload

WORTH = Decimal(1)
"""The least monthly saving in dollars for a narrower index: later reads cannot get what it does not hold."""


def with_projections(design: Design, workload: Workload, kept: Design | None = None) -> Design:
    """The mapped design with the cheapest projection of each index that still serves all of its reads.

    Indexes of an approved design keep their projections, because DynamoDB cannot change them.
    """
    current = bill(workload, design).total
    approved_slots = {slot.name for slot in kept.slots} if kept else set()
    savings: list[tuple[Decimal, str, Projection]] = []
    for slot in design.indexes:
        if slot.name not in approved_slots:
            for projection, narrow_design in _narrower(slot, design, workload):
                saving = current - bill(workload, narrow_design).total
                if saving >= WORTH:
                    savings.append((saving, slot.name, projection))
    projections: dict[str, Projection] = {}
    # DynamoDB limits the attributes that all indexes of a table name together: the largest savings come first.
    for _, name, projection in sorted(savings, key=lambda saving: (-saving[0], saving[1])):
        named_count = sum(len(p.attributes) for p in projections.values()) + len(projection.attributes)
        if name not in projections and named_count <= PROJECTED_ATTRIBUTES:
            projections[name] = projection
    return map_patterns(_with_projected(design, projections), workload) if projections else design


def _with_projected(design: Design, projections: dict[str, Projection]) -> Design:
    """The design with other projections, not mapped yet."""
    slots = [replace(slot, projection=projections.get(slot.name, slot.projection)) for slot in design.slots]
    return replace(design, slots=tuple(slots))


def _narrower(slot: Slot, design: Design, workload: Workload) -> list[tuple[Projection, Design]]:
    """Projections of an index with which the planner answers every pattern in the same way, each with its design.

    Reads of whole items may take an index with the same keys that comes later.
    """
    twin = twin_of(slot, design)
    needed_names = attributes_read(slot, design, workload, whole=twin is None)
    if needed_names is None:
        return []
    operations = [_without_units(operation, slot, twin) for operation in design.operations]
    result: list[tuple[Projection, Design]] = []
    for projection in _possible_projections(slot, design, workload, needed_names):
        projected_design = _with_projected(design, {slot.name: projection})
        narrow_design = map_changed_index(projected_design, workload, slot.name)
        if [_without_units(operation, slot, twin) for operation in narrow_design.operations] == operations:
            result.append((projection, narrow_design))
    return result


def _possible_projections(
    slot: Slot, design: Design, workload: Workload, needed_names: frozenset[str]
) -> list[Projection]:
    """The projections of an index that hold some attributes, and what reads test to hide items."""
    included_names, tests = _held_attributes(slot, design, workload, needed_names)
    # A filter tests attributes, and not the parts of a key.
    has_filters = any(_filters_in(operation, slot) for operation in design.operations)
    projections = [] if tests or has_filters else [Projection(ProjectionKind.KEYS_ONLY)]
    # The type attribute tells several types of items apart.
    names = (design.type_attribute, *included_names)
    if len(names) <= INDEX_PROJECTED_ATTRIBUTES:
        projections.append(Projection(ProjectionKind.INCLUDE, names))
    return projections


def _filters_in(operation: Operation, slot: Slot) -> bool:
    return any(request.filters for request in operation.requests if request.slot == slot.name)


def _held_attributes(
    slot: Slot, design: Design, workload: Workload, needed_names: frozenset[str]
) -> tuple[list[str], set[str]]:
    """The attributes that an index has to hold beside keys, and those of them that reads test to hide items."""
    names_in_index = {item.entity for item in design.items if item.facet(slot.name)}
    attribute_names: set[str] = set()
    tests: set[str] = set()
    for entity in workload.entities:
        if entity.name in names_in_index:
            attribute_names |= {a.name for a in entity.attributes}
            tests |= {name for name in held_attributes(entity) if entity.attribute(name)}
    # Every index holds its own keys and those of the table.
    return sorted(((needed_names & attribute_names) | tests).difference(design.table_keys, slot.key_names)), tests


def twin_of(slot: Slot, design: Design) -> Slot | None:
    """A later index with all keys of this one: reads of whole items can take it, and this one may hold less."""

    def keys(name: str) -> set[tuple[object, ...]]:
        facets = [(item.name, item.facet(name)) for item in design.items]
        return {(item_name, facet.pk, facet.sk, facet.when) for item_name, facet in facets if facet}

    position = design.indexes.index(slot)
    # A later one, because clients take the first index that serves a read.
    for other in design.indexes[position + 1 :]:
        if keys(slot.name) <= keys(other.name):
            return other
    return None


def without_index(slot: Slot, design: Design, workload: Workload) -> Design:
    """The design without an index, mapped again."""
    items = tuple(_without_facet(item, slot) for item in design.items)
    slots = tuple(other for other in design.slots if other is not slot)
    return map_patterns(replace(design, slots=slots, items=items), workload)


def _without_facet(item: Item, slot: Slot) -> Item:
    return replace(item, facets=tuple(facet for facet in item.facets if facet.slot != slot.name))


def _without_units(operation: Operation, slot: Slot, twin: Slot | None) -> Operation:
    """The operation without its units, as if an index and its twin were the same."""
    requests = operation.requests
    if twin is not None:
        # A read of whole items may move to the twin: that is the same answer.
        requests = tuple(replace(r, slot=slot.name) if r.slot == twin.name else r for r in requests)
    return replace(operation, requests=requests, units=None)


def attributes_read(slot: Slot, design: Design, workload: Workload, whole: bool = True) -> frozenset[str] | None:
    """The attributes that are read from an index; None if that is all of them, or if nothing reads it.

    If reads of whole items have another index, they count only where `whole` is set.
    """
    names: set[str] = set()
    is_read = False
    for operation in design.operations:
        for request in operation.requests:
            if request.slot != slot.name or request.slot == TABLE:
                continue
            wanted_names = _wanted_by(operation, request, workload)
            if wanted_names is None:
                if whole:
                    return None
                continue
            is_read = True
            names |= wanted_names
    return frozenset(names) if is_read else None


def _wanted_by(operation: Operation, request: Request, workload: Workload) -> set[str] | None:
    """The attributes that a request wants; None for whole items."""
    read = workload.pattern(operation.pattern)
    # A write, and the second request of a join, name the attributes that they project.
    if not isinstance(read, Read) or request is not operation.requests[0]:
        return set(request.attributes) or None
    ask = ask_of(read, workload)
    # No list of attributes means the whole item.
    if ask.needs is None:
        return None
    return {ask.attribute(entity, name) for entity, name in product(ask.entities, ask.needs)}
