"""The store in memory: dictionaries with sorted keys, and an undo log.

An interrupt such as Ctrl-C can raise KeyboardInterrupt between any two bytecodes, even while a write is being undone.
So each change is recorded in the undo log before it is made, and an entry is removed only after it is undone. A session
that was interrupted is found unclean by its next user, who repairs the order of keys and finishes the undo.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from types import TracebackType
from typing import Any, TypeVar, TypeVarTuple

from prejoin.engine.store.interface import (
    HIDDEN_PREFIX,
    BusyError,
    DamageError,
    Keyspace,
    RangeScan,
    Session,
    Store,
    StoredRow,
    StoreError,
    token_expiry,
)
from prejoin.engine.store.sorted_map import SortedMap, UndoableDict
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.key_bytes import Range

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_OF_ITEM, _OF_ENTRY = 4, 8
"""The length of the prefix that all items of a table share, and of the prefix that all entries of an index share."""


class MemorySession(Session):
    """The single session of a memory store, used by one thread at a time."""

    def __init__(self) -> None:
        self._items, self._entries = SortedMap(), SortedMap()
        self._mappings = {"items": self._items, "entries": self._entries}
        # The total size of the rows of a table or index, by the first bytes of their keys. Adding them up again would
        # take a second for a million rows.
        self._item_sizes: defaultdict[bytes, int] = defaultdict(int)
        self._entry_sizes: defaultdict[bytes, int] = defaultdict(int)
        self._expiries = UndoableDict()
        self._due = SortedMap()
        """The keys of items that expire, behind the second at which they do."""
        self._tables, self._names, self._tokens = UndoableDict(), UndoableDict(), UndoableDict()
        self._last_table = 0
        self._records = SortedMap()
        self._numbers: dict[int, int] = {}
        """The number of the newest record of each table. A rollback leaves a gap."""
        self._undo: list[tuple[UndoableDict | SortedMap, Any, Any]] = []
        """An undo log: for each change its place and the previous value, noted before the change is made."""

    def copy(self) -> MemorySession:
        """Another session with the same content. Rows are shared, because they never change."""
        copy = MemorySession()
        for name in (*_MAPS, "_item_sizes", "_entry_sizes", "_numbers"):
            setattr(copy, name, getattr(self, name).copy())
        copy._mappings = {"items": copy._items, "entries": copy._entries}
        copy._last_table = self._last_table
        return copy

    def keep(self) -> None:
        """Commit the changes."""
        self._undo.clear()

    def undo(self, *, repair: bool) -> None:
        """Roll back the changes since the last `keep`. If this is interrupted, it can be called again."""
        if repair:
            for sorted_map in (self._items, self._entries, self._due, self._records):
                sorted_map.repair()
        while self._undo:
            mapping, key, before = self._undo[-1]
            # The total sizes have no undo log of their own: they follow from the rows.
            if mapping is self._items or mapping is self._entries:
                self._resize(mapping, key, before)
            mapping.restore(key, before)
            self._undo.pop()
        if repair:
            self._measure()

    def _resize(self, mapping: Any, key: bytes, row: StoredRow | None) -> None:
        """Adjust the total size for a row that is about to be replaced or removed."""
        stored_row = mapping.values.get(key)
        change = (0 if row is None else row.size) - (0 if stored_row is None else stored_row.size)
        if mapping is self._items:
            self._item_sizes[key[:_OF_ITEM]] += change
        else:
            self._entry_sizes[key[:_OF_ENTRY]] += change

    def _measure(self) -> None:
        """Recompute all total sizes, which an interrupted change may have left wrong."""
        for sizes, mapping, length in (
            (self._item_sizes, self._items, _OF_ITEM),
            (self._entry_sizes, self._entries, _OF_ENTRY),
        ):
            sizes.clear()
            for key, row in mapping.values.items():
                sizes[key[:length]] += row.size

    @property
    def clean(self) -> bool:
        """Whether all changes are committed or rolled back."""
        return not self._undo

    def _set(self, mapping: UndoableDict | SortedMap, key: Any, value: Any) -> None:
        values: dict[Any, Any] = mapping.values if isinstance(mapping, SortedMap) else mapping
        self._undo.append((mapping, key, values.get(key)))
        mapping.restore(key, value)

    def get(self, key: bytes) -> StoredRow | None:
        return self._items.values.get(key)

    def put(self, key: bytes, before: StoredRow | None, row: StoredRow) -> None:
        # The former row is noted before the change, because an interrupt may come between any two steps.
        self._undo.append((self._items, key, before))
        if before is None:
            self._items.add(key, row)
            self._item_sizes[key[:_OF_ITEM]] += row.size
        else:
            self._items.values[key] = row
            self._item_sizes[key[:_OF_ITEM]] += row.size - before.size

    def put_expiring(self, key: bytes, before: StoredRow | None, row: StoredRow, expires: int | None) -> None:
        self.put(key, before, row)
        self._expire(key, expires)

    def delete(self, key: bytes) -> None:
        self._resize(self._items, key, None)
        self._set(self._items, key, None)
        if key in self._expiries:
            self._expire(key, None)

    def put_entry(self, key: bytes, row: StoredRow, *, new: bool) -> None:
        if new:
            self._undo.append((self._entries, key, None))
            self._entries.add(key, row)
            self._entry_sizes[key[:_OF_ENTRY]] += row.size
        else:
            before = self._entries.values[key]
            self._undo.append((self._entries, key, before))
            self._entries.values[key] = row
            self._entry_sizes[key[:_OF_ENTRY]] += row.size - before.size

    def move_entry(self, old: bytes, key: bytes, row: StoredRow) -> None:
        self.delete_entry(old)
        self.put_entry(key, row, new=True)

    def delete_entry(self, key: bytes) -> None:
        before = self._entries.values[key]
        self._undo.append((self._entries, key, before))
        self._entries.remove(key)
        self._entry_sizes[key[:_OF_ENTRY]] -= before.size

    def clear(self, keyspace: Keyspace, bounds: Range) -> None:
        remove = self.delete if keyspace == "items" else self.delete_entry
        for key in self._keys(keyspace, bounds):
            remove(key)
        sizes = self._item_sizes if keyspace == "items" else self._entry_sizes
        # Otherwise a size of zero would remain of every table that ever existed.
        for prefix in [prefix for prefix, size in sizes.items() if not size]:
            del sizes[prefix]

    def items(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        values = self._items.values
        return ((key, values[key]) for key in self._keys("items", bounds))

    def entries(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        values = self._entries.values
        return ((key, values[key]) for key in self._keys("entries", bounds))

    def append_record(self, table: int, first: int, form: bytes, *values: object) -> None:
        number = self._numbers[table] = max(self._numbers.get(table, 0) + 1, first)
        key = _record_key(table, number)
        self._undo.append((self._records, key, None))
        self._records.add(key, (form, values))

    def records(self, table: int, first: int, last: int, limit: int) -> list[bytes]:
        bounds = Range(_record_key(table, first), _record_key(table, last + 1))
        records = []
        for key in self._records.keys(bounds, limit=limit):
            form, values = self._records.values[key]
            records.append(form % (_record_number(key), *values))
        return records

    def last_record(self, table: int) -> int | None:
        bounds = Range(_record_key(table, 0), _record_key(table + 1, 0))
        newest = self._records.keys(bounds, forward=False, limit=1)
        return _record_number(newest[0]) if newest else None

    def remove_records(self, table: int, last: int) -> None:
        bounds = Range(_record_key(table, 0), _record_key(table, last + 1))
        for key in self._records.keys(bounds, limit=len(self._records.values)):
            self._set(self._records, key, None)

    def contents(self, scan: RangeScan) -> Iterator[list[bytes]]:
        mapping = self._mappings[scan.keyspace]
        values = mapping.values
        keys = mapping.keys(scan.bounds, forward=scan.forward, limit=scan.limit)
        yield [values[key].content for key in keys]

    def rows(self, scan: RangeScan, offset: int) -> Iterator[StoredRow]:
        mapping = self._mappings[scan.keyspace]
        keys = mapping.keys(scan.bounds, forward=scan.forward, limit=scan.limit)
        return (mapping.values[key] for key in keys[offset:])

    def size(self, scan: RangeScan) -> int:
        return sum(row.size for row in self.rows(scan, 0))

    def count(self, keyspace: Keyspace, bounds: Range) -> tuple[int, int]:
        sizes = self._item_sizes if keyspace == "items" else self._entry_sizes
        # The range of a table or index begins with its prefix.
        return self._mappings[keyspace].number(bounds), sizes.get(bounds.low, 0)

    def _keys(self, keyspace: Keyspace, bounds: Range) -> list[bytes]:
        values = self._mappings[keyspace]
        return values.keys(bounds, limit=len(values.values))

    def set_expiry(self, key: bytes, expires: int) -> None:
        self._expire(key, expires)

    def clear_expiries(self, bounds: Range) -> None:
        low, high = bounds
        for key in [key for key in self._expiries if low <= key and (high is None or key < high)]:
            self._expire(key, None)

    def _expire(self, key: bytes, expires: int | None) -> None:
        before = self._expiries.get(key)
        if before == expires:
            return
        if before is not None:
            self._set(self._due, _second_bytes(before) + key, None)
        self._set(self._expiries, key, expires)
        if expires is not None:
            self._set(self._due, _second_bytes(expires) + key, key)

    def expired_keys(self, first: float, last: float, limit: int) -> list[bytes]:
        bounds = Range(_second_bytes(max(int(first), 0)), _second_bytes(int(last) + 1))
        return [self._due.values[key] for key in self._due.keys(bounds, limit=limit)]

    def table_version(self, name: str) -> tuple[int, int] | None:
        identity = self._names.get(name)
        return None if identity is None else (identity, self._tables[identity][1])

    def table_definition(self, identity: int) -> bytes:
        return self._tables[identity][2]  # type: ignore[no-any-return]

    def table_name(self, identity: int) -> str:
        return self._tables[identity][0]  # type: ignore[no-any-return]

    def table_names(self, after: str, limit: int) -> list[str]:
        return sorted(name for name in self._names if after < name < HIDDEN_PREFIX)[:limit]

    def hidden_names(self, begin: str) -> list[str]:
        return sorted(name for name in self._names if name.startswith(HIDDEN_PREFIX + begin))

    def add_table(self, name: str, definition: bytes) -> int:
        self._last_table += 1
        self._set(self._tables, self._last_table, (name, 1, definition))
        self._set(self._names, name, self._last_table)
        return self._last_table

    def change_table(self, identity: int, definition: bytes) -> None:
        name, revision, _ = self._tables[identity]
        self._set(self._tables, identity, (name, revision + 1, definition))

    def remove_table(self, identity: int) -> None:
        self._set(self._names, self.table_name(identity), None)
        self._set(self._tables, identity, None)

    def token(self, token: bytes) -> bytes | None:
        return self._tokens.get(token)

    def keep_token(self, token: bytes, record: bytes, expires: float) -> None:
        if token in self._tokens:
            self._set(self._tokens, token, None)  # keeps the oldest first
        self._set(self._tokens, token, record)

    def forget_tokens(self, before: float, max_tokens: int) -> None:
        # A dictionary is in the order of its insertions, so the tokens that expire first come first.
        expired_count = sum(1 for _ in takewhile(lambda record: token_expiry(record) < before, self._tokens.values()))
        for token in list(islice(self._tokens, max(expired_count, len(self._tokens) - max_tokens))):
            self._set(self._tokens, token, None)


_MAPS = ("_items", "_entries", "_expiries", "_due", "_tables", "_names", "_tokens", "_records")
"""All mappings of a session that a change is undone in."""


def _second_bytes(second: int) -> bytes:
    return second.to_bytes(8)


def _record_key(table: int, number: int) -> bytes:
    return table.to_bytes(4) + number.to_bytes(8)


def _record_number(key: bytes) -> int:
    return int.from_bytes(key[4:])


class InMemoryStore(Store):
    """One session, which readers and writers of all threads wait for. Each holds it only briefly.

    They wait in `read` and `write`, not where they begin to read or write: only a lock entered directly by `with` is
    released wherever an interrupt may come.
    """

    def __init__(self) -> None:
        self._one = _SharedSession()
        # These have no state of their own, so one of each is enough. They do not refer to the store, so its content is
        # freed with it, and not only by the next garbage collection.
        self._reading, self._writing = _SessionUse(self._one), _Writing(self._one)

    def reading(self, *, snapshot: bool = False) -> _SessionUse:
        return self._reading  # always a snapshot

    def writing(self) -> _Writing:
        return self._writing

    def read(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        with self._one.lock:
            return work(*arguments)

    write = try_write = read

    def take_over(self, other: InMemoryStore) -> None:
        """Take over a copy of another store's content. Only inside `read` or `write` of both."""
        with other.reading() as content, self.writing():
            copy_of_session = content.copy()
        self._one.session = copy_of_session

    def verify_file(self) -> list[str]:
        return []

    def read_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        # Not `acquire(blocking=False)`: an interrupt between acquiring the lock and `try` would leave it locked. If
        # another thread takes the lock after this check, we wait for one request only.
        if self._one.lock.locked():
            raise BusyError
        with self._one.lock:
            return work(*arguments)

    write_now = read_now

    def close(self) -> None:
        with self._one.lock:
            self._one.session = None


class _SharedSession:
    """The session of a store until it is closed, and its lock."""

    __slots__ = ("__weakref__", "lock", "session")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: MemorySession | None = MemorySession()
        _shared_sessions.add(self)


_shared_sessions: weakref.WeakSet[_SharedSession] = weakref.WeakSet()


def _begin_after_fork() -> None:
    """In a forked child, replace all locks: one held by another thread would stay locked for ever. That thread's
    changes are then rolled back.
    """
    for shared in _shared_sessions:
        shared.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_after_fork)


class _SessionUse:
    """The session in use. Not a generator, because entering and leaving one takes longer than a read."""

    __slots__ = ("_one",)

    def __init__(self, shared: _SharedSession) -> None:
        self._one = shared

    def __enter__(self) -> MemorySession:
        session = self._one.session
        if session is None:
            raise StoreError("it is closed")
        if not session.clean:
            # Another thread was interrupted, even while undoing.
            session.undo(repair=True)
        return session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class _Writing(_SessionUse):
    """The session in use for writing: commits at the end, rolls back on an error."""

    __slots__ = ()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        session = self._one.session
        assert session is not None, "to close a store its session must be had"
        if kind is None:
            session.keep()
        else:
            # Our own errors come between changes. Any other may have come in the middle of one.
            session.undo(repair=not issubclass(kind, DynamoDBError))
