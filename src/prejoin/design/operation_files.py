"""Reads operations in designs that people write in YAML or JSON, where most parts may be given as text.

`sk: begins_with ORDER#` is short for `sk: {op: begins_with, low: ORDER#}`, and `changes: [ADD views 1]` for a list of
data. prejoin writes operations as data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from msgspec import to_builtins

from prejoin.design.model import ItemChange, ItemName
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.workload.model import Absence, AnyOf, ChangeOp, Comparison, Input, Op, Presence, Test, Value

Tree = dict[str, Any]


class NotAnOperationError(ValueError):
    """A text in an operation cannot be read."""


def operations_as_data(operations: list[Any], key: str) -> list[Any]:
    """Operations with their texts as data; `key` is the partition key of the table.

    Raises NotAnOperationError for a text that cannot be read.
    """
    return [_with(one, "requests", lambda request: _request(request, key)) for one in operations]


def _request(tree: Tree, key: str) -> Tree:
    tree = _with(tree, "actions", lambda action: _action(action, key))
    tree = _with(tree, "copies", ItemName.parse)
    tree = _with(tree, "filters", lambda text: [_filter(text)])
    for name, read in (("sk", read_sort_condition), ("counter", ItemName.parse)):
        if isinstance(tree.get(name), str):
            tree = {**tree, name: to_builtins(read(tree[name])) if tree[name] else None}
    return tree


def _action(tree: Tree, key: str) -> Tree:
    if isinstance(tree.get("item"), str):
        tree = {**tree, "item": to_builtins(ItemName.parse(tree["item"]))}
    for name in ("conditions", "compared"):
        tree = _with(tree, name, lambda text: read_condition(text, key))
    texts = tree.get("changes")
    if isinstance(texts, list) and any(isinstance(text, str) for text in texts):
        changes = [change for text in texts for change in (read_changes(text) if isinstance(text, str) else [text])]
        tree = {**tree, "changes": to_builtins(changes)}
    return tree


def _with(tree: Tree, name: str, read: Callable[[Any], object]) -> Tree:
    """A mapping with one of its lists read. Data that is no text is left as it is, unless it is a mapping to read."""
    parts = tree.get(name) if isinstance(tree, dict) else None
    if not isinstance(parts, list):
        return tree
    is_nested = name in ("requests", "actions")
    wanted = dict if is_nested else str
    return {**tree, name: [to_builtins(read(part)) if isinstance(part, wanted) else part for part in parts]}


_PLACEHOLDER = re.compile(r"\{([^}]*)\}")
_OPERATORS = "|".join(re.escape(op.value) for op in sorted(Op, key=len, reverse=True))
_OR_ABSENT = re.compile(r"attribute_not_exists\([^()]+\) or ")
_CONDITION = re.compile(rf"([^\s()=<>]++)\s*+({_OPERATORS})(?:\s*+(.*))?", re.DOTALL)


def read_sort_condition(text: str) -> SortCondition:
    """A condition on a sort key. ` and ` may also be in the text of a key.

    Two ends have the same attributes: they are in the part of the key before the texts that differ. One template
    stands for both ends where the caller gives two values of its last attribute.

    >>> read_sort_condition("between A#{id}#DROP and A#{id}#VARIANT").high
    'A#{id}#VARIANT'
    >>> read_sort_condition("between THIS and THAT#{dueOn}").low
    'THIS and THAT#{dueOn}'
    """
    op, _, rest = text.partition(" ")
    words = rest.split(" and ") if op == "between" else [rest]
    ends = [(" and ".join(words[:at]), " and ".join(words[at:])) for at in range(1, len(words))]
    ends = [(low, high) for low, high in ends if _PLACEHOLDER.findall(low) == _PLACEHOLDER.findall(high)]
    if not ends:
        return SortCondition(op, rest)
    low, high = max(ends, key=lambda end: _shared_start(*end))
    return SortCondition(op, low, high)


def _shared_start(low: str, high: str) -> int:
    """The number of characters with which both texts begin."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(low, high, strict=False))))


def read_changes(text: str) -> list[ItemChange]:
    """The changes of one clause of an update.

    >>> [change.attribute for change in read_changes("SET gsi1pk = {a}, gsi1sk = {b}")]
    ['gsi1pk', 'gsi1sk']
    >>> read_changes("SET views = views + 1")[0].is_from_zero, read_changes("ADD views 1")[0].is_from_zero
    (False, True)
    """
    action, _, rest = text.strip().partition(" ")
    match action:
        case "SET":
            parts = [part.partition("=") for part in re.split(r",\s*+(?=[\w-]++\s*+=)", rest)]
            return [_set(attribute.strip(), value.strip()) for attribute, _, value in parts]
        case "REMOVE":
            return [ItemChange(name.strip(), ChangeOp.REMOVE) for name in rest.split(",")]
        case "ADD":
            attribute, _, value = rest.strip().rpartition(" ")
            op = ChangeOp.SUBTRACT if value.startswith("-") else ChangeOp.ADD
            return [ItemChange(attribute.strip(), op, _value(value.removeprefix("-")), is_from_zero=True)]
        case _:
            raise NotAnOperationError(f"`{text}` is no clause of an update")


def _set(attribute: str, value: str) -> ItemChange:
    own = re.escape(attribute)
    if summed := re.fullmatch(rf"(if_not_exists\(\s*+)?{own}\s*+(?:,\s*+0\s*+\))?\s*+([+-])\s*+(.+)", value):
        op = ChangeOp.SUBTRACT if summed[2] == "-" else ChangeOp.ADD
        return ItemChange(attribute, op, _value(summed[3]), is_from_zero=bool(summed[1]))
    if appended := re.fullmatch(rf"list_append\((if_not_exists\()?\s*+{own}\s*+(?:,\s*+\[\]\s*+\))?,\s*+(.+)\)", value):
        return ItemChange(attribute, ChangeOp.APPEND, _value(appended[2]), is_from_zero=bool(appended[1]))
    if _PLACEHOLDER.search(value) and not _PLACEHOLDER.fullmatch(value):
        return ItemChange(attribute, template=value)
    return ItemChange(attribute, value=_value(value))


def read_condition(text: str, key: str) -> Test:
    """A condition on an item; the presence of its partition key is that of the item.

    >>> read_condition("total >= {total}", "pk").op, read_condition("attribute_not_exists(pk)", "pk") == Absence()
    (<Op.GE: '>='>, True)
    """
    text = text.strip()
    if found := _OR_ABSENT.match(text):
        return AnyOf((Absence(), read_condition(text[found.end() :], key)))
    if found := re.fullmatch(r"attribute_(not_)?exists\(([^()]+)\)", text):
        name = found[2].strip()
        attribute = "" if name == key else name
        return Absence(attribute=attribute) if found[1] else Presence(attribute=attribute)
    name, op, values = _comparison(text)
    if op is Op.EXISTS:
        return Presence(attribute=name)
    if op is Op.NOT_EXISTS:
        return Absence(attribute=name)
    return Comparison(attribute=name, op=op, values=values)


def _filter(text: str) -> Input:
    """A filter; the name of an attribute alone is compared with an input."""
    if re.fullmatch(r"[\w.-]+", text.strip()):
        return Input(text.strip())
    name, op, values = _comparison(text.strip())
    return Input(name, op, () if values == (Value(param=name),) else values)


def _comparison(text: str) -> tuple[str, Op, tuple[Value, ...]]:
    found = _CONDITION.fullmatch(text)
    if not found:
        raise NotAnOperationError(f"`{text}` is not one comparison: write conditions with parts as data")
    op = Op(found[2])
    values = found[3] or ""
    if op is Op.IN:
        parts = values.strip("()").split(",")
    elif op is Op.BETWEEN:
        parts = values.split(" and ")
    else:
        parts = [values] if values else []
    return found[1], op, tuple(_value(part.strip()) for part in parts)


def _value(text: str) -> Value:
    if text.startswith("{") and text.endswith("}"):
        return Value(param=text[1:-1])
    return Value(const=text.strip('"'))
