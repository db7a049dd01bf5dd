"""Read a bound KeyConditionExpression as one condition for each key attribute."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from prejoin.protocol.errors import refuse
from prejoin.protocol.expressions.nodes import (
    And,
    Between,
    Call,
    Compare,
    Condition,
    In,
    Literal,
    Not,
    Operand,
    Or,
    Path,
)
from prejoin.protocol.values import Value

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WHERE = "Invalid condition in KeyConditionExpression: "


class KeyCondition(msgspec.Struct, frozen=True):
    """`operator` is one of = < <= > >= BETWEEN begins_with."""

    operator: str
    operands: tuple[Value, ...]


def key_conditions(condition: Condition) -> dict[str, KeyCondition]:
    """The condition on each attribute, in the order written, or what DynamoDB refuses about it.

    >>> key_conditions(Compare("<", Literal({"N": "1"}), Path(("sk",))))
    {'sk': KeyCondition(operator='>', operands=({'N': '1'},))}
    """
    found: dict[str, KeyCondition] = {}
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        match node:
            case And(parts):
                waiting += reversed(parts)
                continue
            case Or():
                _unusable("OR")
            case Not():
                _unusable("NOT")
            case In():
                _unusable("IN")
            case Compare("<>"):
                _unusable("<>")
            case Compare(operator, left, right):
                name, operands = _attribute(left, right)
                if not isinstance(left, Path):
                    operator = _MIRRORED[operator]
            case Between(operand, low, high):
                operator = "BETWEEN"
                if not isinstance(operand, Path):
                    refuse(_WHERE + "BETWEEN operator must have the key attribute as its first operand")
                name, operands = _attribute(operand, low, high)
            case Call("begins_with", arguments):
                operator = "begins_with"
                if not isinstance(arguments[0], Path):
                    refuse(_WHERE + "begins_with operator must have the key attribute as its first operand")
                name, operands = _attribute(*arguments)
            case Call(function):
                _unusable(function)
        if name in found:
            refuse("KeyConditionExpressions must only contain one condition per key")
        found[name] = KeyCondition(operator, operands)
    return found


def _attribute(*operands: Operand) -> tuple[str, tuple[Value, ...]]:
    """The one attribute among the operands of a condition, and the values."""
    name: str | None = None
    values: list[Value] = []
    for operand in operands:
        match operand:
            case Path(steps):
                if name is not None:
                    refuse(_WHERE + "Multiple attribute names used in one condition")
                first, *nested = steps
                if nested:
                    refuse("KeyConditionExpressions cannot have conditions on nested attributes")
                name = str(first)
            case Literal(value):
                values.append(value)
            case _:
                refuse("KeyConditionExpressions cannot contain nested operations")
    if name is None:
        refuse(_WHERE + "No key attribute specified")
    return name, tuple(values)


def _unusable(operator: str) -> NoReturn:
    refuse(f"Invalid operator used in KeyConditionExpression: {operator}")
