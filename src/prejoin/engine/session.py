"""What the engine asks of a store, in memory or in a file: items and index entries by key, in order; tables; tokens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Literal, ParamSpec, TypeVar

import msgspec

from prejoin.protocol.keybytes import Range

P = ParamSpec("P")
T = TypeVar("T")

Durability = Literal["memory", "normal", "full"]
Shelf = Literal["items", "entries"]
"""Items lie on one shelf, the entries of their indexes on the other, each in the order of its keys."""


class Row(msgspec.Struct, frozen=True, gc=False):
    """An item as it is stored and answered: the size DynamoDB counts, and its JSON."""

    size: int
    content: bytes


class Stretch(msgspec.Struct, frozen=True, gc=False):
    """Part of a shelf: so many rows of a range, from its beginning or back from its end."""

    shelf: Shelf
    bounds: Range
    forward: bool
    limit: int


class Token(msgspec.Struct, frozen=True, gc=False):
    """A transaction that was done: what was asked, and what was answered."""

    digest: bytes
    answer: bytes
    expires: float


class Session(ABC):
    """One use of a store. What is written in it is written together or not at all."""

    @abstractmethod
    def get(self, key: bytes) -> Row | None:
        """An item."""

    @abstractmethod
    def put(self, key: bytes, before: Row | None, row: Row) -> None:
        """Write an item of a table without time to live. `before` is what lies there."""

    @abstractmethod
    def put_expiring(self, key: bytes, before: Row | None, row: Row, expires: int | None) -> None:
        """Write an item that expires at this second, or never."""

    @abstractmethod
    def delete(self, key: bytes) -> None:
        """Remove an item that is there."""

    @abstractmethod
    def put_entry(self, key: bytes, row: Row, *, new: bool) -> None:
        """Write the entry of an index, a new one or over one that is there."""

    @abstractmethod
    def move_entry(self, old: bytes, key: bytes, row: Row) -> None:
        """Write an entry in place of one that is there under another key."""

    @abstractmethod
    def delete_entry(self, key: bytes) -> None:
        """Remove an entry that is there."""

    @abstractmethod
    def clear(self, shelf: Shelf, bounds: Range) -> None:
        """Remove all of a range."""

    @abstractmethod
    def items(self, bounds: Range) -> Iterator[tuple[bytes, Row]]:
        """The items of a range. Entries may be written meanwhile."""

    @abstractmethod
    def contents(self, stretch: Stretch) -> Iterator[list[bytes]]:
        """The JSON of the rows of a stretch, some at a time."""

    @abstractmethod
    def rows(self, stretch: Stretch, skipped: int) -> Iterator[Row]:
        """The rows of a stretch, without the first ones."""

    @abstractmethod
    def size(self, stretch: Stretch) -> int:
        """What the rows of a stretch count together."""

    @abstractmethod
    def count(self, shelf: Shelf, bounds: Range) -> tuple[int, int]:
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
    def token(self, token: str) -> Token | None: ...

    @abstractmethod
    def keep_token(self, token: str, what: Token) -> None: ...

    @abstractmethod
    def forget_tokens(self, before: float) -> None:
        """Remove tokens that expire before this second."""


class Store(ABC):
    """Where sessions are had."""

    @abstractmethod
    def reading(self, *, snapshot: bool = False) -> AbstractContextManager[Session]:
        """A session to read in; as a snapshot, all reads see one state."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Session]:
        """A session that no other writer shares: kept at the end, undone on an error."""

    @abstractmethod
    def patiently(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Do some work with sessions, and again while somebody else holds the store, for a minute at most."""

    @abstractmethod
    def once(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """The same for work that can wait for another time: a StoreError where somebody else holds the store."""

    @abstractmethod
    def now(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """The same for work that must not wait: BusyError where somebody else holds the store. For event loops."""

    @abstractmethod
    def close(self) -> None: ...


class BusyError(Exception):
    """Somebody else holds the store. Nothing was done."""


class StoreError(Exception):
    """The store cannot do what it should: it is closed, or the disk is full. It is nobody's fault who asked."""
