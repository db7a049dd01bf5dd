"""Item counts and sizes of a table and its indexes. Slow counts are cached for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import TableDefinition
from prejoin.protocol.key_bytes import under

_QUICK_SECONDS = 0.005
_PAUSE_FACTOR = 50


class Totals(NamedTuple):
    """Number and bytes of the items, and of the entries of each index by number."""

    items: tuple[int, int]
    entries: dict[int, tuple[int, int]]


NO_ITEMS = Totals((0, 0), {})


@dataclass(frozen=True, slots=True)
class _CachedTotals:
    totals: Totals
    valid_until: float


class ItemCounter:
    """Counts tables. A count that takes long is reused, so that counting takes at most a fiftieth of the time.

    DynamoDB itself updates its counts about every six hours.
    """

    def __init__(self) -> None:
        self._counted: dict[tuple[int, int], _CachedTotals] = {}

    def forget(self) -> None:
        """Forget all counts, because the content of the store was replaced."""
        self._counted.clear()

    def count(self, session: Session, table: TableDefinition) -> Totals:
        begin = time.monotonic()
        # A change of indexes invalidates the cached count.
        cache_key = (table.id, hash(tuple(index.number for index in table.indexes)))
        cached = self._counted.get(cache_key)
        if cached is not None and begin < cached.valid_until:
            return cached.totals
        # In memory both counts are quick, whatever the size of the table. In a file SQLite counts row by row.
        items = session.count("items", under(table.prefix))
        entries = {index.number: session.count("entries", under(table.index_prefix(index))) for index in table.indexes}
        totals = Totals(items, entries)
        seconds = time.monotonic() - begin
        # A quick count is not cached, so small tables are always exact.
        if seconds > _QUICK_SECONDS:
            self._counted[cache_key] = _CachedTotals(totals, begin + seconds * _PAUSE_FACTOR)
        return totals
