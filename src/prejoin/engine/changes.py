"""Read the stream of a table in this process, without shards and iterators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prejoin.engine.operations.database import Database
from prejoin.engine.operations.streams import changes

_AT_ONCE = 1_000


class TableChanges:
    """The changes of a table since a moment, each once and in order. Iterating ends when there is no more; later it
    continues where it ended.

    A change is a record as GetRecords returns it: `eventName` is INSERT, MODIFY or REMOVE, and `dynamodb` has the keys
    and the images that the stream's view includes.
    """

    def __init__(self, database: Database, table: str, *, oldest: bool, after: str | None = None) -> None:
        self._database, self._table = database, table
        # An empty label is of no stream, so reading begins with the oldest record that is kept.
        self._position: tuple[str, int] = ("", 0) if oldest else self._now()
        if after is not None:
            self.position = after

    @property
    def position(self) -> str:
        """The position behind the last change that was read. It can be stored, and set to continue there."""
        label, number = self._position
        return f"{label}/{number}"

    @position.setter
    def position(self, text: str) -> None:
        label, _, number = text.rpartition("/")
        if not number.isascii() or not number.isdigit():
            raise ValueError(f"{text!r} is not a position in a stream")
        self._position = label, int(number)

    def _now(self) -> tuple[str, int]:
        return self._database.store.read(changes, self._database, self._table, None, 0)[1]

    def read(self, limit: int = _AT_ONCE) -> list[dict[str, Any]]:
        """Up to `limit` changes that were not read before; an empty list if there are none yet."""
        store = self._database.store
        records, self._position = store.read(changes, self._database, self._table, self._position, limit)
        return records

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while records := self.read():
            yield from records
