"""The interface of all contenders: one adapter for each library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .workload import Order

Row = list[Any]
"""An order as [user, number, placed, status, total, note]."""


class Adapter(Protocol):
    """A library's client for a table. If `is_async`, all methods but `to_native` and `row` are coroutines.

    Writes take the library's own objects, which are made before the clock starts. Keys are made in the call.
    """

    is_async: bool

    def open(self) -> Any: ...

    def to_native(self, order: Order) -> Any:
        """The library's object for an order."""

    def get(self, user: str, number: int) -> Any:
        """The order, as the library's object."""

    def query(self, user: str) -> Any:
        """All orders of a user, as a list of the library's objects."""

    def put(self, native: Any) -> Any: ...

    def add(self, user: str, number: int) -> Any:
        """Adds 1 to the total, if the order exists."""

    def move(self, user: str, number: int, status: str) -> Any:
        """Changes the status and the index key, if the order exists."""

    def transact(self, put: Any, add: tuple[str, int], check: tuple[str, int]) -> Any:
        """Puts an order and adds to another, on the condition that a third exists."""

    def batch(self, native: Sequence[Any]) -> Any:
        """Puts all orders."""

    def row(self, found: Any) -> Row:
        """The contents of the library's object."""

    def close(self) -> Any: ...
