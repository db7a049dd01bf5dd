"""Hostile cursors: mutated, forged and random ones, given to every kind of query.

A client whose cursors are signed or encrypted must refuse all of them. With plain cursors, the query may also answer
with items that it would give by itself. Nothing else may happen: no other exception, no item of another partition.
"""

from __future__ import annotations

import base64
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from prejoin import Client, CursorError, Entity, Index, Key, Schema, SignedCursors, begun
from prejoin.engine import Embedded
from prejoin.table.read.cursor import Cursors, Position, encode_cursor
from prejoin.table.read.scan import Scan

from .result import Result


@dataclass(frozen=True)
class Order:
    tenant: str
    number: int
    status: str
    placed: datetime


@dataclass(frozen=True)
class Note:
    tenant: str
    number: int


@dataclass(frozen=True)
class Event:
    device: str
    at: datetime


NOW = datetime.now(UTC).replace(microsecond=0)
SCHEMA = Schema(
    Entity(
        Order,
        Key("TENANT#{tenant}", "ORDER#{number}"),
        indexes={
            "by-status": Key("{tenant}#{status}", "{placed}"),
            "spread": Key("ALL#{number:shard(4)}", "{placed}"),
        },
    ),
    Entity(Note, Key("TENANT#{tenant}", "NOTE#{number}")),
    Entity(Event, Key("DEVICE#{device}#{at:day}", "{at}")),
    indexes=[Index("by-status"), Index("spread"), Index("numbers", pk="tenant", sk="number")],
)
TENANTS = ("acme", "globex")

Ask = Callable[[Client, str | None], Any]
"""A query of one page, after a cursor."""


def client(cursors: Cursors | None = None) -> Client:
    """A client of a table with two tenants and two devices."""
    db = Client(SCHEMA, "shop", Embedded(), cursors=cursors)
    db.create_table()
    for tenant in TENANTS:
        db.put_many(
            Order(tenant, number, "OPEN" if number % 2 else "DONE", NOW - timedelta(hours=number))
            for number in range(12)
        )
        db.put_many(Note(tenant, number) for number in range(4))
        db.put_many(Event(tenant, NOW - timedelta(hours=7 * number)) for number in range(12))
    return db


def _last_week(db: Client, after: str | None) -> Any:
    now = begun(after)
    since = now - timedelta(days=7)
    return db.query(Event, lambda e: e.at >= since, device="acme", order="-at", limit=3, after=after, now=now)


ASKS: dict[str, Ask] = {
    "query": lambda db, after: db.query(Order, tenant="acme", limit=3, after=after),
    "reverse": lambda db, after: db.query(Order, tenant="acme", reverse=True, limit=3, after=after),
    "range": lambda db, after: db.query(Order, lambda o: o.number >= 3, tenant="acme", limit=3, after=after),
    "filter": lambda db, after: db.query(
        Order, tenant="acme", filter=lambda o: o.status == "OPEN", limit=2, after=after
    ),
    "index": lambda db, after: db.query(Order, tenant="acme", status="OPEN", limit=3, after=after),
    "collect": lambda db, after: db.collect((Order, Note), tenant="acme", limit=3, after=after),
    "shards": lambda db, after: db.query(Order, order="-placed", limit=3, after=after),
    "buckets": lambda db, after: db.query(
        Event, lambda e: e.at >= NOW - timedelta(days=3), device="acme", limit=3, after=after
    ),
    "last week": _last_week,
    "everything": lambda db, after: next(db.everything(Order, after=after)),
    "segments": lambda db, after: next(db.everything(Order, segments=3, after=after)),
}


def possible(db: Client, name: str) -> frozenset[Any]:
    """All items that the pages of a query may hold."""
    if name == "last week":
        return frozenset(db.query(Event, lambda e: e.at >= NOW - timedelta(days=9), device="acme"))
    found: set[Any] = set()
    cursor: str | None = None
    for _ in range(100):
        page = ASKS[name](db, cursor)
        found |= set(page.items)
        cursor = page.cursor
        if cursor is None:
            break
    return frozenset(found)


def cursors_of(db: Client, name: str) -> list[str]:
    """The cursors of a query's pages. The table fits into one page of a Scan, so cursors of Scans are made here."""
    if name in ("everything", "segments"):
        segments = 1 if name == "everything" else 3
        query = Scan(SCHEMA, "shop", (Order,), segments, consistent=False)._name
        keys: list[Any] = [SCHEMA.key(Order, tenant="acme", number=number) for number in range(segments)]
        return [encode_cursor(Position(query, 0, keys), db._cursors)]
    found: list[str] = []
    cursor: str | None = None
    for _ in range(100):
        cursor = ASKS[name](db, cursor).cursor
        if cursor is None:
            break
        found.append(cursor)
    return found


def violation(db: Client, name: str, cursor: Any, may: Iterable[Any], *, sealed: bool) -> str | None:
    """What went wrong when a query got a cursor that no page of it ended with; None if nothing did."""
    try:
        page = ASKS[name](db, cursor)
    except CursorError:
        return None
    except Exception as error:
        return f"{name}: {type(error).__name__} for {cursor!r}: {error}"
    if sealed:
        return f"{name}: accepted {cursor!r}"
    outside = set(page.items) - set(may)
    return f"{name}: {outside} came for {cursor!r}" if outside else None


def mutated(cursor: str, chance: random.Random) -> Any:
    """A cursor changed in one of many ways, never into itself."""
    for _ in range(100):
        found = chance.choice(_MUTATIONS)(cursor, chance)
        if found != cursor:
            return found
    return ""


_TEXT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=.,é \0"


def _character(cursor: str, chance: random.Random) -> Any:
    at = chance.randrange(len(cursor))
    return cursor[:at] + chance.choice(_TEXT) + cursor[at + 1 :]


def _cut(cursor: str, chance: random.Random) -> Any:
    at = chance.randrange(len(cursor))
    return chance.choice((cursor[:at], cursor[at:], cursor + cursor[at:], cursor[:at] * 2))


def _bit(cursor: str, chance: random.Random) -> Any:
    content = bytearray(_bytes(cursor))
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return _text(bytes(content))


def _other_type(cursor: str, chance: random.Random) -> Any:
    return chance.choice((cursor.encode(), 7, 0.5, [cursor], {}, True, object(), "", "=", "A" * 100_000))


def _random(cursor: str, chance: random.Random) -> Any:
    return _text(chance.randbytes(chance.randrange(80)))


_ODD: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**30, 1e999, "", "x", "\ud800", [], {}, [None], [[]], {"pk": "x"}, {"pk": {"S": 1}}),
    *({"pk": {"S": ""}, "sk": {"S": ""}}, {"pk": {"S": "TENANT#globex"}, "sk": {"S": "ORDER#B5"}}),
    *({"pk": {"S": "TENANT#acme"}, "sk": {"N": "NaN"}}, {"pk": {"B": "AQ=="}, "sk": {"S": "x" * 5000}}),
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "2026-01-01T00:00:00", "1970-01-01T00:00:00Z"),
    *((NOW - timedelta(days=40)).isoformat(), (NOW + timedelta(days=400)).isoformat()),
)


def _content(cursor: str, chance: random.Random) -> Any:
    """Where the content is readable, something in it exchanged for something odd."""
    try:
        document = msgspec.json.decode(_bytes(cursor))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _bit(cursor, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        document = _exchanged(document, chance)
    try:
        return _text(msgspec.json.encode(document))
    except (UnicodeEncodeError, msgspec.EncodeError):
        return _text(repr(document).encode(errors="replace"))


def _exchanged(value: Any, chance: random.Random) -> Any:
    if isinstance(value, list) and value and chance.random() < 0.9:
        at = chance.randrange(len(value))
        if chance.random() < 0.1:
            return [*value[:at], *value[at + 1 :]]
        return [*value[:at], _exchanged(value[at], chance), *value[at + 1 :]]
    if isinstance(value, dict) and value and chance.random() < 0.9:
        name = chance.choice(list(value))
        if chance.random() < 0.1:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: _exchanged(value[name], chance)}
    if isinstance(value, str) and chance.random() < 0.5:
        other = value.replace("acme", "globex")
        return other if other != value else value[:-1] + chance.choice("0~A")
    return chance.choice(_ODD)


def _bytes(cursor: str) -> bytes:
    return base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


_MUTATIONS = (_character, _cut, _bit, _other_type, _random, _content, _content, _content)


def run(seconds: float, seed: int) -> Result:
    """Try hostile cursors for some seconds. The same seed tries the same ones in the same order."""
    chance = random.Random(seed)
    result = Result()
    kinds: list[tuple[Client, bool]] = [(client(), False), (client(SignedCursors(chance.randbytes(32))), True)]
    try:
        from prejoin import EncryptedCursors

        kinds.append((client(EncryptedCursors(chance.randbytes(32))), True))
    except ImportError:
        pass
    known = [{name: (cursors_of(db, name), possible(db, name)) for name in ASKS} for db, _ in kinds]
    every = [cursor for queries in known for cursors, _ in queries.values() for cursor in cursors]
    end = time.monotonic() + seconds
    while time.monotonic() < end or not result.tries:
        for (db, sealed), queries in zip(kinds, known, strict=True):
            name = chance.choice(list(ASKS))
            own, may = queries[name]
            cursor = mutated(chance.choice(every), chance) if chance.random() < 0.9 else chance.choice(every)
            if cursor in own:
                continue
            result.tries += 1
            found = violation(db, name, cursor, may, sealed=sealed)
            if found is not None:
                result.findings.append(found)
    for db, _ in kinds:
        db.close()
    return result
