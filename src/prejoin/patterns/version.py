"""Optimistic locking: a number that each write counts up, so that nobody overwrites what he has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, Or, both
from prejoin.table.errors import ConditionFailed, SchemaError, TableError, VersionConflict
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.update.changes import Changes
from prejoin.table.write.model import Write
from prejoin.types import Kind


@dataclass(frozen=True)
class Version(Pattern):
    """An attribute that holds how often an item was written.

    An insert writes 1. A put is of the version that its object has: if that is not the stored one any more, it is a
    VersionConflict; else the next is written, and returned. An update counts up; give the version among what is known
    (`db.update(Order, order_id="7", version=3)`), and it is checked. So with a delete.

    Cost: none; a write that comes too late costs what it would have written.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client, Entity, Key, Schema
    >>> @dataclass
    ... class Note:
    ...     note_id: str
    ...     text: str
    ...     version: int = 0
    >>> schema = Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[Version("version")]))
    >>> db = Client(schema, "notes", Embedded())
    >>> db.create_table()
    >>> mine = db.insert(Note("1", "first"))
    >>> db.put(Note("1", "second", mine.version))
    Note(note_id='1', text='second', version=2)
    >>> db.put(Note("1", "late", mine.version))
    Traceback (most recent call last):
    prejoin.VersionConflict: Note note_id='1' has version 2, not 1: it was written meanwhile; read it again
    """

    attribute: str = "version"

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        found = entity.codec.attribute(self.attribute)
        if found.type.kind is not Kind.INTEGER:
            raise SchemaError(f"{entity.tag}.{self.attribute} is to be its version, and is not an integer")
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{entity.tag}.{self.attribute} is to be its version, and its key never changes")
        return _Versioned(self.attribute)


@dataclass(frozen=True)
class _Versioned(BoundPattern):
    attribute: str

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert":
                return replace(write, values={**write.values, self.attribute: 1})
            case "put":
                seen = write.values[self.attribute] or 0
                where = both(write.where, self._is(seen, write.entity))
                return replace(write, values={**write.values, self.attribute: seen + 1}, where=where)
            case "update" | "upsert":
                changes = write.changes
                if self.attribute in changes.names:
                    raise TableError(
                        f"{self.attribute} of {write.entity.tag} is counted by each write: do not change it"
                    )
                counted = Changes(changes.sets, {**changes.adds, self.attribute: 1}, changes.removes, changes.deletes)
                return replace(write, changes=counted)
            case _:
                return write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        if write.verb == "put":
            seen = write.values[self.attribute] - 1
        elif self.attribute in write.asserted:
            seen = write.values[self.attribute]
        else:
            return None
        attribute = write.entity.codec.attribute(self.attribute)
        found = (item or {}).get(attribute.wire)
        stored = 0 if found is None else attribute.value.decode(found)
        if stored == seen:
            return None
        key = ", ".join(f"{name}={write.values.get(name)!r}" for name in write.entity.base.attributes)
        if item is None:
            return VersionConflict(f"{write.entity.tag} {key} is not there any more, and was to have version {seen}")
        return VersionConflict(
            f"{write.entity.tag} {key} has version {stored}, not {seen}: it was written meanwhile; read it again"
        )

    def _is(self, seen: int, entity: Bound[Any]) -> Condition:
        if seen:
            return Compare((self.attribute,), "=", seen)
        # An object that was never written is one that is not there, or that is from before there were versions.
        new = Exists((self.attribute,), present=False)
        vacant = entity.vacant()
        return Or((new, *vacant)) if vacant else new
