"""What the writes of a document say about the states of an item: a draft has no time of publication."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from prejoin.types import Kind
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Attribute, Change, ChangeOp, Entity, Verb, Workload, Write


class Late(msgspec.Struct, frozen=True):
    """An attribute that an item gets when it comes into a state."""

    attribute: str
    state: str
    """The attribute that says in which state it is."""
    then: tuple[str, ...]
    """The states in which it gets it."""
    before: frozenset[str]
    """Those in which it cannot have it: nothing leads back to them."""


def late(workload: Workload, entity: Entity) -> Iterator[Late]:
    """The attributes of an entity that come with a state.

    That is said by all the updates that set it: each sets the state, too. What may be given when the item is created
    is there from the beginning on.
    """
    every = [
        (write, action)
        for write in (*workload.writes, *workload.deletes)
        for action in write.actions
        if action.entity == entity.name
    ]
    updates = [
        {change.attribute: change for change in changes(write, action, entity)}
        for write, action in every
        if action.verb is Verb.UPDATE
    ]
    for attribute in entity.attributes:
        setting = [one for one in updates if (change := one.get(attribute.name)) and change.op is not ChangeOp.REMOVE]
        if not attribute.optional or not setting or any(_gives(write, action, attribute) for write, action in every):
            continue
        for state in entity.attributes:
            reached = [_constant(one[state.name]) for one in updates if state.name in one]
            then = [_constant(one[state.name]) if state.name in one else None for one in setting]
            if state.type.kind is Kind.ENUM and {*reached, *then} <= {*state.type.values}:
                before = frozenset(state.type.values) - {*reached}
                yield Late(attribute.name, state.name, tuple(filter(None, then)), before)


def _gives(write: Write, action: Action, attribute: Attribute) -> bool:
    """Whether an item may have an attribute when it is created."""
    given = {one.attribute for one in write.inputs} | {change.attribute for change in action.changes}
    return action.verb in (Verb.CREATE, Verb.PUT) and bool(given & {attribute.name, action.entity})


def _constant(change: Change) -> str | None:
    """What a change sets an attribute to, if the document says it."""
    return change.value.const if change.op is ChangeOp.SET and change.value else None
