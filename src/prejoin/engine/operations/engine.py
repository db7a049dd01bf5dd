"""What every operation works with: the store, and the tables in it."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.engine.catalog import Catalog
from prejoin.engine.store import Store


@dataclass(frozen=True, slots=True)
class Engine:
    store: Store
    catalog: Catalog
