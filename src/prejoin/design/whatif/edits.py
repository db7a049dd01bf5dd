"""Small edits of a document that several proposals share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec.structs import replace

from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Attribute, Entity, Input, Read, Workload, Write


def only_entity(workload: Workload, read: Read) -> Entity | None:
    """The entity of a read of one entity."""
    return workload.entity(read.entities[0]) if len(read.entities) == 1 else None


def changes_later(workload: Workload, entity: Entity, attribute: Attribute) -> bool:
    """Whether an update changes an attribute, so that what is kept by it would have to know the old value."""
    if attribute.id:
        return False
    if attribute.mutable:
        return True
    for write in workload.writes:
        for action in actions_on(write, entity):
            later_changes = changes(write, action, entity) if action.updates else ()
            if attribute.name in [change.attribute for change in later_changes]:
                return True
    return False


def edit_inputs(read: Read, conditions: Collection[Input], edit: Callable[[Input], Input]) -> Read:
    """A read with some of its inputs edited."""
    inputs = [edit(condition) if condition in conditions else condition for condition in read.inputs]
    return replace(read, inputs=tuple(inputs))


def as_filter(condition: Input) -> Input:
    return replace(condition, filter=True)


def id_part(attribute: Attribute) -> Attribute:
    """An attribute as a part of the id of another entity."""
    return replace(attribute, id=True, generated=None, unique=False, mutable=None)


def reference_to(entity: Entity, part: Attribute) -> Attribute:
    """A part of the id of an entity, as a reference to it from another entity."""
    references = entity.name if len(entity.id) == 1 else f"{entity.name}.{part.name}"
    return replace(part, id=False, generated=None, unique=False, mutable=False, references=references)


def actions_on(write: Write, entity: Entity) -> list[Action]:
    return [action for action in write.actions if action.entity == entity.name]


def with_steps(write: Write, steps: Sequence[Action], *, atomic: bool = True) -> Write:
    """A write with more steps. An item is written once in a transaction, so the changes of one item are one step."""
    actions = list(write.actions)
    for step in steps:
        same_item = next((action for action in write.actions if action.entity == step.entity), None)
        if same_item is None:
            actions.append(step)
        else:
            merged_action = replace(same_item, changes=(*same_item.changes, *step.changes))
            actions[actions.index(same_item)] = merged_action
    entities = dict.fromkeys((*write.entities, *(step.entity for step in steps)))
    return replace(write, entities=tuple(entities), actions=tuple(actions), atomic=atomic)


def changed_writes(workload: Workload, edit: Callable[[Write], Write]) -> list[Write]:
    """The writes and deletes that an edit changes."""
    edited_writes = [(write, edit(write)) for write in workload.changing]
    return [edited_write for write, edited_write in edited_writes if edited_write != write]
