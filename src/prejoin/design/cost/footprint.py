"""What units are counted from: how large is what a request reads, and what becomes of each entry that it writes.

The document's figures are such facts (`figures`), and so is what stands in a table (`entries_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from prejoin.design.model import TABLE, Design, Operation, ProjectionKind, Request, Slot
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item
from prejoin.workload.model import Model


class PageRead(Model, frozen=True):
    """What is charged at once when reading: a page of a Query, or one item."""

    size: int
    """Bytes of all that is looked at, filtered out or not; 0 where nothing is there."""
    times: float = 1
    """How many such pages one call reads."""


class EntryWrite(Model, frozen=True):
    """What a write does to an item in the table, or to its entry in an index."""

    slot: str
    before: int = 0
    """Bytes; 0 where it was not there."""
    after: int = 0
    """Bytes; 0 where it is not there any more."""
    moved: bool = False
    """Its key in the index is another."""
    same: bool = False
    """Nothing of what the index holds is another."""
    times: float = 1
    """How many such entries one call writes; a part of one where only some items are there."""


class Footprint(Protocol):
    """Says how large and how many."""

    def pages(self, operation: Operation, request: Request) -> Iterable[PageRead]:
        """What one of the operation's requests reads."""
        ...

    def entries(self, operation: Operation, request: Request) -> Iterable[EntryWrite]:
        """What one of the operation's requests writes."""
        ...


@dataclass(frozen=True)
class MeasuredFootprint:
    """Facts that somebody looked up: by the number of the request, the pages or the entries."""

    read: Mapping[int, Sequence[PageRead]] = field(default_factory=dict)
    written: Mapping[int, Sequence[EntryWrite]] = field(default_factory=dict)

    def pages(self, operation: Operation, request: Request) -> Iterable[PageRead]:
        return self.read.get(_number(operation, request), ())

    def entries(self, operation: Operation, request: Request) -> Iterable[EntryWrite]:
        return self.written.get(_number(operation, request), ())


def _number(operation: Operation, request: Request) -> int:
    return next(number for number, one in enumerate(operation.requests) if one is request)


def held(slot: Slot, design: Design, item: Item) -> Item | None:
    """As much of an item, in DynamoDB's JSON, as a slot holds; None where it is not there."""
    keys = [key.name for key in (*slot.pk, *slot.sk)]
    if any(name not in item for name in keys):
        return None
    if slot.name == TABLE or slot.projection.kind is ProjectionKind.ALL:
        return item
    names = {key.name for key in (*design.slots[0].pk, *design.slots[0].sk)}
    names.update(keys, slot.projection.attributes)
    return {name: value for name, value in item.items() if name in names}


def entries_of(design: Design, before: Item | None, after: Item | None) -> tuple[EntryWrite, ...]:
    """What happens to one item, in DynamoDB's JSON, and to its entries in the indexes.

    >>> from prejoin.design.model import KeyAttribute, Slot
    >>> slots = tuple(Slot(n, (KeyAttribute(f"{n}pk"),), (KeyAttribute(f"{n}sk"),)) for n in ("table", "gsi1"))
    >>> item = {"tablepk": {"S": "a"}, "tablesk": {"S": "b"}, "gsi1pk": {"S": "c"}, "gsi1sk": {"S": "d"}}
    >>> for entry in entries_of(Design("shop", slots), item, {**item, "gsi1sk": {"S": "e"}}):
    ...     print(entry.slot, entry.before, entry.after, entry.moved)
    table 30 30 False
    gsi1 30 30 True
    """
    found = []
    for slot in design.slots:
        old = held(slot, design, before) if before is not None else None
        new = held(slot, design, after) if after is not None else None
        if old is None and new is None:
            continue
        keys = [key.name for key in (*slot.pk, *slot.sk)]
        found.append(
            EntryWrite(
                slot.name,
                item_size(old) if old is not None else 0,
                item_size(new) if new is not None else 0,
                moved=old is not None and new is not None and any(old[name] != new[name] for name in keys),
                same=old == new,
            )
        )
    return tuple(found)
