"""Partitions by time: one query over many of them, in order, in pages, that stops early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.place import fresh
from tests.table.both import Connect, Watched, both

from prejoin import Client, CursorError, Entity, Index, Key, NotServed, Page, Schema, between
from prejoin.engine import Embedded
from prejoin.keys.template.specs import buckets

T = datetime(2026, 3, 1, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@dataclass(frozen=True)
class Event:
    event_id: str
    at: datetime
    kind: str = "click"


def cut(partition: str, sort: str = "{at}") -> Schema:
    return Schema(
        Entity(Event, Key("EVENT#{event_id}", "EVENT"), {"gsi1": Key(partition, sort)}), indexes=[Index("gsi1")]
    )


DAILY = cut("DAY#{at:day}")
SPREAD = cut("DAY#{at:day}#{event_id:shard(3)}")


def events(*hours: float) -> list[Event]:
    return [Event(f"e{number}", T + timedelta(hours=hour)) for number, hour in enumerate(hours)]


def filled(schema: Schema, records: list[Event], transport: Any = None, **more: Any) -> Client:
    db = Client(schema, "shop", transport or fresh(), **more)
    db.create_table()
    db.put_many(records)
    return db


def pages(db: Client, since: datetime, until: datetime, **more: Any) -> Iterator[Page[Event]]:
    cursor: str | None = None
    while True:
        page = db.query(Event, lambda e: between(e.at, since, until), after=cursor, **more)
        yield page
        if (cursor := page.cursor) is None:
            return


HOURS = st.lists(st.integers(0, 24 * 12), max_size=30)


@pytest.mark.parametrize("schema", [DAILY, SPREAD], ids=["days", "days and shards"])
@given(
    hours=HOURS,
    since=st.integers(0, 280),
    length=st.integers(0, 280),
    limit=st.integers(1, 9),
    order=st.sampled_from(["at", "-at"]),
)
def test_range_over_days_equals_a_sort_in_pages(
    schema: Schema, hours: list[int], since: int, length: int, limit: int, order: str
) -> None:
    made = events(*hours)
    db = filled(schema, made, Embedded())
    low, high = T + since * HOUR, T + (since + length) * HOUR
    whole = list(db.query(Event, lambda e: between(e.at, low, high), order=order))
    inside = [event for event in made if low <= event.at <= high]
    assert sorted(whole, key=repr) == sorted(inside, key=repr)
    assert [event.at for event in whole] == sorted((event.at for event in inside), reverse=order == "-at")
    found = list(pages(db, low, high, limit=limit, order=order))
    assert [event for page in found for event in page] == whole
    assert all(len(page) == limit for page in found[:-1])
    assert db.count(Event, lambda e: between(e.at, low, high)) == len(whole)


@given(hours=HOURS, order=st.sampled_from(["at", "-at"]))
def test_cursor_at_any_position_continues_there(hours: list[int], order: str) -> None:
    db = filled(SPREAD, events(*hours), Embedded())
    end = T + 12 * DAY
    whole = list(db.query(Event, lambda e: between(e.at, T, end), order=order))
    for position in range(1, len(whole) + 1):
        page = db.query(Event, lambda e: between(e.at, T, end), order=order, limit=position)
        assert list(page) == whole[:position]
        if page.cursor:
            rest = db.query(Event, lambda e: between(e.at, T, end), order=order, after=page.cursor)
            assert list(rest) == whole[position:]


# How much is read


@both
def test_a_page_reads_no_more_days_than_it_needs(connect: Connect) -> None:
    watched = Watched()
    db = connect(DAILY, observe=watched)
    db.put_many(events(*range(24 * 30)))  # one an hour, for thirty days
    watched.calls.clear()
    until = T + 30 * DAY - HOUR
    page = db.query(Event, lambda e: between(e.at, T, until), order="-at", limit=30)
    assert len(page) == 30
    assert [call.key.split(" / ")[0] for call in watched.calls] == ["DAY#2026-03-30", "DAY#2026-03-29"]
    assert sum(call.items for call in watched.calls) == 30
    watched.calls.clear()
    db.query(Event, lambda e: between(e.at, T, until), order="-at", limit=5, after=page.cursor)
    assert [call.items for call in watched.calls] == [5]


class Rounds:
    """A DynamoDB that accepts concurrent requests, like a remote one."""

    concurrent = True

    def __init__(self) -> None:
        self.engine = Embedded()

    def send(self, operation: str, body: bytes) -> bytes:
        return self.engine.send(operation, body)


class Counting(Client):
    """A client that records the number of concurrent requests of each round."""

    rounds: list[int]

    def _several(self, step: Any) -> Any:
        self.rounds.append(len(step))
        return super()._several(step)


def test_days_that_hold_little_are_read_side_by_side_more_of_them_each_time() -> None:
    transport = Rounds()
    filled(DAILY, events(*(24 * day for day in range(0, 60, 4))), transport)  # one every fourth day
    db = Counting(DAILY, "shop", transport)
    db.rounds = []
    assert len(db.query(Event, lambda e: between(e.at, T, T + 60 * DAY), limit=10)) == 10
    assert db.rounds == [2, 4, 8, 16, 8], "never more than 16, nor than are likely to be needed"
    db.rounds.clear()
    assert not db.query(Event, lambda e: between(e.at, T + 61 * DAY, T + 91 * DAY), limit=10)
    assert db.rounds == [2, 4, 8, 16], "after the first"


def test_with_shards_fewer_days_are_read_side_by_side() -> None:
    transport = Rounds()
    filled(SPREAD, [], transport)
    db = Counting(SPREAD, "shop", transport)
    db.rounds = []
    db.query(Event, lambda e: between(e.at, T, T + 30 * DAY), limit=10)
    assert db.rounds[:3] == [3, 6, 12]
    assert max(db.rounds) <= 16


def test_an_empty_day_costs_half_a_unit() -> None:
    watched = Watched()
    db = filled(DAILY, events(1), observe=watched)
    watched.calls.clear()
    db.query(Event, lambda e: between(e.at, T, T + 6 * DAY))
    assert [call.units for call in watched.calls] == [0.5] * 7


# The present


@both
def test_a_range_without_an_end_ends_with_the_present_day(connect: Connect) -> None:
    db = connect(SPREAD)
    now = datetime.now(UTC)
    made = [Event(f"e{number}", now - number * DAY) for number in range(20)]
    db.put_many(made)
    since = now - 7 * DAY
    assert list(db.query(Event, lambda e: e.at >= since, order="-at")) == made[:8], "the last seven days, over all"
    db.put_many([Event("today", now.replace(hour=23, minute=59, second=59)), Event("later", now + 3 * DAY)])
    found = {event.event_id for event in db.query(Event, lambda e: e.at >= since)}
    assert "today" in found, "the day is read to its end"
    assert "later" not in found, "what has a time to come is found when that has come, or by a range with an end"
    assert db.count(Event, lambda e: between(e.at, since, now + 4 * DAY)) == len(found) + 1


def test_pages_end_at_the_time_of_the_first_page() -> None:
    made = events(*range(0, 24 * 5, 6))
    db = filled(DAILY, made)
    evening, morning = T + 3 * DAY - HOUR, T + 3 * DAY + HOUR
    for order, expected in (("at", made[:12]), ("-at", made[11::-1])):
        first = db.query(Event, lambda e: e.at >= T, order=order, limit=5, now=evening)
        rest = db.query(Event, lambda e: e.at >= T, order=order, now=morning, after=first.cursor)
        assert [*first, *rest] == expected, "a day has begun meanwhile; the cursor is good still"
    with pytest.raises(CursorError):
        db.query(Event, lambda e: e.at >= T + HOUR, order="-at", after=first.cursor)


def test_a_range_needs_a_start_and_says_why() -> None:
    db = filled(DAILY, [])
    with pytest.raises(NotServed, match="cut by day, and a range over at needs a start, for each day is a request"):
        db.query(Event, lambda e: e.at < T)
    with pytest.raises(ValueError, match=r"starts after .*, the default end: give an end"):
        db.query(Event, lambda e: e.at >= T + 9 * DAY, now=T)
    with pytest.raises(ValueError, match="more than 1000 days, and each is a request"):
        db.query(Event, lambda e: between(e.at, T, T + 2000 * DAY))


# Days are days in UTC


def test_same_moment_in_two_time_zones_is_in_the_same_day() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    # In that night clocks went from 2:00 to 3:00.
    times = [datetime(2026, 3, 29, 1, 30, tzinfo=berlin), datetime(2026, 3, 29, 3, 30, tzinfo=berlin)]
    # And in this one from 3:00 to 2:00: the same hour twice.
    times += [datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold) for fold in (0, 1)]
    times += [datetime(2026, 3, 29, 23, 30, tzinfo=timezone(-5 * HOUR)), datetime(2026, 3, 30, 0, 30, tzinfo=berlin)]
    hourly = cut("HOUR#{at:hour}")
    db = filled(hourly, [Event(f"e{number}", at) for number, at in enumerate(times)])
    for number, at in enumerate(times):
        for zone in (UTC, berlin, timezone(9 * HOUR)):
            here = at.astimezone(zone)
            found = db.query(Event, lambda e, here=here: between(e.at, here, here))  # type: ignore[misc]
            assert [event.event_id for event in found] == [f"e{number}"]
    whole = db.query(Event, lambda e: between(e.at, times[0], times[1]))
    assert len(whole) == 2, "an hour apart in that night, not two"


@pytest.mark.parametrize("unit", ["minute", "hour", "day", "week", "month", "year"])
@given(data=st.data())
def test_every_moment_of_a_range_is_in_one_of_its_buckets(unit: str, data: st.DataObject) -> None:
    near = st.datetimes(datetime(2025, 12, 20), datetime(2026, 1, 10), timezones=st.just(UTC))
    low, high = sorted((data.draw(near), data.draw(near)))
    if unit == "minute":
        high = min(high, low + timedelta(minutes=900))
    moment = low + (high - low) * data.draw(st.floats(0, 1))
    labels = list(buckets(unit, low, high))
    assert labels == sorted(set(labels))
    (only,) = buckets(unit, moment, moment)
    assert only in labels


@dataclass(frozen=True)
class Night:
    hotel: str
    night: date
    room: str


def test_days_without_a_time_are_cut_by_month() -> None:
    schema = Schema(Entity(Night, Key("HOTEL#{hotel}#{night:month}", "{night}#{room}")))
    db = Client(schema, "shop", fresh())
    db.create_table()
    nights = [Night("h", date(2026, 1, 31) + timedelta(days=number), "1") for number in range(40)]
    db.put_many(nights)
    assert db.get(Night, hotel="h", night=nights[3].night, room="1") == nights[3]
    since, until = date(2026, 2, 27), date(2026, 3, 2)
    found = db.query(Night, lambda n: between(n.night, since, until), hotel="h", order="-night")
    assert list(found) == [night for night in nights if since <= night.night <= until][::-1]
