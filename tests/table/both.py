"""Runs one test with both clients: the async one behind the methods of the sync one."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from tests.place import fresh

from prejoin import AsyncClient, Call, Client, Schema


class AsyncAsSync:
    """An AsyncClient whose calls block, and whose pages are all read. `run` runs a coroutine."""

    def __init__(self, client: AsyncClient, run: Callable[[Any], Any] = asyncio.run) -> None:
        self._client = client
        self._run = run

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            found = method(*args, **kwargs)
            if inspect.isasyncgen(found):
                return iter(self._run(_listed(found)))
            if hasattr(found, "__aenter__"):
                return self._entered(found)
            return self._run(found) if inspect.iscoroutine(found) else found

        return call if callable(method) else method

    @contextmanager
    def _entered(self, awaited: Any) -> Iterator[Any]:
        """An update or a transaction as a `with` block. An exception in it writes nothing."""
        inside = self._run(awaited.__aenter__())
        yield inside
        self._run(awaited.__aexit__(None, None, None))


async def _listed(pages: Any) -> list[Any]:
    return [page async for page in pages]


Connect = Callable[..., Client]
"""Makes a client for a schema and creates the table. Further arguments are those of the client."""


def waiting(schema: Schema, transport: Any = None, **more: Any) -> Client:
    db = Client(schema, "shop", transport or fresh(), **more)
    db.create_table()
    return db


def awaited(schema: Schema, transport: Any = None, **more: Any) -> Client:
    waiting(schema, transport := transport or fresh())
    return cast("Client", AsyncAsSync(AsyncClient(schema, "shop", transport, **more)))


both = pytest.mark.parametrize("connect", [waiting, awaited])


class Watched:
    """Observes the calls of a client."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, call: Call) -> None:
        self.calls.append(call)

    @property
    def said(self) -> list[tuple[str, str, str, int]]:
        return [(call.operation, call.index, call.key, call.items) for call in self.calls]
