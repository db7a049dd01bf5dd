"""Finds the attributes of new items in one write that must have the same value.

A write of an order and its lines means the lines of that order, and an input has one value everywhere. The generated
method checks this for its objects, and the proof generates its data accordingly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from prejoin.workload.lookup import root, target
from prejoin.workload.model import NEW, Action, Attribute, Entity, Workload, Write
from prejoin.workload.program.resolved_write import Step


@dataclass(frozen=True, slots=True)
class Agreement:
    """An attribute of a new item that must equal an attribute of another new item.

    >>> Agreement(0, "orderId", 1, "orderId")  # the first action makes the order, the second its items
    Agreement(owner=0, owner_attribute='orderId', part=1, part_attribute='orderId')
    """

    owner: int
    """The position of the action that creates the owner. `part` is the position of the other, which may be many."""
    owner_attribute: str
    part: int
    part_attribute: str


def agreements(steps: Sequence[Step]) -> list[Agreement]:
    """The agreements among the new items of a write."""
    agreements_by_part: dict[tuple[int, str], Agreement] = {}
    for owner, part in permutations(range(len(steps)), 2):
        if not _is_part(steps[owner], steps[part], owner < part):
            continue
        for owner_attribute, part_attribute in _pairs(steps[owner], steps[part]):
            agreement = Agreement(owner, owner_attribute, part, part_attribute)
            agreements_by_part.setdefault((part, part_attribute), agreement)
    return list(agreements_by_part.values())


def _is_part(owner: Step, part: Step, is_owner_first: bool) -> bool:
    """Whether a new item, or each of a list, may belong to another new item of the write."""
    if not owner.is_new or not part.is_new or owner.entity is part.entity or owner.is_list:
        return False
    return part.is_list or _is_owner(owner, part, is_owner_first)


def shared_inputs(step: Step) -> list[Attribute]:
    """The ids and references that one input gives to all new items of a step."""
    if not step.is_new:
        return []
    inputs = {item.attribute for item in step.write.inputs if not item.many} - _settled_names(step.action)
    attributes = [attribute for attribute in step.entity.attributes if attribute.name in inputs]
    identities = [attribute for attribute in attributes if _is_identity(step.workload, attribute)]
    if not step.is_list:
        return identities
    # The input may belong to another item: a post has its author, but timeline entries have their readers.
    single_names = _plain_attributes(step.workload, step.write)
    identities = [attribute for attribute in identities if not attribute.id or attribute.name not in single_names]
    # Several items cannot share their whole id: such an input then differs for each.
    return [] if set(step.entity.id) <= set(identities) else identities


def _plain_attributes(workload: Workload, write: Write) -> set[str]:
    """The attributes of the single new items of a write that are not part of their ids."""
    names: set[str] = set()
    for action in write.actions:
        entity = workload.entity(action.entity) if action.verb in NEW and not action.many else None
        for attribute in entity.attributes if entity else ():
            if not attribute.id:
                names.add(attribute.name)
    return names


def _is_owner(step: Step, other: Step, is_first: bool) -> bool:
    """Whether the other item refers to this one; if neither or both do, whether this is the first."""
    refers, is_referred = _refers(step, other), _refers(other, step)
    return is_referred if refers != is_referred else is_first


def _refers(step: Step, other: Step) -> bool:
    targets = [target(step.workload, attribute) for attribute in step.entity.attributes]
    return any(place[0] is other.entity for place in targets if place)


def _pairs(owner: Step, part: Step) -> Iterator[tuple[str, str]]:
    """The attributes of the owner and of its part that have the same value."""
    shared_names = {attribute.name for attribute in shared_inputs(part)}
    settled_of_owner, settled_of_part = _settled_names(owner.action), _settled_names(part.action)
    for own in owner.entity.attributes:
        for attribute in part.entity.attributes:
            if own.name in settled_of_owner or attribute.name in settled_of_part or own.type != attribute.type:
                continue
            is_given = own.name == attribute.name and own.name in shared_names
            if is_given or _names(owner.workload, (owner.entity, own), (part.entity, attribute)):
                yield own.name, attribute.name


def _names(workload: Workload, owner: tuple[Entity, Attribute], part: tuple[Entity, Attribute]) -> bool:
    """Whether an attribute of one item names the other by its id: as part of its own id, or under the same name.

    Another name may be another role: a new user's inviter is not that user.
    """
    (owner_entity, own), (other, attribute) = owner, part
    if target(workload, attribute) == (owner_entity, own):
        alike = [a for a in other.attributes if target(workload, a) == (owner_entity, own)]
        return attribute.name == own.name or (attribute.id and len(alike) == 1)
    is_same_id = own.name == attribute.name and own.id and attribute.id
    return is_same_id and root(workload, owner_entity, own) == root(workload, other, attribute)


def _is_identity(workload: Workload, attribute: Attribute) -> bool:
    """Whether an attribute is an id or a reference, or has the name of some entity's id."""
    if attribute.id or attribute.references:
        return True
    ids = {part.name for entity in workload.entities for part in entity.id}
    return attribute.name in ids


def _settled_names(action: Action) -> set[str]:
    """The attributes that an action sets itself."""
    return {change.attribute for change in action.changes if change.value is not None}
