"""The writes of a client, for those who wait. Thin: a call becomes a `Write`, by what is loaded with the first one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from prejoin.table.lazy import Lazy

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
    from .update import Updating
else:
    batches = Lazy("prejoin.table.write.batch")
    meaning = Lazy("prejoin.table.write.from_call")
    updating = Lazy("prejoin.table.client.update")

E = TypeVar("E")

Back = Literal["new", "old"] | None
"""The object that an update is to return: as it is after it, or as it was before."""

UNSAID = cast("bool", 0)
"""False, where nobody said so. Options stand beside attributes, and one of those may have the same name."""


class Writer(ABC):
    """The writes. A client does each at once; a transaction gathers them."""

    schema: Schema

    @abstractmethod
    def _write(self, write: Write) -> Any: ...

    def insert(self, record: E) -> E:
        """Writes a new item; AlreadyExists if there is one with its key. Returns the object as it was written."""
        write = meaning.insertion(self.schema, record)
        self._write(write)
        return meaning.as_written(write, record)

    def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None, read: bool = False) -> E:
        """Writes an item, over what is there. Returns the object as it was written.

        With copies or unique attributes, give the item it replaces, or `read=True`: then it is read first.
        """
        write = meaning.replacement(self.schema, record, was, where, read)
        self._write(write)
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
    ) -> Updating[E]:
        """An update written as assignments: `with db.update(Product, sku=sku) as p: p.stock -= 1`.

        Keywords are the attributes of the key, and any others that are known and to be checked. The item must be there.
        Where a key, copy or unique value depends on what is not said, `read=True` reads the item first and writes only
        if it is still as it was read. With `returning`, the object is the `result` of the update.
        """
        return updating.Updating(self, cls, where, known, {"read": read, "returning": returning})

    def upsert(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Literal["new"] | None = None,
        **key: Any,
    ) -> Updating[E]:
        """An update that makes the item where there is none: `with db.upsert(Page, url=url) as p: p.title = "Home"`.

        A new item is what an insert would have written: what the class requires has to be set, its defaults are set.
        """
        return updating.Updating(self, cls, where, key, {"read": read, "returning": returning, "upsert": True})

    @overload
    def apply(
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
    def apply(
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
    def apply(
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
    def apply(
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
        """An update, or an upsert, as data."""
        write = meaning.modification(self.schema, cls, changes, where, known, read, returning, upsert)
        return cast("E | None", self._write(write))

    @overload
    def delete(
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
    def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Literal["old"],
        **known: Any,
    ) -> E | None: ...
    def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = UNSAID,
        returning: Literal["old"] | None = None,
        **known: Any,
    ) -> E | None:
        """Deletes an item. That it is not there is an error only where something is known or asked of it."""
        write = meaning.deletion(self.schema, cls, where, known, read, returning)
        return cast("E | None", self._write(write))


class Batching(ABC):
    """The batch writes of a client."""

    schema: Schema
    table: str

    @abstractmethod
    def _run(self, steps: Steps[Any], /) -> Any: ...

    def put_many(self, records: Iterable[Any], progress: Progress | None = None, *, read: bool = False) -> int:
        """Puts many objects, of any entities, as if one after the other; returns how many.

        Not in one transaction: if it fails, some are written. Objects with copies, unique values, versions or counters
        go in transactions; each is written as a whole or not at all, and `PartlyWritten` tells those that were not.
        Where a put has to know what it replaces, give `read=True`: then items are read first.
        """
        return int(self._run(batches.put_many(self.schema, self.table, records, progress, read)))

    def insert_many(self, records: Iterable[Any], progress: Progress | None = None) -> int:
        """Inserts many objects, of any entities; returns how many, or raises `PartlyWritten`.

        Not in one transaction: each object is inserted, or it is among the failures with the error that `insert` would
        have raised, such as AlreadyExists.
        """
        return int(self._run(batches.insert_many(self.schema, self.table, records, progress)))

    def delete_many(
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
        return int(self._run(batches.delete_many(self.schema, self.table, cls, keys, progress, read)))
