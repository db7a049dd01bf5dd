"""The writes of clients and transactions, for those who wait and those who await. Thin: a call becomes a `Write`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from .bind import Bound
from .conversation import Steps
from .core import write_all
from .draft import Draft, changes_of
from .expressions import Where, recorded
from .schema import Schema
from .writes import Changes, Write, checked_changes

E = TypeVar("E")
R = TypeVar("R")


def _insert(schema: Schema, record: Any) -> Write:
    entity = schema.entity(type(record))
    return Write("insert", entity, entity.codec.values(record))


def _put(schema: Schema, record: E, was: E | None, where: Where[E] | None) -> Write:
    entity = schema.entity(type(record))
    before = None if was is None else entity.codec.values(was)
    return Write("put", entity, entity.codec.values(record), before, where=recorded(where, entity.codec))


def _update(schema: Schema, cls: type[E], changes: Changes, where: Where[E] | None, known: Mapping[str, Any]) -> Write:
    entity = _known(schema, cls, known)
    condition = recorded(where, entity.codec)
    return Write("update", entity, known, changes=checked_changes(entity, changes), where=condition)


def _delete(schema: Schema, cls: type[E], where: Where[E] | None, known: Mapping[str, Any]) -> Write:
    entity = _known(schema, cls, known)
    return Write("delete", entity, known, where=recorded(where, entity.codec))


def _check(schema: Schema, cls: type[E], where: Where[E] | None, known: Mapping[str, Any]) -> Write:
    entity = _known(schema, cls, known)
    return Write("check", entity, known, where=recorded(where, entity.codec))


def _known(schema: Schema, cls: type[E], known: Mapping[str, Any]) -> Bound[E]:
    entity = schema.entity(cls)
    for name in known:
        entity.codec.attribute(name)
    return entity


class Writer(ABC):
    """The writes. A client does each at once; a transaction gathers them."""

    schema: Schema

    @abstractmethod
    def _write(self, write: Write) -> None: ...

    def insert(self, record: Any) -> None:
        """Writes a new item; AlreadyExists if there is one with its key."""
        self._write(_insert(self.schema, record))

    def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None) -> None:
        """Writes an item, over what is there. With copies or unique attributes, give the item it replaces."""
        self._write(_put(self.schema, record, was, where))

    def update(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> Updating[E]:
        """An update written as assignments: `with db.update(Product, sku=sku) as p: p.stock -= 1`.

        Keywords are the attributes of the key, and any others that are known and to be checked. The item must be there.
        """
        return Updating(self, cls, where, known)

    def apply(self, cls: type[E], changes: Changes, /, *, where: Where[E] | None = None, **known: Any) -> None:
        """An update as data."""
        self._write(_update(self.schema, cls, changes, where, known))

    def delete(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """Deletes an item. That it is not there is an error only where something is known or asked of it."""
        self._write(_delete(self.schema, cls, where, known))


class AsyncWriter(ABC):
    """The writes of a client that is awaited; each as in `Writer`."""

    schema: Schema

    @abstractmethod
    async def _write(self, write: Write) -> None: ...

    async def insert(self, record: Any) -> None:
        """As `Writer.insert`."""
        await self._write(_insert(self.schema, record))

    async def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None) -> None:
        """As `Writer.put`."""
        await self._write(_put(self.schema, record, was, where))

    def update(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> AsyncUpdating[E]:
        """As `Writer.update`: `async with db.update(Product, sku=sku) as p: p.stock -= 1`."""
        return AsyncUpdating(self, cls, where, known)

    async def apply(self, cls: type[E], changes: Changes, /, *, where: Where[E] | None = None, **known: Any) -> None:
        """As `Writer.apply`."""
        await self._write(_update(self.schema, cls, changes, where, known))

    async def delete(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """As `Writer.delete`."""
        await self._write(_delete(self.schema, cls, where, known))


class Updating(Generic[E]):
    """An update being written: what is assigned inside the `with` is one UpdateItem at its end."""

    def __init__(self, writer: Writer, cls: type[E], where: Where[E] | None, known: Mapping[str, Any]) -> None:
        self._writer = writer
        self._cls = cls
        self._where = where
        self._known = known
        self._draft = Draft(writer.schema.entity(cls).codec)

    def __enter__(self) -> E:
        return cast("E", self._draft)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._writer.apply(self._cls, changes_of(self._draft), where=self._where, **self._known)


class AsyncUpdating(Generic[E]):
    """An update being written: what is assigned inside the `async with` is one UpdateItem at its end."""

    def __init__(self, writer: AsyncWriter, cls: type[E], where: Where[E] | None, known: Mapping[str, Any]) -> None:
        self._writer = writer
        self._cls = cls
        self._where = where
        self._known = known
        self._draft = Draft(writer.schema.entity(cls).codec)

    async def __aenter__(self) -> E:
        return cast("E", self._draft)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            await self._writer.apply(self._cls, changes_of(self._draft), where=self._where, **self._known)


class Gathered(Writer):
    """Writes gathered, to be done together or not at all."""

    def __init__(self, schema: Schema, table: str, token: str | None) -> None:
        self.schema = schema
        self._table = table
        self._token = token
        self._writes: list[Write] = []

    def _write(self, write: Write) -> None:
        self._writes.append(write)

    def check(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """Makes the transaction depend on an item that it does not write: it is there, and as is said."""
        self._write(_check(self.schema, cls, where, known))

    def _steps(self) -> Steps[None]:
        return write_all(self.schema, self._table, self._writes, self._token)
