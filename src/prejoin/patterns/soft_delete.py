"""Soft delete: a delete marks an item and hides it, until it is restored, purged or expired."""

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
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Lifecycle, Pattern, Visibility
from prejoin.table.schema.schema import Schema
from prejoin.table.update.changes import Changes
from prejoin.table.write.actions import item_name
from prejoin.table.write.from_call import check_known, rewrite
from prejoin.table.write.model import Write
from prejoin.types import Kind

from .clock import Clock, now
from .ttl import Expiry

if TYPE_CHECKING:
    from prejoin.table.client.async_writes import AsyncWriter


@dataclass(frozen=True)
class SoftDelete(Pattern):
    """An optional datetime attribute with the time of the delete. `delete` sets it instead of deleting the item.

    Reads hide a deleted item, updates do not find it, and an insert with its key raises AlreadyExists; a put replaces
    it. `restore(db, Order, order_id="7")` restores it, and `purge(db, Order, order_id="7")` deletes it. A delete of a
    missing item raises NotFound.

    The unique values of a deleted item stay taken, so that it can be restored. With `release`, a delete frees them,
    and a restore fails if they are taken. With `keep`, and TimeToLive beside it, DynamoDB deletes the item after this
    time.

    Cost: a delete is an update, 1 write unit for an item of up to 1 KB. restore and purge read the item first. Reads
    are billed for deleted items, as for all items that a filter leaves out.

    >>> from dataclasses import dataclass
    >>> from datetime import datetime
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key
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

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        label = f"{entity.tag}.{self.attribute}"
        attribute = entity.codec.attribute(self.attribute)
        if attribute.type.kind is not Kind.DATETIME or not attribute.optional:
            raise SchemaError(f"{label} is the time of the delete, and must be datetime | None")
        if self.attribute in entity.base.attributes:
            raise SchemaError(f"{label} is the time of the delete, and cannot be part of the key")
        if sum(lifecycle.end == "marked" for lifecycle in entity.lifecycles) > 1:
            raise SchemaError(f"{entity.tag} has SoftDelete twice. Leave out one")
        expires = entity.expiry
        if self.keep is not None and (not expires or not entity.codec.attribute(expires).optional):
            raise SchemaError(
                f"SoftDelete of {entity.tag} has keep=, which needs TimeToLive with an optional attribute beside it"
            )
        return DeletionMark(self.attribute, self.keep, self.clock, expires if self.keep is not None else "")


@dataclass(frozen=True)
class DeletionMark(BoundPattern):
    attribute: str
    keep: timedelta | None
    clock: Clock
    expires: str

    def rewrite(self, write: Write) -> Write:
        if not write.visible:  # restore and purge
            return write
        match write.verb:
            case "insert" | "put" if write.values.get(self.attribute) is not None:
                raise self._refusal(write)
            case "update" | "upsert" if self.attribute in write.changes.names:
                raise self._refusal(write)
            case "delete":
                return replace(write, verb="update", changes=Changes(self._marks(write)))
            case _:
                return write

    def _marks(self, write: Write) -> dict[str, datetime | int]:
        time = self.clock()
        if self.keep is None:
            return {self.attribute: time}
        end = next(pattern for pattern in write.entity.patterns if isinstance(pattern, Expiry))
        return {self.attribute: time, self.expires: end.value(time + self.keep)}

    def _refusal(self, write: Write) -> TableError:
        return TableError(
            f"{write.entity.tag}.{self.attribute} is maintained by SoftDelete. delete() sets it, and restore() "
            "removes it"
        )

    def depends(self, write: Write) -> Iterable[str]:
        """A restore or purge depends on the mark, because other patterns do."""
        return () if write.visible else (self.attribute,)

    def failed(self, write: Write, item: Json | None) -> ConditionFailed | None:
        is_deleted = bool(item) and write.entity.codec.attribute(self.attribute).wire in (item or {})
        if not write.visible:
            return None if is_deleted else NotFound(f"there is no {item_name(write)} that is marked as deleted")
        if not is_deleted or write.verb == "put":  # a put replaces the item, marked or not
            return None
        if write.verb in ("insert", "upsert"):
            return AlreadyExists(f"{item_name(write)} is marked as deleted. restore() or purge() it first")
        return NotFound(f"there is no {item_name(write)}: it is marked as deleted, and can be restored")

    def visibility(self) -> Visibility:
        return Visibility(Exists((self.attribute,), present=False))


@overload
def restore(db: Writer, cls: type[Any], /, **key: Any) -> None: ...
@overload
def restore(db: AsyncWriter, cls: type[Any], /, **key: Any) -> Awaitable[None]: ...
def restore(db: Any, cls: type[Any], /, **key: Any) -> Awaitable[None] | None:
    """Restore an item that is marked as deleted, at once or in a transaction. Raise NotFound if there is none.

    Its time to live is that of an item that is inserted now.
    """
    entity, mark, key_values = _mark_of(db.schema, cls, key)
    changes = Changes(removes=frozenset({mark.attribute}))
    if mark.expires:
        end = next(pattern for pattern in entity.patterns if isinstance(pattern, Expiry))
        if end.after is None:
            changes = Changes(removes=changes.removes | {mark.expires})
        else:
            changes = Changes({mark.expires: end.value(end.clock() + end.after)}, removes=changes.removes)
    where = Exists((mark.attribute,))
    writing: Awaitable[None] | None = db._write(
        rewrite(Write("update", entity, key_values, changes=changes, where=where, read_first=True, visible=False))
    )
    return writing


@overload
def purge(db: Writer, cls: type[Any], /, **key: Any) -> None: ...
@overload
def purge(db: AsyncWriter, cls: type[Any], /, **key: Any) -> Awaitable[None]: ...
def purge(db: Any, cls: type[Any], /, **key: Any) -> Awaitable[None] | None:
    """Delete an item that is marked as deleted, with its copies and guards. Raise NotFound if there is none."""
    entity, mark, key_values = _mark_of(db.schema, cls, key)
    where = Exists((mark.attribute,))
    writing: Awaitable[None] | None = db._write(
        rewrite(Write("delete", entity, key_values, where=where, read_first=True, visible=False))
    )
    return writing


def _mark_of(
    schema: Schema, cls: type[Any], key: Mapping[str, Any]
) -> tuple[BoundEntity[Any], DeletionMark, Mapping[str, Any]]:
    entity, key_values = check_known(schema, cls, key)
    mark = next((pattern for pattern in entity.patterns if isinstance(pattern, DeletionMark)), None)
    if mark is None:
        raise TableError(f"{entity.tag} has no SoftDelete. Add it to its patterns")
    return entity, mark, key_values
