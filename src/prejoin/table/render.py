"""Conditions and changes as DynamoDB's expressions, every name and value behind a placeholder."""

from __future__ import annotations

from typing import Any

from .codec import Codec
from .expressions import And, Arithmetic, Between, Compare, Condition, Exists, Function, In, Not, Or
from .values import Json, encode_any


class Placeholders:
    """The names and values of one request. A value is never part of an expression's text, nor is a reserved word."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Json] = {}

    def name(self, attribute: str) -> str:
        return self._names.setdefault(attribute, f"#{len(self._names)}")

    def value(self, value: Json) -> str:
        placeholder = f":{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    def text(self, value: str) -> str:
        return self.value({"S": value})

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._names:
            found["ExpressionAttributeNames"] = {short: name for name, short in self._names.items()}
        if self._values:
            found["ExpressionAttributeValues"] = dict(self._values)
        return found


def render(condition: Condition, codec: Codec[Any], to: Placeholders) -> str:
    """A condition as an expression.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Product:
    ...     stock: int
    >>> to = Placeholders()
    >>> render(Compare(("stock",), ">=", 3), Codec.of(Product), to), to.parameters()
    ('#0 >= :0', {'ExpressionAttributeNames': {'#0': 'stock'}, 'ExpressionAttributeValues': {':0': {'N': '3'}}})
    """
    match condition:
        case Compare(path, op, value):
            return f"{path_of(path, codec, to)} {op} {_value(path, value, codec, to)}"
        case Between(path, low, high):
            ends = f"{_value(path, low, codec, to)} AND {_value(path, high, codec, to)}"
            return f"{path_of(path, codec, to)} BETWEEN {ends}"
        case Function("contains", path, value):
            return f"contains({path_of(path, codec, to)}, {to.value(encode_any(value))})"
        case Function(function, path, value):
            return f"{function}({path_of(path, codec, to)}, {_value(path, value, codec, to)})"
        case Exists(path, present):
            return f"{'attribute_exists' if present else 'attribute_not_exists'}({path_of(path, codec, to)})"
        case In(path, values):
            members = ", ".join(_value(path, value, codec, to) for value in values)
            return f"{path_of(path, codec, to)} IN ({members})"
        case And(items):
            return " AND ".join(_grouped(item, codec, to) for item in items)
        case Or(items):
            return " OR ".join(_grouped(item, codec, to) for item in items)
        case Not(item):
            return f"NOT ({render(item, codec, to)})"
        case _:
            raise AssertionError(condition)


def sum_of(attribute: str, change: Arithmetic, codec: Codec[Any], to: Placeholders) -> str:
    """`#0 + :0`, for SET."""
    amount = to.value(codec.encode_value(attribute, change.amount))
    return f"{path_of(change.path, codec, to)} {change.sign} {amount}"


def path_of(path: tuple[str, ...], codec: Codec[Any], to: Placeholders) -> str:
    first, *rest = path
    return ".".join([to.name(codec.attribute(first).wire), *(to.name(name) for name in rest)])


def _value(path: tuple[str, ...], value: Any, codec: Codec[Any], to: Placeholders) -> str:
    first, *nested = path
    encoded = encode_any(value) if nested else codec.encode_value(first, value)
    return to.value(encoded)


def _grouped(condition: Condition, codec: Codec[Any], to: Placeholders) -> str:
    text = render(condition, codec, to)
    return f"({text})" if isinstance(condition, And | Or) else text
