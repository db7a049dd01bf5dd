"""Writes of one form: what is the same in all of them, expressions and names, is made once; only values differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from prejoin.table.schema.schema import Schema
from prejoin.table.update.computed import Computed, Sum

from .actions import Failure, whole_item
from .model import Action, Kind, Write, key_texts

_MOST = 10_000
_VERBS: Mapping[str, Kind] = {
    "put": "Put",
    "insert": "Put",
    "update": "Update",
    "delete": "Delete",
    "check": "ConditionCheck",
}


class Form(msgspec.Struct, frozen=True):
    """What all writes of a form have in common."""

    constant: Mapping[str, Any]
    """Their parameters, beside the key or the item, and the values."""
    failure: Failure
    placeholders: tuple[str, ...] = ()


def formed(schema: Schema, write: Write, otherwise: Callable[[Schema, Write], Action]) -> Action:
    """The action on the own item of an entity without patterns: as `otherwise` makes it, only quicker.

    It makes the first of a form, and all that have none: those with conditions, or whose keys change.
    """
    kind = _VERBS.get(write.verb)
    if kind is None or write.absent or write.where is not None or write.was is not None:
        return otherwise(schema, write)
    if kind == "Put":
        if write.verb == "put" and write.entity.unknown == "keep":
            return otherwise(schema, write)
        return _put(schema, write, otherwise)
    if len(write.values) != len(write.entity.base.attributes):
        return otherwise(schema, write)
    codec = write.entity.codec
    changes = write.changes
    shape: list[Any] = [kind, codec]
    given: list[tuple[str, Any]] = []
    for at, value in changes.sets.items():
        if type(at) is not str:  # a place inside an attribute, or beside those of the class
            return otherwise(schema, write)
        if not isinstance(value, Computed):
            shape.append(at)
            given.append((at, value))
        elif type(value) is Sum and not value.from_zero and value.path == (at,):
            shape.append(value.sign + at)
            given.append((at, value.amount))
        else:
            return otherwise(schema, write)
    form = schema.shapes.get(of := tuple(shape))
    if form is None or changes.adds or changes.removes or changes.deletes:
        made = otherwise(schema, write)
        if form is None and _is_form(write, made, len(given)) and len(schema.shapes) < _MOST:
            same = {name: said for name, said in made.parameters.items() if name not in _DIFFERENT}
            schema.shapes[of] = Form(same, made.failure, tuple(made.parameters.get(_VALUES, ())))
        return made
    key = schema.written(write.entity.base, write.values)
    parameters = {"Key": key, **form.constant}
    if given:
        encode = codec.encode_value
        parameters[_VALUES] = {
            placeholder: encode(at, value) for placeholder, (at, value) in zip(form.placeholders, given, strict=True)
        }
    return Action(kind, parameters, key_texts(key), write, form.failure)


def _put(schema: Schema, write: Write, otherwise: Callable[[Schema, Write], Action]) -> Action:
    form = schema.shapes.get(of := (write.verb, write.entity.codec))
    if form is None:
        made = otherwise(schema, write)
        same = {name: said for name, said in made.parameters.items() if name != "Item"}
        schema.shapes[of] = Form(same, made.failure)
        return made
    item, key = whole_item(schema, write)
    return Action("Put", {"Item": item, **form.constant}, key_texts(key), write, form.failure)


_VALUES = "ExpressionAttributeValues"
_DIFFERENT = frozenset({"Key", _VALUES})


def _is_form(write: Write, made: Action, given: int) -> bool:
    """Whether another write that sets the same attributes is the same but for its key and values, in this order."""
    changes = write.changes
    if changes.adds or changes.removes or changes.deletes or len(made.parameters.get(_VALUES, ())) != given:
        return False
    # The keys of an index are made of values, and an item may leave it for one and enter it for another.
    return all(changes.whole.isdisjoint(facet.placing) for facet in write.entity.indexes.values())
