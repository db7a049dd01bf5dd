"""The needs of each read: given attributes, range and order, in the attribute names of each entity."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from prejoin.design.mapping.map_reads import ask_of
from prejoin.keys import Lookup, When
from prejoin.workload.constants import constant_text
from prejoin.workload.lookup import bare_name, changes, means, root
from prejoin.workload.model import Action, Entity, Op, OutOfScope, Read, Verb, Workload, Write
from prejoin.workload.targets import checked_items, list_source, read_lists
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
    given: frozenset[str]
    """Attributes with a known value: from the caller, or constant."""
    constants: tuple[tuple[str, str], ...] = ()
    left: frozenset[str] = frozenset()
    """More attributes with a known value, which may be left to a filter; not all of them, if nothing else is known."""
    tail: tuple[SortAttribute, ...] = ()
    """The attribute of the range, then those of the order."""
    ranged: bool = False
    """Whether the first attribute of the tail has a range."""
    shared: bool = False
    """Whether the read asks for other entities, too."""
    interleaved: bool = False
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
    outside = {d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)}
    found, refused = [], {}
    for read in workload.reads:
        if read.id in outside:
            continue
        try:
            ask = ask_of(read, workload)
        except ValueError as problem:
            refused[read.id] = str(problem)
            continue
        found.append(ReadNeeds(read, ask, tuple(_need(read, ask, name, workload) for name in ask.entities)))
    return tuple(found), refused


def find_needs(workload: Workload) -> tuple[ReadNeeds, ...]:
    """The lookups of writes: items to change or delete, by the attributes that the write is given.

    A write that knows the key of its item needs no lookup; that depends on the chosen keys. Of an item and a list of
    one entity, as in `delete Folder; delete Folder[]`, it is the list that has to be found.
    """
    found: dict[tuple[str, str], ReadNeeds] = {}
    for write, action in sorted(item_changes(workload), key=lambda change: change[1].many):
        entity = workload.entity(action.entity)
        if entity is None:
            continue
        given = _search_attributes(workload, write, action, entity)
        if given:
            ask = Lookup.of(entity.name, equal=given)
            read = Read(write.id, entities=(entity.name,), rate=write.rate)
            need = Need(write.id, entity.name, frozenset(given))
            found[write.id, entity.name] = ReadNeeds(read, ask, (need,))
    return tuple(found.values())


def _search_attributes(workload: Workload, write: Write, action: Action, entity: Entity) -> set[str]:
    """The attributes by which a write may look for its items."""
    if action.many:
        source = list_source(workload, write, action, entity)
        # A list of ids that the caller gives needs no lookup.
        return set() if source.is_given else {*source.links, *source.over_links}
    changed = {change.attribute for change in changes(write, action, entity)}
    inputs = [i.attribute for i in write.inputs if i.op is Op.EQ and not i.filter and not i.many]
    return {name for one in inputs for name in given_by(workload, write, entity, one)} - changed


def item_changes(workload: Workload) -> Iterator[tuple[Write, Action]]:
    """The changes of writes to existing items, whose keys they must know. A condition on an item counts as an
    update.
    """
    for write in sorted((*workload.writes, *workload.deletes), key=lambda write: write.id):
        yield from ((write, action) for action in write.actions if action.updates or action.verb is Verb.DELETE)
        yield from ((write, between) for between in read_lists(workload, write))
        checked = {item.entity.name for item in checked_items(workload, write)}
        yield from ((write, Action(Verb.UPDATE, name)) for name in sorted(checked))


def writes_to(workload: Workload, entity: Entity) -> list[Write]:
    """The writes and deletes with an action on an entity."""
    every = (*workload.writes, *workload.deletes)
    return [write for write in every if any(action.entity == entity.name for action in write.actions)]


def given_by(workload: Workload, write: Write, entity: Entity, name: str) -> list[str]:
    """The attributes of an entity that an input of a write gives: by name, or because it holds the same id."""
    if attribute := entity.attribute(name):
        return [name] if means(workload, write, entity, attribute) else []
    roots = {root(workload, e, a) for e in workload.entities if (a := e.attribute(name))}
    same = [a.name for a in entity.attributes if root(workload, entity, a) in roots]
    return same if len(same) == 1 else []


def _membership(when: When) -> Membership:
    return Membership(when.attribute, tuple(sorted(map(constant_text, when.values or ()))), when.absent)


def _need(read: Read, ask: Lookup, name: str, workload: Workload) -> Need:
    entity = workload.entity(name)
    assert entity is not None

    def own(asked: str) -> str | None:
        attribute = ask.attribute(name, asked)
        return attribute if entity.attribute(attribute) else None

    given = {own(one) for one in ask.equal - ask.filtered} - {None}
    optional = {bare_name(i.attribute) for i in read.inputs if i.optional}
    left = {own(one) for one in (ask.equal & ask.filtered) - optional} - {None}
    constants = {
        (a, constant_text(value)) for one, value in ask.constants if one not in ask.filtered and (a := own(one))
    }
    tail: dict[str, SortAttribute] = {}
    if ask.within and (attribute := own(ask.within.attribute)):
        tail[attribute] = SortAttribute(attribute)
    for order in ask.order:
        if order.entity in ("", name) and (attribute := own(order.attribute)) and attribute not in given:
            # An order has a direction; a range has none.
            tail[attribute] = SortAttribute(attribute, order.descending)
    interleaved = len(ask.entities) > 1 and (bool(ask.within) or any(not order.entity for order in ask.order))
    known = frozenset(given) | {a for a, _ in constants}
    return Need(
        read.id,
        name,
        known,  # type: ignore[arg-type]
        tuple(sorted(constants)),
        frozenset(left),  # type: ignore[arg-type]
        tuple(one for one in tail.values() if one.attribute not in known),
        ask.within is not None and own(ask.within.attribute) is not None,
        len(ask.entities) > 1,
        interleaved,
        tuple(sorted(_membership(when) for when in ask.only)),
        frozenset(common_tenant(workload, name)),
    )
