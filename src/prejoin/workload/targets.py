"""The items that a write touches: which they are, what the caller knows of them, and which conditions are about them.

`update Task (status)` with the inputs `projectId, taskId` is about one item, whose id the inputs hold. `delete Task[]`
with the input `projectId` is about a list: the tasks that belong to the project which the write names. `Project exists`
is about an item that is not written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from prejoin.types import Kind
from prejoin.workload.conditions import (
    all_leaves,
    entities_of,
    holds_if_absent,
    is_of_whole_item,
    leaves,
    tests_of,
    values_of,
)
from prejoin.workload.lookup import chain, changes, gives_object, means, root, target, touched_entities
from prejoin.workload.model import (
    Absence,
    Action,
    Attribute,
    ChangeOp,
    Comparison,
    Entity,
    Op,
    RelationshipKind,
    Test,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import source_of
from prejoin.workload.tenants import is_owned, own_id

NEW = frozenset({Verb.CREATE, Verb.PUT})
"""Verbs with whole items as input."""


def actions_of(workload: Workload, write: Write) -> tuple[Action, ...]:
    """The actions of a write, each item once, because a DynamoDB transaction takes an item only once.

    Two updates of one entity mean two items if two inputs name them (follower and followed). Otherwise they mean one
    item and become one update.
    """
    found: list[Action] = []
    for action in write.actions:
        twins = [a for a in write.actions if _again(a, action)]
        if len(twins) < 2:
            found.append(action)
        elif len(names := _naming_inputs(workload, write, action.entity)) == len(twins):
            found.append(replace(action, by=_whole_id(workload, action.entity, names[_position(twins, action)])))
        elif twins[0] is action:
            found.append(replace(action, changes=tuple(dict.fromkeys(c for a in twins for c in a.changes))))
    return _children_first(workload, found) if is_resumable(write) else tuple(found)


def is_resumable(write: Write) -> bool:
    """Whether a write changes or deletes a list item by item, so that a call which was interrupted can be repeated.

    Then the list comes before the items that it belongs to: the repeated call finds what is left of it.
    """
    return write.atomic is False and any(action.many and action.verb not in NEW for action in write.actions)


def _children_first(workload: Workload, actions: list[Action]) -> tuple[Action, ...]:
    """The lists, each before the one that its items belong to; then the other actions."""
    lists = [action for action in actions if action.many and action.verb not in NEW]
    others = [action for action in actions if action not in lists]
    ordered: list[Action] = []
    while lists:
        parents = {name for action in lists for name in _referred_entities(workload, action)}
        first = next((action for action in lists if action.entity not in parents), lists[0])
        lists.remove(first)
        ordered.append(first)
    return (*ordered, *others)


def _referred_entities(workload: Workload, action: Action) -> set[str]:
    """The entities that an action's entity refers to, without itself."""
    entity = workload.entity(action.entity)
    names = {attribute.referenced_entity for attribute in entity.attributes} if entity else set()
    return names - {action.entity}


def _whole_id(workload: Workload, name: str, source: str) -> tuple[str, ...]:
    """The inputs that hold the id of an item, if one of them holds all of it but the tenant."""
    entity = workload.entity(name)
    if entity is None or workload.tenant is None:
        return (source,)
    return tuple(workload.tenant.attribute if a not in own_id(workload, entity) else source for a in entity.id)


def _again(one: Action, other: Action) -> bool:
    """Whether two actions update the same entity, and neither names its item."""
    same = one.entity == other.entity and one.verb is other.verb and one.updates
    return same and not (one.by or other.by or one.many or other.many)


def _position(actions: list[Action], action: Action) -> int:
    return next(at for at, one in enumerate(actions) if one is action)


def _naming_inputs(workload: Workload, write: Write, name: str) -> list[str]:
    """The inputs that each name another item of an entity: `fromAccountId` and `toAccountId` of a transfer."""
    entity = workload.entity(name)
    own = own_id(workload, entity) if entity else ()
    if entity is None or len(own) != 1 or own[0].name in _inputs(write):
        return []
    identity = root(workload, entity, own[0])
    return [source for source, places in _places(workload, write).items() if identity in places]


# --- What the caller knows ------------------------------------------------------------------------------------------


def known(workload: Workload, write: Write, action: Action) -> frozenset[str]:
    """The attributes of an action's items whose values before the write are known to the caller."""
    if workload.pattern(write.id) is not write:
        return _known(workload, write, action)
    key = ("known", write.id, action)
    if key not in workload.memo:
        workload.memo[key] = _known(workload, write, action)
    names: frozenset[str] = workload.memo[key]
    return names


def _known(workload: Workload, write: Write, action: Action) -> frozenset[str]:
    entity = workload.entity(action.entity)
    if entity is None:
        return frozenset()
    if action.verb in NEW or is_given_whole(write, action, entity):
        return frozenset(a.name for a in entity.attributes)
    names = set(links(workload, write, action, entity))
    names |= {a.name for a in entity.attributes if len(a.type.values) == 1}
    return frozenset(names | set(said_equal(write, action, entity)))


def is_given_whole(write: Write, action: Action, entity: Entity) -> bool:
    """Whether the caller gives the objects that an action changes or deletes.

    In `delete Slot[]; create Slot[]` the given objects are the new ones.
    """
    made = any(other.entity == action.entity and other.verb in NEW for other in write.actions)
    return gives_object(write, entity) and not made


def links(workload: Workload, write: Write, action: Action, entity: Entity) -> dict[str, str]:
    """The attributes of an action's items that come from an input, with the input."""
    inputs = _inputs(write)
    if action.verb in NEW:
        return {a.name: a.name for a in entity.attributes if a.name in inputs}
    if action.many:
        return dict(list_source(workload, write, action, entity).links)
    return _item_links(workload, write, action, entity)


def _item_links(workload: Workload, write: Write, action: Action, entity: Entity) -> dict[str, str]:
    """The attributes of one existing item that come from an input: its id, and others that the input is about."""
    inputs = {one.attribute: None for one in write.inputs if not one.optional}
    changed = _changed(write, action, entity)
    # A condition gives the current value of an attribute under another name, or as a constant.
    said = {name for name, value in said_equal(write, action, entity).items() if value.param != name}
    compared = _compared_with_own_input(write, action, entity)
    own: dict[str, str] = {}
    for attribute in entity.attributes:
        name = attribute.name
        is_own = name in inputs and name not in changed and name not in said and name not in compared
        if is_own and means(workload, write, entity, attribute):
            own[name] = name
    if action.by:
        ids = [a.name for a in entity.id]
        own = {name: source for name, source in own.items() if name not in ids}
        return own | dict(zip(ids, action.by, strict=False)) if len(action.by) == len(ids) else own
    for name in inputs:
        for other in touched_entities(workload, write):
            held = other.attribute(name) if other is not entity else None
            places = chain(workload, other, held) if held else []
            for part in entity.id:
                alone = own_id(workload, entity) == (part,) and root(workload, entity, part) in places
                if (entity.name, part.name) in places or alone:
                    own.setdefault(part.name, name)
    return own


def _compared_with_own_input(write: Write, action: Action, entity: Entity) -> set[str]:
    """The attributes that conditions compare with the input of their name, and that may differ from it.

    With `Seat.holderId = holderId or heldUntil < now` the holder may be another one, with `rank < rank` it always is.
    """
    compared: set[str] = set()
    for check in checks_of(write, action):
        for leaf in leaves(check):
            if any(value.param == leaf.attribute for value in values_of(leaf)):
                compared.add(leaf.attribute)
    ids = {attribute.name for attribute in entity.id}
    return compared - ids - said_equal(write, action, entity).keys()


def _changed(write: Write, action: Action, entity: Entity) -> set[str]:
    """The attributes whose input is a new value, not the current one.

    An upsert gives the value that an immutable attribute of an existing item has already.
    """
    fixed = {a.name for a in entity.attributes if a.id or (action.verb is Verb.UPSERT and a.mutable is False)}
    return _set_to_own_input(write, action, entity) - fixed


def _set_to_own_input(write: Write, action: Action, entity: Entity) -> set[str]:
    """The attributes whose new value is the input of their name.

    In `update Task (ownerId = newOwnerId)` the input `ownerId` is the owner before.
    """
    if action.verb is Verb.UPSERT:
        return {change.attribute for change in changes(write, action, entity)}
    return {change.attribute for change in changes(write, action, entity) if source_of(change) == change.attribute}


def said_equal(write: Write, action: Action, entity: Entity) -> dict[str, Value]:
    """The values that conditions fix: a write with `status = DRAFT` knows the status.

    Of an upsert they fix nothing: the item may be absent. A condition beside an `or` fixes nothing, either.
    """
    if action.verb is Verb.UPSERT:
        return {}
    equal: dict[str, Value] = {}
    for check in checks_of(write, action):
        if isinstance(check, Comparison) and check.op is Op.EQ and entity.attribute(check.attribute):
            value = check.values[0]
            if value.attribute is None:
                equal[check.attribute] = value
    return equal


def is_tied_by_key(workload: Workload, write: Write, action: Action, entity: Entity, base: Iterable[str]) -> bool:
    """Whether the item's key in the table holds what the caller says of it beyond its id.

    In `delete Task` with the inputs `taskId, projectId`, where tasks live under their project, another project names an
    item that does not exist. So the delete must require that there is one, as it does where the project is compared.
    """
    if action.verb is Verb.UPSERT or action.verb in NEW or action.many:
        return False
    said = {*links(workload, write, action, entity), *said_equal(write, action, entity)}
    ids = {attribute.name for attribute in entity.id}
    return not said.isdisjoint(set(base) - ids)


def _inputs(write: Write) -> dict[str, None]:
    return dict.fromkeys(i.attribute for i in write.inputs)


def _places(workload: Workload, write: Write) -> dict[str, list[tuple[str, str]]]:
    """The attributes whose values each input holds, along the references of the entities of the write."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in _inputs(write):
        for entity in touched_entities(workload, write):
            attribute = entity.attribute(name)
            if attribute is not None:
                found.setdefault(name, []).extend(chain(workload, entity, attribute))
    return found


def search_attributes(workload: Workload, write: Write, action: Action) -> frozenset[str]:
    """The attributes by which the items of an action can be found.

    Of a list, those that say which items it means: a condition on them is checked for each, and selects none.
    """
    entity = workload.entity(action.entity)
    if entity is None or not action.many or action.verb in NEW:
        return known(workload, write, action)
    source = list_source(workload, write, action, entity)
    return frozenset({*source.links, *source.over_links})


# --- Conditions -----------------------------------------------------------------------------------------------------


def checks_of(write: Write, action: Action) -> tuple[Test, ...]:
    """The conditions on the items of an action."""
    return tuple(test for test in tests_of(write) if _is_about(test, action))


def _is_about(test: Test, action: Action) -> bool:
    """Whether a condition is about the items of an action. All parts of one are about the same item."""
    return all(leaf.entity == action.entity and (not leaf.by or leaf.by in action.by) for leaf in leaves(test))


def unsettled_checks(write: Write) -> tuple[Test, ...]:
    """The conditions that are about no entity and no input, or about several. A write is not built without them."""
    known = input_checks(write)
    return tuple(test for test in tests_of(write) if test not in known and not _is_settled(test))


def _is_settled(test: Test) -> bool:
    """Whether a condition is about one item."""
    items = {(leaf.entity, leaf.by) for leaf in leaves(test)}
    return len(items) == 1 and "" not in entities_of(test)


def input_checks(write: Write) -> tuple[Test, ...]:
    """The conditions on inputs that are no attributes of the write's entities: `n > 0`."""
    inputs = _inputs(write)
    found = []
    for test in tests_of(write):
        own = list(leaves(test))
        if all(isinstance(leaf, Comparison) and not leaf.entity and leaf.attribute in inputs for leaf in own):
            found.append(test)
    return tuple(found)


def is_range_of_inputs(check: Comparison) -> bool:
    """Whether the ends of a range are known only at the call, so that the first may be above the second."""
    if check.op is not Op.BETWEEN:
        return False
    is_constant = all(value.const is not None for value in check.values)
    is_moment = all(value.now is not None for value in check.values)
    return not (is_constant or is_moment)


@dataclass(frozen=True, slots=True)
class CheckedItem:
    """An item that a write checks and does not write."""

    entity: Entity
    checks: tuple[Test, ...]
    by: tuple[str, ...] = ()
    """The inputs that hold its id, where the write names several items of the entity."""

    @property
    def action(self) -> Action:
        """The action that would address the item in the same way."""
        return Action(Verb.UPDATE, self.entity.name, by=self.by)

    @property
    def must_be_absent(self) -> bool:
        return is_absence(self.checks)


def checked_items(workload: Workload, write: Write) -> list[CheckedItem]:
    """The items that a write checks and does not write.

    `Account exists` for a transfer checks the accounts of both its references, `fromAccountId.status = OPEN` one of
    them.
    """
    actions = actions_of(workload, write)
    groups: dict[tuple[str, tuple[str, ...]], list[Test]] = {}
    written = {action.entity for action in actions}
    for test in tests_of(write):
        if not _is_settled(test) or any(_is_about(test, action) for action in actions):
            continue
        leaf = next(leaves(test))
        names = [leaf.by] if leaf.by else []
        if not names and leaf.entity not in written:
            names = _naming_inputs(workload, write, leaf.entity)
        sources = [_whole_id(workload, leaf.entity, name) for name in names]
        # One input that names the item needs no `by`.
        for by in sources if leaf.by or len(sources) > 1 else [()]:
            groups.setdefault((leaf.entity, by), []).append(test)
    return [
        CheckedItem(entity, tuple(tests), by)
        for (name, by), tests in groups.items()
        if (entity := workload.entity(name))
    ]


def ties_of_checked(workload: Workload, write: Write, item: CheckedItem, base: Iterable[str]) -> dict[str, str]:
    """The attributes beside the key that a checked item must have as an input says, with the input.

    In `update Task (…)` with the inputs `taskId, jobId, orgId` and the condition `Job.state = OPEN`, the job is one of
    that organisation. An item that may be absent is not compared.
    """
    if item.must_be_absent or all(holds_if_absent(check) for check in item.checks):
        return {}
    # As an update without changes it would take the inputs as new values.
    linked = links(workload, write, replace(item.action, verb=Verb.DELETE), item.entity)
    lists = {one.attribute for one in write.inputs if one.many}
    references = {a.name for a in item.entity.attributes if a.references and not a.id} - set(base)
    return {name: source for name, source in linked.items() if name in references and source not in lists}


def is_absence(checks: Iterable[Test]) -> bool:
    """Whether the conditions say that an item must not exist."""
    return any(isinstance(check, Absence) and is_of_whole_item(check) for check in checks)


def known_of_checked(workload: Workload, write: Write, item: CheckedItem) -> frozenset[str]:
    """The attributes of a condition's item that the caller gives, or that a new item refers to."""
    names = set(known(workload, write, item.action))
    for action in write.actions if not item.by else ():
        new = workload.entity(action.entity) if action.verb in NEW and not action.many else None
        held = [target(workload, attribute) for attribute in new.attributes] if new else []
        names |= {place[1].name for place in held if place and place[0] is item.entity}
    return frozenset(names)


# --- Lists ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListSource:
    """How the items of a list are known: by inputs that they belong to, or through the items of another list.

    `delete Project; delete Task[]; delete File[]` with the input `projectId`: the tasks are those with that
    `projectId`, and the files those with the `taskId` of one of these tasks.
    """

    links: dict[str, str] = field(default_factory=dict)
    """Attributes of the items, with the input that holds their value."""
    over: str = ""
    """The entity of the other list; empty if the items are known by inputs."""
    over_links: dict[str, str] = field(default_factory=dict)
    """Attributes of the items, with the attribute of the other list's items that has the same value."""
    unwritten: dict[str, str] = field(default_factory=dict)
    """Attributes of the other list's items with their inputs, if the write does not write these items."""
    is_given: bool = False
    """Whether the caller gives the items: as objects, or by a list of ids."""
    ambiguous: tuple[str, ...] = ()
    """The attributes that could hold the id of the item that they belong to, if there are several."""

    @property
    def is_bound(self) -> bool:
        return bool(self.links or self.over or self.is_given) and not self.ambiguous


def list_source(workload: Workload, write: Write, action: Action, entity: Entity) -> ListSource:
    """How the items of an update or delete of many are known. A list that is not bound is an error of the document."""
    if workload.pattern(write.id) is not write:
        return _list_source(workload, write, action, entity)
    key = ("list", write.id, action)
    if key not in workload.memo:
        workload.memo[key] = _list_source(workload, write, action, entity)
    source: ListSource = workload.memo[key]
    return source


def _list_source(workload: Workload, write: Write, action: Action, entity: Entity) -> ListSource:
    made = any(other.entity == entity.name and other.verb in NEW for other in write.actions)
    parents = _parent_links(workload, write, action, entity)
    if parents.ambiguous:
        return parents
    lists = {} if made else _given_ids(workload, write, entity)
    plain = _plain_links(workload, write, action, entity, is_child=bool(parents.links))
    bound = {**plain, **parents.links, **lists}
    given = bool(lists) or is_given_whole(write, action, entity)
    binding = [name for name in plain if _can_bind(workload, entity, name)]
    if given or parents.links or binding or _is_of_tenant(workload, write, bound):
        return ListSource(bound, is_given=given)
    return _over_list(workload, write, action, entity, bound) or ListSource()


def _can_bind(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether an attribute says to whom an item belongs: it refers to another item, or is a part of the id.

    It may also be one that never changes: the `username` of a session, if sessions refer to nothing else, or one that
    is marked immutable. Others only narrow a list. The tenant of an item binds nothing.
    """
    attribute = entity.attribute(name)
    is_tenant = workload.tenant is not None and name == workload.tenant.attribute and is_owned(workload, entity.name)
    if attribute is None or is_tenant:
        return False
    if attribute.id or len(chain(workload, entity, attribute)) > 1:
        return True
    has_references = any(other.references for other in entity.attributes)
    stays = attribute.mutable is False or (attribute.mutable is None and not has_references)
    return stays and attribute.type.kind not in (Kind.ENUM, Kind.BOOLEAN)


def _is_of_tenant(workload: Workload, write: Write, bound: Iterable[str]) -> bool:
    """Whether a list is all that a tenant has: the tenant's own item is the only other one that the write names.

    `delete Clinic; delete Room[]` is about all rooms. With another item, as in `update Staff (…); update Clinic (…);
    delete Shift[]`, the shifts are probably meant to be that item's, and nothing says so.
    """
    owner = workload.tenant_entity
    single = [action for action in write.actions if not action.many]
    return bool(owner and single and list(bound)) and all(owner and action.entity == owner.name for action in single)


def _given_ids(workload: Workload, write: Write, entity: Entity) -> dict[str, str]:
    """The parts of an id that the caller gives as lists: `taskId[]`."""
    lists = {one.attribute for one in write.inputs if one.many}
    given = {a.name: a.name for a in entity.id if a.name in lists}
    for part in own_id(workload, entity) if not given else ():
        for name in lists:
            for other in touched_entities(workload, write):
                attribute = other.attribute(name)
                if attribute and (entity.name, part.name) in chain(workload, other, attribute):
                    given[part.name] = name
    return given


def _parent_links(workload: Workload, write: Write, action: Action, entity: Entity) -> ListSource:
    """The attributes of a list's items that refer to other items which the write names.

    Not those that the write changes: `create Booking; update Seat[] (soldIn = bookingId)` is about seats that no
    booking has yet.
    """
    bound: dict[str, str] = {}
    new_values = {(change.attribute, source_of(change)) for change in changes(write, action, entity)}
    for parent, sources in _named_items(workload, write):
        if parent is workload.tenant_entity and is_owned(workload, entity.name):
            continue  # all items refer to their tenant: see `_is_of_tenant`
        held = _references(workload, entity, parent, action)
        if held is None:
            continue
        if isinstance(held, tuple):
            return ListSource(ambiguous=held)
        if any((held[part], source) in new_values for part, source in sources.items()):
            continue
        if any(bound.get(held[part], source) != source for part, source in sources.items()):
            # Two items of one entity are named: nothing says to which of them the list belongs.
            return ListSource(ambiguous=tuple(sorted(set(sources.values()))))
        bound |= {held[part]: source for part, source in sources.items()}
    return ListSource(bound)


def _named_items(workload: Workload, write: Write) -> list[tuple[Entity, dict[str, str]]]:
    """The single items that a write names, with the input of each part of their ids.

    They are those that it writes, and those of the column Entity.
    """
    inputs = {one.attribute for one in write.inputs if not one.many}
    single = [action for action in actions_of(workload, write) if not action.many]
    written = {action.entity for action in write.actions}
    single += [Action(Verb.UPDATE, name) for name in write.entities if name not in written]
    named: list[tuple[Entity, dict[str, str]]] = []
    for action in single:
        entity = workload.entity(action.entity)
        if entity is None or not entity.id:
            continue
        sources = _item_links(workload, write, action, entity) if action.verb not in NEW else {}
        if action.verb in NEW:
            sources = {a.name: a.name for a in entity.id}
        ids = {a.name: sources.get(a.name, "") for a in entity.id}
        if set(ids.values()) <= inputs:
            named.append((entity, ids))
    return named


def _references(
    workload: Workload, entity: Entity, parent: Entity, action: Action
) -> dict[str, str] | tuple[str, ...] | None:
    """The attribute of an entity that holds each part of a parent's id; None if it does not refer to the parent.

    If several attributes could hold a part (sender and receiver), a tuple of them, unless `by` names one.
    """
    own = {part.name for part in own_id(workload, parent)}
    related = _related_attributes(entity, parent)
    held: dict[str, str] = {}
    for part in parent.id:
        if part.name not in own:
            if entity.attribute(part.name) is None:
                return None
            held[part.name] = part.name  # the tenant
            continue
        refers = [a.name for a in entity.attributes if (parent.name, part.name) in chain(workload, entity, a)[1:]]
        chosen = [name for name in refers if name in action.by]
        chosen = chosen or [name for name in refers if name == part.name]
        chosen = chosen or [name for name in refers if name in related] or refers
        if not chosen:
            return None
        if len(chosen) > 1:
            return tuple(chosen)
        held[part.name] = chosen[0]
    return held


def _related_attributes(entity: Entity, parent: Entity) -> set[str]:
    """The attributes that a relationship of two entities names."""
    return {
        name
        for relationship in (*parent.relationships, *entity.relationships)
        if {relationship.left, relationship.right} == {parent.name, entity.name}
        and relationship.kind is not RelationshipKind.MANY_TO_MANY
        for name in relationship.via
    }


def _plain_links(workload: Workload, write: Write, action: Action, entity: Entity, is_child: bool) -> dict[str, str]:
    """The attributes of a list's items that an input of the same name is about.

    If the items are not children of an item that the write names, an input that is a reference binds the attribute that
    refers to the same: `delete Animal[]; delete Visit[]` with the input `ownerId`.
    """
    inputs = {one.attribute for one in write.inputs if not one.many and not one.optional}
    changed = _set_to_own_input(write, action, entity)
    # A condition that compares with the input refuses items that differ; it does not select the others.
    compared = {leaf.attribute for check in checks_of(write, action) for leaf in leaves(check)}
    plain = {
        a.name: a.name
        for a in entity.attributes
        if a.name in inputs - changed
        and (a.name not in compared or _can_bind(workload, entity, a.name))
        and means(workload, write, entity, a)
    }
    if {a.name for a in own_id(workload, entity)} <= plain.keys():
        # `delete Folder; delete Folder[]`: the whole id is that of the single item, not of its children.
        own = {a.name for a in own_id(workload, entity)}
        plain = {name: source for name, source in plain.items() if name not in own}
    for name in sorted(inputs - plain.keys()) if not is_child else ():
        origin = _own_reference(workload, write, name)
        refers = [a.name for a in entity.attributes if origin and origin in chain(workload, entity, a)[1:]]
        if len(refers) == 1 and refers[0] not in changed:
            plain.setdefault(refers[0], name)
    return plain


def _own_reference(workload: Workload, write: Write, name: str) -> tuple[str, str] | None:
    """The id that an input refers to, as an attribute of the write's entities; None if it is no reference."""
    for entity in touched_entities(workload, write):
        attribute = entity.attribute(name)
        if attribute and attribute.references and (held := target(workload, attribute)):
            return held[0].name, held[1].name
    return None


def list_over(source: ListSource) -> Action | None:
    """The list that has to be read for another one, and is not written itself."""
    return Action(Verb.DELETE, source.over, many=True) if source.unwritten else None


def _over_list(
    workload: Workload, write: Write, action: Action, entity: Entity, bound: dict[str, str]
) -> ListSource | None:
    """The list through which another one is known: the files of the tasks of a project.

    It is one that the write changes or deletes, too, or else one that is only read.
    """
    for other in actions_of(workload, write):
        parent = workload.entity(other.entity)
        if parent is None or parent is entity or not other.many or other.verb in NEW:
            continue
        held = _references(workload, entity, parent, action)
        if isinstance(held, tuple):
            return ListSource(ambiguous=held)
        if held is not None:
            return ListSource(bound, parent.name, {name: part for part, name in held.items() if name not in bound})
    written = {other.entity for other in write.actions}
    for parent in workload.entities:
        held = _references(workload, entity, parent, action) if parent.name not in written else None
        if held is None or isinstance(held, tuple):
            continue
        between = Action(Verb.DELETE, parent.name, many=True)  # an update would take its inputs as new values
        above = _parent_links(workload, write, between, parent)
        known_by = {**_plain_links(workload, write, between, parent, is_child=bool(above.links)), **above.links}
        is_bound = above.links or any(_can_bind(workload, parent, name) for name in known_by)
        if not above.ambiguous and is_bound:
            over_links = {name: part for part, name in held.items() if name not in bound}
            return ListSource(bound, parent.name, over_links, known_by)
    return None


def read_lists(workload: Workload, write: Write) -> list[Action]:
    """The lists that a write reads, because another list belongs to their items, and does not write."""
    lists: dict[str, Action] = {}
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity is None or not action.many or action.verb in NEW:
            continue
        between = list_over(list_source(workload, write, action, entity))
        if between is not None:
            lists[between.entity] = between
    return list(lists.values())


def is_movable(entity: Entity, name: str, base: Iterable[str]) -> bool:
    """Whether an item of a list may have another value of an attribute by now, than when the list was read."""
    attribute = entity.attribute(name)
    return attribute is not None and attribute.mutable is not False and not attribute.id and name not in base


def unbound_lists(workload: Workload, write: Write) -> list[tuple[Action, Entity, ListSource]]:
    """The lists of a write of which nothing says which items they are."""
    found = []
    for action in actions_of(workload, write):
        entity = workload.entity(action.entity)
        if entity is None or not action.many or action.verb in NEW or action.verb is Verb.EXPIRE:
            continue
        source = list_source(workload, write, action, entity)
        if not source.is_bound:
            found.append((action, entity, source))
    return found


def attribute_of_input(workload: Workload, write: Write, name: str) -> Attribute | None:
    """An attribute that has the type of an input: one of its name, or one that it is compared with or added to.

    An amount and a compared value have the type of the attribute, and not its bounds.
    """
    if attribute := _named_attribute(workload, write, name):
        return attribute
    # `amount <= most` compares two inputs: each has the type of the other.
    for leaf in [leaf for check in input_checks(write) for leaf in leaves(check)]:
        names = [leaf.attribute, *(value.param for value in values_of(leaf) if value.param)]
        others = [_named_attribute(workload, write, other) for other in names if name in names and other != name]
        if attribute := next(filter(None, others), None):
            return replace(attribute, min=None, max=None)
    return None


def _named_attribute(workload: Workload, write: Write, name: str) -> Attribute | None:
    """The attribute of the name of an input, or one that the row sets to it, adds it to, or compares with it."""
    for entity in touched_entities(workload, write):
        if attribute := entity.attribute(name):
            return attribute
    for action in write.actions:
        changed = workload.entity(action.entity)
        for change in changes(write, action, changed) if changed else ():
            if changed and change.value and change.value.param == name:
                attribute = changed.attribute(change.attribute)
                is_amount = change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT)
                return replace(attribute, min=None, max=None) if attribute and is_amount else attribute
    for leaf in all_leaves(write):
        checked = workload.entity(leaf.entity)
        if checked and any(value.param == name for value in values_of(leaf)):
            attribute = checked.attribute(leaf.attribute)
            return replace(attribute, min=None, max=None) if attribute else None
    return None
