"""The layout of the key bytes that items and index entries are stored under.

    item:         table id (4 bytes) | hash (4) | partition key | sort key
    index entry:  table id (4) | index number (4) | hash (4) | index partition key | index sort key
                  | hash of the item's own key (4) | item's own key

Keys are encoded so that bytes compare as DynamoDB compares values (`protocol.key_bytes`). All but the last part are
terminated, so that no value is a prefix of another.

The hash of the partition key comes first, as in DynamoDB. It is the hash that DynamoDB itself seems to use, because
tests that were written on AWS assert the order of a Scan. A segment of a parallel Scan is a range of hashes. Entries of
an index with equal keys lie in the order of a hash, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from prejoin.protocol import key_bytes, limits
from prejoin.protocol.values import Item, Value

try:
    from _md5 import md5  # type: ignore[import-not-found]  # takes half the time of hashlib's, which calls OpenSSL
except ImportError:
    # A Python that was built without it.
    from hashlib import md5

ItemKey = Callable[[Item], bytes | None]
"""From an item to its key bytes; None if the key needs a closer look."""
EntryKey = Callable[[Item, bytes], bytes | None]
"""From an item and its key bytes to the key bytes of its index entry; None if the index does not contain it."""
Attributes = tuple[tuple[str, str], ...]
"""Names and types."""

_HASH_END = 8
"""The length of the table's id and the hash in an item's key."""
_SHORT_TEXT = limits.SORT_KEY_SIZE // 4
"""This many characters are within the limits in any encoding."""


def partition_bytes(prefix: bytes, partition: Sequence[Value]) -> bytes:
    """The first bytes of all keys of one partition. `prefix` is that of the table or index."""
    # The same partitions are used again and again, so the bytes of texts are cached.
    if len(partition) == 1 and (text := partition[0].get("S")) is not None and len(text) <= _SHORT_TEXT:
        return prefix + _text_partition(text)
    return prefix + _hash(b"".join(map(key_bytes.hashable, partition))) + key_bytes.prefix(partition)


def _hash(content: bytes) -> bytes:
    # Not for protection: this is the hash by which DynamoDB seems to order partitions.
    return md5(b"Outliers" + content).digest()[:4]  # type: ignore[no-any-return]  # noqa: S324


@lru_cache(maxsize=4096)
def _text_partition(text: str) -> bytes:
    """The bytes of a partition with a text key, of at most `_SHORT` characters."""
    return _hash(text.encode()) + key_bytes.terminated_text(text)


_last_item_key = (b"", b"")
"""An item's key and its hash. A write needs the same hash for each index, before and after."""


def _hash_of_text_keys(key: bytes) -> bytes:
    """The hash of an item's own key, if it is of two texts. Only the end of the first one separates them."""
    global _last_item_key
    last_key, key_hash = _last_item_key
    if last_key != key:
        key_hash = _hash(key[_HASH_END:].replace(b"\x00\x00", b"", 1))
        # Both at once, so that no thread sees a key with the hash of another.
        _last_item_key = key, key_hash
    return key_hash


def item_key(prefix: bytes, partition: Attributes, sort: Attributes) -> ItemKey:
    """A fast function for the key bytes of most items: those with text keys of ordinary length."""
    if not sort or partition[0][1] != "S" or sort[0][1] != "S":
        return lambda item: None
    (name, _), (sort_name, _) = partition[0], sort[0]

    def item_key_of_texts(item: Item) -> bytes | None:
        try:
            text, sort_text = item[name]["S"], item[sort_name]["S"]
        except KeyError:
            return None
        if not text or not sort_text or len(text) > _SHORT_TEXT or len(sort_text) > _SHORT_TEXT:
            return None
        return prefix + _text_partition(text) + sort_text.encode()  # type: ignore[no-any-return]

    return item_key_of_texts


def entry_key(prefix: bytes, partition: Attributes, sort: Attributes, table_keys: Attributes) -> EntryKey:
    """The function from an item to the key of its index entry. It is created once per index, as every write calls it
    twice. `table_keys` are the key attributes of the table.

    An item that lacks a key attribute is not in the index. Neither is an item with an unsuitable value there; it must
    have been written before the index existed, because later ones are refused.
    """

    def entry_key_of(item: Item, key: bytes) -> bytes | None:
        partition_values = _key_values(partition, limits.PARTITION_KEY_SIZE, item)
        sort_values = _key_values(sort, limits.SORT_KEY_SIZE, item)
        if partition_values is None or sort_values is None:
            return None
        return (
            partition_bytes(prefix, partition_values)
            + key_bytes.prefix(sort_values)
            + hash_of_item_key(item, key)
            + key[_HASH_END:]
        )

    def hash_of_item_key(item: Item, key: bytes) -> bytes:
        if has_text_keys:
            return _hash_of_text_keys(key)
        return _hash(b"".join(key_bytes.hashable(item[name]) for name, _ in table_keys))

    has_text_keys = [kind for _, kind in table_keys] == ["S", "S"]
    if not has_text_keys or [kind for _, kind in partition] != ["S"] or [kind for _, kind in sort] != ["S"]:
        return entry_key_of
    ((name, _),), ((sort_name, _),) = partition, sort

    def entry_key_of_texts(item: Item, key: bytes) -> bytes | None:
        """The same for the most common keys, two texts."""
        try:
            text, sort_text = item[name]["S"], item[sort_name]["S"]
        except KeyError:
            return None
        if not text or not sort_text or len(text) > _SHORT_TEXT or len(sort_text) > _SHORT_TEXT:
            return entry_key_of(item, key)
        # Inlined: every write runs this.
        sort_bytes = sort_text.encode().replace(b"\x00", b"\x00\xff") + b"\x00\x00"
        return prefix + _text_partition(text) + sort_bytes + _hash_of_text_keys(key) + key[_HASH_END:]  # type: ignore[no-any-return]

    return entry_key_of_texts


def _key_values(attributes: Attributes, size_limit: int, item: Item) -> list[Value] | None:
    """The values of key attributes; None if one is missing, of another type, or too long."""
    values = []
    for name, kind in attributes:
        value = item.get(name)
        if value is None or not value.get(kind):
            return None
        values.append(value)
    return values if sum(len(key_bytes.plain(value)) for value in values) <= size_limit else None
