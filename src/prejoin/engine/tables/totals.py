"""Item counts and sizes of a table and its indexes. Slow counts are cached for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import TableDefinition
from prejoin.protocol.key_bytes import under

_QUICK_SECONDS = 0.005
_SHARE = 50


class Totals(NamedTuple):
    """Number and bytes of the items, and of the entries of each index by number."""

    items: tuple[int, int]
    entries: dict[int, tuple[int, int]]


NOTHING = Totals((0, 0), {})


@dataclass(frozen=True, slots=True)
class _CachedTotals:
    totals: Totals
    again: float


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
        begun = time.monotonic()
        # A change of indexes invalidates the cached count.
        thing = (table.id, hash(tuple(index.number for index in table.indexes)))
        known = self._counted.get(thing)
        if known is not None and begun < known.again:
            return known.totals
        items = session.count("items", under(table.prefix))
        entries = {index.number: session.count("entries", under(table.index_prefix(index))) for index in table.indexes}
        totals = Totals(items, entries)
        taken = time.monotonic() - begun
        if taken > _QUICK_SECONDS:
            self._counted[thing] = _CachedTotals(totals, begun + taken * _SHARE)
        return totals
