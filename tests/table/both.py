"""One test for both clients: the awaited one, waited for, so that it is called as the other is."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from tests.place import fresh

from prejoin import AsyncClient, Call, Client, Schema


class Awaited:
    """An AsyncClient whose calls are waited for, and whose pages are all read. `run` is what waits."""

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
        """An update or a transaction, as a `with`; nothing is done where it is left by an exception."""
        inside = self._run(awaited.__aenter__())
        yield inside
        self._run(awaited.__aexit__(None, None, None))


async def _listed(pages: Any) -> list[Any]:
    return [page async for page in pages]


Connect = Callable[..., Client]
"""Makes a client of a schema, in a table that is there; further arguments are those of the client."""


def waiting(schema: Schema, transport: Any = None, **more: Any) -> Client:
    db = Client(schema, "shop", transport or fresh(), **more)
    db.create_table()
    return db


def awaited(schema: Schema, transport: Any = None, **more: Any) -> Client:
    waiting(schema, transport := transport or fresh())
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
