"""Item sizes as DynamoDB counts them, for the 400 KB limit, pages and capacity units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prejoin.protocol import numbers
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.values import SHORT_NAME, Item, Value, canonical, canonical_item, check_levels


def item_size(item: Item) -> int:
    """The bytes of an item: names and values of its attributes.

    >>> item_size({"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}, "l": {"L": []}})
    18
    """
    total = 0
    texts = list(item)
    for value in item.values():
        text = value.get("S")
        if text is None:
            total += value_size(value)
        else:
            texts.append(text)
    return total + _text_size("".join(texts))


def changed_size(before: Item, after: Item, names: Iterable[str]) -> int:
    """The difference in size between two items that differ only in these attributes."""
    change = 0
    for name in names:
        change += _attribute_size(name, after) - _attribute_size(name, before)
    return change


def _attribute_size(name: str, item: Item) -> int:
    value = item.get(name)
    return 0 if value is None else _text_size(name) + value_size(value)


def value_size(value: Value) -> int:
    """The bytes of one canonical value, without its name."""
    for kind, content in value.items():
        if kind == "S":
            return _text_size(content)
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


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def measured(raw_item: Any) -> tuple[Item, int]:
    """`canonical_item` and its `item_size` in one pass, because every write needs both.

    >>> measured({"pk": {"S": "user#1"}, "n": {"N": "042"}})
    ({'pk': {'S': 'user#1'}, 'n': {'N': '42'}}, 11)
    """
    names = "".join(raw_item)
    if len(names) > SHORT_NAME or "" in raw_item:
        item = canonical_item(raw_item)
        return item, item_size(item)
    changed_values: Item = {}
    texts = [names]
    size = 0
    try:
        for name, value in raw_item.items():
            if len(value) == 1:
                text = value.get("S")
                if text is not None:
                    texts.append(text)
                    continue
                text = value.get("N")
                if text is not None:
                    number = numbers.normalise(text)
                    size += numbers.size(number)
                    if number != text:
                        changed_values[name] = {"N": number}
                    continue
            changed_values[name] = canonical(value)
            size += value_size(changed_values[name])
    except DynamoDBError as error:
        check_levels(raw_item, error)
        raise
    item = {**raw_item, **changed_values} if changed_values else raw_item
    # Counting one joined text is faster than many.
    return item, size + _text_size("".join(texts))
