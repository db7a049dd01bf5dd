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
from prejoin.table.condition.record import Compare, Condition, Exists, Stored, conjuncts
from prejoin.table.condition.render import Placeholders, new_value, render, render_part, rendered_path, value_of
from prejoin.table.errors import AlreadyExists, ConditionFailed, NotFound
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import OWNER
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_hidden
from prejoin.table.update.changes import NOTHING, Changes, steps

from .index_keys import affected, index_changes
from .model import ActionKind, ItemAction, Write, key_texts

FailureOf = Callable[[Write, "Json | None"], ConditionFailed]


def put_item(schema: Schema, write: Write) -> ItemAction:
    """Return the put of the entity's own item."""
    item, key = whole_item(schema, write)
    to = Placeholders()
    new = write.verb == "insert"
    if not new and write.entity.unknown == "keep":
        return _put_keeping(schema, write, item, key, to)
    # If the replaced object is known, it must exist: patterns have counted it as replaced, not as created.
    text = condition(schema, write, to, there=False if new else None if write.stored is None else True)
    return action("Put", key, {"Item": item}, text, to, write, exists_error if new else condition_error)


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


def _put_keeping(schema: Schema, write: Write, item: Json, key: Json, to: Placeholders) -> ItemAction:
    """Return a put that keeps attributes which the class does not have: an update of all attributes of the class."""
    entity = write.entity
    ours = {attribute.wire for attribute in entity.codec.attributes.values()}
    ours = ours.union(*[schema.template_keys(facet).names for facet in entity.indexes.values()])
    sets = [f"{to.name(name)} = {to.value(value)}" for name, value in item.items() if name not in key]
    text = f"SET {', '.join(sets)}"
    if removes := sorted(ours - item.keys()):
        text += f" REMOVE {', '.join(map(to.name, removes))}"
    held = condition(schema, write, to, there=None if write.stored is None else True)
    return action("Update", key, {"UpdateExpression": text}, held, to, write, condition_error)


def unknown_attributes(schema: Schema, entity: BoundEntity[Any], item: Json) -> Json:
    """Return the attributes of a stored item that are neither of its class nor keys. They move with the item."""
    known = {attribute.wire for attribute in entity.codec.attributes.values()}
    known.update(schema.keys(TABLE).names, [schema.type_attribute])
    known.update(name for facet in schema.facets for name in schema.template_keys(facet).names)
    return {name: value for name, value in item.items() if name not in known}


def put_other(
    schema: Schema, write: Write, item: Json, text: str, to: Placeholders, facet: Facet, failure: FailureOf
) -> ItemAction:
    """Return the put of an item of a pattern, such as a copy or a guard."""
    key = {name: item[name] for name in schema.keys(facet.slot).names}
    return action("Put", key, {"Item": item}, text, to, write, failure, own=False)


def update_item(schema: Schema, write: Write) -> ItemAction:
    """Return the update of the entity's own item, which must exist."""
    to = Placeholders()
    text = _updating(schema, write, write.changes, write.entity.indexes.values(), to)
    key = schema.facet_key(write.entity.base, write.values)
    return action(
        "Update", key, {"UpdateExpression": text}, condition(schema, write, to, there=True), to, write, condition_error
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
    to = Placeholders()
    text = _updating(schema, write, changes, indexes, to)
    there = _there(schema, to, True)
    key = schema.facet_key(facet, values)
    return action("Update", key, {"UpdateExpression": text}, there, to, write, partial(_not_found, facet), own=False)


def _updating(schema: Schema, write: Write, changes: Changes, indexes: Collection[Facet], to: Placeholders) -> str:
    """Return the UpdateExpression of changes, with those of the keys in indexes."""
    keys, gone = index_changes(schema, write, indexes)
    sets = [f"{to.name(name)} = {to.value(value)}" for name, value in keys.items()]
    return expression(write, changes, to, sets, [to.name(name) for name in gone])


def delete_item(schema: Schema, write: Write) -> ItemAction:
    """Return the delete of the entity's own item."""
    to = Placeholders()
    key = schema.facet_key(write.entity.base, write.values)
    text = condition(schema, write, to, there=None if write.stored is None else True)
    return action("Delete", key, {}, text, to, write, condition_error)


def delete_other(schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any]) -> ItemAction:
    """Return the delete of an item of a pattern, such as a copy."""
    return action("Delete", schema.facet_key(facet, values), {}, "", Placeholders(), write, condition_error, own=False)


def take_guard(
    schema: Schema, write: Write, item: Json, facet: Facet, failure: FailureOf, owners: tuple[Json, ...]
) -> ItemAction:
    """Return the put of a guard, if there is none, or if it is that of one of the owners."""
    to = Placeholders()
    text = f"{vacancy(schema, write.entity, to)} OR {_is_owned(owners, to)}"
    key = key_texts({name: item[name] for name in schema.keys(facet.slot).names})
    body = {"Item": item, **_conditional(text, to)}
    owned = partial(take_guard, schema, write, item, facet, failure)
    return ItemAction("Put", body, key, write, failure, own=False, owners=owners, owned=owned)


def release_guard(
    schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any], owners: tuple[Json, ...]
) -> ItemAction:
    """Return the delete of a guard, if it is that of one of the owners. That of another item stays."""
    to = Placeholders()
    text = f"{absent(schema, to)} OR {_is_owned(owners, to)}"
    key = schema.facet_key(facet, values)
    body = {"Key": key, **_conditional(text, to)}
    owned = partial(release_guard, schema, write, facet, values)
    return ItemAction(
        "Delete", body, key_texts(key), write, condition_error, own=False, owners=owners, owned=owned, optional=True
    )


def _is_owned(owners: Sequence[Json], to: Placeholders) -> str:
    return " OR ".join([f"{to.name(OWNER)} = {to.value({'M': owner})}" for owner in owners])


def add_other(
    schema: Schema, write: Write, key: Json, adds: Mapping[str, int | Decimal], tag: str, clears: Sequence[str] = ()
) -> ItemAction:
    """Return an update that adds to numbers in an item of a pattern, and creates the item if it is missing.

    Two such actions on one item are merged. `clears` are attributes to remove.
    """
    to = Placeholders()
    parts = [f"{to.name(name)} {to.value({'N': str(amount)})}" for name, amount in adds.items()]
    text = f"SET {to.name(schema.type_attribute)} = {to.text(tag)} ADD {', '.join(parts)}"
    if clears:
        text += f" REMOVE {', '.join(map(to.name, clears))}"
    found = action("Update", key, {"UpdateExpression": text}, "", to, write, condition_error, own=False)
    return replace(found, adds=adds, adding=lambda adds: add_other(schema, write, key, adds, tag, clears))


def merge_actions(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Merge actions on one item: additions to numbers, changes of a guard, and a delete and a put of the same key."""
    if len({one.key for one in actions}) == len(actions):
        return actions
    adding: dict[tuple[str, ...], ItemAction] = {}
    for one in actions:
        if one.adds is not None:
            adding[one.key] = _sum(adding[one.key], one) if one.key in adding else one
    if adding:
        actions = [found for one in actions if (found := one if one.adds is None else adding.pop(one.key, None))]
    actions = _merge_guards(actions)
    taken = {one.key for one in actions if one.kind == "Put" and not one.own}
    freed = {one.key: one for one in actions if one.kind == "Delete" and not one.own and one.key in taken}
    if not freed:
        return actions
    kept = [one for one in actions if one.kind != "Delete" or one.key not in freed]
    return [_exchanged(freed[one.key], one) if one.key in freed else one for one in kept]


def _merge_guards(actions: Sequence[ItemAction]) -> Sequence[ItemAction]:
    """Return one action for each guard: several items may release it, and one may take it."""
    by_guard: dict[tuple[str, ...], list[ItemAction]] = {}
    for one in actions:
        if one.owned is not None:
            by_guard.setdefault(one.key, []).append(one)
    replaced: dict[int, ItemAction | None] = {}
    for changes in by_guard.values():
        takes = [one for one in changes if one.kind == "Put"]
        if len(changes) > 1 and len(takes) < 2:  # two takes are refused as not unique
            change = takes[0] if takes else changes[0]
            replaced.update((id(one), None) for one in changes)
            replaced[id(change)] = _merge_guard(change, changes)
    return [kept for one in actions if (kept := replaced.get(id(one), one)) is not None]


def _merge_guard(change: ItemAction, changes: Sequence[ItemAction]) -> ItemAction:
    assert change.owned is not None
    owners = [owner for one in changes for owner in one.owners]
    is_own = change.kind == "Delete" or change.optional or any(_is_move(one.write, change.write) for one in changes)
    return replace(change.owned(tuple(owners)), optional=is_own)


def _is_move(leaves: Write, comes: Write) -> bool:
    """Return whether two writes move one item to another key. It keeps its unique values, with a guard or without.

    Not if it can expire: another item may have taken its value since, by another clock.
    """
    is_same = leaves.stored is not None and leaves.stored.after is comes.values
    return is_same and comes.verb == "insert" and not comes.entity.expiry


def _exchanged(freed: ItemAction, taken: ItemAction) -> ItemAction:
    """Return the put of a copy or guard that moves from one item to another, with the condition of the delete."""
    condition = {name: value for name, value in freed.parameters.items() if name != "Key"}
    return replace(taken, parameters={"Item": taken.parameters["Item"], **condition}, failure=freed.failure)


def _sum(one: ItemAction, other: ItemAction) -> ItemAction:
    assert one.adding
    assert one.adds is not None
    assert other.adds is not None
    return one.adding({name: one.adds.get(name, 0) + other.adds.get(name, 0) for name in {**one.adds, **other.adds}})


def check_item(schema: Schema, write: Write) -> ItemAction:
    """Return the check that an item exists, or that it does not."""
    to = Placeholders()
    key = schema.facet_key(write.entity.base, write.values)
    there = write.verb == "check"
    if write.or_absent:
        fulfilled = condition(schema, write, to)
        text = f"{vacancy(schema, write.entity, to)} OR ({fulfilled})"
    else:
        text = condition(schema, write, to, there=there)
    return action("ConditionCheck", key, {}, text, to, write, condition_error if there else exists_error)


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
    used = set(_PLACEHOLDER.findall(text))
    for name in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        if kept := {short: value for short, value in parameters.get(name, {}).items() if short in used}:
            body[name] = kept
    body["ConditionExpression"] = text
    body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return replace(action, kind="ConditionCheck", parameters=body)


_PLACEHOLDER = re.compile(r"[#:]\w+")


def action(
    kind: ActionKind,
    key: Json,
    body: dict[str, Any],
    text: str,
    to: Placeholders,
    write: Write,
    failure: FailureOf,
    own: bool = True,
) -> ItemAction:
    """Return an action with a condition, which may be empty."""
    if kind != "Put":
        body["Key"] = key
    body.update(_conditional(text, to) if text else to.parameters())
    return ItemAction(kind, body, key_texts(key), write, failure, own)


def _conditional(text: str, to: Placeholders) -> dict[str, Any]:
    # The stored item shows why the condition failed.
    return {"ConditionExpression": text, "ReturnValuesOnConditionCheckFailure": "ALL_OLD", **to.parameters()}


def expression(write: Write, changes: Changes, to: Placeholders, sets: list[str], removes: list[str]) -> str:
    """Return changes as an UpdateExpression, with further clauses to set and remove."""
    codec = write.entity.codec
    for at, value in changes.sets.items():
        path = steps(at)
        sets.append(f"{rendered_path(path, codec, to)} = {new_value(path, value, codec, to)}")
    if changes.removes:
        removes += [rendered_path(path, codec, to) for path in sorted(map(steps, changes.removes), key=str)]
    clauses = [f"SET {', '.join(sets)}"] if sets else []
    if removes:
        clauses.append(f"REMOVE {', '.join(removes)}")
    for word, members in (("ADD", changes.adds), ("DELETE", changes.deletes)):
        if members:
            parts = [
                f"{rendered_path(steps(at), codec, to)} {value_of(steps(at), value, codec, to)}"
                for at, value in members.items()
            ]
            clauses.append(f"{word} {', '.join(parts)}")
    return " ".join(clauses)


def with_set(expression: str, assignment: str) -> str:
    """Return an UpdateExpression with one more assignment, `#a = :a`."""
    rest = f", {expression.removeprefix('SET ')}" if expression.startswith("SET ") else f" {expression}"
    return f"SET {assignment}{rest}"


def condition(schema: Schema, write: Write, to: Placeholders, there: bool | None = None) -> str:
    """Return the ConditionExpression for the entity's own item: whether it exists, and its preconditions."""
    text = "" if there is None else _there(schema, to, there)
    entity = write.entity
    codec = entity.codec
    conditions = preconditions(write)
    if write.where is not None:
        conditions += conjuncts(write.where)
    if entity.patterns:
        if there is False:
            text = vacancy(schema, entity, to, text)
        elif write.verb != "put" and write.visible and (there or conditions or write.verb == "upsert"):
            conditions += entity.visible()
    if not conditions:
        return text
    if len(conditions) == 1 and not text:
        return render(conditions[0], codec, to)
    texts = [render_part(one, codec, to) for one in conditions]
    return " AND ".join([text, *texts] if text else texts)


def vacancy(schema: Schema, entity: BoundEntity[Any], to: Placeholders, text: str = "") -> str:
    """Return the condition that there is no item, or only one that an insert may replace."""
    text = text or absent(schema, to)
    if not (vacant := entity.vacant()):
        return text
    return f"({' OR '.join([text, *[render_part(one, entity.codec, to) for one in vacant]])})"


def absent(schema: Schema, to: Placeholders) -> str:
    """Return the condition that there is no item."""
    return _there(schema, to, False)


def _there(schema: Schema, to: Placeholders, present: bool) -> str:
    pk = to.name(schema.keys(TABLE).pk[0])
    return f"attribute_exists({pk})" if present else f"attribute_not_exists({pk})"


def preconditions(write: Write) -> list[Condition]:
    """Return the conditions of a write: known values, values that were read, and parents of nested changes."""
    known = write.asserted
    found = [_is(name, value) for name, value in known.items()] if known else []
    if stored := write.stored:
        codec = write.entity.codec
        for name in dependencies(write):
            if stored.item is None:
                found.append(_is(name, stored.values.get(name)))
            else:
                json = stored.item.get(codec.attribute(name).wire)
                found.append(_is(name, None if json is None else Stored(json)))
    if write.changes is not NOTHING and write.changes.nested:
        inside = dict.fromkeys([parent(at) for at in write.changes.all if not isinstance(at, str)])
        found += [Exists(path) for path in inside]
    return found


def _is(name: str, value: Any) -> Condition:
    # None and the empty set are stored as absent attributes.
    absent = value is None or (isinstance(value, set | frozenset) and not value)
    return Exists((name,), present=False) if absent else Compare((name,), "=", value)


def dependencies(write: Write) -> list[str]:
    """Return the attributes of a known item, without the key, that decide what has to be written."""
    entity = write.entity
    names: set[str] = set(entity.codec.attributes) if write.stored and write.stored.complete else set()
    if write.verb == "update":
        for facet in affected(write, entity.indexes.values()):
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
    if found := _pattern_error(write, item):
        return found
    hidden = item and write.visible and write.verb != "put" and is_hidden(write.entity, item)
    if hidden or (not item and write.verb not in ("insert", "upsert")):
        return NotFound(f"there is no {item_name(write)}")
    if item and (found := missing_parent_error(write, item)):
        return found
    message = f"{item_name(write)} does not fulfil the condition of this {write.verb}"
    expected = [_is(name, value) for name, value in write.asserted.items()] + list(conjuncts(write.where))
    expected += conjuncts(write.if_stored)
    return ConditionFailed(f"{message}: {condition_text(expected)}" if expected else message)


def _pattern_error(write: Write, item: Json | None) -> ConditionFailed | None:
    for pattern in write.entity.patterns:
        if found := pattern.failed(write, item):
            return found
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
    found: Any = {"M": item}
    for step in path:
        members = found.get("L" if isinstance(step, int) else "M")
        if members is None or (step >= len(members) if isinstance(step, int) else step not in members):
            return False
        found = members[step]
    return True


def item_name(write: Write) -> str:
    """Return the entity and the key of a write, for messages: `User user_id='42'`."""
    key = ", ".join(f"{name}={write.values.get(name)!r}" for name in write.entity.base.attributes)
    return f"{write.entity.tag} {key}".rstrip()
