"""Upserts: one UpdateItem that changes an item, or creates it as an insert of these values would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.keys import TABLE, Facet, KeyForm
from prejoin.table.codec.codec import AttributeCodec
from prejoin.table.codec.values import Json
from prejoin.table.condition.render import Placeholders, render_part
from prejoin.table.errors import TableError, UnknownValue
from prejoin.table.schema.key_attributes import key_json
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import Computed, First, Joined
from prejoin.types import Kind

from .actions import absent, action, condition, condition_error, expression
from .model import ItemAction, Write

_READ = "pass read=True to read the item first"


def upsert_item(schema: Schema, write: Write) -> ItemAction:
    """Return an update that is right for an existing and for a missing item; raise UnknownValue if there is none."""
    entity = write.entity
    initial_values = new_values(write)
    placeholders = Placeholders()
    sets = [f"{placeholders.name(schema.type_attribute)} = {placeholders.text(entity.tag)}"]
    removes: list[str] = []
    for facet in entity.indexes.values():
        _add_index_clauses(schema, write, facet, initial_values, placeholders, sets, removes)
    base = {name: initial_values[name] for name in entity.base.attributes}
    # An update cannot set an attribute that is a key of the table.
    table_keys = schema.keys(TABLE).names
    key = {name: value for name, value in base.items() if entity.codec.attribute(name).wire not in table_keys}
    # Defaults of the class are set if the attribute is absent, as by an insert.
    assigned_names = write.changes.names.union(base)
    defaults: dict[str, First] = {}
    for name, value in initial_values.items():
        if name not in assigned_names and not _is_absent(value):
            defaults[name] = First((name,), value)
    requested_changes = write.changes
    changes = Changes(
        {**key, **requested_changes.sets, **defaults},
        requested_changes.adds,
        requested_changes.removes,
        requested_changes.deletes,
    )
    body = {"UpdateExpression": expression(write, changes, placeholders, sets, removes)}
    text = condition(schema, write, placeholders)
    if write.if_stored is not None:
        requirement = f"({absent(schema, placeholders)} OR {render_part(write.if_stored, entity.codec, placeholders)})"
        text = f"({text}) AND {requirement}" if text else requirement
    return action(
        "Update", schema.facet_key(entity.base, write.values), body, text, placeholders, write, condition_error
    )


def new_values(write: Write) -> dict[str, Any]:
    """Return all attributes of the item that an upsert creates: its values, and the defaults of the class."""
    entity, changes = write.entity, write.changes
    codec = entity.codec
    values: dict[str, Any] = dict(write.values)
    for at in changes.all:
        if not isinstance(at, str):
            raise TableError(
                f"an upsert of {entity.tag} cannot change a part of {at[0]}, which may be absent. Set all of it"
            )
    for name, value in changes.sets.items():
        values[str(name)] = _initial(write, str(name), value)
    values.update({str(name): amount for name, amount in changes.adds.items()})
    values.update({str(name): None for name in changes.removes})
    missing = [attribute.name for attribute in codec.attributes.values() if _is_lacking(attribute, values)]
    if missing:
        raise UnknownValue(
            f"an upsert of {entity.tag} may create an item, which needs {', '.join(missing)}. Set it, or set it only "
            "for a new item with if_absent()"
        )
    item = codec.encode_values({name: value for name, value in values.items() if value is not None})
    return codec.values(codec.decode(item))


def _is_lacking(attribute: AttributeCodec, values: Mapping[str, Any]) -> bool:
    """Return whether an attribute has no value here, and neither a default nor a form in which it is absent."""
    may_be_absent = not attribute.required or attribute.optional or attribute.type.kind is Kind.SET
    return not may_be_absent and attribute.name not in values


def _initial(write: Write, name: str, value: Any) -> Any:
    match value:
        case First(_, first):
            return first
        case Joined(_, elements):
            return elements
        case Computed():
            raise TableError(
                f"{name} may be absent, so it cannot be changed by an amount. Use add(), which begins at 0"
            )
        case _:
            return value


def _add_index_clauses(
    schema: Schema,
    write: Write,
    facet: Facet,
    initial_values: Mapping[str, Any],
    placeholders: Placeholders,
    sets: list[str],
    removes: list[str],
) -> None:
    """Add the clauses for the keys of one index, for an existing and for a new item."""
    keys = schema.template_keys(facet)
    certain_names = _certain_names(write)
    if facet.when:
        names = set(facet.placing) - set(write.entity.base.attributes)
        is_member = facet.has(initial_values)
        if not names <= certain_names:
            if names & write.changes.names or is_member:
                raise _refusal(write, facet, names - certain_names)
        elif is_member:
            key = schema.facet_key(facet, initial_values)
            sets += [
                f"{placeholders.name(name)} = {placeholders.value(value)}"
                for name, value in key.items()
                if name in keys.names
            ]
        else:
            removes += [placeholders.name(name) for name in keys.names]
        return
    for form, physical, build in ((facet.pk, keys.pk, facet.pk_of), (facet.sk, keys.sk, facet.sk_of)):
        key_value = build(initial_values) if physical else None
        if form is not None and key_value is not None:
            _add_key_clauses(write, facet, form, key_json(physical, key_value), placeholders, sets)


def _add_key_clauses(
    write: Write, facet: Facet, form: KeyForm, key: Json, placeholders: Placeholders, sets: list[str]
) -> None:
    """Add the clauses for the partition key or the sort key of an index."""
    certain_names = _certain_names(write)
    names = set(form.attributes) - set(write.entity.base.attributes)
    if names <= certain_names:
        sets += [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in key.items()]
    elif not names & certain_names and all(_keeps_stored_value(write, name) for name in names):
        # An existing item keeps these attributes, and so its key.
        for name, value in key.items():
            placeholder = placeholders.name(name)
            sets.append(f"{placeholder} = if_not_exists({placeholder}, {placeholders.value(value)})")
    else:
        raise _refusal(write, facet, names - certain_names)


def _certain_names(write: Write) -> frozenset[str]:
    """Return the attributes whose values after an upsert are known, whether the item exists or not."""
    return (write.changes.replaced - write.changes.unknown).union(write.entity.base.attributes)


def _keeps_stored_value(write: Write, name: str) -> bool:
    return name not in write.changes.names or isinstance(write.changes.sets.get(name), First)


def _refusal(write: Write, facet: Facet, names: set[str]) -> UnknownValue:
    return UnknownValue(
        f"this upsert of {write.entity.tag} does not set {', '.join(sorted(names))} to a value, and its key in "
        f"{facet.slot} ({facet.pk}{f' / {facet.sk}' if facet.sk else ''}) depends on it. Set it, or {_READ}"
    )


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, set | frozenset) and not value)
