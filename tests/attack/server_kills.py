"""Attack: `prejoin serve` killed by SIGKILL while clients write to it, then started again on the same file.

Clients use threads and event loops. Each write ends in one of three ways, and the file must agree: acknowledged, so it
is there; `ConnectionFailed`, so it is not; `OutcomeUnknown`, so it is there as a whole or not at all.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random

from prejoin import AsyncClient, Client, Conflict, TransactionCancelled, add
from prejoin.engine import Embedded
from prejoin.transport import ConnectionFailed, Endpoint, OutcomeUnknown, Retries

from .cancellations import PARTS, SCHEMA, Hits, Part
from .kills import damage
from .places import file_place, serving
from .result import Result

LIVES, THREADS, MOST = 5, 3, 2000
HIT = "hit "
QUICKLY = Retries(attempts=4, base=0.01, longest=0.05)


@dataclass
class Writer:
    """One client, and what it knows of its writes."""

    name: str
    done: set[str] = field(default_factory=set)
    """Groups and hits by their names."""
    not_done: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)

    @property
    def ended(self) -> bool:
        """The server is gone."""
        return bool(self.not_done or self.unknown)

    @contextmanager
    def told(self, name: str) -> Iterator[None]:
        try:
            yield
        except ConnectionFailed:
            self.not_done.add(name)
        except OutcomeUnknown:
            self.unknown.add(name)
        except (Conflict, TransactionCancelled):
            pass  # refused by the server: nothing to check
        else:
            self.done.add(name)

    def hits(self, of: set[str]) -> int:
        return sum(name.startswith(HIT) for name in of)


def run(seconds: float, seed: int) -> Result:
    result = Result()
    end = time.monotonic() + seconds
    while result.tries == 0 or time.monotonic() < end:
        with file_place() as path:
            with Embedded(path) as engine:
                Client(SCHEMA, "kills", engine).create_table()
            for life in range(LIVES):
                findings = kill_once(path, Random(f"{seed}/{life}"), f"life {life}")
                result.findings += [f"server kills, seed {seed}: {one}" for one in findings]
                result.tries += 1
                if time.monotonic() > end:
                    break
        seed += 1
    return result


def kill_once(path: str, chance: Random, name: str) -> list[str]:
    """One life of a server; what is wrong afterwards."""
    writers = [Writer(f"{name}-{number}") for number in range(2 * THREADS)]
    with Embedded(path) as engine:
        for writer in writers:
            Client(SCHEMA, "kills", engine).insert(Hits(writer.name))
    with serving(path) as (url, process), ThreadPoolExecutor(len(writers)) as pool:
        ends = [
            pool.submit(_write if number < THREADS else _write_in_a_loop, url, writer)
            for number, writer in enumerate(writers)
        ]
        time.sleep(0.05 + chance.random() * 0.4)
        process.kill()
        for end in ends:
            end.result(120)
    with Embedded(path) as engine:
        return [*damage(path), *wrong(Client(SCHEMA, "kills", engine), writers)]


def _write(url: str, writer: Writer) -> None:
    with Client(SCHEMA, "kills", Endpoint(url, retries=QUICKLY, timeout=5)) as db:
        for number in range(MOST):
            with writer.told(f"{writer.name} {number}"), db.transaction() as tx:
                for part in range(PARTS):
                    tx.insert(Part(f"{writer.name} {number}", part))
            with writer.told(f"{HIT}{number}"), db.update(Hits, name=writer.name) as hits:
                hits.n = add(hits.n, 1)
            if writer.ended:
                return


def _write_in_a_loop(url: str, writer: Writer) -> None:
    asyncio.run(_write_async(url, writer))


async def _write_async(url: str, writer: Writer) -> None:
    async with AsyncClient(SCHEMA, "kills", Endpoint(url, retries=QUICKLY, timeout=5)) as db:
        numbers = count()

        async def write() -> None:
            for number in numbers:
                with writer.told(f"{writer.name} {number}"):
                    async with db.transaction() as tx:
                        for part in range(PARTS):
                            tx.insert(Part(f"{writer.name} {number}", part))
                with writer.told(f"{HIT}{number}"):
                    async with db.update(Hits, name=writer.name) as hits:
                        hits.n = add(hits.n, 1)
                if writer.ended or number > MOST:
                    return

        await asyncio.gather(*(write() for _ in range(3)))


def wrong(db: Client, writers: Sequence[Writer]) -> list[str]:
    """What is not in the table as the writers were told."""
    parts = Counter(one.group for page in db.everything(Part, consistent=True) for one in page)
    said = [f"{group} has {number} of {PARTS} parts" for group, number in parts.items() if number != PARTS]
    for writer in writers:
        groups = {name for name in writer.done if not name.startswith(HIT)}
        said += [f"{name} was acknowledged, and is gone" for name in sorted(groups - parts.keys())]
        said += [f"{name} was called not done, and is there" for name in sorted(writer.not_done & parts.keys())]
        hits = db.get(Hits, name=writer.name, consistent=True)
        least = writer.hits(writer.done)
        most = least + writer.hits(writer.unknown)
        if hits is None or not least <= hits.n <= most:
            said.append(f"{writer.name} has {hits}, and should have {least} to {most}")
    return said
