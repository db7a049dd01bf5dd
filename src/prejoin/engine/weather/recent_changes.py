"""Rows as they were a moment ago, from a list of the changes since."""

from __future__ import annotations

import threading
from bisect import bisect_right

import msgspec

from prejoin.engine.store.interface import Keyspace, StoredRow
from prejoin.engine.store.overlay import Overlay
from prejoin.protocol.key_bytes import Range


class StoredChange(msgspec.Struct, frozen=True):
    """A change of an item or index entry: the row that was there before, if any."""

    keyspace: Keyspace
    key: bytes
    before: StoredRow | None


class RecentChanges:
    """The latest changes, the oldest first. Threads may share it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        """How long a change is of interest."""
        self._lock = threading.Lock()
        self._times: list[float] = []
        self._changes: list[StoredChange] = []

    def add(self, changes: list[StoredChange], now: float) -> None:
        with self._lock:
            expired_count = bisect_right(self._times, now - self._seconds)
            del self._times[:expired_count], self._changes[:expired_count]
            self._times += [now] * len(changes)
            self._changes += changes

    def forget(self) -> None:
        """Let every read see everything that has happened until now."""
        with self._lock:
            self._times.clear()
            self._changes.clear()

    def since(self, moment: float, keyspace: Keyspace, bounds: Range) -> Overlay:
        """The rows of a range that were different at a moment, as they were then."""
        low, high = bounds
        overlay: Overlay = {}
        with self._lock:
            # From the newest to the oldest, so that the oldest change of a row remains: it has the row as it was at the
            # moment.
            for change in reversed(self._changes[bisect_right(self._times, moment) :]):
                if change.keyspace == keyspace and low <= change.key and (high is None or change.key < high):
                    overlay[change.key] = change.before
        return overlay
