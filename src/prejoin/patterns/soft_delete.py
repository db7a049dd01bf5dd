"""Deletes that can be taken back: an item is marked and hidden, and stays until it is purged or its time has come."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, overload

from msgspec.structs import replace

from prejoin.table.client.writes import Writer
from prejoin.table.codec.values import Json
from prejoin.table.condition.record import Exists
from prejoin.table.errors import AlreadyExists, ConditionFailed, NotFound, SchemaError, TableError
from prejoin.table.schema.bind import Bound
from prejoin.table.schema.pattern import BoundPattern, Lifecycle, Pattern, Visibility
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.actions import item_name
from prejoin.table.write.from_call import check_known, rewrite
from prejoin.table.write.model import Write
from prejoin.types import Kind

from .clock import Clock, now
from .ttl import _Ending

if TYPE_CHECKING:
    from prejoin.table.client.async_writes import AsyncWriter


@dataclass(frozen=True)
class SoftDelete(Pattern):
    """An optional attribute, of type datetime, that says when an item was deleted: `delete` sets it.

    Reads do not show what is deleted, an update does not find it, an insert refuses to replace it; `put` writes over
    it. `restore(db, Order, order_id="7")` takes the delete back, `purge(db, Order, order_id="7")` makes it final. A
    delete of what is not there, or not any more, is NotFound: there is nothing to mark.

    Its unique values stay taken, so that a restore always succeeds; with `release`, a delete frees them and a restore
    takes them again, or fails. With `keep`, and TimeToLive beside it, DynamoDB removes what was deleted so long ago.

    Cost: a delete is an update, 1 write unit for an item up to 1 KB; restore and purge read the item first. A read
    pays for what is deleted, as for all that a filter leaves out.

    >>> from dataclasses import dataclass
    >>> from datetime import datetime
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Client, Entity, Key
    >>> @dataclass
    ... class Note:
    ...     note_id: str
    ...     deleted_at: datetime | None = None
    >>> schema = Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[SoftDelete("deleted_at")]))
    >>> db = Client(schema, "notes", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(Note("1"))
    >>> db.delete(Note, note_id="1")
    >>> print(db.get(Note, note_id="1"))
    None
    >>> restore(db, Note, note_id="1")
    >>> db.get(Note, note_id="1")
    Note(note_id='1', deleted_at=None)
    """

    attribute: str = "deleted_at"
    keep: timedelta | None = None
    release: bool = False
    clock: Clock = now

    @property
    def lifecycle(self) -> Lifecycle:
        return Lifecycle(self.attribute, "marked", frees_unique=self.release)

    def bind(self, entity: Bound[Any]) -> BoundPattern:
        what = f"{entity.tag}.{self.attribute}"
        found = entity.codec.attribute(self.attribute)
        if found.type.kind is not Kind.DATETIME or not found.optional:
            raise SchemaError(f"{what} is to be when an item was deleted, and is not datetime | None")
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{what} is to be when an item was deleted, and its key never changes")
        if sum(one.end == "marked" for one in entity.lifecycles) > 1:
            raise SchemaError(f"{entity.tag} is to be deleted softly in two ways: leave one")
        expires = entity.expiry
        if self.keep is not None and (not expires or not entity.codec.attribute(expires).optional):
            raise SchemaError(
                f"{entity.tag} is to be kept for a time when it is deleted, and has no attribute that says until when: "
                "declare TimeToLive beside SoftDelete, of an attribute that may be None"
            )
        return _Marked(self.attribute, self.keep, self.clock, expires if self.keep is not None else "")


@dataclass(frozen=True)
class _Marked(BoundPattern):
    attribute: str
    keep: timedelta | None
    clock: Clock
    expires: str

    def rewrite(self, write: Write) -> Write:
        if not write.seen:  # restore and purge
            return write
        match write.verb:
            case "insert" | "put" if write.values.get(self.attribute) is not None:
                raise self._kept(write)
            case "update" | "upsert" if self.attribute in write.changes.names:
                raise self._kept(write)
            case "delete":
                return replace(write, verb="update", changes=Changes(self._marks(write)))
            case _:
                return write

    def _marks(self, write: Write) -> dict[str, datetime | int]:
        time = self.clock()
        if self.keep is None:
            return {self.attribute: time}
        end = next(one for one in write.entity.patterns if isinstance(one, _Ending))
        return {self.attribute: time, self.expires: end.value(time + self.keep)}

    def _kept(self, write: Write) -> TableError:
        return TableError(
            f"{self.attribute} of {write.entity.tag} is kept by SoftDelete: delete() sets it, and restore() removes it"
        )

    def depends(self, write: Write) -> Iterable[str]:
        """Whether it is deleted decides what other patterns do: who takes it back does so of what they read."""
        return () if write.seen else (self.attribute,)

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        deleted = bool(item) and write.entity.codec.attribute(self.attribute).wire in (item or {})
        if not write.seen:
            return None if deleted else NotFound(f"there is no deleted {item_name(write)}")
        if not deleted or write.verb == "put":  # which writes over what is there, deleted or not
            return None
        if write.verb in ("insert", "upsert"):
            return AlreadyExists(f"{item_name(write)} was deleted, and can be restored: restore() or purge() it first")
        return NotFound(f"there is no {item_name(write)}: it was deleted, and can be restored")

    def visibility(self) -> Visibility:
        return Visibility(Exists((self.attribute,), present=False))


@overload
def restore(db: Writer, cls: type[Any], /, **key: Any) -> None: ...
@overload
def restore(db: AsyncWriter, cls: type[Any], /, **key: Any) -> Awaitable[None]: ...
def restore(db: Any, cls: type[Any], /, **key: Any) -> Awaitable[None] | None:
    """Takes a delete back: of a client at once, in a transaction with its other writes. NotFound if none was deleted.

    An attribute that says when the item ends is as of an item that is inserted now.
    """
    entity, mark, known = _marked(db.schema, cls, key)
    changes = Changes(removes=frozenset({mark.attribute}))
    if mark.expires:
        end = next(one for one in entity.patterns if isinstance(one, _Ending))
        if end.after is None:
            changes = Changes(removes=changes.removes | {mark.expires})
        else:
            changes = Changes({mark.expires: end.value(end.clock() + end.after)}, removes=changes.removes)
    where = Exists((mark.attribute,))
    found: Awaitable[None] | None = db._write(
        rewrite(Write("update", entity, known, changes=changes, where=where, read=True, seen=False))
    )
    return found


@overload
def purge(db: Writer, cls: type[Any], /, **key: Any) -> None: ...
@overload
def purge(db: AsyncWriter, cls: type[Any], /, **key: Any) -> Awaitable[None]: ...
def purge(db: Any, cls: type[Any], /, **key: Any) -> Awaitable[None] | None:
    """Deletes what was deleted for good, with all that is kept for it. NotFound if none was deleted."""
    entity, mark, known = _marked(db.schema, cls, key)
    where = Exists((mark.attribute,))
    found: Awaitable[None] | None = db._write(
        rewrite(Write("delete", entity, known, where=where, read=True, seen=False))
    )
    return found


def _marked(schema: Schema, cls: type[Any], key: Mapping[str, Any]) -> tuple[Bound[Any], _Marked, Mapping[str, Any]]:
    entity, known = check_known(schema, cls, key)
    mark = next((one for one in entity.patterns if isinstance(one, _Marked)), None)
    if mark is None:
        raise TableError(f"{entity.tag} is not deleted softly: declare SoftDelete among its patterns")
    return entity, mark, known
