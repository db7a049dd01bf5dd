"""The reads of a client, for those who await. Thin: what they do is in `asks`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeVar, overload

from prejoin.keys import Order
from prejoin.table.condition.record import Where
from prejoin.table.conversation import Steps
from prejoin.table.read import get as get_one
from prejoin.table.read import query as asks
from prejoin.table.read.batch_get import get_many
from prejoin.table.read.cursor import Cursors
from prejoin.table.read.decode import Unreadable
from prejoin.table.read.page import Collection, Page
from prejoin.table.read.plan import Roles
from prejoin.table.read.query import Asking
from prejoin.table.read.scan import Scan
from prejoin.table.read.transact_get import Get, get_together
from prejoin.table.schema.schema import Schema

from .reads import Progress, WhenUnreadable

E = TypeVar("E")
V = TypeVar("V")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class AsyncReader(ABC):
    """The reads of a client that is awaited; each as in `Reader`."""

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
        """As `Reader.get`."""
        return await self._run(get_one.get(self.schema, self.table, cls, equal, consistent, into))

    async def exists(self, cls: type[Any], /, *, consistent: bool = False, **equal: Any) -> bool:
        """As `Reader.exists`."""
        return await self._run(get_one.exists(self.schema, self.table, cls, equal, consistent))

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
        """As `Reader.query`."""
        asking = Asking(
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
        return await self._run(asks.query(self.schema, self.table, cls, asking))

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
        """As `Reader.pages`."""
        while True:
            asking = Asking(
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
            page = await self._run(asks.query(self.schema, self.table, cls, asking))
            yield page
            after = page.cursor
            if after is None:
                return

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
        """As `Reader.count`."""
        asking = Asking(where, equal, test=filter, consistent=consistent, now=now)
        return await self._run(asks.count(self.schema, self.table, cls, asking))

    async def collect(
        self,
        classes: tuple[type, ...],
        where: Where[Any] | None = None,
        /,
        *,
        roles: Roles | None = None,
        order: str | Iterable[str | Order] = (),
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
        consistent: bool = False,
        now: datetime | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> Collection:
        """As `Reader.collect`."""
        asking = Asking(
            where, equal, order, reverse, limit, after, None, consistent, now, None, self._cursors, unreadable == "keep"
        )
        return await self._run(asks.collect(self.schema, self.table, classes, asking, roles))

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
        """As `Reader.get_many`."""
        return await self._run(
            get_many(self.schema, self.table, cls, keys, consistent, into, progress, unreadable == "keep")
        )

    @overload
    async def get_together(self, one: Get[A], /) -> tuple[A | None]: ...
    @overload
    async def get_together(self, one: Get[A], two: Get[B], /) -> tuple[A | None, B | None]: ...
    @overload
    async def get_together(self, one: Get[A], two: Get[B], three: Get[C], /) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def get_together(
        self, one: Get[A], two: Get[B], three: Get[C], four: Get[D], /
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    async def get_together(self, *gets: Get[E]) -> tuple[E | None, ...]: ...
    async def get_together(self, *gets: Get[Any]) -> tuple[Any, ...]:
        """As `Reader.get_together`."""
        return await self._run(get_together(self.schema, self.table, gets))

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
        one: type[E],
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
        """As `Reader.everything`."""
        scan = Scan(
            self.schema, self.table, classes, segments, consistent, after, hidden, self._cursors, unreadable == "keep"
        )
        while not scan.done:
            yield await self._run(scan.next())
