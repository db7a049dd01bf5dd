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

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from msgspec.structs import replace

from prejoin.constructs.registry import added_changes, maintained, rewritten, shorten_action
from prejoin.workload.agreement import sibling_references
from prejoin.workload.conditions import all_leaves, facts, is_of_whole_item, with_leaves
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
from prejoin.workload.pattern_values import (
    ValuePlace,
    map_patterns,
    map_values_of_action,
    map_values_of_leaf,
    map_values_of_read,
    map_values_of_write,
)
from prejoin.workload.program.resolved_write import resolve_write
from prejoin.workload.tenants import own_id


def write_out(workload: Workload) -> Workload:
    """The workload without shorthand."""
    return without_unquoted_texts(write_out_names(workload))


def write_out_names(workload: Workload) -> Workload:
    """The workload without shorthand, in which constants without quotes are `UnquotedText`.

    Checks need this. `note = null` and `code = total` are probably mistakes; in quotes they are texts.
    """

    def write_out_read(read: Read) -> Read:
        return map_values_of_read(_read(workload, read), _as_unquoted_text)

    def write_out_write(write: Write) -> Write:
        return map_values_of_write(_write(workload, write), _as_unquoted_text)

    return map_patterns(workload, write_out_read, write_out_write)


def with_implied_names(workload: Workload) -> Workload:
    """The workload with conditions as a document has them: the opposite of `write_out`, for their entities."""

    def shorten_read(read: Read) -> Read:
        return map_values_of_read(read, lambda value, place: _as_word(value, place, frozenset()))

    def shorten_write(write: Write) -> Write:
        write = replace(write, actions=tuple(shorten_action(workload, action) for action in write.actions))
        inputs = write.input_names
        write = map_values_of_write(write, lambda value, place: _as_word(value, place, inputs))
        return replace(write, checks=tuple(with_leaves(check, _with_written_owner) for check in write.checks))

    return map_patterns(workload, shorten_read, shorten_write)


def _as_word(value: Value, place: ValuePlace, inputs: frozenset[str]) -> Value:
    """A value as a document has it. An attribute with the name of an input is written with its entity."""
    if value.attribute is None:
        return value
    owner = place.by or place.entity
    return Value(const=BareWord(f"{owner}.{value.attribute}" if value.attribute in inputs else value.attribute))


def _with_written_owner(leaf: Leaf) -> Leaf:
    """A condition with what the document has before its attribute: nothing, an entity, or the input that names it."""
    if leaf.implied:
        return replace(leaf, entity="", implied=False)
    return replace(leaf, entity=leaf.by, by="") if leaf.by else leaf


def _read(workload: Workload, read: Read) -> Read:
    entities = workload.entities_named(read.entities)

    def settle(value: Value, place: ValuePlace) -> Value:
        owners = [entity for entity in entities if entity.attribute(place.attribute)]
        return _named_value(value, owners, place.attribute)

    return map_values_of_read(read, settle)


def _write(workload: Workload, write: Write) -> Write:
    # The order matters. Names are settled before anything asks what a condition is about; objects become inputs before
    # ids are looked for among the inputs; agreement is added last, because it looks at all conditions.
    write = with_optional_inputs(write)
    write = replace(write, actions=tuple(rewritten(workload, action) for action in write.actions))
    write = _with_settled_names(workload, write)
    write = _with_creates(write)
    write = _with_attributes(workload, write)
    write = _with_parent_ids(workload, write)
    write = _with_agreement(workload, write)
    write = _with_sibling_agreement(workload, write)

    def settle_item(leaf: Leaf) -> Leaf:
        return _of_own_attribute(workload, write, _of_written_item(workload, write, leaf))

    return replace(write, checks=tuple(with_leaves(check, settle_item) for check in write.checks))


def _with_settled_names(workload: Workload, write: Write) -> Write:
    """A write whose conditions name their entity, and whose values are constants, inputs and attributes."""
    # `create Invoice` with the input `Invoice`: a condition that compares with `total` means the new invoice's.
    object_attributes: set[str] = set()
    for _, names in _objects(workload, write):
        object_attributes.update(names)

    def settle(leaf: Leaf) -> Leaf:
        leaf = _with_input_right(workload, write, leaf)
        return _settle_leaf(workload, write, leaf, object_attributes)

    checks = tuple(with_leaves(check, settle) for check in write.checks)
    actions = tuple(_with_values(workload, action) for action in write.actions)
    return replace(write, checks=checks, actions=actions)


def _with_creates(write: Write) -> Write:
    """A write with `create X` for `put X` under the condition `X not exists`."""
    absent_names: set[str] = set()
    for check in facts(write):
        if isinstance(check, Absence) and is_of_whole_item(check) and not check.by:
            absent_names.add(check.entity)

    def settle(action: Action) -> Action:
        is_create = action.verb is Verb.PUT and action.entity in absent_names
        return replace(action, verb=Verb.CREATE) if is_create else action

    return replace(write, actions=tuple(map(settle, write.actions)))


def without_unquoted_texts(workload: Workload) -> Workload:
    """The workload with plain texts as constants."""
    workload = replace(workload, entities=tuple(map(_with_plain_defaults, workload.entities)))
    return map_patterns(
        workload,
        lambda read: map_values_of_read(read, _as_plain_text),
        lambda write: map_values_of_write(write, _as_plain_text),
    )


def _as_unquoted_text(value: Value, place: ValuePlace) -> Value:
    """A value that is no bare word any more: it stands for nothing else."""
    return Value(const=UnquotedText(value.const)) if isinstance(value.const, BareWord) else value


def _as_plain_text(value: Value, place: ValuePlace) -> Value:
    return Value(const=str(value.const)) if isinstance(value.const, UnquotedText) else value


def _with_plain_defaults(entity: Entity) -> Entity:
    attributes = []
    for attribute in entity.attributes:
        is_unquoted = isinstance(attribute.default, UnquotedText)
        attributes.append(replace(attribute, default=str(attribute.default)) if is_unquoted else attribute)
    return replace(entity, attributes=tuple(attributes))


def _with_values(workload: Workload, action: Action) -> Action:
    """An action whose changes have constants and attributes instead of bare words.

    Only a new item can take a value from another of its attributes. The caller gives it whole, so that the value is
    known before anything is sent.
    """
    entity = workload.entity(action.entity)
    owners = [entity] if entity and action.is_new else []
    settled_action = map_values_of_action(action, lambda value, place: _named_value(value, owners, place.attribute))
    return replace(
        settled_action, changes=tuple(_with_source(settled_action, change) for change in settled_action.changes)
    )


def _with_source(action: Action, change: Change) -> Change:
    """A change with the value that the same action sets its source to: of `total = 5, due = total` both are 5.

    A value that comes back to itself stays as it is, to be reported.
    """
    values: dict[str | None, Value] = {}
    for other in action.changes:
        if other.op is ChangeOp.SET and other.value is not None:
            values[other.attribute] = other.value
    value, passed_names = change.value, {change.attribute}
    while value is not None and value.attribute in values:
        if value.attribute is None or value.attribute in passed_names:
            return change
        passed_names.add(value.attribute)
        value = values[value.attribute]
    return replace(change, value=value)


# --- Conditions -----------------------------------------------------------------------------------------------------


def _with_input_right(workload: Workload, write: Write, leaf: Leaf) -> Leaf:
    """A condition with the input to the right of the attribute: `amount <= due` is `due >= amount`."""
    if not isinstance(leaf, Comparison) or leaf.entity or leaf.attribute not in write.input_names:
        return leaf
    op = leaf.op.flipped
    if op is None:
        return leaf
    word = leaf.values[0].const
    if not isinstance(word, BareWord):
        return leaf
    entity, _, name = str(word).rpartition(".")
    # The attribute may be written with the input that names its item.
    named_entity = named_by(workload, write, entity) or entity if entity else ""
    owner_names = [named_entity] if named_entity else having_attribute(workload, write, name)
    owners = [owner for owner in workload.entities_named(owner_names) if owner.attribute(name)]
    # With `paid` of the same item, `paid < total` compares two attributes.
    if not owners or any(owner.attribute(leaf.attribute) for owner in owners):
        return leaf
    return Comparison(entity=entity, attribute=name, op=op, values=(Value(param=leaf.attribute),))


def _settle_leaf(workload: Workload, write: Write, leaf: Leaf, object_attributes: Set[str]) -> Leaf:
    """A condition with the entity that it is about, and with attributes instead of their names.

    `object_attributes` are the attributes of new objects, which are inputs.
    """
    leaf = _with_entity(workload, write, leaf)
    owner = workload.entity(leaf.entity)

    def settle(value: Value, place: ValuePlace) -> Value:
        is_input = value.const in object_attributes
        return _named_value(value, [owner] if owner and not is_input else [], place.attribute, place.by)

    return map_values_of_leaf(leaf, settle)


def _named_value(value: Value, owners: Sequence[Entity], attribute: str, by: str = "") -> Value:
    """The value that a bare word stands for: an attribute of the same item, or a constant.

    The attribute may be written with its entity, or with the input that names the item (`by`). A member of the compared
    enum is a constant, also if an attribute has the same name.
    """
    word = value.const
    if not isinstance(word, BareWord):
        return value
    # `total`, `Order.total` and `orderId.total` are the same attribute, if `orderId` names the item.
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
    # `Product.stock >= n` has its entity.
    if leaf.entity and workload.entity(leaf.entity):
        return leaf
    # `fromAccountId.balance >= n` has the input that names the item.
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
    existing = list(filter(_is_of_one_existing_item, write.actions))
    checked_actions = [item.step.action for item in resolve_write(workload, write).checked if not item.by]
    added_inputs: dict[str, Input] = {}
    for item in (*existing, *checked_actions):
        entity = workload.entity(item.entity)
        if entity is None or not unaddressed(workload, write, item, entity):
            continue
        # One reference says which item it is. Two say nothing, and `check` reports that the id is not known.
        references = [name for action in existing for name in _kept_references(workload, action, entity)]
        if len(references) == 1 and not _has_new_reference(workload, write, entity):
            added_inputs[references[0]] = Input(references[0])
    if not added_inputs:
        return write
    actions = tuple(_with_changes(workload, write, action) for action in write.actions)
    return replace(write, actions=actions, inputs=(*write.inputs, *added_inputs.values()))


def _has_new_reference(workload: Workload, write: Write, entity: Entity) -> bool:
    """Whether a new item of a write refers to an entity."""
    for owner in workload.entities_named(write.created_names):
        if any(_refers_to(workload, attribute, entity) for attribute in owner.attributes):
            return True
    return False


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


def _is_changed(action: Action, name: str) -> bool:
    return any(change.attribute == name for change in action.changes)


def _of_written_item(workload: Workload, write: Write, check: Leaf) -> Leaf:
    """A condition on the item of an input, without the input if an action that has no `by` is about the same item."""
    steps = resolve_write(workload, write).steps
    # `update Account (…)` under `accountId.balance >= n`: the input names the only account that is written.
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
    if not isinstance(leaf, Comparison) or not leaf.op.is_relation or leaf.by:
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
    own_actions = [action for action in write.actions if first and action.entity == first.name]
    if first is None or not own_actions or not all(map(_is_of_one_existing_item, own_actions)):
        return write
    names = write.input_names - write.list_inputs - _settled_names(write, first, own_actions)
    names &= _names_of_new_items(workload, write)
    agreements: list[Condition] = []
    for attribute in first.attributes:
        if attribute.name not in names or attribute.id or not attribute.references:
            continue
        reference_target = target(workload, attribute)
        if reference_target and reference_target[0].name in write.entity_names:
            agreements.append(_equals_input(first.name, attribute.name))
    return replace(write, checks=(*write.checks, *agreements)) if agreements else write


def _names_of_new_items(workload: Workload, write: Write) -> set[str]:
    """The names of the attributes of new items."""
    created_entities = workload.entities_named(write.created_names)
    return {attribute.name for entity in created_entities for attribute in entity.attributes}


def _equals_input(entity: str, name: str) -> Comparison:
    """`Hold.accountId = accountId`."""
    return Comparison(entity=entity, attribute=name, op=Op.EQ, values=(Value(param=name),))


def _settled_names(write: Write, entity: Entity, actions: list[Action]) -> set[str]:
    """The attributes of an entity that its actions change, or that a condition is about."""
    settled_names = {leaf.attribute for leaf in all_leaves(write) if leaf.entity == entity.name}
    for action in actions:
        settled_names.update(change.attribute for change in changes(write, action, entity))
    return settled_names


def _is_of_one_existing_item(action: Action) -> bool:
    return not (action.is_new or action.many or action.by)


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
            agreements[entity, name] = _equals_input(entity, name)
    return replace(write, checks=(*write.checks, *agreements.values())) if agreements else write


def _with_attributes(workload: Workload, write: Write) -> Write:
    """A write with the attributes of its new objects as inputs, instead of the objects.

    An update that does not say what it changes takes the other inputs only: a new comment has a text, too. If there are
    none, the write stays as it is, to be reported.
    """
    objects = dict(_objects(workload, write))
    actions = tuple(_with_changes(workload, write, action) for action in write.actions)
    if not objects or any(action.updates and not action.changes for action in actions):
        return write
    names: set[str] = set().union(*objects.values())

    def settle(value: Value, place: ValuePlace) -> Value:
        return _as_input(workload, value, place, names)

    inputs = _with_parts(write.inputs, objects)
    return map_values_of_write(replace(write, inputs=inputs, actions=actions), settle)


def _with_parts(inputs: Iterable[Input], objects: Mapping[str, list[str]]) -> tuple[Input, ...]:
    """The inputs with the attributes of objects in place of these, each once; optional if one of its namesakes is."""
    parts: dict[str, Input] = {}
    for input_ in inputs:
        # `Order, customerId` becomes `orderId, customerId, total`: an attribute that is an input already is not
        # repeated.
        names = objects.get(input_.attribute)
        for part in (input_,) if names is None else map(Input, names):
            earlier = parts.get(part.attribute)
            is_optional = input_.optional or (earlier is not None and earlier.optional)
            parts[part.attribute] = replace(earlier or part, optional=is_optional)
    return tuple(parts.values())


def _objects(workload: Workload, write: Write) -> Iterator[tuple[str, list[str]]]:
    """The entities of which a write gets a whole new object, with the attributes that it takes from the object."""
    for action in write.actions:
        entity = workload.entity(action.entity)
        if entity and action.is_new and not action.many and gives_object(write, entity):
            settled_names = {change.attribute for change in action.changes} | maintained(entity)
            yield entity.name, [a.name for a in entity.attributes if a.name not in settled_names]


def _with_changes(workload: Workload, write: Write, action: Action) -> Action:
    entity = workload.entity(action.entity)
    all_changes = changes(write, action, entity) if entity and action.updates else action.changes
    by_client = added_changes(entity, action) if entity else ()
    return replace(action, changes=tuple(change for change in all_changes if change not in by_client))


def _as_input(workload: Workload, value: Value, place: ValuePlace, names: Set[str]) -> Value:
    """A value that was read as a word because its name was not among the inputs yet."""
    entity = workload.entity(place.entity)
    attribute = entity.attribute(place.attribute) if entity else None
    if not isinstance(value.const, BareWord) or value.const not in names:
        return value
    is_member = attribute is not None and value.const in attribute.type.values
    return value if is_member else Value(param=str(value.const))
