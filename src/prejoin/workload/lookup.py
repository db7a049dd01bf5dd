"""Resolves names: entities, attributes, and attributes of different names that hold the same id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from msgspec.structs import replace

from prejoin.constructs.registry import added_changes, maintained
from prejoin.types import STRING, Kind
from prejoin.workload.conditions import all_leaves, params_of
from prejoin.workload.memo import remembered
from prejoin.workload.model import (
    Action,
    Attribute,
    AttributeName,
    Change,
    Entity,
    Input,
    Op,
    Read,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import common_tenant, is_owned, own_id

_MAX_CANDIDATES = 100
"""With more candidates than this, only those with the same first letter are compared, because comparing is slow."""


EITHER = " / "
"""Between the names that several entities have for one input: `Order.placedAt / Payment.paidAt`."""


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a name probably means: another case, a plural, or a typing error."""
    # Another case and a plural come before similar spellings: for `users`, `User` and not `Uses`.
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


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str) -> tuple[str, str]:
    """The candidate that a name probably means, empty if there is none, and the fix: that one, or `otherwise`.

    >>> did_you_mean("user", ["User"], "name an entity")
    ('User', 'did you mean `User`?')
    """
    near = suggest(name, candidates) or ""
    return near, f"did you mean `{near}`?" if near else otherwise


def bare_name(name: str) -> str:
    """A name without its entity: `Order.userId` becomes `userId`. Of several names for one value it is the first.

    >>> bare_name("Order.placedAt / Payment.paidAt")
    'placedAt'
    """
    return name.partition(EITHER)[0].rpartition(".")[2]


def target(workload: Workload, attribute: Attribute) -> tuple[Entity, Attribute] | None:
    """The entity and id attribute that a reference holds; None if that is ambiguous."""
    name, field = AttributeName.parse(attribute.references)
    entity = workload.entity(name)
    if entity is None:
        return None
    if field:
        id_attribute = entity.attribute(field)
    elif len(entity.id) == 1:
        id_attribute = entity.id[0]
    else:  # of several parts it is the one of the same name
        id_attribute = next((part for part in entity.id if part.name == attribute.name), None)
    return (entity, id_attribute) if id_attribute else None


def targets(workload: Workload, attribute: Attribute) -> list[tuple[Entity, Attribute]]:
    """All entities and id attributes that a reference may hold: `→ User | Organization` has two."""
    names = (attribute.references, *attribute.references_or)
    reference_targets = (target(workload, replace(attribute, references=name)) for name in names)
    return list(filter(None, reference_targets))


def chain(workload: Workload, entity: Entity, attribute: Attribute) -> list[tuple[str, str]]:
    """The origins of an attribute's values along its references; the attribute itself first."""
    key = ("chain", entity.name, attribute.name, attribute.references)
    if key not in workload.memo:
        workload.memo[key] = _chain(workload, entity, attribute)
    return list(workload.memo[key])


def _chain(workload: Workload, entity: Entity, attribute: Attribute) -> list[tuple[str, str]]:
    # For `Comment.ticketId`: `Comment.ticketId`, `Ticket.ticketId`. Where the id of a ticket refers to a case, the
    # chain goes on with `Case.caseId`. Two attributes with the same last link hold the same kind of value.
    links = [(entity.name, attribute.name)]
    while not attribute.references_or and (next_link := target(workload, attribute)):
        attribute = next_link[1]
        # A hierarchy refers to itself: `Folder.parentId` → `Folder.folderId`.
        if (next_link[0].name, attribute.name) in links:
            break
        links.append((next_link[0].name, attribute.name))
    if attribute.references_or:
        links += [(owner.name, id_attribute.name) for owner, id_attribute in targets(workload, attribute)]
    shared_ids = filter(None, (_shared_id(workload, *link) for link in links))
    if shared_id := next(shared_ids, ""):
        links.append(("", shared_id))  # the ids of several entities that one attribute may hold are one kind of value
    if links[-1][1] == workload.tenant_attribute and is_owned(workload, links[-1][0]):
        # Tenants need not be an entity: their ids come from outside.
        links.append(("", workload.tenant_attribute))
    return links


@remembered
def attributes_referring_to(workload: Workload, entity: Entity, parent: str, part: str) -> tuple[Attribute, ...]:
    """The attributes of an entity whose values come, along references, from an attribute of another entity."""
    return tuple(a for a in entity.attributes if (parent, part) in chain(workload, entity, a)[1:])


def _shared_id(workload: Workload, owner: str, name: str) -> str:
    """The name of the kind of value that an entity's id shares with the ids of others; empty if it shares none."""
    entity = workload.entity(owner) if owner in workload.shared_ids else None
    if entity is None or [part.name for part in own_id(workload, entity)] != [name]:
        return ""
    return workload.shared_ids[owner]


def root(workload: Workload, entity: Entity, attribute: Attribute) -> tuple[str, str]:
    """The last origin of an attribute's values.

    Two attributes with the same root hold the same kind of value under different names.
    """
    return chain(workload, entity, attribute)[-1]


def identified(entity: Entity, names: Iterable[str]) -> bool:
    """Whether some attributes identify one item of an entity: they contain its id or a unique value."""
    known_names = frozenset(names)
    if entity.singleton or (entity.id and known_names.issuperset(entity.id_names)):
        return True
    return any(group and known_names.issuperset(group) for group in declared_groups(entity))


@remembered
def foreign_key(
    workload: Workload, entity: Entity, parent: Entity, names: Iterable[str] | None = None
) -> frozenset[str] | None:
    """The attributes of an entity that together hold the id of another one; None where they do not hold all of it.

    At least one of them refers to that entity. The others may come from the same place: where `Comment.ticketId` refers
    to `Ticket.ticketId`, `Comment.tenantId` and `Ticket.tenantId` are both the id of the tenant. With `names`, no other
    attributes are considered.
    """
    candidate_names = frozenset(entity.types if names is None else names)
    # What a relationship says with `via` comes before what the references say.
    related_key = _key_of_relationship(entity, parent, candidate_names)
    return related_key or _key_of_references(workload, entity, parent, candidate_names)


def _key_of_relationship(entity: Entity, parent: Entity, candidate_names: frozenset[str]) -> frozenset[str] | None:
    """The attributes that `Parent 1:N Entity via …` lists, if they are a whole id."""
    for relationship in (*parent.relationships, *entity.relationships):
        is_between = (relationship.left, relationship.right) == (parent.name, entity.name) and parent is not entity
        is_whole = bool(relationship.via) and len(relationship.via) == len(parent.id)
        if is_between and is_whole and candidate_names.issuperset(relationship.via):
            return frozenset(relationship.via)
    return None


def _key_of_references(
    workload: Workload, entity: Entity, parent: Entity, candidate_names: frozenset[str]
) -> frozenset[str] | None:
    # Each part of the id takes an attribute of its own, the one of the same name if there is one.
    holders: set[str] = set()
    is_linked = False
    for part in parent.id:
        candidates = candidate_names - holders
        referring = attributes_referring_to(workload, entity, parent.name, part.name)
        options = [attribute.name for attribute in referring if attribute.name in candidates]
        is_linked |= bool(options)
        if not options:
            same_kind = _attributes_of_same_source(workload, entity, parent, part.name)
            options = [attribute.name for attribute in same_kind if attribute.name in candidates]
        if not options:
            return None
        holders.add(part.name if part.name in options else options[0])
    return frozenset(holders) if is_linked else None


def foreign_parts(
    workload: Workload, entity: Entity, parent: Entity, lead: Attribute
) -> Iterator[tuple[Attribute, Attribute]]:
    """The parts of another entity's id, each with the attribute that holds it beside `lead`, which holds one of them.

    Where several attributes could hold a part (two roles of a composite id), it is the one that a relation names with
    `lead`, or else the one in the same place among its like.
    """
    lead_target = target(workload, lead)
    if lead_target and (lead_target[1],) == parent.id:
        return
    for part in parent.id:
        if lead_target and lead_target[1].name == part.name:
            continue
        is_tenant = part.name in common_tenant(workload, entity.name, parent.name)
        # Another attribute that holds a tenant's id is not the tenant of the item.
        holder = entity.attribute(part.name) if is_tenant else None
        holder = holder or _holder_beside(workload, entity, parent, part, lead)
        if holder is not None:
            yield part, holder


def _holder_beside(
    workload: Workload, entity: Entity, parent: Entity, part: Attribute, lead: Attribute
) -> Attribute | None:
    """The attribute that holds a part of another entity's id together with `lead`: `bSlot` beside `bRoom`."""
    options = attributes_referring_to(workload, entity, parent.name, part.name)
    options = options or _attributes_of_same_source(workload, entity, parent, part.name)
    options = tuple(option for option in options if option.name != lead.name)
    related_names = _names_in_relation_with(entity, parent, lead.name)
    for option in options:
        if option.name in related_names:
            return option
    # Two roles of a composite id, `aRoom, aSlot` and `bRoom, bSlot`: beside `bRoom`, the second of the rooms, is the
    # second of the slots.
    lead_target = target(workload, lead)
    roles = [attribute.name for attribute in entity.attributes if target(workload, attribute) == lead_target]
    position = roles.index(lead.name)
    if position < len(options):
        return options[position]
    return options[0] if options else None


def _names_in_relation_with(entity: Entity, parent: Entity, name: str) -> set[str]:
    """The attributes that relationships of two entities list after `via` together with one of them."""
    names: set[str] = set()
    for relationship in (*parent.relationships, *entity.relationships):
        is_between = {relationship.left, relationship.right} == {parent.name, entity.name}
        if is_between and name in relationship.via:
            names.update(relationship.via)
    return names


@remembered
def _attributes_of_same_source(workload: Workload, entity: Entity, parent: Entity, part: str) -> tuple[Attribute, ...]:
    """The attributes of an entity that hold the same kind of value as a part of another entity's id."""
    id_attribute = parent.attribute(part)
    if id_attribute is None:
        return ()
    candidates = entity.attributes
    return tuple(a for a in candidates if _same_source(workload, (entity, a), (parent, id_attribute)))


def _same_source(workload: Workload, left: tuple[Entity, Attribute], right: tuple[Entity, Attribute]) -> bool:
    """Whether two attributes hold the same kind of value in the end.

    They hold ids of the same entity, or an id of something outside the document: a part of a composite id that refers
    to nothing and has the same name in both places, as a `tenantId` without an entity Tenant.
    """
    # An id that nothing in the document generates comes from outside, and equal names are then the same thing.
    first, second = root(workload, *left), root(workload, *right)
    return first == second or (first[1] == second[1] and _outside(workload, first) and _outside(workload, second))


def _outside(workload: Workload, place: tuple[str, str]) -> bool:
    entity = workload.entity(place[0])
    attribute = entity.attribute(place[1]) if entity else None
    return bool(entity and attribute and not attribute.generated and entity.id_names != (place[1],))


def bindings(workload: Workload, entities: tuple[str, ...], name: str) -> dict[str, str]:
    """The attribute of each entity that a name means: its own of that name, or the one that holds the same id.

    An entity that has none, or several that could be meant, is left out. `Order.userId` says whose attribute it is, and
    `Order.placedAt / Payment.paidAt` what each of two has.
    """
    candidates = workload.entities_named(entities)
    if EITHER in name:
        return _bindings_of_alternatives(candidates, name)
    bound: dict[str, str] = {}
    roots: set[tuple[str, str]] = set()
    owner, dot, field = name.partition(".")
    field = field if dot else name
    for entity in candidates:
        attribute = entity.attribute(field) if not dot or entity.name == owner else None
        if attribute is not None:
            bound[entity.name] = field
            roots.add(root(workload, entity, attribute))
    if len(roots) != 1:
        return bound
    for entity in candidates:
        if entity.name in bound:
            continue
        # `userId` of a User is `authorId` of a Post, if no other attribute of the post holds the id of a user.
        same_root = [attribute.name for attribute in entity.attributes if root(workload, entity, attribute) in roots]
        if len(same_root) == 1:
            bound[entity.name] = same_root[0]
    return bound


def _bindings_of_alternatives(candidates: Iterable[Entity], name: str) -> dict[str, str]:
    """The attributes in `Order.placedAt / Payment.paidAt`, by entity."""
    attribute_names: dict[str, str] = {}
    for qualified_name in name.split(EITHER):
        owner, _, field = qualified_name.rpartition(".")
        attribute_names[owner] = field
    bound: dict[str, str] = {}
    for entity in candidates:
        field = attribute_names.get(entity.name, "")
        if entity.attribute(field):
            bound[entity.name] = field
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
    if _changes_elsewhere(write, entity.name, attribute.name):
        return False  # what it becomes there is not what it is here
    if not attribute.references and _is_taken_by_another(write, entity.name, attribute.name):
        return False
    is_first = write.first_entity == entity.name
    for other in workload.entities_named(write.created_names if is_first else write.entity_names):
        namesake = other.attribute(attribute.name) if other is not entity else None
        if namesake is not None and not is_said_same(workload, (entity, attribute), (other, namesake)):
            return False
    return True


def _changes_elsewhere(write: Write, entity: str, name: str) -> bool:
    """Whether an action on another entity changes an attribute of some name."""
    for action in write.actions:
        if action.entity != entity and any(change.attribute == name for change in action.changes):
            return True
    return False


def _is_taken_by_another(write: Write, entity: str, name: str) -> bool:
    """Whether a change or a condition of another entity takes an input, and none of this entity does."""
    takers = {leaf.entity for leaf in all_leaves(write) if name in params_of(leaf)}
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


def touched_entities(workload: Workload, write: Write) -> tuple[Entity, ...]:
    """The entities of a write: those of its column Entity, then those of its actions."""
    return workload.entities_named(write.entity_names)


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
    return name in write.input_names or gives_object(write, entity)


def undecided(workload: Workload, write: Write, name: str) -> list[str]:
    """The entities of a write that an input may be of, where nothing decides of which; none where something does.

    It is decided by a new item that has it, by a change or a condition that takes it, by an id that it is or refers to;
    and else by what the write is of, and by relations.
    """
    if any(name in action.by for action in write.actions) or name in taken_inputs(workload, write):
        return []
    entities = touched_entities(workload, write)
    ids = {(entity.name, id_name) for entity in entities for id_name in entity.id_names}
    owners = []
    for entity in entities:
        attribute = entity.attribute(name)
        if attribute is None:
            continue
        is_id = not ids.isdisjoint(chain(workload, entity, attribute))
        if entity.name in write.created_names or is_id or means(workload, write, entity, attribute):
            return []
        owners.append(entity.name)
    return owners


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
    ids = frozenset(entity.id_names)
    return [group for group in dict.fromkeys(declared_groups(entity)) if not ids.issuperset(group)]


def declared_groups(entity: Entity) -> list[tuple[str, ...]]:
    """The groups of unique attributes as the document has them: each flag `unique`, then the line Unique."""
    flags = [(attribute.name,) for attribute in entity.attributes if attribute.unique]
    return [*flags, *entity.unique]


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
    own_changes = action.changes or tuple(_implied_changes(write, action, entity))
    return (*own_changes, *added_changes(entity, action)) if own_changes else own_changes


def _implied_changes(write: Write, action: Action, entity: Entity) -> Iterator[Change]:
    """The changes of a bare `update User`: the inputs that are its attributes."""
    # `update User` with the inputs `userId, name, email` changes the name and the email.
    names = write.input_names - maintained(entity)
    for attribute in entity.attributes:
        is_changed = attribute.name in names and not attribute.id
        if is_changed and not _names_another_item(write, action, attribute):
            yield Change(attribute.name)


def can_be_input(workload: Workload, write: Write, entity: Entity, attribute: Attribute) -> bool:
    """Whether an attribute of a new object can be the input of its name.

    With the inputs `Order, parcelId, status` there are two values in `create Order (status = NEW); update Parcel
    (status)`, where the document says which one the order has, and in `create Order; update Parcel (status)`, if the
    parcel's status has other members.
    """
    if _is_settled(write, entity, attribute):
        return False
    if attribute.type.kind is not Kind.ENUM:
        return True
    # The input `status` cannot be the status of an order and that of a parcel, if an order is never `LOST`.
    members = frozenset(attribute.type.values)
    for use in _uses_of_input(workload, write, attribute.name):
        if use.type.kind is Kind.ENUM and not members.issubset(use.type.values):
            return False
    return True


def _uses_of_input(workload: Workload, write: Write, name: str) -> Iterator[Attribute]:
    """The attributes of existing items that are set to an input, or compared with it."""
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity is None or not action.updates:
            continue
        for change in changes(write, action, entity):
            source = change.value.param if change.value else change.attribute
            attribute = entity.attribute(change.attribute)
            if source == name and attribute is not None:
                yield attribute
    for leaf in all_leaves(write):
        entity = workload.entity(leaf.entity)
        attribute = entity.attribute(leaf.attribute) if entity else None
        if attribute is not None and name in params_of(leaf):
            yield attribute


def _is_settled(write: Write, entity: Entity, attribute: Attribute) -> bool:
    """Whether a row says which value an attribute of its new item has, and it is not the input of that name."""
    for action in write.actions:
        if action.entity != entity.name or not action.is_new:
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
    return entity.attribute(entity.name) is None and entity.name in write.input_names


def unaddressed(workload: Workload, write: Write, action: Action, entity: Entity) -> list[str]:
    """The parts of the id of an action's item that a write does not know."""
    if gives_object(write, entity) or entity.singleton:
        return []
    if action.by:
        return [] if len(action.by) == len(entity.id) else list(entity.id_names)
    # `update Post` with the input `Comment.postId`: the comment says which post is meant.
    places = _places_of_inputs(workload, write)
    unknown_names = []
    for part in entity.id:
        is_known = part.name in write.input_names or (entity.name, part.name) in places
        if not is_known and len(part.type.values) != 1:
            unknown_names.append(part.name)
    return unknown_names


def _places_of_inputs(workload: Workload, write: Write) -> set[tuple[str, str]]:
    """The attributes whose values the inputs hold, along the references of the write's entities."""
    places: set[tuple[str, str]] = set()
    for entity in touched_entities(workload, write):
        for attribute in entity.attributes:
            if attribute.name in write.input_names:
                places.update(chain(workload, entity, attribute))
    return places
