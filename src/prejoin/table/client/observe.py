"""`Call`: a request and its response, for observers of a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True):
    """One request and its response."""

    operation: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    keys: tuple[str, ...]
    """The keys as texts: `USER#42 / ORDER#*`. A request for several items has several."""

    @property
    def key(self) -> str:
        """All keys in one text."""
        return ", ".join(self.keys)

    @property
    def index(self) -> str:
        """The index that was read; empty for the table."""
        return str(self.request.get("IndexName", ""))

    @property
    def units(self) -> float:
        """The consumed capacity units of the table and its indexes."""
        capacity = self.response.get("ConsumedCapacity") or []
        # Operations on several items return a list, one entry for each table.
        entries = capacity if isinstance(capacity, list) else [capacity]
        return float(sum(entry["CapacityUnits"] for entry in entries))

    @property
    def items(self) -> int:
        """The number of items that were read or written."""
        match self.operation:
            case "Query" | "Scan":
                return int(self.response.get("Count", 0))
            case "GetItem":
                return int("Item" in self.response)
            case "BatchGetItem":
                return sum(map(len, self.response["Responses"].values()))
            case "TransactGetItems":
                return sum("Item" in answer for answer in self.response["Responses"])
            case "BatchWriteItem":
                return sum(map(len, self.request["RequestItems"].values()))
            case _:
                return len(self.request.get("TransactItems", (None,)))


Observer = Callable[[Call], None]
