"""The state that every operation works with: the store, the catalog, item counts and client tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from prejoin.engine.operations.client_tokens import ClientTokens
from prejoin.engine.store.interface import Store
from prejoin.engine.tables.catalog import Catalog
from prejoin.engine.tables.totals import ItemCounter


@dataclass(frozen=True, slots=True)
class Database:
    store: Store
    catalog: Catalog
    counter: ItemCounter
    tokens: ClientTokens
    shard_records: int = 0
    """The number of records after which a shard of a stream is closed; 0 for never."""
    buckets: str | None = None
    """The folder with the buckets of exports and imports."""
    newer_messages: bool = False
    """Whether PutItem, UpdateItem and DeleteItem report invalid requests as AWS does since autumn 2026."""


ResponseBody = dict[str, Any] | bytes
"""The members of a response, still to be encoded, or its JSON."""
