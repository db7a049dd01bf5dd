"""Attack: patterns under races. Threads and processes write the same items through one pattern; answers are lost.

Afterwards the table must be what the pattern promises: unique values had once, counts and sums equal to what is there,
copies equal to their items, records the largest and smallest ever written, no update lost, each token's work done once.
The checks compute this anew from all items. A write whose answer was lost, or whose task was cancelled, may have
happened or not, so a check either looks at the table alone or allows for both.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from multiprocessing import get_context
from random import Random
from typing import Any

from tests.patterns import counting, extremes
from tests.patterns.counting import all_of, wrong_counts
from tests.patterns.faults import wrong

from prejoin import (
    AsyncClient,
    Changes,
    Client,
    ConditionFailed,
    Conflict,
    Copy,
    Counted,
    Entity,
    Key,
    Receipt,
    Schema,
    SoftDelete,
    Summed,
    TransactionCancelled,
    Unique,
    Version,
    audit,
    once,
    purge,
    receipts,
    restore,
    total,
)
from prejoin.transport import OutcomeUnknown, Transport

from .lossy import Lossy
from .places import file_place, reach, served_place
from .result import Result

THREADS, STEPS = 3, 25
REFUSED = (ConditionFailed, Conflict, TransactionCancelled)
"""What a write may meet in a race: then nothing was written."""


@dataclass
class Tally:
    """What writers know of their writes."""

    done: list[Any] = field(default_factory=list)
    """What the acknowledged ones returned."""
    unknown: int = 0
    """Cancelled while they were under way, or their answers lost."""
    refused: int = 0

    def add(self, other: Tally) -> None:
        self.done += other.done
        self.unknown += other.unknown
        self.refused += other.refused

    @property
    def tries(self) -> int:
        return len(self.done) + self.unknown + self.refused


@dataclass(frozen=True)
class Race:
    schema: Schema
    begin: Sequence[Any]
    """Objects that are there before."""
    write: Callable[[AsyncClient, Random], Awaitable[object]]
    check: Callable[[Client, Tally], list[str]]


# --- Counters, unique values and copies ---------------------------------------------------------------------------------


def _order(chance: Random) -> counting.Order:
    return counting.Order(
        str(chance.randrange(8)),
        chance.choice(["1", "2", "3", None]),
        chance.choice(["OPEN", "DONE", "CANCELLED"]),
        chance.choice([None, Decimal(chance.randrange(9))]),
        chance.choice(["monday", "tuesday", None]),
        chance.choice([None, "n1", "n2", "n3", "n4"]),
    )


async def _write_order(db: AsyncClient, chance: Random) -> None:
    order = _order(chance)
    match chance.choice(["insert", "insert", "put", "update", "delete", "transaction"]):
        case "insert":
            await db.insert(order)
        case "put":
            await db.put(order, read=True)
        case "update":
            changes = Changes({"user_id": order.user_id, "status": order.status, "number": order.number})
            await db.apply(counting.Order, changes, order_id=order.order_id, read=True)
        case "delete":
            await db.delete(counting.Order, order_id=order.order_id, read=True)
        case _:
            async with db.transaction() as tx:
                tx.insert(order)
                tx.insert(replace(order, order_id=f"{order.order_id}+", number=None))


def _check_orders(db: Client, tally: Tally) -> list[str]:
    return wrong_counts(db) + _misplaced(db)


def _misplaced(db: Client) -> list[str]:
    """Copies and guards that are not what their items say."""
    return wrong(db.schema, db._transport, db.table)


# --- Records --------------------------------------------------------------------------------------------------------------


async def _write_record(db: AsyncClient, chance: Random) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=chance.randrange(10_000))
    size = Decimal(chance.randrange(-1000, 1000)).scaleb(-chance.randrange(3))
    status = chance.choice(["OPEN", "CANCELLED"])
    user = chance.choice(["1", "2"])
    await db.insert(extremes.Order(f"{chance.getrandbits(64):x}", user, size, status, moment, chance.choice("ab")))


def _check_records(db: Client, tally: Tally) -> list[str]:
    ever = extremes.ExpectedExtremes()
    for order in all_of(db, extremes.Order):
        ever.put(order)
    return ever.wrong(db) + _misplaced(db)


# --- Versions -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Note:
    note_id: str
    edits: int = 0
    version: int = 0


async def _write_note(db: AsyncClient, chance: Random) -> None:
    note = await db.get(Note, note_id="1", consistent=True)
    assert note is not None
    await db.put(replace(note, edits=note.edits + 1))


def _check_notes(db: Client, tally: Tally) -> list[str]:
    note = db.get(Note, note_id="1", consistent=True)
    assert note is not None
    least, most = len(tally.done), len(tally.done) + tally.unknown
    said = [] if least <= note.edits <= most else [f"{least} to {most} edits were made, and there are {note.edits}"]
    return said + ([] if note.version == note.edits + 1 else [f"{note} has another version than edits"])


# --- Done once ------------------------------------------------------------------------------------------------------------


@dataclass
class Account:
    account_id: str
    balance: int = 0


TOKENS = 12


async def _write_once(db: AsyncClient, chance: Random) -> str:
    token = f"token {chance.randrange(TOKENS)}"
    amount = _amount(token)
    async with once(db, token) as tx:
        with tx.update(Account, account_id="1") as account:
            account.balance -= amount
        with tx.update(Account, account_id="2") as account:
            account.balance += amount
        tx.result = amount
    assert tx.result == amount, f"{token} gave {tx.result}, not {amount}"
    return token


def _amount(token: str) -> int:
    return 1 + int(token.split()[1]) ** 2


def _check_once(db: Client, tally: Tally) -> list[str]:
    done = {receipt.token for receipt in all_of(db, Receipt)}
    one, two = (account.balance for account in db.get_many(Account, [{"account_id": n} for n in "12"]) if account)
    moved = sum(_amount(token) for token in done)
    said = [] if (one, two) == (-moved, moved) else [f"the receipts say {moved}, the accounts {one} and {two}"]
    lost = set(tally.done) - done
    return said + ([f"{sorted(lost)} were acknowledged, and have no receipt"] if lost else [])


# --- Sharded counters -----------------------------------------------------------------------------------------------------


@dataclass
class Video:
    video_id: str


@dataclass
class Like:
    video_id: str
    user_id: str
    stars: int = 1


async def _write_like(db: AsyncClient, chance: Random) -> None:
    like = Like("1", str(chance.randrange(10)), chance.randrange(1, 6))
    if chance.random() < 0.6:
        await db.insert(like)
    elif chance.random() < 0.5:
        await db.put(like, read=True)
    else:
        await db.delete(Like, video_id="1", user_id=like.user_id, read=True)


def _check_likes(db: Client, tally: Tally) -> list[str]:
    found = all_of(db, Like)
    said = tuple(total(db, Video, name, consistent=True, video_id="1") for name in ("likes", "stars"))
    there = len(found), sum(like.stars for like in found)
    return [] if said == there else [f"the shards say {said}, and there are {there}"]


# --- Soft deletes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    document_id: str
    slug: str
    team: str = "t"
    deleted_at: datetime | None = None


async def _write_document(db: AsyncClient, chance: Random) -> None:
    key = str(chance.randrange(4))
    match chance.choice(["insert", "insert", "delete", "restore", "purge", "update"]):
        case "insert":
            await db.insert(Document(key, f"slug {chance.randrange(4)}"))
        case "delete":
            await db.delete(Document, document_id=key, read=True)
        case "restore":
            await restore(db, Document, document_id=key)
        case "purge":
            await purge(db, Document, document_id=key)
        case _:
            changes = Changes({"slug": f"slug {chance.randrange(4)}", "team": chance.choice("tu")})
            await db.apply(Document, changes, document_id=key, read=True)


def _check_documents(db: Client, tally: Tally) -> list[str]:
    return _misplaced(db)


RACES = {
    "counters": Race(counting.SCHEMA, [counting.User(n, n) for n in "123"], _write_order, _check_orders),
    "records": Race(extremes.ALONE, [extremes.User(n, n) for n in "12"], _write_record, _check_records),
    "versions": Race(
        Schema(Entity(Note, Key("NOTE#{note_id}", "NOTE"), patterns=[Version("version")])),
        [Note("1")],
        _write_note,
        _check_notes,
    ),
    "once": Race(
        Schema(Entity(Account, Key("ACCOUNT#{account_id}", "ACCOUNT")), receipts()),
        [Account("1"), Account("2")],
        _write_once,
        _check_once,
    ),
    "sharded counters": Race(
        Schema(
            Entity(Video, Key("VIDEO#{video_id}", "VIDEO")),
            Entity(
                Like,
                Key("VIDEO#{video_id}", "LIKE#{user_id}"),
                patterns=[Counted(Video, "likes", shards=4), Summed(Video, "stars", of="stars", shards=4)],
            ),
        ),
        [Video("1")],
        _write_like,
        _check_likes,
    ),
    "soft deletes": Race(
        Schema(
            Entity(
                Document,
                Key("DOCUMENT#{document_id}", "DOCUMENT"),
                patterns=[
                    SoftDelete("deleted_at"),
                    Unique("slug"),
                    Copy("by-team", Key("TEAM#{team}", "{document_id}"), attributes=["slug"]),
                ],
            )
        ),
        [],
        _write_document,
        _check_documents,
    ),
}


def run(seconds: float, seed: int) -> Result:
    """Each race on memory, a file and a server in turn; on the server tasks are cancelled, elsewhere answers lost."""
    result = Result()
    end = time.monotonic() + seconds
    context = get_context("spawn")
    with (
        file_place() as file,
        served_place() as url,
        reach("memory") as memory,
        reach(file) as on_file,
        reach(url) as served,
        context.Pool(2, _open, (file, url)) as pool,
    ):
        turn = 0
        while turn == 0 or time.monotonic() < end:
            for name in RACES:
                table = f"race-{seed}-{turn}-{name.replace(' ', '-')}"
                result_of(result, name, memory, table)
                for kind, transport in (("file", on_file), ("http", served)):
                    result_of(result, name, transport, table, kind, pool)
                if turn and time.monotonic() > end:
                    break
            turn += 1
    return result


def result_of(
    result: Result, name: str, transport: Transport, table: str, kind: str = "memory", pool: Any = None
) -> None:
    """Runs one race, and adds what is wrong afterwards."""
    race = RACES[name]
    db = Client(race.schema, table, transport)
    db.create_table()
    for one in race.begin:
        db.insert(one)
    cancelled = 0.15 if kind == "http" else 0.0
    tasks = [(kind, name, table, n, cancelled) for n in (1, 2)] if pool else []
    others = [pool.apply_async(_race_elsewhere, task) for task in tasks]
    tally = race_here(transport, name, table, 0, cancelled)
    for other in others:
        tally.add(other.get(120))
    result.tries += tally.tries
    found = _wrong(race, db, tally)
    if found and tally.unknown:
        # A cancelled request may still be at work in the server.
        time.sleep(1)
        found = _wrong(race, db, tally)
    result.findings += [f"patterns, {name} on {kind}, table {table}: {one}"[:1000] for one in found]


def _wrong(race: Race, db: Client, tally: Tally) -> list[str]:
    return [*race.check(db, tally), *(f"audit says {finding}" for finding in audit(db))]


_transports: dict[str, Transport] = {}


def _open(file: str, url: str) -> None:
    _transports.update(file=reach(file), http=reach(url))


def _race_elsewhere(kind: str, name: str, table: str, process: int, cancelled: float) -> Tally:
    return race_here(_transports[kind], name, table, process, cancelled)


def race_here(
    transport: Any, name: str, table: str, process: int, cancelled: float, threads: int = THREADS, steps: int = STEPS
) -> Tally:
    """The writers of one process: a thread and an event loop each."""
    tally = Tally()
    race = RACES[name]
    with ThreadPoolExecutor(threads) as pool:
        seeds = [f"{table}/{process}/{thread}" for thread in range(threads)]
        work = partial(_race_in_a_loop, transport, race, table, cancelled, steps)
        for part in pool.map(work, seeds):
            tally.add(part)
    return tally


def _race_in_a_loop(transport: Any, race: Race, table: str, cancelled: float, steps: int, seed: str) -> Tally:
    chance = Random(seed)
    if cancelled:
        return asyncio.run(_race(transport, race, table, cancelled, steps, chance))
    lossy = Lossy(transport, Random(f"{seed}/lost"))
    tally = asyncio.run(_race(lossy, race, table, cancelled, steps, chance))
    lossy.finish()
    return tally


async def _race(transport: Any, race: Race, table: str, cancelled: float, steps: int, chance: Random) -> Tally:
    tally = Tally()
    db = AsyncClient(race.schema, table, transport)
    for _ in range(steps):
        task = asyncio.ensure_future(_write(race, db, chance))
        if chance.random() < cancelled:
            await asyncio.wait([task], timeout=chance.random() * 0.02)
            task.cancel()
        try:
            tally.done.append(await task)
        except REFUSED:
            tally.refused += 1
        except (asyncio.CancelledError, OutcomeUnknown):
            tally.unknown += 1
    return tally


async def _write(race: Race, db: AsyncClient, chance: Random) -> object:
    return await race.write(db, chance)
