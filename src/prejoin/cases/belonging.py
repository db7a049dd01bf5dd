"""Which items a list of a write means, from the document alone.

`delete Project; delete Task[]` with the input `projectId` means the tasks whose `projectId` is that of the project. The
proof finds this by itself, and not by the functions from which the design and the code are made, so that a mistake in
those is noticed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prejoin.workload.conditions import all_leaves
from prejoin.workload.lookup import chain, changes, gives_object, target, touched_entities
from prejoin.workload.model import (
    NEW,
    Action,
    ChangeOp,
    Entity,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import is_owned, own_id


@dataclass(frozen=True, slots=True)
class Belonging:
    """How the items of a list are known."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    """Attributes that have the value of an input."""
    parents: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """Attributes that have the value of an attribute of a single item: the position of its action, and its name."""
    over: int | None = None
    """The position of another list whose items these belong to."""
    over_attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes that have the value of an attribute of the other list's item."""
    between: str = ""
    """The entity of a list that is not written, and whose items these belong to."""
    between_inputs: Mapping[str, str] = field(default_factory=dict)
    """Attributes of that entity that have the value of an input."""
    is_given: bool = False
    """Whether the caller gives the items, as objects or by their ids."""

    @property
    def own_names(self) -> list[str]:
        """The attributes of the list's items that say which items it means."""
        return [*self.inputs, *self.parents, *self.over_attributes]


def belonging(workload: Workload, write: Write, actions: Sequence[Action], at: int) -> Belonging:
    """How the items of an update or delete of many are known."""
    action = actions[at]
    entity = workload.entity(action.entity)
    assert entity is not None  # the write is served
    tenant = workload.tenant.attribute if workload.tenant and is_owned(workload, entity.name) else ""
    new_values = _new_values(write, action, entity)
    parents: dict[str, tuple[int, str]] = {}
    input_attributes: dict[str, str] = {}
    for parent_at, parent_action in enumerate(actions):
        parent = workload.entity(parent_action.entity)
        # Nothing that exists belongs to an item which is only created now.
        if (
            parent_action.many
            or parent is None
            or parent_action.verb is Verb.CREATE
            or not _is_named(write, parent_action, parent)
        ):
            continue
        key_attributes = references(workload, entity, parent, action.by)
        if key_attributes is None or _names_other(action, parent_action, key_attributes):
            continue
        if not any(new_values.get(own) in (part, *parent_action.by) for part, own in key_attributes.items()):
            parents |= {own: (parent_at, part) for part, own in key_attributes.items()}
    for parent in _entities_not_written(workload, write):
        key_attributes = references(workload, entity, parent, action.by) if _is_named(write, None, parent) else None
        if key_attributes is not None and not any(new_values.get(own) == part for part, own in key_attributes.items()):
            input_attributes |= {own: part for part, own in key_attributes.items() if own not in parents}
    input_attributes |= {name: name for name in _own_inputs(workload, write, action, entity) if name not in parents}
    is_given = _is_given(workload, write, actions, entity)
    identifying_names = {
        name for name in (*parents, *input_attributes) if name != tenant and _says_whose(workload, entity, name)
    }
    if not identifying_names and not is_given:
        references_of_inputs = _input_references(workload, write, entity)
        input_attributes |= references_of_inputs
        identifying_names = set(references_of_inputs) - {tenant}
    if tenant and tenant not in parents:
        input_attributes.setdefault(tenant, tenant)
    if identifying_names or is_given:
        return Belonging(input_attributes, parents, is_given=is_given)
    owning_list = _owning_list(workload, actions, at, entity)
    if owning_list is None:
        return _belonging_to_unwritten(workload, write, action, entity, input_attributes) or Belonging(
            input_attributes, parents
        )
    position, attributes = owning_list
    attributes = {own: part for own, part in attributes.items() if own not in input_attributes and own not in parents}
    return Belonging(input_attributes, parents, position, attributes)


def _belonging_to_unwritten(
    workload: Workload, write: Write, action: Action, entity: Entity, input_attributes: Mapping[str, str]
) -> Belonging | None:
    """A list whose items belong to those of another one, which is not written: files of the tasks of a project."""
    inputs = {source.attribute for source in write.inputs if not source.many}
    tenant = {workload.tenant.attribute} if workload.tenant else set()
    written_entities = {written_action.entity for written_action in write.actions}
    for parent in workload.entities:
        key_attributes = (
            references(workload, entity, parent, action.by) if parent.name not in written_entities else None
        )
        parent_inputs = {a.name: a.name for a in parent.attributes if a.name in inputs - tenant}
        if key_attributes is not None and any(_says_whose(workload, parent, name) for name in parent_inputs):
            parent_inputs |= {name: name for name in tenant if parent.attribute(name)}
            attributes = {own: part for part, own in key_attributes.items() if own not in input_attributes}
            return Belonging(
                input_attributes, over_attributes=attributes, between=parent.name, between_inputs=parent_inputs
            )
    return None


def references(
    workload: Workload, entity: Entity, parent: Entity, preferred_names: Collection[str]
) -> dict[str, str] | None:
    """For each part of a parent's id, the attribute of an entity that holds it; None if it does not refer to it.

    Of several attributes that could hold a part it is one of those that the document has `named`, if any of them can.
    """
    own = {part.name for part in own_id(workload, parent)}
    relationship_names = {
        name
        for relationship in (*parent.relationships, *entity.relationships)
        if {relationship.left, relationship.right} == {parent.name, entity.name}
        for name in relationship.via
    }
    key_attributes: dict[str, str] = {}
    for part in parent.id:
        if part.name not in own:  # the tenant
            if entity.attribute(part.name) is None:
                return None
            key_attributes[part.name] = part.name
            continue
        refers = [a.name for a in entity.attributes if (parent.name, part.name) in chain(workload, entity, a)[1:]]
        preferences = [
            [name for name in refers if name in preferred_names],
            [name for name in refers if name == part.name],
            [name for name in refers if name in relationship_names],
            refers,
        ]
        first = next((names for names in preferences if names), [])
        if not first:
            return None
        key_attributes[part.name] = first[0]
    return key_attributes


def _is_named(write: Write, action: Action | None, parent: Entity) -> bool:
    """Whether the inputs of a write name an item of an entity."""
    inputs = {source.attribute for source in write.inputs if not source.many}
    if action and action.by:
        return set(action.by) <= inputs
    return bool(parent.id) and (action is not None or all(part.name in inputs for part in parent.id))


def _names_other(action: Action, parent: Action, key_attributes: Mapping[str, str]) -> bool:
    """Whether a list is said to belong to another item of the same entity: `delete Transfer[] by fromAccountId`."""
    return bool(action.by and parent.by) and not set(action.by) & set(parent.by) & set(key_attributes.values())


def _new_values(write: Write, action: Action, entity: Entity) -> dict[str, str | None]:
    """The attributes that an update changes, with the input that holds the new value; None for other values."""
    sources: dict[str, str | None] = {}
    for change in changes(write, action, entity):
        is_own = change.value is None and change.op is not ChangeOp.REMOVE
        sources[change.attribute] = change.attribute if is_own else change.value.param if change.value else None
    return sources


def _says_whose(workload: Workload, entity: Entity, name: str) -> bool:
    """Whether an attribute is a part of the id, or holds the id of another item.

    One that never changes is as good.
    """
    attribute = entity.attribute(name)
    if attribute is None:
        return False
    if attribute.id or target(workload, attribute) is not None:
        return True
    return attribute.mutable is not True


def _entities_not_written(workload: Workload, write: Write) -> Iterator[Entity]:
    written_entities = {action.entity for action in write.actions}
    for name in write.entities:
        entity = workload.entity(name)
        if entity is not None and name not in written_entities:
            yield entity


def _own_inputs(workload: Workload, write: Write, action: Action, entity: Entity) -> list[str]:
    """The attributes of a list's items that inputs of the same name are about."""
    inputs = {source.attribute for source in write.inputs if not source.many}
    changed_names = {name for name, source in _new_values(write, action, entity).items() if name == source}
    compared_names = {leaf.attribute for leaf in all_leaves(write) if leaf.entity == entity.name}
    only_compared = {name for name in compared_names if not _says_whose(workload, entity, name)}
    new = [workload.entity(new_action.entity) for new_action in write.actions if new_action.verb in NEW]
    foreign_names = {a.name for other in new if other for a in other.attributes if not a.id and not a.references}
    # What an item of another entity gets is a new value, and no item of the list has it yet.
    foreign_names |= {
        change.attribute
        for other_action in write.actions
        if other_action.entity != entity.name
        for change in other_action.changes
    }
    foreign_names -= {a.name for a in entity.id}
    names = [a.name for a in entity.attributes if a.name in inputs - changed_names - foreign_names - only_compared]
    own = {a.name for a in own_id(workload, entity)}
    # The whole id is that of a single item, not of a list.
    return [name for name in names if name not in own] if own <= set(names) else names


def _is_given(workload: Workload, write: Write, actions: Sequence[Action], entity: Entity) -> bool:
    if any(action.entity == entity.name and action.verb in NEW for action in actions):
        return False  # the objects, or their ids, are those of the new items
    lists = {source.attribute for source in write.inputs if source.many}
    if gives_object(write, entity):
        return True
    ids = {(entity.name, part.name) for part in own_id(workload, entity)}
    for other in touched_entities(workload, write):
        for name in lists:
            attribute = other.attribute(name)
            if attribute and ids & set(chain(workload, other, attribute)):
                return True
    return False


def _input_references(workload: Workload, write: Write, entity: Entity) -> dict[str, str]:
    """The attributes that refer to the same item as an input: `delete Visit[]` with the input `ownerId`."""
    attributes: dict[str, str] = {}
    for source in write.inputs:
        for other in touched_entities(workload, write) if not source.many else ():
            attribute = other.attribute(source.attribute)
            target_key = target(workload, attribute) if attribute and attribute.references else None
            if target_key is None:
                continue
            place = (target_key[0].name, target_key[1].name)
            refers = [a.name for a in entity.attributes if place in chain(workload, entity, a)[1:]]
            if len(refers) == 1:
                attributes.setdefault(refers[0], source.attribute)
    return attributes


def _owning_list(
    workload: Workload, actions: Sequence[Action], at: int, entity: Entity
) -> tuple[int, dict[str, str]] | None:
    for position, other in enumerate(actions):
        parent = workload.entity(other.entity)
        if parent is None or parent is entity or not other.many or other.verb in NEW:
            continue
        key_attributes = references(workload, entity, parent, actions[at].by)
        if key_attributes is not None:
            return position, {own: part for part, own in key_attributes.items()}
    return None
