"""The read methods of `AsyncClient`. What they do is in `prejoin.table.read`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar, overload

from prejoin.keys import Order
from prejoin.table.condition.record import Where
from prejoin.table.conversation import Steps
from prejoin.table.options import Progress, WhenUnreadable
from prejoin.table.read import batch_get, query, scan, transact_get
from prejoin.table.read.arguments import QueryArguments
from prejoin.table.read.cursor import Cursors
from prejoin.table.read.decode import Unreadable
from prejoin.table.read.page import Collection, Page
from prejoin.table.read.plan import Roles
from prejoin.table.read.query import Filters
from prejoin.table.read.transact_get import Get
from prejoin.table.schema.schema import Schema

from .reads import exists_steps, get_steps

E = TypeVar("E")
V = TypeVar("V")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class AsyncReader(ABC):
    """The read methods of `AsyncClient`."""

    schema: Schema
    table: str
    _cursors: Cursors | None

    @abstractmethod
    async def _run(self, steps: Steps[R]) -> R: ...

    @overload
    async def get(self, cls: type[E], /, *, consistent: bool = False, into: None = None, **equal: Any) -> E | None: ...
    @overload
    async def get(self, cls: type[Any], /, *, into: type[V], consistent: bool = False, **equal: Any) -> V | None: ...
    async def get(self, cls: type[Any], /, *, consistent: bool = False, into: type | None = None, **equal: Any) -> Any:
        """Return the object with these attributes, or None. They must be its key, or the key of an index.

        `into` is a class with some of the attributes; only these are read.
        """
        return await self._run(get_steps(self.schema, self.table, cls, equal, consistent, into))

    async def exists(self, cls: type[Any], /, *, consistent: bool = False, **equal: Any) -> bool:
        """Return whether an object with these attributes exists. Its other attributes are not transferred."""
        return await self._run(exists_steps(self.schema, self.table, cls, equal, consistent))

    @overload
    async def query(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        filter: Where[E] | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        into: None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> Page[E]: ...
    @overload
    async def query(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        into: type[V],
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        filter: Where[E] | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> Page[V]: ...
    async def query(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        filter: Where[E] | None = None,  # noqa: A002 - the word for it
        consistent: bool = False,
        now: datetime | None = None,
        into: type | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> Page[Any]:
        """Return the objects with these attributes, as a page. Raise NotServed if no key or index serves the query.

        Keywords are attributes and their values. `where` is a condition that may add a range over one attribute:
        `lambda o: o.placed_at >= since`.

        Objects come in the order of the keys, or in `order` ("placed_at", "-placed_at") if a key has that order;
        `reverse` reverses it. Without `limit`, all objects are read. `after` is the cursor of the page before.

        `filter` is a condition that DynamoDB tests after it has read, and billed, an item. `into` is a class with some
        of the attributes; only these are read, and an index that projects no others may serve. `now` is the end of an
        open range over time buckets. With `unreadable="keep"`, items that do not fit the class do not raise: they are
        in the page's `unreadable`.
        """
        query_arguments = QueryArguments(
            where,
            equal,
            order,
            reverse,
            limit,
            after,
            filter,
            consistent,
            now,
            into,
            self._cursors,
            unreadable == "keep",
        )
        return await self._run(query.query(self.schema, self.table, cls, query_arguments))

    @overload
    def pages(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        size: int = 100,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        after: str | None = None,
        filter: Where[E] | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        into: None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> AsyncIterator[Page[E]]: ...
    @overload
    def pages(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        into: type[V],
        size: int = 100,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        after: str | None = None,
        filter: Where[E] | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> AsyncIterator[Page[V]]: ...
    async def pages(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        size: int = 100,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        after: str | None = None,
        filter: Where[E] | None = None,  # noqa: A002
        consistent: bool = False,
        now: datetime | None = None,
        into: type | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> AsyncIterator[Page[Any]]:
        """Yield the pages of a query, with `size` objects each. The arguments are those of `query`."""
        query_arguments = QueryArguments(
            where,
            equal,
            order,
            reverse,
            size,
            after,
            filter,
            consistent,
            now,
            into,
            self._cursors,
            unreadable == "keep",
        )
        while True:
            page = await self._run(query.query(self.schema, self.table, cls, query_arguments))
            yield page
            if page.cursor is None:
                return
            query_arguments = query_arguments.after_page(page.cursor)

    async def count(
        self,
        cls: type[E],
        where: Where[E] | None = None,
        /,
        *,
        filter: Where[E] | None = None,  # noqa: A002
        consistent: bool = False,
        now: datetime | None = None,
        **equal: Any,
    ) -> int:
        """Return how many objects a query would return. DynamoDB reads and bills all of them to count them."""
        query_arguments = QueryArguments(where, equal, filter=filter, consistent=consistent, now=now)
        return await self._run(query.count(self.schema, self.table, cls, query_arguments))

    async def collect(
        self,
        classes: tuple[type, ...],
        where: Where[Any] | None = None,
        /,
        *,
        roles: Roles | None = None,
        filters: Filters | None = None,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> Collection:
        """Return objects of several classes that share a partition, such as a user and its orders, with one query.

        A range in `where` uses the attributes of the first class, and has to be in the keys of all classes. An `Order`
        with an entity sorts the items of that entity. The other arguments are those of `query`.

        If a class has another name for an attribute, give it in `roles`: `roles={User: {"user_id": "id"}}`.
        `filters` leaves out objects of a class after they are read: `filters={Order: lambda o: o.status == "OPEN"}`.
        """
        query_arguments = QueryArguments(
            where, equal, order, reverse, limit, after, None, consistent, now, None, self._cursors, unreadable == "keep"
        )
        return await self._run(query.collect(self.schema, self.table, classes, query_arguments, roles, filters))

    @overload
    async def get_many(
        self,
        cls: type[E],
        keys: Iterable[Mapping[str, Any]],
        /,
        *,
        consistent: bool = False,
        into: None = None,
        progress: Progress | None = None,
        unreadable: Literal["raise"] = "raise",
    ) -> list[E | None]: ...
    @overload
    async def get_many(
        self,
        cls: type[Any],
        keys: Iterable[Mapping[str, Any]],
        /,
        *,
        into: type[V],
        consistent: bool = False,
        progress: Progress | None = None,
        unreadable: Literal["raise"] = "raise",
    ) -> list[V | None]: ...
    @overload
    async def get_many(
        self,
        cls: type[E],
        keys: Iterable[Mapping[str, Any]],
        /,
        *,
        unreadable: Literal["keep"],
        consistent: bool = False,
        into: None = None,
        progress: Progress | None = None,
    ) -> list[E | Unreadable | None]: ...
    @overload
    async def get_many(
        self,
        cls: type[Any],
        keys: Iterable[Mapping[str, Any]],
        /,
        *,
        into: type[V],
        unreadable: Literal["keep"],
        consistent: bool = False,
        progress: Progress | None = None,
    ) -> list[V | Unreadable | None]: ...
    async def get_many(
        self,
        cls: type[Any],
        keys: Iterable[Mapping[str, Any]],
        /,
        *,
        consistent: bool = False,
        into: type | None = None,
        progress: Progress | None = None,
        unreadable: WhenUnreadable = "raise",
    ) -> list[Any]:
        """Return the objects with these keys, in the order of the keys; None for a key without an object.

        `await db.get_many(User, [{"user_id": "1"}, {"user_id": "2"}])`. A request reads up to a hundred keys;
        `progress` is called with the number of keys that are read. With `unreadable="keep"`, an item that does not fit
        the class is returned as an `Unreadable`.
        """
        return await self._run(
            batch_get.get_many(self.schema, self.table, cls, keys, consistent, into, progress, unreadable == "keep")
        )

    @overload
    async def get_together(self, first: Get[A], /) -> tuple[A | None]: ...
    @overload
    async def get_together(self, first: Get[A], second: Get[B], /) -> tuple[A | None, B | None]: ...
    @overload
    async def get_together(
        self, first: Get[A], second: Get[B], third: Get[C], /
    ) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def get_together(
        self, first: Get[A], second: Get[B], third: Get[C], fourth: Get[D], /
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    async def get_together(self, *gets: Get[E]) -> tuple[E | None, ...]: ...
    async def get_together(self, *gets: Get[Any]) -> tuple[Any, ...]:
        """Return up to a hundred objects as they are at one moment.

        `await db.get_together(Get(User, user_id="1"), Get(Order, order_id="7"))`
        """
        return await self._run(transact_get.get_together(self.schema, self.table, gets))

    @overload
    def everything(
        self,
        *,
        segments: int = 1,
        after: str | None = None,
        consistent: bool = False,
        hidden: bool = False,
        unreadable: WhenUnreadable = "raise",
    ) -> AsyncIterator[Page[Any]]: ...
    @overload
    def everything(
        self,
        cls: type[E],
        /,
        *classes: type[E],
        segments: int = 1,
        after: str | None = None,
        consistent: bool = False,
        hidden: bool = False,
        unreadable: WhenUnreadable = "raise",
    ) -> AsyncIterator[Page[E]]: ...
    async def everything(
        self,
        *classes: type[Any],
        segments: int = 1,
        after: str | None = None,
        consistent: bool = False,
        hidden: bool = False,
        unreadable: WhenUnreadable = "raise",
    ) -> AsyncIterator[Page[Any]]:
        """Yield all objects in the table, page by page and unordered: a Scan, which reads and bills every item.

        It is for jobs over all data, not for queries. With classes, only objects of these are returned, but all items
        are read. `segments` is the number of parts of the table that are read at the same time. `after` is the cursor
        of a page to continue after. `hidden` includes items that other reads hide, because they expired or are marked
        as deleted. With `unreadable="keep"`, items that do not fit their class are in the page's `unreadable`.
        """
        reading = scan.Scan(
            self.schema, self.table, classes, segments, consistent, after, hidden, self._cursors, unreadable == "keep"
        )
        while not reading.done:
            yield await self._run(reading.next())
