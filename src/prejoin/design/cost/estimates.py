"""Estimated sizes and counts of what requests read and write, from the document's figures and assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec.structs import replace

from prejoin import keys
from prejoin.design.cost.assumptions import (
    BUCKET_SECONDS,
    BUCKETS,
    COUNTER,
    GUARD,
    LISTED,
    PRESENT,
    SEVERAL,
    count_by,
    count_of,
    kept_by,
    kept_by_all,
    several,
    share_within,
    size_of,
    span,
    value_sizes,
    values_of,
    versions_of,
)
from prejoin.design.cost.contents import contents
from prejoin.design.cost.footprint import EntryWrite, PageRead
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.mapping.map_reads import group_text, is_membership
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    Item,
    ItemAction,
    ItemName,
    Operation,
    Projection,
    ProjectionKind,
    Request,
    UpdateClause,
)
from prejoin.protocol.limits import PAGE_SIZE
from prejoin.workload.lookup import alternatives, bindings
from prejoin.workload.model import RANGES, Entity, Input, Op, Read, Result, Verb, Workload, Write

_BUCKET_SIZES = {"year": 4, "month": 7, "week": 8, "day": 10, "hour": 13}


@dataclass(frozen=True)
class Estimates:
    """The footprint of a design's requests, estimated from the document."""

    design: Design
    workload: Workload

    # --- Reading ----------------------------------------------------------------------------------------------------

    def pages(self, operation: Operation, request: Request) -> Iterable[PageRead]:
        pattern = self.workload.pattern(operation.pattern)
        sizes = [self.size(name, request.slot) for name in self._read(request)]
        if isinstance(pattern, Write):  # a lookup before the write
            number = self._looked_up(pattern, operation, request)
            each = request.call is Call.GET  # many items are found by one Query, and read one by one
            return [PageRead(size, number) if each else PageRead(size * number) for size in sizes]
        if pattern is None:
            return []
        first = operation.requests[0]
        if request.counter:
            entity = ItemName.parse(request.counter).entity
            read = min(self.items(pattern, first), self.found(pattern, first, entity))
            return [PageRead(COUNTER, read * request.shards)]
        if request is not first:
            return [PageRead(size, self.items(pattern, first)) for size in sizes]  # one request for each item found
        times = float(pattern.limit or LISTED) if request.each else 1.0
        if request.call is not Call.QUERY:
            return [PageRead(size, times) for size in sizes]
        return [replace(page, times=page.times * times) for page in self._query(pattern, request)]

    def _looked_up(self, write: Write, operation: Operation, request: Request) -> int:
        """The number of items that a write finds before it writes them."""
        actions = [a for r in operation.requests for a in r.actions if a.many and a.target.entity in request.entities]
        return self._times(write, actions[0]) if actions else 1

    def items(self, read: Read, request: Request) -> float:
        """The number of items that one call of a read returns, of all its entities."""
        limit = read.limit or read.page
        kept = kept_by_all(self.workload, read, _filtered(read, request))
        found = max(1.0, kept * sum(self.found(read, request, name) for name in request.entities))
        if request.each:
            found *= LISTED
        return min(found, float(limit)) if limit else found

    def found(self, read: Read, request: Request, name: str) -> float:
        """The number of items of an entity that the keys find in one call, on all pages, before any filter."""
        entity = self.workload.entity(name)
        if entity is None:
            return 0.0
        left = _filtered(read, request)
        bound = {
            i: attribute
            for i in read.inputs
            if i not in left and (attribute := bindings(self.workload, request.entities, i.attribute).get(name))
        }
        if read.result is Result.ONE and len(request.entities) == 1 and not left:
            return 1.0
        found = count_by(self.workload, entity, [a for i, a in bound.items() if i.op is Op.EQ and i.keeps is None])
        for one in bound:
            if one.op is Op.EQ and one.keeps is not None:
                found *= one.keeps / 100
            elif one.op in RANGES:
                found *= share_within(self.workload, entity, one)
            elif is_membership(one):
                found *= kept_by(self.workload, read, one)
        return max(1.0, found)

    def _query(self, read: Read, request: Request) -> Iterator[PageRead]:
        """The pages of one Query, for each shard and time bucket, limited by the page size and by 1 MB."""
        counts = {name: self.found(read, request, name) for name in request.entities}
        total = sum(counts.values())
        sizes = dict(zip(request.entities, (self.size(n, request.slot) for n in self._read(request)), strict=True))
        average = sum(counts[name] * sizes[name] for name in counts) / total
        buckets = float(self._buckets(read, request))
        each = total / buckets / request.shards
        if limit := read.limit or read.page:
            wanted = limit / kept_by_all(self.workload, read, _filtered(read, request))
            each_wanted = min(each, wanted)
            # Time buckets are read one after the other until there are enough items.
            buckets = min(buckets, math.ceil(wanted / (each * request.shards)))
        else:
            each_wanted = each
        size = round(each_wanted * average)
        whole, rest = divmod(size, PAGE_SIZE)
        if whole and read.paginated and not limit:
            whole, rest = 1, 0
        parts = buckets * request.shards
        if whole:
            yield PageRead(PAGE_SIZE, parts * whole)
        if rest or not whole:
            yield PageRead(rest, parts)

    def _buckets(self, read: Read, request: Request) -> int:
        if not request.bucket:
            return 1
        for one in read.inputs:
            if one.op in RANGES and (seconds := span(one)) is not None:
                return seconds // BUCKET_SECONDS[request.bucket] + 1
        return BUCKETS

    def _read(self, request: Request) -> list[str]:
        """The items that a request reads: those of its entities, or their copies."""
        copies = {ItemName.parse(copy).entity: copy for copy in request.copies}
        return [copies.get(name, name) for name in request.entities]

    # --- Writing ----------------------------------------------------------------------------------------------------

    def entries(self, operation: Operation, request: Request) -> Iterable[EntryWrite]:
        write = self.workload.pattern(operation.pattern)
        for action in request.actions:
            if isinstance(write, Write) and _expires(write, action):
                continue  # DynamoDB does not charge for expiry
            times = float(self._times(write, action)) if isinstance(write, Write) and action.many else 1.0
            for entry in self.touched(action):
                yield replace(entry, times=entry.times * times)

    def touched(self, action: ItemAction) -> Iterator[EntryWrite]:
        """The effect of an action on one item and its index entries."""
        target = action.target
        name, copy = target.entity, target.copy
        entity, item = self.workload.entity(name), self.design.item(name, copy)
        if target.guard:
            yield _changed(TABLE, GUARD, action.action)
        elif target.history:
            yield _changed(TABLE, self.size(action.item), action.action)
        elif target.counter:
            counter = self.design.counter(name)
            all_ = counter.shards if counter and action.action is Did.DELETE else 1
            yield replace(_changed(TABLE, COUNTER, action.action), times=all_)
        elif entity is None or item is None:
            return
        elif action.action is Did.CHECK:
            yield _changed(TABLE, self.size(action.item), action.action)
        elif copy and action.action is Did.UPDATE and self._moves(action, entity, item):
            for did in (Did.DELETE, Did.PUT):
                yield from self.touched(replace(action, action=did))
        elif not (copy and action.action is Did.UPDATE and self._unheld(action, entity, item)):
            for facet in self.facets[name, copy]:
                yield from self._entries(action, entity, facet)

    def _moves(self, action: ItemAction, entity: Entity, copy: Item) -> bool:
        """Whether an update changes the key of a copy."""
        facets = self.facets[entity.name, copy.copy]
        return bool(facets) and not changed_by(action, entity).isdisjoint(facets[0].placing)

    def _unheld(self, action: ItemAction, entity: Entity, copy: Item) -> bool:
        """Whether an update changes no attribute of a copy."""
        changed = changed_by(action, entity)
        return bool(copy.attributes) and bool(changed) and changed.isdisjoint(copy.attributes)

    def _entries(self, action: ItemAction, entity: Entity, facet: keys.Facet) -> Iterator[EntryWrite]:
        size = self.size(action.item, facet.slot)
        stays, enters, leaves = chances(self.workload, action, entity, facet)
        if stays:
            changed = changed_by(action, entity)
            moved = facet.slot != TABLE and not changed.isdisjoint(facet.attributes)
            same = facet.slot != TABLE and not moved and self._spared(facet.slot, changed)
            yield EntryWrite(facet.slot, size, size, moved, same, stays)
        if enters:
            yield EntryWrite(facet.slot, after=size, times=enters)
        if leaves:
            yield EntryWrite(facet.slot, before=size, times=leaves)

    def _spared(self, slot: str, changed: set[str]) -> bool:
        """Whether an index holds none of the changed attributes."""
        projection = self._projection(slot)
        if projection.kind is ProjectionKind.ALL or not changed:
            return False
        return not changed & set(projection.attributes)

    def _times(self, write: Write, action: ItemAction) -> int:
        entity = self.workload.entity(action.target.entity)
        return (several(self.workload, write, entity) if entity else None) or SEVERAL

    # --- Sizes ------------------------------------------------------------------------------------------------------

    def size(self, name: str, slot: str = TABLE) -> int:
        """Bytes of a typical item, `Order` or `Order/lookup`, in a slot."""
        target = ItemName.parse(name)
        if target.guard or target.counter:
            return GUARD if target.guard else COUNTER
        owner, copy = target.entity, target.copy
        entity, item = self.workload.entity(owner), self.design.item(owner, copy)
        if entity is None or item is None:
            return 0
        projection = self._projection(slot)
        whole = size_of(entity)
        if projection.kind is ProjectionKind.ALL and not item.attributes:
            return whole
        sizes = value_sizes(entity)
        facets = {facet.slot: facet for facet in self.facets[owner, copy]}
        found = sum(self._key_size(facets[place], sizes) for place in dict.fromkeys((TABLE, slot)) if place in facets)
        names = set(item.attributes or sizes)
        if item.attributes:  # a copy holds its own attributes and those of its keys
            names |= {name for facet in facets.values() for name in facet.attributes}
        if projection.kind is not ProjectionKind.ALL:
            names &= set(projection.attributes)
        if projection.kind is ProjectionKind.ALL or self.design.type_attribute in projection.attributes:
            found += len(self.design.type_attribute) + len(item.tag)
        return min(whole, found + sum(len(name) + sizes[name] for name in names if name in sizes))

    def stored(self) -> Iterator[tuple[str, str, float, int]]:
        """Everything stored: item, slot, number of entries, and bytes of each."""
        for item in self.design.items:
            entity = self.workload.entity(item.entity)
            if entity is None:
                continue
            name = item.name
            count = float(count_of(self.workload, entity))
            for facet in self.facets[item.entity, item.copy]:
                share = share_in(self.workload, entity, facet)
                yield name, facet.slot, count * share, self.size(name, facet.slot)
        for one in contents(self.workload, self.design):
            if not one.stored:
                yield one.name, TABLE, one.count * one.part_count, one.part_size
        for guard in self.design.guards:
            if entity := self.workload.entity(guard.entity):
                count = float(count_of(self.workload, entity))
                yield guard.name, TABLE, count, GUARD
        for counter in self.design.counters:
            if entity := self.workload.entity(counter.entity):
                yield counter.name, TABLE, float(count_of(self.workload, entity)) * counter.shards, COUNTER
        for entity in self.workload.entities:
            if entity.history and self.design.item(entity.name):
                name = str(ItemName(entity.name, history=True))
                yield name, TABLE, versions_of(self.workload, entity, entity.history), self.size(name)

    def _key_size(self, facet: keys.Facet, sizes: Mapping[str, int]) -> int:
        slot = self.design.slot(facet.slot)
        assert slot is not None  # every facet is in one of the slots
        names = sum(len(key.name) for key in (*slot.pk, *slot.sk))
        return names + sum(_form_size(form, sizes) for form in (facet.pk, facet.sk) if form)

    def _projection(self, slot: str) -> Projection:
        found = self.design.slot(slot)
        return found.projection if found and slot != TABLE else Projection()

    @cached_property
    def facets(self) -> dict[tuple[str, str], list[keys.Facet]]:
        """The facets by entity and copy. A design with mistakes can be priced, too."""
        found: dict[tuple[str, str], list[keys.Facet]] = {(item.entity, item.copy): [] for item in self.design.items}
        for facet in usable_facets(self.design, self.workload):
            found[facet.entity, facet.copy].append(facet)
        return found

    def facet(self, entity: str, copy: str, slot: str) -> keys.Facet | None:
        """The facet of an entity's item, or of a copy of it, in a slot."""
        return next((facet for facet in self.facets.get((entity, copy), ()) if facet.slot == slot), None)


def _form_size(form: keys.KeyForm, sizes: Mapping[str, int]) -> int:
    if isinstance(form, keys.Natural):
        return sum(sizes.get(name, 0) for name in form.attributes)
    return sum(_part_size(part, sizes) for part in form.parts)


def _part_size(part: keys.KeyText | keys.KeyField, sizes: Mapping[str, int]) -> int:
    if isinstance(part, keys.KeyText):
        return len(part.text)
    if part.encoding.shards:
        return len(str(part.encoding.shards - 1))
    if part.encoding.bucket:
        return _BUCKET_SIZES.get(part.encoding.bucket, 10)
    return part.encoding.width or sizes.get(part.attribute, 0)


def _changed(slot: str, size: int, did: Did) -> EntryWrite:
    return EntryWrite(slot, 0 if did is Did.PUT else size, 0 if did is Did.DELETE else size)


def _expires(write: Write, action: ItemAction) -> bool:
    expiring = {a.entity for a in write.actions if a.verb is Verb.EXPIRE}
    return action.action is Did.DELETE and action.target.entity in expiring


def _filtered(read: Read, request: Request) -> list[Input]:
    return [i for group in alternatives(read.inputs) if group_text(group) in request.filters for i in group]


def share_in(workload: Workload, entity: Entity, facet: keys.Facet) -> float:
    """The fraction of an entity's items that is in a facet."""
    return math.prod(_share(workload, entity, when) for when in _conditions(entity, facet))


def chances(workload: Workload, action: ItemAction, entity: Entity, facet: keys.Facet) -> tuple[float, float, float]:
    """The fractions of written items that are in a facet before and after, only after, and only before."""
    unmoved = stays = before = after = 1.0
    for when in _conditions(entity, facet):
        share = _share(workload, entity, when)
        change = next((c for c in action.clauses if c.attribute == when.attribute), None)
        if action.action is Did.UPDATE and change is None:
            unmoved *= share
            continue
        was, becomes = _before(action, when, entity, share), _after(change, when, entity, share)
        before, after = before * was, after * becomes
        # An unknown new value is assumed to be a different one.
        stays *= was * becomes if becomes == 1.0 or when.values is None or len(when.values) > 1 else 0.0
    if action.action is Did.PUT:
        return 0.0, after, 0.0
    if action.action is Did.DELETE:
        return 0.0, 0.0, before
    if before == after == 1.0:
        return unmoved, 0.0, 0.0
    return unmoved * stays, unmoved * after * (1 - before), unmoved * before * (1 - after)


def changed_by(action: ItemAction, entity: Entity) -> set[str]:
    """The attributes that an action changes."""
    return {a.name for a in entity.attributes} & {clause.attribute for clause in action.clauses}


def _conditions(entity: Entity, facet: keys.Facet) -> Iterator[keys.When]:
    """The conditions for an item to be in a facet: the stated ones, and the presence of its key attributes."""
    yield from facet.when
    said = {when.attribute for when in facet.when}
    for name in dict.fromkeys(name for form in (facet.pk, facet.sk) if form for name in _required(form)):
        attribute = entity.attribute(name)
        if attribute and attribute.optional and name not in said:
            yield keys.When(name)


def _required(form: keys.KeyForm) -> tuple[str, ...]:
    if isinstance(form, keys.Natural):
        return form.attributes
    return tuple(field.attribute for field in form.fields if not field.optional)


def _share(workload: Workload, entity: Entity, when: keys.When) -> float:
    if when.values is None:
        attribute = entity.attribute(when.attribute)
        present = PRESENT if attribute and attribute.optional else 1.0
        return 1.0 - present if when.absent else present
    return min(1.0, len(when.values) / values_of(workload, entity, when.attribute))


def _before(action: ItemAction, when: keys.When, entity: Entity, share: float) -> float:
    """The fraction of items that meet a condition before a write: all or none if the write has a condition on it."""
    tests = [test for test in action.tests if test.attribute == when.attribute]
    if when.absent and any(test.op == Op.NOT_EXISTS for test in tests):
        return 1.0
    return _fulfil(next((test.value for test in tests if test.op == Op.EQ), ""), when, entity, share)


def _after(change: UpdateClause | None, when: keys.When, entity: Entity, share: float) -> float:
    """The fraction of items that meet a condition after a change."""
    if change and when.values is None:
        return float((change.action == "REMOVE") == when.absent)
    return _fulfil(change.value if change else "", when, entity, share)


def _fulfil(value: str, when: keys.When, entity: Entity, share: float) -> float:
    """All or none for a known value, else the usual fraction."""
    value = value.strip('"')
    if when.values and value in {str(v) for v in when.values}:
        return 1.0
    attribute = entity.attribute(when.attribute)
    return 0.0 if when.values and attribute and value in attribute.type.values else share
