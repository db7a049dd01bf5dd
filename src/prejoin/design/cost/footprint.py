"""The footprint of a request: the bytes it reads and the entries it writes, from which units are counted.

It is estimated from the document (`estimates.Estimates`) or measured in a table (`entries_of`).
"""

from __future__ import annotations

from prejoin.design.model import TABLE, Design, ProjectionKind, Slot
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item
from prejoin.workload.model import Model


class PageRead(Model, frozen=True):
    """One charge for reading: a page of a Query, or one item."""

    size: int
    """Bytes of everything examined, filtered out or not; 0 if nothing is there."""
    times: float = 1
    """The number of such pages in one call."""


class EntryWrite(Model, frozen=True):
    """The effect of a write on an item in the table, or on its entry in an index."""

    slot: str
    before: int = 0
    """Bytes before; 0 if it did not exist."""
    after: int = 0
    """Bytes after; 0 if it is gone."""
    moved: bool = False
    """Whether its key in the index changed."""
    same: bool = False
    """Whether nothing that the index holds changed."""
    times: float = 1
    """The number of such entries in one call; a fraction if only some items have one."""


def held(slot: Slot, design: Design, item: Item) -> Item | None:
    """The attributes of an item in DynamoDB's JSON that a slot holds; None if the item is not in it."""
    # DynamoDB leaves items without a key attribute of an index out of it.
    if not item.keys() >= set(slot.key_names):
        return None
    if slot.name == TABLE or slot.projection.kind is ProjectionKind.ALL:
        return item
    names = {*design.table_keys, *slot.key_names, *slot.projection.attributes}
    return {name: value for name, value in item.items() if name in names}


def entries_of(design: Design, before: Item | None, after: Item | None) -> tuple[EntryWrite, ...]:
    """The effect of a write on one item, in DynamoDB's JSON, and on its index entries.

    >>> from prejoin.design.model import KeyAttribute, Slot
    >>> slots = tuple(Slot(n, (KeyAttribute(f"{n}pk"),), (KeyAttribute(f"{n}sk"),)) for n in ("table", "gsi1"))
    >>> item = {"tablepk": {"S": "a"}, "tablesk": {"S": "b"}, "gsi1pk": {"S": "c"}, "gsi1sk": {"S": "d"}}
    >>> for entry in entries_of(Design("shop", slots), item, {**item, "gsi1sk": {"S": "e"}}):
    ...     print(entry.slot, entry.before, entry.after, entry.moved)
    table 30 30 False
    gsi1 30 30 True
    """
    entries = []
    for slot in design.slots:
        old = held(slot, design, before) if before is not None else None
        new = held(slot, design, after) if after is not None else None
        if old is None and new is None:
            continue
        entries.append(
            EntryWrite(
                slot.name,
                item_size(old) if old is not None else 0,
                item_size(new) if new is not None else 0,
                moved=old is not None and new is not None and any(old[name] != new[name] for name in slot.key_names),
                same=old == new,
            )
        )
    return tuple(entries)
