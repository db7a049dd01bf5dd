"""One test for both clients: the awaited one, waited for, so that it is called as the other is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, cast

import pytest

from prejoin.engine import Embedded
from prejoin.table import AsyncClient, Call, Client, Schema


class Awaited:
    """An AsyncClient whose calls are waited for, and whose pages are all read."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            found = method(*args, **kwargs)
            if inspect.isasyncgen(found):
                return iter(asyncio.run(_listed(found)))
            return asyncio.run(found) if inspect.iscoroutine(found) else found

        return call if callable(method) else method


async def _listed(pages: Any) -> list[Any]:
    return [page async for page in pages]


Connect = Callable[..., Client]
"""Makes a client of a schema, in a table that is there; further arguments are those of the client."""


def waiting(schema: Schema, transport: Any = None, **more: Any) -> Client:
    db = Client(schema, "shop", transport or Embedded(), **more)
    db.create_table()
    return db


def awaited(schema: Schema, transport: Any = None, **more: Any) -> Client:
    waiting(schema, transport := transport or Embedded())
    return cast("Client", Awaited(AsyncClient(schema, "shop", transport, **more)))


both = pytest.mark.parametrize("connect", [waiting, awaited])


class Watched:
    """A list of calls, and a sentence for each."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def said(self) -> list[tuple[str, str, str, int]]:
        return [(call.operation, call.index, call.key, call.items) for call in self.calls]
