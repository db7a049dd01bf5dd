"""What reads give back: a page of objects of one class, or a collection of objects of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from prejoin.table.codec.values import Json
from prejoin.table.errors import TooMany

from .decode import Unreadable

E = TypeVar("E")


class Page(Sequence[E], Generic[E]):
    """Objects in the order of the keys. `cursor` goes on after them; None where there are no more.

    >>> page = Page(("a", "b"), "next")
    >>> page[0], len(page), page.cursor
    ('a', 2, 'next')
    """

    __slots__ = ("cursor", "items", "unmatched", "unreadable")

    def __init__(
        self,
        items: tuple[E, ...],
        cursor: str | None = None,
        unmatched: tuple[Json, ...] = (),
        unreadable: tuple[Unreadable, ...] = (),
    ) -> None:
        self.items = items
        self.cursor = cursor
        self.unmatched = unmatched
        """Items that were read and are of no entity asked for, as they came."""
        self.unreadable = unreadable
        """Items that do not fit their class, each with its error; of a read with `unreadable="keep"`."""

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[E]: ...
    def __getitem__(self, index: int | slice) -> E | Sequence[E]:
        return self.items[index]

    def __iter__(self) -> Iterator[E]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Page):
            return NotImplemented
        return self._parts == other._parts

    @property
    def _parts(self) -> tuple[Any, ...]:
        return self.items, self.cursor, self.unmatched, [one.item for one in self.unreadable]

    def __hash__(self) -> int:
        return hash((self.items, self.cursor))

    def __repr__(self) -> str:
        more = f", unreadable={self.unreadable!r}" if self.unreadable else ""
        return f"Page(items={self.items!r}, cursor={self.cursor!r}, unmatched={self.unmatched!r}{more})"


class Collection(msgspec.Struct, frozen=True):
    """An item collection, read by one query: objects of several classes, in the order of the keys."""

    items: tuple[Any, ...]
    cursor: str | None = None
    unmatched: tuple[Json, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    """Items that do not fit their class, each with its error; of a read with `unreadable="keep"`."""

    def all(self, cls: type[E]) -> list[E]:
        return [item for item in self.items if type(item) is cls]

    def one(self, cls: type[E]) -> E | None:
        found = self.all(cls)
        if len(found) > 1:
            raise TooMany(f"{len(found)} {cls.__name__} in the collection, where one was asked for")
        return found[0] if found else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
