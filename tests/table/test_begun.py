"""Pages of a query that depends on the time: all use the time of the first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from prejoin import Client, CursorError, Entity, Key, Page, Schema, SignedCursors, begun
from prejoin.engine import Embedded

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=23)
LONG_AGO = datetime(2026, 5, 20, 0, 0, 1, tzinfo=UTC)
SIGNED = SignedCursors(bytes(32))


@dataclass(frozen=True)
class Event:
    device: str
    at: datetime


def filled(partition: str, now: datetime, cursors: SignedCursors | None = None) -> Client:
    db = Client(Schema(Entity(Event, Key(partition, "{at}"))), "events", Embedded(), cursors=cursors)
    db.create_table()
    db.put_many(Event("d", now - timedelta(hours=10 * number)) for number in range(30))
    return db


PARTITIONS = pytest.mark.parametrize(
    "partition", ["DEVICE#{device}", "DEVICE#{device}#{at:day}"], ids=["one partition", "a partition a day"]
)


@pytest.fixture(params=["DEVICE#{device}", "DEVICE#{device}#{at:day}"], ids=["one partition", "a partition a day"])
def db(request: pytest.FixtureRequest) -> Client:
    return filled(request.param, NOW)


def last_week(db: Client, order: str, after: str | None = None, now: datetime | None = None) -> Page[Event]:
    now = now or begun(after)
    return db.query(
        Event, lambda e: e.at >= now - timedelta(days=7), device="d", order=order, limit=4, after=after, now=now
    )


@PARTITIONS
@pytest.mark.parametrize("order", ["at", "-at"])
@pytest.mark.parametrize(("now", "cursors"), [(NOW, None), (LONG_AGO, SIGNED)], ids=["plain", "signed, months ago"])
def test_further_pages_are_of_the_moment_of_the_first(
    partition: str, order: str, now: datetime, cursors: SignedCursors | None
) -> None:
    db = filled(partition, now, cursors)
    page = last_week(db, order, now=now)
    found = list(page)
    while page.cursor:
        assert begun(page.cursor) == now
        page = last_week(db, order, page.cursor)  # the clock is later
        found += page
    times = [now - timedelta(hours=10 * number) for number in range(17)]
    assert [event.at for event in found] == sorted(times, reverse=order == "-at")


@PARTITIONS
@pytest.mark.parametrize("moved", [-timedelta(days=40), timedelta(days=1)], ids=["past", "future"])
def test_forged_time_of_a_plain_cursor_is_refused(partition: str, moved: timedelta) -> None:
    then = datetime.now(UTC) + moved
    cursor = last_week(filled(partition, then), "-at", now=then).cursor  # a caller can compute its cursors
    with pytest.raises(CursorError, match="begin again with the first page"):
        last_week(filled(partition, NOW), "-at", cursor)


@PARTITIONS
def test_forged_time_of_a_signed_cursor_is_refused(partition: str) -> None:
    cursor = last_week(filled(partition, LONG_AGO, SignedCursors(b"1" * 32)), "-at", now=LONG_AGO).cursor
    with pytest.raises(CursorError, match="not a cursor"):
        last_week(filled(partition, NOW, SIGNED), "-at", cursor)


def test_cursor_of_another_time_is_refused(db: Client) -> None:
    page = last_week(db, "-at", now=NOW)
    with pytest.raises(CursorError, match="another query"):
        last_week(db, "-at", page.cursor, now=NOW + timedelta(hours=1))


def test_begun_is_now_without_a_cursor(db: Client) -> None:
    before = datetime.now(UTC)
    plain = db.query(Event, device="d", at=NOW)
    assert before <= begun(None) <= begun(plain.cursor) <= begun("garbage") <= datetime.now(UTC)
