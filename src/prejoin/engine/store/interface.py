"""What the engine asks of a store, in memory or in a file: items and index entries by key, in order; tables; tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from struct import Struct
from typing import Literal, TypeVar, TypeVarTuple

import msgspec

from prejoin.errors import PrejoinError
from prejoin.protocol.key_bytes import Range

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_EXPIRY = Struct("<d")

Durability = Literal["memory", "normal", "full"]
Keyspace = Literal["items", "entries"]
"""Items lie on one shelf, the entries of their indexes on the other, each in the order of its keys."""


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """An item as it is stored and answered: the size DynamoDB counts, and its JSON."""

    size: int
    content: bytes


class RangeScan(msgspec.Struct, frozen=True, gc=False):
    """Part of a shelf: so many rows of a range, from its beginning or back from its end."""

    keyspace: Keyspace
    bounds: Range
    forward: bool
    limit: int


def packed_expiry(expires: float) -> bytes:
    return _EXPIRY.pack(expires)


def token_expiry(record: bytes) -> float:
    """When a token expires: the first eight bytes of its record."""
    expires: float = _EXPIRY.unpack_from(record)[0]
    return expires


class Session(ABC):
    """One use of a store. What is written in it is written together or not at all."""

    @abstractmethod
    def get(self, key: bytes) -> StoredRow | None:
        """An item."""

    @abstractmethod
    def put(self, key: bytes, before: StoredRow | None, row: StoredRow) -> None:
        """Write an item of a table without time to live. `before` is what lies there."""

    @abstractmethod
    def put_expiring(self, key: bytes, before: StoredRow | None, row: StoredRow, expires: int | None) -> None:
        """Write an item that expires at this second, or never."""

    @abstractmethod
    def delete(self, key: bytes) -> None:
        """Remove an item that is there."""

    @abstractmethod
    def put_entry(self, key: bytes, row: StoredRow, *, new: bool) -> None:
        """Write the entry of an index, a new one or over one that is there."""

    @abstractmethod
    def move_entry(self, old: bytes, key: bytes, row: StoredRow) -> None:
        """Write an entry in place of one that is there under another key."""

    @abstractmethod
    def delete_entry(self, key: bytes) -> None:
        """Remove an entry that is there."""

    @abstractmethod
    def clear(self, keyspace: Keyspace, bounds: Range) -> None:
        """Remove all of a range."""

    @abstractmethod
    def items(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        """The items of a range. Entries may be written meanwhile. Damaged ones are raised, or added to a list."""

    @abstractmethod
    def entries(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        """The index entries of a range. Damaged ones are raised, or added to a list."""

    @abstractmethod
    def contents(self, scan: RangeScan) -> Iterator[list[bytes]]:
        """The JSON of the rows of a stretch, some at a time."""

    @abstractmethod
    def rows(self, scan: RangeScan, skipped: int) -> Iterator[StoredRow]:
        """The rows of a stretch, without the first ones."""

    @abstractmethod
    def size(self, scan: RangeScan) -> int:
        """What the rows of a stretch count together."""

    @abstractmethod
    def count(self, keyspace: Keyspace, bounds: Range) -> tuple[int, int]:
        """The number of rows of a table or an index, whose keys are this range, and what they count together."""

    @abstractmethod
    def set_expiry(self, key: bytes, expires: int) -> None:
        """Note when an item expires."""

    @abstractmethod
    def clear_expiries(self, bounds: Range) -> None:
        """Note that no item of a range expires."""

    @abstractmethod
    def expired(self, first: float, last: float, most: int) -> list[bytes]:
        """The keys of items that expire between these seconds, the earliest first."""

    @abstractmethod
    def table_version(self, name: str) -> tuple[int, int] | None:
        """The id of the table of this name, and its revision."""

    @abstractmethod
    def table_definition(self, identity: int) -> bytes: ...

    @abstractmethod
    def table_name(self, identity: int) -> str: ...

    @abstractmethod
    def table_names(self, after: str, most: int) -> list[str]:
        """The names of tables, in order, beginning after one."""

    @abstractmethod
    def add_table(self, name: str, definition: bytes) -> None:
        """Keep a new table under an id that no table ever had."""

    @abstractmethod
    def change_table(self, identity: int, definition: bytes) -> None:
        """Replace a table's definition; it has the next revision."""

    @abstractmethod
    def remove_table(self, identity: int) -> None: ...

    @abstractmethod
    def token(self, token: bytes) -> bytes | None:
        """The record kept under a token."""

    @abstractmethod
    def keep_token(self, token: bytes, record: bytes, expires: float) -> None: ...

    @abstractmethod
    def forget_tokens(self, before: float, most: int) -> None:
        """Remove tokens that expire before this second, and the oldest of more than so many."""


class Store(ABC):
    """Where the data is. A call does its work inside `read` or `write`, and takes the session there."""

    @abstractmethod
    def reading(self, *, snapshot: bool = False) -> AbstractContextManager[Session]:
        """A session to read in; as a snapshot, all reads see one state. Only inside `read` or `write`."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A session that no other writer shares: kept at the end, undone on an error. Only inside `write`."""

    @abstractmethod
    def read(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Do some work that reads, and again while another process holds the store, for a minute at most."""

    @abstractmethod
    def write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Do some work that writes, and again while another process holds the store, for a minute at most."""

    @abstractmethod
    def try_write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Do some work that writes, once: a StoreError where another process holds the store."""

    @abstractmethod
    def read_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Do some work that reads, without waiting: a BusyError where that is not possible. For event loops."""

    @abstractmethod
    def write_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Do some work that writes, without waiting: a BusyError where that is not possible. For event loops."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def verify_file(self) -> list[str]:
        """What is wrong with the file as a whole, beside single items."""


class BusyError(Exception):
    """Another thread or process holds the store. Nothing was done."""


class StoreError(Exception):
    """The store cannot do what it should: it is closed, or the disk is full. It is nobody's fault who asked."""


class DamageError(StoreError):
    """An item or an index entry is not as it was written: the disk, or another program, has changed it."""

    def __init__(self, keyspace: Keyspace, key: bytes, content: object) -> None:
        super().__init__(f"damaged: {bytes(key)!r}")
        self.keyspace = keyspace
        self.key = key
        self.content = content


class OpenError(PrejoinError, ValueError):
    """A file cannot be opened as a store. The message says why, and names the file."""
