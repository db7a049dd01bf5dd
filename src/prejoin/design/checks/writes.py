"""Checks writes: each knows the keys of its items, and keeps index keys, copies and guards current."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from prejoin.constructs.registry import added_constructs, all_constructs, has_key
from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.key_answers import answer
from prejoin.design.checks.report import Report
from prejoin.design.cost.assumptions import size_of
from prejoin.design.mapping.addressing import copies_of, creates_outside, held, leaves, sought
from prejoin.design.model import TABLE, Call, Design, Did, ItemAction, ItemChange, ItemName, Operation
from prejoin.design.operation_text import change_text
from prejoin.keys import Lookup, Template, fields_of
from prejoin.protocol import limits
from prejoin.types import Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.values import write_value
from prejoin.workload.lookup import changes, identified
from prejoin.workload.model import Action, Attribute, Change, ChangeOp, Entity, Value, Verb, Write
from prejoin.workload.optional_inputs import is_optional
from prejoin.workload.program.resolved_write import Step, resolve_write


def check_writes(report: Report) -> None:
    for write in report.writes:
        operation = report.design.operation(write.id)
        for step in resolve_write(report.workload, write).steps:
            base = report.base(step.entity.name)
            if base is None:
                continue
            _check_address(report, step, base)
            if step.action.updates:
                _check_index_keys(report, step)
            if operation and operation.requests:
                _check_declared_actions(report, step, operation)
        _check_conditions(report, write)
        _check_repeated_attributes(report, write)
        _check_repeated_actions(report, write, operation)
        _check_transaction_size(report, write)
        if operation and operation.requests:
            _check_atomicity(report, write, operation)
            _check_computed_values(report, write, operation)


def find_lookup(report: Report, step: Step, base: BoundKey) -> Lookup | None:
    """The question that finds an item before it is written, if its key is not known."""
    entity = base.entity
    if step.is_new or step.verb is Verb.EXPIRE or step.known.issuperset(base.form.attributes):
        return None
    forms = [key.form for key in report.keys]
    key_names: set[str] = set()
    for form in forms:
        if form.entity == entity.name:
            key_names.update(form.attributes)
    names = sought(step, forms, step.search_attributes) & key_names
    return Lookup.of(entity.name, equal=sorted(names), needs=sorted(base.form.attributes))


def _check_address(report: Report, step: Step, base: BoundKey) -> None:
    ask, write = find_lookup(report, step, base), step.write
    if ask is None:
        return
    absent_names = sorted(set(base.form.attributes) - step.known)
    key_answer = answer(report.keys, ask) if ask.equal else None
    plan = key_answer.plan if key_answer else None
    if step.is_list and plan:
        _check_consistent(report, write, base.entity, plan.slot)
        return  # a list is read, then its items are written one by one
    # The caller is assumed to know the id of a single item.
    is_given_by_id = not step.is_list and {part.name for part in base.entity.id}.issuperset(absent_names)
    is_reached = plan is not None or is_given_by_id
    consequence = f"it has to be found first, in {plan.slot}" if plan else "no key finds it first"
    report.say(
        codes.KEY_NOT_GIVEN if is_reached else codes.NOT_REACHED,
        f"{write.id} writes {base.entity.name} without {name_list(absent_names)} of its key `{base.text}`; "
        f"{consequence}",
        f"give {name_list(absent_names)} too",
        write.id,
    )


def _check_consistent(report: Report, write: Write, entity: Entity, slot: str) -> None:
    """A list that is found in an index, and not by a consistent read of the table."""
    if slot == TABLE:
        return
    message = f"{write.id} finds `{entity.name}` in {slot}, which may lack items that were written a moment ago"
    fix = "call its method again a moment later; or let them live under the item that they belong to"
    report.say(codes.STALE_LIST, message, fix, write.id)


def _check_conditions(report: Report, write: Write) -> None:
    """Conditions on an item that is not written, and that the write does not identify."""
    for item in resolve_write(report.workload, write).checked:
        entity = item.entity
        # A generated part of an id is unique by itself.
        has_generated_id = any(part.generated for part in entity.id if part.name in item.known)
        if has_generated_id or item.must_be_absent or identified(entity, item.known):
            continue
        id_names = sorted({part.name for part in entity.id} - item.known)
        if not id_names:
            continue  # an entity without an id, which a check of the document reports
        absent_ids = name_list(id_names)
        reason = "it does not say which one is meant, and fails if there are several"
        report.say(
            codes.KEY_NOT_GIVEN,
            f"{write.id} has a condition on {entity.name}, whose {absent_ids} it does not give: {reason}",
            f"give {absent_ids} too, or add the condition `{entity.name}.{id_names[0]} = …` with the input that "
            "holds it",
            write.id,
        )


def _check_index_keys(report: Report, step: Step) -> None:
    """Index keys that a change moves, and those that need more attributes than the write knows."""
    write, entity = step.write, step.entity
    keys = [key for key in report.keys if _is_moved(key, step)]
    places_by_names: dict[tuple[str, ...], list[str]] = {}
    for key in keys:
        for names, place in _places_with_unknown_parts(key, step):
            places_by_names.setdefault(names, []).append(place)
    for names, places in places_by_names.items():
        report.say(
            codes.REST_NOT_GIVEN,
            f"{write.id} changes {entity.name}, and {', '.join(dict.fromkeys(places))} also needs {name_list(names)}",
            f"give {name_list(names)} too; without it, the item is read first",
            write.id,
        )
    indexes = list(dict.fromkeys(key.slot for key in keys if key.slot != TABLE))
    if indexes:
        report.say(
            codes.MOVES,
            f"{write.id} moves {entity.name} in {name_list(indexes)}: two index writes each",
            "keep it if the index is worth it",
            write.id,
        )


def _is_moved(key: BoundKey, step: Step) -> bool:
    """Whether a change moves the items of its entity under a key, or those of a copy."""
    is_own_table_key = key.slot == TABLE and not key.item.copy
    if key.item.entity != step.entity.name or is_own_table_key or step.changed.isdisjoint(key.form.placing):
        return False
    # An item that leaves a sparse index is deleted there: its new key does not matter.
    certain_changes = [change for change in step.changes if not is_optional(step.write, change)]
    return bool(key.item.copy) or not leaves(key.facet, certain_changes)


def _places_with_unknown_parts(key: BoundKey, step: Step) -> Iterator[tuple[tuple[str, ...], str]]:
    """The attributes that a write has to know to write a key anew, with the template that they are in."""
    for form in key.forms:
        unknown_names = set(form.attributes) - step.known - step.changed
        if isinstance(form, Template) and unknown_names and not step.changed.isdisjoint(form.attributes):
            yield tuple(sorted(unknown_names)), f"`{form.text}` in {key.slot}"


# --- The operation that is written down -------------------------------------------------------------------------------


def _check_declared_actions(report: Report, step: Step, operation: Operation) -> None:
    """The actions of the operation in the design, compared with the step."""
    own = ItemName(step.entity.name)
    own_actions = [item_action for item_action in operation.actions if item_action.item == own]
    if not own_actions:
        return
    for own_action in own_actions:
        if own_action.action is Did.UPDATE and step.action.updates and own_action.changes:
            _check_index_updates(report, step, own_action)
        if own_action.action is Did.PUT and step.verb is Verb.CREATE:
            _check_overwriting(report, step, own_action)
    written_items = {item_action.item for item_action in operation.actions}
    _check_copies(report, step, written_items)
    _check_construct_items(report, step, written_items)


def _check_overwriting(report: Report, step: Step, put: ItemAction) -> None:
    """A put of a new item that may replace another one."""
    write, entity = step.write, step.entity
    # A generated id is new with every call, so a put can hit no other item.
    has_chosen_id = not any(part.generated for part in entity.id)
    if has_chosen_id and not put.requires_absence:
        fix = f"add the condition `attribute_not_exists({report.design.partition_key})`"
        report.say(codes.OVERWRITES, f"{write.id} puts a {entity.name} over an existing one", fix, write.id)


def _check_index_updates(report: Report, step: Step, item_action: ItemAction) -> None:
    write, changed_names = step.write, step.changed
    for key in report.keys:
        if key.item.entity != step.entity.name or key.item.copy or key.slot == TABLE:
            continue
        is_sparse_change = any(when.attribute in changed_names for when in key.facet.when)
        for name, text in zip(key.place.key_names, key.facet.templates, strict=True):
            is_affected = is_sparse_change or not changed_names.isdisjoint(fields_of(text))
            is_own_attribute = text == f"{{{name}}}"
            if is_affected and not is_own_attribute and name not in item_action.changed:
                report.say(
                    codes.STALE_INDEX,
                    f"{write.id} changes {name_list(sorted(changed_names.intersection(key.form.placing)))} without "
                    f"updating `{name}` of {key.slot}",
                    f"add `SET {name} = {text}`",
                    write.id,
                )


def _check_copies(report: Report, step: Step, written_items: set[ItemName]) -> None:
    """Copies that a write leaves as they were."""
    write, entity = step.write, step.entity
    for copy in copies_of(entity, report.design):
        if creates_outside(copy.facets[0], step):
            continue
        # A copy of some attributes stays as it is when others change.
        held_names = held(copy, report.design, entity)
        is_unaffected = step.action.updates and copy.attributes and step.changed.isdisjoint(held_names)
        if copy.item_name not in written_items and not is_unaffected:
            report.say(
                codes.STALE_COPY,
                f"{write.id} writes {entity.name} without updating its copy `{copy.copy}`",
                f"add the {step.verb} of {copy.name} to the transaction",
                write.id,
            )


def _check_construct_items(report: Report, step: Step, written_items: set[ItemName]) -> None:
    """Items of constructs that a write leaves as they were: guards, shards, versions."""
    write, entity = step.write, step.entity
    for construct in added_constructs(entity, report.design):
        is_written = construct.item_name in written_items
        if not is_written and any(construct.expand(step.action, _item_changes(step.changes), report.design)):
            report.say(
                codes.STALE_COPY,
                f"{write.id} writes {entity.name} without `{construct.item_name}`",
                "write it in the same transaction",
                write.id,
            )


def _check_repeated_actions(report: Report, write: Write, operation: Operation | None) -> None:
    """Two actions on one item: DynamoDB refuses a transaction that has them."""
    names = _entities_written_twice(write.actions)
    if operation is not None:
        names |= _items_written_twice(report, write, operation)
    for name in sorted(names):
        report.say(
            codes.TWICE,
            f"{write.id} has two actions on the same {name} in one transaction",
            "make one action of them",
            write.id,
        )


def _entities_written_twice(actions: Sequence[Action]) -> set[str]:
    single_actions = [action for action in actions if not action.many]
    names = set()
    for position, action in enumerate(single_actions):
        if any(_is_on_same_item(action, earlier) for earlier in single_actions[:position]):
            names.add(action.entity)
    return names


def _items_written_twice(report: Report, write: Write, operation: Operation) -> set[str]:
    """The items that a transaction of an operation writes more often than the document says."""
    resolved_write = resolve_write(report.workload, write)
    expected_times = Counter(action.entity for action in write.actions)
    expected_times.update(item.entity.name for item in resolved_write.checked)
    changed_names: set[str] = set().union(*(step.changed for step in resolved_write.steps))
    names: set[str] = set()
    for request in operation.requests:
        if request.call is not Call.TRANSACT_WRITE:
            continue
        # The items of a construct, such as earlier versions, have different keys, whose templates are the same.
        single_actions = [action for action in request.actions if not action.many and not action.item.construct]
        times_by_item = Counter((action.item, action.pk, action.sk) for action in single_actions)
        for (item, pk, sk), times in times_by_item.items():
            # A Delete and a Put under a changing key are two items: the old and the new one. For a sparse
            # copy only one of them is sent.
            key_names = {*fields_of(pk), *fields_of(sk), *_condition_attributes(report, item)}
            if times > max(1, expected_times[str(item)]) and changed_names.isdisjoint(key_names):
                names.add(str(item))
    return names


def _condition_attributes(report: Report, item: ItemName) -> set[str]:
    """The attributes that decide whether a copy exists."""
    copy = report.design.item(item.entity, item.copy)
    if copy is None or copy.item_name != item or not item.copy or not copy.facets:
        return set()
    return {when.attribute for when in copy.facets[0].when}


def _is_on_same_item(action: Action, other: Action) -> bool:
    """Whether two actions are on the same item, without a name that distinguishes them."""
    return action.entity == other.entity and action.by == other.by and action.verb is not Verb.CREATE


def _check_atomicity(report: Report, write: Write, operation: Operation) -> None:
    calls = [request.call for request in operation.requests]
    batches = [request for request in operation.requests if request.call is Call.BATCH_WRITE]
    has_conditions = any(any(action.conditions for action in batch.actions) for batch in batches)
    if batches and (write.atomic or has_conditions):
        reason = "must be atomic" if write.atomic else "has conditions"
        report.say(
            codes.NOT_ATOMIC, f"{write.id} {reason}, but is a BatchWriteItem", "use TransactWriteItems", write.id
        )
    elif write.atomic and len(write.actions) > 1 and len(calls) > 1 and Call.TRANSACT_WRITE not in calls:
        message = f"{write.id} must be atomic, but is {len(calls)} requests"
        report.say(codes.NOT_ATOMIC, message, "use TransactWriteItems", write.id)


def _check_computed_values(report: Report, write: Write, operation: Operation) -> None:
    for action in operation.actions:
        entity = report.workload.entity(action.item.entity)
        for change in action.changes:
            attribute = entity.attribute(change.attribute) if entity else None
            if _needs_value(change) and (attribute is None or attribute.optional):
                report.say(
                    codes.COUNTER,
                    f"{write.id}: `{change_text(change)}` fails on an item without `{change.attribute}`",
                    _fix_for_absent(change, attribute),
                    write.id,
                )


def _needs_value(change: ItemChange) -> bool:
    """Whether a change fails on an item without the attribute: `SET views = views + 1`."""
    is_computed = change.op in (ChangeOp.ADD, ChangeOp.SUBTRACT, ChangeOp.APPEND)
    return is_computed and not change.is_from_zero and not change.is_set


def _fix_for_absent(change: ItemChange, attribute: Attribute | None) -> str:
    """How to write a change of an attribute that may be absent."""
    if attribute is not None and attribute.type.kind is Kind.SET:
        return f"use `{change_text(replace(change, is_set=True))}`, which starts from nothing"
    return f"use `{change_text(replace(change, is_from_zero=True))}`, which starts from nothing"


# --- Repeated attributes, size ----------------------------------------------------------------------------------------


def _check_repeated_attributes(report: Report, write: Write) -> None:
    """Attributes that repeat a changed one, and that no write updates."""
    for action in write.actions:
        entity = report.workload.entity(action.entity)
        if entity is None or not action.updates:
            continue
        for change in changes(write, action, entity):
            for other, attribute in _attributes_copied_from(report, f"{entity.name}.{change.attribute}"):
                # In this write, or in a separate one that goes through the copies.
                if not _stores(write, other) and not report.changers(other, attribute.name):
                    report.say(
                        codes.STALE_ATTRIBUTE,
                        f"{write.id} changes {entity.name}.{change.attribute}, and "
                        f"{other.name}.{attribute.name}, a copy of it, is not updated",
                        _fix_for_copy(write, change, other, attribute.name),
                        write.id,
                    )


def _stores(write: Write, entity: Entity) -> bool:
    return any(action.entity == entity.name and action.verb is not Verb.DELETE for action in write.actions)


def _attributes_copied_from(report: Report, source: str) -> Iterator[tuple[Entity, Attribute]]:
    """The attributes with `copy of User.name`, with their entities."""
    for entity in report.workload.entities:
        for attribute in entity.attributes:
            if attribute.copy_of == source:
                yield entity, attribute


def _fix_for_copy(write: Write, change: Change, other: Entity, name: str) -> str:
    """How a write keeps copies of changed attributes current."""
    snapshot = f"mark it `snapshot of` instead of `copy of`, if `{name}` is to stay as it was"
    if change.op is not ChangeOp.SET:
        return f"{snapshot}; or set it in a write of its own: `update {other.name}[] ({name})`"
    inputs = frozenset(input_.attribute for input_ in write.inputs)
    value = write_value(change.value or Value(param=change.attribute), inputs)
    return f"add `update {other.name}[] ({name} = {value})` to what {write.id} writes; or {snapshot}"


def _item_changes(changes: Iterable[Change]) -> dict[str, ItemChange]:
    return {change.attribute: ItemChange(change.attribute, change.op) for change in changes}


def _item_sizes(entity: Entity, action: Action, design: Design) -> list[int]:
    """The bytes of each item that an action writes: the item, its copies, and the items of its constructs."""
    size = size_of(entity)
    own_sizes = [size] * max(1, sum(item.entity == entity.name for item in design.items))
    if not has_key(entity, design):
        return own_sizes
    changes = _item_changes(action.changes)
    diverted_names: set[str] = set()
    construct_sizes: list[int] = []
    for construct in all_constructs(entity, design):
        diverted_names |= construct.diverted_names(action)
        for item_action in construct.expand(action, changes, design):
            construct_sizes += [construct.item_size or size] * construct.times(item_action.action)
    is_diverted = bool(changes) and diverted_names.issuperset(changes)
    return construct_sizes if is_diverted else [*own_sizes, *construct_sizes]


def _check_transaction_size(report: Report, write: Write) -> None:
    """Check the limits of a transaction: 100 actions and 4 MB."""
    total, size, unlimited_entity = 0, 0, ""
    is_only_action = len(write.actions) == 1
    for action in write.actions:
        entity = report.workload.entity(action.entity)
        if entity is None:
            continue
        sizes = _item_sizes(entity, action, report.design)
        times = 1
        if not write.atomic and not (is_only_action and len(sizes) > 1):
            return
        if action.many:
            limit = _declared_limit(entity)
            if limit is None:
                unlimited_entity = unlimited_entity or entity.name
            # Without `atomic`, each of the items is in a transaction of its own.
            times = limit if limit is not None and write.atomic else 1
        total += times * len(sizes)
        size += times * sum(sizes)
    if total > limits.TRANSACTION_ACTIONS or size > limits.TRANSACTION_SIZE:
        report.say(
            codes.TRANSACTION_TOO_LARGE,
            f"{write.id} is a transaction of {total} actions and {size / limits.MB:.1f} MB; 100 and 4 MB are allowed",
            "write fewer at a time, or not in one transaction",
            write.id,
        )
    elif unlimited_entity and write.atomic:
        report.say(
            codes.TRANSACTION_MAY_BE,
            f"{write.id} writes many {unlimited_entity} in one transaction, without a limit on their number",
            f"declare it under Cardinality of {unlimited_entity}: `at most 50 per …`",
            write.id,
        )


def _declared_limit(entity: Entity) -> int | None:
    counts = [math.ceil(limit.count) for limit in entity.cardinality if limit.per and limit.count]
    return min(counts, default=None)


def check_appends(report: Report) -> None:
    """Lists that grow within one item."""
    for entity in report.workload.entities:
        writes_by_attribute: dict[str, list[str]] = {}
        for write, action in report.actions(entity.name):
            for change in action.changes:
                if change.op is ChangeOp.APPEND:
                    writes_by_attribute.setdefault(change.attribute, []).append(write.id)
        for name, write_ids in writes_by_attribute.items():
            report.say(
                codes.LARGE_ATTRIBUTE,
                f"{entity.name}.{name} grows with every {name_list(write_ids)}, and an item has at most 400 KB",
                "make each element an item, or keep only the last few",
                entity.name,
            )
