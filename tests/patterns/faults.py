"""Faults between the requests of a write, concurrent writers, and a check of copies and guards.

`with_every_fault` repeats a write and loses one request after the other; `in_threads` and `in_processes` run concurrent
writers (those `on_a_file` only on the embedded engine); `wrong` compares all items of a table with the expected ones.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
from tests.place import PLACE

from prejoin import Client, Schema
from prejoin.keys import TABLE
from prejoin.table.schema.bind import facet_tag
from prejoin.transport import AsyncTransport, Transport

on_a_file = pytest.mark.skipif(bool(PLACE), reason="it is about files of the embedded engine, wherever the others run")


class Lost(Exception):  # noqa: N818 - it is not known to be one
    """The request was not sent, or its response was lost."""


class Faulty:
    """A transport that loses its n-th request (from 1), `applied` or not, and all later ones."""

    def __init__(self, inner: Transport, at: int, applied: bool) -> None:
        self._inner = inner
        self._at = at
        self._applied = applied
        self.sent = 0

    @property
    def lost(self) -> bool:
        return self.sent >= self._at

    def send(self, operation: str, body: bytes) -> bytes:
        self.sent += 1
        if not self.lost:
            return self._inner.send(operation, body)
        if self.sent == self._at and self._applied:
            self._inner.send(operation, body)
        raise Lost(f"{operation}, the {self.sent}. request")

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


def with_every_fault(
    begin: Callable[[], Any], act: Callable[[Any], object], check: Callable[[Any], object], most: int = 60
) -> int:
    """Runs `act` once for each of its requests, loses that request, and checks the table.

    `begin` makes a transport with the initial items, `act` writes through a faulty transport, `check` reads through the
    one without faults. Returns the number of lost requests, both applied and not applied.
    """
    lost = 0
    for applied in (False, True):
        for at in range(1, most):
            transport = begin()
            faulty = Faulty(transport, at, applied)
            try:
                act(faulty)
            except Lost:
                lost += 1
            check(transport)
            if not faulty.lost:
                break
        else:
            raise AssertionError(f"more than {most} requests")
    return lost


def in_threads(count: int, write: Callable[[int], Any]) -> list[Any]:
    """Runs `write` for each number in concurrent threads, and returns the results."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(write, range(count)))


def in_processes(count: int, write: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Runs `write(number, *arguments)`, a function of a module, in concurrent processes."""
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        return pool.starmap(write, [(number, *arguments) for number in range(count)])


def items(transport: Transport, table: str) -> Iterator[dict[str, Any]]:
    """All items of a table as they are stored."""
    start: dict[str, Any] = {}
    while True:
        body = {"TableName": table, "ConsistentRead": True, **start}
        answer = msgspec.json.decode(transport.send("Scan", msgspec.json.encode(body)))
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def wrong(schema: Schema, transport: Transport, table: str = "shop") -> list[str]:
    """The missing, superfluous and wrong items of a table.

    Expected are the items that patterns derive from an item, such as copies and guards; counters are not checked.
    """
    names = schema.keys(TABLE).names
    found = {_key(item, names): item for item in items(transport, table)}
    expected: dict[tuple[str, ...], dict[str, Any]] = {}
    problems: list[str] = []
    for item in found.values():
        entity = schema.by_tag.get(item[schema.type_attribute]["S"])
        if entity is None:
            continue
        values = entity.codec.values(entity.codec.decode(item))
        for pattern in entity.patterns:
            for one in pattern.expected(schema, values):
                if _key(one, names) in expected:
                    problems.append(f"{_key(one, names)} is to be there for two items")
                expected[_key(one, names)] = one
    kept = {facet_tag(facet) for entity in schema.entities for one in entity.patterns for facet in one.facets}
    for key in sorted({*found, *expected}):
        there = found.get(key)
        if there is not None and there[schema.type_attribute]["S"] not in kept:
            continue
        if there != expected.get(key):
            problems.append(f"{' / '.join(key)} is {there}, and should be {expected.get(key)}")
    return problems


def is_right(schema: Schema, table: str = "shop") -> Callable[[Any], None]:
    """A check for `with_every_fault`: exactly the expected copies and guards exist."""

    def check(transport: Any) -> None:
        assert wrong(schema, transport, table) == []

    return check


def _key(item: dict[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(next(iter(item[name].values())) for name in names)


def made(schema: Schema, transport: Transport | AsyncTransport, table: str = "shop") -> Client:
    """Creates a table and returns its client."""
    db = Client(schema, table, transport)  # type: ignore[arg-type]
    db.create_table()
    return db
