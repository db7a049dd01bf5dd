"""The consumer of an embedded engine skips nothing after a crash, and `once` handles each change once."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random

import pytest
from tests.streams.shop import SCHEMA, Order, Revenue, shop

from prejoin import Client, Embedded, StreamChange, StreamConsumer, StreamHandlers, add, once


class Crash(BaseException):
    """Ends a consumer at any point."""


def counting(db: Client, crash: Random | None = None) -> StreamHandlers:
    """Handlers that keep the number and sum of orders by status, with every change exactly once."""
    handlers = StreamHandlers(SCHEMA)

    @handlers.on(Order)
    def count(change: StreamChange[Order]) -> None:
        if crash and crash.random() < 0.2:
            raise Crash
        with once(db, change.id) as tx:
            for order, sign in ((change.old, -1), (change.new, 1)):
                if order is not None:
                    with tx.upsert(Revenue, status=order.status) as revenue:
                        revenue.orders = add(revenue.orders, sign)
                        revenue.total = add(revenue.total, sign * order.total)
        if crash and crash.random() < 0.2:
            raise Crash

    return handlers


def revenues(db: Client) -> dict[str, tuple[int, int]]:
    found = (db.get(Revenue, status=status) for status in ("NEW", "PAID"))
    return {one.status: (one.orders, one.total) for one in found if one}


def expected(db: Client) -> dict[str, tuple[int, int]]:
    orders = {status: db.query(Order, status=status).items for status in ("NEW", "PAID")}
    return {status: (len(found), sum(o.total for o in found)) for status, found in orders.items()}


def write_orders(db: Client, random: Random, count: int) -> None:
    for at in range(count):
        db.insert(Order("1", f"{at:03}", "NEW", random.randrange(9)))
        if random.random() < 0.5:
            with db.update(Order, read=True, user_id="1", order_id=f"{random.randrange(at + 1):03}") as order:
                order.status = random.choice(["NEW", "PAID"])


def test_every_change_counts_once_after_any_crash(tmp_path: Path) -> None:
    random = Random(7)
    checkpoint = tmp_path / "position"
    with Embedded(tmp_path / "shop.db") as engine:
        db = shop(engine)
        write_orders(db, random, 40)
        crashes = 0
        while True:
            consumer = StreamConsumer(engine, "shop", counting(db, random), checkpoint)
            try:
                consumer.run()
            except Crash:
                crashes += 1
            else:
                break
            if crashes == 60:  # from here on without crashes, so that it ends
                random = Random()
                StreamConsumer(engine, "shop", counting(db), checkpoint).run()
                break
        assert crashes > 3
        assert revenues(db) == expected(db)


def test_consumer_continues_where_another_one_ended(tmp_path: Path) -> None:
    seen: list[str] = []
    handlers = StreamHandlers(SCHEMA)

    @handlers.on(Order, "insert")
    def insert(change: StreamChange[Order]) -> None:
        assert change.new is not None
        seen.append(change.new.order_id)

    path = tmp_path / "shop.db"
    with Embedded(path) as engine:
        db = shop(engine)
        db.insert(Order("1", "a", "NEW"))
        assert StreamConsumer(engine, "shop", handlers, tmp_path / "position").run() == 1
    with Embedded(path) as engine:
        db = Client(SCHEMA, "shop", engine)
        db.insert(Order("1", "b", "NEW"))
        assert StreamConsumer(engine, "shop", handlers, tmp_path / "position").run() == 1
        assert seen == ["a", "b"]
        assert StreamConsumer(engine, "shop", handlers).run() == 2  # without a checkpoint from the oldest change
    assert sorted(path.name for path in tmp_path.iterdir() if "position" in path.name) == ["position"]


def test_consumer_waits_for_changes_until_it_is_stopped() -> None:
    stop = threading.Event()
    handlers = StreamHandlers(SCHEMA)

    @handlers.on(Order)
    def last(change: StreamChange[Order]) -> None:
        if change.new and change.new.order_id == "z":
            stop.set()

    with Embedded() as engine:
        db = shop(engine)
        consumer = StreamConsumer(engine, "shop", handlers)
        thread = threading.Thread(target=consumer.run, args=(stop, 0.01))
        thread.start()
        for order_id in "xyz":
            db.insert(Order("1", order_id, "NEW"))
        thread.join()
    assert stop.is_set()


def test_damaged_checkpoint_is_an_error(tmp_path: Path) -> None:
    checkpoint = tmp_path / "position"
    checkpoint.write_text("no position")
    with Embedded() as engine:
        shop(engine)
        with pytest.raises(ValueError, match="'no position' is not a position in a stream"):
            StreamConsumer(engine, "shop", StreamHandlers(SCHEMA), checkpoint)
