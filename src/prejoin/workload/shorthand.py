"""Shorthand of the document, written out: whatever reads a workload sees one form of each statement.

- `put X` under the condition `X not exists` is `create X`;
- an attribute in a condition without its entity, `usedAt not exists`, is `Ticket.usedAt`;
- a condition on the item that an input names, `fromAccountId.balance >= amount`, is one on its entity, by that input;
- a required reference exists, `toAccountId exists`, if the item does that it names;
- the id of an item to which another one of the write refers is an input, if no other says it;
- an input that names an item to which the first one refers ties both: `Hold.accountId = accountId`;
- an input to which two items of the write refer ties both: `Appt.animalId = animalId` beside a new visit;
- an attribute in a change that may be left out, `update User (name?)`, is an input `name?`;
- an input that is a whole new object, `Ticket` of `create Ticket`, stands for all attributes of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.workload.agreement import sibling_references
from prejoin.workload.lookup import (
    NEXT_VERSION,
    changes,
    gives_object,
    having_attribute,
    named_by,
    target,
    touched_entities,
    unaddressed,
)
from prejoin.workload.model import (
    VERSION,
    Action,
    Attribute,
    Check,
    CheckKind,
    Entity,
    Input,
    Op,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import with_optional_inputs
from prejoin.workload.targets import actions_of, checked_items, links
from prejoin.workload.tenants import own_id

_NEW = (Verb.CREATE, Verb.PUT)


def write_out(workload: Workload) -> Workload:
    """The workload without shorthand."""
    return replace(
        workload,
        writes=tuple(_write(workload, write) for write in workload.writes),
        deletes=tuple(_write(workload, write) for write in workload.deletes),
    )


def with_implied_names(workload: Workload) -> Workload:
    """The workload with conditions as a document has them: the opposite of `write_out`, for their entities."""

    def as_written(check: Check) -> Check:
        if check.implied:
            return replace(check, entity="", implied=False)
        return replace(check, entity=check.by, by="") if check.by else check

    def short(write: Write) -> Write:
        return replace(write, checks=tuple(map(as_written, write.checks)))

    return replace(
        workload,
        writes=tuple(map(short, workload.writes)),
        deletes=tuple(map(short, workload.deletes)),
    )


def _write(workload: Workload, write: Write) -> Write:
    write = with_optional_inputs(write)
    write = replace(write, checks=tuple(_with_entity(workload, write, check) for check in write.checks))
    whole = [check for check in write.checks if check.kind is CheckKind.NOT_EXISTS and not check.attribute]
    new = {check.entity for check in whole if not check.by}
    actions = tuple(
        replace(action, verb=Verb.CREATE) if action.verb is Verb.PUT and action.entity in new else action
        for action in write.actions
    )
    written = _with_parent_ids(workload, _with_attributes(workload, replace(write, actions=actions)))
    written = _with_sibling_agreement(workload, _with_agreement(workload, written))
    return replace(written, checks=tuple(_of_written_item(workload, written, check) for check in written.checks))


def _with_entity(workload: Workload, write: Write, check: Check) -> Check:
    """A condition with the entity that it is about. One that fits none, or several, stays as it is: to be reported.

    `status = OPEN` is about the first entity of the pattern, if it has that attribute; else about the only one that has
    it. `exists` is about the item of the first entity.
    """
    if check.kind is CheckKind.UNIQUE or (check.entity and workload.entity(check.entity)):
        return check
    if check.entity and check.attribute:
        owner = named_by(workload, write, check.entity)
        return replace(check, entity=owner, by=check.entity) if owner else check
    if not check.entity and not check.attribute:
        return replace(check, entity=write.first_entity, implied=True)
    # `usedAt not exists` is read as if `usedAt` were an entity.
    attribute = check.entity or check.attribute
    if check.kind is not CheckKind.COMPARE and (owner := _item_of_reference(workload, write, attribute)):
        return replace(check, entity=owner, attribute="", by=attribute)
    owners = having_attribute(workload, write, attribute)
    if len(owners) != 1:
        return check
    return replace(check, entity=owners[0], attribute=attribute, implied=bool(check.attribute))


def _item_of_reference(workload: Workload, write: Write, name: str) -> str:
    """The entity of the item that a required reference names: `toAccountId exists` is about that account.

    Every item has a required reference, so that it is there would say nothing. Empty for other attributes.
    """
    attributes = [entity.attribute(name) for entity in touched_entities(workload, write)]
    held = [attribute for attribute in attributes if attribute is not None]
    if not held or any(attribute.optional or not attribute.references for attribute in held):
        return ""
    return named_by(workload, write, name)


def _with_parent_ids(workload: Workload, write: Write) -> Write:
    """A write with the ids of items that its inputs leave out, and that another item of it refers to.

    In `update Job (…)` with the input `jobId` and the condition `Depot.state = OPEN`, the depot is that of the job. The
    caller has to give its id as `depotId`, which is then compared with the job's.
    """
    existing = [action for action in write.actions if action.verb not in _NEW and not action.many and not action.by]
    items = [*existing, *(item.action for item in checked_items(workload, write) if not item.by)]
    added: dict[str, Input] = {}
    for item in items:
        entity = workload.entity(item.entity)
        if entity is None or not unaddressed(workload, write, item, entity):
            continue
        references = [
            attribute.name
            for action in existing
            if (other := workload.entity(action.entity)) and other is not entity
            for attribute in other.attributes
            if _refers_to(workload, attribute, entity) and not _is_changed(action, attribute.name)
        ]
        is_new = any(_has_reference(workload, action, entity) for action in write.actions if action.verb in _NEW)
        if len(references) == 1 and not is_new:
            added[references[0]] = Input(references[0])
    if not added:
        return write
    actions = tuple(_with_changes(workload, write, action) for action in write.actions)
    return replace(write, actions=actions, inputs=(*write.inputs, *added.values()))


def _refers_to(workload: Workload, attribute: Attribute, entity: Entity) -> bool:
    """Whether an attribute holds the whole id of an entity's item, but for the tenant."""
    held = target(workload, attribute) if attribute.references else None
    return held is not None and held[0] is entity and own_id(workload, entity) == (held[1],)


def _has_reference(workload: Workload, action: Action, entity: Entity) -> bool:
    other = workload.entity(action.entity)
    return other is not None and any(_refers_to(workload, attribute, entity) for attribute in other.attributes)


def _is_changed(action: Action, name: str) -> bool:
    return any(change.attribute == name for change in action.changes)


def _of_written_item(workload: Workload, write: Write, check: Check) -> Check:
    """A condition on the item of an input, without the input if an action that has no `by` is about the same item."""
    own = [action for action in actions_of(workload, write) if action.entity == check.entity and not action.many]
    entity = workload.entity(check.entity)
    if not check.by or entity is None or len(own) != 1 or own[0].by:
        return check
    sources = links(workload, write, own[0], entity)
    ids = {sources.get(attribute.name) for attribute in entity.id}
    return replace(check, by="") if check.by in ids else check


def _with_agreement(workload: Workload, write: Write) -> Write:
    """A write with the condition that its first item refers to the item which an input names.

    In `update Hold (…); update Account (…); create Entry` with the inputs `holdId, accountId`, the hold is of that
    account. Without the new entry that is so because the input is the first entity's.
    """
    first = workload.entity(write.first_entity)
    inputs = {one.attribute for one in write.inputs if not one.many}
    own = [action for action in write.actions if first and action.entity == first.name]
    if first is None or not own or any(action.verb in _NEW or action.many or action.by for action in own):
        return write
    touched = touched_entities(workload, write)
    new = [workload.entity(action.entity) for action in write.actions if action.verb in _NEW]
    settled = {change.attribute for action in own for change in changes(write, action, first)}
    settled |= {check.attribute for check in write.checks if check.entity == first.name}
    tied: list[Check] = []
    for attribute in first.attributes:
        name = attribute.name
        held = target(workload, attribute) if attribute.references else None
        has_new = any(entity and entity.attribute(name) for entity in new)
        if held and has_new and name in inputs - settled and not attribute.id and held[0] in touched:
            tied.append(Check(CheckKind.COMPARE, first.name, name, Op.EQ, (Value(param=name),)))
    return replace(write, checks=(*write.checks, *tied)) if tied else write


def _with_sibling_agreement(workload: Workload, write: Write) -> Write:
    """A write with the condition that its existing items have the references which its inputs give.

    In `create Visit; update Appt (…)` with the inputs `apptId, Visit`, the appointment is of the visit's animal. Where
    one of the items refers to the other, as a comment to its post, `check` asks instead.
    """
    inputs = {one.attribute for one in write.inputs if not one.many and not one.optional}
    tied: dict[tuple[str, str], Check] = {}
    for reference in sibling_references(workload, write):
        entity, name = reference.entity.name, reference.attribute.name
        if name in inputs and not reference.is_linked:
            tied[entity, name] = Check(CheckKind.COMPARE, entity, name, Op.EQ, (Value(param=name),))
    return replace(write, checks=(*write.checks, *tied.values())) if tied else write


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
