"""Render conditions and changes as DynamoDB expressions, with placeholders for all names and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.table.codec.codec import Codec
from prejoin.table.codec.paths import Steps, place
from prejoin.table.codec.values import Json, encode_any
from prejoin.table.update.computed import Computed, First, HiddenName, Joined, Sum

from .record import And, Between, Compare, Condition, Exists, Function, In, Not, Or, Path, Relate, Size, Stored

_NAMES = tuple(f"#{at}" for at in range(100))
_VALUES = tuple(f":{at}" for at in range(100))


class Placeholders:
    """The placeholders of one request. Expressions never contain values or reserved words themselves."""

    __slots__ = ("_names", "_values")

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Json] = {}

    @classmethod
    def continued(cls, parameters: Mapping[str, Any]) -> Placeholders:
        """Return the placeholders of a request, to add more to it."""
        found = cls()
        found._names = {name: short for short, name in parameters.get("ExpressionAttributeNames", {}).items()}
        found._values = dict(parameters.get("ExpressionAttributeValues", {}))
        return found

    def name(self, attribute: str) -> str:
        short = self._names.get(attribute)
        if short is None:
            count = len(self._names)
            short = self._names[attribute] = _NAMES[count] if count < 100 else f"#{count}"
        return short

    def value(self, value: Json) -> str:
        count = len(self._values)
        placeholder = _VALUES[count] if count < 100 else f":{count}"
        self._values[placeholder] = value
        return placeholder

    def text(self, value: str) -> str:
        return self.value({"S": value})

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._names:
            found["ExpressionAttributeNames"] = {short: name for name, short in self._names.items()}
        if self._values:
            found["ExpressionAttributeValues"] = self._values
        return found


def render(condition: Condition, codec: Codec[Any], to: Placeholders) -> str:
    """Render a condition as an expression.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> to = Placeholders()
    >>> render(Compare(("stock",), ">=", 3), Codec.of(Product), to), to.parameters()
    ('#0 >= :0', {'ExpressionAttributeNames': {'#0': 'stock'}, 'ExpressionAttributeValues': {':0': {'N': '3'}}})
    """
    match condition:
        case Compare((name,), "=" | "<>" as op, value) if (word := codec.other_word(name, value)) is not None:
            own = value_of((name,), value, codec, to)
            text = f"{rendered_path((name,), codec, to)} IN ({own}, {to.text(word)})"
            return text if op == "=" else f"NOT ({text})"
        case Compare(path, op, value):
            return f"{rendered_path(path, codec, to)} {op} {value_of(path, value, codec, to)}"
        case Exists(path, present):
            return f"{'attribute_exists' if present else 'attribute_not_exists'}({rendered_path(path, codec, to)})"
        case And(items):
            return " AND ".join([render_part(item, codec, to) for item in items])
        case Or(items):
            return " OR ".join([render_part(item, codec, to) for item in items])
        case Not(item):
            text = render_part(item, codec, to)
            return f"NOT {text}" if text.startswith("(") else f"NOT ({text})"
        case Between(path, low, high):
            ends = f"{value_of(path, low, codec, to)} AND {value_of(path, high, codec, to)}"
            return f"{rendered_path(path, codec, to)} BETWEEN {ends}"
        case Function("begins_with", path, value):
            return f"begins_with({rendered_path(path, codec, to)}, {value_of(path, value, codec, to)})"
        case Function(function, path, value):
            return f"{function}({rendered_path(path, codec, to)}, {to.value(encode_any(value))})"
        case In(path, values):
            members = [value_of(path, value, codec, to) for value in values]
            words = [codec.other_word(path[0], value) for value in values] if len(path) == 1 else []
            members += [to.text(word) for word in words if word is not None]
            return f"{rendered_path(path, codec, to)} IN ({', '.join(members)})"
        case Relate(left, op, right):
            return f"{_operand(left, codec, to)} {op} {_operand(right, codec, to)}"
        case _:
            raise AssertionError(condition)


def new_value(path: Steps, value: Any, codec: Codec[Any], to: Placeholders) -> str:
    """Render the new value of a SET clause: a value, or an expression that DynamoDB computes."""
    if not isinstance(value, Computed):
        return value_of(path, value, codec, to)
    old = rendered_path(value.path, codec, to)
    match value:
        case Sum(_, sign, amount, from_zero):
            if from_zero:
                old = f"if_not_exists({old}, {to.value({'N': '0'})})"
            return f"{old} {sign} {value_of(path, amount, codec, to)}"
        case Joined(_, elements, before):
            old = f"if_not_exists({old}, {to.value({'L': []})})"
            more = value_of(path, elements, codec, to)
            return f"list_append({more}, {old})" if before else f"list_append({old}, {more})"
        case First(_, first):
            return f"if_not_exists({old}, {value_of(path, first, codec, to)})"
        case _:
            raise AssertionError(value)


def rendered_path(path: Steps, codec: Codec[Any], to: Placeholders) -> str:
    """Render a path: `#0.#1[2]`."""
    if len(path) == 1:
        name = path[0]
        return to.name(str(name) if isinstance(name, HiddenName) else codec.attribute(name).wire)
    first, *rest = place(codec, path).steps
    text = to.name(str(first))
    for step in rest:
        text += f"[{step}]" if isinstance(step, int) else f".{to.name(step)}"
    return text


def value_of(path: Steps, value: Any, codec: Codec[Any], to: Placeholders) -> str:
    """Render a value for a path."""
    if isinstance(value, Stored):
        return to.value(value.json)
    if len(path) == 1:
        return to.value(codec.encode_value(path[0], value))
    return to.value(place(codec, path).encode(value))


def _operand(operand: Any, codec: Codec[Any], to: Placeholders) -> str:
    if isinstance(operand, Path):
        return rendered_path(operand._path, codec, to)
    if isinstance(operand, Size):
        return f"size({rendered_path(operand.path, codec, to)})"
    return to.value(encode_any(operand))


def render_part(condition: Condition, codec: Codec[Any], to: Placeholders) -> str:
    """Render a condition as part of another. DynamoDB refuses redundant parentheses."""
    while isinstance(condition, And | Or) and len(condition.items) == 1:
        (condition,) = condition.items
    text = render(condition, codec, to)
    return f"({text})" if isinstance(condition, And | Or) else text
