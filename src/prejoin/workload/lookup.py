"""Resolves names: entities, attributes, and attributes of different names that hold the same id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from msgspec.structs import replace

from prejoin.constructs.registry import added_changes, maintained
from prejoin.types import STRING, Kind
from prejoin.workload.conditions import all_leaves, params_of, values_of
from prejoin.workload.memo import remembered
from prejoin.workload.model import (
    NEW,
    Action,
    Attribute,
    Change,
    Entity,
    Input,
    Op,
    Read,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import common_tenant, is_owned

_MAX_CANDIDATES = 100
"""With more candidates than this, only those with the same first letter are compared, because comparing is slow."""


EITHER = " / "
"""Between the names that several entities have for one input: `Order.placedAt / Payment.paidAt`."""


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a name probably means: another case, a plural, or a typing error."""
    names = list(dict.fromkeys(candidates))
    names_in_lower_case = {c.lower(): c for c in names}
    word = name.lower()
    for form in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("ies") + "y", word + "s"):
        if form in names_in_lower_case:
            return names_in_lower_case[form]
    if len(names_in_lower_case) > _MAX_CANDIDATES:
        names_in_lower_case = {low: c for low, c in names_in_lower_case.items() if low[:2] == word[:2]}
    close_names = get_close_matches(word[:80], list(names_in_lower_case)[:_MAX_CANDIDATES], 1, 0.7)
    return names_in_lower_case[close_names[0]] if close_names else None


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
        id_attribute = entity.attribute(field)
        return (entity, id_attribute) if id_attribute else None
    if len(entity.id) == 1:
        return entity, entity.id[0]
    id_part_of_same_name = next((a for a in entity.id if a.name == attribute.name), None)
    return (entity, id_part_of_same_name) if id_part_of_same_name else None


def targets(workload: Workload, attribute: Attribute) -> list[tuple[Entity, Attribute]]:
    """All entities and id attributes that a reference may hold: `→ User | Organization` has two."""
    single_references = (
        replace(attribute, references=name) for name in (attribute.references, *attribute.references_or)
    )
    reference_targets = (target(workload, reference) for reference in single_references)
    return [entity_and_id for entity_and_id in reference_targets if entity_and_id]


def chain(workload: Workload, entity: Entity, attribute: Attribute) -> list[tuple[str, str]]:
    """The origins of an attribute's values along its references; the attribute itself first."""
    key = ("chain", entity.name, attribute.name, attribute.references)
    if key not in workload.memo:
        workload.memo[key] = _chain(workload, entity, attribute)
    return list(workload.memo[key])


def _chain(workload: Workload, entity: Entity, attribute: Attribute) -> list[tuple[str, str]]:
    links = [(entity.name, attribute.name)]
    while not attribute.references_or and (next_link := target(workload, attribute)):
        attribute = next_link[1]
        if (next_link[0].name, attribute.name) in links:
            break
        links.append((next_link[0].name, attribute.name))
    if attribute.references_or:
        links += [(e.name, a.name) for e, a in targets(workload, attribute)]
    if shared_id := next(
        (name for owner, attribute_name in links if (name := _shared_id(workload, owner, attribute_name))), ""
    ):
        links.append(("", shared_id))  # the ids of several entities that one attribute may hold are one kind of value
    tenant = workload.tenant
    if tenant and links[-1][1] == tenant.attribute and is_owned(workload, links[-1][0]):
        links.append(("", tenant.attribute))  # tenants need not be an entity: their ids come from outside
    return links


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
    known_names = set(names)
    unique_groups = [{a.name} for a in entity.attributes if a.unique] + [set(group) for group in entity.unique]
    return entity.singleton or any(
        group <= known_names for group in [{a.name for a in entity.id}, *unique_groups] if group
    )


@remembered
def foreign_key(
    workload: Workload, entity: Entity, parent: Entity, names: Iterable[str] | None = None
) -> frozenset[str] | None:
    """The attributes of an entity that together hold the id of another one; None where they do not hold all of it.

    At least one of them refers to that entity. The others may come from the same place: where `Comment.ticketId` refers
    to `Ticket.ticketId`, `Comment.tenantId` and `Ticket.tenantId` are both the id of the tenant. With `names`, no other
    attributes are considered.
    """
    candidate_names = {a.name for a in entity.attributes} if names is None else set(names)
    for relationship in (*parent.relationships, *entity.relationships):
        is_between = (relationship.left, relationship.right) == (parent.name, entity.name) and parent is not entity
        if (
            is_between
            and relationship.via
            and len(relationship.via) == len(parent.id)
            and candidate_names.issuperset(relationship.via)
        ):
            return frozenset(relationship.via)
    holders: set[str] = set()
    is_linked = False
    for part in parent.id:
        candidates = [a for a in entity.attributes if a.name in candidate_names - holders]
        referring = [a.name for a in candidates if (parent.name, part.name) in chain(workload, entity, a)[1:]]
        same_kind = [a.name for a in candidates if _same_source(workload, (entity, a), (parent, part))]
        options = referring or same_kind
        if not options:
            return None
        is_linked |= bool(referring)
        holders.add(part.name if part.name in options else options[0])
    return frozenset(holders) if is_linked else None


def foreign_parts(
    workload: Workload, entity: Entity, parent: Entity, lead: Attribute
) -> Iterator[tuple[Attribute, Attribute]]:
    """The parts of another entity's id, each with the attribute that holds it beside `lead`, which holds one of them.

    Where several attributes could hold a part (two roles of a composite id), it is the one that a relation names with
    `lead`, or else the one in the same place among its like.
    """
    related_names = _names_in_relation_with(entity, parent, lead.name)
    lead_target = target(workload, lead)
    if lead_target and [lead_target[1]] == list(parent.id):
        return
    position = [a.name for a in entity.attributes if target(workload, a) == lead_target].index(lead.name)
    for part in parent.id:
        if lead_target and lead_target[1].name == part.name:
            continue
        if part.name in common_tenant(workload, entity.name, parent.name) and (
            tenant_attribute := entity.attribute(part.name)
        ):
            yield part, tenant_attribute  # another attribute that holds a tenant's id is not the tenant of the item
            continue
        referring = [a for a in entity.attributes if (parent.name, part.name) in chain(workload, entity, a)[1:]]
        same_kind = [a for a in entity.attributes if _same_source(workload, (entity, a), (parent, part))]
        options = [a for a in referring or same_kind if a.name != lead.name]
        related_options = [a for a in options if a.name in related_names]
        if options:
            yield part, (related_options or options[position : position + 1] or options)[0]


def _names_in_relation_with(entity: Entity, parent: Entity, name: str) -> set[str]:
    """The attributes that relationships of two entities list after `via` together with one of them."""
    names: set[str] = set()
    for relationship in (*parent.relationships, *entity.relationships):
        is_between = {relationship.left, relationship.right} == {parent.name, entity.name}
        if is_between and name in relationship.via:
            names.update(relationship.via)
    return names


def _same_source(workload: Workload, left: tuple[Entity, Attribute], right: tuple[Entity, Attribute]) -> bool:
    """Whether two attributes hold the same kind of value in the end.

    They hold ids of the same entity, or an id of something outside the document: a part of a composite id that refers
    to nothing and has the same name in both places, as a `tenantId` without an entity Tenant.
    """
    first, second = root(workload, *left), root(workload, *right)
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
    candidates = [e for e in map(workload.entity, entities) if e]
    if EITHER in name:
        attribute_names: dict[str, str] = {}
        for qualified_name in name.split(EITHER):
            owner, _, field = qualified_name.rpartition(".")
            attribute_names[owner] = field
        return {
            entity.name: attribute_names[entity.name]
            for entity in candidates
            if entity.name in attribute_names and entity.attribute(attribute_names[entity.name])
        }
    owner, dot, field = name.partition(".")
    field = field if dot else name
    bound: dict[str, str] = {}
    for entity in candidates:
        if (not dot or entity.name == owner) and entity.attribute(field):
            bound[entity.name] = field
    roots = {
        root(workload, entity, attribute)
        for entity in candidates
        if entity.name in bound and (attribute := entity.attribute(bound[entity.name]))
    }
    for entity in candidates:
        if entity.name in bound or len(roots) != 1:
            continue
        same_root = [a.name for a in entity.attributes if root(workload, entity, a) in roots]
        if len(same_root) == 1:
            bound[entity.name] = same_root[0]
    return bound


def means(workload: Workload, write: Write, entity: Entity, attribute: Attribute) -> bool:
    """Whether an input of the name of an attribute is about the items of an entity that are there.

    A change or a condition of another entity that takes the input decides; with a reference it may be about both. Where
    others that the write touches have an attribute of that name, the input is the new item's, or else that of the
    entity which the write is of. It is another's too where a relation says that both are the same: who comments on a
    post is not its author, though both are called `userId`; who cancels an order is.
    """
    if attribute.id:
        return True
    if any(c.attribute == attribute.name for a in write.actions if a.entity != entity.name for c in a.changes):
        return False  # what it becomes there is not what it is here
    if not attribute.references and _is_taken_by_another(write, entity.name, attribute.name):
        return False
    touched_names = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    if next(iter(touched_names), "") == entity.name:
        touched_names = dict.fromkeys(a.entity for a in write.actions if a.verb in (Verb.CREATE, Verb.PUT))
    other_entities = [other for other in map(workload.entity, touched_names) if other and other is not entity]
    same_named = [(other, namesake) for other in other_entities if (namesake := other.attribute(attribute.name))]
    return all(is_said_same(workload, (entity, attribute), other_attribute) for other_attribute in same_named)


def _is_taken_by_another(write: Write, entity: str, name: str) -> bool:
    """Whether a change or a condition of another entity takes an input, and none of this entity does."""
    takers = set()
    for leaf in all_leaves(write):
        if any(value.param == name for value in values_of(leaf)):
            takers.add(leaf.entity)
    for action in write.actions:
        if any(change.value and change.value.param == name for change in action.changes):
            takers.add(action.entity)
    return bool(takers) and entity not in takers


def is_said_same(workload: Workload, left: tuple[Entity, Attribute], right: tuple[Entity, Attribute]) -> bool:
    """Whether one of two attributes is said to hold what the other holds: by reference, or as a copy of it."""
    for (entity, attribute), (source, origin) in ((left, right), (right, left)):
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
        if attribute.references and (reference_target := target(workload, attribute)):
            return reference_target[0].name
        if attribute.id:
            return entity.name
    return ""


def _is_input(write: Write, entity: Entity, name: str) -> bool:
    """Whether an attribute of an entity is an input of a write, by itself or as part of an object."""
    return any(input_.attribute == name for input_ in write.inputs) or gives_object(write, entity)


def undecided(workload: Workload, write: Write, name: str) -> list[str]:
    """The entities of a write that an input may be of, where nothing decides of which; none where something does.

    It is decided by a new item that has it, by a change or a condition that takes it, by an id that it is or refers to;
    and else by what the write is of, and by relations.
    """
    if any(name in action.by for action in write.actions) or name in taken_inputs(workload, write):
        return []
    touched_names = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    entities = [e for e in map(workload.entity, touched_names) if e]
    owners = [(entity, attribute) for entity in entities if (attribute := entity.attribute(name))]
    new = {action.entity for action in write.actions if action.verb in (Verb.CREATE, Verb.PUT)}
    ids = {(entity.name, a.name) for entity in entities for a in entity.id}
    for owner in owners:
        if owner[0].name in new or ids.intersection(chain(workload, *owner)) or means(workload, write, *owner):
            return []
    return [entity.name for entity, _ in owners]


def taken_inputs(workload: Workload, write: Write) -> set[str]:
    """The inputs that a change or a condition of a write takes."""
    names = {name for check in write.checks for name in params_of(check)}
    for action in write.actions:
        entity = workload.entity(action.entity)
        for change in changes(write, action, entity) if entity else action.changes:
            if change.value is None:
                names.add(change.attribute)
            elif change.value.param:
                names.add(change.value.param)
    return names


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
    is_open = False
    for input_ in inputs:
        if is_open:
            groups[-1] += (input_,)
        else:
            groups.append((input_,))
        is_open = input_.either
    return groups


def equalities(read: Read) -> tuple[str, ...]:
    """The attributes that a read knows the value of, given or constant, for certain."""
    return tuple(i.attribute for i in read.inputs if i.op is Op.EQ and not i.filter and not i.optional)


def changes(write: Write, action: Action, entity: Entity) -> tuple[Change, ...]:
    """The changes of an update: those it names, or else the inputs that are attributes of the entity and not its id.

    So are changes that the client adds, such as that of the version of an entity with a history.
    """
    if not action.updates:
        return action.changes
    names = {i.attribute for i in write.inputs} - maintained(entity)
    own_changes = action.changes or tuple(
        Change(a.name)
        for a in entity.attributes
        if a.name in names and not a.id and not _names_another_item(write, action, a)
    )
    return (*own_changes, *added_changes(entity, action)) if own_changes else own_changes


def can_be_input(workload: Workload, write: Write, entity: Entity, attribute: Attribute) -> bool:
    """Whether an attribute of a new object can be the input of its name.

    With the inputs `Order, parcelId, status` there are two values in `create Order (status = NEW); update Parcel
    (status)`, where the document says which one the order has, and in `create Order; update Parcel (status)`, if the
    parcel's status has other members.
    """
    if _is_settled(write, entity, attribute):
        return False
    uses: list[Attribute | None] = []
    for action in write.actions if attribute.type.kind is Kind.ENUM else ():
        user = workload.entity(action.entity)
        for change in changes(write, action, user) if user and action.updates else ():
            source = change.value.param if change.value else change.attribute
            if user and source == attribute.name:
                uses.append(user.attribute(change.attribute))
    for leaf in all_leaves(write) if attribute.type.kind is Kind.ENUM else ():
        user = workload.entity(leaf.entity)
        if user and any(value.param == attribute.name for value in values_of(leaf)):
            uses.append(user.attribute(leaf.attribute))
    enums = [use.type.values for use in uses if use is not None and use.type.kind is Kind.ENUM]
    return all(set(attribute.type.values) <= set(values) for values in enums)


def _is_settled(write: Write, entity: Entity, attribute: Attribute) -> bool:
    """Whether a row says which value an attribute of its new item has, and it is not the input of that name."""
    for action in write.actions:
        if action.entity != entity.name or action.verb not in NEW:
            continue
        for change in action.changes:
            if change.attribute == attribute.name and change.value and change.value.param != attribute.name:
                return True
    return False


def _names_another_item(write: Write, action: Action, attribute: Attribute) -> bool:
    """Whether an input of a bare `update Job` only names another item of the row.

    `update Job; update Depot (visits += 1)` with the input `depotId`: the job's `depotId` is marked immutable, so the
    input says which depot is meant, and that the job is one of it.
    """
    other_entities = {other.entity for other in write.actions if other is not action}
    is_fixed = attribute.mutable is False and action.verb is Verb.UPDATE
    return is_fixed and attribute.referenced_entity in other_entities


def member_of(attribute: Attribute) -> Attribute:
    """An element of an attribute with several values, as an attribute: the tag that is appended to tags."""
    return replace(attribute, type=attribute.type.of or STRING, optional=False)


def gives_object(write: Write, entity: Entity) -> bool:
    """Whether an input is a whole object of an entity: it has the name of the entity and of no attribute of it."""
    return entity.attribute(entity.name) is None and any(i.attribute == entity.name for i in write.inputs)


def unaddressed(workload: Workload, write: Write, action: Action, entity: Entity) -> list[str]:
    """The parts of the id of an action's item that a write does not know."""
    input_names = {i.attribute for i in write.inputs}
    if gives_object(write, entity) or entity.singleton:
        return []
    if action.by:
        return [] if len(action.by) == len(entity.id) else [a.name for a in entity.id]
    entity_names = dict.fromkeys((*write.entities, *(a.entity for a in write.actions)))
    referring = {
        place
        for e in map(workload.entity, entity_names)
        if e
        for a in e.attributes
        if a.name in input_names
        for place in chain(workload, e, a)
    }
    known_names = input_names | {
        a.name for a in entity.id if len(a.type.values) == 1 or (entity.name, a.name) in referring
    }
    return [a.name for a in entity.id if a.name not in known_names]
