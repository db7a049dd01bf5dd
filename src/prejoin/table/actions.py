"""The actions on single items: one builder for each, whether it goes alone or in a transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prejoin.keys import TABLE, Facet

from .bind import Bound
from .errors import AlreadyExists, ConditionFailed, NotFound
from .expressions import And, Arithmetic, Compare, Condition, Exists, conjuncts
from .indexkeys import index_changes
from .render import Placeholders, render, sum_of
from .schema import Schema
from .values import Json
from .writes import Action, Changes, Kind, Write

Failure = Callable[[Mapping[str, Any] | None], ConditionFailed]


def main_action(schema: Schema, write: Write) -> Action:
    """What a write does to the entity's own item."""
    entity = write.entity
    match write.verb:
        case "insert" | "put":
            return put_item(schema, write, item_of(schema, entity, write.values))
        case "update":
            keys, gone = index_changes(schema, write)
            return update_item(schema, write, entity.base, write.values, write.changes, keys, gone)
        case "delete":
            return delete_item(schema, write, entity.base, write.values, conditions_of(write))
        case "check":
            to = Placeholders()
            text = _all(schema, [Exists(()), *conditions_of(write)], entity, to)
            key = schema.written(entity.base, write.values)
            return _action("ConditionCheck", key, {"Key": key, "ConditionExpression": text}, to, changed(write))


def item_of(schema: Schema, entity: Bound[Any], values: Mapping[str, Any]) -> Json:
    """An object's item: attributes, type, key, and the keys of the indexes it is in."""
    item = entity.codec.encode_values(values)
    item[schema.type_attribute] = {"S": entity.tag}
    item |= schema.written(entity.base, values)
    for facet in entity.indexes.values():
        if facet.has(values):
            item |= schema.written(facet, values)
    return item


def put_item(schema: Schema, write: Write, item: Json) -> Action:
    entity = write.entity
    conditions = list(conditions_of(write))
    if write.verb == "insert":
        conditions.insert(0, Exists((), present=False))
    to = Placeholders()
    body: dict[str, Any] = {"Item": item}
    if conditions:
        body["ConditionExpression"] = _all(schema, conditions, entity, to)
    failure = exists(write) if write.verb == "insert" else changed(write)
    return _action("Put", schema.written(entity.base, write.values), body, to, failure)


def put_other(schema: Schema, item: Json, condition: str, to: Placeholders, facet: Facet, failure: Failure) -> Action:
    """A put of an item that is not the entity's own: a copy, a guard."""
    key = {name: item[name] for name in schema.physical(facet.slot) if name}
    return _action("Put", key, {"Item": item, "ConditionExpression": condition}, to, failure)


def update_item(
    schema: Schema,
    write: Write,
    facet: Facet,
    values: Mapping[str, Any],
    changes: Changes,
    keys: Mapping[str, str],
    gone: tuple[str, ...],
) -> Action:
    """An update of an item that must be there. `keys` are index keys to set, `gone` those to remove."""
    entity = write.entity
    codec = entity.codec
    to = Placeholders()
    sets = [f"{to.name(name)} = {to.text(text)}" for name, text in keys.items()]
    for name, value in changes.sets.items():
        wire = to.name(codec.attribute(name).wire)
        right = (
            sum_of(name, value, codec, to)
            if isinstance(value, Arithmetic)
            else to.value(codec.encode_value(name, value))
        )
        sets.append(f"{wire} = {right}")
    adds = [
        f"{to.name(codec.attribute(name).wire)} {to.value(codec.encode_value(name, amount))}"
        for name, amount in changes.adds.items()
    ]
    removes = [to.name(name) for name in gone] + [
        to.name(codec.attribute(name).wire) for name in sorted(changes.removes)
    ]
    clauses = [("SET", sets), ("ADD", adds), ("REMOVE", removes)]
    key = schema.written(facet, values)
    own = facet is entity.base
    body = {
        "Key": key,
        "UpdateExpression": " ".join(f"{word} {', '.join(parts)}" for word, parts in clauses if parts),
        "ConditionExpression": _all(schema, [Exists(()), *(conditions_of(write) if own else ())], entity, to),
    }
    return _action("Update", key, body, to, changed(write))


def delete_item(
    schema: Schema, write: Write, facet: Facet, values: Mapping[str, Any], conditions: tuple[Condition, ...] = ()
) -> Action:
    to = Placeholders()
    key = schema.written(facet, values)
    body: dict[str, Any] = {"Key": key}
    if conditions:
        body["ConditionExpression"] = _all(schema, list(conditions), write.entity, to)
    return _action("Delete", key, body, to, changed(write))


def conditions_of(write: Write) -> tuple[Condition, ...]:
    """What the caller relies on and asks for."""
    known = write.asserted
    if write.was is not None:
        # The item is still the one that the caller saw, as far as copies and guards depend on it.
        entity = write.entity
        facets = [copy.facet for copy in entity.copies] + [guard.facet for guard in entity.guards]
        depends = {name for facet in facets for name in facet.attributes}
        depends |= {when.attribute for facet in facets for when in facet.when}
        known = {name: write.was.get(name) for name in sorted(depends - set(entity.base.attributes))}
    asserted = [
        Exists((name,), present=False) if value is None else Compare((name,), "=", value)
        for name, value in known.items()
    ]
    return (*asserted, *conjuncts(write.where))


def exists(write: Write) -> Failure:
    def failure(item: Mapping[str, Any] | None) -> ConditionFailed:
        return AlreadyExists(f"{named(write)} exists already")

    return failure


def changed(write: Write) -> Failure:
    """An update, delete or check that failed: nothing there, or not as it should be."""

    def failure(item: Mapping[str, Any] | None) -> ConditionFailed:
        if item:
            return ConditionFailed(f"the condition of this {write.verb} is not met by {named(write)}")
        return NotFound(f"there is no {named(write)}")

    return failure


def named(write: Write) -> str:
    key = ", ".join(f"{name}={write.values.get(name)!r}" for name in write.entity.base.attributes)
    return f"{write.entity.tag} {key}".rstrip()


def _all(schema: Schema, conditions: list[Condition], entity: Bound[Any], to: Placeholders) -> str:
    """All conditions; `Exists` of the empty path is about the item itself."""
    own = [c for c in conditions if isinstance(c, Exists) and not c.path]
    rest = tuple(c for c in conditions if c not in own)
    pk = to.name(schema.physical(TABLE)[0]) if own else ""
    texts = [f"{'attribute_exists' if c.present else 'attribute_not_exists'}({pk})" for c in own]
    if rest:
        texts.append(render(And(rest), entity.codec, to))
    return " AND ".join(texts)


def _action(kind: Kind, key: Json, body: dict[str, Any], to: Placeholders, failure: Failure) -> Action:
    if "ConditionExpression" in body:
        # The old item tells what failed: nothing there, or not as it should be.
        body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return Action(kind, {**body, **to.parameters()}, tuple(text["S"] for text in key.values()), failure)
