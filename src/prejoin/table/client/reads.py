"""The reads of a client, for those who wait. Thin: what they do is in `asks`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from prejoin.table.lazy import Lazy
from prejoin.table.read import get as get_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from prejoin.keys import Order
    from prejoin.table.condition.record import Where
    from prejoin.table.conversation import Steps
    from prejoin.table.read import batch_get as get_many
    from prejoin.table.read import query as asks
    from prejoin.table.read import scan as everything
    from prejoin.table.read import transact_get as get_together
    from prejoin.table.read.cursor import Cursors
    from prejoin.table.read.decode import Unreadable
    from prejoin.table.read.page import Collection, Page
    from prejoin.table.read.plan import Roles
    from prejoin.table.read.transact_get import Get
    from prejoin.table.schema.schema import Schema
else:
    asks = Lazy("prejoin.table.read.query")
    everything = Lazy("prejoin.table.read.scan")
    get_many = Lazy("prejoin.table.read.batch_get")
    get_together = Lazy("prejoin.table.read.transact_get")

E = TypeVar("E")
V = TypeVar("V")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")

WhenUnreadable: TypeAlias = Literal["raise", "keep"]
"""What a read does about an item that does not fit its class: raise a CodecError, or keep it among `unreadable`."""

Progress: TypeAlias = "Callable[[int], None]"
"""Told, now and then, how many are done."""


class Reader(ABC):
    """The reads of a client that waits for its answers."""

    schema: Schema
    table: str
    _cursors: Cursors | None

    @abstractmethod
    def _run(self, steps: Steps[R]) -> R: ...

    @overload
    def get(self, cls: type[E], /, *, consistent: bool = False, into: None = None, **equal: Any) -> E | None: ...
    @overload
    def get(self, cls: type[Any], /, *, into: type[V], consistent: bool = False, **equal: Any) -> V | None: ...
    def get(self, cls: type[Any], /, *, consistent: bool = False, into: type | None = None, **equal: Any) -> Any:
        """One object by attributes that identify it: its key, or those of an index. None if there is none.

        `into` is a class with some of the attributes, if no others are wanted.
        """
        return self._run(get_one.get(self.schema, self.table, cls, equal, consistent, into))

    def exists(self, cls: type[Any], /, *, consistent: bool = False, **equal: Any) -> bool:
        """Whether there is an object with these attributes. Nothing of it is sent."""
        return self._run(get_one.exists(self.schema, self.table, cls, equal, consistent))

    @overload
    def query(
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
    def query(
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
    def query(
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
        """Objects by attributes that a key serves: equality by keywords, and by `where`, with a range there.

        They come in the order of the keys, or in `order` ("placed_at", "-placed_at"), which a key must give; `reverse`
        turns either round. Without `limit`, all of them. `filter` tests what was read and paid for. `into` is a class
        with some of the attributes, if no others are wanted; an index that holds no others may then serve. With
        `unreadable="keep"`, items that do not fit the class are in the page's `unreadable`, and no error.
        """
        asking = asks.Asking(
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
        return self._run(asks.query(self.schema, self.table, cls, asking))

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
    ) -> Iterator[Page[E]]: ...
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
    ) -> Iterator[Page[V]]: ...
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
        filter: Where[E] | None = None,  # noqa: A002
        consistent: bool = False,
        now: datetime | None = None,
        into: type | None = None,
        unreadable: WhenUnreadable = "raise",
        **equal: Any,
    ) -> Iterator[Page[Any]]:
        """The objects of a query, page after page, each read when it is wanted."""
        while True:
            asking = asks.Asking(
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
            page = self._run(asks.query(self.schema, self.table, cls, asking))
            yield page
            after = page.cursor
            if after is None:
                return

    def count(
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
        """How many objects a query would find. DynamoDB reads them all to count them, and so they are paid for."""
        asking = asks.Asking(where, equal, test=filter, consistent=consistent, now=now)
        return self._run(asks.count(self.schema, self.table, cls, asking))

    def collect(
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
        """Objects of several classes that lie side by side, in one query: a user with the orders.

        A range in `where` is by the first class, and has to lie in the keys of all of them. An `Order` with an entity
        sorts the items of that one among themselves.

        Where a class calls an attribute by another name, `roles` says so: `roles={User: {"user_id": "id"}}`.
        """
        asking = asks.Asking(
            where, equal, order, reverse, limit, after, None, consistent, now, None, self._cursors, unreadable == "keep"
        )
        return self._run(asks.collect(self.schema, self.table, classes, asking, roles))

    @overload
    def get_many(
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
    def get_many(
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
    def get_many(
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
    def get_many(
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
    def get_many(
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
        """Objects by their keys, in the order of these, None where there is none.

        `db.get_many(User, [{"user_id": "1"}, {"user_id": "2"}])`. A hundred go in one request; `progress` is told how
        many have been answered. With `unreadable="keep"`, an item that does not fit the class is an `Unreadable`.
        """
        return self._run(
            get_many.get_many(self.schema, self.table, cls, keys, consistent, into, progress, unreadable == "keep")
        )

    @overload
    def get_together(self, one: Get[A], /) -> tuple[A | None]: ...
    @overload
    def get_together(self, one: Get[A], two: Get[B], /) -> tuple[A | None, B | None]: ...
    @overload
    def get_together(self, one: Get[A], two: Get[B], three: Get[C], /) -> tuple[A | None, B | None, C | None]: ...
    @overload
    def get_together(
        self, one: Get[A], two: Get[B], three: Get[C], four: Get[D], /
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    def get_together(self, *gets: Get[E]) -> tuple[E | None, ...]: ...
    def get_together(self, *gets: Get[Any]) -> tuple[Any, ...]:
        """Objects as they are at one moment, up to a hundred: `db.get_together(Get(User, user_id="1"), Get(…))`."""
        return self._run(get_together.get_together(self.schema, self.table, gets))

    @overload
    def everything(
        self,
        *,
        segments: int = 1,
        after: str | None = None,
        consistent: bool = False,
        hidden: bool = False,
        unreadable: WhenUnreadable = "raise",
    ) -> Iterator[Page[Any]]: ...
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
    ) -> Iterator[Page[E]]: ...
    def everything(
        self,
        *classes: type[Any],
        segments: int = 1,
        after: str | None = None,
        consistent: bool = False,
        hidden: bool = False,
        unreadable: WhenUnreadable = "raise",
    ) -> Iterator[Page[Any]]:
        """Every object in the table, in no order, page after page: a Scan, which reads and pays for all there is.

        For work on all the data, never to answer a question. With classes, only objects of these are given back;
        what is read is the same. `segments` reads as many parts of the table side by side; a page's `cursor`, given as
        `after`, goes on after it. `hidden`: also what other reads do not show, as it is deleted or has expired.
        With `unreadable="keep"`, items that do not fit their class are in the page's `unreadable`, and no error.
        """
        scan = everything.Scan(
            self.schema, self.table, classes, segments, consistent, after, hidden, self._cursors, unreadable == "keep"
        )
        while not scan.done:
            yield self._run(scan.next())
