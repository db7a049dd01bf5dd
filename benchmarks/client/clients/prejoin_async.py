"""prejoin's async client over HTTP."""

from __future__ import annotations

from prejoin import AsyncClient
from prejoin.transport import Endpoint

from .prejoin_sync import SCHEMA, Order, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order as Given


class Async:
    is_async = True

    def __init__(self, url: str, table: str) -> None:
        self._endpoint = Endpoint(url)
        self._db = AsyncClient(SCHEMA, table, self._endpoint)

    async def open(self) -> None:
        """Nothing is opened before the first request."""

    def to_native(self, order: Given) -> Order:
        return Order(*order)

    async def get(self, user: str, number: int) -> Order | None:
        return await self._db.get(Order, user=user, number=number)

    async def query(self, user: str) -> list[Order]:
        return list(await self._db.query(Order, user=user))

    async def put(self, native: Order) -> None:
        await self._db.put(native)

    async def add(self, user: str, number: int) -> None:
        async with self._db.update(Order, user=user, number=number) as order:
            order.total += 1

    async def move(self, user: str, number: int, status: str) -> None:
        async with self._db.update(Order, user=user, number=number) as order:
            order.status = status

    async def transact(self, put: Order, add: tuple[str, int], check: tuple[str, int]) -> None:
        async with self._db.transaction() as transaction:
            transaction.put(put)
            with transaction.update(Order, user=add[0], number=add[1]) as order:
                order.total += 1
            transaction.check(Order, user=check[0], number=check[1])

    async def batch(self, native: list[Order]) -> None:
        await self._db.put_many(native)

    def row(self, found: Any) -> Row:
        return row(found)

    async def close(self) -> None:
        await self._endpoint.close_async()


connect = Async
