"""The process of a contender: runs and times operations. Commands and responses are lines of JSON."""

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
    from .adapter import Adapter

Call = Callable[[], Any]


class Sync:
    """Runs calls of a synchronous client."""

    def do(self, calls: Iterable[Call]) -> None:
        for call in calls:
            call()

    def answer(self, call: Call) -> Any:
        return call()


class Async:
    """Runs calls of an async client in an event loop."""

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
        """Runs calls concurrently."""
        return await self._gather(*(call() for call in calls))

    async def _all(self, calls: Iterable[Call]) -> None:
        for call in calls:
            await call()


class Worker:
    """Runs and times operations of an adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._runner: Sync | Async = Async() if adapter.is_async else Sync()
        if adapter.is_async:
            self._runner.answer(adapter.open)
        else:
            adapter.open()
        self._calls = self._all_calls()
        self._rounds = {operation: cycle(calls) for operation, calls in self._calls.items()}

    def operations(self) -> dict[str, Any]:
        return {"operations": list(self._calls)}

    def warm(self, operation: str, seconds: float) -> dict[str, Any]:
        """Runs an operation for a while, at least once; returns the time of a call."""
        begin, count = time.perf_counter(), 0
        while (spent := time.perf_counter() - begin) < seconds or count < 1:
            self._runner.do(islice(self._rounds[operation], 1))
            count += 1
        return {"seconds": spent / count}

    def time(self, operation: str, count: int) -> dict[str, Any]:
        """The mean CPU and wall time of `count` calls, in seconds. CPU includes all threads."""
        some = list(islice(self._rounds[operation], count))
        cpu, wall = time.process_time(), time.perf_counter()
        self._runner.do(some)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        each = count * (workload.AT_ONCE if operation == workload.TOGETHER else 1)
        return {"cpu": cpu / each, "wall": wall / each}

    def answers(self) -> dict[str, Any]:
        """Runs each operation once and returns what was read. The caller compares it, and the written tables."""
        found = {}
        for operation, (first, *_) in self._calls.items():
            answer = self._runner.answer(first)
            if operation in (workload.GET, workload.QUERY_100, workload.QUERY_1000, workload.TOGETHER):
                objects = answer if isinstance(answer, list) else [answer]
                found[operation] = [self._adapter.row(one) for one in objects]
        return found

    def close(self) -> None:
        if self._adapter.is_async:
            self._runner.answer(self._adapter.close)
        else:
            self._adapter.close()

    def _all_calls(self) -> dict[str, list[Call]]:
        adapter, inputs = self._adapter, workload.arguments()
        calls: dict[str, list[Call]] = {
            workload.GET: [partial(adapter.get, *key) for key in inputs.gets],
            workload.PUT: [partial(adapter.put, adapter.to_native(one)) for one in inputs.puts],
            workload.ADD: [partial(adapter.add, *key) for key in inputs.adds],
            workload.MOVE: [partial(adapter.move, *key, status) for key, status in inputs.moves],
            workload.QUERY_100: [partial(adapter.query, "hundred")],
            workload.QUERY_1000: [partial(adapter.query, "thousand")],
            workload.TRANSACT: [
                partial(adapter.transact, adapter.to_native(put), add, check) for put, add, check in inputs.transactions
            ],
            workload.BATCH: [
                partial(adapter.batch, [adapter.to_native(one) for one in batch]) for batch in inputs.batches
            ],
        }
        if isinstance(self._runner, Async):
            gets, size = calls[workload.GET], workload.AT_ONCE
            calls[workload.TOGETHER] = [
                partial(self._runner.together, gets[at : at + size]) for at in range(0, len(gets), size)
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
