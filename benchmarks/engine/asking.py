"""What a worker needs of a way of asking, and how the answers of all are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Row = list[Any]
"""An order as [user, number, status, total]."""


class Asking(Protocol):
    """A client on an engine, open."""

    def create(self) -> None:
        """Make the table, and wait until it is there."""

    def first(self) -> None:
        """Make the table, put one item and get it: the first answer after a start."""

    def load(self) -> None:
        """Put all items."""

    def calls(self) -> dict[str, list[Callable[[], Any]]]:
        """Each operation as calls without arguments."""

    def rows(self, answer: Any) -> list[Row]:
        """The orders in an answer to a get or a query."""

    def orders(self, user: str) -> Any:
        """The answer to a query of a user's orders."""

    def stored(self) -> int:
        """Bytes on disk, where that is known."""

    def processes(self) -> list[str]:
        """The process ids of the server, if there is one."""

    def close(self) -> None: ...


def answers(asking: Asking, users: int) -> dict[str, list[Row]]:
    """What is answered to the first call of each read, and what each write's users have after its first call."""
    found: dict[str, list[Row]] = {}
    writes = ("PutItem", "UpdateItem", "TransactWrite of 3", "BatchWrite of 25")
    for operation, (first, *_) in asking.calls().items():
        answer = first()
        if operation in writes:
            share, at = users // 5, writes.index(operation)
            owners = [f"u{number:06}" for number in range(at * share, (at + 1) * share)]
            found[operation] = [row for owner in owners for row in asking.rows(asking.orders(owner))]
        else:
            found[operation] = asking.rows(answer)
    return found
