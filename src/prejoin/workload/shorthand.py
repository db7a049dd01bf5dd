"""Shorthand of the document, written out: whatever reads a workload sees one form of each statement.

- `put X` under the condition `X not exists` is `create X`;
- an attribute in a condition without its entity, `usedAt not exists`, is `Ticket.usedAt`;
- a word that an attribute is compared with, `paid < total`, is another attribute of the item, if there is one;
- a word that an attribute of a new item is set to, `create Invoice (due = total)`, is another attribute of it as well;
- an input that is compared with an attribute, `amount <= due`, is what the attribute is compared with;
- a condition on the item that an input names, `fromAccountId.balance >= amount`, is one on its entity, by that input;
- a required reference exists, `toAccountId exists`, if the item does that it names;
- the id of an item to which another one of the write refers is an input, if no other says it;
- an input that names an item to which the first one refers ties both: `Hold.accountId = accountId`;
- an input to which two items of the write refer ties both: `Appt.animalId = animalId` beside a new visit;
- an attribute in a change that may be left out, `update User (name?)`, is an input `name?`;
- an input that is a whole new object, `Ticket` of `create Ticket`, stands for all attributes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.workload.agreement import sibling_references
from prejoin.workload.conditions import facts, is_of_whole_item, leaves, with_leaves, with_values
from prejoin.workload.grammar.values import BareWord
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
    Absence,
    Action,
    Attribute,
    Change,
    ChangeOp,
    Comparison,
    Condition,
    Entity,
    Input,
    Leaf,
    Op,
    Read,
    Value,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.optional_inputs import with_optional_inputs
from prejoin.workload.targets import actions_of, checked_items, links
from prejoin.workload.tenants import own_id

_NEW = (Verb.CREATE, Verb.PUT)
"""The operators that have the same meaning with both sides exchanged."""


def write_out(workload: Workload) -> Workload:
    """The workload without shorthand."""
    return replace(
        workload,
        reads=tuple(_read(workload, read) for read in workload.reads),
        writes=tuple(_write(workload, write) for write in workload.writes),
        deletes=tuple(_write(workload, write) for write in workload.deletes),
    )


def with_implied_names(workload: Workload) -> Workload:
    """The workload with conditions as a document has them: the opposite of `write_out`, for their entities."""

    def as_written(leaf: Leaf, inputs: set[str]) -> Leaf:
        leaf = with_values(leaf, lambda value: _as_word(value, leaf.by or leaf.entity, inputs))
        if leaf.implied:
            return replace(leaf, entity="", implied=False)
        return replace(leaf, entity=leaf.by, by="") if leaf.by else leaf

    def short(write: Write) -> Write:
        inputs = {one.attribute for one in write.inputs}
        checks = [with_leaves(check, lambda leaf: as_written(leaf, inputs)) for check in write.checks]
        actions = [_with_words(action, inputs) for action in write.actions]
        return replace(write, checks=tuple(checks), actions=tuple(actions))

    def short_read(read: Read) -> Read:
        inputs = [replace(one, values=tuple(_as_word(value, "", set()) for value in one.values)) for one in read.inputs]
        return replace(read, inputs=tuple(inputs))

    return replace(
        workload,
        reads=tuple(map(short_read, workload.reads)),
        writes=tuple(map(short, workload.writes)),
        deletes=tuple(map(short, workload.deletes)),
    )


def _with_words(action: Action, inputs: set[str]) -> Action:
    """An action as a document has it: with names instead of the attributes that it sets others to."""

    def as_written(change: Change) -> Change:
        if change.value is None:
            return change
        return replace(change, value=_as_word(change.value, action.entity, inputs))

    return replace(action, changes=tuple(map(as_written, action.changes)))


def _as_word(value: Value, owner: str, inputs: set[str]) -> Value:
    """A value as a document has it. An attribute with the name of an input is written with its entity."""
    if value.attribute is None:
        return value
    return Value(const=BareWord(f"{owner}.{value.attribute}" if value.attribute in inputs else value.attribute))


def _read(workload: Workload, read: Read) -> Read:
    entities = [entity for entity in map(workload.entity, read.entities) if entity]
    inputs = []
    for one in read.inputs:
        owners = [entity for entity in entities if entity.attribute(one.attribute)]
        values = tuple(_named_value(value, owners, one.attribute) for value in one.values)
        inputs.append(replace(one, values=values))
    return replace(read, inputs=tuple(inputs))


def _write(workload: Workload, write: Write) -> Write:
    write = with_optional_inputs(write)
    given = frozenset(name for _, names in _objects(workload, write) for name in names)
    turned = _with_inputs_right(workload, write)
    settled = [with_leaves(check, lambda leaf: _settled(workload, write, leaf, given)) for check in turned]
    write = replace(
        write, checks=tuple(settled), actions=tuple(_with_values(workload, action, given) for action in write.actions)
    )
    absences = [check for check in facts(write) if isinstance(check, Absence) and is_of_whole_item(check)]
    new = {check.entity for check in absences if not check.by}
    actions = tuple(
        replace(action, verb=Verb.CREATE) if action.verb is Verb.PUT and action.entity in new else action
        for action in write.actions
    )
    written = _with_parent_ids(workload, _with_attributes(workload, replace(write, actions=actions)))
    written = _with_sibling_agreement(workload, _with_agreement(workload, written))
    checks = [with_leaves(check, lambda leaf: _of_written_item(workload, written, leaf)) for check in written.checks]
    return _without_words(replace(written, checks=tuple(checks)))


def _without_words(write: Write) -> Write:
    """A write without bare words: those that stand for nothing else are constants."""

    def constant(value: Value) -> Value:
        return Value(const=str(value.const)) if isinstance(value.const, BareWord) else value

    def settled(change: Change) -> Change:
        return change if change.value is None else replace(change, value=constant(change.value))

    checks = [with_leaves(check, lambda leaf: with_values(leaf, constant)) for check in write.checks]
    actions = [replace(action, changes=tuple(map(settled, action.changes))) for action in write.actions]
    return replace(write, checks=tuple(checks), actions=tuple(actions))


def _with_values(workload: Workload, action: Action, given: frozenset[str]) -> Action:
    """An action whose changes have constants and attributes instead of bare words.

    Only a new item can take a value from another of its attributes. The caller gives it whole, so that the value is
    known before anything is sent.
    """
    entity = workload.entity(action.entity)
    owners = [entity] if entity and action.verb in _NEW else []

    def settled(change: Change) -> Change:
        if change.value is None:
            return change
        return replace(change, value=_named_value(change.value, owners, change.attribute, given=given))

    named = replace(action, changes=tuple(map(settled, action.changes)))
    return replace(named, changes=tuple(_with_source(named, change) for change in named.changes))


def _with_source(action: Action, change: Change) -> Change:
    """A change with the value that the same action sets its source to: of `total = 5, due = total` both are 5.

    A value that comes back to itself stays as it is, to be reported.
    """
    values = {one.attribute: one.value for one in action.changes if one.op is ChangeOp.SET and one.value is not None}
    value, passed = change.value, {change.attribute}
    while value is not None and value.attribute in values:
        if value.attribute in passed:
            return change
        passed.add(value.attribute)
        value = values[value.attribute]
    return replace(change, value=value)


# --- Conditions -----------------------------------------------------------------------------------------------------


def _with_inputs_right(workload: Workload, write: Write) -> list[Condition]:
    """The conditions of a write, with inputs to the right of attributes: `amount <= due` is `due >= amount`."""
    inputs = {one.attribute for one in write.inputs}

    def turned(leaf: Leaf) -> Leaf:
        if not isinstance(leaf, Comparison) or leaf.entity or leaf.attribute not in inputs:
            return leaf
        flipped = leaf.op.flipped
        if flipped is None:
            return leaf
        word = leaf.values[0].const
        if not isinstance(word, BareWord):
            return leaf
        entity, _, name = str(word).rpartition(".")
        owners = [entity] if entity else having_attribute(workload, write, name)
        own = [owner for owner in map(workload.entity, owners) if owner and owner.attribute(name)]
        # With `paid` of the same item, `paid < total` compares two attributes.
        if not own or any(owner.attribute(leaf.attribute) for owner in own):
            return leaf
        return Comparison(entity=entity, attribute=name, op=flipped, values=(Value(param=leaf.attribute),))

    return [with_leaves(check, turned) for check in write.checks]


def _settled(workload: Workload, write: Write, leaf: Leaf, given: frozenset[str]) -> Leaf:
    """A condition with the entity that it is about, and with attributes instead of their names.

    `given` are the attributes of new objects, which are inputs.
    """
    leaf = _with_entity(workload, write, leaf)
    owner = workload.entity(leaf.entity)

    def settled(value: Value) -> Value:
        is_input = value.const in given
        return _named_value(value, [owner] if owner and not is_input else [], leaf.attribute, leaf.by, given)

    return with_values(leaf, settled)


def _named_value(
    value: Value, owners: Sequence[Entity], attribute: str, by: str = "", given: frozenset[str] = frozenset()
) -> Value:
    """The value that a bare word stands for: an attribute of the same item, or a constant.

    The attribute may be written with its entity, or with the input that names the item (`by`). A member of the compared
    enum is a constant, also if an attribute has the same name.
    """
    word = value.const
    if not isinstance(word, BareWord):
        return value
    owner, _, name = str(word).rpartition(".")
    for entity in owners:
        own = entity.attribute(attribute)
        is_member = own is not None and word in own.type.values
        if not is_member and owner in ("", entity.name, by) and entity.attribute(name) and name != attribute:
            return Value(attribute=name)
    # A word that a new object has becomes an input later. In quotes it is a text, whatever objects have.
    return value if word in given else Value(const=str(word))


def _with_entity(workload: Workload, write: Write, leaf: Leaf) -> Leaf:
    """A condition with the entity that it is about. One that fits none, or several, stays as it is: to be reported.

    `status = OPEN` is about the first entity of the pattern, if it has that attribute; else about the only one that has
    it. `exists` is about the item of the first entity.
    """
    if leaf.entity and workload.entity(leaf.entity):
        return leaf
    if leaf.entity and leaf.attribute:
        owner = named_by(workload, write, leaf.entity)
        return replace(leaf, entity=owner, by=leaf.entity) if owner else leaf
    if not leaf.entity and not leaf.attribute:
        return replace(leaf, entity=write.first_entity, implied=True)
    # `usedAt not exists` is read as if `usedAt` were an entity.
    attribute = leaf.entity or leaf.attribute
    if not isinstance(leaf, Comparison) and (owner := _item_of_reference(workload, write, attribute)):
        return replace(leaf, entity=owner, attribute="", by=attribute)
    owners = having_attribute(workload, write, attribute)
    if len(owners) != 1:
        return leaf
    return replace(leaf, entity=owners[0], attribute=attribute, implied=bool(leaf.attribute))


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


def _of_written_item(workload: Workload, write: Write, check: Leaf) -> Leaf:
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
    settled |= {leaf.attribute for check in write.checks for leaf in leaves(check) if leaf.entity == first.name}
    tied: list[Condition] = []
    for attribute in first.attributes:
        name = attribute.name
        held = target(workload, attribute) if attribute.references else None
        has_new = any(entity and entity.attribute(name) for entity in new)
        if held and has_new and name in inputs - settled and not attribute.id and held[0] in touched:
            tied.append(Comparison(entity=first.name, attribute=name, op=Op.EQ, values=(Value(param=name),)))
    return replace(write, checks=(*write.checks, *tied)) if tied else write


def _with_sibling_agreement(workload: Workload, write: Write) -> Write:
    """A write with the condition that its existing items have the references which its inputs give.

    In `create Visit; update Appt (…)` with the inputs `apptId, Visit`, the appointment is of the visit's animal. Where
    one of the items refers to the other, as a comment to its post, `check` asks instead.
    """
    inputs = {one.attribute for one in write.inputs if not one.many and not one.optional}
    tied: dict[tuple[str, str], Condition] = {}
    for reference in sibling_references(workload, write):
        entity, name = reference.entity.name, reference.attribute.name
        if name in inputs and not reference.is_linked:
            tied[entity, name] = Comparison(entity=entity, attribute=name, op=Op.EQ, values=(Value(param=name),))
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
        checks=tuple(with_leaves(check, lambda leaf: _compared(workload, leaf, names)) for check in write.checks),
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


def _compared(workload: Workload, leaf: Leaf, names: set[str]) -> Leaf:
    return with_values(leaf, lambda value: _value(workload, leaf.entity, leaf.attribute, value, names))


def _value(workload: Workload, owner: str, attribute: str, value: Value, names: set[str]) -> Value:
    """A value that was read as a word because its name was not among the inputs yet."""
    entity = workload.entity(owner)
    own = entity.attribute(attribute) if entity else None
    is_word = isinstance(value.const, BareWord) and value.const in names
    if value.const is None or not is_word or (own and value.const in own.type.values):
        return value
    return Value(param=str(value.const))
