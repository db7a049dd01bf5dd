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
        placeholders = cls()
        placeholders._names = {name: short for short, name in parameters.get("ExpressionAttributeNames", {}).items()}
        placeholders._values = dict(parameters.get("ExpressionAttributeValues", {}))
        return placeholders

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
        parameters: dict[str, Any] = {}
        if self._names:
            parameters["ExpressionAttributeNames"] = {short: name for name, short in self._names.items()}
        if self._values:
            parameters["ExpressionAttributeValues"] = self._values
        return parameters


def render(condition: Condition, codec: Codec[Any], placeholders: Placeholders) -> str:
    """Render a condition as an expression.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> placeholders = Placeholders()
    >>> render(Compare(("stock",), ">=", 3), Codec.of(Product), placeholders), placeholders.parameters()
    ('#0 >= :0', {'ExpressionAttributeNames': {'#0': 'stock'}, 'ExpressionAttributeValues': {':0': {'N': '3'}}})
    """
    # One match from top to bottom: each kind of condition is one line or two of DynamoDB's expression language.
    match condition:
        case Compare((name,), "=" | "<>" as op, value) if (word := codec.other_word(name, value)) is not None:
            word_placeholder = value_of((name,), value, codec, placeholders)
            # Items may hold this member under either word (`ReadAs`), so both are compared.
            text = f"{rendered_path((name,), codec, placeholders)} IN ({word_placeholder}, {placeholders.text(word)})"
            return text if op == "=" else f"NOT ({text})"
        case Compare(path, op, value):
            return f"{rendered_path(path, codec, placeholders)} {op} {value_of(path, value, codec, placeholders)}"
        case Exists(path, present):
            function = "attribute_exists" if present else "attribute_not_exists"
            return f"{function}({rendered_path(path, codec, placeholders)})"
        case And(items):
            return " AND ".join([render_part(item, codec, placeholders) for item in items])
        case Or(items):
            return " OR ".join([render_part(item, codec, placeholders) for item in items])
        case Not(item):
            text = render_part(item, codec, placeholders)
            return f"NOT {text}" if text.startswith("(") else f"NOT ({text})"
        case Between(path, low, high):
            name = rendered_path(path, codec, placeholders)
            first, last = value_of(path, low, codec, placeholders), value_of(path, high, codec, placeholders)
            if _is_above(low, high):
                # No value lies between these ends. DynamoDB refuses a BETWEEN with them, also beside other conditions.
                return f"({name} >= {first} AND {name} <= {last})"
            return f"{name} BETWEEN {first} AND {last}"
        case Function("begins_with", path, value):
            return (
                f"begins_with({rendered_path(path, codec, placeholders)}, {value_of(path, value, codec, placeholders)})"
            )
        case Function(function, path, value):
            return f"{function}({rendered_path(path, codec, placeholders)}, {placeholders.value(encode_any(value))})"
        case In(path, values):
            members = [value_of(path, value, codec, placeholders) for value in values]
            words = [codec.other_word(path[0], value) for value in values] if len(path) == 1 else []
            members += [placeholders.text(word) for word in words if word is not None]
            return f"{rendered_path(path, codec, placeholders)} IN ({', '.join(members)})"
        case Relate(operand, op, other_operand):
            return f"{_operand(operand, codec, placeholders)} {op} {_operand(other_operand, codec, placeholders)}"
        case _:
            raise AssertionError(condition)


def _is_above(low: Any, high: Any) -> bool:
    try:
        return bool(low > high)
    except TypeError:
        return False  # values of different types: DynamoDB says so


def new_value(path: Steps, value: Any, codec: Codec[Any], placeholders: Placeholders) -> str:
    """Render the new value of a SET clause: a value, or an expression that DynamoDB computes."""
    if not isinstance(value, Computed):
        return value_of(path, value, codec, placeholders)
    old = rendered_path(value.path, codec, placeholders)
    match value:
        case Sum(_, sign, amount, from_zero):
            if from_zero:
                old = f"if_not_exists({old}, {placeholders.value({'N': '0'})})"
            return f"{old} {sign} {value_of(path, amount, codec, placeholders)}"
        case Joined(_, elements, before):
            old = f"if_not_exists({old}, {placeholders.value({'L': []})})"
            addition = value_of(path, elements, codec, placeholders)
            return f"list_append({addition}, {old})" if before else f"list_append({old}, {addition})"
        case First(_, first):
            return f"if_not_exists({old}, {value_of(path, first, codec, placeholders)})"
        case _:
            raise AssertionError(value)


def rendered_path(path: Steps, codec: Codec[Any], placeholders: Placeholders) -> str:
    """Render a path: `#0.#1[2]`."""
    if len(path) == 1:
        name = path[0]
        return placeholders.name(str(name) if isinstance(name, HiddenName) else codec.attribute(name).wire)
    first, *inner_steps = place(codec, path).steps
    text = placeholders.name(str(first))
    for step in inner_steps:
        text += f"[{step}]" if isinstance(step, int) else f".{placeholders.name(step)}"
    return text


def value_of(path: Steps, value: Any, codec: Codec[Any], placeholders: Placeholders) -> str:
    """Render a value for a path."""
    if isinstance(value, Stored):
        return placeholders.value(value.json)
    if len(path) == 1:
        return placeholders.value(codec.encode_value(path[0], value))
    return placeholders.value(place(codec, path).encode(value))


def _operand(operand: Any, codec: Codec[Any], placeholders: Placeholders) -> str:
    if isinstance(operand, Path):
        return rendered_path(operand._path, codec, placeholders)
    if isinstance(operand, Size):
        return f"size({rendered_path(operand.path, codec, placeholders)})"
    return placeholders.value(encode_any(operand))


def render_part(condition: Condition, codec: Codec[Any], placeholders: Placeholders) -> str:
    """Render a condition as part of another. DynamoDB refuses redundant parentheses."""
    while isinstance(condition, And | Or) and len(condition.items) == 1:
        (condition,) = condition.items
    text = render(condition, codec, placeholders)
    return f"({text})" if isinstance(condition, And | Or) else text
