"""References of two items of one write that may have to agree.

`create Visit; update Appt (status = DONE)` writes a visit and an appointment, and both refer to an animal by
`animalId`. A visit of one animal must not complete the appointment of another, so the appointment is written only if
its `animalId` is the visit's. Who comments on a post need not be its author: there the document has to say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from prejoin.workload.conditions import all_leaves, facts
from prejoin.workload.lookup import is_said_same, target
from prejoin.workload.model import (
    Attribute,
    Entity,
    Presence,
    Workload,
    Write,
)
from prejoin.workload.program.resolved_write import Step, resolve_write


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
    step: Step
    is_written: bool = True

    @property
    def entity(self) -> Entity:
        return self.step.entity

    @property
    def is_new(self) -> bool:
        return self.is_written and self.step.is_new


def sibling_references(workload: Workload, write: Write) -> Iterator[SiblingReference]:
    """The references of a write's existing items that nothing compares with those of its other items.

    References of different names have different roles. A condition on a reference says what it has to be, and
    `Post.userId exists` that it may be anything. Generated code compares two new items with the same reference.
    """
    for left, right in combinations(_items(workload, write), 2):
        for item, sibling in ((left, right), (right, left)):
            if item.is_new or item.entity is sibling.entity:
                continue
            # A comment refers to its post: the `userId` of both may be two people.
            is_linked = _refers(workload, item.entity, sibling.entity) or _refers(workload, sibling.entity, item.entity)
            if is_linked and not sibling.is_new:
                continue  # they belonged together before this write
            # What a reference becomes in one item says nothing about what it is in the other.
            settled_names = _settled_names(write, item) | _changed_names(sibling) | _unconstrained_names(write, sibling)
            # Both refer to a third entity by an attribute of the same name: `Visit.animalId` and `Appt.animalId`.
            for attribute in item.entity.attributes:
                shared_entity = _shared_target(workload, item.entity, attribute, sibling.entity)
                if shared_entity is None or attribute.id or attribute.name in settled_names:
                    continue
                yield SiblingReference(item.entity, attribute, sibling.entity, shared_entity, sibling.is_new, is_linked)


def _items(workload: Workload, write: Write) -> list[_Item]:
    """The single items of a write, written or checked, and the lists that the caller gives."""
    resolved_write = resolve_write(workload, write)
    written_steps = resolved_write.written_steps
    single = [step for step in written_steps if not step.is_existing_list or step.list_source.is_given]
    checked_steps = [item.step for item in resolved_write.checked if not item.must_be_absent]
    return [*map(_Item, single), *(_Item(step, is_written=False) for step in checked_steps)]


def _changed_names(item: _Item) -> frozenset[str]:
    return frozenset() if item.is_new or not item.is_written else item.step.changed


def _unconstrained_names(write: Write, item: _Item) -> set[str]:
    """The attributes of an item of which the write says only that it has them."""
    own = [check for check in facts(write) if check.entity == item.entity.name]
    return {check.attribute for check in own if isinstance(check, Presence) and check.attribute}


def _settled_names(write: Write, item: _Item) -> set[str]:
    """The attributes of an existing item that the write changes, or compares with something."""
    compared_names = {leaf.attribute for leaf in all_leaves(write) if leaf.entity == item.entity.name}
    if not item.is_written:
        return compared_names
    return {*_changed_names(item), *item.step.compared, *item.step.sources}


def _shared_target(workload: Workload, entity: Entity, attribute: Attribute, other: Entity) -> Entity | None:
    """The third entity to which two refer by attributes of one name; None if these are said to be the same."""
    twin = other.attribute(attribute.name)
    if twin is None or not attribute.references or not twin.references:
        return None
    if workload.tenant and attribute.name == workload.tenant.attribute:
        return None
    own_target, twin_target = target(workload, attribute), target(workload, twin)
    if own_target is None or twin_target is None or own_target[0] is not twin_target[0]:
        return None
    is_third = own_target[0] is not entity and own_target[0] is not other
    return own_target[0] if is_third and not is_said_same(workload, (entity, attribute), (other, twin)) else None


def _refers(workload: Workload, entity: Entity, other: Entity) -> bool:
    targets = [target(workload, attribute) for attribute in entity.attributes if attribute.references]
    return any(place is not None and place[0] is other for place in targets)
