"""Parse an UpdateExpression: its SET, REMOVE, ADD and DELETE sections."""

from __future__ import annotations

from functools import lru_cache

from prejoin.protocol.expressions.nodes import (
    UPDATE_FUNCTIONS,
    Action,
    AddAction,
    Arithmetic,
    Call,
    DeleteAction,
    Operand,
    Placeholder,
    RemoveAction,
    SetAction,
    Update,
    operator_count,
)
from prejoin.protocol.expressions.reader import Reader

_SECTIONS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})


@lru_cache(maxsize=2048)
def parse_update(text: str, parameter: str = "UpdateExpression") -> Update:
    """The actions with their placeholders still in them.

    >>> parse_update("ADD visits :one").actions
    (AddAction(path=Path(steps=('visits',)), operand=Placeholder(name=':one')),)
    """
    reader = Reader(text, parameter, keywords=_SECTIONS, functions=UPDATE_FUNCTIONS)
    actions: list[Action] = []
    sections: set[str] = set()
    while True:
        section = reader.token.word()
        if section not in _SECTIONS:
            reader.fail()
        if section in sections:
            reader.complain("section", f'The "{section}" section can only be used once in an update expression;')
        sections.add(section)
        reader.advance()
        actions.append(_action(reader, section))
        while reader.accept(","):
            actions.append(_action(reader, section))
        if reader.token.kind == "end":
            break
    update = Update(tuple(actions))
    reader.count_operators(operator_count(update.operands))
    _check_appending(reader, update)
    reader.finish("reserved", "position", "unknown function", "misused function", "section", "operators", "nesting")
    return update


def _action(reader: Reader, section: str) -> Action:
    path = reader.path()
    if section == "REMOVE":
        return RemoveAction(path)
    if section == "SET":
        reader.expect("=")
        return SetAction(path, _set_value(reader))
    if reader.token.kind != "value":
        reader.fail()
    operand = Placeholder(reader.advance().text)
    return AddAction(path, operand) if section == "ADD" else DeleteAction(path, operand)


def _check_appending(reader: Reader, update: Update) -> None:
    """Of functions within functions DynamoDB refuses one: what list_append gives cannot be appended to again."""
    waiting = list(update.operands)
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, Arithmetic):
            waiting += (operand.left, operand.right)
        elif isinstance(operand, Call):
            waiting += operand.arguments
            if operand.function == "list_append":
                for argument in operand.arguments:
                    if isinstance(argument, Call) and argument.function == "list_append":
                        reader.complain_about_misuse(argument)


def _set_value(reader: Reader) -> Operand:
    """One operand, or two with + or - between them; the whole may stand in parentheses."""
    if reader.token.text == "(":
        start = reader.index
        reader.advance()
        left = reader.operand()
        if reader.token.text in ("+", "-"):
            value = Arithmetic(reader.advance().text, left, reader.operand())
            reader.expect(")")
            return value
        reader.index = start
    left = reader.operand()
    if reader.token.kind == "sign" and reader.token.text in ("+", "-"):
        return Arithmetic(reader.advance().text, left, reader.operand())
    return left
