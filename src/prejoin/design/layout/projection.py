"""Projections of the indexes: `with_projections(design, workload)`, after the keys are selected.

An index holds whole items, unless every read from it names the attributes it wants and a narrower index is worth it.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from prejoin.design.cost.bill import bill
from prejoin.design.mapping.map_patterns import map_changed_index, map_patterns
from prejoin.design.mapping.map_reads import ask_of
from prejoin.design.model import TABLE, Design, Operation, Projection, ProjectionKind, Request, Slot
from prejoin.protocol.limits import INDEX_PROJECTED_ATTRIBUTES, PROJECTED_ATTRIBUTES
from prejoin.workload.model import Read, Workload

WORTH = Decimal(1)
"""The least monthly saving in dollars for a narrower index: later reads cannot get what it does not hold."""


def with_projections(design: Design, workload: Workload, kept: Design | None = None) -> Design:
    """The mapped design with the cheapest projection of each index that still serves all of its reads.

    Indexes of an approved design keep their projections, because DynamoDB cannot change them.
    """
    whole = bill(workload, design).total
    found: list[tuple[Decimal, str, Projection]] = []
    there = {slot.name for slot in kept.slots} if kept else set()
    for slot in (one for one in design.indexes if one.name not in there):
        for projection, narrow in _narrower(slot, design, workload):
            saved = whole - bill(workload, narrow).total
            if saved >= WORTH:
                found.append((saved, slot.name, projection))
    chosen: dict[str, Projection] = {}
    for _, name, projection in sorted(found, key=lambda one: (-one[0], one[1])):
        named = sum(len(p.attributes) for p in chosen.values()) + len(projection.attributes)
        if name not in chosen and named <= PROJECTED_ATTRIBUTES:
            chosen[name] = projection
    return map_patterns(_holding(design, chosen), workload) if chosen else design


def _holding(design: Design, projections: dict[str, Projection]) -> Design:
    """The design with other projections, not mapped yet."""
    slots = tuple(replace(s, projection=projections.get(s.name, s.projection)) for s in design.slots)
    return replace(design, slots=slots)


def _narrower(slot: Slot, design: Design, workload: Workload) -> list[tuple[Projection, Design]]:
    """Projections of an index with which the planner answers every pattern in the same way, each with its design.

    Reads of whole items may take an index with the same keys that comes later.
    """
    twin = twin_of(slot, design)
    needed = attributes_read(slot, design, workload, whole=twin is None)
    if needed is None:
        return []
    there = [e for i in design.items if i.facet(slot.name) and (e := workload.entity(i.entity))]
    attributes = {a.name: a for entity in there for a in entity.attributes}
    # The TTL attribute shows whether an item has expired.
    ending = {a.name for entity in there for a in entity.attributes if a.ttl}
    keys = {key.name for s in (design.slots[0], slot) for key in (*s.pk, *s.sk)}
    included = sorted(((needed & set(attributes)) | ending) - keys)
    # A filter tests attributes, and not the parts of a key.
    filters = any(r.filters for operation in design.operations for r in operation.requests if r.slot == slot.name)
    found = [] if ending or filters else [Projection(ProjectionKind.KEYS_ONLY)]
    # The type attribute tells several types of items apart.
    named = (design.type_attribute, *included)
    if len(named) <= INDEX_PROJECTED_ATTRIBUTES:
        found.append(Projection(ProjectionKind.INCLUDE, named))
    before = [_asked(one, slot, twin) for one in design.operations]
    mapped = [(one, map_changed_index(_holding(design, {slot.name: one}), workload, slot.name)) for one in found]
    return [
        (projection, narrow)
        for projection, narrow in mapped
        if [_asked(one, slot, twin) for one in narrow.operations] == before
    ]


def twin_of(slot: Slot, design: Design) -> Slot | None:
    """A later index with all keys of this one: reads of whole items can take it, and this one may hold less."""

    def keys(name: str) -> set[tuple[object, ...]]:
        return {(item.name, f.pk, f.sk, f.when) for item in design.items if (f := item.facet(name))}

    later = design.indexes[design.indexes.index(slot) + 1 :]
    return next((other for other in later if keys(slot.name) <= keys(other.name)), None)


def without_index(slot: Slot, design: Design, workload: Workload) -> Design:
    """The design without an index, mapped again."""
    items = [replace(i, facets=tuple(f for f in i.facets if f.slot != slot.name)) for i in design.items]
    slots = tuple(other for other in design.slots if other is not slot)
    return map_patterns(replace(design, slots=slots, items=tuple(items)), workload)


def _asked(operation: Operation, slot: Slot, twin: Slot | None) -> Operation:
    """The operation without its units, as if an index and its twin were the same."""
    requests = operation.requests
    if twin is not None:
        requests = tuple(replace(r, slot=slot.name) if r.slot == twin.name else r for r in requests)
    return replace(operation, requests=requests, units=None)


def attributes_read(slot: Slot, design: Design, workload: Workload, whole: bool = True) -> frozenset[str] | None:
    """The attributes that are read from an index; None if that is all of them, or if nothing reads it.

    If reads of whole items have another index, they count only where `whole` is set.
    """
    found: set[str] = set()
    asked = False
    for operation in design.operations:
        for request in operation.requests:
            if request.slot != slot.name or request.slot == TABLE:
                continue
            names = _wanted_by(operation, request, workload)
            if names is None:
                if whole:
                    return None
                continue
            asked = True
            found |= names
    return frozenset(found) if asked else None


def _wanted_by(operation: Operation, request: Request, workload: Workload) -> set[str] | None:
    read = workload.pattern(operation.pattern)
    if not isinstance(read, Read):
        return set(request.attributes) or None
    if request is not operation.requests[0]:
        return set(request.attributes) or None
    ask = ask_of(read, workload)
    if ask.needs is None:
        return None
    return {ask.attribute(entity, name) for entity in ask.entities for name in ask.needs}
