"""An update that makes the item where there is none: then it is what an insert of these values would have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.keys import TABLE, Facet
from prejoin.table.condition.render import Placeholders
from prejoin.table.errors import TableError, UnknownValue
from prejoin.table.schema.key_attributes import written
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import Computed, First, Joined
from prejoin.types import Kind

from .actions import action, condition, expression, unmet
from .model import Action, Write

_READ = "give read=True, and the item is read first"


def upsert_item(schema: Schema, write: Write) -> Action:
    """One UpdateItem that is right for an item that is there and for one that is not, or a refusal."""
    entity = write.entity
    new = fresh(write)
    to = Placeholders()
    sets = [f"{to.name(schema.type_attribute)} = {to.text(entity.tag)}"]
    removes: list[str] = []
    for facet in entity.indexes.values():
        _index(schema, write, facet, new, to, sets, removes)
    base = {name: new[name] for name in entity.base.attributes}
    # An attribute that is a key of the table itself is not for an update to set.
    itself = schema.keys(TABLE).names
    key = {name: value for name, value in base.items() if entity.codec.attribute(name).wire not in itself}
    # What the class has a default for is written as an insert would; where it is there, it stays.
    said = write.changes.names
    rest = {
        name: First((name,), value)
        for name, value in new.items()
        if name not in said and name not in base and not _absent(value)
    }
    changed = write.changes
    changes = Changes({**key, **changed.sets, **rest}, changed.adds, changed.removes, changed.deletes)
    body = {"UpdateExpression": expression(write, changes, to, sets, removes)}
    text = condition(schema, write, to)
    return action("Update", schema.written(entity.base, write.values), body, text, to, write, unmet)


def fresh(write: Write) -> dict[str, Any]:
    """All attributes of the item that an upsert makes: what it says, and the defaults of the class."""
    entity, changes = write.entity, write.changes
    codec = entity.codec
    given: dict[str, Any] = dict(write.values)
    for at in changes.all:
        if not isinstance(at, str):
            raise TableError(
                f"an upsert of {entity.tag} cannot change a part of {at[0]}, which may not be there: set all of it"
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
            f"an upsert of {entity.tag} may make a new item, which needs {', '.join(missing)}: set it, or give it for "
            f"the first time with if_absent()"
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
                f"{name} may not be there yet, and what is not there cannot be changed by an amount: add() begins at 0"
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
    """The keys of one index, right in either case."""
    base = set(write.entity.base.attributes)
    said = write.changes.names
    sure = base | (write.changes.whole - write.changes.unknown)
    keys = schema.composed(facet)
    if facet.when:
        names = set(facet.placing) - base
        if names <= sure and facet.has(new):
            sets += [
                f"{to.name(name)} = {to.value(json)}"
                for name, json in schema.written(facet, new).items()
                if name in keys.names
            ]
        elif names <= sure:
            removes += [to.name(name) for name in keys.names]
        elif names & said or facet.has(new):
            raise _refusal(write, facet, names - sure)
        return
    for form, physical, build in ((facet.pk, keys.pk, facet.pk_of), (facet.sk, keys.sk, facet.sk_of)):
        built = build(new) if physical else None
        if form is None or built is None:
            continue
        json = written(physical, built)
        names = set(form.attributes) - base
        if names <= sure:
            sets += [f"{to.name(name)} = {to.value(value)}" for name, value in json.items()]
        elif not names & sure and all(_kept(write, name) for name in names):
            # What an item that is there has of these, it keeps; and so its key.
            sets += [
                f"{to.name(name)} = if_not_exists({to.name(name)}, {to.value(value)})" for name, value in json.items()
            ]
        else:
            raise _refusal(write, facet, names - sure)


def _kept(write: Write, name: str) -> bool:
    return name not in write.changes.names or isinstance(write.changes.sets.get(name), First)


def _refusal(write: Write, facet: Facet, names: set[str]) -> UnknownValue:
    return UnknownValue(
        f"this upsert of {write.entity.tag} does not set {', '.join(sorted(names))} to a value, and its key in "
        f"{facet.slot} ({facet.pk}{f' / {facet.sk}' if facet.sk else ''}) depends on that: set it, or {_READ}"
    )


def _absent(value: Any) -> bool:
    return value is None or (isinstance(value, set | frozenset) and not value)
