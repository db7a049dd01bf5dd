"""Timestamps: kept by each write, and never by the caller."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest

from prejoin.engine import Embedded
from prejoin.patterns import Timestamps, Version
from prejoin.table import Changes, Client, Entity, Index, Key, Schema, SchemaError, TableError, UnknownValue

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
    """Each look at it is a minute later."""

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
    client = Client(Schema(entity, indexes=[Index("gsi1")]), "posts", Embedded())
    client.create_table()
    return client


def test_an_insert_and_a_put_return_the_object_with_its_times(db: Client) -> None:
    made = db.insert(Post("1", "ann", created_at=START))
    assert made == Post("1", "ann", "", minute(1), minute(1), 1)
    changed = db.put(replace(made, text="x"))
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


def test_an_upsert_keeps_when_it_was_made(db: Client) -> None:
    for text in ("a", "b"):
        with db.upsert(Post, post_id="1") as post:
            post.author, post.text = "ann", text
    assert db.get(Post, post_id="1") == Post("1", "ann", "b", minute(1), minute(2), 2)
    with pytest.raises(UnknownValue, match="which needs author"):
        db.apply(Post, Changes({"text": "x"}), post_id="2", upsert=True)


def test_times_are_not_for_the_caller_to_change(db: Client) -> None:
    db.insert(Post("1", "ann"))
    for name in ("created_at", "updated_at"):
        with pytest.raises(TableError, match=f"{name} of Post is kept by Timestamps"):
            db.apply(Post, Changes({name: START}), post_id="1")


def test_what_is_no_time_cannot_be_a_timestamp() -> None:
    with pytest.raises(SchemaError, match=r"Post\.text is to be a timestamp, and is not a datetime"):
        Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps(updated="text")]))
    with pytest.raises(SchemaError, match="changes with each update, and its key never does"):
        Schema(Entity(Post, Key("POST#{post_id}", "{updated_at}"), patterns=[Timestamps()]))


def test_the_time_is_the_present_one() -> None:
    client = Client(Schema(Entity(Post, Key("POST#{post_id}", "POST"), patterns=[Timestamps()])), "posts", Embedded())
    client.create_table()
    before = datetime.now(UTC)
    made = client.insert(Post("1", "ann"))
    assert made.created_at is not None
    assert before <= made.created_at <= datetime.now(UTC)
