"""What every operation works with: the store, the tables in it, and how much they hold."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.engine.catalog import Catalog
from prejoin.engine.store import Store
from prejoin.engine.totals import Counter


@dataclass(frozen=True, slots=True)
class Engine:
    store: Store
    catalog: Catalog
    counter: Counter
