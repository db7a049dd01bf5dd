"""Resolves names: entities, attributes, and attributes of different names that hold the same id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from msgspec.structs import replace

from prejoin.types import STRING, Kind
from prejoin.workload.conditions import all_leaves, params_of, values_of
from prejoin.workload.memo import remembered
from prejoin.workload.model import (
    VERSION,
    Action,
    Attribute,
    Change,
    ChangeOp,
    Entity,
    Input,
    Op,
    Read,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import common_tenant, is_owned

_MANY = 100
"""With more candidates than this, only those with the same first letter are compared, because comparing is slow."""


EITHER = " / "
"""Between the names that several entities have for one input: `Order.placedAt / Payment.paidAt`."""


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a name probably means: another case, a plural, or a typing error."""
    known = list(dict.fromkeys(candidates))
    folded = {c.lower(): c for c in known}
    word = name.lower()
    for form in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y", word + "s"):
        if form in folded:
            return folded[form]
    if len(folded) > _MANY:
        folded = {low: c for low, c in folded.items() if low[:2] == word[:2]}
    close = get_close_matches(word[:80], list(folded)[:_MANY], 1, 0.7)
    return folded[close[0]] if close else None


def bare_name(name: str) -> str:
    """A name without its entity: `Order.userId` becomes `userId`. Of several names for one value it is the first.

    >>> bare_name("Order.placedAt / Payment.paidAt")
    'placedAt'
    """
    return name.partition(EITHER)[0].rpartition(".")[2]


def target(workload: Workload, attribute: Attribute) -> tuple[Entity, Attribute] | None:
    """The entity and id attribute that a reference holds; None if that is ambiguous."""
    name, _, field = attribute.references.partition(".")
    entity = workload.entity(name)
    if entity is None:
        return None
    if field:
        found = entity.attribute(field)
        return (entity, found) if found else None
    if len(entity.id) == 1:
        return entity, entity.id[0]
    same = next((a for a in entity.id if a.name == attribute.name), None)
    return (entity, same) if same else None


def targets(workload: Workload, attribute: Attribute) -> list[tuple[Entity, Attribute]]:
    """All entities and id attributes that a reference may hold: `→ User | Organization` has two."""
    every = (replace(attribute, references=name) for name in (attribute.references, *attribute.references_or))
    return [found for one in every if (found := target(workload, one))]


def chain(workload: Workload, entity: Entity, attribute: Attribute) -> list[tuple[str, str]]:
    """The origins of an attribute's values along its references; the attribute itself first."""
    key = ("chain", entity.name, attribute.name, attribute.references)
    if key not in workload.memo:
        workload.memo[key] = _chain(workload, entity, attribute)
    return list(workload.memo[key])


def _chain(workload: Workload, entity: Entity, attribute: Attribute) -> list[tuple[str, str]]:
    found = [(entity.name, attribute.name)]
    while not attribute.references_or and (further := target(workload, attribute)):
        attribute = further[1]
        if (further[0].name, attribute.name) in found:
            break
        found.append((further[0].name, attribute.name))
    if attribute.references_or:
        found += [(e.name, a.name) for e, a in targets(workload, attribute)]
    if several := next((name for owner, own in found if (name := _shared_id(workload, owner, own))), ""):
        found.append(("", several))  # the ids of several entities that one attribute may hold are one kind of value
    tenant = workload.tenant
    if tenant and found[-1][1] == tenant.attribute and is_owned(workload, found[-1][0]):
        found.append(("", tenant.attribute))  # tenants need not be an entity: their ids come from outside
    return found


def _shared_id(workload: Workload, owner: str, name: str) -> str:
    """The name of the kind of value that an entity's id shares with the ids of others; empty if it shares none."""
    entity = workload.entity(owner) if owner in workload.shared_ids else None
    own = entity and [a.name for a in entity.id if a.name not in common_tenant(workload, owner)]
    return workload.shared_ids[owner] if own == [name] else ""


def root(workload: Workload, entity: Entity, attribute: Attribute) -> tuple[str, str]:
    """The last origin of an attribute's values.

    Two attributes with the same root hold the same kind of value under different names.
    """
    return chain(workload, entity, attribute)[-1]


def identified(entity: Entity, names: Iterable[str]) -> bool:
    """Whether some attributes identify one item of an entity: they contain its id or a unique value."""
    known = set(names)
    unique = [{a.name} for a in entity.attributes if a.unique] + [set(group) for group in entity.unique]
    return entity.singleton or any(group <= known for group in [{a.name for a in entity.id}, *unique] if group)


@remembered
def foreign_key(
    workload: Workload, entity: Entity, parent: Entity, names: Iterable[str] | None = None
) -> frozenset[str] | None:
    """The attributes of an entity that together hold the id of another one; None where they do not hold all of it.

    At least one of them refers to that entity. The others may come from the same place: where `Comment.ticketId` refers
    to `Ticket.ticketId`, `Comment.tenantId` and `Ticket.tenantId` are both the id of the tenant. With `names`, no other
    attributes are considered.
    """
    allowed = {a.name for a in entity.attributes} if names is None else set(names)
    for one in (*parent.relationships, *entity.relationships):
        sides = (one.left, one.right) == (parent.name, entity.name) and parent is not entity
        if sides and one.via and len(one.via) == len(parent.id) and allowed.issuperset(one.via):
            return frozenset(one.via)
    found: set[str] = set()
    linked = False
    for part in parent.id:
        free = [a for a in entity.attributes if a.name in allowed - found]
        refers = [a.name for a in free if (parent.name, part.name) in chain(workload, entity, a)[1:]]
        alike = [a.name for a in free if _same_source(workload, (entity, a), (parent, part))]
        options = refers or alike
        if not options:
            return None
        linked |= bool(refers)
        found.add(part.name if part.name in options else options[0])
    return frozenset(found) if linked else None


def foreign_parts(
    workload: Workload, entity: Entity, parent: Entity, lead: Attribute
) -> Iterator[tuple[Attribute, Attribute]]:
    """The parts of another entity's id, each with the attribute that holds it beside `lead`, which holds one of them.

    Where several attributes could hold a part (two roles of a composite id), it is the one that a relation names with
    `lead`, or else the one in the same place among its like.
    """
    related = {
        name
        for one in (*parent.relationships, *entity.relationships)
        if {one.left, one.right} == {parent.name, entity.name} and lead.name in one.via
        for name in one.via
    }
    held = target(workload, lead)
    if held and [held[1]] == list(parent.id):
        return
    place = [a.name for a in entity.attributes if target(workload, a) == held].index(lead.name)
    for part in parent.id:
        if held and held[1].name == part.name:
            continue
        if part.name in common_tenant(workload, entity.name, parent.name) and (own := entity.attribute(part.name)):
            yield part, own  # another attribute that holds a tenant's id is not the tenant of the item
            continue
        refers = [a for a in entity.attributes if (parent.name, part.name) in chain(workload, entity, a)[1:]]
        alike = [a for a in entity.attributes if _same_source(workload, (entity, a), (parent, part))]
        options = [a for a in refers or alike if a.name != lead.name]
        named = [a for a in options if a.name in related]
        if options:
            yield part, (named or options[place : place + 1] or options)[0]


def _same_source(workload: Workload, one: tuple[Entity, Attribute], other: tuple[Entity, Attribute]) -> bool:
    """Whether two attributes hold the same kind of value in the end.

    They hold ids of the same entity, or an id of something outside the document: a part of a composite id that refers
    to nothing and has the same name in both places, as a `tenantId` without an entity Tenant.
    """
    first, second = root(workload, *one), root(workload, *other)
    return first == second or (first[1] == second[1] and _outside(workload, first) and _outside(workload, second))


def _outside(workload: Workload, place: tuple[str, str]) -> bool:
    entity = workload.entity(place[0])
    attribute = entity.attribute(place[1]) if entity else None
    return bool(entity and attribute and not attribute.generated and [a.name for a in entity.id] != [place[1]])


def bindings(workload: Workload, entities: tuple[str, ...], name: str) -> dict[str, str]:
    """The attribute of each entity that a name means: its own of that name, or the one that holds the same id.

    An entity that has none, or several that could be meant, is left out. `Order.userId` says whose attribute it is, and
    `Order.placedAt / Payment.paidAt` what each of two has.
    """
    asked = [e for e in map(workload.entity, entities) if e]
    if EITHER in name:
        named = {owner: own for owner, _, own in (one.rpartition(".") for one in name.split(EITHER))}
        return {e.name: named[e.name] for e in asked if e.name in named and e.attribute(named[e.name])}
    owner, dot, field = name.partition(".")
    field = field if dot else name
    found: dict[str, str] = {}
    for entity in asked:
        if (not dot or entity.name == owner) and entity.attribute(field):
            found[entity.name] = field
    roots = {root(workload, e, a) for e in asked if (own := found.get(e.name)) and (a := e.attribute(own))}
    for entity in asked:
        if entity.name in found or len(roots) != 1:
            continue
        same = [a.name for a in entity.attributes if root(workload, entity, a) in roots]
        if len(same) == 1:
            found[entity.name] = same[0]
    return found


def means(workload: Workload, write: Write, entity: Entity, attribute: Attribute) -> bool:
    """Whether an input of the name of an attribute is about the items of an entity that are there.

    Where others that the write touches have an attribute of that name, the input is the new item's, or else that of the
    entity which the write is of. It is another's too where a relation says that both are the same: who comments on a
    post is not its author, though both are called `userId`; who cancels an order is.
    """
    if attribute.id:
        return True
    if any(c.attribute == attribute.name for a in write.actions if a.entity != entity.name for c in a.changes):
        return False  # what it becomes there is not what it is here
    touched = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    if next(iter(touched), "") == entity.name:
        touched = dict.fromkeys(a.entity for a in write.actions if a.verb in (Verb.CREATE, Verb.PUT))
    others = [other for other in map(workload.entity, touched) if other and other is not entity]
    having = [(other, found) for other in others if (found := other.attribute(attribute.name))]
    return all(is_said_same(workload, (entity, attribute), one) for one in having)


def is_said_same(workload: Workload, one: tuple[Entity, Attribute], other: tuple[Entity, Attribute]) -> bool:
    """Whether one of two attributes is said to hold what the other holds: by reference, or as a copy of it."""
    for (entity, attribute), (source, origin) in ((one, other), (other, one)):
        if (source.name, origin.name) in chain(workload, entity, attribute):
            return True
        if f"{source.name}.{origin.name}" in attribute.repeats:
            return True
    return False


def touched_entities(workload: Workload, write: Write) -> list[Entity]:
    """The entities of a write: those of its column Entity, then those of its actions."""
    names = dict.fromkeys((*write.entities, *(action.entity for action in write.actions)))
    return [entity for name in names if (entity := workload.entity(name))]


def having_attribute(workload: Workload, write: Write, name: str) -> list[str]:
    """The entities of a write that a condition on an attribute without an entity may be about.

    That is the first entity, if it has the attribute; else all that have it, of which there should be one.
    """
    owners = [entity.name for entity in touched_entities(workload, write) if entity.attribute(name)]
    return owners[:1] if owners[:1] == [write.first_entity] else owners


def named_by(workload: Workload, write: Write, name: str) -> str:
    """The entity of the item whose id an input holds: `Account` for `fromAccountId`. Empty if there is none.

    The input is one of an action, `update Account by fromAccountId`, or it refers to the entity.
    """
    for action in write.actions:
        if name in action.by and workload.entity(action.entity):
            return action.entity
    for entity in touched_entities(workload, write):
        attribute = entity.attribute(name)
        if attribute is None or not _is_input(write, entity, name):
            continue
        if attribute.references and (held := target(workload, attribute)):
            return held[0].name
        if attribute.id:
            return entity.name
    return ""


def _is_input(write: Write, entity: Entity, name: str) -> bool:
    """Whether an attribute of an entity is an input of a write, by itself or as part of an object."""
    return any(one.attribute == name for one in write.inputs) or gives_object(write, entity)


def undecided(workload: Workload, write: Write, name: str) -> list[str]:
    """The entities of a write that an input may be of, where nothing decides of which; none where something does.

    It is decided by a new item that has it, by a change or a condition that takes it, by an id that it is or refers to;
    and else by what the write is of, and by relations.
    """
    if any(name in action.by for action in write.actions) or name in _taken(workload, write):
        return []
    touched = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    entities = [e for e in map(workload.entity, touched) if e]
    having = [(entity, found) for entity in entities if (found := entity.attribute(name))]
    new = {action.entity for action in write.actions if action.verb in (Verb.CREATE, Verb.PUT)}
    ids = {(entity.name, a.name) for entity in entities for a in entity.id}
    for one in having:
        if one[0].name in new or ids.intersection(chain(workload, *one)) or means(workload, write, *one):
            return []
    return [entity.name for entity, _ in having]


def _taken(workload: Workload, write: Write) -> set[str]:
    """The inputs that a change or a condition of a write takes."""
    found = {name for check in write.checks for name in params_of(check)}
    for action in write.actions:
        entity = workload.entity(action.entity)
        for change in changes(write, action, entity) if entity else action.changes:
            if change.value is None:
                found.add(change.attribute)
            elif change.value.param:
                found.add(change.value.param)
    return found


def unique_groups(entity: Entity) -> list[tuple[str, ...]]:
    """The groups of attributes that are unique together; the id is not one of them."""
    ids = {attribute.name for attribute in entity.id}
    groups = [*((attribute.name,) for attribute in entity.attributes if attribute.unique), *entity.unique]
    return [group for group in dict.fromkeys(groups) if not set(group) <= ids]


def alternatives(inputs: Iterable[Input]) -> list[tuple[Input, ...]]:
    """Inputs in groups: an item has to pass one of each group. Most groups have one input.

    >>> status, priority = Input("status", either=True), Input("priority")
    >>> [len(group) for group in alternatives((Input("team"), status, priority))]
    [1, 2]
    """
    groups: list[tuple[Input, ...]] = []
    open_ = False
    for one in inputs:
        if open_:
            groups[-1] += (one,)
        else:
            groups.append((one,))
        open_ = one.either
    return groups


def equalities(read: Read) -> tuple[str, ...]:
    """The attributes that a read knows the value of, given or constant, for certain."""
    return tuple(i.attribute for i in read.inputs if i.op is Op.EQ and not i.filter and not i.optional)


NEXT_VERSION = Change(VERSION, ChangeOp.ADD, Value(const="1"))
"""The change of the version that the client adds to each update of an item with a history."""


def changes(write: Write, action: Action, entity: Entity) -> tuple[Change, ...]:
    """The changes of an update: those it names, or else the inputs that are attributes of the entity and not its id.

    An update of an item with a history also counts its version.
    """
    if not action.updates:
        return action.changes
    counted = {VERSION} if entity.history and entity.attribute(VERSION) else set()
    names = {i.attribute for i in write.inputs} - counted
    found = action.changes or tuple(
        Change(a.name)
        for a in entity.attributes
        if a.name in names and not a.id and not _names_another_item(write, action, a)
    )
    return (*found, NEXT_VERSION) if found and counted else found


def can_be_input(workload: Workload, write: Write, attribute: Attribute) -> bool:
    """Whether an attribute of a new object can be the input of its name.

    It cannot if an update or a condition uses the input as an enum with other members: `create Order; update Parcel
    (status)` with the inputs `Order, parcelId, status` is about two values.
    """
    uses: list[Attribute | None] = []
    for action in write.actions if attribute.type.kind is Kind.ENUM else ():
        entity = workload.entity(action.entity)
        for change in changes(write, action, entity) if entity and action.updates else ():
            source = change.value.param if change.value else change.attribute
            if entity and source == attribute.name:
                uses.append(entity.attribute(change.attribute))
    for leaf in all_leaves(write) if attribute.type.kind is Kind.ENUM else ():
        entity = workload.entity(leaf.entity)
        if entity and any(value.param == attribute.name for value in values_of(leaf)):
            uses.append(entity.attribute(leaf.attribute))
    enums = [use.type.values for use in uses if use is not None and use.type.kind is Kind.ENUM]
    return all(set(attribute.type.values) <= set(values) for values in enums)


def _names_another_item(write: Write, action: Action, attribute: Attribute) -> bool:
    """Whether an input of a bare `update Job` only names another item of the row.

    `update Job; update Depot (visits += 1)` with the input `depotId`: the job's `depotId` is marked immutable, so the
    input says which depot is meant, and that the job is one of it.
    """
    others = {other.entity for other in write.actions if other is not action}
    is_fixed = attribute.mutable is False and action.verb is Verb.UPDATE
    return is_fixed and attribute.referenced_entity in others


def member_of(attribute: Attribute) -> Attribute:
    """An element of an attribute with several values, as an attribute: the tag that is appended to tags."""
    return replace(attribute, type=attribute.type.of or STRING, optional=False)


def gives_object(write: Write, entity: Entity) -> bool:
    """Whether an input is a whole object of an entity: it has the name of the entity and of no attribute of it."""
    return entity.attribute(entity.name) is None and any(i.attribute == entity.name for i in write.inputs)


def unaddressed(workload: Workload, write: Write, action: Action, entity: Entity) -> list[str]:
    """The parts of the id of an action's item that a write does not know."""
    given = {i.attribute for i in write.inputs}
    if gives_object(write, entity) or entity.singleton:
        return []
    if action.by:
        return [] if len(action.by) == len(entity.id) else [a.name for a in entity.id]
    touched = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    referring = {
        place
        for e in map(workload.entity, touched)
        if e
        for a in e.attributes
        if a.name in given
        for place in chain(workload, e, a)
    }
    known = given | {a.name for a in entity.id if len(a.type.values) == 1 or (entity.name, a.name) in referring}
    return [a.name for a in entity.id if a.name not in known]
