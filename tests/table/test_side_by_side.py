"""Several requests for one query: concurrent if that saves time, merged in the order of the keys."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import fresh
from tests.table.both import AsyncAsSync

from prejoin import AsyncClient, Client, Entity, Index, Key, Schema, between
from prejoin.protocol.errors import DynamoDBError

T = datetime(2026, 5, 4, tzinfo=UTC)
SHARDS = 4


@dataclass(frozen=True)
class Event:
    event_id: str
    at: datetime
    kind: str
    text: str = ""


SCHEMA = Schema(
    Entity(
        Event,
        Key("EVENT#{event_id}", "EVENT"),
        indexes={
            "sharded": Key("KIND#{kind}#{event_id:shard(4)}", "{at}"),
            "daily": Key("DAY#{at:day}#{event_id:shard(2)}", "{at}"),
        },
    ),
    indexes=[Index("sharded"), Index("daily")],
)


class Meeting:
    """A slow DynamoDB: it answers queries only when the expected number of concurrent ones has arrived."""

    concurrent = True

    def __init__(self, parties: int) -> None:
        self.engine = fresh()
        self.barrier = threading.Barrier(parties)
        self.waiting = 0
        self.parties = parties
        self.all_here: asyncio.Event | None = None

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "Query":
            self.barrier.wait(timeout=10)
        return self.engine.send(operation, body)

    async def send_async(self, operation: str, body: bytes) -> bytes:
        if operation == "Query":
            self.all_here = self.all_here or asyncio.Event()
            self.waiting += 1
            if self.waiting == self.parties:
                self.all_here.set()
            await asyncio.wait_for(self.all_here.wait(), timeout=10)
        return self.engine.send(operation, body)


def filled(transport: Any, events: list[Event]) -> None:
    db = Client(SCHEMA, "shop", transport)
    db.create_table()
    for event in events:
        db.insert(event)


EVENTS = [Event(f"e{number}", T + timedelta(hours=number), "click") for number in range(24)]


def test_shards_are_read_by_threads_where_waiting_takes_long() -> None:
    transport = Meeting(SHARDS)
    filled(transport, EVENTS)
    assert list(Client(SCHEMA, "shop", transport).query(Event, kind="click")) == EVENTS


def test_shards_are_awaited_together() -> None:
    transport = Meeting(SHARDS)
    filled(transport, EVENTS)
    db: Any = AsyncAsSync(AsyncClient(SCHEMA, "shop", transport))
    assert list(db.query(Event, kind="click")) == EVENTS


def test_days_are_read_ahead_where_all_are_wanted() -> None:
    transport = Meeting(2 * 2)
    filled(transport, EVENTS)
    db = Client(SCHEMA, "shop", transport)
    found = db.query(Event, lambda e: between(e.at, T, T + timedelta(days=1)), order="-at")
    assert list(found) == EVENTS[::-1]


class Failing(Meeting):
    """A DynamoDB where the query of one shard fails."""

    def send(self, operation: str, body: bytes) -> bytes:
        answer = super().send(operation, body)
        if operation == "Query" and b"#2" in body:
            raise DynamoDBError("ProvisionedThroughputExceededException", "too much")
        return answer


def test_parallel_failure_is_raised_after_all_answers() -> None:
    transport = Failing(SHARDS)
    filled(transport, EVENTS)
    with pytest.raises(DynamoDBError, match="too much"):
        Client(SCHEMA, "shop", transport).query(Event, kind="click")
    assert transport.barrier.n_waiting == 0


class Small:
    """A DynamoDB with small pages, so that shards end at different times."""

    def __init__(self, most: int) -> None:
        self.engine = fresh()
        self.most = most

    def send(self, operation: str, body: bytes) -> bytes:
        if operation == "Query":
            request = msgspec.json.decode(body)
            request["Limit"] = min(self.most, request.get("Limit", self.most))
            body = msgspec.json.encode(request)
        return self.engine.send(operation, body)


@given(
    hours=st.lists(st.integers(0, 30), max_size=30),
    page=st.integers(1, 4),
    limit=st.none() | st.integers(1, 7),
    reverse=st.booleans(),
    odd=st.none() | st.booleans(),
)
def test_merged_pages_are_a_filter_and_a_sort(
    hours: list[int], page: int, limit: int | None, reverse: bool, odd: bool | None
) -> None:
    events = [
        Event(f"e{number}", T + timedelta(hours=hour), "click", "odd" if hour % 2 else "even")
        for number, hour in enumerate(hours)
    ]
    transport = Small(page)
    filled(transport, events)
    db = Client(SCHEMA, "shop", transport)
    text = "odd" if odd else "even"
    test = None if odd is None else lambda e: e.text == text
    found: list[Event] = []
    cursor: str | None = None
    while True:
        part = db.query(Event, kind="click", limit=limit, after=cursor, reverse=reverse, filter=test)
        assert limit is None or len(part) <= limit
        found += part
        cursor = part.cursor
        if cursor is None:
            break
    expected = [event for event in events if odd is None or event.text == text]
    assert sorted(found, key=repr) == sorted(expected, key=repr), "each once"
    assert [event.at for event in found] == sorted((event.at for event in expected), reverse=reverse)
