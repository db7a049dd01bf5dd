"""Pages of a question that depends on the time: all are of the moment at which the first was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from prejoin.engine import Embedded
from prejoin.table import Client, CursorError, Entity, Key, Page, Schema, begun

NOW = datetime(2026, 5, 20, 0, 0, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    device: str
    at: datetime


@pytest.fixture(params=["DEVICE#{device}", "DEVICE#{device}#{at:day}"], ids=["one partition", "a partition a day"])
def db(request: pytest.FixtureRequest) -> Client:
    db = Client(Schema(Entity(Event, Key(request.param, "{at}"))), "events", Embedded())
    db.create_table()
    db.put_many(Event("d", NOW - timedelta(hours=10 * number)) for number in range(30))
    return db


def last_week(db: Client, order: str, after: str | None = None, now: datetime | None = None) -> Page[Event]:
    now = now or begun(after)
    return db.query(
        Event, lambda e: e.at >= now - timedelta(days=7), device="d", order=order, limit=4, after=after, now=now
    )


@pytest.mark.parametrize("order", ["at", "-at"])
def test_further_pages_are_of_the_moment_of_the_first(db: Client, order: str) -> None:
    page = last_week(db, order, now=NOW)
    found = list(page)
    while page.cursor:
        assert begun(page.cursor) == NOW
        page = last_week(db, order, page.cursor)  # by the clock, months after that
        found += page
    times = [NOW - timedelta(hours=10 * number) for number in range(17)]
    assert [event.at for event in found] == sorted(times, reverse=order == "-at")


def test_a_page_of_another_moment_is_of_another_question(db: Client) -> None:
    page = last_week(db, "-at", now=NOW)
    with pytest.raises(CursorError, match="another query"):
        last_week(db, "-at", page.cursor, now=NOW + timedelta(hours=1))


def test_a_reading_begins_now_where_no_page_says_otherwise(db: Client) -> None:
    before = datetime.now(UTC)
    plain = db.query(Event, device="d", at=NOW)
    assert before <= begun(None) <= begun(plain.cursor) <= begun("garbage") <= datetime.now(UTC)
