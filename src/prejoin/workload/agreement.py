"""References of two items of one write that may have to agree.

`create Visit; update Appt (status = DONE)` writes a visit and an appointment, and both refer to an animal by
`animalId`. A visit of one animal must not complete the appointment of another, so the appointment is written only if
its `animalId` is the visit's. Who comments on a post need not be its author: there the document has to say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from prejoin.workload.conditions import all_leaves, facts, leaves
from prejoin.workload.lookup import changes, is_said_same, target
from prejoin.workload.model import (
    Action,
    Attribute,
    Entity,
    Presence,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.targets import NEW, actions_of, checked_items, checks_of, links, list_source


@dataclass(frozen=True, slots=True)
class SiblingReference:
    """A reference of an existing item that another item of the write has, too, and with which nothing compares it."""

    entity: Entity
    attribute: Attribute
    other: Entity
    held: Entity
    """The entity to which both refer."""
    is_other_new: bool
    is_linked: bool
    """Whether one of the two items refers to the other: then they may have roles of their own, as a comment's user."""


@dataclass(frozen=True, slots=True)
class _Item:
    action: Action
    entity: Entity
    is_written: bool = True

    @property
    def is_new(self) -> bool:
        return self.is_written and self.action.verb in NEW


def sibling_references(workload: Workload, write: Write) -> Iterator[SiblingReference]:
    """The references of a write's existing items that nothing compares with those of its other items.

    References of different names have different roles. A condition on a reference says what it has to be, and
    `Post.userId exists` that it may be anything. Generated code compares two new items with the same reference.
    """
    for one, other in combinations(_items(workload, write), 2):
        for item, sibling in ((one, other), (other, one)):
            if item.is_new or item.entity is sibling.entity:
                continue
            is_linked = _refers(workload, item.entity, sibling.entity) or _refers(workload, sibling.entity, item.entity)
            if is_linked and not sibling.is_new:
                continue  # they belonged together before this write
            # What a reference becomes in one item says nothing about what it is in the other.
            settled = _settled(workload, write, item) | _changed(write, sibling) | _free(write, sibling)
            for attribute in item.entity.attributes:
                held = _shared_target(workload, item.entity, attribute, sibling.entity)
                if held is None or attribute.id or attribute.name in settled:
                    continue
                yield SiblingReference(item.entity, attribute, sibling.entity, held, sibling.is_new, is_linked)


def _items(workload: Workload, write: Write) -> list[_Item]:
    """The single items of a write, written or checked, and the lists that the caller gives."""
    items: list[_Item] = []
    for action in actions_of(workload, write):
        entity = workload.entity(action.entity)
        if entity is None or action.verb is Verb.EXPIRE:
            continue
        is_single = not action.many or action.verb in NEW
        if is_single or list_source(workload, write, action, entity).is_given:
            items.append(_Item(action, entity))
    checked = [item for item in checked_items(workload, write) if not item.must_be_absent]
    return items + [_Item(item.action, item.entity, is_written=False) for item in checked]


def _changed(write: Write, item: _Item) -> set[str]:
    if item.is_new or not item.is_written:
        return set()
    return {change.attribute for change in changes(write, item.action, item.entity)}


def _free(write: Write, item: _Item) -> set[str]:
    """The attributes of an item of which the write says only that it has them."""
    own = [check for check in facts(write) if check.entity == item.entity.name]
    return {check.attribute for check in own if isinstance(check, Presence) and check.attribute}


def _settled(workload: Workload, write: Write, item: _Item) -> set[str]:
    """The attributes of an existing item that the write changes, or compares with something."""
    compared = {leaf.attribute for leaf in all_leaves(write) if leaf.entity == item.entity.name}
    if not item.is_written:
        return compared
    conditions = {leaf.attribute for check in checks_of(write, item.action) for leaf in leaves(check)}
    return _changed(write, item) | conditions | set(links(workload, write, item.action, item.entity))


def _shared_target(workload: Workload, entity: Entity, attribute: Attribute, other: Entity) -> Entity | None:
    """The third entity to which two refer by attributes of one name; None if these are said to be the same."""
    twin = other.attribute(attribute.name)
    if twin is None or not attribute.references or not twin.references:
        return None
    if workload.tenant and attribute.name == workload.tenant.attribute:
        return None
    held, held_by_twin = target(workload, attribute), target(workload, twin)
    if held is None or held_by_twin is None or held[0] is not held_by_twin[0]:
        return None
    is_third = held[0] is not entity and held[0] is not other
    return held[0] if is_third and not is_said_same(workload, (entity, attribute), (other, twin)) else None


def _refers(workload: Workload, entity: Entity, other: Entity) -> bool:
    held = [target(workload, attribute) for attribute in entity.attributes if attribute.references]
    return any(place is not None and place[0] is other for place in held)
