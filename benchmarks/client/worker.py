"""One contender's process: asks its library what it is told to, and says what that took. A line of JSON each way."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from . import workload

if TYPE_CHECKING:
    from .asking import Asking

Call = Callable[[], Any]


class InTurn:
    """Calls one after the other, by a client that waits for its answers."""

    def do(self, calls: Iterable[Call]) -> None:
        for call in calls:
            call()

    def answer(self, call: Call) -> Any:
        return call()


class Awaited:
    """Calls one after the other in an event loop."""

    def __init__(self) -> None:
        import asyncio

        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._gather = asyncio.gather

    def do(self, calls: Iterable[Call]) -> None:
        self._loop.run_until_complete(self._all(calls))

    def answer(self, call: Call) -> Any:
        return self._loop.run_until_complete(call())

    async def together(self, calls: list[Call]) -> list[Any]:
        """All at once."""
        return await self._gather(*(call() for call in calls))

    async def _all(self, calls: Iterable[Call]) -> None:
        for call in calls:
            await call()


class Worker:
    """The loops that are timed."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking
        self._runs: InTurn | Awaited = Awaited() if asking.awaited else InTurn()
        if asking.awaited:
            self._runs.answer(asking.open)
        else:
            asking.open()
        self._calls = self._all_calls()
        self._rounds = {operation: cycle(calls) for operation, calls in self._calls.items()}

    def operations(self) -> dict[str, Any]:
        return {"operations": list(self._calls)}

    def warm(self, operation: str, seconds: float) -> dict[str, Any]:
        """Ask for a while, at least once; says how long a call takes."""
        begin, count = time.perf_counter(), 0
        while (spent := time.perf_counter() - begin) < seconds or count < 1:
            self._runs.do(islice(self._rounds[operation], 1))
            count += 1
        return {"seconds": spent / count}

    def time(self, operation: str, count: int) -> dict[str, Any]:
        """What a call takes, over so many: seconds of this process's CPU, with all its threads, and of the clock."""
        some = list(islice(self._rounds[operation], count))
        cpu, wall = time.process_time(), time.perf_counter()
        self._runs.do(some)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        each = count * (workload.AT_ONCE if operation == workload.TOGETHER else 1)
        return {"cpu": cpu / each, "wall": wall / each}

    def answers(self) -> dict[str, Any]:
        """What it reads, to be compared with what others do; and one call of each write, so that tables can be."""
        found = {}
        for operation, (first, *_) in self._calls.items():
            answer = self._runs.answer(first)
            if operation in (workload.GET, workload.QUERY_100, workload.QUERY_1000, workload.TOGETHER):
                objects = answer if isinstance(answer, list) else [answer]
                found[operation] = [self._asking.row(one) for one in objects]
        return found

    def close(self) -> None:
        if self._asking.awaited:
            self._runs.answer(self._asking.close)
        else:
            self._asking.close()

    def _all_calls(self) -> dict[str, list[Call]]:
        ask, given = self._asking, workload.arguments()
        calls: dict[str, list[Call]] = {
            workload.GET: [partial(ask.get, *key) for key in given.gets],
            workload.PUT: [partial(ask.put, ask.made(one)) for one in given.puts],
            workload.ADD: [partial(ask.add, *key) for key in given.adds],
            workload.MOVE: [partial(ask.move, *key, status) for key, status in given.moves],
            workload.QUERY_100: [partial(ask.query, "hundred")],
            workload.QUERY_1000: [partial(ask.query, "thousand")],
            workload.TRANSACT: [
                partial(ask.transact, ask.made(put), add, check) for put, add, check in given.transactions
            ],
            workload.BATCH: [partial(ask.batch, [ask.made(one) for one in batch]) for batch in given.batches],
        }
        if isinstance(self._runs, Awaited):
            gets, size = calls[workload.GET], workload.AT_ONCE
            calls[workload.TOGETHER] = [
                partial(self._runs.together, gets[at : at + size]) for at in range(0, len(gets), size)
            ]
        return calls


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    library, url, table = sys.argv[1:]
    worker = Worker(import_module(f"client.clients.{library}").connect(url, table))
    try:
        say(worker.operations())
        for line in sys.stdin:
            do = json.loads(line)
            try:
                say(getattr(worker, do.pop("do"))(**do))
            except Exception as error:
                say({"failed": f"{type(error).__name__}: {error}"})
    finally:
        worker.close()


if __name__ == "__main__":
    main()
