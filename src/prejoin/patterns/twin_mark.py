"""The mark of an item and its twin, while an entity moves from one key in the table to another.

Both items of a pair are written together, and each holds a mark: the change that made the pair, and a fingerprint of
the attributes. Code of only one of the two designs does not know the mark. If it changes an item, the fingerprint does
not fit any more; if it writes a new item, that has no mark. So a mark that fits is the proof that an item is as it was
when both were written, and that the other one existed then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from prejoin.protocol.values import canonical_item
from prejoin.table.codec.codec import Codec
from prejoin.table.codec.values import Json

MARK = "~twin"
"""The attribute that holds the mark."""
_SETS = frozenset({"SS", "NS", "BS"})


def twin_mark(change: str, codec: Codec[Any], values: Mapping[str, Any]) -> Json:
    """Return the mark of an item with these values."""
    item = canonical_item(codec.encode_values(values))
    text = msgspec.json.encode(_in_order(item), order="sorted")
    return {"S": f"{change} {hashlib.sha256(text).hexdigest()[:32]}"}


def _in_order(value: Any) -> Any:
    """Return a value of DynamoDB JSON with its sets in order."""
    if isinstance(value, dict):
        return {name: sorted(inner) if name in _SETS else _in_order(inner) for name, inner in value.items()}
    return [_in_order(member) for member in value] if isinstance(value, list) else value
