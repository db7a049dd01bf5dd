"""The writes of a client, for those who await. Thin: a call becomes a `Write`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from prejoin.table.lazy import Lazy

from .writes import UNSAID, Back

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prejoin.table.condition.record import Where
    from prejoin.table.conversation import Steps
    from prejoin.table.schema.schema import Schema
    from prejoin.table.update.changes import Changes
    from prejoin.table.write import batch as batches
    from prejoin.table.write import from_call as meaning
    from prejoin.table.write.batch import Progress
    from prejoin.table.write.model import Write

    from . import update as updating
    from .update import AsyncUpdating
else:
    batches = Lazy("prejoin.table.write.batch")
    meaning = Lazy("prejoin.table.write.from_call")
    updating = Lazy("prejoin.table.client.update")

E = TypeVar("E")


class AsyncWriter(ABC):
    """The writes of a client that is awaited; each as in `Writer`."""

    schema: Schema

    @abstractmethod
    async def _write(self, write: Write) -> Any: ...

    async def insert(self, record: E) -> E:
        """As `Writer.insert`."""
        write = meaning.insertion(self.schema, record)
        await self._write(write)
        return meaning.as_written(write, record)

    async def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None, read: bool = False) -> E:
        """As `Writer.put`."""
        write = meaning.replacement(self.schema, record, was, where, read)
        await self._write(write)
        return meaning.as_written(write, record)

    def update(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Back = None,
        **known: Any,
    ) -> AsyncUpdating[E]:
        """As `Writer.update`: `async with db.update(Product, sku=sku) as p: p.stock -= 1`."""
        return updating.AsyncUpdating(self, cls, where, known, {"read": read, "returning": returning})

    def upsert(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Literal["new"] | None = None,
        **key: Any,
    ) -> AsyncUpdating[E]:
        """As `Writer.upsert`, with `async with`."""
        return updating.AsyncUpdating(self, cls, where, key, {"read": read, "returning": returning, "upsert": True})

    @overload
    async def apply(
        self,
        cls: type[E],
        changes: Changes,
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        upsert: bool = UNSAID,
        returning: None = None,
        **known: Any,
    ) -> None: ...
    @overload
    async def apply(
        self,
        cls: type[E],
        changes: Changes,
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        upsert: bool = UNSAID,
        returning: Literal["new"],
        **known: Any,
    ) -> E: ...
    @overload
    async def apply(
        self,
        cls: type[E],
        changes: Changes,
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        upsert: bool = UNSAID,
        returning: Back,
        **known: Any,
    ) -> E | None: ...
    async def apply(
        self,
        cls: type[E],
        changes: Changes,
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        upsert: bool = UNSAID,
        returning: Back = None,
        **known: Any,
    ) -> E | None:
        """As `Writer.apply`."""
        write = meaning.modification(self.schema, cls, changes, where, known, read, returning, upsert)
        return cast("E | None", await self._write(write))

    @overload
    async def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: None = None,
        **known: Any,
    ) -> None: ...
    @overload
    async def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Literal["old"],
        **known: Any,
    ) -> E | None: ...
    async def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Literal["old"] | None = None,
        **known: Any,
    ) -> E | None:
        """As `Writer.delete`."""
        write = meaning.deletion(self.schema, cls, where, known, read, returning)
        return cast("E | None", await self._write(write))


class AsyncBatching(ABC):
    """The batch writes of a client that is awaited; each as in `Batching`."""

    schema: Schema
    table: str

    @abstractmethod
    async def _run(self, steps: Steps[Any], /) -> Any: ...

    async def put_many(self, records: Iterable[Any], progress: Progress | None = None, *, read: bool = False) -> int:
        """Puts many objects, of any entities, as if one after the other; returns how many.

        Not in one transaction: if it fails, some are written. Objects with copies, unique values, versions or counters
        go in transactions; each is written as a whole or not at all, and `PartlyWritten` tells those that were not.
        Where a put has to know what it replaces, give `read=True`: then items are read first.
        """
        return int(await self._run(batches.put_many(self.schema, self.table, records, progress, read)))

    async def insert_many(self, records: Iterable[Any], progress: Progress | None = None) -> int:
        """Inserts many objects, of any entities; returns how many, or raises `PartlyWritten`.

        Not in one transaction: each object is inserted, or it is among the failures with the error that `insert` would
        have raised, such as AlreadyExists.
        """
        return int(await self._run(batches.insert_many(self.schema, self.table, records, progress)))

    async def delete_many(
        self,
        cls: type[E],
        keys: Iterable[Mapping[str, Any] | E],
        progress: Progress | None = None,
        *,
        read: bool = False,
    ) -> int:
        """Deletes many items of an entity, given by the attributes of their keys or as objects; returns how many.

        Where a delete has to know what is there, for a unique value or a counter, give `read=True`.
        """
        return int(await self._run(batches.delete_many(self.schema, self.table, cls, keys, progress, read)))
