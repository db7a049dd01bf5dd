"""Conditions as text for error messages, written as in Python."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Any

from prejoin.table.codec.paths import path_text

from .record import And, Between, Compare, Condition, Exists, Function, In, Not, Or, Path, Relate, Size, Stored

_LONGEST = 200
"""The most characters of a text. Other values are never cut: half a number or half a time says something else."""
_OPERATORS = {"=": "==", "<>": "!="}


def condition_text(conditions: Iterable[Condition]) -> str:
    """Return conditions, all of which must hold, in one line.

    >>> condition_text([Compare(("stock",), ">=", 3), In(("status",), ("OPEN", "PAID"))])
    "stock >= 3 & one_of(status, ['OPEN', 'PAID'])"
    """
    return " & ".join(map(_grouped_text, conditions))


def _grouped_text(condition: Condition) -> str:
    text = _text(condition)
    return f"({text})" if isinstance(condition, And | Or) else text


def _text(condition: Condition) -> str:
    match condition:
        case Compare(path, op, value):
            return f"{path_text(path)} {_OPERATORS.get(op, op)} {_value(value)}"
        case Relate(operand, op, other_operand):
            return f"{_value(operand)} {_OPERATORS.get(op, op)} {_value(other_operand)}"
        case Between(path, low, high):
            return f"between({path_text(path)}, {_value(low)}, {_value(high)})"
        case Function(function, path, value):
            name = "of_type" if function == "attribute_type" else function
            return f"{name}({path_text(path)}, {_value(value)})"
        case Exists(path, present):
            return f"exists({path_text(path)})" if present else f"{path_text(path)} == None"
        case In(path, values):
            return f"one_of({path_text(path)}, [{', '.join(map(_value, values))}])"
        case And(items):
            return " & ".join(map(_grouped_text, items))
        case Or(items):
            return " | ".join(map(_grouped_text, items))
        case Not(item):
            return f"~({_text(item)})"
        case _:
            raise AssertionError(condition)


def _value(value: Any) -> str:
    if isinstance(value, Path):
        return path_text(value._path)
    if isinstance(value, Size):
        return f"size({path_text(value.path)})"
    if isinstance(value, Stored):
        value = next(iter(value.json.values()))
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, date):  # also a datetime, whose repr is four times as long
        return repr(value.isoformat())
    text = repr(value)
    is_long = isinstance(value, str | list | dict | set | frozenset) and len(text) > _LONGEST
    return f"{text[: _LONGEST - 1]}…" if is_long else text
