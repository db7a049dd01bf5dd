"""Item sizes as DynamoDB counts them: for the 400 KB limit, for pages and for capacity units."""

from __future__ import annotations

from prejoin.protocol import numbers
from prejoin.protocol.values import Item, Value


def item_size(item: Item) -> int:
    """Bytes of an item: the names and the values of its attributes.

    >>> item_size({"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}, "l": {"L": []}})
    18
    """
    total = 0
    for name, value in item.items():
        total += len(name) if name.isascii() else len(name.encode())
        text = value.get("S")
        if text is None:
            total += value_size(value)
        else:
            total += len(text) if text.isascii() else len(text.encode())
    return total


def value_size(value: Value) -> int:
    """Bytes of one canonical value, without its name."""
    for kind, content in value.items():
        if kind == "S":
            return len(content) if content.isascii() else len(content.encode())
        if kind == "N":
            return numbers.size(content)
        if kind in ("BOOL", "NULL"):
            return 1
        if kind == "B":
            return _binary_size(content)
        if kind == "M":
            # 3 bytes for the map, 1 for each of its members
            return 3 + len(content) + item_size(content)
        if kind == "L":
            return 3 + len(content) + sum(map(value_size, content))
        if kind == "SS":
            return sum(len(member.encode()) for member in content)
        if kind == "NS":
            return sum(map(numbers.size, content))
        return sum(map(_binary_size, content))
    raise AssertionError("a valid value has one member")


def _binary_size(text: str) -> int:
    return len(text) // 4 * 3 - text.count("=", -2)
