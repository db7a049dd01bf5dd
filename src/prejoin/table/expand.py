"""What else a write has to write: copies and the guards of unique attributes, each an expansion of the write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .actions import delete_item, main_action, put_other, update_item
from .bind import BoundCopy, Guard
from .errors import ConditionFailed, NotUnique, UnknownValue
from .render import Placeholders
from .schema import Schema
from .values import Json
from .writes import Action, Expansion, Write


def expand(schema: Schema, write: Write) -> list[Action]:
    """All actions of a write. The entity's own item comes first, so that its failure is the one told."""
    actions = [main_action(schema, write)]
    for expansion in EXPANSIONS:
        actions += expansion(schema, write)
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
                if _member(write, copy, write.values):
                    yield delete_item(schema, write, copy.facet, write.values)


def _put_copy(schema: Schema, write: Write, copy: BoundCopy) -> Iterator[Action]:
    facet = copy.facet
    before = write.was
    if write.verb == "put" and before is None:
        mutable = {*facet.attributes, *(when.attribute for when in facet.when)} - set(write.entity.base.attributes)
        if mutable:
            raise UnknownValue(
                f"a put of {write.entity.tag} may replace an item whose copy {facet.copy} is elsewhere, for that is "
                f"placed by {', '.join(sorted(mutable))}: give was= the item it replaces, or insert or update"
            )
    now = facet.key(write.values) if facet.has(write.values) else None
    if before is not None and facet.has(before) and facet.key(before) != now:
        yield delete_item(schema, write, facet, before)
    if now is not None:
        yield _whole_copy(schema, write, copy)


def _whole_copy(schema: Schema, write: Write, copy: BoundCopy) -> Action:
    codec = write.entity.codec
    item: Json = codec.encode_values({name: write.values[name] for name in codec.attributes if name in copy.attributes})
    item[schema.type_attribute] = {"S": copy.tag}
    item |= schema.written(copy.facet, write.values)
    to = Placeholders()
    condition = f"attribute_not_exists({to.name(schema.physical(copy.facet.slot)[0])})"
    if write.verb == "put":
        # Its own copy may be replaced, that of another item may not.
        own = [
            f"{to.name(codec.attribute(name).wire)} = {to.value(codec.encode_value(name, write.values[name]))}"
            for name in write.entity.base.attributes
        ]
        condition += f" OR ({' AND '.join(own)})" if own else ""

    def failure(_: Mapping[str, Any] | None) -> ConditionFailed:
        return NotUnique(f"the copy {copy.facet.copy} of another {write.entity.tag} has the same key")

    return put_other(schema, item, condition, to, copy.facet, failure)


def _update_copy(schema: Schema, write: Write, copy: BoundCopy) -> Iterator[Action]:
    facet = copy.facet
    placed = {*facet.attributes, *(when.attribute for when in facet.when)} & write.changes.names
    if placed:
        raise UnknownValue(
            f"{', '.join(sorted(placed))} decides where the copy {facet.copy} of {write.entity.tag} is, so an update "
            "would have to move it: put the whole item, with was= the old one"
        )
    changes = write.changes.only(copy.attributes)
    if changes.names and _member(write, copy, write.values):
        yield update_item(schema, write, facet, write.values, changes, {}, ())


def _member(write: Write, copy: BoundCopy, known: Mapping[str, Any]) -> bool:
    facet = copy.facet
    write.need(
        (*facet.attributes, *(when.attribute for when in facet.when)), known, f"the key of its copy {facet.copy}"
    )
    return facet.has(known)


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
                        "which would stay taken: give was= the item it replaces, or insert or update"
                    )
                yield from _exchange(schema, write, guard, write.was, write.values)
            case "update":
                if write.changes.names & set(guard.attributes):
                    after = write.changes.after(write.values)
                    what = f"the guard of unique {', '.join(guard.attributes)}"
                    write.need(guard.attributes, write.values, what)
                    write.need(guard.attributes, after, what)
                    yield from _exchange(schema, write, guard, write.values, after)
            case "delete":
                write.need(guard.attributes, write.values, f"the guard of unique {', '.join(guard.attributes)}")
                yield from _release(schema, write, guard, write.values)


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
    condition = f"attribute_not_exists({to.name(schema.physical(guard.facet.slot)[0])})"
    said = ", ".join(f"{name} {values[name]!r}" for name in guard.attributes)

    def failure(_: Mapping[str, Any] | None) -> ConditionFailed:
        return NotUnique(f"another {write.entity.tag} has {said} already")

    yield put_other(schema, item, condition, to, guard.facet, failure)


def _release(schema: Schema, write: Write, guard: Guard, values: Mapping[str, Any]) -> Iterator[Action]:
    if all(values.get(name) is not None for name in guard.attributes):
        yield delete_item(schema, write, guard.facet, values)


EXPANSIONS: Iterable[Expansion] = (copies, unique)
