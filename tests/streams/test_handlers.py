"""Handlers of changes: their selection and order, and the failure report for Lambda."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from tests.streams.shop import SCHEMA, Order, User, shop

from prejoin import ArgumentError, Client, Embedded, SchemaError, StreamChange, StreamHandlers, UnknownAttribute


@pytest.fixture
def engine() -> Iterator[Embedded]:
    with Embedded() as engine:
        yield engine


def write_some(db: Client) -> None:
    db.insert(User("1", "a@b.com"))
    db.insert(Order("1", "o1", "NEW"))
    for status in ("PAID", "SHIPPED", "PAID"):
        with db.update(Order, read=True, user_id="1", order_id="o1") as order:
            order.status = status
    with db.update(Order, read=True, user_id="1", order_id="o1") as order:
        order.total = 5
    db.delete(Order, read=True, user_id="1", order_id="o1")


def records(engine: Embedded) -> list[dict[str, Any]]:
    db = shop(engine)
    stream = engine.changes("shop")
    write_some(db)
    return stream.read()


def test_handlers_are_chosen_by_entity_kind_attribute_and_transition(engine: Embedded) -> None:
    handlers = StreamHandlers(SCHEMA)
    seen: list[tuple[str, Any]] = []

    @handlers.on(User)
    def any_user(change: StreamChange[User]) -> None:
        seen.append(("user", change.kind))

    @handlers.on(Order, "insert", "delete")
    def came_or_left(change: StreamChange[Order]) -> None:
        seen.append(("order", change.kind))

    @handlers.changed(Order, "status")
    def status(change: StreamChange[Order]) -> None:
        assert change.new is not None
        seen.append(("status", change.new.status))

    @handlers.changed(Order, "status", before="PAID", after="SHIPPED")
    def shipped(change: StreamChange[Order]) -> None:
        assert change.new is not None
        seen.append(("shipped", change.new.order_id))

    assert handlers.handle(records(engine)) == 6  # all changes but that of the total
    assert seen == [
        ("user", "insert"),
        ("order", "insert"),
        ("status", "PAID"),
        ("status", "SHIPPED"),
        ("shipped", "o1"),
        ("status", "PAID"),
        ("order", "delete"),
    ]


def test_failure_is_reported_to_lambda_and_ends_the_batch(engine: Embedded, caplog: pytest.LogCaptureFixture) -> None:
    handlers = StreamHandlers(SCHEMA)
    handled: list[str] = []

    @handlers.changed(Order, "status")
    def status(change: StreamChange[Order]) -> None:
        assert change.new is not None
        if change.new.status == "SHIPPED" and len(handled) == 1:
            raise RuntimeError("no label")
        handled.append(change.new.status)

    event = {"Records": records(engine)}
    with caplog.at_level(logging.ERROR, "prejoin.streams"):
        (failure,) = handlers(event, None)["batchItemFailures"]
    assert handled == ["PAID"]
    assert "no label" in caplog.text
    # Lambda delivers the failed record and all later ones again.
    numbers = [record["dynamodb"]["SequenceNumber"] for record in event["Records"]]
    rest = event["Records"][numbers.index(failure["itemIdentifier"]) :]
    handled.append("first delivery")
    assert handlers({"Records": rest}) == {"batchItemFailures": []}
    assert handled == ["PAID", "first delivery", "SHIPPED", "PAID"]


def test_handle_raises_the_error_of_a_handler(engine: Embedded) -> None:
    handlers = StreamHandlers(SCHEMA)

    @handlers.on(User)
    def fails(change: StreamChange[User]) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        handlers.handle(records(engine))


def test_coroutine_functions_are_awaited(engine: Embedded) -> None:
    handlers = StreamHandlers(SCHEMA)
    seen: list[str] = []

    @handlers.on(Order)
    async def order(change: StreamChange[Order]) -> None:
        await asyncio.sleep(0)
        seen.append(change.kind)
        if change.kind == "delete":
            raise RuntimeError("no")

    found = records(engine)
    failures = asyncio.run(handlers.call_async({"Records": found}))["batchItemFailures"]
    assert seen == ["insert", *["update"] * 4, "delete"]
    assert len(failures) == 1
    with pytest.raises(RuntimeError, match="no"):
        asyncio.run(handlers.handle_async(found))
    with pytest.raises(ArgumentError, match="order is a coroutine function"):
        handlers.handle(found)


def test_wrong_rules_are_refused_when_they_are_declared() -> None:
    handlers = StreamHandlers(SCHEMA)
    with pytest.raises(SchemaError, match="int is not an entity"):
        handlers.on(int)
    with pytest.raises(UnknownAttribute):
        handlers.changed(Order, "state")
    with pytest.raises(ArgumentError, match="'modify' is not a kind of change"):
        handlers.on(Order, "modify")  # type: ignore[arg-type]
