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
from prejoin.design.mapping.addressing import leaves, sought
from prejoin.design.model import TABLE, Call, Design, Did, Item, ItemAction, ItemChange, ItemName, Operation
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


def finds(report: Report, step: Step, base: BoundKey) -> Lookup | None:
    """The question that finds an item before it is written, if its key is not known."""
    entity = base.entity
    if step.is_new or step.verb is Verb.EXPIRE or step.known.issuperset(base.form.attributes):
        return None
    forms = [key.form for key in report.keys]
    names = sought(step, forms, step.search_attributes)
    key_attributes = {name for form in forms if form.entity == entity.name for name in form.attributes}
    return Lookup.of(entity.name, equal=sorted(names & key_attributes), needs=sorted(base.form.attributes))


def _check_address(report: Report, step: Step, base: BoundKey) -> None:
    ask, write = finds(report, step, base), step.write
    if ask is None:
        return
    absent_names = sorted(set(base.form.attributes) - step.known)
    key_answer = answer(report.keys, ask) if ask.equal else None
    plan = key_answer.plan if key_answer else None
    if step.is_list and plan:
        _check_consistent(report, write, base.entity, plan.slot)
        return  # a list is read, then its items are written one by one
    # The caller is assumed to know the id of a single item.
    is_reached = plan is not None or (not step.is_list and set(absent_names) <= {a.name for a in base.entity.id})
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
        made_up = any(a.generated for a in entity.id if a.name in item.known)  # unique by itself
        if made_up or item.must_be_absent or identified(entity, item.known):
            continue
        id_names = sorted({a.name for a in entity.id} - item.known)
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
    write, entity, changed = step.write, step.entity, step.changed
    certain_changes = [change for change in step.changes if not is_optional(write, change)]
    indexes_with_moves: dict[str, None] = {}
    places_by_names: dict[tuple[str, ...], list[str]] = {}
    for key in report.keys:
        is_own_table_key = key.slot == TABLE and not key.item.copy
        if key.item.entity != entity.name or is_own_table_key or changed.isdisjoint(key.form.placing):
            continue
        # An item that leaves a sparse index is deleted there: its new key does not matter.
        if not key.item.copy and leaves(key.facet, certain_changes):
            continue
        if key.slot != TABLE:
            indexes_with_moves[key.slot] = None
        for form in key.forms:
            unknown_names = set(form.attributes) - step.known - changed
            if isinstance(form, Template) and unknown_names and not changed.isdisjoint(form.attributes):
                place = f"`{form.text}` in {key.slot}"
                places_by_names.setdefault(tuple(sorted(unknown_names)), []).append(place)
    for names, places in places_by_names.items():
        report.say(
            codes.REST_NOT_GIVEN,
            f"{write.id} changes {entity.name}, and {', '.join(dict.fromkeys(places))} also needs {name_list(names)}",
            f"give {name_list(names)} too; without it, the item is read first",
            write.id,
        )
    if indexes_with_moves:
        report.say(
            codes.MOVES,
            f"{write.id} moves {entity.name} in {name_list(list(indexes_with_moves))}: two index writes each",
            "keep it if the index is worth it",
            write.id,
        )


# --- The operation that is written down -------------------------------------------------------------------------------


def _check_declared_actions(report: Report, step: Step, operation: Operation) -> None:
    """The actions of the operation in the design, compared with the step."""
    write, action, entity = step.write, step.action, step.entity
    item_actions = [item_action for request in operation.requests for item_action in request.actions]
    own_actions = [item_action for item_action in item_actions if item_action.item == ItemName(entity.name)]
    if not own_actions:
        return
    changed_names = {change.attribute for change in step.changes}
    # A generated id is new with every call, so a put can hit no other item.
    has_chosen_id = not any(attribute.generated for attribute in entity.id)
    for own_action in own_actions:
        if own_action.action is Did.UPDATE and action.updates and own_action.changes:
            _check_index_updates(report, write, entity, own_action, changed_names)
        is_create = own_action.action is Did.PUT and action.verb is Verb.CREATE
        if is_create and has_chosen_id and not own_action.requires_absence:
            fix = f"add the condition `attribute_not_exists({report.design.partition_key})`"
            report.say(codes.OVERWRITES, f"{write.id} puts a {entity.name} over an existing one", fix, write.id)
    written_items = {item_action.item for item_action in item_actions}
    _check_copies(report, write, action, entity, step.changes, written_items)


def _check_index_updates(
    report: Report, write: Write, entity: Entity, item_action: ItemAction, changed: set[str]
) -> None:
    for key in report.keys:
        if key.item.entity != entity.name or key.item.copy or key.slot == TABLE:
            continue
        key_attributes = (*key.place.pk, *key.place.sk)
        moves_in_or_out = any(when.attribute in changed for when in key.facet.when)
        for key_attribute, text in zip(key_attributes, (*key.facet.pk, *key.facet.sk), strict=True):
            is_own_attribute = text == f"{{{key_attribute.name}}}"
            is_affected = moves_in_or_out or not changed.isdisjoint(fields_of(text))
            if is_affected and not is_own_attribute and key_attribute.name not in item_action.changed:
                report.say(
                    codes.STALE_INDEX,
                    f"{write.id} changes {name_list(sorted(changed & set(key.form.placing)))} without "
                    f"updating `{key_attribute.name}` of {key.slot}",
                    f"add `SET {key_attribute.name} = {text}`",
                    write.id,
                )


def _check_copies(
    report: Report,
    write: Write,
    action: Action,
    entity: Entity,
    changes: tuple[Change, ...],
    written_items: set[ItemName],
) -> None:
    changed_names = {change.attribute for change in changes}
    for copy in report.design.copies:
        if copy.entity != entity.name or copy.item_name in written_items:
            continue
        # A copy of some attributes stays as it is when others change.
        is_whole = not copy.attributes
        if not action.updates or is_whole or not changed_names.isdisjoint(_attributes_of_copy(copy)):
            report.say(
                codes.STALE_COPY,
                f"{write.id} writes {entity.name} without updating its copy `{copy.copy}`",
                f"add the {action.verb} of {copy.name} to the transaction",
                write.id,
            )
    for construct in added_constructs(entity, report.design):
        if construct.item_name in written_items:
            continue
        if any(construct.expand(action, _item_changes(changes), report.design)):
            report.say(
                codes.STALE_COPY,
                f"{write.id} writes {entity.name} without `{construct.item_name}`",
                "write it in the same transaction",
                write.id,
            )


def _attributes_of_copy(copy: Item) -> set[str]:
    """The attributes that a copy lists, and those of its keys."""
    names = set(copy.attributes)
    for facet in copy.facets:
        for text in (*facet.pk, *facet.sk):
            names.update(fields_of(text))
    return names


def _check_repeated_actions(report: Report, write: Write, operation: Operation | None) -> None:
    """Two actions on one item: DynamoDB refuses a transaction that has them."""
    resolved = resolve_write(report.workload, write)
    repeated_names = _entities_written_twice(write.actions)
    expected_times = Counter(action.entity for action in write.actions)
    expected_times.update(item.entity.name for item in resolved.checked)
    changed_names = {name for step in resolved.steps for name in step.changed}
    transactions = operation.requests if operation else ()
    for request in [request for request in transactions if request.call is Call.TRANSACT_WRITE]:
        # The items of a construct, such as earlier versions, have different keys, whose templates are the same.
        single_actions = [action for action in request.actions if not action.many and not action.item.construct]
        times_by_item = Counter((action.item, action.pk, action.sk) for action in single_actions)
        for (item, pk, sk), times in times_by_item.items():
            # A Delete and a Put under a changing key are two items: the old and the new one. For a sparse
            # copy only one of them is sent.
            key_names = {*fields_of(pk), *fields_of(sk), *_condition_attributes(report, item)}
            if times > max(1, expected_times[str(item)]) and changed_names.isdisjoint(key_names):
                repeated_names.add(str(item))
    for name in sorted(repeated_names):
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


def _condition_attributes(report: Report, item: ItemName) -> set[str]:
    """The attributes that decide whether a copy exists."""
    names: set[str] = set()
    for copy in report.design.copies:
        if copy.item_name == item and copy.facets:
            names.update(when.attribute for when in copy.facets[0].when)
    return names


def _is_on_same_item(action: Action, other: Action) -> bool:
    """Whether two actions are on the same item, without a name that distinguishes them."""
    return action.entity == other.entity and action.by == other.by and action.verb is not Verb.CREATE


def _check_atomicity(report: Report, write: Write, operation: Operation) -> None:
    calls = [request.call for request in operation.requests]
    batches = [request for request in operation.requests if request.call is Call.BATCH_WRITE]
    has_conditions = any(a.conditions for request in batches for a in request.actions)
    if batches and (write.atomic or has_conditions):
        reason = "must be atomic" if write.atomic else "has conditions"
        report.say(
            codes.NOT_ATOMIC, f"{write.id} {reason}, but is a BatchWriteItem", "use TransactWriteItems", write.id
        )
    elif write.atomic and len(write.actions) > 1 and len(calls) > 1 and Call.TRANSACT_WRITE not in calls:
        message = f"{write.id} must be atomic, but is {len(calls)} requests"
        report.say(codes.NOT_ATOMIC, message, "use TransactWriteItems", write.id)


def _check_computed_values(report: Report, write: Write, operation: Operation) -> None:
    for request in operation.requests:
        for action in request.actions:
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
                is_updated_here = any(
                    action.entity == other.name and action.verb is not Verb.DELETE for action in write.actions
                )
                if not is_updated_here and not report.changers(other, attribute.name):
                    report.say(
                        codes.STALE_ATTRIBUTE,
                        f"{write.id} changes {entity.name}.{change.attribute}, and "
                        f"{other.name}.{attribute.name}, a copy of it, is not updated",
                        _fix_for_copy(write, change, other, attribute.name),
                        write.id,
                    )


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
    inputs = frozenset(i.attribute for i in write.inputs)
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
