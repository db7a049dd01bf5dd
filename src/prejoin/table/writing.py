"""The writes of clients and transactions, for those who wait and those who await. Thin: a call becomes a `Write`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar, cast, overload

from .bind import Bound
from .changes import Changes, checked
from .conversation import Steps
from .draft import Draft, changes_of
from .errors import TableError
from .expressions import Where, recorded
from .perform import write_all
from .schema import Schema
from .writes import Write

E = TypeVar("E")

Back = Literal["new", "old"] | None
"""The object that an update is to return: as it is after it, or as it was before."""

UNSAID = cast("bool", 0)
"""False, where nobody said so. Options stand beside attributes, and one of those may have the same name."""

_OPTIONS = ("where", "read", "returning", "upsert")


class Writer(ABC):
    """The writes. A client does each at once; a transaction gathers them."""

    schema: Schema

    @abstractmethod
    def _write(self, write: Write) -> Any: ...

    def insert(self, record: E) -> E:
        """Writes a new item; AlreadyExists if there is one with its key. Returns the object as it was written."""
        write = insertion(self.schema, record)
        self._write(write)
        return as_written(write, record)

    def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None, read: bool = False) -> E:
        """Writes an item, over what is there. Returns the object as it was written.

        With copies or unique attributes, give the item it replaces, or `read=True`: then it is read first.
        """
        write = replacement(self.schema, record, was, where, read)
        self._write(write)
        return as_written(write, record)

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
        return Updating(self, cls, where, known, {"read": read, "returning": returning})

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
        return Updating(self, cls, where, key, {"read": read, "returning": returning, "upsert": True})

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
        write = modification(self.schema, cls, changes, where, known, read, returning, upsert)
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
        write = deletion(self.schema, cls, where, known, read, returning)
        return cast("E | None", self._write(write))


class AsyncWriter(ABC):
    """The writes of a client that is awaited; each as in `Writer`."""

    schema: Schema

    @abstractmethod
    async def _write(self, write: Write) -> Any: ...

    async def insert(self, record: E) -> E:
        """As `Writer.insert`."""
        write = insertion(self.schema, record)
        await self._write(write)
        return as_written(write, record)

    async def put(self, record: E, *, was: E | None = None, where: Where[E] | None = None, read: bool = False) -> E:
        """As `Writer.put`."""
        write = replacement(self.schema, record, was, where, read)
        await self._write(write)
        return as_written(write, record)

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
        return AsyncUpdating(self, cls, where, known, {"read": read, "returning": returning})

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
        return AsyncUpdating(self, cls, where, key, {"read": read, "returning": returning, "upsert": True})

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
        write = modification(self.schema, cls, changes, where, known, read, returning, upsert)
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
        write = deletion(self.schema, cls, where, known, read, returning)
        return cast("E | None", await self._write(write))


class _Update(Generic[E]):
    """An update being written."""

    _result: E | None = None
    _done = False

    def __init__(
        self, writer: Any, cls: type[E], where: Where[E] | None, known: Mapping[str, Any], how: Mapping[str, Any]
    ) -> None:
        self._writer = writer
        self._cls = cls
        self._where = where
        self._known = known
        self._how = how
        self._draft = Draft(writer.schema.entity(cls).codec)

    @property
    def result(self) -> E:
        """The object that was asked for with `returning`."""
        if not self._done or not self._how["returning"]:
            raise TableError('the result of an update is there when it is done, and asked for with returning="new"')
        return cast("E", self._result)

    def _applied(self) -> Any:
        return self._writer.apply(self._cls, changes_of(self._draft), where=self._where, **self._how, **self._known)


class Updating(_Update[E]):
    """An update being written: what is assigned inside the `with` is one UpdateItem at its end."""

    def __enter__(self) -> E:
        return cast("E", self._draft)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = self._applied()
            self._done = True


class AsyncUpdating(_Update[E]):
    """An update being written: what is assigned inside the `async with` is one UpdateItem at its end."""

    async def __aenter__(self) -> E:
        return cast("E", self._draft)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._result = await self._applied()
            self._done = True


class Gathered(Writer):
    """Writes gathered, to be done together or not at all."""

    def __init__(self, schema: Schema, table: str, token: str | None) -> None:
        self.schema = schema
        self._table = table
        self._token = token
        self._writes: list[Write] = []

    def _write(self, write: Write) -> None:
        if write.returning:
            raise TableError("DynamoDB returns nothing from a transaction: get the object after it, without returning=")
        self._writes.append(write)

    def check(self, cls: type[E], /, *, where: Where[E] | None = None, **known: Any) -> None:
        """Makes the transaction depend on an item that it does not write: it is there, and as is said."""
        entity = _known(self.schema, cls, known, where)
        self._write(Write("check", entity, known, where=recorded(where, entity.codec)))

    def _steps(self) -> Steps[None]:
        return write_all(self.schema, self._table, self._writes, self._token)


# --- What a call means ----------------------------------------------------------------------------------------------


def insertion(schema: Schema, record: Any) -> Write:
    entity = schema.entity(type(record))
    return _meant(Write("insert", entity, entity.codec.values(record)))


def replacement(schema: Schema, record: E, was: E | None, where: Where[E] | None, read: bool) -> Write:
    entity = schema.entity(type(record))
    before = None if was is None else entity.codec.values(was)
    if read and was is not None:
        raise TableError("was= says what is there, and read=True reads it: give one of them")
    condition = recorded(where, entity.codec)
    return _meant(Write("put", entity, entity.codec.values(record), before, where=condition, read=read))


def modification(
    schema: Schema,
    cls: type[E],
    changes: Changes,
    where: Where[E] | None,
    known: Mapping[str, Any],
    read: bool,
    returning: Back,
    upsert: bool,
) -> Write:
    entity = _known(schema, cls, known, where, read, returning, upsert)
    if upsert and len(known) > len(entity.base.attributes):
        more = ", ".join(name for name in known if name not in entity.base.attributes)
        raise TableError(
            f"an upsert is told the key of {entity.tag} and no more, for there may be no item of which {more} could be "
            "known: set it, or use where="
        )
    write = Write(
        "upsert" if upsert else "update",
        entity,
        known,
        None,
        checked(entity, changes),
        recorded(where, entity.codec),
        returning or "",
        bool(read),
    )
    return _meant(write)


def deletion(
    schema: Schema,
    cls: type[E],
    where: Where[E] | None,
    known: Mapping[str, Any],
    read: bool,
    returning: Literal["old"] | None,
) -> Write:
    entity = _known(schema, cls, known, where, read, returning)
    condition = recorded(where, entity.codec)
    return _meant(Write("delete", entity, known, where=condition, returning=returning or "", read=bool(read)))


def as_written(write: Write, record: E) -> E:
    """The object as it is in the table, where patterns changed it."""
    if not write.entity.patterns:
        return record
    codec = write.entity.codec
    return cast("E", codec.decode(codec.encode_values(write.values)))


def _meant(write: Write) -> Write:
    for pattern in write.entity.patterns:
        write = pattern.rewrite(write)
    return write


def _known(schema: Schema, cls: type[E], known: Mapping[str, Any], *options: Any) -> Bound[E]:
    """The entity, if the attributes given are its own, and the options cannot be meant as attributes."""
    entity = schema.entity(cls)
    attributes = entity.codec.attributes
    for name in known:
        entity.codec.attribute(name)
    if not attributes.keys().isdisjoint(_OPTIONS):
        for name, option in zip(_OPTIONS, options, strict=False):
            if name in attributes and option is not None and option is not UNSAID:
                raise TableError(
                    f"{entity.tag} has an attribute {name}, and {name}= is an option as well: call it something else "
                    f"in the class, and give names= what it is called in the table"
                )
    return entity
