"""What every operation works with: the store, the tables in it, how much they hold, and tokens of transactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prejoin.engine.operations.client_tokens import ClientTokens
from prejoin.engine.store.interface import Store
from prejoin.engine.tables.catalog import Catalog
from prejoin.engine.tables.totals import Counter


@dataclass(frozen=True, slots=True)
class Database:
    store: Store
    catalog: Catalog
    counter: Counter
    tokens: ClientTokens


ResponseBody = dict[str, Any] | bytes
"""What an operation answers: members that are still to be encoded, or the JSON itself."""
