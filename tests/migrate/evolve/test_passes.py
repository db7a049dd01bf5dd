"""Passes over a table on a server: several requests are under way at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from prejoin import Client, Embedded, RefusedError
from prejoin.migrate.evolve.items import evolution_of
from prejoin.migrate.evolve.record import record_place
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from prejoin.table.codec.values import Json
from tests.migrate.evolve.shop import copied, few, many, moved

_ORDERS = 60
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Server:
    """A transport that several threads use, and that counts the requests which are under way."""

    concurrent = True

    def __init__(self) -> None:
        self.engine = Embedded()
        self.most = 0
        self._under_way = 0
        self._lock = threading.Lock()

    def send(self, operation: str, body: bytes) -> bytes:
        with self._lock:
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        try:
            time.sleep(0.001)
            return self.engine.send(operation, body)
        finally:
            with self._lock:
                self._under_way -= 1


def filled(server: Server, version: CodeVersion) -> Client:
    client = Client(version.package.schema, "shop", server)
    client.create_table()
    for number in range(_ORDERS):
        order = {
            "orderId": f"o{number}",
            "userId": f"u{number % 3}",
            "placedAt": _BEGIN + timedelta(seconds=number),
            "status": "OPEN",
            "total": number,
        }
        client.insert(version.package.record("Order", order))
    return client


def as_texts(items: list[Json]) -> list[str]:
    return sorted(str(sorted(item.items())) for item in items)


@pytest.mark.parametrize(("old", "new"), [(few, moved), (few, many), (many, copied)])
def test_many_threads_do_the_same_work_as_one(
    old: Callable[[str], CodeVersion], new: Callable[[str], CodeVersion], tmp_path: Path
) -> None:
    transition = plan_transition(old("old"), new("new"))
    server = Server()
    client = filled(server, transition.old)
    for step in ("add_indexes", "backfill", "clean"):
        with evolution_of(transition, client, tmp_path) as evolution:
            result = getattr(evolution, step)()
        assert result.undecided == []
    assert server.most > 1

    alone = Embedded()
    package = transition.new.package
    expected = Client(package.schema, "shop", alone)
    expected.create_table()
    after = Client(package.schema, "shop", server)
    orders: list[Any] = [after.get(package.classes["Order"], order_id=f"o{number}") for number in range(_ORDERS)]
    assert [order.total for order in orders] == list(range(_ORDERS))
    for order in orders:
        expected.insert(order)
    items = [item for item in after.call("Scan")["Items"] if item["entityType"]["S"] != "prejoin.state"]
    assert as_texts(items) == as_texts(expected.call("Scan")["Items"])


def test_a_process_that_lost_its_hold_stops(tmp_path: Path) -> None:
    transition = plan_transition(few("old"), moved("new"))
    client = filled(Server(), transition.old)
    with evolution_of(transition, client, tmp_path) as evolution:
        evolution.add_indexes()
    with (
        pytest.raises(RefusedError, match="another process"),
        evolution_of(transition, client, tmp_path) as evolution,
    ):
        other = record_place(client, tmp_path)
        other.write(other.read())  # a machine that took over, because this one seemed to be dead
        evolution.backfill()
