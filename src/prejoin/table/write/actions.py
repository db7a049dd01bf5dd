"""Builders of actions: put, update, delete and check of one item, sent alone or in a transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet
from prejoin.table.codec.paths import parent, path_text, place
from prejoin.table.codec.values import Json
from prejoin.table.condition.describe import condition_text
from prejoin.table.condition.record import And, Compare, Condition, Exists, Not, Or, Stored, conjuncts
from prejoin.table.condition.render import Placeholders, new_value, render, render_part, rendered_path, value_of
from prejoin.table.errors import AlreadyExists, ConditionFailed, NotFound
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import OWNER
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_hidden
from prejoin.table.update.changes import NO_CHANGES, Changes, steps

from .index_keys import affected_facets, index_changes
from .model import ActionKind, ItemAction, Write, key_texts

FailureOf = Callable[[Write, "Json | None"], ConditionFailed]


def put_item(schema: Schema, write: Write) -> ItemAction:
    """Return the put of the entity's own item."""
    item, key = whole_item(schema, write)
    placeholders = Placeholders()
    is_insert = write.verb == "insert"
    if not is_insert and write.entity.unknown == "keep":
        return _put_keeping(schema, write, item, key, placeholders)
    # If the replaced object is known, it must exist: patterns have counted it as replaced, not as created.
    text = condition(
        schema, write, placeholders, must_exist=False if is_insert else None if write.stored is None else True
    )
    return action("Put", key, {"Item": item}, text, placeholders, write, exists_error if is_insert else condition_error)


def whole_item(schema: Schema, write: Write) -> tuple[Json, Json]:
    """Return the item of an object, with its type tag and all keys; and its key in the table."""
    entity, values = write.entity, write.values
    item = entity.codec.encode_values(values)
    item[schema.type_attribute] = {"S": entity.tag}
    key = schema.facet_key(entity.base, values)
    item |= key
    if write.extra:
        item = {**write.extra, **item}
    for facet in entity.indexes.values():
        if not facet.when or facet.has(values):
            item |= schema.facet_key(facet, values)
    return item, key


def _put_keeping(schema: Schema, write: Write, item: Json, key: Json, placeholders: Placeholders) -> ItemAction:
    """Return a put that keeps attributes which the class does not have: an update of all attributes of the class."""
    entity = write.entity
    # PutItem replaces the whole item; only an update leaves attributes alone that it does not name.
    class_wires = {attribute.wire for attribute in entity.codec.attributes.values()}
    class_wires = class_wires.union(*[schema.template_keys(facet).names for facet in entity.indexes.values()])
    sets = [
        f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in item.items() if name not in key
    ]
    text = f"SET {', '.join(sets)}"
    if removes := sorted(class_wires - item.keys()):
        text += f" REMOVE {', '.join(map(placeholders.name, removes))}"
    precondition = condition(schema, write, placeholders, must_exist=None if write.stored is None else True)
    return action("Update", key, {"UpdateExpression": text}, precondition, placeholders, write, condition_error)


def unknown_attributes(schema: Schema, entity: BoundEntity[Any], item: Json) -> Json:
    """Return the attributes of a stored item that are neither of its class nor keys. They move with the item."""
    schema_names = {attribute.wire for attribute in entity.codec.attributes.values()}
    schema_names.update(schema.keys(TABLE).names, [schema.type_attribute])
    schema_names.update(name for facet in schema.facets for name in schema.template_keys(facet).names)
    return {name: value for name, value in item.items() if name not in schema_names}


def put_other(
    schema: Schema, write: Write, item: Json, text: str, placeholders: Placeholders, facet: Facet, failure: FailureOf
) -> ItemAction:
    """Return the put of an item of a pattern, such as a copy or a guard."""
    key = {name: item[name] for name in schema.keys(facet.slot).names}
    return action("Put", key, {"Item": item}, text, placeholders, write, failure, own=False)


def update_item(schema: Schema, write: Write) -> ItemAction:
    """Return the update of the entity's own item, which must exist."""
    # UpdateItem creates an item that does not exist, with nothing but its key and the changes. So it has a condition.
    placeholders = Placeholders()
    text = _updating(schema, write, write.changes, write.entity.indexes.values(), placeholders)
    key = schema.facet_key(write.entity.base, write.values)
    return action(
        "Update",
        key,
        {"UpdateExpression": text},
        condition(schema, write, placeholders, must_exist=True),
        placeholders,
        write,
        condition_error,
    )


def update_other(
    schema: Schema,
    write: Write,
    facet: Facet,
    values: Mapping[str, Any],
    changes: Changes,
    indexes: Collection[Facet] = (),
) -> ItemAction:
    """Return the update of a copy, which is in `indexes`."""
    placeholders = Placeholders()
    text = _updating(schema, write, changes, indexes, placeholders)
    existence = _existence(schema, placeholders, True)
    key = schema.facet_key(facet, values)
    return action(
        "Update", key, {"UpdateExpression": text}, existence, placeholders, write, partial(_not_found, facet), own=False
    )


def _updating(
    schema: Schema, write: Write, changes: Changes, indexes: Collection[Facet], placeholders: Placeholders
) -> str:
    """Return the UpdateExpression of changes, with those of the keys in indexes."""
    keys, stale_keys = index_changes(schema, write, indexes)
    sets = [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in keys.items()]
    return expression(write, changes, placeholders, sets, [placeholders.name(name) for name in stale_keys])


def delete_item(schema: Schema, write: Write) -> ItemAction:
    """Return the delete of the entity's own item."""
    # DeleteItem of a missing item succeeds. If patterns have counted on the item, it must exist.
    placeholders = Placeholders()
    key = schema.facet_key(write.entity.base, write.values)
    text = condition(schema, write, placeholders, must_exist=None if write.stored is None else True)
    return action("Delete", key, {}, text, placeholders, write, condition_error)


def delete_other(schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any]) -> ItemAction:
    """Return the delete of an item of a pattern, such as a copy."""
    return action("Delete", schema.facet_key(facet, values), {}, "", Placeholders(), write, condition_error, own=False)


def take_guard(
    schema: Schema, write: Write, item: Json, facet: Facet, failure: FailureOf, owners: tuple[Json, ...]
) -> ItemAction:
    """Return the put of a guard, if there is none, or if it is that of one of the owners."""
    placeholders = Placeholders()
    text = f"{vacancy(schema, write.entity, placeholders)} OR {_is_owned(owners, placeholders)}"
    key = key_texts({name: item[name] for name in schema.keys(facet.slot).names})
    body = {"Item": item, **_conditional(text, placeholders)}
    for_owners = partial(take_guard, schema, write, item, facet, failure)
    return ItemAction("Put", body, key, write, failure, own=False, owners=owners, owned=for_owners)


def release_guard(
    schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any], owners: tuple[Json, ...]
) -> ItemAction:
    """Return the delete of a guard, if it is that of one of the owners. That of another item stays."""
    placeholders = Placeholders()
    text = f"{absent(schema, placeholders)} OR {_is_owned(owners, placeholders)}"
    key = schema.facet_key(facet, values)
    body = {"Key": key, **_conditional(text, placeholders)}
    for_owners = partial(release_guard, schema, write, facet, values)
    return ItemAction(
        "Delete",
        body,
        key_texts(key),
        write,
        condition_error,
        own=False,
        owners=owners,
        owned=for_owners,
        optional=True,
    )


def _is_owned(owners: Sequence[Json], placeholders: Placeholders) -> str:
    return " OR ".join([f"{placeholders.name(OWNER)} = {placeholders.value({'M': owner})}" for owner in owners])


def add_other(
    schema: Schema, write: Write, key: Json, adds: Mapping[str, int | Decimal], tag: str, clears: Sequence[str] = ()
) -> ItemAction:
    """Return an update that adds to numbers in an item of a pattern, and creates the item if it is missing.

    Two such actions on one item are merged. `clears` are attributes to remove.
    """
    placeholders = Placeholders()
    parts = [f"{placeholders.name(name)} {placeholders.value({'N': str(amount)})}" for name, amount in adds.items()]
    text = f"SET {placeholders.name(schema.type_attribute)} = {placeholders.text(tag)} ADD {', '.join(parts)}"
    if clears:
        text += f" REMOVE {', '.join(map(placeholders.name, clears))}"
    update = action("Update", key, {"UpdateExpression": text}, "", placeholders, write, condition_error, own=False)
    return replace(update, adds=adds, adding=lambda adds: add_other(schema, write, key, adds, tag, clears))


def merge_actions(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Merge actions on one item: additions to numbers, changes of a guard, and a delete and a put of the same key."""
    if len({action.key for action in actions}) == len(actions):
        return actions
    return _merge_exchanges(_merge_guards(_merge_additions(actions)))


def _merge_additions(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Return one action for each item whose numbers are added to, in the place of the first."""
    sums: dict[tuple[str, ...], ItemAction] = {}
    for action in actions:
        if action.adds is not None:
            sums[action.key] = _sum(sums[action.key], action) if action.key in sums else action
    merged_actions = []
    for action in actions:
        if action.adds is None:
            merged_actions.append(action)
        elif action.key in sums:
            merged_actions.append(sums.pop(action.key))
    return merged_actions


def _merge_exchanges(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Return one put for each copy or guard that one item gives up and another takes."""
    puts = {action.key for action in actions if action.kind == "Put" and not action.own}
    releases = {action.key: action for action in actions if action.kind == "Delete" and not action.own}
    exchanges = puts & releases.keys()
    merged_actions = []
    for action in actions:
        if action.key not in exchanges:
            merged_actions.append(action)
        elif action.kind != "Delete":
            merged_actions.append(_exchange(releases[action.key], action))
    return merged_actions


def _merge_guards(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Return one action for each guard: several items may release it, and one may take it."""
    by_guard: dict[tuple[str, ...], list[ItemAction]] = {}
    for action in actions:
        if action.owned is not None:
            by_guard.setdefault(action.key, []).append(action)
    # By the identity of the action: None for one that is part of another now.
    replacements: dict[int, ItemAction | None] = {}
    for changes in by_guard.values():
        takes = [action for action in changes if action.kind == "Put"]
        if len(changes) > 1 and len(takes) < 2:  # two takes are refused as not unique
            change = takes[0] if takes else changes[0]
            replacements.update((id(action), None) for action in changes)
            replacements[id(change)] = _merge_guard(change, changes)
    merged_actions = [replacements.get(id(action), action) for action in actions]
    return [action for action in merged_actions if action is not None]


def _merge_guard(change: ItemAction, changes: Sequence[ItemAction]) -> ItemAction:
    assert change.owned is not None
    owners = [owner for action in changes for owner in action.owners]
    # The guard of another item stays, and a release or a move with its item goes on without it.
    is_optional = (
        change.kind == "Delete" or change.optional or any(_is_move(action.write, change.write) for action in changes)
    )
    return replace(change.owned(tuple(owners)), optional=is_optional)


def _is_move(departure: Write, arrival: Write) -> bool:
    """Return whether two writes move one item to another key. It keeps its unique values, with a guard or without.

    Not if it can expire: another item may have taken its value since, by another clock.
    """
    is_same = departure.stored is not None and departure.stored.after is arrival.values
    return is_same and arrival.verb == "insert" and not arrival.entity.expiry


def _exchange(release: ItemAction, take: ItemAction) -> ItemAction:
    """Return the put of a copy or guard that moves from one item to another, with the condition of the delete."""
    condition = {name: value for name, value in release.parameters.items() if name != "Key"}
    return replace(take, parameters={"Item": take.parameters["Item"], **condition}, failure=release.failure)


def _sum(first: ItemAction, second: ItemAction) -> ItemAction:
    assert first.adding
    assert first.adds is not None
    assert second.adds is not None
    names = {**first.adds, **second.adds}  # in the order of the first action
    return first.adding({name: first.adds.get(name, 0) + second.adds.get(name, 0) for name in names})


def check_item(schema: Schema, write: Write) -> ItemAction:
    """Return the check that an item exists, or that it does not."""
    placeholders = Placeholders()
    key = schema.facet_key(write.entity.base, write.values)
    must_exist = write.verb == "check"
    if must_exist and not write.or_absent:
        text = condition(schema, write, placeholders, must_exist=True)
    else:
        texts = [vacancy(schema, write.entity, placeholders), *_kept_hidden(write.entity, placeholders)]
        if write.or_absent:  # then it does not matter whether an item that fulfils the condition is visible
            texts.append(f"({condition(schema, replace(write, visible=False), placeholders)})")
        text = " OR ".join(texts)
    return action("ConditionCheck", key, {}, text, placeholders, write, condition_error if must_exist else exists_error)


def as_check(schema: Schema, action: ItemAction) -> ItemAction | None:
    """Return the check of an action's condition; None if it has none.

    Copies, and unique values that become free, are as the item itself: only new items of patterns are checked.
    """
    parameters = action.parameters
    text = parameters.get("ConditionExpression", "")
    if not text or action.optional or (not action.own and action.kind != "Put"):
        return None
    item = parameters.get("Item") or parameters["Key"]
    body: dict[str, Any] = {"Key": schema.item_key(item)}
    # DynamoDB refuses placeholders that an expression does not use.
    short_names = set(_PLACEHOLDER.findall(text))
    for name in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        placeholders = {short: value for short, value in parameters.get(name, {}).items() if short in short_names}
        if placeholders:
            body[name] = placeholders
    body["ConditionExpression"] = text
    body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return replace(action, kind="ConditionCheck", parameters=body)


_PLACEHOLDER = re.compile(r"[#:]\w+")


def action(
    kind: ActionKind,
    key: Json,
    body: dict[str, Any],
    text: str,
    placeholders: Placeholders,
    write: Write,
    failure: FailureOf,
    own: bool = True,
) -> ItemAction:
    """Return an action with a condition, which may be empty."""
    if kind != "Put":
        body["Key"] = key
    body.update(_conditional(text, placeholders) if text else placeholders.parameters())
    return ItemAction(kind, body, key_texts(key), write, failure, own)


def _conditional(text: str, placeholders: Placeholders) -> dict[str, Any]:
    # The stored item shows why the condition failed.
    return {"ConditionExpression": text, "ReturnValuesOnConditionCheckFailure": "ALL_OLD", **placeholders.parameters()}


def expression(write: Write, changes: Changes, placeholders: Placeholders, sets: list[str], removes: list[str]) -> str:
    """Return changes as an UpdateExpression, with further clauses to set and remove."""
    codec = write.entity.codec
    for at, value in changes.sets.items():
        path = steps(at)
        sets.append(f"{rendered_path(path, codec, placeholders)} = {new_value(path, value, codec, placeholders)}")
    if changes.removes:
        removes += [rendered_path(path, codec, placeholders) for path in sorted(map(steps, changes.removes), key=str)]
    clauses = [f"SET {', '.join(sets)}"] if sets else []
    if removes:
        clauses.append(f"REMOVE {', '.join(removes)}")
    for word, members in (("ADD", changes.adds), ("DELETE", changes.deletes)):
        if members:
            parts = [
                f"{rendered_path(steps(at), codec, placeholders)} {value_of(steps(at), value, codec, placeholders)}"
                for at, value in members.items()
            ]
            clauses.append(f"{word} {', '.join(parts)}")
    return " ".join(clauses)


def with_set(expression: str, assignment: str) -> str:
    """Return an UpdateExpression with one more assignment, `#a = :a`."""
    clauses = f", {expression.removeprefix('SET ')}" if expression.startswith("SET ") else f" {expression}"
    return f"SET {assignment}{clauses}"


def condition(schema: Schema, write: Write, placeholders: Placeholders, must_exist: bool | None = None) -> str:
    """Return the ConditionExpression for the entity's own item: whether it exists, and its preconditions."""
    text = "" if must_exist is None else _existence(schema, placeholders, must_exist)
    entity = write.entity
    codec = entity.codec
    conditions = preconditions(write)
    conditions += conjuncts(_where(write))
    if entity.patterns:
        if must_exist is False:
            text = vacancy(schema, entity, placeholders, text)
        elif write.verb != "put" and write.visible and (must_exist or conditions or write.verb == "upsert"):
            conditions += entity.visible()
    if not conditions:
        return text
    if len(conditions) == 1 and not text:
        return render(conditions[0], codec, placeholders)
    texts = [render_part(conjunct, codec, placeholders) for conjunct in conditions]
    return " AND ".join([text, *texts] if text else texts)


def vacancy(schema: Schema, entity: BoundEntity[Any], placeholders: Placeholders, text: str = "") -> str:
    """Return the condition that there is no item, or only one that an insert may replace."""
    text = text or absent(schema, placeholders)
    if not (vacant := entity.vacant()):
        return text
    return f"({' OR '.join([text, *[render_part(replaceable, entity.codec, placeholders) for replaceable in vacant]])})"


def _kept_hidden(entity: BoundEntity[Any], placeholders: Placeholders) -> list[str]:
    """Return the conditions that an item is hidden, though an insert may not replace it: it is marked as deleted."""
    texts = []
    for pattern in entity.patterns:
        visibility = pattern.visibility()
        if visibility is not None and visibility.replaceable is None:
            texts.append(render_part(_opposite(visibility.condition), entity.codec, placeholders))
    return texts


def _opposite(condition: Condition) -> Condition:
    """Return the negation of a condition, in the shorter form if there is one."""
    if isinstance(condition, Exists):
        return replace(condition, present=not condition.present)
    return Not(condition)


def _where(write: Write) -> Condition | None:
    """Return the condition of the caller. For a put, items that an insert may replace count as absent."""
    if write.where is None or write.verb != "put" or not write.entity.vacant():
        return write.where
    return _with_vacancy(write.entity, write.where)


def _with_vacancy(entity: BoundEntity[Any], condition: Condition) -> Condition:
    """Return the condition of a put, in which an item that an insert may replace counts as absent.

    `Lock not exists or owner = me` lets anybody have an expired lock, whether DynamoDB has deleted it or not.
    """
    match condition:
        case And() | Or():
            items = [_with_vacancy(entity, item) for item in condition.items]
            return replace(condition, items=tuple(items))
        case Not():
            return replace(condition, item=_with_vacancy(entity, condition.item))
        case Exists(path=(name,), present=False) if name in entity.base.attributes:
            return Or((condition, *entity.vacant()))
        case _:
            return condition


def absent(schema: Schema, placeholders: Placeholders) -> str:
    """Return the condition that there is no item."""
    return _existence(schema, placeholders, False)


def _existence(schema: Schema, placeholders: Placeholders, must_exist: bool) -> str:
    # Every item has the partition key, so its presence is that of the item.
    pk = placeholders.name(schema.keys(TABLE).pk[0])
    return f"attribute_exists({pk})" if must_exist else f"attribute_not_exists({pk})"


def preconditions(write: Write) -> list[Condition]:
    """Return the conditions of a write: known values, values that were read, and parents of nested changes."""
    conditions = _known_values(write)
    if stored_object := write.stored:
        codec = write.entity.codec
        for name in dependencies(write):
            if stored_object.item is None:
                conditions.append(_is(name, stored_object.values.get(name)))
            else:
                json = stored_object.item.get(codec.attribute(name).wire)
                conditions.append(_is(name, None if json is None else Stored(json)))
    # A path below a missing map is a ValidationException for DynamoDB, which does not say which item it was.
    if write.changes is not NO_CHANGES and write.changes.nested:
        inside = dict.fromkeys([parent(at) for at in write.changes.all if not isinstance(at, str)])
        conditions += [Exists(path) for path in inside]
    return conditions


def _known_values(write: Write) -> list[Condition]:
    """Return the conditions that the item has the known values, without those that `where` has as well."""
    tested = conjuncts(write.where) if write.missing_ok else ()
    conditions: list[Condition] = []
    for name, value in write.asserted.items():
        condition = _is(name, value)
        if condition not in tested:
            conditions.append(condition)
    return conditions


def _is(name: str, value: Any) -> Condition:
    # None and the empty set are stored as absent attributes.
    absent = value is None or (isinstance(value, set | frozenset) and not value)
    return Exists((name,), present=False) if absent else Compare((name,), "=", value)


def dependencies(write: Write) -> list[str]:
    """Return the attributes of a known item, without the key, that decide what has to be written."""
    entity = write.entity
    names: set[str] = set(entity.codec.attributes) if write.stored and write.stored.complete else set()
    if write.verb == "update":
        for facet in affected_facets(write, entity.indexes.values()):
            names.update(facet.placing)
    for pattern in entity.patterns:
        names.update(pattern.depends(write))
    return sorted(names.difference(entity.base.attributes, write.asserted))


def exists_error(write: Write, item: Json | None) -> ConditionFailed:
    """Return the error of a failed insert, or of a failed check that there is no item."""
    if write.where is not None and not item:
        return condition_error(write, item)
    return _pattern_error(write, item) or AlreadyExists(f"{item_name(write)} exists already")


def condition_error(write: Write, item: Json | None) -> ConditionFailed:
    """Return the error of a failed write: there is no item, or its condition is false."""
    if error := _pattern_error(write, item):
        return error
    is_invisible = item and write.visible and write.verb != "put" and is_hidden(write.entity, item)
    if is_invisible or (not item and write.verb not in ("insert", "upsert")):
        return NotFound(f"there is no {item_name(write)}")
    if item and (error := missing_parent_error(write, item)):
        return error
    message = f"{item_name(write)} does not fulfil the condition of this {write.verb}"
    requirements = [_is(name, value) for name, value in write.asserted.items()] + list(conjuncts(write.where))
    requirements += conjuncts(write.if_stored)
    return ConditionFailed(f"{message}: {condition_text(requirements)}" if requirements else message)


def is_of_no_item(error: ConditionFailed) -> bool:
    """Return whether a write failed because no item has its key and known values, whatever its condition says."""
    write, item = error.write, error.item
    if error.elsewhere or isinstance(error, NotFound) or item is None or not isinstance(write, Write):
        return isinstance(error, NotFound) and not error.elsewhere
    # Few writes need this: the expressions are for the engine and for reads.
    from prejoin.table.condition.evaluate import holds

    return not all(holds(condition, write.entity.codec, item) for condition in _known_values(write))


def _pattern_error(write: Write, item: Json | None) -> ConditionFailed | None:
    for pattern in write.entity.patterns:
        if error := pattern.failed(write, item):
            return error
    return None


def missing_parent_error(write: Write, item: Json) -> ConditionFailed | None:
    """Return the error if the item lacks the map or list that a nested change is in."""
    for at in write.changes.all if write.changes.nested else ():
        inside = () if isinstance(at, str) else parent(at)
        if inside and not _present(item, place(write.entity.codec, inside).steps):
            return ConditionFailed(
                f"{item_name(write)} has no {path_text(inside)}, so {path_text(steps(at))} cannot be changed"
            )
    return None


def _not_found(facet: Facet, write: Write, item: Json | None) -> ConditionFailed:
    return NotFound(f"the copy {facet.copy} of {item_name(write)} is not there")


def _present(item: Mapping[str, Any], path: tuple[str | int, ...]) -> bool:
    value: Any = {"M": item}
    for step in path:
        members = value.get("L" if isinstance(step, int) else "M")
        if members is None or (step >= len(members) if isinstance(step, int) else step not in members):
            return False
        value = members[step]
    return True


def item_name(write: Write) -> str:
    """Return the entity and the key of a write, for messages: `User user_id='42'`."""
    key = ", ".join(f"{name}={write.values.get(name)!r}" for name in write.entity.base.attributes)
    return f"{write.entity.tag} {key}".rstrip()
