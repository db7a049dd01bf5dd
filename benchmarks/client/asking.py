"""What each contender can be asked, whatever its library calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .workload import Order

Row = list[Any]
"""An order as [user, number, placed, status, total, note]."""


class Asking(Protocol):
    """A library's client on a table, open. Where it is `awaited`, `open` to `close` are coroutines.

    What a write takes is the library's own object, made before the clock runs; keys are made in the call.
    """

    awaited: bool

    def open(self) -> Any: ...

    def made(self, order: Order) -> Any:
        """The library's object for an order: never a coroutine."""

    def get(self, user: str, number: int) -> Any:
        """The order, as the library's object."""

    def query(self, user: str) -> Any:
        """All orders of a user, as a list of the library's objects."""

    def put(self, made: Any) -> Any: ...

    def add(self, user: str, number: int) -> Any:
        """One more to the total, if the order is there."""

    def move(self, user: str, number: int, status: str) -> Any:
        """Another status, and with it another key in the index, if the order is there."""

    def transact(self, put: Any, add: tuple[str, int], check: tuple[str, int]) -> Any:
        """Put one, add to another, on condition that a third is there."""

    def batch(self, made: Sequence[Any]) -> Any:
        """Put them all."""

    def row(self, found: Any) -> Row:
        """What is in the library's object: never a coroutine."""

    def close(self) -> Any: ...
