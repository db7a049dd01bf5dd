"""Upserts: one UpdateItem that changes an item, or creates it as an insert of these values would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.keys import TABLE, Facet
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
    new = new_values(write)
    to = Placeholders()
    sets = [f"{to.name(schema.type_attribute)} = {to.text(entity.tag)}"]
    removes: list[str] = []
    for facet in entity.indexes.values():
        _index(schema, write, facet, new, to, sets, removes)
    base = {name: new[name] for name in entity.base.attributes}
    # An update cannot set an attribute that is a key of the table.
    itself = schema.keys(TABLE).names
    key = {name: value for name, value in base.items() if entity.codec.attribute(name).wire not in itself}
    # Defaults of the class are set if the attribute is absent, as by an insert.
    names = write.changes.names
    rest = {
        name: First((name,), value)
        for name, value in new.items()
        if name not in names and name not in base and not _absent(value)
    }
    changed = write.changes
    changes = Changes({**key, **changed.sets, **rest}, changed.adds, changed.removes, changed.deletes)
    body = {"UpdateExpression": expression(write, changes, to, sets, removes)}
    text = condition(schema, write, to)
    if write.if_stored is not None:
        fulfilled = f"({absent(schema, to)} OR {render_part(write.if_stored, entity.codec, to)})"
        text = f"({text}) AND {fulfilled}" if text else fulfilled
    return action("Update", schema.facet_key(entity.base, write.values), body, text, to, write, condition_error)


def new_values(write: Write) -> dict[str, Any]:
    """Return all attributes of the item that an upsert creates: its values, and the defaults of the class."""
    entity, changes = write.entity, write.changes
    codec = entity.codec
    given: dict[str, Any] = dict(write.values)
    for at in changes.all:
        if not isinstance(at, str):
            raise TableError(
                f"an upsert of {entity.tag} cannot change a part of {at[0]}, which may be absent. Set all of it"
            )
    for name, value in changes.sets.items():
        given[str(name)] = _initial(write, str(name), value)
    given.update({str(name): amount for name, amount in changes.adds.items()})
    given.update({str(name): None for name in changes.removes})
    missing = [
        attribute.name
        for attribute in codec.attributes.values()
        if attribute.required
        and not attribute.optional
        and attribute.type.kind is not Kind.SET
        and attribute.name not in given
    ]
    if missing:
        raise UnknownValue(
            f"an upsert of {entity.tag} may create an item, which needs {', '.join(missing)}. Set it, or set it only "
            "for a new item with if_absent()"
        )
    item = codec.encode_values({name: value for name, value in given.items() if value is not None})
    return codec.values(codec.decode(item))


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


def _index(
    schema: Schema,
    write: Write,
    facet: Facet,
    new: Mapping[str, Any],
    to: Placeholders,
    sets: list[str],
    removes: list[str],
) -> None:
    """Add the clauses for the keys of one index, for an existing and for a new item."""
    base = set(write.entity.base.attributes)
    changed_names = write.changes.names
    sure = base | (write.changes.replaced - write.changes.unknown)
    keys = schema.template_keys(facet)
    if facet.when:
        names = set(facet.placing) - base
        if names <= sure and facet.has(new):
            sets += [
                f"{to.name(name)} = {to.value(json)}"
                for name, json in schema.facet_key(facet, new).items()
                if name in keys.names
            ]
        elif names <= sure:
            removes += [to.name(name) for name in keys.names]
        elif names & changed_names or facet.has(new):
            raise _refusal(write, facet, names - sure)
        return
    for form, physical, build in ((facet.pk, keys.pk, facet.pk_of), (facet.sk, keys.sk, facet.sk_of)):
        built = build(new) if physical else None
        if form is None or built is None:
            continue
        json = key_json(physical, built)
        names = set(form.attributes) - base
        if names <= sure:
            sets += [f"{to.name(name)} = {to.value(value)}" for name, value in json.items()]
        elif not names & sure and all(_unchanged(write, name) for name in names):
            # An existing item keeps these attributes, and so its key.
            sets += [
                f"{to.name(name)} = if_not_exists({to.name(name)}, {to.value(value)})" for name, value in json.items()
            ]
        else:
            raise _refusal(write, facet, names - sure)


def _unchanged(write: Write, name: str) -> bool:
    return name not in write.changes.names or isinstance(write.changes.sets.get(name), First)


def _refusal(write: Write, facet: Facet, names: set[str]) -> UnknownValue:
    return UnknownValue(
        f"this upsert of {write.entity.tag} does not set {', '.join(sorted(names))} to a value, and its key in "
        f"{facet.slot} ({facet.pk}{f' / {facet.sk}' if facet.sk else ''}) depends on it. Set it, or {_READ}"
    )


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, set | frozenset) and not value)
