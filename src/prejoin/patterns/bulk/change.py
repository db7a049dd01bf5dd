"""Update or delete many objects: all of a class, or those of a condition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from prejoin.table.client.reads import get_steps
from prejoin.table.condition.evaluate import holds
from prejoin.table.condition.record import Where, recorded
from prejoin.table.conversation import Steps
from prejoin.table.errors import ArgumentError, ConditionFailed, Failure, NotFound, PartlyWritten, TableError
from prejoin.table.options import NOT_GIVEN
from prejoin.table.update.changes import Changes
from prejoin.table.write.batch import delete_many
from prejoin.table.write.bulk import WINDOW, write_window
from prejoin.table.write.from_call import delete_write, update_write
from prejoin.table.write.model import Write

from .job import BulkOptions, BulkProgress, ObjectScan, run_job

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

E = TypeVar("E")

ATTEMPTS = 6
"""How often an object is changed that others change at the same time."""


@overload
def bulk_update(
    db: Client,
    cls: type[E],
    change: Callable[[E], E | None],
    /,
    *,
    where: Where[E] | None = None,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> BulkProgress: ...
@overload
def bulk_update(
    db: AsyncClient,
    cls: type[E],
    change: Callable[[E], E | None],
    /,
    *,
    where: Where[E] | None = None,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Coroutine[Any, Any, BulkProgress]: ...
def bulk_update(
    db: Client | AsyncClient,
    cls: type[E],
    change: Callable[[E], E | None],
    /,
    *,
    where: Where[E] | None = None,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Any:
    """Change all objects of a class, or those for which `where` holds: `change` returns the new object.

    An object that is returned as it was, or as None, is not written. Index keys, copies, guards and counters follow the
    change. Each object is written only if it has not changed since it was read; otherwise it is read and changed again.
    Objects that are inserted meanwhile may be missed.

    The job reads the whole table with a Scan, in as many `segments` at the same time. After an interruption it changes
    the objects of the last page again, so a change has to give the same object if it is made twice.

    Cost: half a read unit for each 4 KB of the table, and an update for each object that changes.

    >>> from dataclasses import dataclass, replace
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, Schema
    >>> @dataclass
    ... class Product:
    ...     sku: str
    ...     price: int
    ...     currency: str | None = None
    >>> db = Client(Schema(Entity(Product, Key("PRODUCT#{sku}", "PRODUCT"))), "shop", Embedded())
    >>> db.create_table()
    >>> _ = db.put_many(Product(str(n), n) for n in range(100))
    >>> bulk_update(db, Product, lambda p: replace(p, currency="EUR"), where=lambda p: p.price >= 50).done
    50
    """
    return run_job(_UpdateJob(db, cls, where, segments, change), options, db)


@overload
def bulk_delete(
    db: Client,
    cls: type[E],
    /,
    *,
    where: Where[E] | None = None,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> BulkProgress: ...
@overload
def bulk_delete(
    db: AsyncClient,
    cls: type[E],
    /,
    *,
    where: Where[E] | None = None,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Coroutine[Any, Any, BulkProgress]: ...
def bulk_delete(
    db: Client | AsyncClient,
    cls: type[E],
    /,
    *,
    where: Where[E] | None = None,
    segments: int = 1,
    **options: Unpack[BulkOptions],
) -> Any:
    """Delete all objects of a class, or those for which `where` holds, with their copies, guards and counts.

    An object for which `where` does not hold any more when it is deleted is kept. The job reads the whole table with a
    Scan, in as many `segments` at the same time.

    Cost: half a read unit for each 4 KB of the table, and a delete for each object.
    """
    return run_job(_DeleteJob(db, cls, where, segments), options, db)


class _ChangeJob(ObjectScan):
    """A job that writes the objects of a class for which a condition holds."""

    verb: str

    def __init__(self, db: Client | AsyncClient, cls: type[Any], where: Where[Any] | None, segments: int) -> None:
        self._cls = cls
        self._entity = db.schema.entity(cls)
        self._where = where
        self._condition = recorded(where, self._entity.codec)
        super().__init__(db, [cls], segments, hidden=False)
        self.name = f"{self.verb} {self._table} {self._entity.tag}, {segments} segments"

    def read(self) -> Steps[list[Any]]:
        objects = yield from super().read()
        return [record for record in objects if self._is_concerned(record)]

    def _is_concerned(self, record: Any) -> bool:
        if self._condition is None:
            return True
        codec = self._entity.codec
        return holds(self._condition, codec, codec.encode_values(codec.values(record)))

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        failures: list[Failure] = []
        for start in range(0, len(batch), WINDOW):
            failures += yield from self._window(list(enumerate(batch[start : start + WINDOW], start)))
        return failures

    def _window(self, objects: list[tuple[int, Any]]) -> Steps[list[Failure]]:
        """Write objects. One that has changed since it was read is read again, and written if it is still concerned."""
        failures: list[Failure] = []
        for attempt in range(ATTEMPTS):
            writes = self._writes_of(objects, failures)
            objects = []
            for failure in (yield from write_window(self._schema, self._table, writes)):
                cause = failure.error
                if isinstance(cause, NotFound) and not cause.elsewhere:
                    continue  # somebody has deleted it
                is_last = attempt == ATTEMPTS - 1
                if is_last or not isinstance(cause, ConditionFailed) or cause.elsewhere:
                    failures.append(failure)
                    continue
                current = yield from self._read_again(failure.given)
                if current is None or not self._is_concerned(current):
                    continue
                # An object that has not changed would be refused for the same reason again.
                if current == failure.given:
                    failures.append(failure)
                else:
                    objects.append((failure.position, current))
            if not objects:
                break
        return failures

    def _writes_of(self, objects: Sequence[tuple[int, Any]], failures: list[Failure]) -> list[tuple[int, Any, Write]]:
        """Return the writes of objects, with their positions. Those that cannot be written are added to `failures`."""
        writes: list[tuple[int, Any, Write]] = []
        for position, record in objects:
            try:
                write = self._write(record)
            except (TableError, ValueError) as error:
                failures.append(Failure(position, record, error))
            else:
                if write is not None:
                    writes.append((position, record, write))
        return writes

    def _read_again(self, record: Any) -> Steps[Any]:
        return (yield from get_steps(self._schema, self._table, self._cls, self._key(record), True, None))

    def _key(self, record: Any) -> dict[str, Any]:
        return {name: getattr(record, name) for name in self._entity.base.attributes}

    @abstractmethod
    def _write(self, record: Any) -> Write | None:
        """Return the write of an object; None if there is nothing to do."""


class _UpdateJob(_ChangeJob):
    verb = "update"

    def __init__(
        self,
        db: Client | AsyncClient,
        cls: type[Any],
        where: Where[Any] | None,
        segments: int,
        change: Callable[[Any], Any],
    ) -> None:
        super().__init__(db, cls, where, segments)
        self._change = change

    def _write(self, record: Any) -> Write | None:
        codec = self._entity.codec
        before: Mapping[str, Any] = dict(codec.values(record))
        changed_record = self._change(record)
        if changed_record is None:
            return None
        if type(changed_record) is not self._cls:
            raise ArgumentError(f"the change of a {self._entity.tag} returned {type(changed_record).__name__}")
        after = codec.values(changed_record)
        sets = {name: value for name, value in after.items() if value != before[name]}
        if key_changes := sorted(sets.keys() & set(self._entity.base.attributes)):
            raise ArgumentError(
                f"the change of a {self._entity.tag} changes {', '.join(key_changes)}, which is part of its key. "
                "Insert the new object, and delete the old one"
            )
        if not sets:
            return None
        return update_write(self._schema, self._cls, Changes(sets), None, before, NOT_GIVEN, None, upsert=False)


class _DeleteJob(_ChangeJob):
    verb = "delete"

    def write(self, batch: Sequence[Any]) -> Steps[list[Failure]]:
        if self._condition is not None or self._entity.maintains:
            return (yield from super().write(batch))
        try:
            yield from delete_many(self._schema, self._table, self._cls, batch, None)
        except PartlyWritten as error:
            return list(error.failures)
        return []

    def _write(self, record: Any) -> Write:
        # Patterns need the values of the stored object; these are checked. Without patterns `where` is checked.
        values = self._entity.codec.values(record) if self._entity.maintains else self._key(record)
        return delete_write(self._schema, self._cls, self._where, values, NOT_GIVEN, None)
