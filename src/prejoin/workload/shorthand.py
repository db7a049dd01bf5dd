"""Shorthand of the document, written out: whatever reads a workload sees one form of each statement.

- `put X` under the condition `X not exists` is `create X`;
- an attribute in a condition without its entity, `usedAt not exists`, is `Ticket.usedAt`;
- an input that is a whole new object, `Ticket` of `create Ticket`, stands for all attributes of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.workload.lookup import NEXT_VERSION, changes, gives_object
from prejoin.workload.model import VERSION, Action, Check, CheckKind, Input, Value, Verb, Workload, Write

_NEW = (Verb.CREATE, Verb.PUT)


def write_out(workload: Workload) -> Workload:
    """The workload without shorthand."""
    return replace(
        workload,
        writes=tuple(_write(workload, write) for write in workload.writes),
        deletes=tuple(_write(workload, write) for write in workload.deletes),
    )


def _write(workload: Workload, write: Write) -> Write:
    write = replace(write, checks=tuple(_with_entity(workload, write, check) for check in write.checks))
    whole = [check for check in write.checks if check.kind is CheckKind.NOT_EXISTS and not check.attribute]
    new = {check.entity or write.first_entity for check in whole}
    actions = tuple(
        replace(action, verb=Verb.CREATE) if action.verb is Verb.PUT and action.entity in new else action
        for action in write.actions
    )
    return _with_attributes(workload, replace(write, actions=actions))


def _with_entity(workload: Workload, write: Write, check: Check) -> Check:
    """A condition on an attribute that is written as if it were an entity, with the entity that has the attribute."""
    presence = check.kind in (CheckKind.EXISTS, CheckKind.NOT_EXISTS) and not check.attribute
    if not presence or not check.entity or workload.entity(check.entity):
        return check
    touched = dict.fromkeys((write.first_entity, *(action.entity for action in write.actions)))
    having = [e for e in map(workload.entity, touched) if e and e.attribute(check.entity)]
    first = having[:1] if having and having[0].name == write.first_entity else having
    return replace(check, entity=first[0].name, attribute=check.entity) if len(first) == 1 else check


def _with_attributes(workload: Workload, write: Write) -> Write:
    """A write with the attributes of its new objects as inputs, instead of the objects.

    An update that does not say what it changes takes the other inputs only: a new comment has a text, too. If there are
    none, the write stays as it is, to be reported.
    """
    objects = dict(_objects(workload, write))
    actions = [_with_changes(workload, write, action) for action in write.actions]
    if not objects or any(action.updates and not action.changes for action in actions):
        return write
    inputs: dict[str, Input] = {}
    for one in write.inputs:
        for own in map(Input, objects[one.attribute]) if one.attribute in objects else (one,):
            inputs.setdefault(own.attribute, own)
    names = {name for own in objects.values() for name in own}
    return replace(
        write,
        inputs=tuple(inputs.values()),
        actions=tuple(_with_inputs(workload, action, names) for action in actions),
        checks=tuple(_compared(workload, check, names) for check in write.checks),
    )


def _objects(workload: Workload, write: Write) -> Iterator[tuple[str, list[str]]]:
    """The entities of which a write gets a whole new object, with the attributes that it takes from the object."""
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity and action.verb in _NEW and not action.many and gives_object(write, entity):
            settled = {change.attribute for change in action.changes} | ({VERSION} if entity.history else set())
            yield entity.name, [a.name for a in entity.attributes if a.name not in settled]


def _with_changes(workload: Workload, write: Write, action: Action) -> Action:
    entity = workload.entity(action.entity)
    found = changes(write, action, entity) if entity and action.updates else action.changes
    return replace(action, changes=tuple(one for one in found if one != NEXT_VERSION))


def _with_inputs(workload: Workload, action: Action, names: set[str]) -> Action:
    found = (
        replace(change, value=_value(workload, action.entity, change.attribute, change.value, names))
        if change.value
        else change
        for change in action.changes
    )
    return replace(action, changes=tuple(found))


def _compared(workload: Workload, check: Check, names: set[str]) -> Check:
    values = (_value(workload, check.entity, check.attribute, value, names) for value in check.values)
    return replace(check, values=tuple(values))


def _value(workload: Workload, owner: str, attribute: str, value: Value, names: set[str]) -> Value:
    """A value that was read as a constant because its name was not among the inputs yet."""
    entity = workload.entity(owner)
    own = entity.attribute(attribute) if entity else None
    if value.const not in names or (own and value.const in own.type.values):
        return value
    return Value(param=value.const)
