"""The interface of a store: items and index entries in key order, table definitions, and client tokens."""

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

HIDDEN_PREFIX = "~"
"""The prefix of names of artifacts that are stored like a table, such as backups. No table can have such a name, and
all names of tables sort before it.
"""
MAX_RECORD = (1 << 40) - 1
"""The largest number of a stream record."""
Durability = Literal["memory", "normal", "full"]
Keyspace = Literal["items", "entries"]
"""Items and index entries live in two keyspaces, each ordered by key."""


class StoredRow(msgspec.Struct, frozen=True, gc=False):
    """An item or index entry as stored: the size that DynamoDB counts, and its JSON."""

    size: int
    content: bytes


class RangeScan(msgspec.Struct, frozen=True, gc=False):
    """Up to `limit` rows of a range, from its beginning or backwards from its end."""

    keyspace: Keyspace
    bounds: Range
    forward: bool
    limit: int


def packed_expiry(expires: float) -> bytes:
    return _EXPIRY.pack(expires)


def token_expiry(record: bytes) -> float:
    """The expiry of a token: the first eight bytes of its record."""
    expires: float = _EXPIRY.unpack_from(record)[0]
    return expires


class Session(ABC):
    """One use of a store. Its writes are applied together or not at all."""

    @abstractmethod
    def get(self, key: bytes) -> StoredRow | None:
        """Get an item."""

    @abstractmethod
    def put(self, key: bytes, before: StoredRow | None, row: StoredRow) -> None:
        """Write an item of a table without time to live. `before` is the row it replaces."""

    @abstractmethod
    def put_expiring(self, key: bytes, before: StoredRow | None, row: StoredRow, expires: int | None) -> None:
        """Write an item that expires at this second, or never."""

    @abstractmethod
    def delete(self, key: bytes) -> None:
        """Remove an existing item."""

    @abstractmethod
    def put_entry(self, key: bytes, row: StoredRow, *, new: bool) -> None:
        """Write an index entry. `new` says that it does not exist yet."""

    @abstractmethod
    def move_entry(self, old: bytes, key: bytes, row: StoredRow) -> None:
        """Replace an existing entry by one under another key."""

    @abstractmethod
    def delete_entry(self, key: bytes) -> None:
        """Remove an existing entry."""

    @abstractmethod
    def clear(self, keyspace: Keyspace, bounds: Range) -> None:
        """Remove all rows of a range."""

    @abstractmethod
    def items(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        """The items of a range. Entries may be written meanwhile. Damaged items are raised, or added to a list."""

    @abstractmethod
    def entries(self, bounds: Range, damaged: list[DamageError] | None = None) -> Iterator[tuple[bytes, StoredRow]]:
        """The index entries of a range. Damaged entries are raised, or added to a list."""

    @abstractmethod
    def append_record(self, table: int, first: int, form: bytes, *values: object) -> None:
        """Add a stream record of a table, under the next number, which is at least `first`. Its content is
        `form % (number, *values)`. The store may format it when it is read.
        """

    @abstractmethod
    def records(self, table: int, first: int, last: int, limit: int) -> list[bytes]:
        """The stream records of a table from one number to another, the first ones."""

    @abstractmethod
    def last_record(self, table: int) -> int | None:
        """The number of the newest stream record of a table."""

    @abstractmethod
    def remove_records(self, table: int, last: int) -> None:
        """Remove the stream records of a table up to a number."""

    @abstractmethod
    def contents(self, scan: RangeScan) -> Iterator[list[bytes]]:
        """The JSON of the rows of a scan, in chunks."""

    @abstractmethod
    def rows(self, scan: RangeScan, offset: int) -> Iterator[StoredRow]:
        """The rows of a scan, without the first `offset` ones."""

    @abstractmethod
    def size(self, scan: RangeScan) -> int:
        """The total size of the rows of a scan."""

    @abstractmethod
    def count(self, keyspace: Keyspace, bounds: Range) -> tuple[int, int]:
        """The number and total size of the rows of a table or index, whose keys are this range."""

    @abstractmethod
    def set_expiry(self, key: bytes, expires: int) -> None:
        """Record when an item expires."""

    @abstractmethod
    def clear_expiries(self, bounds: Range) -> None:
        """Record that no item of a range expires."""

    @abstractmethod
    def expired_keys(self, first: float, last: float, limit: int) -> list[bytes]:
        """The keys of items that expire between these seconds, the earliest first."""

    @abstractmethod
    def table_version(self, name: str) -> tuple[int, int] | None:
        """The id and revision of the table with this name."""

    @abstractmethod
    def table_definition(self, identity: int) -> bytes: ...

    @abstractmethod
    def table_name(self, identity: int) -> str: ...

    @abstractmethod
    def table_names(self, after: str, limit: int) -> list[str]:
        """The names of tables in order, starting after one."""

    @abstractmethod
    def hidden_names(self, begin: str) -> list[str]:
        """The names in order that begin with HIDDEN and this text."""

    @abstractmethod
    def add_table(self, name: str, definition: bytes) -> int:
        """Store a new table under an id that was never used before, and return the id."""

    @abstractmethod
    def change_table(self, identity: int, definition: bytes) -> None:
        """Replace a table's definition and increase its revision."""

    @abstractmethod
    def remove_table(self, identity: int) -> None: ...

    @abstractmethod
    def token(self, token: bytes) -> bytes | None:
        """The record stored under a token."""

    @abstractmethod
    def keep_token(self, token: bytes, record: bytes, expires: float) -> None: ...

    @abstractmethod
    def forget_tokens(self, before: float, max_tokens: int) -> None:
        """Remove tokens that expire before this second, and the oldest if there are more than `max_tokens`."""


class Store(ABC):
    """Where the data is. An operation runs inside `read` or `write` and opens its session there."""

    @abstractmethod
    def reading(self, *, snapshot: bool = False) -> AbstractContextManager[Session]:
        """A session for reading. With `snapshot`, all reads see one state. Only inside `read` or `write`."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A session for writing, exclusive among writers: committed at the end, rolled back on an error. Only inside
        `write`.
        """

    @abstractmethod
    def read(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a function that reads. Retry for up to a minute while another process locks the store."""

    @abstractmethod
    def write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a function that writes. Retry for up to a minute while another process locks the store."""

    @abstractmethod
    def try_write(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a function that writes, once. Raise StoreError if another process locks the store."""

    @abstractmethod
    def read_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a function that reads, without waiting. Raise BusyError if it would have to wait. For event loops."""

    @abstractmethod
    def write_now(self, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Run a function that writes, without waiting. Raise BusyError if it would have to wait. For event loops."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def verify_file(self) -> list[str]:
        """List what is wrong with the file as a whole, apart from single items."""


class BusyError(Exception):
    """Another thread or process locks the store. Nothing was done."""


class StoreError(Exception):
    """The store cannot work: it is closed, or the disk is full. The request itself is not at fault."""


class DamageError(StoreError):
    """An item or index entry is not as it was written: the disk or another program has changed it."""

    def __init__(self, keyspace: Keyspace, key: object, content: object) -> None:
        self.keyspace = keyspace
        # The damage may have made the key a number, a text or NULL.
        self.key = bytes(key) if isinstance(key, bytes | memoryview) else repr(key).encode()
        self.content = content
        super().__init__(f"damaged: {self.key!r}")


class OpenError(PrejoinError, ValueError):
    """A file cannot be opened as a store. The message names the file and the reason."""
