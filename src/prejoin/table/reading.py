"""The reads of a client, for those who wait and for those who await. Thin: what they do is in `asks`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

from prejoin.keys import Order

from . import asks
from .asking import Roles
from .conversation import Steps
from .core import Collection, Page
from .expressions import Where
from .schema import Schema

E = TypeVar("E")
R = TypeVar("R")


class Reader(ABC):
    """The reads of a client that waits for its answers."""

    schema: Schema
    table: str

    @abstractmethod
    def _run(self, steps: Steps[R]) -> R: ...

    def get(self, cls: type[E], /, *, consistent: bool = False, **equal: Any) -> E | None:
        """One object by attributes that identify it: its key, or those of an index. None if there is none."""
        return self._run(asks.get(self.schema, self.table, cls, equal, consistent))

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
        filter: Where[E] | None = None,  # noqa: A002 - the word for it, and the only place it stands
        consistent: bool = False,
        now: datetime | None = None,
        **equal: Any,
    ) -> Page[E]:
        """Objects by attributes that a key serves: equality by keywords, and by `where`, with a range there.

        They come in the order of the keys, or in `order` ("placed_at", "-placed_at"), which a key must give; `reverse`
        turns either round. Without `limit`, all of them. `filter` tests what was read and paid for.
        """
        return self._run(
            asks.query(
                self.schema,
                self.table,
                cls,
                where,
                equal,
                order=order,
                reverse=reverse,
                limit=limit,
                after=after,
                filter=filter,
                consistent=consistent,
                now=now,
            )
        )

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
        **equal: Any,
    ) -> Collection:
        """Objects of several classes that lie side by side, in one query: a user with the orders.

        A range in `where` is by the first class, and has to lie in the keys of all of them. An `Order` with an entity
        sorts the items of that one among themselves.

        Where a class calls an attribute by another name, `roles` says so: `roles={User: {"user_id": "id"}}`.
        """
        return self._run(
            asks.collect(
                self.schema,
                self.table,
                classes,
                where,
                equal,
                roles=roles,
                order=order,
                reverse=reverse,
                limit=limit,
                after=after,
                consistent=consistent,
                now=now,
            )
        )


class AsyncReader(ABC):
    """The reads of a client that is awaited; each as in `Reader`."""

    schema: Schema
    table: str

    @abstractmethod
    async def _run(self, steps: Steps[R]) -> R: ...

    async def get(self, cls: type[E], /, *, consistent: bool = False, **equal: Any) -> E | None:
        """As `Reader.get`."""
        return await self._run(asks.get(self.schema, self.table, cls, equal, consistent))

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
        filter: Where[E] | None = None,  # noqa: A002 - the word for it, and the only place it stands
        consistent: bool = False,
        now: datetime | None = None,
        **equal: Any,
    ) -> Page[E]:
        """As `Reader.query`."""
        return await self._run(
            asks.query(
                self.schema,
                self.table,
                cls,
                where,
                equal,
                order=order,
                reverse=reverse,
                limit=limit,
                after=after,
                filter=filter,
                consistent=consistent,
                now=now,
            )
        )

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
        **equal: Any,
    ) -> Collection:
        """As `Reader.collect`."""
        return await self._run(
            asks.collect(
                self.schema,
                self.table,
                classes,
                where,
                equal,
                roles=roles,
                order=order,
                reverse=reverse,
                limit=limit,
                after=after,
                consistent=consistent,
                now=now,
            )
        )
