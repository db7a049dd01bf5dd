"""Finds the attributes of new items in one write that must have the same value.

A write of an order and its lines means the lines of that order, and an input has one value everywhere. The generated
method checks this for its objects, and the proof generates its data accordingly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prejoin.workload.lookup import root, target
from prejoin.workload.model import Action, Attribute, Entity, Workload, Write
from prejoin.workload.targets import NEW


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


def agreements(workload: Workload, write: Write, actions: Sequence[Action]) -> list[Agreement]:
    """The agreements among the new items of a write."""
    found: dict[tuple[int, str], Agreement] = {}
    new = [(at, action) for at, action in enumerate(actions) if action.verb in NEW]
    for at, action in new:
        for other, more in new:
            if at == other or action.entity == more.entity or action.many:
                continue
            if not more.many and not _is_owner(workload, action, more, at < other):
                continue
            for one in _between(workload, write, (at, action), (other, more)):
                found.setdefault((one.part, one.part_attribute), one)
    return list(found.values())


def shared_inputs(workload: Workload, write: Write, action: Action) -> list[Attribute]:
    """The ids and references that one input gives to all new items of an action."""
    entity = workload.entity(action.entity)
    if entity is None or action.verb not in NEW:
        return []
    inputs = {one.attribute for one in write.inputs if not one.many} - _settled(action)
    found = [a for a in entity.attributes if a.name in inputs and _is_identity(workload, a)]
    if action.many:
        # The input may belong to another item: a post has its author, but timeline entries have their readers.
        others = _plain_attributes(workload, write)
        found = [a for a in found if not (a.id and a.name in others)]
    # Several items cannot share their whole id: such an input then differs for each.
    return [] if action.many and set(entity.id) <= set(found) else found


def _plain_attributes(workload: Workload, write: Write) -> set[str]:
    """The attributes of the single new items of a write that are not part of their ids."""
    made = [workload.entity(one.entity) for one in write.actions if one.verb in NEW and not one.many]
    return {a.name for entity in made if entity for a in entity.attributes if not a.id}


def _is_owner(workload: Workload, action: Action, other: Action, first: bool) -> bool:
    """Whether the other item refers to this one; if neither or both do, whether this is the first."""
    refers, referred = (_refers(workload, *pair) for pair in ((action, other), (other, action)))
    return referred if refers != referred else first


def _refers(workload: Workload, action: Action, other: Action) -> bool:
    entity = workload.entity(action.entity)
    held = [target(workload, attribute) for attribute in entity.attributes] if entity else []
    return any(one[0].name == other.entity for one in held if one)


def _between(
    workload: Workload, write: Write, owner: tuple[int, Action], part: tuple[int, Action]
) -> Iterator[Agreement]:
    one, other = workload.entity(owner[1].entity), workload.entity(part[1].entity)
    if one is None or other is None:
        return
    shared = {a.name for a in shared_inputs(workload, write, part[1])}
    for own in one.attributes:
        for attribute in other.attributes:
            if own.name in _settled(owner[1]) or attribute.name in _settled(part[1]) or own.type != attribute.type:
                continue
            given = own.name == attribute.name and own.name in shared
            if given or _names(workload, (one, own), (other, attribute)):
                yield Agreement(owner[0], own.name, part[0], attribute.name)


def _names(workload: Workload, owner: tuple[Entity, Attribute], part: tuple[Entity, Attribute]) -> bool:
    """Whether an attribute of one item names the other by its id: as part of its own id, or under the same name.

    Another name may be another role: a new user's inviter is not that user.
    """
    (one, own), (other, attribute) = owner, part
    if target(workload, attribute) == (one, own):
        alike = [a for a in other.attributes if target(workload, a) == (one, own)]
        return attribute.name == own.name or (attribute.id and len(alike) == 1)
    same = own.name == attribute.name and own.id and attribute.id
    return same and root(workload, one, own) == root(workload, other, attribute)


def _is_identity(workload: Workload, attribute: Attribute) -> bool:
    """Whether an attribute is an id or a reference, or has the name of some entity's id."""
    ids = {a.name for entity in workload.entities for a in entity.id}
    return attribute.id or bool(attribute.references) or attribute.name in ids


def _settled(action: Action) -> set[str]:
    """The attributes that an action sets itself."""
    return {change.attribute for change in action.changes if change.value is not None}
