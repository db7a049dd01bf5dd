"""All that a write has to write: the item itself, copies, the guards of unique attributes, and what patterns add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from .actions import check_item, delete_item, delete_other, put_item, put_other, update_item, update_other
from .bind import BoundCopy, Guard
from .errors import ConditionFailed, NotUnique, UnknownValue
from .render import Placeholders
from .schema import Schema
from .upserts import upsert_item
from .values import Json
from .writes import Action, Write

_OWN = {
    "insert": put_item,
    "put": put_item,
    "update": update_item,
    "upsert": upsert_item,
    "delete": delete_item,
    "check": check_item,
}


def expand(schema: Schema, write: Write) -> list[Action]:
    """All actions of a write. The entity's own item comes first, so that its failure is the one told."""
    entity = write.entity
    actions = [_OWN[write.verb](schema, write)]
    if entity.copies:
        actions += copies(schema, write)
    if entity.guards:
        actions += unique(schema, write)
    for pattern in entity.patterns:
        actions += pattern.expand(schema, write)
    return actions


def copies(schema: Schema, write: Write) -> Iterator[Action]:
    """The same write on every copy of the item, or a refusal."""
    for copy in write.entity.copies:
        match write.verb:
            case "insert" | "put":
                yield from _put_copy(schema, write, copy)
            case "update":
                yield from _update_copy(schema, write, copy)
            case "delete":
                if _member(write, copy, write.before):
                    yield delete_other(schema, write, copy.facet, write.before)


def _put_copy(schema: Schema, write: Write, copy: BoundCopy) -> Iterator[Action]:
    facet = copy.facet
    if write.verb == "put" and write.was is None:
        mutable = set(facet.placing) - set(write.entity.base.attributes)
        if mutable:
            raise UnknownValue(
                f"a put of {write.entity.tag} may replace an item whose copy {facet.copy} is elsewhere, for that is "
                f"placed by {', '.join(sorted(mutable))}: give was= the item it replaces, or read=True, or insert or "
                "update"
            )
    yield from _moved_copy(schema, write, copy, write.was, write.values)


def _moved_copy(
    schema: Schema, write: Write, copy: BoundCopy, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[Action]:
    """The copy written whole, and the one under the old key deleted."""
    facet = copy.facet
    now = facet.key(after) if facet.has(after) else None
    if before is not None and facet.has(before) and facet.key(before) != now:
        yield delete_other(schema, write, facet, before)
    if now is not None:
        yield _whole_copy(schema, write, copy, after)


def _whole_copy(schema: Schema, write: Write, copy: BoundCopy, values: Mapping[str, Any]) -> Action:
    entity = write.entity
    codec = entity.codec
    item: Json = codec.encode_values({name: values[name] for name in codec.attributes if name in copy.attributes})
    item[schema.type_attribute] = {"S": copy.tag}
    item |= schema.written(copy.facet, values)
    to = Placeholders()
    text = ""
    if not _its_own(write, copy):
        text = f"attribute_not_exists({to.name(schema.keys(copy.facet.slot).pk[0])})"
        if write.verb != "insert":
            # Its own copy may be replaced, that of another item may not.
            own = [
                f"{to.name(codec.attribute(name).wire)} = {to.value(codec.encode_value(name, values[name]))}"
                for name in entity.base.attributes
            ]
            text += f" OR ({' AND '.join(own)})" if own else ""
    return put_other(schema, write, item, text, to, copy.facet, partial(_other_copy, copy))


def _its_own(write: Write, copy: BoundCopy) -> bool:
    """Whether no other item can have a copy under this key, for all of the item's key is in it."""
    pk, sk = copy.facet.pk, copy.facet.sk
    kept = {found.attribute for found in (*pk.fields, *(sk.fields if sk else ())) if not found.encoding.derived}
    return kept.issuperset(write.entity.base.attributes)


def _other_copy(copy: BoundCopy, write: Write, _: Json | None) -> ConditionFailed:
    return NotUnique(f"the copy {copy.facet.copy} of another {write.entity.tag} has the same key")


def _update_copy(schema: Schema, write: Write, copy: BoundCopy) -> Iterator[Action]:
    facet = copy.facet
    placed = write.changes.whole.intersection(facet.placing)
    if placed and write.becomes is None:
        raise UnknownValue(
            f"{', '.join(sorted(placed))} decides where the copy {facet.copy} of {write.entity.tag} is, so an update "
            "would have to move it: give read=True, and the item is read first, or put the whole item, with was= the "
            "old one"
        )
    if placed and write.becomes is not None:
        yield from _moved_copy(schema, write, copy, write.before, write.becomes)
        return
    changes = write.changes.only(copy.attributes)
    if changes.all and _member(write, copy, write.before):
        yield update_other(schema, write, facet, write.before, changes)


def _member(write: Write, copy: BoundCopy, known: Mapping[str, Any]) -> bool:
    write.need(copy.facet.placing, known, f"the key of its copy {copy.facet.copy}")
    return copy.facet.has(known)


def unique(schema: Schema, write: Write) -> Iterator[Action]:
    """The guards of unique attributes: taken, released, or exchanged, in the same transaction."""
    for guard in write.entity.guards:
        match write.verb:
            case "insert":
                yield from _take(schema, write, guard, write.values)
            case "put":
                if write.was is None:
                    raise UnknownValue(
                        f"a put of {write.entity.tag} may replace an item with another {', '.join(guard.attributes)}, "
                        "which would stay taken: give was= the item it replaces, or read=True, or insert or update"
                    )
                yield from _exchange(schema, write, guard, write.was, write.values)
            case "update":
                if not write.changes.whole.isdisjoint(guard.attributes):
                    what = f"the guard of unique {', '.join(guard.attributes)}"
                    write.need(guard.attributes, write.before, what)
                    write.need(guard.attributes, write.after, what)
                    yield from _exchange(schema, write, guard, write.before, write.after)
            case "delete":
                write.need(guard.attributes, write.before, f"the guard of unique {', '.join(guard.attributes)}")
                yield from _release(schema, write, guard, write.before)


def _exchange(
    schema: Schema, write: Write, guard: Guard, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Action]:
    if any(before.get(name) != after.get(name) for name in guard.attributes):
        yield from _release(schema, write, guard, before)
        yield from _take(schema, write, guard, after)


def _take(schema: Schema, write: Write, guard: Guard, values: Mapping[str, Any]) -> Iterator[Action]:
    if any(values.get(name) is None for name in guard.attributes):
        return
    to = Placeholders()
    item: Json = schema.written(guard.facet, values) | {schema.type_attribute: {"S": guard.facet.entity}}
    text = f"attribute_not_exists({to.name(schema.keys(guard.facet.slot).pk[0])})"
    yield put_other(schema, write, item, text, to, guard.facet, partial(_taken, guard, values))


def _taken(guard: Guard, values: Mapping[str, Any], write: Write, _: Json | None) -> ConditionFailed:
    said = ", ".join(f"{name} {values[name]!r}" for name in guard.attributes)
    return NotUnique(f"another {write.entity.tag} has {said} already")


def _release(schema: Schema, write: Write, guard: Guard, values: Mapping[str, Any]) -> Iterator[Action]:
    if all(values.get(name) is not None for name in guard.attributes):
        yield delete_other(schema, write, guard.facet, values)
