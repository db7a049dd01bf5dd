"""Parsers of condition, update and projection expressions. The condition parser is iterative: parentheses cost no
stack.
"""

from __future__ import annotations

from bisect import bisect
from functools import lru_cache

from prejoin.protocol.expressions.nodes import (
    CONDITION_FUNCTIONS,
    UPDATE_FUNCTIONS,
    Action,
    AddAction,
    And,
    Arithmetic,
    Between,
    Compare,
    Condition,
    DeleteAction,
    FunctionCall,
    In,
    Not,
    Operand,
    Or,
    Placeholder,
    ProjectionExpression,
    RemoveAction,
    SetAction,
    Update,
    operator_count,
)
from prejoin.protocol.expressions.reader import SECTIONS, ExpressionReader, ExpressionToken

_COMPARATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_BINDING = {"OR": 1, "AND": 2, "NOT": 3}


@lru_cache(maxsize=2048)
def parse_condition(text: str, parameter: str = "ConditionExpression") -> Condition:
    """Parse a Condition-, Filter- or KeyConditionExpression. Placeholders stay in the tree.

    >>> parse_condition("a = :x AND NOT attribute_exists(b)")
    And(parts=(Compare(operator='=', left=DocumentPath(steps=('a',)), right=Placeholder(name=':x')), \
Not(part=FunctionCall(function='attribute_exists', arguments=(DocumentPath(steps=('b',)),)))))
    """
    reader = ExpressionReader(text, parameter, CONDITION_FUNCTIONS)
    condition = _Builder(reader).build()
    reader.count_operators(operator_count([condition]))
    reader.finish("operators", "nesting")
    return condition


class _Builder:
    """Operator precedence parsing on two stacks: finished conditions, and pending operators."""

    def __init__(self, reader: ExpressionReader) -> None:
        self._reader = reader
        self._operators = [index for index, token in enumerate(reader.tokens) if _is_operator(token)]
        self._done: list[Condition] = []
        self._waiting: list[str] = []

    def build(self) -> Condition:
        reader = self._reader
        while True:
            while not self._opens():
                pass
            while reader.accept(")"):
                self._reduce(0)
                if not self._waiting:
                    reader.index -= 1
                    reader.fail()
                self._waiting.pop()
            if reader.token.kind == "end":
                self._reduce(0)
                if self._waiting:
                    reader.fail()
                return self._done[0]
            word = reader.token.word()
            if word not in ("AND", "OR"):
                reader.fail()
            reader.advance()
            self._reduce(_BINDING[word])
            self._waiting.append(word)

    def _opens(self) -> bool:
        """Read a token that may precede a condition, or the condition itself; then return True."""
        reader = self._reader
        if reader.accept_word("NOT"):
            self._waiting.append("NOT")
            return False
        if reader.token.text == "(" and not self._encloses_operand():
            reader.advance()
            self._waiting.append("(")
            return False
        self._done.append(_predicate(reader))
        return True

    def _encloses_operand(self) -> bool:
        """Whether the parenthesis here encloses an operand, as in `(a) = :b`, and not a condition."""
        reader = self._reader
        closing = reader.closings.get(reader.index)
        if closing is None:
            return False
        following = reader.tokens[closing + 1]
        if following.text in (".", "["):  # an error, but where it is depends on what the parentheses enclose
            return bisect(self._operators, reader.index) == bisect(self._operators, closing)
        return _is_operator(following)

    def _reduce(self, binding: int) -> None:
        """Finish the pending operators, back to a parenthesis, that bind at least as tightly."""
        while self._waiting and self._waiting[-1] != "(" and _BINDING[self._waiting[-1]] >= binding:
            operator = self._waiting.pop()
            right = self._done.pop()
            if operator == "NOT":
                self._done.append(Not(right))
                continue
            left = self._done.pop()
            kind = And if operator == "AND" else Or
            self._done.append(kind((*left.parts, right) if isinstance(left, kind) else (left, right)))


def _predicate(reader: ExpressionReader) -> Condition:
    """A comparison, BETWEEN, IN, or a function that is itself a condition."""
    start = reader.token
    reader.settled = reader.index
    left = reader.operand()
    token = reader.token
    if _is_operator(token):
        reader.settled = None
    if token.kind == "sign" and token.text in _COMPARATORS:
        reader.advance()
        right = reader.operand()
        _check_operands(reader, left, right)
        return Compare(token.text, left, right)
    if reader.accept_word("BETWEEN"):
        low = reader.operand()
        if not reader.accept_word("AND"):
            reader.fail()
        high = reader.operand()
        _check_operands(reader, left, low, high)
        return Between(left, low, high)
    if reader.accept_word("IN"):
        reader.expect("(")
        options = [reader.operand()]
        while reader.accept(","):
            options.append(reader.operand())
        reader.expect(")")
        _check_operands(reader, left, *options)
        return In(left, tuple(options))
    if not isinstance(left, FunctionCall) or start.text == "(":
        reader.fail()
    reader.settled = None
    if left.function == "size":
        reader.complain_about_misuse(left)
    _check_operands(reader, *left.arguments)
    return left


def _is_operator(token: ExpressionToken) -> bool:
    """Whether a token may follow the left operand of a condition."""
    return token.text in _COMPARATORS or token.word() in ("BETWEEN", "IN")


def _check_operands(reader: ExpressionReader, *operands: Operand) -> None:
    """Only size() returns a value that can be an operand."""
    waiting = list(reversed(operands))
    while waiting:
        operand = waiting.pop()
        if isinstance(operand, FunctionCall):
            if operand.function != "size" and operand.function in CONDITION_FUNCTIONS:
                reader.complain_about_misuse(operand)
            waiting += reversed(operand.arguments)


@lru_cache(maxsize=2048)
def parse_update(text: str, parameter: str = "UpdateExpression") -> Update:
    """Parse the SET, REMOVE, ADD and DELETE sections of an UpdateExpression. Placeholders stay in the tree.

    >>> parse_update("ADD visits :one").actions
    (AddAction(path=DocumentPath(steps=('visits',)), operand=Placeholder(name=':one')),)
    """
    reader = ExpressionReader(text, parameter, UPDATE_FUNCTIONS)
    actions: list[Action] = []
    sections: set[str] = set()
    while True:
        section = reader.token.word()
        if section not in SECTIONS:
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
    reader.finish("section", "operators", "nesting")
    return update


def _action(reader: ExpressionReader, section: str) -> Action:
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


def _check_appending(reader: ExpressionReader, update: Update) -> None:
    """Refuse list_append as an operand: it can only be the whole value of a SET."""
    waiting = [part for operand in update.operands for part in _operands_of(operand)]
    while waiting:
        operand = waiting.pop()
        waiting += _operands_of(operand)
        if isinstance(operand, FunctionCall) and operand.function == "list_append":
            reader.complain_about_misuse(operand)


def _operands_of(operand: Operand) -> tuple[Operand, ...]:
    if isinstance(operand, Arithmetic):
        return operand.left, operand.right
    return operand.arguments if isinstance(operand, FunctionCall) else ()


def _set_value(reader: ExpressionReader) -> Operand:
    """One operand, or two with + or - between them. Either operand and the whole may be in parentheses."""
    open_parentheses = reader.skip_opening_parentheses()
    value = reader.operand()
    while open_parentheses and reader.accept(")"):
        open_parentheses -= 1
    if reader.token.kind == "sign" and reader.token.text in ("+", "-"):
        value = Arithmetic(reader.advance().text, value, reader.operand())
    for _ in range(open_parentheses):
        reader.expect(")")
    return value


@lru_cache(maxsize=2048)
def parse_projection(text: str, parameter: str = "ProjectionExpression") -> ProjectionExpression:
    """Parse a ProjectionExpression: document paths separated by commas. Placeholders stay in the tree.

    >>> [str(path) for path in parse_projection("a, b.c[1]").paths]
    ['[a]', '[b, c, [1]]']
    """
    reader = ExpressionReader(text, parameter)
    paths = [reader.path()]
    while reader.accept(","):
        paths.append(reader.path())
    if reader.token.kind != "end":
        reader.fail()
    reader.finish("nesting")
    return ProjectionExpression(tuple(paths))
