"""The needs of each read: given attributes, range and order, in the attribute names of each entity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from prejoin.design.mapping.map_reads import ask_of
from prejoin.keys import Lookup, When
from prejoin.workload.constants import constant_text
from prejoin.workload.model import Action, Entity, Read, Verb, Workload, Write
from prejoin.workload.program.resolved_read import Role, resolve_read
from prejoin.workload.program.resolved_write import Step, resolve_write
from prejoin.workload.tenants import common_tenant


class SortAttribute(msgspec.Struct, frozen=True, order=True):
    """An attribute of a sort order, and its direction."""

    attribute: str
    descending: bool = False


class Membership(msgspec.Struct, frozen=True, order=True):
    """A condition for an item to be in a sparse index: the attribute exists, has one of some values, or is absent."""

    attribute: str
    values: tuple[str, ...] = ()
    absent: bool = False


class Need(msgspec.Struct, frozen=True):
    """What one read needs of the keys of one entity."""

    read: str
    entity: str
    equal_names: frozenset[str]
    """Attributes with a known value: from the caller, or constant."""
    constants: tuple[tuple[str, str], ...] = ()
    filterable: frozenset[str] = frozenset()
    """More attributes with a known value, which may be left to a filter; not all of them, if nothing else is known."""
    tail: tuple[SortAttribute, ...] = ()
    """The attribute of the range, then those of the order."""
    has_range: bool = False
    """Whether the first attribute of the tail has a range."""
    is_shared: bool = False
    """Whether the read asks for other entities, too."""
    is_interleaved: bool = False
    """Whether several entities come in one order, so that the type follows the attributes they are sorted by."""
    only: tuple[Membership, ...] = ()
    """Conditions that a sparse index can meet; otherwise they are left to a filter."""
    tenant: frozenset[str] = frozenset()
    """The tenant attribute, if the entity belongs to tenants. Knowing it says nothing about a single item."""


class ReadNeeds(msgspec.Struct, frozen=True):
    """A read as the planner sees it, and its needs, one for each entity."""

    read: Read
    ask: Lookup
    needs: tuple[Need, ...]


def read_needs(workload: Workload) -> tuple[tuple[ReadNeeds, ...], dict[str, str]]:
    """The needs of all reads in scope; and the reads that no key can answer, with the reason."""
    needs: list[ReadNeeds] = []
    reasons: dict[str, str] = {}
    for read in workload.reads:
        if read.id in workload.out_of_scope:
            continue
        try:
            ask = ask_of(read, workload)
        except ValueError as problem:
            reasons[read.id] = str(problem)
            continue
        needs.append(ReadNeeds(read, ask, tuple(_need(read, ask, name, workload) for name in ask.entities)))
    return tuple(needs), reasons


def find_needs(workload: Workload) -> tuple[ReadNeeds, ...]:
    """The lookups of writes: items to change or delete, by the attributes that the write is given.

    A write that knows the key of its item needs no lookup; that depends on the chosen keys. Of an item and a list of
    one entity, as in `delete Folder; delete Folder[]`, it is the list that has to be found.
    """
    lookups: dict[tuple[str, str], ReadNeeds] = {}
    # Lists come last, so that they replace the single item of the same write and entity.
    for step in sorted(item_changes(workload), key=lambda step: step.is_list):
        write, entity = step.write, step.entity
        names = _search_attributes(step)
        # A write that is given nothing of its items means all of them, which is a Scan.
        if names:
            ask = Lookup.of(entity.name, equal=names)
            read = Read(write.id, entities=(entity.name,), rate=write.rate)
            need = Need(write.id, entity.name, frozenset(names))
            lookups[write.id, entity.name] = ReadNeeds(read, ask, (need,))
    return tuple(lookups.values())


def _search_attributes(step: Step) -> set[str]:
    """The attributes by which a write may look for its items."""
    if step.is_list:
        # Objects that the caller gives need no lookup. Each id of a list does, where keys are made of more than it.
        is_looked_up = bool(step.repeated_for) or not step.list_source.is_given
        return set(step.search_attributes) if is_looked_up else set()
    # A constant of a condition finds no item that its id does not find: `status = OPEN` is checked, not searched.
    return set(step.sources) - step.changed


def item_changes(workload: Workload) -> Iterator[Step]:
    """The changes of writes to existing items, whose keys they must know. A condition on an item counts as an
    update.
    """
    for write in sorted(workload.changing, key=lambda write: write.id):
        resolved_write = resolve_write(workload, write)
        for step in resolved_write.steps:
            if step.action.updates or step.verb is Verb.DELETE:
                yield step
        yield from resolved_write.read_lists
        checks: dict[str, Step] = {}
        for item in resolved_write.checked:
            checks[item.entity.name] = item.step.with_action(Action(Verb.UPDATE, item.entity.name))
        yield from (checks[name] for name in sorted(checks))


def writes_to(workload: Workload, entity: Entity) -> list[Write]:
    """The writes and deletes with an action on an entity."""
    writes = workload.changing
    return [write for write in writes if entity.name in [action.entity for action in write.actions]]


def _membership(when: When) -> Membership:
    return Membership(when.attribute, tuple(sorted(map(constant_text, when.values or ()))), when.absent)


class _OwnNames:
    """The names of a read in the words of one of its entities; other entities may have the others."""

    def __init__(self, ask: Lookup, entity: Entity) -> None:
        self._ask = ask
        self._entity = entity

    def __call__(self, asked_names: Iterable[str]) -> frozenset[str]:
        names = [self._ask.attribute(self._entity.name, asked_name) for asked_name in asked_names]
        return frozenset(filter(self._entity.attribute, names))


def _need(read: Read, ask: Lookup, name: str, workload: Workload) -> Need:
    """What a read needs of the keys of one entity.

    A read of the open orders of a user since a day, newest first, knows `userId` and `status`, the constant
    `status = OPEN`, and has the tail `placedAt` with a range.
    """
    entity = workload.entity(name)
    assert entity is not None
    own_names = _OwnNames(ask, entity)
    equal_names = own_names(ask.equal - ask.filtered)
    # The caller may leave an optional input out: no key can count on it.
    optional_names = {clause.name for clause in resolve_read(workload, read).having(Role.OPTIONAL)}
    constants: set[tuple[str, str]] = set()
    for asked_name, value in ask.constants:
        if asked_name not in ask.filtered:
            constants |= {(attribute, constant_text(value)) for attribute in own_names([asked_name])}
    range_names = own_names([ask.within.attribute] if ask.within else [])
    known_names = equal_names.union(dict(constants))
    tail = _tail(ask, name, own_names, range_names)
    is_shared = len(ask.entities) > 1
    # One range or order over several entities: their items lie among each other in the partition.
    has_common_order = bool(ask.within) or any(not order.entity for order in ask.order)
    return Need(
        read.id,
        name,
        equal_names=known_names,
        constants=tuple(sorted(constants)),
        filterable=own_names((ask.equal & ask.filtered) - optional_names),
        # An attribute with one value sorts nothing.
        tail=tuple([key for key in tail if key.attribute not in known_names]),
        has_range=bool(range_names),
        is_shared=is_shared,
        is_interleaved=is_shared and has_common_order,
        only=tuple(sorted(map(_membership, ask.only))),
        tenant=frozenset(common_tenant(workload, name)),
    )


def _tail(ask: Lookup, name: str, own_names: _OwnNames, range_names: Iterable[str]) -> Iterable[SortAttribute]:
    """The attribute of the range, then those of the order. An order has a direction; a range has none."""
    tail = {attribute: SortAttribute(attribute) for attribute in range_names}
    for order in ask.order:
        if order.entity in ("", name):
            for attribute in own_names([order.attribute]):
                tail[attribute] = SortAttribute(attribute, order.descending)
    return tail.values()
