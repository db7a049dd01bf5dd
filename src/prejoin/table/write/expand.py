"""All actions of a write: the one on the item itself, and those that patterns add.

Programs repeat writes of the same form: the same attributes with other values. What these have in common, expressions
and names, is cached in the schema. This makes a plain put or update about twice as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from prejoin.table.codec.codec import Codec
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import Computed, Sum

from .actions import FailureOf, check_item, delete_item, put_item, update_item, whole_item
from .model import ActionKind, ItemAction, Write, key_texts
from .upsert import upsert_item

MOST_FORMS = 10_000
"""How many forms are cached. Programs have few: one for each set of attributes that they update."""

Builder = Callable[[Schema, Write], ItemAction]

_BUILDERS: Mapping[str, Builder] = {
    "insert": put_item,
    "put": put_item,
    "update": update_item,
    "upsert": upsert_item,
    "delete": delete_item,
    "check": check_item,
    "check_absent": check_item,
}
_KINDS: Mapping[str, ActionKind] = {
    "put": "Put",
    "insert": "Put",
    "update": "Update",
    "delete": "Delete",
    "check": "ConditionCheck",
}


def expand(schema: Schema, write: Write) -> list[ItemAction]:
    """Return all actions of a write. The item itself comes first, so that its failure is the one that is raised."""
    build = _BUILDERS[write.verb]
    if not write.entity.patterns:
        return [_cached_action(schema, write, build)]
    if write.spares_item:
        return [
            action for pattern in write.entity.patterns if pattern.spreads for action in pattern.expand(schema, write)
        ]
    # The condition of an insert is the same for all, unless it may replace items that are hidden now.
    has_constant_condition = (
        write.verb == "insert" and write.where is None and write.stored is None and not write.entity.vacant()
    )
    actions = [_cached_put(schema, write, build) if has_constant_condition else build(schema, write)]
    for pattern in write.entity.patterns:
        write.need_before(pattern.depends(write), pattern.label)
        actions += pattern.expand(schema, write)
        if pattern.completes:
            actions[0] = pattern.complete(schema, write, actions[0])
    return actions


class WriteForm(msgspec.Struct, frozen=True):
    """The part that all writes of a form share."""

    constant: Mapping[str, Any]
    """The parameters, without the key or item, and without the values."""
    failure: FailureOf
    placeholders: tuple[str, ...] = ()


def _cached_action(schema: Schema, write: Write, build: Builder) -> ItemAction:
    """Return what `build` returns for the item of an entity without patterns, from a cached form if possible.

    `build` makes the first action of each form. It makes all that have no form: writes with conditions, and updates
    that change keys.
    """
    kind = _KINDS.get(write.verb)
    if kind is None or write.where is not None or write.stored is not None:
        return build(schema, write)
    if kind == "Put":
        if write.verb == "put" and write.entity.unknown == "keep":
            return build(schema, write)
        return _cached_put(schema, write, build)
    changes = write.changes
    if changes.adds or changes.removes or changes.deletes:
        return build(schema, write)
    if len(write.values) != len(write.entity.base.attributes):  # known values, which become conditions
        return build(schema, write)
    codec = write.entity.codec
    shape_and_values = _shape_of(kind, codec, changes)
    if shape_and_values is None:
        return build(schema, write)
    key, values = shape_and_values
    form = schema.write_forms.get(key)
    if form is None:
        return _build_first(schema, write, build, key, len(values))
    item_key = schema.facet_key(write.entity.base, write.values)
    parameters = {"Key": item_key, **form.constant}
    if values:
        encode = codec.encode_value
        parameters[_VALUES] = {
            placeholder: encode(at, value) for placeholder, (at, value) in zip(form.placeholders, values, strict=True)
        }
    return ItemAction(kind, parameters, key_texts(item_key), write, form.failure)


def _build_first(schema: Schema, write: Write, build: Builder, key: tuple[Any, ...], value_count: int) -> ItemAction:
    """Return the first action of a form, and cache the form."""
    action = build(schema, write)
    if _has_form(write, action, value_count):
        constant = {name: value for name, value in action.parameters.items() if name not in _DIFFERENT}
        placeholders = tuple(action.parameters.get(_VALUES, ()))
        _cache(schema, key, WriteForm(constant, action.failure, placeholders))
    return action


def _shape_of(
    kind: ActionKind, codec: Codec[Any], changes: Changes
) -> tuple[tuple[Any, ...], list[tuple[str, Any]]] | None:
    """Return the key of a form in the cache, and the attributes with their values, which the form does not have.

    None if the changes have no form: paths inside of attributes, and most values that DynamoDB computes.
    """
    shape: list[Any] = [kind, codec]
    values: list[tuple[str, Any]] = []
    for at, value in changes.sets.items():
        if type(at) is not str:  # a path inside an attribute, or an attribute that the class does not have
            return None
        if not isinstance(value, Computed):
            shape.append(at)
            values.append((at, value))
        elif type(value) is Sum and not value.from_zero and value.path == (at,):
            # `views + 1` and `views - 1` are two forms, with one expression each.
            shape.append(value.sign + at)
            values.append((at, value.amount))
        else:
            return None
    return tuple(shape), values


def _cached_put(schema: Schema, write: Write, build: Builder) -> ItemAction:
    """Return what `build` returns for a put without conditions of the caller."""
    form = schema.write_forms.get(key := (write.verb, write.entity.codec))
    if form is None:
        action = build(schema, write)
        constant = {name: value for name, value in action.parameters.items() if name != "Item"}
        _cache(schema, key, WriteForm(constant, action.failure))
        return action
    item, item_key = whole_item(schema, write)
    return ItemAction("Put", {"Item": item, **form.constant}, key_texts(item_key), write, form.failure)


def _cache(schema: Schema, key: tuple[Any, ...], form: WriteForm) -> None:
    if len(schema.write_forms) >= MOST_FORMS:
        schema.write_forms.clear()
    schema.write_forms[key] = form


_VALUES = "ExpressionAttributeValues"
_DIFFERENT = frozenset({"Key", _VALUES})


def _has_form(write: Write, action: ItemAction, value_count: int) -> bool:
    """Return whether writes of the same attributes differ in their key and values only, in this order."""
    if len(action.parameters.get(_VALUES, ())) != value_count:
        return False
    # Index keys are made of values, and the values decide whether an item is in a sparse index.
    return all(write.changes.replaced.isdisjoint(facet.placing) for facet in write.entity.indexes.values())
