"""Batches: 25 at a time, in order, complete, without repetitions, and refused if a write needs a condition."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.place import fresh

from prejoin import (
    AsyncClient,
    Call,
    Client,
    ConditionFailed,
    Copy,
    Entity,
    Index,
    Key,
    PartlyWritten,
    Schema,
    Timestamps,
    TooMany,
    Unique,
    UnknownValue,
    Unprocessed,
    Version,
)
from prejoin.protocol.errors import DynamoDBError

TIME = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Event:
    day: str
    number: int
    text: str = ""
    kind: str | None = None


@dataclass
class Photo:
    album: str
    photo_id: str
    title: str = ""


@dataclass
class User:
    user_id: str
    email: str


@dataclass
class Stamped:
    stamp_id: str
    updated_at: datetime | None = None


@dataclass
class Draft:
    draft_id: str
    version: int = 0


SCHEMA = Schema(
    Entity(Event, Key("DAY#{day}", "EVENT#{number:04d}"), indexes={"gsi1": Key("KIND#{kind}", "{day}#{number}")}),
    Entity(
        Photo, Key("ALBUM#{album}", "PHOTO#{photo_id}"), patterns=[Copy("all", Key("PHOTOS", "{album}#{photo_id}"))]
    ),
    Entity(User, Key("USER#{user_id}", "USER"), patterns=[Unique("email")]),
    Entity(Draft, Key("DRAFT#{draft_id}", "DRAFT"), patterns=[Version()]),
    Entity(Stamped, Key("STAMP#{stamp_id}", "S"), patterns=[Timestamps(created=None, clock=lambda: TIME)]),
    indexes=[Index("gsi1")],
)


class Busy:
    """An engine that processes only some of a batch, like a throttled table."""

    def __init__(self, takes: int = 1000) -> None:
        self.engine = fresh()
        self.takes = takes
        self.sizes: list[int] = []
        self.throttled = 0

    def send(self, operation: str, body: bytes) -> bytes:
        if operation != "BatchWriteItem":
            return self.engine.send(operation, body)
        asked = msgspec.json.decode(body)
        ((table, requests),) = asked["RequestItems"].items()
        self.sizes.append(len(requests))
        if self.throttled:
            self.throttled -= 1
            raise DynamoDBError("ProvisionedThroughputExceededException", "too busy")
        # It takes those in the middle, so that the rest is neither the first nor the last ones.
        at = max(0, (len(requests) - self.takes) // 2)
        taken = requests[at : at + self.takes]
        left = [request for request in requests if request not in taken]
        if taken:
            asked["RequestItems"] = {table: taken}
            self.engine.send(operation, msgspec.json.encode(asked))
        return msgspec.json.encode({"UnprocessedItems": {table: left} if left else {}})

    async def send_async(self, operation: str, body: bytes) -> bytes:
        return self.send(operation, body)


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []
    monkeypatch.setattr("time.sleep", found.append)
    return found


def client(transport: Any, **more: Any) -> Client:
    db = Client(SCHEMA, "events", transport, **more)
    db.create_table()
    return db


def events(count: int) -> list[Event]:
    return [Event("d", number, f"text {number}", "k" if number % 2 else None) for number in range(count)]


def test_many_are_put_25_at_a_time_with_all_their_keys() -> None:
    transport = Busy()
    db = client(transport)
    reported: list[int] = []
    assert db.put_many(iter(events(60)), progress=reported.append) == 60
    assert transport.sizes == [25, 25, 10]
    assert reported == [25, 50, 60]
    assert list(db.query(Event, day="d")) == events(60)
    assert [event.number for event in db.query(Event, kind="k")] == list(range(1, 60, 2))
    db.put_many([Event("d", 1, kind=None)])
    assert len(db.query(Event, kind="k")) == 29, "it has left the index"
    assert db.put_many([]) == 0


def test_unprocessed_keys_are_sent_again_until_done(sleeps: list[float]) -> None:
    transport = Busy(takes=7)
    db = client(transport)
    assert db.put_many(events(30)) == 30
    assert list(db.query(Event, day="d")) == events(30)
    assert transport.sizes == [25, 18, 11, 4, 5]
    assert len(sleeps) == 3
    transport.throttled = 2
    assert db.delete_many(Event, [{"day": "d", "number": number} for number in range(29)]) == 29
    assert list(db.query(Event, day="d")) == events(30)[29:]


def test_unprocessed_error_has_the_rest_to_write_later(sleeps: list[float]) -> None:
    transport = Busy(takes=10)
    db = client(transport)
    given = iter(events(60))

    def stopping() -> Iterator[Event]:
        for event in given:
            if event.number == 30:
                transport.takes = 0
            yield event

    with pytest.raises(Unprocessed, match="25 objects were written") as failed:
        db.put_many(stopping())
    assert failed.value.written == 25
    transport.takes = 1000
    assert db.put_many(failed.value.rest) == 35
    assert list(db.query(Event, day="d")) == events(60)


def test_pauses_grow_up_to_the_limit(sleeps: list[float]) -> None:
    transport = Busy(takes=0)
    db = client(transport)
    with pytest.raises(Unprocessed):
        db.put_many(events(1))
    assert len(sleeps) == 9
    assert all(0 <= pause <= min(5.0, 0.025 * 2 ** (at + 2)) for at, pause in enumerate(sleeps))


def test_later_of_two_puts_with_one_key_stays() -> None:
    transport = Busy()
    db = client(transport)
    db.put_many([Event("d", 1, "first"), Event("d", 2), Event("d", 1, "second"), Event("d", 1, "third")])
    assert transport.sizes == [2, 1, 1]
    assert db.get(Event, day="d", number=1) == Event("d", 1, "third")


def test_batch_of_several_entities_writes_copies_in_transactions() -> None:
    transport = Busy()
    calls: list[Call] = []
    db = client(transport, observe=calls.append)
    photos = [Photo("a", f"{number:02}") for number in range(51)]
    assert db.put_many([*events(2), *photos]) == 53
    assert transport.sizes == [2]
    assert [len(call.request["TransactItems"]) for call in calls if call.operation == "TransactWriteItems"] == [100, 2]
    photos = photos[:13]
    db.delete_many(Photo, [{"album": "a", "photo_id": str(number)} for number in range(13, 51)])
    assert list(db.query(Photo, album="a")) == photos
    answer = msgspec.json.decode(transport.send("Scan", b'{"TableName": "events"}'))
    assert answer["Count"] == 28
    db.delete_many(Photo, photos[:12])
    db.delete_many(Photo, [{"album": "a", "photo_id": "12"}])
    answer = msgspec.json.decode(transport.send("Scan", b'{"TableName": "events"}'))
    assert answer["Count"] == 2


def test_batch_that_needs_conditions_is_refused_before_writing() -> None:
    transport = Busy()
    db = client(transport)
    with pytest.raises(UnknownValue, match="may change email"):
        db.put_many([User("1", "a@b.com")])
    with pytest.raises(UnknownValue, match="needs the current value of email"):
        db.delete_many(User, [{"user_id": "1"}])
    with pytest.raises(TooMany, match=r"DAY#d / EVENT#0001 has 41\d,\d\d\d bytes, and the limit is 409,600"):
        db.put_many([Event("d", 1, "x" * 410_000)])
    assert transport.sizes == []


def test_known_values_are_checked_by_a_separate_call() -> None:
    db = client(fresh())
    db.put_many([Event("d", 1, "x"), Event("d", 2, "y")])
    with pytest.raises(PartlyWritten) as caught:
        db.delete_many(Event, [{"day": "d", "number": at, "text": "x"} for at in (1, 2)])
    assert [(one.position, type(one.error)) for one in caught.value.failures] == [(1, ConditionFailed)]
    assert [event.number for event in db.query(Event, day="d")] == [2]


def test_escaped_quotes_do_not_count_as_item_size() -> None:
    db = client(fresh())
    large = Event("d", 1, '"' * 300_000)
    db.put_many([large])
    assert db.get(Event, day="d", number=1) == large


def test_async_client_writes_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_sleep(seconds: float) -> None:
        return None

    async def main() -> Any:
        db = AsyncClient(SCHEMA, "events", Busy(takes=20))
        await db.create_table()
        monkeypatch.setattr("asyncio.sleep", no_sleep)
        await db.put_many(events(40))
        await db.delete_many(Event, events(39))
        return list(await db.query(Event, day="d"))

    assert asyncio.run(main()) == events(40)[39:]


def test_patterns_that_check_nothing_may_go_in_a_batch() -> None:
    db = client(fresh())
    db.put_many([Stamped("1")])
    assert db.get(Stamped, stamp_id="1") == Stamped("1", TIME)
