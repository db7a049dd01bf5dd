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
- what a construct makes of an action: `delete Note` of an entity with a soft delete sets the time of the delete;
- an attribute in a change that may be left out, `update User (name?)`, is an input `name?`;
- an input that a condition on a created item compares with, `create Invoice` under `paid <= due`, is its attribute;
- an input that is a whole new object, `Ticket` of `create Ticket`, stands for all attributes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from prejoin.constructs.registry import added_changes, maintained, rewritten, shortened
from prejoin.workload.agreement import sibling_references
from prejoin.workload.conditions import RELATIONS, facts, is_of_whole_item, leaves, with_leaves, with_values
from prejoin.workload.grammar.values import BareWord, UnquotedText
from prejoin.workload.lookup import (
    can_be_input,
    changes,
    gives_object,
    having_attribute,
    named_by,
    target,
    touched_entities,
    unaddressed,
)
from prejoin.workload.model import (
    NEW,
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
from prejoin.workload.program.resolved_write import resolve_write
from prejoin.workload.tenants import own_id


def write_out(workload: Workload) -> Workload:
    """The workload without shorthand."""
    return without_unquoted_texts(write_out_names(workload))


def write_out_names(workload: Workload) -> Workload:
    """The workload without shorthand, in which constants without quotes are `UnquotedText`.

    Checks need this. `note = null` and `code = total` are probably mistakes; in quotes they are texts.
    """
    return replace(
        workload,
        reads=tuple(_with_inputs_of(_read(workload, read), _as_unquoted_text) for read in workload.reads),
        writes=tuple(_with_values_of(_write(workload, write), _as_unquoted_text) for write in workload.writes),
        deletes=tuple(_with_values_of(_write(workload, write), _as_unquoted_text) for write in workload.deletes),
    )


def with_implied_names(workload: Workload) -> Workload:
    """The workload with conditions as a document has them: the opposite of `write_out`, for their entities."""

    def as_written(leaf: Leaf, inputs: set[str]) -> Leaf:
        leaf = with_values(leaf, lambda value: _as_word(value, leaf.by or leaf.entity, inputs))
        if leaf.implied:
            return replace(leaf, entity="", implied=False)
        return replace(leaf, entity=leaf.by, by="") if leaf.by else leaf

    def short(write: Write) -> Write:
        inputs = {input_.attribute for input_ in write.inputs}
        checks = [with_leaves(check, lambda leaf: as_written(leaf, inputs)) for check in write.checks]
        actions = [_with_words(shortened(workload, action), inputs) for action in write.actions]
        return replace(write, checks=tuple(checks), actions=tuple(actions))

    def short_read(read: Read) -> Read:
        inputs = [
            replace(input_, values=tuple(_as_word(value, "", set()) for value in input_.values))
            for input_ in read.inputs
        ]
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
    for input_ in read.inputs:
        owners = [entity for entity in entities if entity.attribute(input_.attribute)]
        values = tuple(_named_value(value, owners, input_.attribute) for value in input_.values)
        inputs.append(replace(input_, values=values))
    return replace(read, inputs=tuple(inputs))


def _write(workload: Workload, write: Write) -> Write:
    write = with_optional_inputs(write)
    write = replace(write, actions=tuple(rewritten(workload, action) for action in write.actions))
    object_attributes = frozenset(name for _, names in _objects(workload, write) for name in names)
    conditions = _with_inputs_right(workload, write)
    settled_conditions = [
        with_leaves(check, lambda leaf: _settle_leaf(workload, write, leaf, object_attributes)) for check in conditions
    ]
    actions = tuple(_with_values(workload, action) for action in write.actions)
    write = replace(write, checks=tuple(settled_conditions), actions=actions)
    absences = [check for check in facts(write) if isinstance(check, Absence) and is_of_whole_item(check)]
    new = {check.entity for check in absences if not check.by}
    actions = tuple(
        replace(action, verb=Verb.CREATE) if action.verb is Verb.PUT and action.entity in new else action
        for action in actions
    )
    settled_write = _with_parent_ids(workload, _with_attributes(workload, replace(write, actions=actions)))
    settled_write = _with_sibling_agreement(workload, _with_agreement(workload, settled_write))

    def of_new_item(leaf: Leaf) -> Leaf:
        leaf = _of_written_item(workload, settled_write, leaf)
        return _of_own_attribute(workload, settled_write, leaf)

    checks = [with_leaves(check, of_new_item) for check in settled_write.checks]
    return replace(settled_write, checks=tuple(checks))


def without_unquoted_texts(workload: Workload) -> Workload:
    """The workload with plain texts as constants."""
    return replace(
        workload,
        entities=tuple(map(_with_plain_defaults, workload.entities)),
        reads=tuple(_with_inputs_of(read, _plain) for read in workload.reads),
        writes=tuple(_with_values_of(write, _plain) for write in workload.writes),
        deletes=tuple(_with_values_of(write, _plain) for write in workload.deletes),
    )


def _as_unquoted_text(value: Value) -> Value:
    """A value that is no bare word any more: it stands for nothing else."""
    return Value(const=UnquotedText(value.const)) if isinstance(value.const, BareWord) else value


def _plain(value: Value) -> Value:
    return Value(const=str(value.const)) if isinstance(value.const, UnquotedText) else value


def _with_plain_defaults(entity: Entity) -> Entity:
    attributes = []
    for attribute in entity.attributes:
        is_unquoted = isinstance(attribute.default, UnquotedText)
        attributes.append(replace(attribute, default=str(attribute.default)) if is_unquoted else attribute)
    return replace(entity, attributes=tuple(attributes))


def _with_inputs_of(read: Read, settle_value: Callable[[Value], Value]) -> Read:
    inputs = []
    for input_ in read.inputs:
        values = map(settle_value, input_.values)
        inputs.append(replace(input_, values=tuple(values)))
    return replace(read, inputs=tuple(inputs))


def _with_values_of(write: Write, settle_value: Callable[[Value], Value]) -> Write:
    def settle(change: Change) -> Change:
        return change if change.value is None else replace(change, value=settle_value(change.value))

    checks = [with_leaves(check, lambda leaf: with_values(leaf, settle_value)) for check in write.checks]
    actions = [replace(action, changes=tuple(map(settle, action.changes))) for action in write.actions]
    return replace(write, checks=tuple(checks), actions=tuple(actions))


def _with_values(workload: Workload, action: Action) -> Action:
    """An action whose changes have constants and attributes instead of bare words.

    Only a new item can take a value from another of its attributes. The caller gives it whole, so that the value is
    known before anything is sent.
    """
    entity = workload.entity(action.entity)
    owners = [entity] if entity and action.verb in NEW else []

    def settle(change: Change) -> Change:
        if change.value is None:
            return change
        return replace(change, value=_named_value(change.value, owners, change.attribute))

    with_names = replace(action, changes=tuple(map(settle, action.changes)))
    return replace(with_names, changes=tuple(_with_source(with_names, change) for change in with_names.changes))


def _with_source(action: Action, change: Change) -> Change:
    """A change with the value that the same action sets its source to: of `total = 5, due = total` both are 5.

    A value that comes back to itself stays as it is, to be reported.
    """
    values = {
        change.attribute: change.value
        for change in action.changes
        if change.op is ChangeOp.SET and change.value is not None
    }
    value, passed_names = change.value, {change.attribute}
    while value is not None and value.attribute in values:
        if value.attribute in passed_names:
            return change
        passed_names.add(value.attribute)
        value = values[value.attribute]
    return replace(change, value=value)


# --- Conditions -----------------------------------------------------------------------------------------------------


def _with_inputs_right(workload: Workload, write: Write) -> list[Condition]:
    """The conditions of a write, with inputs to the right of attributes: `amount <= due` is `due >= amount`."""
    inputs = {input_.attribute for input_ in write.inputs}

    def turn(leaf: Leaf) -> Leaf:
        if not isinstance(leaf, Comparison) or leaf.entity or leaf.attribute not in inputs:
            return leaf
        opposite = leaf.op.flipped
        if opposite is None:
            return leaf
        word = leaf.values[0].const
        if not isinstance(word, BareWord):
            return leaf
        entity, _, name = str(word).rpartition(".")
        owners = [entity] if entity else having_attribute(workload, write, name)
        owners_with_attribute = [owner for owner in map(workload.entity, owners) if owner and owner.attribute(name)]
        # With `paid` of the same item, `paid < total` compares two attributes.
        if not owners_with_attribute or any(owner.attribute(leaf.attribute) for owner in owners_with_attribute):
            return leaf
        return Comparison(entity=entity, attribute=name, op=opposite, values=(Value(param=leaf.attribute),))

    return [with_leaves(check, turn) for check in write.checks]


def _settle_leaf(workload: Workload, write: Write, leaf: Leaf, object_attributes: frozenset[str]) -> Leaf:
    """A condition with the entity that it is about, and with attributes instead of their names.

    `given` are the attributes of new objects, which are inputs.
    """
    leaf = _with_entity(workload, write, leaf)
    owner = workload.entity(leaf.entity)

    def settle(value: Value) -> Value:
        is_input = value.const in object_attributes
        return _named_value(value, [owner] if owner and not is_input else [], leaf.attribute, leaf.by)

    return with_values(leaf, settle)


def _named_value(value: Value, owners: Sequence[Entity], attribute: str, by: str = "") -> Value:
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
    return value


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
    references = [attribute for attribute in attributes if attribute is not None]
    if not references or any(attribute.optional or not attribute.references for attribute in references):
        return ""
    return named_by(workload, write, name)


def _with_parent_ids(workload: Workload, write: Write) -> Write:
    """A write with the ids of items that its inputs leave out, and that another item of it refers to.

    In `update Job (…)` with the input `jobId` and the condition `Depot.state = OPEN`, the depot is that of the job. The
    caller has to give its id as `depotId`, which is then compared with the job's.
    """
    existing = [action for action in write.actions if action.verb not in NEW and not action.many and not action.by]
    checked_items = [item for item in resolve_write(workload, write).checked if not item.by]
    items = [*existing, *(item.step.action for item in checked_items)]
    added_inputs: dict[str, Input] = {}
    for item in items:
        entity = workload.entity(item.entity)
        if entity is None or not unaddressed(workload, write, item, entity):
            continue
        references = [name for action in existing for name in _kept_references(workload, action, entity)]
        is_new = any(_has_reference(workload, action, entity) for action in write.actions if action.verb in NEW)
        if len(references) == 1 and not is_new:
            added_inputs[references[0]] = Input(references[0])
    if not added_inputs:
        return write
    actions = tuple(_with_changes(workload, write, action) for action in write.actions)
    return replace(write, actions=actions, inputs=(*write.inputs, *added_inputs.values()))


def _kept_references(workload: Workload, action: Action, entity: Entity) -> list[str]:
    """The attributes of another entity's item that refer to an entity, and that an action does not change."""
    owner = workload.entity(action.entity)
    if owner is None or owner is entity:
        return []
    referring = [attribute for attribute in owner.attributes if _refers_to(workload, attribute, entity)]
    return [attribute.name for attribute in referring if not _is_changed(action, attribute.name)]


def _refers_to(workload: Workload, attribute: Attribute, entity: Entity) -> bool:
    """Whether an attribute holds the whole id of an entity's item, but for the tenant."""
    reference_target = target(workload, attribute) if attribute.references else None
    return (
        reference_target is not None
        and reference_target[0] is entity
        and own_id(workload, entity) == (reference_target[1],)
    )


def _has_reference(workload: Workload, action: Action, entity: Entity) -> bool:
    other = workload.entity(action.entity)
    return other is not None and any(_refers_to(workload, attribute, entity) for attribute in other.attributes)


def _is_changed(action: Action, name: str) -> bool:
    return any(change.attribute == name for change in action.changes)


def _of_written_item(workload: Workload, write: Write, check: Leaf) -> Leaf:
    """A condition on the item of an input, without the input if an action that has no `by` is about the same item."""
    steps = resolve_write(workload, write).steps
    own = [step for step in steps if step.entity.name == check.entity and not step.is_list]
    if not check.by or len(own) != 1 or own[0].action.by:
        return check
    ids = {own[0].sources.get(part.name) for part in own[0].entity.id}
    return replace(check, by="") if check.by in ids else check


def _of_own_attribute(workload: Workload, write: Write, leaf: Leaf) -> Leaf:
    """A condition on a created item that compares two attributes of it, if the input has the name of one.

    The input is the attribute of the new object then. The object may be without it, if it is optional, and the
    comparison is false then.
    """
    if not isinstance(leaf, Comparison) or leaf.op not in RELATIONS or leaf.by:
        return leaf
    creations = [action for action in write.actions if action.entity == leaf.entity and action.verb is Verb.CREATE]
    entity = workload.entity(leaf.entity)
    if entity is None or len(creations) != 1 or creations[0].many:
        return leaf
    name = leaf.values[0].param or ""
    right_attribute = entity.attribute(name)
    if right_attribute is None or name == leaf.attribute:
        return leaf
    if not can_be_input(workload, write, entity, right_attribute):
        return leaf
    value = Value(attribute=name)
    return replace(leaf, values=(value,))


def _with_agreement(workload: Workload, write: Write) -> Write:
    """A write with the condition that its first item refers to the item which an input names.

    In `update Hold (…); update Account (…); create Entry` with the inputs `holdId, accountId`, the hold is of that
    account. Without the new entry that is so because the input is the first entity's.
    """
    first = workload.entity(write.first_entity)
    inputs = {input_.attribute for input_ in write.inputs if not input_.many}
    own_actions = [action for action in write.actions if first and action.entity == first.name]
    if first is None or not own_actions or not all(map(_is_of_one_existing_item, own_actions)):
        return write
    entities = touched_entities(workload, write)
    created_entities = [workload.entity(action.entity) for action in write.actions if action.verb in NEW]
    new_names = {attribute.name for entity in created_entities if entity for attribute in entity.attributes}
    settled_names = _settled_names(write, first, own_actions)
    agreements: list[Condition] = []
    for attribute in first.attributes:
        name = attribute.name
        if attribute.id or not attribute.references or name not in inputs - settled_names:
            continue
        reference_target = target(workload, attribute)
        if reference_target and name in new_names and reference_target[0] in entities:
            agreements.append(Comparison(entity=first.name, attribute=name, op=Op.EQ, values=(Value(param=name),)))
    return replace(write, checks=(*write.checks, *agreements)) if agreements else write


def _settled_names(write: Write, entity: Entity, actions: list[Action]) -> set[str]:
    """The attributes of an entity that its actions change, or that a condition is about."""
    changed_names = {change.attribute for action in actions for change in changes(write, action, entity)}
    condition_leaves = [leaf for check in write.checks for leaf in leaves(check)]
    return changed_names | {leaf.attribute for leaf in condition_leaves if leaf.entity == entity.name}


def _is_of_one_existing_item(action: Action) -> bool:
    return action.verb not in NEW and not action.many and not action.by


def _with_sibling_agreement(workload: Workload, write: Write) -> Write:
    """A write with the condition that its existing items have the references which its inputs give.

    In `create Visit; update Appt (…)` with the inputs `apptId, Visit`, the appointment is of the visit's animal. Where
    one of the items refers to the other, as a comment to its post, `check` asks instead.
    """
    inputs = {input_.attribute for input_ in write.inputs if not input_.many and not input_.optional}
    agreements: dict[tuple[str, str], Condition] = {}
    for reference in sibling_references(workload, write):
        entity, name = reference.entity.name, reference.attribute.name
        if name in inputs and not reference.is_linked:
            agreements[entity, name] = Comparison(entity=entity, attribute=name, op=Op.EQ, values=(Value(param=name),))
    return replace(write, checks=(*write.checks, *agreements.values())) if agreements else write


def _with_attributes(workload: Workload, write: Write) -> Write:
    """A write with the attributes of its new objects as inputs, instead of the objects.

    An update that does not say what it changes takes the other inputs only: a new comment has a text, too. If there are
    none, the write stays as it is, to be reported.
    """
    objects = dict(_objects(workload, write))
    rewritten_actions = [_with_changes(workload, write, action) for action in write.actions]
    if not objects or any(action.updates and not action.changes for action in rewritten_actions):
        return write
    inputs: dict[str, Input] = {}
    for input_ in write.inputs:
        for part in map(Input, objects[input_.attribute]) if input_.attribute in objects else (input_,):
            is_optional = input_.optional or (part.attribute in inputs and inputs[part.attribute].optional)
            inputs[part.attribute] = replace(inputs.get(part.attribute, part), optional=is_optional)
    names = {name for names_of_object in objects.values() for name in names_of_object}
    return replace(
        write,
        inputs=tuple(inputs.values()),
        actions=tuple(_with_inputs(workload, action, names) for action in rewritten_actions),
        checks=tuple(
            with_leaves(check, lambda leaf: _with_input_values(workload, leaf, names)) for check in write.checks
        ),
    )


def _objects(workload: Workload, write: Write) -> Iterator[tuple[str, list[str]]]:
    """The entities of which a write gets a whole new object, with the attributes that it takes from the object."""
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity and action.verb in NEW and not action.many and gives_object(write, entity):
            settled_names = {change.attribute for change in action.changes} | maintained(entity)
            yield entity.name, [a.name for a in entity.attributes if a.name not in settled_names]


def _with_changes(workload: Workload, write: Write, action: Action) -> Action:
    entity = workload.entity(action.entity)
    all_changes = changes(write, action, entity) if entity and action.updates else action.changes
    by_client = added_changes(entity, action) if entity else ()
    return replace(action, changes=tuple(change for change in all_changes if change not in by_client))


def _with_inputs(workload: Workload, action: Action, names: set[str]) -> Action:
    new_changes = (
        replace(change, value=_value(workload, action.entity, change.attribute, change.value, names))
        if change.value
        else change
        for change in action.changes
    )
    return replace(action, changes=tuple(new_changes))


def _with_input_values(workload: Workload, leaf: Leaf, names: set[str]) -> Leaf:
    return with_values(leaf, lambda value: _value(workload, leaf.entity, leaf.attribute, value, names))


def _value(workload: Workload, owner: str, attribute: str, value: Value, names: set[str]) -> Value:
    """A value that was read as a word because its name was not among the inputs yet."""
    entity = workload.entity(owner)
    own = entity.attribute(attribute) if entity else None
    is_word = isinstance(value.const, BareWord) and value.const in names
    if value.const is None or not is_word or (own and value.const in own.type.values):
        return value
    return Value(param=str(value.const))
