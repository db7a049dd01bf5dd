"""Results of reads: a page of objects of one class, or a collection of objects of several classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from prejoin.table.codec.values import Json
from prejoin.table.errors import TooMany

from .decode import Unreadable

E = TypeVar("E")


class Page(Sequence[E], Generic[E]):
    """Objects in the order of their keys. `cursor` continues after them; None if there are no more.

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
        """Items of other entities that were read, in DynamoDB JSON."""
        self.unreadable = unreadable
        """Items that do not fit their class, each with its error, if the read has `unreadable="keep"`."""

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
        return self.items, self.cursor, self.unmatched, [item.item for item in self.unreadable]

    def __hash__(self) -> int:
        return hash((self.items, self.cursor))

    def __repr__(self) -> str:
        unreadable_text = f", unreadable={self.unreadable!r}" if self.unreadable else ""
        return f"Page(items={self.items!r}, cursor={self.cursor!r}, unmatched={self.unmatched!r}{unreadable_text})"


class Collection(msgspec.Struct, frozen=True):
    """An item collection, read with one query: objects of several classes, in the order of their keys."""

    items: tuple[Any, ...]
    cursor: str | None = None
    unmatched: tuple[Json, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    """Items that do not fit their class, each with its error, if the read has `unreadable="keep"`."""

    def all(self, cls: type[E]) -> list[E]:
        """Return all objects of a class."""
        return [item for item in self.items if type(item) is cls]

    def one(self, cls: type[E]) -> E | None:
        """Return the object of a class, or None; raise TooMany if there are several."""
        objects = self.all(cls)
        if len(objects) > 1:
            raise TooMany(f"the collection has {len(objects)} {cls.__name__} objects, not one")
        return objects[0] if objects else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)
