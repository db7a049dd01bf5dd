"""Where items and entries lie: the layout of the bytes they are stored under.

An item lies under the id of its table, the hash of its partition key, that key, and its sort key; the entry of an index
under the same of the index, and then the item's own key. Partitions lie in the order of a hash, as DynamoDB's do: a
Scan is in no order that a program could come to rely on, and a segment of a parallel Scan is a range.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from prejoin.protocol import key_bytes, limits
from prejoin.protocol.values import Item

ItemKey = Callable[[Item], bytes | None]
"""From an item to the bytes it is stored under; None where its key must be looked at more closely."""
EntryKey = Callable[[Item, bytes], bytes | None]
"""From an item and the bytes it is stored under to those of its entry; None where the index does not hold it."""
Attributes = tuple[tuple[str, str], ...]
"""Names and types."""

_SPREAD = 2_654_435_761
_HASHED = 8
"""How many bytes of an item's key are the table's id and the hash."""


def partition_bytes(prefix: bytes, partition: bytes) -> bytes:
    """What all keys of one partition begin with; `prefix` is that of the table or of the index."""
    # crc32 alone leaves keys that differ in a digit close together: the multiplication spreads them.
    return prefix + (crc32(partition) * _SPREAD & 0xFFFFFFFF).to_bytes(4) + partition


def item_key(prefix: bytes, partition: Attributes, sort: Attributes) -> ItemKey:
    """The function that gives the key bytes of most items: those with keys of text of an ordinary length."""
    if not sort or partition[0][1] != "S" or sort[0][1] != "S":
        return lambda item: None
    (name, _), (sort_name, _) = partition[0], sort[0]

    def place_texts(item: Item) -> bytes | None:
        try:
            text, sort_text = item[name]["S"], item[sort_name]["S"]
        except KeyError:
            return None
        if not text or not sort_text or len(text) > _SHORT or len(sort_text) > _SHORT:
            return None
        # Not by the functions of keybytes: every write of every item is here, some of them thrice.
        begin = text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"
        hashed = (crc32(begin) * _SPREAD & 0xFFFFFFFF).to_bytes(4)
        return prefix + hashed + begin + sort_text.encode()  # type: ignore[no-any-return]

    return place_texts


def entry_key(prefix: bytes, partition: Attributes, sort: Attributes) -> EntryKey:
    """The function that says where an index holds an item. Made once for an index: every write asks it twice.

    An item without some key attribute is left out: the index is sparse. So is one that has a value there which the
    index cannot hold: such an item was written before the index was made, for afterwards it is refused.
    """

    def place(item: Item, key: bytes) -> bytes | None:
        begin = _terminated(partition, limits.PARTITION_KEY_SIZE, item)
        end = _terminated(sort, limits.SORT_KEY_SIZE, item)
        return None if begin is None or end is None else partition_bytes(prefix, begin) + end + key[_HASHED:]

    if len(partition) != 1 or len(sort) != 1 or partition[0][1] != "S" or sort[0][1] != "S":
        return place
    ((name, _),), ((sort_name, _),) = partition, sort

    def place_texts(item: Item, key: bytes) -> bytes | None:
        """The same for the commonest keys, two texts."""
        try:
            text, sort_text = item[name]["S"], item[sort_name]["S"]
        except KeyError:
            return None
        if not text or not sort_text or len(text) > _SHORT or len(sort_text) > _SHORT:
            return place(item, key)
        begin = text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"
        end = sort_text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"
        hashed = (crc32(begin) * _SPREAD & 0xFFFFFFFF).to_bytes(4)
        return prefix + hashed + begin + end + key[_HASHED:]  # type: ignore[no-any-return]

    return place_texts


_SHORT = limits.SORT_KEY_SIZE // 4
"""So many characters are within the limits at any number of bytes a character."""


def _terminated(attributes: Attributes, most: int, item: Item) -> bytes | None:
    content, size = b"", 0
    for name, kind in attributes:
        value = item.get(name)
        if value is None or not value.get(kind):
            return None
        content += key_bytes.terminated(value)
        size += len(key_bytes.plain(value))
    return content if size <= most else None
