"""aiodynamo on aiohttp: dictionaries of Python's values in and out."""

from __future__ import annotations

from aiodynamo.client import Client
from aiodynamo.credentials import EnvironmentCredentials
from aiodynamo.expressions import F, HashKey
from aiodynamo.http.aiohttp import AIOHTTP
from aiodynamo.models import BatchWriteRequest
from aiodynamo.operations import ConditionCheck, Put, Update
from aiohttp import ClientSession
from yarl import URL

from client.items import index_pk, item, pk, row, sk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order


class Table:
    is_async = True

    def __init__(self, url: str, table: str) -> None:
        self._url, self._name = url, table

    async def open(self) -> None:
        self._session = ClientSession()
        http = AIOHTTP(self._session)
        self._client = Client(http, EnvironmentCredentials(), "us-east-1", URL(self._url))
        self._table = self._client.table(self._name)

    def to_native(self, order: Order) -> dict[str, Any]:
        return item(order)

    async def get(self, user: str, number: int) -> Any:
        return await self._table.get_item(_key(user, number))

    async def query(self, user: str) -> list[Any]:
        return [one async for one in self._table.query(HashKey("pk", pk(user)))]

    async def put(self, native: dict[str, Any]) -> None:
        await self._table.put_item(native)

    async def add(self, user: str, number: int) -> None:
        await self._table.update_item(_key(user, number), F("total").change(1), condition=F("pk").exists())

    async def move(self, user: str, number: int, status: str) -> None:
        changes = F("status").set(status) & F("gsi1pk").set(index_pk(status))
        await self._table.update_item(_key(user, number), changes, condition=F("pk").exists())

    async def transact(self, put: dict[str, Any], add: tuple[str, int], check: tuple[str, int]) -> None:
        exists = F("pk").exists()
        await self._client.transact_write_items(
            [
                Put(self._name, put),
                Update(self._name, _key(*add), F("total").change(1), exists),
                ConditionCheck(self._name, _key(*check), exists),
            ]
        )

    async def batch(self, native: list[dict[str, Any]]) -> None:
        for at in range(0, len(native), 25):
            left = native[at : at + 25]
            while left:
                result = await self._client.batch_write({self._name: BatchWriteRequest(items_to_put=left)})
                left = result[self._name].unput_items if self._name in result else []

    def row(self, found: Any) -> Row:
        return row(found)

    async def close(self) -> None:
        await self._session.close()


def _key(user: str, number: int) -> dict[str, str]:
    return {"pk": pk(user), "sk": sk(number)}


connect = Table
