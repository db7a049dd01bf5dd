"""Optimistic locking: a version number that each write increments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Compare, Condition, Exists, Or, both
from prejoin.table.errors import ConditionFailed, SchemaError, TableError, VersionConflict
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.update.changes import Changes
from prejoin.table.write.model import Write
from prejoin.types import Kind


@dataclass(frozen=True)
class Version(Pattern):
    """An attribute that holds the version of an item, for optimistic locking.

    An insert writes version 1. A put raises VersionConflict if the stored version is not that of its object; else it
    writes, and returns, the next version. An update increments the version; pass the version
    (`db.update(Order, order_id="7", version=3)`) to check it. A delete checks it in the same way.

    Cost: nothing more. A write that fails costs as much as one that succeeds.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
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
    prejoin.VersionConflict: Note note_id='1' has version 2, not 1: it was written since. Read it again
    """

    attribute: str = "version"

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        attribute = entity.codec.attribute(self.attribute)
        if attribute.type.kind is not Kind.INTEGER:
            raise SchemaError(f"{entity.tag}.{self.attribute} is its version, and must be an int")
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{entity.tag}.{self.attribute} is its version, and cannot be part of its key")
        return VersionPattern(self.attribute)


@dataclass(frozen=True)
class VersionPattern(BoundPattern):
    attribute: str

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert":
                return replace(write, values={**write.values, self.attribute: 1})
            case "put":
                read_version = write.values[self.attribute] or 0
                version_condition = both(write.where, self._has_version(read_version, write.entity))
                return replace(
                    write, values={**write.values, self.attribute: read_version + 1}, where=version_condition
                )
            case "update" | "upsert":
                changes = write.changes
                if self.attribute in changes.names:
                    raise TableError(
                        f"{write.entity.tag}.{self.attribute} is the version, which each write increments. Do not "
                        "change it"
                    )
                versioned_changes = Changes(
                    changes.sets, {**changes.adds, self.attribute: 1}, changes.removes, changes.deletes
                )
                return replace(write, changes=versioned_changes)
            case _:
                return write

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        if write.verb == "put":
            expected_version = write.values[self.attribute] - 1
        elif self.attribute in write.asserted:
            expected_version = write.values[self.attribute]
        else:
            return None
        attribute = write.entity.codec.attribute(self.attribute)
        json = (item or {}).get(attribute.wire)
        stored_version = 0 if json is None else attribute.value.decode(json)
        if stored_version == expected_version:
            return None
        key = ", ".join(f"{name}={write.values.get(name)!r}" for name in write.entity.base.attributes)
        if item is None:
            return VersionConflict(
                f"{write.entity.tag} {key} does not exist any more, and was expected with version {expected_version}"
            )
        return VersionConflict(
            f"{write.entity.tag} {key} has version {stored_version}, not {expected_version}: it was written since. "
            "Read it again"
        )

    def _has_version(self, read_version: int, entity: BoundEntity[Any]) -> Condition:
        if read_version:
            return Compare((self.attribute,), "=", read_version)
        # Version 0 is that of a new object, or of an item from before the entity had versions.
        has_none = Exists((self.attribute,), present=False)
        vacant = entity.vacant()
        return Or((has_none, *vacant)) if vacant else has_none
