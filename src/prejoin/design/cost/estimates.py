"""Estimated sizes and counts of what requests read and write, from the document's figures and assumptions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from msgspec.structs import replace

from prejoin import keys
from prejoin.constructs.registry import added_in, added_key, construct_of, lines_in
from prejoin.design.cost.assumptions import (
    BUCKET_SECONDS,
    BUCKETS,
    LISTED,
    SEVERAL,
    count_by,
    count_of,
    kept_by,
    kept_by_all,
    several,
    share_meeting,
    share_within,
    size_of,
    span,
    stated_share,
    usage_of,
    value_sizes,
)
from prejoin.design.cost.footprint import EntryWrite, PageRead
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Did,
    Item,
    ItemAction,
    ItemChange,
    ItemName,
    Operation,
    Projection,
    ProjectionKind,
    Request,
)
from prejoin.protocol.limits import PAGE_SIZE
from prejoin.workload.model import (
    RANGES,
    Absence,
    ChangeOp,
    Comparison,
    Entity,
    Leaf,
    Op,
    Read,
    Result,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.program.resolved_read import Clause, Role, resolve_read

_BUCKET_SIZES = {"year": 4, "month": 7, "week": 8, "day": 10, "hour": 13}


@dataclass(frozen=True)
class Estimates:
    """The footprint of a design's requests, estimated from the document."""

    design: Design
    workload: Workload

    # --- Reading ----------------------------------------------------------------------------------------------------

    def pages(self, operation: Operation, request: Request) -> Iterable[PageRead]:
        pattern = self.workload.pattern(operation.pattern)
        sizes = [self.size(name, request.slot) for name in self._item_names(request)]
        if isinstance(pattern, Write):  # a lookup before the write
            number = self._items_to_find(pattern, operation, request)
            lookups = self._lookups(pattern, operation, request, number)
            return [PageRead(math.ceil(size * number / lookups), lookups) for size in sizes]
        if pattern is None:
            return []
        first = operation.requests[0]
        if request.counter:
            items = min(self.items(pattern, first), self.items_found(pattern, first, request.counter.entity))
            return [PageRead(self.size(request.counter), items * request.shards)]
        if request is not first:
            return [PageRead(size, self.items(pattern, first)) for size in sizes]  # one request for each item found
        times = float(pattern.limit or LISTED) if request.each else 1.0
        if request.call is not Call.QUERY:
            return [PageRead(size, times) for size in sizes]
        return [replace(page, times=page.times * times) for page in self._query(pattern, request)]

    def _items_to_find(self, write: Write, operation: Operation, request: Request) -> int:
        """The number of items that a write finds before it writes them."""
        return self._times_in_list(write, operation, request.entities)

    def _times_in_list(self, write: Write, operation: Operation, names: Collection[str]) -> int:
        """The number of items of a list that a write changes; 1 if it changes no list of these entities."""
        for action in operation.actions:
            if action.many and action.item.entity in names:
                return self._times(write, action)
        return 1

    def _lookups(self, write: Write, operation: Operation, request: Request, number: int) -> int:
        """The number of requests by which a write finds this number of items."""
        if request.call is Call.GET:
            return number  # found by one Query, and read one by one
        if not request.each:
            return 1
        entity_name, _, _ = request.each.rpartition(".")
        if not entity_name or self.workload.entity(entity_name) is None:
            return number  # an id for each, which the caller gives
        return min(number, self._times_in_list(write, operation, (entity_name,)))

    def items(self, read: Read, request: Request) -> float:
        """The number of items that one call of a read returns, of all its entities."""
        limit = read.limit or read.page
        share = self._share_passing(read, request)
        number = max(1.0, share * sum(self.items_found(read, request, name) for name in request.entities))
        if request.each:
            number *= LISTED
        return min(number, float(limit)) if limit else number

    def items_found(self, read: Read, request: Request, name: str) -> float:
        """The number of items of an entity that the keys find in one call, on all pages, before any filter."""
        entity = self.workload.entity(name)
        if entity is None:
            return 0.0
        if read.result is Result.ONE and len(request.entities) == 1 and not request.filters:
            return 1.0
        tested_inputs = request.tested_inputs
        own_clauses = [clause for clause in resolve_read(self.workload, read).clauses if name in clause.bound]
        key_clauses = [clause for clause in own_clauses if clause.input not in tested_inputs]
        # A share that the document states replaces the count of values.
        values = [clause for clause in key_clauses if clause.is_value and clause.input.keeps is None]
        number = count_by(self.workload, entity, [clause.bound[name].name for clause in values])
        for clause in key_clauses:
            number *= self._share_found(entity, clause)
        return max(1.0, number)

    def _share_found(self, entity: Entity, clause: Clause) -> float:
        """The fraction of items that an input of a key finds; 1 for a value, of which the number of items is known."""
        match clause.role:
            case Role.EQUAL | Role.OPTIONAL:
                return 1.0 if clause.input.keeps is None else clause.input.keeps / 100
            case Role.RANGE:
                return share_within(self.workload, entity, clause.input)
            case Role.MEMBERSHIP:
                return kept_by(self.workload, clause)
            case Role.FILTER:
                return 1.0
            case _:
                assert_never(clause.role)

    def _share_passing(self, read: Read, request: Request) -> float:
        """The fraction of the items read that pass the filters of a request."""
        tested_inputs = request.tested_inputs
        resolved_read = resolve_read(self.workload, read)
        return kept_by_all(resolved_read, [clause for clause in resolved_read.clauses if clause.input in tested_inputs])

    def _query(self, read: Read, request: Request) -> Iterator[PageRead]:
        """The pages of one Query, for each shard and time bucket, limited by the page size and by 1 MB."""
        counts = {item.entity: self.items_found(read, request, item.entity) for item in self._item_names(request)}
        total = sum(counts.values())
        sizes = [counts[item.entity] * self.size(item, request.slot) for item in self._item_names(request)]
        average = sum(sizes) / total
        buckets = float(self._buckets(read, request))
        items_of_query = total / buckets / request.shards
        limit = read.limit or read.page
        if limit:
            wanted_items = limit / self._share_passing(read, request)
            items_read = min(items_of_query, wanted_items)
            # Time buckets are read one after the other until there are enough items.
            buckets = min(buckets, math.ceil(wanted_items / (items_of_query * request.shards)))
        else:
            items_read = items_of_query
        size = round(items_read * average)
        # DynamoDB ends a page at 1 MB, and rounds each page up to whole units.
        full_pages, remainder = divmod(size, PAGE_SIZE)
        if full_pages and read.paginated and not limit:
            full_pages, remainder = 1, 0
        queries = buckets * request.shards
        if full_pages:
            yield PageRead(PAGE_SIZE, queries * full_pages)
        if remainder or not full_pages:
            yield PageRead(remainder, queries)

    def _buckets(self, read: Read, request: Request) -> int:
        if not request.bucket:
            return 1
        ranges = [condition for condition in read.inputs if condition.op in RANGES]
        for seconds in map(span, ranges):
            if seconds is not None:
                return seconds // BUCKET_SECONDS[request.bucket] + 1
        return BUCKETS

    def _item_names(self, request: Request) -> list[ItemName]:
        """The items that a request reads: those of its entities, or their copies."""
        return [ItemName(name, request.copy_of(name)) for name in request.entities]

    # --- Writing ----------------------------------------------------------------------------------------------------

    def entries(self, operation: Operation, request: Request) -> Iterable[EntryWrite]:
        write = self.workload.pattern(operation.pattern)
        for action in request.actions:
            if isinstance(write, Write) and _is_expiry(write, action):
                continue  # DynamoDB does not charge for expiry
            times = float(self._times(write, action)) if isinstance(write, Write) and action.many else 1.0
            for entry in self.entries_of(action):
                yield replace(entry, times=entry.times * times)

    def entries_of(self, action: ItemAction) -> Iterator[EntryWrite]:
        """The effect of an action on one item and its index entries."""
        item_name = action.item
        name, copy = item_name.entity, item_name.copy
        entity, item = self.workload.entity(name), self.design.item(name, copy)
        if entity is None or item is None:
            return
        if item_name.apart:
            construct = construct_of(entity, item_name, self.design)
            times = construct.times(action.action) if construct else 1
            yield replace(_entry_write(TABLE, self.size(item_name), action.action), times=times)
        elif action.action is Did.CHECK:
            yield _entry_write(TABLE, self.size(action.item), action.action)
        # The key of an item never changes: a copy under another key is deleted and put.
        elif copy and action.action is Did.UPDATE and self._moves(action, entity, item):
            for did in (Did.DELETE, Did.PUT):
                yield from self.entries_of(replace(action, action=did))
        elif not (copy and action.action is Did.UPDATE and self._changes_nothing_held(action, entity, item)):
            for facet in self.facets[name, copy]:
                yield from self._entries(action, entity, facet)

    def _moves(self, action: ItemAction, entity: Entity, copy: Item) -> bool:
        """Whether an update changes the key of a copy."""
        facets = self.facets[entity.name, copy.copy]
        return bool(facets) and not changed_by(action, entity).isdisjoint(facets[0].placing)

    def _changes_nothing_held(self, action: ItemAction, entity: Entity, copy: Item) -> bool:
        """Whether an update changes no attribute of a copy."""
        changed_names = changed_by(action, entity)
        return bool(copy.attributes) and bool(changed_names) and changed_names.isdisjoint(copy.attributes)

    def _entries(self, action: ItemAction, entity: Entity, facet: keys.Facet) -> Iterator[EntryWrite]:
        size = self.size(action.item, facet.slot)
        stays, enters, leaves = chances(self.workload, action, entity, facet)
        if stays:
            changed_names = changed_by(action, entity)
            # A changed index key is a delete and a put. An index that does not hold the change is not written.
            is_moved = facet.slot != TABLE and not changed_names.isdisjoint(facet.attributes)
            is_unchanged = facet.slot != TABLE and not is_moved and self._holds_none_of(facet.slot, changed_names)
            yield EntryWrite(facet.slot, size, size, is_moved, is_unchanged, stays)
        if enters:
            yield EntryWrite(facet.slot, after=size, times=enters)
        if leaves:
            yield EntryWrite(facet.slot, before=size, times=leaves)

    def _holds_none_of(self, slot: str, changed_names: set[str]) -> bool:
        """Whether an index holds none of the changed attributes."""
        projection = self._projection(slot)
        if projection.kind is ProjectionKind.ALL or not changed_names:
            return False
        return not changed_names & set(projection.attributes)

    def _times(self, write: Write, action: ItemAction) -> int:
        entity = self.workload.entity(action.item.entity)
        return (several(self.workload, write, entity) if entity else None) or SEVERAL

    # --- Sizes ------------------------------------------------------------------------------------------------------

    def size(self, name: ItemName, slot: str = TABLE) -> int:
        """Bytes of a typical item in a slot."""
        entity, item = self.workload.entity(name.entity), self.design.item(name.entity, name.copy)
        if entity is None or item is None:
            return 0
        construct = construct_of(entity, name, self.design)
        # Some items of constructs, such as guards, have a size of their own.
        if construct is not None and construct.item_size is not None:
            return construct.item_size
        projection = self._projection(slot)
        if projection.kind is ProjectionKind.ALL and not item.attributes:
            return size_of(entity)
        return min(size_of(entity), self._partial_size(entity, item, slot, projection))

    def _partial_size(self, entity: Entity, item: Item, slot: str, projection: Projection) -> int:
        """Bytes of a copy, or of an index entry, that holds some attributes. An entry has the keys of both places."""
        holds_all = projection.kind is ProjectionKind.ALL
        sizes = value_sizes(entity)
        facets = {facet.slot: facet for facet in self.facets[item.entity, item.copy]}
        total = sum(self._key_size(facets[place], sizes) for place in dict.fromkeys((TABLE, slot)) if place in facets)
        # An index holds its own keys and those of the table, and a copy the keys of all its facets.
        names = set(item.attributes or sizes)
        if item.attributes:  # a copy holds its own attributes and those of its keys
            for facet in facets.values():
                names.update(facet.attributes)
        if not holds_all:
            names &= set(projection.attributes)
        if holds_all or self.design.type_attribute in projection.attributes:
            total += len(self.design.type_attribute) + len(item.tag)
        return total + sum(len(name) + sizes[name] for name in names if name in sizes)

    def stored(self) -> Iterator[tuple[str, str, float, int]]:
        """Everything stored: item, slot, number of entries, and bytes of each."""
        for item in self.design.items:
            entity = self.workload.entity(item.entity)
            if entity is None:
                continue
            count = float(count_of(self.workload, entity))
            for facet in self.facets[item.entity, item.copy]:
                share = share_in(self.workload, entity, facet)
                yield item.name, facet.slot, count * share, self.size(item.item_name, facet.slot)
        for construct in added_in(self.workload, self.design):
            if not added_key(construct, self.design):
                continue  # it is in a store, or has no key
            number = construct.stored_count(usage_of(self.workload, construct.entity))
            yield str(construct.item_name), TABLE, number, self.size(construct.item_name)
        for line in lines_in(self.workload, self.design):
            for line_item in line.items(self.design):
                number = line.stored_count(usage_of(self.workload, line.entity))
                yield str(line_item.name), TABLE, number, self.size(line_item.name)

    def _key_size(self, facet: keys.Facet, sizes: Mapping[str, int]) -> int:
        slot = self.design.slot(facet.slot)
        assert slot is not None  # every facet is in one of the slots
        names = sum(map(len, slot.key_names))
        return names + sum(_form_size(form, sizes) for form in (facet.pk, facet.sk) if form)

    def _projection(self, slot: str) -> Projection:
        index = self.design.slot(slot)
        return index.projection if index and slot != TABLE else Projection()

    @cached_property
    def facets(self) -> dict[tuple[str, str], list[keys.Facet]]:
        """The facets by entity and copy. A design with mistakes can be priced, too."""
        facets: dict[tuple[str, str], list[keys.Facet]] = {(item.entity, item.copy): [] for item in self.design.items}
        for facet in usable_facets(self.design, self.workload):
            facets[facet.entity, facet.copy].append(facet)
        return facets

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
    # The digits of the largest shard: shards are counted from 0.
    if part.encoding.shards:
        return len(str(part.encoding.shards - 1))
    if part.encoding.bucket:
        return _BUCKET_SIZES.get(part.encoding.bucket, 10)
    return part.encoding.width or sizes.get(part.attribute, 0)


def _entry_write(slot: str, size: int, did: Did) -> EntryWrite:
    return EntryWrite(slot, 0 if did is Did.PUT else size, 0 if did is Did.DELETE else size)


def _is_expiry(write: Write, action: ItemAction) -> bool:
    expiring_entities = {action.entity for action in write.actions if action.verb is Verb.EXPIRE}
    return action.action is Did.DELETE and action.item.entity in expiring_entities


def share_in(workload: Workload, entity: Entity, facet: keys.Facet) -> float:
    """The fraction of an entity's items that is in a facet."""
    return math.prod(_share(workload, entity, when) for when in _conditions(entity, facet))


def chances(workload: Workload, action: ItemAction, entity: Entity, facet: keys.Facet) -> tuple[float, float, float]:
    """The fractions of written items that are in a facet before and after, only after, and only before."""
    # An item enters, leaves or stays in a sparse index; `constant` is the part by conditions that nothing changes.
    constant = stays = before = after = 1.0
    changes = {change.attribute: change for change in action.changes}
    for when in _conditions(entity, facet):
        share = _share(workload, entity, when)
        change = changes.get(when.attribute)
        if action.action is Did.UPDATE and change is None:
            constant *= share
            continue
        met_before, met_after = _share_before(action, when, entity, share), _share_after(change, when, entity, share)
        before, after = before * met_before, after * met_after
        # An unknown new value is assumed to be a different one.
        stays *= met_before * met_after if met_after == 1.0 or when.values is None or len(when.values) > 1 else 0.0
    if action.action is Did.PUT:
        return 0.0, after, 0.0
    if action.action is Did.DELETE:
        return 0.0, 0.0, before
    # No condition on what changes: the item is in the facet before and after.
    if before == after == 1.0:
        return constant, 0.0, 0.0
    return constant * stays, constant * after * (1 - before), constant * before * (1 - after)


def changed_by(action: ItemAction, entity: Entity) -> set[str]:
    """The attributes that an action changes."""
    return {a.name for a in entity.attributes} & action.changed


def _conditions(entity: Entity, facet: keys.Facet) -> Iterator[keys.When]:
    """The conditions for an item to be in a facet: the stated ones, and the presence of its key attributes."""
    yield from facet.when
    tested_names = {when.attribute for when in facet.when}
    key_names = [*_required_attributes(facet.pk), *(_required_attributes(facet.sk) if facet.sk else ())]
    for name in dict.fromkeys(key_names):
        attribute = entity.attribute(name)
        if attribute and attribute.optional and name not in tested_names:
            yield keys.When(name)


def _required_attributes(form: keys.KeyForm) -> tuple[str, ...]:
    if isinstance(form, keys.Natural):
        return form.attributes
    return tuple(field.attribute for field in form.fields if not field.optional)


def _share(workload: Workload, entity: Entity, when: keys.When) -> float:
    return share_meeting(workload, entity, when.attribute, when.values, when.absent)


def is_share_stated(workload: Workload, entity: Entity, facet: keys.Facet) -> bool:
    """Whether reads of the document say which fraction of an entity's items is in a facet."""
    conditions = _conditions(entity, facet)
    return all(stated_share(workload, entity, c.attribute, c.values, c.absent) is not None for c in conditions)


def _share_before(action: ItemAction, when: keys.When, entity: Entity, share: float) -> float:
    """The fraction of items that meet a condition before a write: all or none if the write has a condition on it."""
    leaves = [test for test in action.conditions if isinstance(test, Leaf)]
    tests = [leaf for leaf in leaves if leaf.attribute == when.attribute]
    if when.absent and any(isinstance(test, Absence) for test in tests):
        return 1.0
    for test in tests:
        if isinstance(test, Comparison) and test.op is Op.EQ:
            return _share_with_value(test.values[0], when, entity, share)
    return _share_with_value(None, when, entity, share)


def _share_after(change: ItemChange | None, when: keys.When, entity: Entity, share: float) -> float:
    """The fraction of items that meet a condition after a change."""
    if change and when.values is None:
        return float((change.op is ChangeOp.REMOVE) == when.absent)
    return _share_with_value(change.value if change else None, when, entity, share)


def _share_with_value(value: Value | None, when: keys.When, entity: Entity, share: float) -> float:
    """All or none for a known value, else the usual fraction."""
    if not when.values or value is None or value.const is None:
        return share
    if value.const in {str(member) for member in when.values}:
        return 1.0
    attribute = entity.attribute(when.attribute)
    return 0.0 if attribute and value.const in attribute.type.values else share
