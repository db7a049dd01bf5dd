"""Read a KeyConditionExpression as one condition for each key attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import msgspec

from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions.nodes import (
    And,
    Between,
    Compare,
    Condition,
    DocumentPath,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Placeholder,
    Values,
)
from prejoin.protocol.values import Value

_MIRROR_IMAGE = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INVALID = "Invalid KeyConditionExpression: "
_INVALID_CONDITION = _INVALID + "Invalid condition in KeyConditionExpression: "


class AttributeCondition(msgspec.Struct, frozen=True):
    """`operator` is one of = < <= > >= BETWEEN begins_with."""

    operator: str
    operands: list[Value]


KeyConditions = Callable[[Values], dict[str, AttributeCondition]]


def compile_key_conditions(condition: Condition) -> KeyConditions:
    """A function that returns the condition on each attribute, in the order written.

    Whether DynamoDB refuses the condition does not depend on the values. But it does so only after reading the other
    expressions of the request, so it is the returned function that raises the error.

    >>> compile_key_conditions(Compare("<", Placeholder(":one"), DocumentPath(("sk",))))({":one": {"N": "1"}})
    {'sk': AttributeCondition(operator='>', operands=[{'N': '1'}])}
    """
    try:
        conditions = _conditions(condition)
    except DynamoDBError as error:
        return _refusing(error.message)
    return lambda values: {
        name: AttributeCondition(operator, [values[placeholder] for placeholder in operands])
        for name, (operator, operands) in conditions.items()
    }


def _refusing(message: str) -> KeyConditions:
    def raise_refusal(values: Values) -> NoReturn:
        refuse(message)

    return raise_refusal


def _conditions(condition: Condition) -> dict[str, tuple[str, list[str]]]:
    """For each attribute the operator and the placeholders of its operands."""
    conditions: dict[str, tuple[str, list[str]]] = {}
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
                if not isinstance(left, DocumentPath):
                    operator = _MIRROR_IMAGE[operator]
            case Between(operand, low, high):
                operator = "BETWEEN"
                if not isinstance(operand, DocumentPath):
                    refuse(_INVALID_CONDITION + "BETWEEN operator must have the key attribute as its first operand")
                name, operands = _attribute(operand, low, high)
            case FunctionCall("begins_with", arguments):
                operator = "begins_with"
                if not isinstance(arguments[0], DocumentPath):
                    refuse(_INVALID_CONDITION + "begins_with operator must have the key attribute as its first operand")
                name, operands = _attribute(*arguments)
            case FunctionCall(function):
                _unusable(function)
        if name in conditions:
            refuse(_INVALID + "KeyConditionExpressions must only contain one condition per key")
        conditions[name] = (operator, operands)
    return conditions


def _attribute(*operands: Operand) -> tuple[str, list[str]]:
    """The one attribute among the operands of a condition, and the placeholders of its values."""
    name: str | None = None
    placeholders: list[str] = []
    for operand in operands:
        match operand:
            case DocumentPath(steps):
                if name is not None:
                    refuse(_INVALID_CONDITION + "Multiple attribute names used in one condition")
                first, *inner_steps = steps
                if inner_steps:
                    refuse(_INVALID + "KeyConditionExpressions cannot have conditions on nested attributes")
                name = str(first)
            case Placeholder(placeholder):
                placeholders.append(placeholder)
            case _:
                refuse(_INVALID + "KeyConditionExpressions cannot contain nested operations")
    if name is None:
        refuse(_INVALID_CONDITION + "No key attribute specified")
    return name, placeholders


def _unusable(operator: str) -> NoReturn:
    refuse(_INVALID + f"Invalid operator used in KeyConditionExpression: {operator}")
