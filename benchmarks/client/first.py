"""A program that gets one item, as a function that starts would: run by its path, its time to the answer is measured.

It says how long the library took to import, and what CPU the process has used when the answer is there. Told a
number, it gets so many more, and says what memory it holds. It imports nothing that its library might not.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .asking import Asking


def resident() -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def answered(import_seconds: float) -> None:
    print(f'{{"import": {import_seconds}, "cpu": {time.process_time()}}}', flush=True)


def told() -> int:
    """How many more are to be got."""
    return int(sys.stdin.readline() or 0)


def waiting(asking: Asking, user: str, number: int, import_seconds: float) -> None:
    asking.open()
    assert asking.get(user, number)
    answered(import_seconds)
    if more := told():
        for _ in range(more):
            asking.get(user, number)
        print(f'{{"bytes": {resident()}}}', flush=True)
    asking.close()


async def awaiting(asking: Asking, user: str, number: int, import_seconds: float) -> None:
    await asking.open()
    assert await asking.get(user, number)
    answered(import_seconds)
    if more := told():
        for _ in range(more):
            await asking.get(user, number)
        print(f'{{"bytes": {resident()}}}', flush=True)
    await asking.close()


def main() -> None:
    library, url, table, user, number = sys.argv[1:]
    begin = time.perf_counter()
    module = getattr(__import__(f"client.clients.{library}").clients, library)
    import_seconds = time.perf_counter() - begin
    asking = module.connect(url, table)
    if asking.awaited:
        import asyncio

        asyncio.run(awaiting(asking, user, int(number), import_seconds))
    else:
        waiting(asking, user, int(number), import_seconds)


main()
