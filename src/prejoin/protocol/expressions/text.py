"""Expressions as text: what `parser` reads back as the same tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from .nodes import (
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    BoundValue,
    Compare,
    Condition,
    DeleteAction,
    DocumentPath,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Placeholder,
    RemoveAction,
    SetAction,
    Update,
)


def condition_text(condition: Condition) -> str:
    """A condition as an expression, without redundant parentheses, which DynamoDB refuses.

    >>> from .parser import parse_condition
    >>> condition_text(parse_condition("#a = :a AND (#b < :b OR NOT (#c = :c))"))
    '#a = :a AND (#b < :b OR NOT (#c = :c))'
    """
    match condition:
        case Compare():
            return f"{operand_text(condition.left)} {condition.operator} {operand_text(condition.right)}"
        case Between():
            ends = f"{operand_text(condition.low)} AND {operand_text(condition.high)}"
            return f"{operand_text(condition.operand)} BETWEEN {ends}"
        case In():
            options = ", ".join(map(operand_text, condition.options))
            return f"{operand_text(condition.operand)} IN ({options})"
        case FunctionCall():
            return operand_text(condition)
        case And():
            return " AND ".join(map(_part_text, condition.parts))
        case Or():
            return " OR ".join(map(_part_text, condition.parts))
        case Not():
            return f"NOT ({condition_text(condition.part)})"
        case _:
            assert_never(condition)


def _part_text(condition: Condition) -> str:
    text = condition_text(condition)
    return f"({text})" if isinstance(condition, And | Or) else text


def operand_text(operand: Operand) -> str:
    match operand:
        case DocumentPath():
            return _path_text(operand)
        case Placeholder():
            return operand.name
        case FunctionCall():
            return f"{operand.function}({', '.join(map(operand_text, operand.arguments))})"
        case Arithmetic():
            return f"{operand_text(operand.left)} {operand.operator} {operand_text(operand.right)}"
        case BoundValue():
            raise AssertionError("only a tree with placeholders is written")
        case _:
            assert_never(operand)


def _path_text(path: DocumentPath) -> str:
    text = ""
    for step in path.steps:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def update_text(update: Update) -> str:
    """The actions of an update as an expression.

    >>> from .parser import parse_update
    >>> update_text(parse_update("SET #a = :a, #n = #n + :one REMOVE #b ADD #s :s"))
    'SET #a = :a, #n = #n + :one REMOVE #b ADD #s :s'
    """
    sections: dict[str, list[str]] = {}
    for action in update.actions:
        section, text = _action_text(action)
        sections.setdefault(section, []).append(text)
    return " ".join(f"{section} {', '.join(texts)}" for section, texts in sections.items())


def _action_text(action: Action) -> tuple[str, str]:
    """The section of an action, and its text in it."""
    path = _path_text(action.path)
    match action:
        case SetAction():
            return "SET", f"{path} = {operand_text(action.operand)}"
        case RemoveAction():
            return "REMOVE", path
        case AddAction():
            return "ADD", f"{path} {operand_text(action.operand)}"
        case DeleteAction():
            return "DELETE", f"{path} {operand_text(action.operand)}"
        case _:
            assert_never(action)


def all_of(parts: Iterable[Condition]) -> Condition | None:
    """The condition that all parts are true; None for no parts."""
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, And) else (part,)
    return And(tuple(flat)) if len(flat) > 1 else next(iter(flat), None)


def any_of(parts: Iterable[Condition]) -> Condition:
    """The condition that at least one part is true; there is a part."""
    first, *other_parts = parts
    return either(first, *other_parts)


def either(*parts: Condition) -> Condition:
    """The condition that at least one part is true."""
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, Or) else (part,)
    return Or(tuple(flat)) if len(flat) > 1 else flat[0]
