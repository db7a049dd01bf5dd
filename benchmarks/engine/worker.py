"""One contender's process: opens its way, then does what it is told, a line of JSON for each order and each answer.

Imports only what its way needs, since its start is measured too.
"""

from __future__ import annotations

import json
import sys
import time
from itertools import cycle, islice
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .asking import Asking


def open_way(order: dict[str, Any]) -> Asking:
    if order["client"] in ("bytes", "typed"):
        from .embedded import Bytes, Typed

        return (Bytes if order["client"] == "bytes" else Typed)(order)
    from .overboto3 import Boto3

    return Boto3(order)


class Worker:
    """The loops that are timed."""

    def __init__(self, asking: Asking, users: int) -> None:
        self._asking = asking
        self._users = users
        self._rounds: dict[str, Iterator[Callable[[], Any]]] = {}

    def load(self) -> dict[str, Any]:
        """Fill the table, and say which operations there are to be timed."""
        self._asking.load()
        calls = self._asking.calls()
        self._rounds = {operation: cycle(thunks) for operation, thunks in calls.items()}
        return {"operations": list(calls), "bytes": self._asking.stored()}

    def warm(self, operation: str, seconds: float) -> dict[str, Any]:
        """Ask for a while, at least once; says how long a call takes."""
        thunks = self._rounds[operation]
        begin, count = time.perf_counter(), 0
        while (spent := time.perf_counter() - begin) < seconds or count < 1:
            next(thunks)()
            count += 1
        return {"seconds": spent / count}

    def time(self, operation: str, count: int) -> dict[str, Any]:
        """The seconds that a call takes, over so many."""
        some = list(islice(self._rounds[operation], count))
        begin = time.perf_counter()
        for thunk in some:
            thunk()
        return {"seconds": (time.perf_counter() - begin) / count}

    def answers(self) -> dict[str, Any]:
        """What it answers, to be compared with what others do."""
        from .asking import answers

        return answers(self._asking, self._users)

    def memory(self) -> dict[str, Any]:
        return {"client": _resident("self"), "server": sum(map(_resident, self._asking.processes()))}


def _resident(process: str) -> int:
    with open(f"/proc/{process}/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    order = json.loads(sys.argv[1])
    asking = open_way(order)
    try:
        worker = Worker(asking, order["users"])
        if order.get("cold"):
            asking.first()
            say({"answered": True})
        else:
            asking.create()
            say({"ready": True})
        for line in sys.stdin:
            do = json.loads(line)
            try:
                say(getattr(worker, do.pop("do"))(**do))
            except Exception as error:
                say({"failed": f"{type(error).__name__}: {error}"})
    finally:
        asking.close()


if __name__ == "__main__":
    main()
