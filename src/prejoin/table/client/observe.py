"""What was called, for those who watch: operation, key, items and units of every request that was answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec


class Call(msgspec.Struct, frozen=True):
    """One request and its answer."""

    operation: str
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    key: str
    """The key as people read it: `USER#42 / ORDER#*`."""

    @property
    def index(self) -> str:
        """The index it read; empty for the table."""
        return str(self.request.get("IndexName", ""))

    @property
    def units(self) -> float:
        """Capacity units consumed, of the table and its indexes."""
        found = self.response.get("ConsumedCapacity") or []
        return float(sum(one["CapacityUnits"] for one in (found if isinstance(found, list) else [found])))

    @property
    def items(self) -> int:
        """Items read or written."""
        match self.operation:
            case "Query" | "Scan":
                return int(self.response.get("Count", 0))
            case "GetItem":
                return int("Item" in self.response)
            case "BatchGetItem":
                return sum(map(len, self.response["Responses"].values()))
            case "TransactGetItems":
                return sum("Item" in one for one in self.response["Responses"])
            case "BatchWriteItem":
                return sum(map(len, self.request["RequestItems"].values()))
            case _:
                return len(self.request.get("TransactItems", (None,)))


Observer = Callable[[Call], None]
