"""The write methods of `Client` and of transactions. Each makes a `Write`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

from prejoin.table.options import NOT_GIVEN

from .lazy_modules import batch, from_call
from .lazy_modules import update as update_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prejoin.table.condition.record import Where
    from prejoin.table.conversation import Steps
    from prejoin.table.options import Progress, Returning
    from prejoin.table.schema.schema import Schema
    from prejoin.table.update.changes import Changes
    from prejoin.table.write.model import Write

    from .update import UpdateBlock

E = TypeVar("E")


class Writer(ABC):
    """The write methods of a client, which sends each at once, and of a transaction, which collects them."""

    schema: Schema

    @abstractmethod
    def _write(self, write: Write) -> Any: ...

    def insert(self, record: E) -> E:
        """Insert an object, and return it as it was written. Raise AlreadyExists if there is an item with its key."""
        write = from_call.insert_write(self.schema, record)
        self._write(write)
        return from_call.as_written(write, record)

    def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None, read: bool = False) -> E:
        """Write an object over any item with its key, and return it as it was written.

        If the entity has copies or unique attributes, pass the object that it replaces as `was`, or `read=True` to
        read it first.
        """
        write = from_call.put_write(self.schema, record, was, where, read)
        self._write(write)
        return from_call.as_written(write, record)

    def update(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        returning: Returning = None,
        **known: Any,
    ) -> UpdateBlock[E]:
        """Update an object with assignments: `with db.update(Product, sku=sku) as p: p.stock -= 1`.

        Keywords are the attributes of the key, and others whose current value you know; the update fails with
        ConditionFailed if one of these has changed. Raise NotFound if there is no item.

        If an index key, a copy or a unique value depends on an attribute that is not given, the update is refused. With
        `read=True` the item is read first, and written only if it has not changed since. With `returning`, the object
        is the `result` of the update.
        """
        return update_block.UpdateBlock(self, cls, where, known, {"read": read, "returning": returning})

    def upsert(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        returning: Literal["new"] | None = None,
        **key: Any,
    ) -> UpdateBlock[E]:
        """Update an object, or create it: `with db.upsert(Page, url=url) as p: p.title = "Home"`.

        A new item is written as by `insert`: required attributes have to be set, and others get their defaults. The
        condition `where` is about the stored item; if there is none, it is created.
        """
        return update_block.UpdateBlock(self, cls, where, key, {"read": read, "returning": returning, "upsert": True})

    @overload
    def apply(
        self,
        cls: type[E],
        changes: Changes,
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        upsert: bool = NOT_GIVEN,
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
        read: bool = NOT_GIVEN,
        upsert: bool = NOT_GIVEN,
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
        read: bool = NOT_GIVEN,
        upsert: bool = NOT_GIVEN,
        returning: Returning,
        **known: Any,
    ) -> E | None: ...
    def apply(
        self,
        cls: type[E],
        changes: Changes,
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        upsert: bool = NOT_GIVEN,
        returning: Returning = None,
        **known: Any,
    ) -> E | None:
        """Apply changes that are given as data: an update, or with `upsert=True` an upsert."""
        write = from_call.update_write(self.schema, cls, changes, where, known, read, returning, upsert)
        return cast("E | None", self._write(write))

    @overload
    def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        returning: None = None,
        missing_ok: bool = False,
        **known: Any,
    ) -> None: ...
    @overload
    def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        returning: Literal["old"],
        missing_ok: bool = False,
        **known: Any,
    ) -> E | None: ...
    def delete(
        self,
        cls: type[E],
        /,
        *,
        where: Where[E] | None = None,
        read: bool = NOT_GIVEN,
        returning: Literal["old"] | None = None,
        missing_ok: bool = False,
        **known: Any,
    ) -> E | None:
        """Delete an item. A missing item is an error only if a condition or a known value is given.

        With `missing_ok=True` it never is one: nothing is deleted if no item has the key and the known values. A known
        value that `where` compares, too, is a condition. Transactions do not have it.
        """
        write = from_call.delete_write(self.schema, cls, where, known, read, returning, missing_ok)
        return cast("E | None", self._write(write))


class BatchWriter(ABC):
    """The methods of `Client` that write many objects."""

    schema: Schema
    table: str

    @abstractmethod
    def _run(self, steps: Steps[Any], /) -> Any: ...

    def put_many(self, records: Iterable[Any], progress: Progress | None = None, *, read: bool = False) -> int:
        """Put many objects, of any entities, as if one after the other. Return how many were written.

        It is not one transaction: if it fails, some objects are written. Objects with copies, unique values, versions
        or counters are written in transactions, each as a whole or not at all; `PartlyWritten` lists those that failed.
        If a put needs to know the item that it replaces, pass `read=True` to read the items first.
        """
        return int(self._run(batch.put_many(self.schema, self.table, records, progress, read)))

    def insert_many(self, records: Iterable[Any], progress: Progress | None = None) -> int:
        """Insert many objects, of any entities. Return how many, or raise `PartlyWritten`.

        It is not one transaction: each object is inserted, or listed as a failure with the error that `insert` would
        raise, such as AlreadyExists.
        """
        return int(self._run(batch.insert_many(self.schema, self.table, records, progress)))

    def delete_many(
        self,
        cls: type[E],
        keys: Iterable[Mapping[str, Any] | E],
        progress: Progress | None = None,
        *,
        read: bool = False,
    ) -> int:
        """Delete many items of an entity, given as objects or by the attributes of their keys. Return how many.

        If a delete needs to know the item, for a unique value or a counter, pass `read=True` to read the items first.
        """
        return int(self._run(batch.delete_many(self.schema, self.table, cls, keys, progress, read)))
