"""Attack: asyncio tasks cancelled at random points, on memory, a file and a server with few connections.

A cancelled write may have happened or not, but only as a whole. Afterwards all connections of the pool must be usable
at once, no lock may be held, and the counter must lie between what was acknowledged and what was sent.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from random import Random

from prejoin import AsyncClient, Client, Conflict, Entity, Key, Schema, TransactionCancelled, add
from prejoin.engine import Embedded
from prejoin.transport import Endpoint, OutcomeUnknown

from .places import file_place, served_place
from .result import Result

POOL, TASKS, PARTS = 4, 60, 3
SLOWEST = 0.03
"""Seconds after which a task is cancelled at the latest: about as long as all of them need."""


@dataclass
class Part:
    """One of several items that are written together."""

    group: str
    part: int


@dataclass
class Hits:
    name: str
    n: int = 0


SCHEMA = Schema(Entity(Part, Key("GROUP#{group}", "PART#{part}")), Entity(Hits, Key("HITS#{name}", "HITS")))


@dataclass
class Storm:
    """What is known of the writes of one storm."""

    whole: set[str]
    """Groups that were acknowledged."""
    hits: int = 0
    unknown_hits: int = 0
    tasks: int = 0
    cancelled: int = 0


def run(seconds: float, seed: int) -> Result:
    result = Result()
    end = time.monotonic() + seconds
    with file_place() as path, served_place() as url:
        turn = 0
        while turn == 0 or time.monotonic() < end:
            chance = Random(f"{seed}/{turn}")
            with Embedded() as memory:
                storm_on(result, "memory", memory, memory, f"storm-{seed}-{turn}", chance)
            # Another connection looks at the file afterwards: it would notice a lock that is left behind.
            with Embedded(path) as file, Embedded(path) as other:
                storm_on(result, "file", file, other, f"storm-{seed}-{turn}", chance)
            with Endpoint(url, pool=POOL, timeout=10) as http, Endpoint(url) as other_http:
                storm_on(result, "http", http, other_http, f"storm-{seed}-{turn}", chance)
            turn += 1
    return result


def storm_on(
    result: Result,
    kind: str,
    transport: Embedded | Endpoint,
    other: Embedded | Endpoint,
    table: str,
    chance: Random,
) -> None:
    """One storm of cancelled tasks on one place, and what is wrong after it."""
    db = Client(SCHEMA, table, other)
    db.create_table()
    db.insert(Hits("all"))
    try:
        storm = asyncio.run(_storm(transport, table, chance))
    except Exception as error:
        result.findings.append(f"cancellations on {kind}, table {table}: {type(error).__name__}: {error}")
        return
    result.tries += storm.tasks
    found = _wrong(db, storm)
    if found and storm.cancelled:
        time.sleep(1)  # a cancelled request may still be at work in the server
        found = _wrong(db, storm)
    result.findings += [f"cancellations on {kind}, table {table}: {one}" for one in found]


async def _storm(transport: Embedded | Endpoint, table: str, chance: Random) -> Storm:
    storm = Storm(set())
    db = AsyncClient(SCHEMA, table, transport)
    tasks = [asyncio.ensure_future(_work(db, storm, number, chance)) for number in range(TASKS)]
    storm.tasks = len(tasks)
    loop = asyncio.get_running_loop()
    for task in tasks:
        if chance.random() < 0.8:
            loop.call_later(chance.random() ** 2 * SLOWEST, task.cancel)
    for outcome in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(outcome, asyncio.CancelledError):
            storm.cancelled += 1
        elif isinstance(outcome, BaseException) and not isinstance(
            outcome, Conflict | TransactionCancelled | OutcomeUnknown
        ):
            raise outcome
    # As many at once as there are connections, each of which must be free: they would wait for the timeout otherwise.
    async with asyncio.timeout(60):
        found = await asyncio.gather(*(db.get(Hits, name="all", consistent=True) for _ in range(POOL)))
        assert None not in found
        await db.insert(Part("after", 0))
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"tasks are left: {left}"
    if isinstance(transport, Endpoint):
        await transport.close_async()
    return storm


async def _work(db: AsyncClient, storm: Storm, number: int, chance: Random) -> None:
    kind = chance.choice(["transaction", "transaction", "update", "query", "get"])
    await asyncio.sleep(chance.random() * SLOWEST / 3)
    match kind:
        case "transaction":
            async with db.transaction() as tx:
                for part in range(PARTS):
                    tx.insert(Part(f"group {number}", part))
            storm.whole.add(f"group {number}")
        case "update":
            storm.unknown_hits += 1
            async with db.update(Hits, name="all") as hits:
                hits.n = add(hits.n, 1)
            storm.unknown_hits -= 1
            storm.hits += 1
        case "query":
            found = await db.query(Part, group=f"group {chance.randrange(TASKS)}", consistent=True)
            assert len(found) in (0, PARTS), f"a Query saw {len(found)} of {PARTS} parts"
        case _:
            await db.get(Hits, name="all", consistent=True)


def _wrong(db: Client, storm: Storm) -> list[str]:
    items = [one for page in db.everything(Part, consistent=True) for one in page if one.group != "after"]
    groups = Counter(one.group for one in items)
    said = [f"{name} has {count} of {PARTS} parts" for name, count in sorted(groups.items()) if count != PARTS]
    said += [f"{name} was acknowledged, and is not there" for name in sorted(storm.whole - groups.keys())]
    hits = db.get(Hits, name="all", consistent=True)
    assert hits is not None
    if not storm.hits <= hits.n <= storm.hits + storm.unknown_hits:
        said.append(f"{hits.n} hits, but {storm.hits} were acknowledged and {storm.unknown_hits} cancelled")
    db.put(Hits("later"))
    return said
