"""The actual content of the table: scanned once, then followed change by change.

A proof compares the table after every write. With a scan each time, that takes as long as the square of the workload's
size. The embedded engine tells what a write has changed, so that only this is compared. Other engines are scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from prejoin.table.client.client import Client
from prejoin.table.codec.values import Json

Key = tuple[str, ...]
Dump = dict[Key, Json]
"""Items in DynamoDB JSON, by their keys."""

STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
"""The stream of a table that is followed."""


@runtime_checkable
class Followed(Protocol):
    """A transport that tells what has changed in a table, such as `Embedded`."""

    def changes(self, table: str) -> Iterable[Json]:
        """The changes from now on, as GetRecords returns them. Each iteration has those since the last one."""
        ...


class TableContent:
    """The items in the table, as of the last `refresh`."""

    def __init__(self, client: Client, names: Sequence[str], change_source: Followed | None) -> None:
        self._client, self._names, self._followed = client, names, change_source
        self._changes: Iterable[Json] | None = None
        self.items: Dump = {}

    def key(self, item: Json) -> Key:
        """The key of an item: the values of its key attributes, as texts."""
        return tuple(text for name in self._names for text in item[name].values())

    def key_of(self, item: Json) -> Json:
        """The key attributes of an item."""
        return {name: item[name] for name in self._names}

    def refresh(self) -> Iterable[Key]:
        """Brings the items up to date. Returns the keys of those that may have changed, or may have been removed."""
        if self._changes is not None:
            return [self._apply(change["dynamodb"]) for change in self._changes]
        if self._followed is not None:
            self._changes = self._followed.changes(self._client.table)
        # The changes are those from here on, so what is there already is scanned.
        before, self.items = self.items, self.scan()
        return before | self.items

    def _apply(self, change: Json) -> Key:
        key = self.key(change["Keys"])
        if "NewImage" in change:
            self.items[key] = change["NewImage"]
        else:
            self.items.pop(key, None)
        return key

    def scan(self) -> Dump:
        items: Dump = {}
        start: Json = {}
        while True:
            page = self._client.call("Scan", {"ConsistentRead": True, **start})
            items |= {self.key(item): item for item in page["Items"]}
            if "LastEvaluatedKey" not in page:
                return items
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
