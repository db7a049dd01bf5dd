"""Timestamps: when an item was created, and when it was last written."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from prejoin.table.errors import SchemaError, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.update.changes import Changes
from prejoin.table.update.computed import First
from prejoin.table.write.model import Write
from prejoin.types import Kind

from .clock import Clock, now


@dataclass(frozen=True)
class Timestamps(Pattern):
    """Datetime attributes that hold when an item was created, and when it was last written; or only one of them.

    A put keeps the creation time of its object, if it has one. To import data with other times, use a schema without
    this pattern.

    Cost: nothing more, except for an index with `updated` in its key: each write moves the item there, for 2 write
    units more. The clock is that of the writing machine, so the clocks of two machines may differ.

    >>> Timestamps(created="created_at", updated=None)
    Timestamps(created='created_at', updated=None)
    """

    created: str | None = "created_at"
    updated: str | None = "updated_at"
    clock: Clock = now

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        for name in filter(None, (self.created, self.updated)):
            if entity.codec.attribute(name).type.kind is not Kind.DATETIME:
                raise SchemaError(f"{entity.tag}.{name} is a timestamp, and must be a datetime")
        if self.updated in entity.base.attributes:
            raise SchemaError(f"{entity.tag}.{self.updated} changes with each update, and cannot be part of its key")
        return _TimestampsPattern(self.created, self.updated, self.clock)

    def __repr__(self) -> str:
        return f"Timestamps(created={self.created!r}, updated={self.updated!r})"


@dataclass(frozen=True)
class _TimestampsPattern(BoundPattern):
    created: str | None
    updated: str | None
    clock: Clock

    def rewrite(self, write: Write) -> Write:
        match write.verb:
            case "insert" | "put":
                return replace(write, values={**write.values, **self._values(write)})
            case "update" | "upsert":
                return replace(write, changes=self._changes(write))
            case _:
                return write

    def _values(self, write: Write) -> dict[str, datetime]:
        time = self.clock()
        times = {} if self.updated is None else {self.updated: time}
        if self.created is not None and (write.verb == "insert" or write.values.get(self.created) is None):
            times[self.created] = time
        return times

    def _changes(self, write: Write) -> Changes:
        changes, time = write.changes, self.clock()
        for name in filter(None, (self.created, self.updated)):
            if name in changes.names:
                raise TableError(f"{write.entity.tag}.{name} is maintained by Timestamps. Do not change it")
        sets: dict[Any, Any] = dict(changes.sets)
        if self.updated is not None:
            sets[self.updated] = time
        if self.created is not None and write.verb == "upsert" and self.created not in write.values:
            sets[self.created] = First((self.created,), time)
        return Changes(sets, changes.adds, changes.removes, changes.deletes)
