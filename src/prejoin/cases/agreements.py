"""Which attributes of the new items of a write must be equal, from the document alone.

A write of an order and its lines means the lines of that order. The generated method compares its objects, by
`design/mapping/shared_values.py`. The proof finds by itself what belongs together, so that a mistake there is noticed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prejoin.workload.lookup import root, target
from prejoin.workload.model import NEW, Action, Attribute, Entity, Workload, Write


@dataclass(frozen=True, slots=True)
class Agreement:
    """An attribute of each item of an action, and the attribute of the single item of another that it has to equal."""

    part: int
    """The position of the action."""
    part_attribute: str
    owner: int
    owner_attribute: str


@dataclass(frozen=True, slots=True)
class _NewItems:
    """The items of an action that creates or replaces some."""

    position: int
    action: Action
    entity: Entity


def agreements(workload: Workload, write: Write, actions: Sequence[Action]) -> Iterator[Agreement]:
    """Each attribute that has to equal one of another new item, with the first such item."""
    new: list[_NewItems] = []
    for position, action in enumerate(actions):
        entity = workload.entity(action.entity)
        if entity is not None and action.verb in NEW:
            new.append(_NewItems(position, action, entity))
    for part in new:
        for attribute in part.entity.attributes:
            for owner in new:
                is_owner = _is_owner(workload, owner, part)
                name = _equal_attribute(workload, write, part, attribute, owner) if is_owner else ""
                if name:
                    yield Agreement(part.position, attribute.name, owner.position, name)
                    break


def shared_inputs(workload: Workload, write: Write, action: Action) -> set[str]:
    """The inputs that are ids or references of all new items of an action."""
    entity = workload.entity(action.entity)
    if entity is None or action.verb not in NEW:
        return set()
    inputs = {source.attribute for source in write.inputs if not source.many}
    set_by_document = {change.attribute for change in action.changes if change.value is not None}
    names = _naming_attributes(workload, entity) & (inputs - set_by_document)
    if not action.many:
        return names
    # A post has an author `userId`, and the timeline entries of the same call have readers `userId`.
    names -= _id_names(entity) & _plain_names(workload, write)
    # The items of a list have different ids.
    return set() if _id_names(entity) <= names else names


def _naming_attributes(workload: Workload, entity: Entity) -> set[str]:
    """The attributes that name an item: parts of ids, by their names in any entity, and references."""
    id_names = {name for other in workload.entities for name in _id_names(other)}
    return {a.name for a in entity.attributes if a.id or a.references or a.name in id_names}


def _is_owner(workload: Workload, owner: _NewItems, part: _NewItems) -> bool:
    """Whether new items belong to another one: those of a list to a single one, and of two the one that refers to it.

    If neither or both refer to the other, the later one belongs to the earlier one.
    """
    if owner.entity is part.entity or owner.action.many:
        return False
    if part.action.many:
        return True
    refers = _refers_to(workload, part.entity, owner.entity)
    is_referred_to = _refers_to(workload, owner.entity, part.entity)
    return refers if refers is not is_referred_to else owner.position < part.position


def _refers_to(workload: Workload, entity: Entity, other: Entity) -> bool:
    for attribute in entity.attributes:
        reference = target(workload, attribute)
        if reference is not None and reference[0] is other:
            return True
    return False


def _equal_attribute(workload: Workload, write: Write, part: _NewItems, attribute: Attribute, owner: _NewItems) -> str:
    """The attribute of the owner that an attribute of a part has to equal; empty if there is none."""
    if _is_set_by_document(part.action, attribute.name):
        return ""
    for candidate in owner.entity.attributes:
        if _is_set_by_document(owner.action, candidate.name) or candidate.type != attribute.type:
            continue
        is_one_input = candidate.name == attribute.name and attribute.name in shared_inputs(
            workload, write, part.action
        )
        if is_one_input or _is_named_by(workload, part.entity, attribute, owner.entity, candidate):
            return candidate.name
    return ""


def _is_named_by(workload: Workload, entity: Entity, attribute: Attribute, owner: Entity, candidate: Attribute) -> bool:
    """Whether an attribute holds the owner's attribute: it refers to it, or both are parts of ids for one thing."""
    has_same_name = candidate.name == attribute.name
    if target(workload, attribute) == (owner, candidate):
        roles = [other for other in entity.attributes if target(workload, other) == (owner, candidate)]
        # Under another name it may be in another role: the inviter of a new user is not that user.
        return has_same_name or (attribute.id and len(roles) == 1)
    are_ids = has_same_name and candidate.id and attribute.id
    return are_ids and root(workload, owner, candidate) == root(workload, entity, attribute)


def _id_names(entity: Entity) -> set[str]:
    return {part.name for part in entity.id}


def _is_set_by_document(action: Action, name: str) -> bool:
    return any(change.attribute == name and change.value is not None for change in action.changes)


def _plain_names(workload: Workload, write: Write) -> set[str]:
    """The attributes of single new items that are no parts of their ids."""
    names: set[str] = set()
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity is not None and action.verb in NEW and not action.many:
            names |= {attribute.name for attribute in entity.attributes if not attribute.id}
    return names
