"""A rate limit: at most so many requests in each window of time, counted in one write.

The condition of the write refuses a request over the limit, for the same price. DynamoDB deletes windows that are over.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prejoin import Client, ConditionFailed, Entity, Key, Schema, TimeToLive, add


@dataclass
class Window:
    caller: str
    start: datetime
    requests: int
    ends_at: datetime


SCHEMA = Schema(Entity(Window, Key("CALLER#{caller}", "{start}"), patterns=[TimeToLive("ends_at")]))


def allow(db: Client, caller: str, limit: int, per: timedelta, now: datetime | None = None) -> bool:
    """Count a request, and return whether it is within the limit."""
    now = now or datetime.now(UTC)
    start = datetime.fromtimestamp(now.timestamp() // per.total_seconds() * per.total_seconds(), UTC)
    try:
        with db.upsert(
            Window,
            caller=caller,
            start=start,
            where=lambda one: (one.requests == None) | (one.requests < limit),  # noqa: E711 - None is "not there"
        ) as window:
            window.requests = add(window.requests, 1)
            window.ends_at = start + 2 * per
    except ConditionFailed:
        return False
    return True
