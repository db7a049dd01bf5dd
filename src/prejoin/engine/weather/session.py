"""A session of the store in bad weather: reads see the past, units are counted, and transactions meet.

Operations use it as any other session. The store itself is always up to date: only reads lag.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from types import TracebackType
from typing import Any, cast

import msgspec

from prejoin.engine.store.interface import Keyspace, RangeScan, Session, Store, StoredRow
from prejoin.engine.store.overlay import Overlay, apply_overlay
from prejoin.engine.tables.catalog import Catalog
from prejoin.engine.tables.definition import IndexDefinition, TableDefinition, table_id
from prejoin.engine.weather.recent_changes import StoredChange
from prejoin.engine.weather.throttling import Direction, ThrottledPlace
from prejoin.engine.weather.weather import Weather
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.key_bytes import Range, after
from prejoin.protocol.prices import STRONG, TRANSACTIONAL, read_units, write_units

_HASH = 4
"""The length of the hash of a partition key. In the key of an item it follows the table's id, in the key of an index
entry the table's id and the number of the index.
"""


class RequestFacts(msgspec.Struct, frozen=True):
    """Facts about the request that a session serves."""

    reads: bool
    weather_of: Callable[[str], Weather | None]
    """The weather of a table, by its name."""
    factor_of: Callable[[str], float]
    """The read units that 4 KB of a table cost: STRONG, EVENTUAL or TRANSACTIONAL."""
    transactional: bool
    has_reasons: bool
    """Whether the error of a throttled request has its reasons. The error of one of several actions has not."""
    conflict_at: int | None
    """The item that meets another transaction, by its position in the request."""


class InterruptedItemError(DynamoDBError):
    """An item that is throttled, or meets a transaction. `position` is its position in the request."""

    def __init__(self, error: DynamoDBError, position: int) -> None:
        super().__init__(error.code, error.message, fields=error.fields)
        self.position = position

    def plain(self) -> DynamoDBError:
        """The error as a client gets it."""
        return DynamoDBError(self.code, self.message, fields=self.fields)


class WeatheredStore:
    """A store whose sessions are in bad weather. Everything else is as in the store."""

    def __init__(self, store: Store, catalog: Catalog, facts: RequestFacts) -> None:
        self._store, self._catalog, self._facts = store, catalog, facts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def reading(self, *, snapshot: bool = False) -> _WeatheredUse:
        # Several statements together show one moment, so that they need a snapshot.
        return _WeatheredUse(self._store.reading(snapshot=True), self._catalog, self._facts)

    def writing(self) -> _WeatheredUse:
        return _WeatheredUse(self._store.writing(), self._catalog, self._facts)


class _WeatheredUse:
    """One use of a session. Units are charged, and changes are remembered, when it ends."""

    def __init__(self, inner: AbstractContextManager[Session], catalog: Catalog, facts: RequestFacts) -> None:
        self._inner, self._catalog, self._facts = inner, catalog, facts

    def __enter__(self) -> Session:
        self._session = WeatheredSession(self._inner.__enter__(), self._catalog, self._facts)
        return cast("Session", self._session)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.end(error)
        self._inner.__exit__(kind, error, trace)


class _RowPlace(msgspec.Struct, frozen=True):
    """Where a row is: its table and global index, and the weather there."""

    table: TableDefinition
    index: IndexDefinition | None
    """The global index. A local one shares the throughput and the lag of its table."""
    is_entry: bool
    weather: Weather

    def partition(self, key: bytes) -> bytes:
        """The beginning of a key, up to the hash of its partition key."""
        return key[: (3 if self.is_entry else 2) * _HASH]

    def throttled_place(self, key: bytes) -> ThrottledPlace:
        return ThrottledPlace(self.table, self.index, self.partition(key)[-_HASH:])


class WeatheredSession:
    """A session in bad weather. What is not here is as in the inner session."""

    def __init__(self, inner: Session, catalog: Catalog, facts: RequestFacts) -> None:
        self._inner, self._catalog, self._facts = inner, catalog, facts
        self._position = -1
        self._changes: dict[Weather, list[StoredChange]] = defaultdict(list)
        self._was_interrupted = False
        self._charges: list[tuple[Weather, ThrottledPlace, Direction, float]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    # --- Reads -------------------------------------------------------------------------------------------------------

    def get(self, key: bytes) -> StoredRow | None:
        self._position += 1
        place = self._place(key, "items")
        if place is None:
            return self._inner.get(key)
        # Operations read the items of a request by key, each once and in order, so the number of reads is the position.
        if self._position == self._facts.conflict_at:
            self._was_interrupted = True
            raise InterruptedItemError(place.weather.conflict(), self._position)
        # A write reads its item first. Its units are known in part then: those of the item that it replaces.
        if not self._facts.reads:
            self._check(place, key, "Write")
            row = self._inner.get(key)
            self._charge(place, key, "Write", self._write_units(row))
            return row
        self._check(place, key, "Read")
        overlay = self._overlay(place, "items", Range(key, after(key)))
        row = overlay[key] if key in overlay else self._inner.get(key)
        self._charge(place, key, "Read", read_units(row.size if row else 0, self._facts.factor_of(place.table.name)))
        return row

    def contents(self, scan: RangeScan) -> Iterator[list[bytes]]:
        place = self._place(scan.bounds.low, scan.keyspace)
        if place is None:
            return self._inner.contents(scan)
        return iter([[row.content for row in self._page(place, scan)]])

    def rows(self, scan: RangeScan, offset: int) -> Iterator[StoredRow]:
        place = self._place(scan.bounds.low, scan.keyspace)
        return self._inner.rows(scan, offset) if place is None else islice(self._page(place, scan), offset, None)

    def size(self, scan: RangeScan) -> int:
        place = self._place(scan.bounds.low, scan.keyspace)
        return self._inner.size(scan) if place is None else sum(row.size for row in self._page(place, scan))

    def _page(self, place: _RowPlace, scan: RangeScan) -> list[StoredRow]:
        """The rows of a scan, until they are more than a page."""
        self._check(place, scan.bounds.low, "Read")
        find = self._inner.items if scan.keyspace == "items" else self._inner.entries
        past_rows: Any = apply_overlay(find(scan.bounds), self._overlay(place, scan.keyspace, scan.bounds))
        # The overlay is merged in ascending order, so a backwards read has to collect the range first.
        if not scan.forward:
            past_rows = reversed(list(past_rows))
        page: list[StoredRow] = []
        sizes: dict[bytes, int] = defaultdict(int)
        total = 0
        for key, row in islice(past_rows, scan.limit):
            page.append(row)
            sizes[place.partition(key)] += row.size
            total += row.size
            if total > limits.PAGE_SIZE:
                break
        # A page may be read twice, first its beginning.
        self._refund()
        factor = self._facts.factor_of(place.table.name)
        for key, size in sizes.items() or ((scan.bounds.low, 0),):
            self._charge(place, key, "Read", read_units(size, factor))
        return page

    def _overlay(self, place: _RowPlace, keyspace: Keyspace, bounds: Range) -> Overlay:
        consistent = self._facts.factor_of(place.table.name) in (STRONG, TRANSACTIONAL)
        return place.weather.earlier_rows(keyspace, bounds, place.index, consistent=consistent)

    # --- Writes ------------------------------------------------------------------------------------------------------

    def put(self, key: bytes, before: StoredRow | None, row: StoredRow) -> None:
        self._note_change("items", key, before, row)
        self._inner.put(key, before, row)

    def put_expiring(self, key: bytes, before: StoredRow | None, row: StoredRow, expires: int | None) -> None:
        self._note_change("items", key, before, row)
        self._inner.put_expiring(key, before, row, expires)

    def delete(self, key: bytes) -> None:
        self._note_change("items", key, self._inner.get(key), None)
        self._inner.delete(key)

    def put_entry(self, key: bytes, row: StoredRow, *, new: bool) -> None:
        self._note_change("entries", key, None if new else self._entry(key), row)
        self._inner.put_entry(key, row, new=new)

    def move_entry(self, old: bytes, key: bytes, row: StoredRow) -> None:
        self._note_change("entries", old, self._entry(old), None)
        self._note_change("entries", key, None, row)
        self._inner.move_entry(old, key, row)

    def delete_entry(self, key: bytes) -> None:
        self._note_change("entries", key, self._entry(key), None)
        self._inner.delete_entry(key)

    def _entry(self, key: bytes) -> StoredRow | None:
        return next(self._inner.rows(RangeScan("entries", Range(key, after(key)), True, 1), 0), None)

    def _note_change(self, keyspace: Keyspace, key: bytes, before: StoredRow | None, row: StoredRow | None) -> None:
        """Note a change of a row. A global index without units refuses the write of its table."""
        place = self._place(key, keyspace)
        if place is None:
            return
        if place.weather.conditions.lags:
            self._changes[place.weather].append(StoredChange(keyspace, key, before))
        if keyspace == "items":
            # The units of the item before were charged when it was read.
            self._charge(place, key, "Write", max(0.0, self._write_units(row) - self._write_units(before)))
            return
        if place.index is not None:
            self._check(place, key, "Write")
        self._charge(place, key, "Write", write_units(max(before.size if before else 0, row.size if row else 0)))

    def _write_units(self, row: StoredRow | None) -> float:
        return write_units(row.size if row else 0, transactional=self._facts.transactional)

    # --- Units -------------------------------------------------------------------------------------------------------

    def _check(self, place: _RowPlace, key: bytes, direction: Direction) -> None:
        try:
            place.weather.check_units(place.throttled_place(key), direction)
        except DynamoDBError as error:
            self._was_interrupted = True
            if not self._facts.has_reasons:
                error.fields.clear()
            raise InterruptedItemError(error, self._position) from None

    def _charge(self, place: _RowPlace, key: bytes, direction: Direction, units: float) -> None:
        throttled_place = place.throttled_place(key)
        place.weather.charge_units(throttled_place, direction, units)
        self._charges.append((place.weather, throttled_place, direction, units))

    def _refund(self) -> None:
        for weather, throttled_place, direction, units in self._charges:
            weather.charge_units(throttled_place, direction, -units)
        self._charges.clear()

    def end(self, error: BaseException | None) -> None:
        """Remember the changes, or give the units back. A write whose condition was false costs its units, too."""
        if error is None:
            for weather, changes in self._changes.items():
                weather.remember(changes)
        elif self._was_interrupted or getattr(error, "code", "") not in _CHARGED_CODES:
            self._refund()

    def _place(self, key: bytes, keyspace: Keyspace) -> _RowPlace | None:
        """Where a row is; None if the weather is good there."""
        table = self._catalog.find(self._inner, self._inner.table_name(table_id(key)))
        weather = self._facts.weather_of(table.name)
        if weather is None:
            return None
        is_entry = keyspace == "entries"
        number = int.from_bytes(key[_HASH : 2 * _HASH]) if is_entry else 0
        index = next(
            (
                candidate
                for candidate in table.indexes
                if is_entry and candidate.number == number and candidate.is_global
            ),
            None,
        )
        return _RowPlace(table, index, is_entry, weather)


_CHARGED_CODES = frozenset({"ConditionalCheckFailedException", "TransactionCanceledException"})
