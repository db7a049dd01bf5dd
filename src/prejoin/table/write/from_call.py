"""What a call that writes means: its arguments, checked, as a `Write`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from prejoin.table.client.writes import UNSAID, Back
from prejoin.table.condition.record import Where, recorded
from prejoin.table.errors import TableError
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes, checked

from .model import Write

E = TypeVar("E")

_OPTIONS = ("where", "read", "returning", "upsert")


def insertion(schema: Schema, record: Any) -> Write:
    entity = schema.entity(type(record))
    return meant(Write("insert", entity, _values(schema, entity, record)))


def replacement(schema: Schema, record: E, was: E | None, where: Where[E] | None, read: bool) -> Write:
    entity = schema.entity(type(record))
    before = None if was is None else _values(schema, entity, was)
    if read and was is not None:
        raise TableError("was= says what is there, and read=True reads it: give one of them")
    if entity.unknown == "refuse" and not read:
        raise TableError(
            f"a put of {entity.tag} replaces the whole item, also attributes of it that {entity.tag} does not know: "
            "update the item instead, or give read=True, and it is put if there are none"
        )
    condition = recorded(where, entity.codec)
    return meant(Write("put", entity, _values(schema, entity, record), before, where=condition, read=read))


def modification(
    schema: Schema,
    cls: type[E],
    changes: Changes,
    where: Where[E] | None,
    known: Mapping[str, Any],
    read: bool,
    returning: Back,
    upsert: bool,
) -> Write:
    entity, known = known_of(schema, cls, known, where, read, returning, upsert)
    if upsert and len(known) > len(entity.base.attributes):
        more = ", ".join(name for name in known if name not in entity.base.attributes)
        raise TableError(
            f"an upsert is told the key of {entity.tag} and no more, for there may be no item of which {more} could be "
            "known: set it, or use where="
        )
    if schema.fence is not None:
        schema.fence.stays(changes.names)
    write = Write(
        "upsert" if upsert else "update",
        entity,
        known,
        None,
        checked(entity, changes, moves=bool(read) and not upsert),
        recorded(where, entity.codec),
        returning or "",
        bool(read),
    )
    return meant(write)


def condition(schema: Schema, cls: type[E], where: Where[E] | None, known: Mapping[str, Any]) -> Write:
    entity, known = known_of(schema, cls, known, where)
    return Write("check", entity, known, where=recorded(where, entity.codec))


def absence(schema: Schema, cls: type[E], known: Mapping[str, Any]) -> Write:
    entity, known = known_of(schema, cls, known)
    if len(known) > len(entity.base.attributes):
        more = ", ".join(name for name in known if name not in entity.base.attributes)
        raise TableError(f"check_absent takes the key of {entity.tag} and no more: leave out {more}")
    return Write("check", entity, known, absent=True)


def deletion(
    schema: Schema,
    cls: type[E],
    where: Where[E] | None,
    known: Mapping[str, Any],
    read: bool,
    returning: Literal["old"] | None,
) -> Write:
    entity, known = known_of(schema, cls, known, where, read, returning)
    condition = recorded(where, entity.codec)
    return meant(Write("delete", entity, known, where=condition, returning=returning or "", read=bool(read)))


def as_written(write: Write, record: E) -> E:
    """The object as it is in the table: another one, where patterns changed it."""
    if not write.entity.patterns or all(value is getattr(record, name) for name, value in write.values.items()):
        return record
    codec = write.entity.codec
    return cast("E", codec.decode(codec.encode_values(write.values)))


def meant(write: Write) -> Write:
    """The write that is done where this is said: patterns may keep attributes of their own."""
    for pattern in write.entity.patterns:
        write = pattern.rewrite(write)
    return write


def _values(schema: Schema, entity: Bound[Any], record: Any) -> Mapping[str, Any]:
    """The attributes of an object, if it is one that the client may write."""
    values = entity.codec.values(record)
    return values if schema.fence is None else schema.fence.filled(values, entity)


def known_of(
    schema: Schema, cls: type[E], known: Mapping[str, Any], *options: Any
) -> tuple[Bound[E], Mapping[str, Any]]:
    """The entity and what is known, if that are attributes of its own, and the options cannot be meant as such."""
    entity = schema.entity(cls)
    attributes = entity.codec.attributes
    if not known.keys() <= attributes.keys():
        for name in known:
            entity.codec.attribute(name)
    if not attributes.keys().isdisjoint(_OPTIONS):
        for name, option in zip(_OPTIONS, options, strict=False):
            if name in attributes and option is not None and option is not UNSAID:
                raise TableError(
                    f"{entity.tag} has an attribute {name}, and {name}= is an option as well: call it something else "
                    f"in the class, and give names= what it is called in the table"
                )
    return entity, known if schema.fence is None else schema.fence.filled(known, entity)
