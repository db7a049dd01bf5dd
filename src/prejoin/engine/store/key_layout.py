"""The layout of the key bytes that items and index entries are stored under.

    item:         table id (4 bytes) | hash (4) | partition key | sort key
    index entry:  table id (4) | index number (4) | hash (4) | index partition key | index sort key | item's own key

Keys are encoded so that bytes compare as DynamoDB compares values (`protocol.key_bytes`). All but the last part are
terminated, so that no value is a prefix of another. The hash of the partition key comes first, as in DynamoDB: a Scan
has no order that a program could rely on, and a segment of a parallel Scan is a range.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

from prejoin.protocol import key_bytes, limits
from prejoin.protocol.values import Item

ItemKey = Callable[[Item], bytes | None]
"""From an item to its key bytes; None if the key needs a closer look."""
EntryKey = Callable[[Item, bytes], bytes | None]
"""From an item and its key bytes to the key bytes of its index entry; None if the index does not contain it."""
Attributes = tuple[tuple[str, str], ...]
"""Names and types."""

_SPREAD = 2_654_435_761
_HASHED = 8
"""The length of the table's id and the hash in an item's key."""


def partition_bytes(prefix: bytes, partition: bytes) -> bytes:
    """The first bytes of all keys of one partition. `prefix` is that of the table or index."""
    # crc32 alone keeps keys that differ in one digit close together. The multiplication (Knuth) spreads them.
    return prefix + (crc32(partition) * _SPREAD & 0xFFFFFFFF).to_bytes(4) + partition


def item_key(prefix: bytes, partition: Attributes, sort: Attributes) -> ItemKey:
    """A fast function for the key bytes of most items: those with text keys of ordinary length."""
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
        # Inlined instead of calling key_bytes: every write runs this, some of them three times.
        begin = text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"
        hashed = (crc32(begin) * _SPREAD & 0xFFFFFFFF).to_bytes(4)
        return prefix + hashed + begin + sort_text.encode()  # type: ignore[no-any-return]

    return place_texts


def entry_key(prefix: bytes, partition: Attributes, sort: Attributes) -> EntryKey:
    """The function from an item to the key of its index entry. It is created once per index, as every write calls it
    twice.

    An item that lacks a key attribute is not in the index. Neither is an item with an unsuitable value there; it must
    have been written before the index existed, because later ones are refused.
    """

    def place(item: Item, key: bytes) -> bytes | None:
        begin = _terminated(partition, limits.PARTITION_KEY_SIZE, item)
        end = _terminated(sort, limits.SORT_KEY_SIZE, item)
        return None if begin is None or end is None else partition_bytes(prefix, begin) + end + key[_HASHED:]

    if len(partition) != 1 or len(sort) != 1 or partition[0][1] != "S" or sort[0][1] != "S":
        return place
    ((name, _),), ((sort_name, _),) = partition, sort

    def place_texts(item: Item, key: bytes) -> bytes | None:
        """The same for the most common keys, two texts."""
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
"""This many characters are within the limits in any encoding."""


def _terminated(attributes: Attributes, most: int, item: Item) -> bytes | None:
    content, size = b"", 0
    for name, kind in attributes:
        value = item.get(name)
        if value is None or not value.get(kind):
            return None
        content += key_bytes.terminated(value)
        size += len(key_bytes.plain(value))
    return content if size <= most else None
