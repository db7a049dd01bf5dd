"""A program that gets one item, like a Lambda function that starts. Its time to the response is measured.

It prints the time of the library's import and the CPU used until the response. Then it reads a number, gets so many
more items, and prints its memory. It must not import modules that the library does not need.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .adapter import Adapter


def resident() -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def report(import_seconds: float) -> None:
    print(f'{{"import": {import_seconds}, "cpu": {time.process_time()}}}', flush=True)


def further_gets() -> int:
    return int(sys.stdin.readline() or 0)


def run_sync(adapter: Adapter, user: str, number: int, import_seconds: float) -> None:
    adapter.open()
    assert adapter.get(user, number)
    report(import_seconds)
    if more := further_gets():
        for _ in range(more):
            adapter.get(user, number)
        print(f'{{"bytes": {resident()}}}', flush=True)
    adapter.close()


async def run_async(adapter: Adapter, user: str, number: int, import_seconds: float) -> None:
    await adapter.open()
    assert await adapter.get(user, number)
    report(import_seconds)
    if more := further_gets():
        for _ in range(more):
            await adapter.get(user, number)
        print(f'{{"bytes": {resident()}}}', flush=True)
    await adapter.close()


def main() -> None:
    library, url, table, user, number = sys.argv[1:]
    begin = time.perf_counter()
    module = getattr(__import__(f"client.clients.{library}").clients, library)
    import_seconds = time.perf_counter() - begin
    adapter = module.connect(url, table)
    if adapter.is_async:
        import asyncio

        asyncio.run(run_async(adapter, user, int(number), import_seconds))
    else:
        run_sync(adapter, user, int(number), import_seconds)


main()
