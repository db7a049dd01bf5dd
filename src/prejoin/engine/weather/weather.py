"""The bad weather of some tables: what happens by chance, what readers see, and how many units are left."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from prejoin.engine.store.interface import Keyspace
from prejoin.engine.store.overlay import Overlay
from prejoin.engine.tables.definition import IndexDefinition
from prejoin.engine.weather.conditions import EVERY_OPERATION, Conditions
from prejoin.engine.weather.recent_changes import RecentChanges, StoredChange
from prejoin.engine.weather.throttling import Direction, ThrottledPlace, ThroughputLimiter
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.key_bytes import Range

_FAULTS = ("error", "lost", "conflict", "unprocessed")
_MESSAGES = {
    "InternalServerError": "Internal server error",
    "ServiceUnavailable": "The service is temporarily unavailable",
    "RequestLimitExceeded": "Throughput exceeds the current throughput limit for your account",
    "ThrottlingException": "Rate exceeded",
}


class Weather:
    """Bad weather of some tables, as long as its `with` block runs, or until `stop()`.

    `happened` counts what it did, by kind: "error", "lost", "conflict", "unprocessed", "throttled", "delay".
    """

    def __init__(
        self, conditions: Conditions, stop: Callable[[Weather], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.conditions = conditions
        self.happened: Counter[str] = Counter()
        self._stop, self._clock = stop, clock
        self._random = random.Random(conditions.seed)  # noqa: S311
        self._lock = threading.Lock()
        self._history = RecentChanges(conditions.longest_lag)
        self._throttle = ThroughputLimiter(conditions)

    def stop(self) -> None:
        """End it. Nothing of it remains: all reads are up to date."""
        self._stop(self)

    def __enter__(self) -> Weather:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def catch_up(self) -> None:
        """Let lagging reads see everything that was written until now."""
        self._history.forget()

    # --- For `front` and `session` ------------------------------------------------------------------------------

    def covers(self, table: str) -> bool:
        return not self.conditions.tables or table in self.conditions.tables

    def delay(self, operation: str) -> float:
        """How long an operation has to wait."""
        seconds: float = _setting_of(self.conditions.delays, operation) or 0.0
        if seconds:
            self.happened["delay"] += 1
        return seconds

    def error(self, operation: str) -> DynamoDBError | None:
        """The error of an operation, by chance."""
        errors = _setting_of(self.conditions.errors, operation)
        if not errors:
            return None
        with self._lock:
            # One random number for all errors of the operation, so that at most one of them happens.
            remainder = self._random.random()
            for code, chance in errors.items():
                remainder -= chance
                if remainder < 0 and self._may_happen("error"):
                    status = 503 if code == "ServiceUnavailable" else None
                    return DynamoDBError(code, _MESSAGES.get(code, ""), status=status)
        return None

    def loses(self, operation: str) -> bool:
        return self._happens("lost", _setting_of(self.conditions.lost, operation) or 0.0)

    def conflicts_at(self, actions: int) -> int | None:
        """The position of the action that meets another transaction, by chance."""
        if not actions or not self._happens("conflict", self.conditions.conflicts):
            return None
        with self._lock:
            return self._random.randrange(actions)

    def skips(self, items: int) -> set[int]:
        """The positions of the items of a batch that are not processed, by chance. One is always processed."""
        chance = self.conditions.unprocessed
        if not chance or not items:
            return set()
        with self._lock:
            skipped_numbers = {number for number in range(items) if self._random.random() < chance}
            # AWS fails a batch of which it can process nothing, instead of returning all of it.
            if len(skipped_numbers) == items:
                skipped_numbers.discard(self._random.randrange(items))
            return skipped_numbers if skipped_numbers and self._may_happen("unprocessed") else set()

    def _happens(self, kind: str, chance: float) -> bool:
        with self._lock:
            return chance > 0 and self._random.random() < chance and self._may_happen(kind)

    def _may_happen(self, kind: str) -> bool:
        """Count a fault, unless there were enough."""
        max_faults = self.conditions.faults
        if max_faults is not None and sum(self.happened[fault] for fault in _FAULTS) >= max_faults:
            return False
        self.happened[kind] += 1
        return True

    def conflict(self) -> DynamoDBError:
        return DynamoDBError("TransactionConflictException", "Transaction is ongoing for the item")

    def earlier_rows(
        self, keyspace: Keyspace, bounds: Range, index: IndexDefinition | None, *, consistent: bool
    ) -> Overlay:
        """The rows of a range that were different when they were as old as readers see them."""
        lag = self.conditions.read_lag
        if index is not None:
            by_name = self.conditions.index_lag
            lag = by_name.get(index.name, 0.0) if isinstance(by_name, dict) else by_name
        elif consistent:
            return {}
        return self._history.since(self._clock() - lag, keyspace, bounds) if lag else {}

    def remember(self, changes: list[StoredChange]) -> None:
        self._history.add(changes, self._clock())

    def check_units(self, place: ThrottledPlace, direction: Direction) -> None:
        """Raise DynamoDB's error if a table, index or partition has no units left."""
        if not self.conditions.throttling:
            return
        try:
            self._throttle.check(place, direction, self._clock())
        except DynamoDBError:
            self.happened["throttled"] += 1
            raise

    def charge_units(self, place: ThrottledPlace, direction: Direction, units: float) -> None:
        if self.conditions.throttling:
            self._throttle.charge(place, direction, units, self._clock())


def _setting_of(by_operation: dict[str, Any], operation: str) -> Any:
    return by_operation.get(operation, by_operation.get(EVERY_OPERATION))
