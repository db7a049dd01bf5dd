"""Reads over 1 to 64 shards, and over 1 to 90 days, each a bucket; beside one partition that holds the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prejoin import Client, Entity, Index, Key, Schema, between

from .measure import Case

SHARDS = (2, 4, 8, 16, 32, 64)
DAYS = (1, 7, 30, 90)
PAGE = 100
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "x" * 250


@dataclass(frozen=True)
class Event:
    event_id: str
    at: datetime
    text: str = TEXT


def events(count: int, every: timedelta) -> list[Event]:
    return [Event(f"e{number:06d}", START + number * every) for number in range(count)]


def keyed(partition: str) -> Schema:
    index = Key(partition, "{at}#{event_id}")
    return Schema(Entity(Event, Key("EVENT#{event_id}", "EVENT"), {"all": index}), indexes=[Index("all")])


def shard_cases(items: int, shards: Sequence[int] = SHARDS) -> list[Case]:
    """The newest page, and all, of one partition and of as many shards."""
    made = events(items, timedelta(minutes=1))

    def fill(db: Client) -> None:
        db.put_many(made)

    def page(db: Client) -> None:
        assert len(db.query(Event, order="-at", limit=PAGE)) == min(PAGE, items)

    def everything(db: Client) -> None:
        assert len(db.query(Event, order="at")) == items

    partitions = {1: "EVENTS"} | {count: f"EVENTS#{{event_id:shard({count})}}" for count in shards}
    return [
        Case(f"{what} {count}", keyed(partition), fill, call)
        for count, partition in partitions.items()
        for what, call in (("page", page), ("all", everything))
    ]


def bucket_cases(items_a_day: int, days: Sequence[int] = DAYS) -> list[Case]:
    """The newest page, and all, of as many days, of one partition, of days, and of days with four shards."""
    made = events(items_a_day * max(days), timedelta(days=1) / items_a_day)
    until = START + timedelta(days=max(days))

    def fill(db: Client) -> None:
        db.put_many(made)

    end = until - timedelta(microseconds=1)
    partitions = {"one": "EVENTS", "day": "DAY#{at:day}", "day and 4 shards": "DAY#{at:day}#{event_id:shard(4)}"}
    cases = []
    for count in days:
        since = until - timedelta(days=count)

        def page(db: Client, since: datetime = since, most: int = items_a_day * count) -> None:
            found = db.query(Event, lambda e: between(e.at, since, end), order="-at", limit=PAGE)
            assert len(found) == min(PAGE, most)

        def everything(db: Client, since: datetime = since, count: int = items_a_day * count) -> None:
            assert len(db.query(Event, lambda e: between(e.at, since, end))) == count

        for name, partition in partitions.items():
            cases += [
                Case(f"{what} {name} {count}", keyed(partition), fill, call)
                for what, call in (("page", page), ("all", everything))
            ]
    return cases
