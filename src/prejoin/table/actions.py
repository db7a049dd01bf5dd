"""The actions on single items: one builder for each, whether it goes alone or in a transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from prejoin.keys import TABLE, Facet

from .changes import NOTHING, Changes, steps
from .computed import shown
from .errors import AlreadyExists, ConditionFailed, NotFound
from .expressions import Compare, Condition, Exists, Stored, conjuncts
from .indexkeys import index_changes, touched
from .paths import parent, place
from .render import Placeholders, grouped, new_value, path_of, render, value_of
from .schema import Schema
from .values import Json
from .writes import Action, Kind, Write

Failure = Callable[[Write, "Json | None"], ConditionFailed]


def put_item(schema: Schema, write: Write) -> Action:
    """The item of an object: attributes, type, key, and the keys of the indexes it is in."""
    entity, values = write.entity, write.values
    item = entity.codec.encode_values(values)
    item[schema.type_attribute] = {"S": entity.tag}
    key = schema.written(entity.base, values)
    item |= key
    for facet in entity.indexes.values():
        if not facet.when or facet.has(values):
            item |= schema.written(facet, values)
    to = Placeholders()
    new = write.verb == "insert"
    text = condition(schema, write, to, there=False if new else None)
    return action("Put", key, {"Item": item}, text, to, write, exists if new else unmet)


def put_other(
    schema: Schema, write: Write, item: Json, text: str, to: Placeholders, facet: Facet, failure: Failure
) -> Action:
    """A put of an item that is not the entity's own: a copy, a guard."""
    key = {name: item[name] for name in schema.keys(facet.slot).names}
    return action("Put", key, {"Item": item}, text, to, write, failure, own=False)


def update_item(schema: Schema, write: Write) -> Action:
    """An update of the entity's own item, which must be there."""
    keys, gone = index_changes(schema, write)
    to = Placeholders()
    sets = [f"{to.name(name)} = {to.value(value)}" for name, value in keys.items()]
    text = expression(write, write.changes, to, sets, [to.name(name) for name in gone])
    key = schema.written(write.entity.base, write.values)
    return action("Update", key, {"UpdateExpression": text}, condition(schema, write, to, there=True), to, write, unmet)


def update_other(schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any], changes: Changes) -> Action:
    """The part of an update that concerns another item of the entity."""
    to = Placeholders()
    text = expression(write, changes, to, [], [])
    there = _there(schema, to, True)
    key = schema.written(facet, values)
    return action("Update", key, {"UpdateExpression": text}, there, to, write, partial(_lost, facet), own=False)


def delete_item(schema: Schema, write: Write) -> Action:
    to = Placeholders()
    key = schema.written(write.entity.base, write.values)
    return action("Delete", key, {}, condition(schema, write, to), to, write, unmet)


def delete_other(schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any]) -> Action:
    return action("Delete", schema.written(facet, values), {}, "", Placeholders(), write, unmet, own=False)


def check_item(schema: Schema, write: Write) -> Action:
    to = Placeholders()
    key = schema.written(write.entity.base, write.values)
    return action("ConditionCheck", key, {}, condition(schema, write, to, there=True), to, write, unmet)


def action(
    kind: Kind,
    key: Json,
    body: dict[str, Any],
    text: str,
    to: Placeholders,
    write: Write,
    failure: Failure,
    own: bool = True,
) -> Action:
    """An action with its condition, which may be empty."""
    if kind != "Put":
        body["Key"] = key
    if text:
        body["ConditionExpression"] = text
        # The old item tells what failed: nothing there, or not as it should be.
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    body.update(to.parameters())
    return Action(kind, body, tuple([text for value in key.values() for text in value.values()]), write, failure, own)


def expression(write: Write, changes: Changes, to: Placeholders, sets: list[str], removes: list[str]) -> str:
    """Changes as an UpdateExpression, with what else is to be set and removed."""
    codec = write.entity.codec
    for at, value in changes.sets.items():
        path = steps(at)
        sets.append(f"{path_of(path, codec, to)} = {new_value(path, value, codec, to)}")
    if changes.removes:
        removes += [path_of(path, codec, to) for path in sorted(map(steps, changes.removes), key=str)]
    clauses = [f"SET {', '.join(sets)}"] if sets else []
    if removes:
        clauses.append(f"REMOVE {', '.join(removes)}")
    for word, members in (("ADD", changes.adds), ("DELETE", changes.deletes)):
        if members:
            parts = [
                f"{path_of(steps(at), codec, to)} {value_of(steps(at), value, codec, to)}"
                for at, value in members.items()
            ]
            clauses.append(f"{word} {', '.join(parts)}")
    return " ".join(clauses)


def condition(schema: Schema, write: Write, to: Placeholders, there: bool | None = None) -> str:
    """What must hold for a write of the entity's own item: that it is there or not, and all that is relied on."""
    text = "" if there is None else _there(schema, to, there)
    conditions = relied(write)
    if write.where is not None:
        conditions += conjuncts(write.where)
    if not conditions:
        return text
    codec = write.entity.codec
    if len(conditions) == 1 and not text:
        return render(conditions[0], codec, to)
    texts = [grouped(one, codec, to) for one in conditions]
    return " AND ".join([text, *texts] if text else texts)


def _there(schema: Schema, to: Placeholders, present: bool) -> str:
    pk = to.name(schema.keys(TABLE).pk[0])
    return f"attribute_exists({pk})" if present else f"attribute_not_exists({pk})"


def relied(write: Write) -> list[Condition]:
    """What a write relies on: what the caller says is so, what was read, and what nested changes lie in."""
    known = write.asserted
    found = [_is(name, value) for name, value in known.items()] if known else []
    if write.was is not None:
        codec = write.entity.codec
        for name in depends(write):
            if write.item is None:
                found.append(_is(name, write.was.get(name)))
            else:
                json = write.item.get(codec.attribute(name).wire)
                found.append(_is(name, None if json is None else Stored(json)))
    if write.changes is not NOTHING and write.changes.nested:
        inside = dict.fromkeys([parent(at) for at in write.changes.all if not isinstance(at, str)])
        found += [Exists(path) for path in inside]
    return found


def _is(name: str, value: Any) -> Condition:
    # None and the empty set are absent in the table.
    absent = value is None or (isinstance(value, set | frozenset) and not value)
    return Exists((name,), present=False) if absent else Compare((name,), "=", value)


def depends(write: Write) -> list[str]:
    """The attributes, beside the key, that decide what has to be written for an item that is known."""
    entity, changed = write.entity, write.changes.whole
    names: set[str] = set()
    if write.verb == "update":
        for facet in touched(write):
            names.update(facet.placing)
        for copy in entity.copies:
            if not changed.isdisjoint(copy.facet.placing):
                names |= copy.attributes  # it moves, and is written whole
            elif not write.changes.names.isdisjoint(copy.attributes):
                names.update(copy.facet.placing)
        for guard in entity.guards:
            if not changed.isdisjoint(guard.attributes):
                names.update(guard.attributes)
    else:
        for facet in (*(copy.facet for copy in entity.copies), *(guard.facet for guard in entity.guards)):
            names.update(facet.placing)
    return sorted(names.difference(entity.base.attributes, write.asserted))


def exists(write: Write, item: Json | None) -> ConditionFailed:
    """An insert that failed."""
    if write.where is not None and not item:
        return unmet(write, item)
    return AlreadyExists(f"{named(write)} exists already")


def unmet(write: Write, item: Json | None) -> ConditionFailed:
    """A write that failed: nothing there, or not as it should be."""
    for pattern in write.entity.patterns:
        if found := pattern.failed(write, item):
            return found
    if not item and write.verb not in ("insert", "upsert"):
        return NotFound(f"there is no {named(write)}")
    said = ConditionFailed(f"the condition of this {write.verb} is not met by {named(write)}")
    return lacking(write, item) or said if item else said


def lacking(write: Write, item: Json) -> ConditionFailed | None:
    """What is wrong where an item does not have what a nested change lies in."""
    for at in write.changes.all if write.changes.nested else ():
        inside = () if isinstance(at, str) else parent(at)
        if inside and not _present(item, place(write.entity.codec, inside).steps):
            return ConditionFailed(f"{named(write)} has no {shown(inside)}, so {shown(steps(at))} cannot be changed")
    return None


def _lost(facet: Facet, write: Write, item: Json | None) -> ConditionFailed:
    return NotFound(f"the copy {facet.copy} of {named(write)} is not there")


def _present(item: Mapping[str, Any], path: tuple[str | int, ...]) -> bool:
    found: Any = {"M": item}
    for step in path:
        members = found.get("L" if isinstance(step, int) else "M")
        if members is None or (step >= len(members) if isinstance(step, int) else step not in members):
            return False
        found = members[step]
    return True


def named(write: Write) -> str:
    key = ", ".join(f"{name}={write.values.get(name)!r}" for name in write.entity.base.attributes)
    return f"{write.entity.tag} {key}".rstrip()
