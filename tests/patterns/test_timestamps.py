"""Timestamps are set by each write, never by the caller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.patterns.faults import in_threads, made, with_every_fault
from tests.place import fresh

from prejoin import (
    Call,
    Changes,
    Client,
    Entity,
    Index,
    Key,
    Schema,
    SchemaError,
    TableError,
    Timestamps,
    UnknownValue,
    Version,
)

START = datetime(2026, 5, 4, tzinfo=UTC)


@dataclass
class Post:
    post_id: str
    author: str
    text: str = ""
    created_at: datetime | None = None
    updated_at: datetime = START
    version: int = 0


class Clock:
    """A clock that advances a minute at each call."""

    def __init__(self) -> None:
        self.minutes = 0

    def __call__(self) -> datetime:
        self.minutes += 1
        return minute(self.minutes)


def minute(count: int) -> datetime:
    return START + timedelta(minutes=count)


@pytest.fixture
def db() -> Client:
    entity = Entity(
        Post,
        Key("POST#{post_id}", "POST"),
        indexes={"gsi1": Key("AUTHOR#{author}", "{updated_at}")},
        patterns=[Timestamps(clock=Clock()), Version()],
    )
    client = Client(Schema(entity, indexes=[Index("gsi1")]), "posts", fresh())
    client.create_table()
    return client


def test_an_insert_and_a_put_return_the_object_with_its_times(db: Client) -> None:
    first = db.insert(Post("1", "ann", created_at=START))
    assert first == Post("1", "ann", "", minute(1), minute(1), 1)
    changed = db.put(replace(first, text="x"))
    assert changed == Post("1", "ann", "x", minute(1), minute(2), 2)
    assert db.get(Post, post_id="1") == changed


def test_an_update_moves_the_item_in_an_index_by_time(db: Client) -> None:
    db.insert(Post("1", "ann"))
    db.insert(Post("2", "ann"))
    db.apply(Post, Changes({"text": "x"}), post_id="1")
    assert [post.post_id for post in db.query(Post, author="ann")] == ["2", "1"]
    found = db.get(Post, post_id="1")
    assert found is not None
    assert (found.created_at, found.updated_at) == (minute(1), minute(3))


def test_upsert_keeps_the_creation_time(db: Client) -> None:
    for text in ("a", "b"):
        with db.upsert(Post, post_id="1") as post:
            post.author, post.text = "ann", text
    assert db.get(Post, post_id="1") == Post("1", "ann", "b", minute(1), minute(2), 2)
    with pytest.raises(UnknownValue, match="which needs author"):
        db.apply(Post, Changes({"text": "x"}), post_id="2", upsert=True)


def test_caller_cannot_set_timestamps(db: Client) -> None:
    db.insert(Post("1", "ann"))
    for name in ("created_at", "updated_at"):
        with pytest.raises(TableError, match=f"{name} is maintained by Timestamps"):
            db.apply(Post, Changes({name: START}), post_id="1")


def test_timestamp_must_be_a_time() -> None:
    with pytest.raises(SchemaError, match=r"Post\.text is a timestamp, and must be a datetime"):
        Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps(updated="text")]))
    with pytest.raises(SchemaError, match="changes with each update, and cannot be part of its key"):
        Schema(Entity(Post, Key("POST#{post_id}", "{updated_at}"), patterns=[Timestamps()]))


def test_the_time_is_the_present_one() -> None:
    client = Client(Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps()])), "posts", fresh())
    client.create_table()
    before = datetime.now(UTC)
    made = client.insert(Post("1", "ann"))
    assert made.created_at is not None
    assert before <= made.created_at <= datetime.now(UTC)


def test_in_transactions_and_batches_too(db: Client) -> None:
    with db.transaction() as tx:
        first = tx.insert(Post("1", "ann"))
        tx.insert(Post("2", "bob"))
    assert db.get(Post, post_id="1") == first == Post("1", "ann", "", minute(1), minute(1), 1)
    plain = Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps(clock=Clock())]))
    other = made(plain, fresh())
    other.put_many([Post("1", "ann"), Post("2", "bob")])
    assert [one and one.created_at for one in other.get_many(Post, [{"post_id": one} for one in "12"])] == [
        minute(1),
        minute(2),
    ]


def test_concurrent_writes_leave_the_time_of_the_last_one() -> None:
    schema = Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps()]))
    db = made(schema, fresh())
    first = db.insert(Post("1", "ann"))

    def write(number: int) -> Post:
        return db.apply(Post, Changes({"text": str(number)}), post_id="1", returning="new")

    written = in_threads(6, write)
    last = db.get(Post, post_id="1", consistent=True)
    assert last in written
    assert {one.created_at for one in written} == {first.created_at}


def test_items_have_times_after_any_lost_request() -> None:
    schema = Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps()]))

    def begin() -> Any:
        transport = fresh()
        made(schema, transport)
        return transport

    def act(transport: Any) -> None:
        Client(schema, "shop", transport).apply(
            Post, Changes({"text": "x", "author": "ann"}), post_id="1", upsert=True, read=True
        )

    def check(transport: Any) -> None:
        before = Client(schema, "shop", transport).get(Post, post_id="1")
        act(transport)
        after = Client(schema, "shop", transport).get(Post, post_id="1")
        assert after is not None
        assert after.created_at is not None
        assert before is None or (before.created_at == after.created_at and before.updated_at <= after.updated_at)

    assert with_every_fault(begin, act, check) == 4


def test_pattern_adds_no_units() -> None:
    calls: list[Call] = []
    schema = Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps()]))
    db = Client(schema, "shop", fresh(), observe=calls.append)
    db.create_table()
    calls.clear()
    post = db.insert(Post("1", "ann"))
    db.put(post)
    db.apply(Post, Changes({"text": "x"}), post_id="1")
    assert [(call.operation, call.units) for call in calls] == [("PutItem", 1), ("PutItem", 1), ("UpdateItem", 1)]
