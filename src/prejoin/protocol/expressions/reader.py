"""Tokens of an expression, and the cursor over them that all parsers share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, invalid
from prejoin.protocol.expressions.nodes import (
    CONDITION_FUNCTIONS,
    UPDATE_FUNCTIONS,
    DocumentPath,
    FunctionCall,
    Operand,
    Placeholder,
    Steps,
)
from prejoin.protocol.expressions.reserved import is_reserved

_TOKEN = re.compile(
    r"[ \t\r\n]+|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<hash>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<number>0|[1-9][0-9]*)|(?P<sign><>|<=|>=|.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ExpressionToken:
    """`kind` is name, hash, value, number, sign or end."""

    kind: str
    text: str
    start: int

    def word(self) -> str:
        """The upper case of a name, to compare with a keyword; empty for any other token."""
        return self.text.upper() if self.kind == "name" else ""


END = "<EOF>"


def tokenise(text: str, parameter: str) -> tuple[ExpressionToken, ...]:
    """The tokens of an expression; the last one is the end.

    >>> [token.text for token in tokenise("a.b[0] >= :v", "ConditionExpression")]
    ['a', '.', 'b', '[', '0', ']', '>=', ':v', '<EOF>']
    """
    if not text:
        raise invalid(f"Invalid {parameter}: The expression can not be empty;")
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.EXPRESSION_SIZE:
        size_text = "" if parameter == "UpdateExpression" else f" expression size: {size}"
        raise invalid(f"Invalid {parameter}: Expression size has exceeded the maximum allowed size;{size_text}")
    tokens = [
        ExpressionToken(match.lastgroup, match.group(), match.start())
        for match in _TOKEN.finditer(text)
        if match.lastgroup is not None
    ]
    tokens.append(ExpressionToken("end", END, len(text)))
    return tuple(tokens)


def syntax_error(text: str, tokens: tuple[ExpressionToken, ...], index: int, parameter: str) -> DynamoDBError:
    """The error for an unexpected token. `near` is the text from the token before it to the token after it."""
    first = tokens[max(index - 1, 0)]
    last = tokens[min(index + 1, len(tokens) - 1)]
    near = text[first.start : last.start + (0 if last.kind == "end" else len(last.text))]
    return invalid(f'Invalid {parameter}: Syntax error; token: "{tokens[index].text}", near: "{near}"')


def _matching_parentheses(tokens: tuple[ExpressionToken, ...]) -> dict[int, int]:
    closings: dict[int, int] = {}
    open_positions: list[int] = []
    for index, token in enumerate(tokens):
        if token.text == "(":
            open_positions.append(index)
        elif token.text == ")" and open_positions:
            closings[open_positions.pop()] = index
    return closings


SECTIONS = frozenset({"SET", "REMOVE", "ADD", "DELETE"})
_KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", *SECTIONS})
"""The words that are no names in any expression. REMOVE is the only one that is not reserved."""
_REDUNDANT = "The expression has redundant parentheses;"
_OPERAND_DEPTH = 32
_LIST_POSITIONS = 2**31


class ExpressionReader:
    """A cursor over the tokens of one expression.

    DynamoDB reports a syntax error first; only redundant parentheses come before a syntax error that follows them. Then
    come names and functions that it does not allow, the first in the text, and then other errors by kind: `complain_at`
    and `complain` keep them, and `finish` raises the most important.
    """

    def __init__(self, text: str, parameter: str, functions: frozenset[str] = frozenset()) -> None:
        self.text = text
        self.parameter = parameter
        self.tokens = tokenise(text, parameter)
        self.index = 0
        self.closings = _matching_parentheses(self.tokens)
        """The position of the closing parenthesis for each opening one that is closed."""
        self.settled: int | None = None
        """The beginning of a condition of which the operator is not yet read. DynamoDB looks ahead for it, and does not
        notice redundant parentheses meanwhile.
        """
        self._functions = functions
        self._calls: dict[int, int] = {}
        """The position of each function call, by the id of its node."""
        self._located: list[tuple[int, str]] = []
        self._complaints: dict[str, str] = {}

    @property
    def token(self) -> ExpressionToken:
        return self.tokens[self.index]

    def peek(self, distance: int = 1) -> ExpressionToken:
        return self.tokens[min(self.index + distance, len(self.tokens) - 1)]

    def advance(self) -> ExpressionToken:
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def accept(self, text: str) -> bool:
        """Skip this sign, if it is next."""
        token = self.tokens[self.index]
        if token.kind == "sign" and token.text == text:
            self.index += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail()

    def accept_word(self, word: str) -> bool:
        """Skip this keyword, if it is next."""
        if self.tokens[self.index].word() == word:
            self.index += 1
            return True
        return False

    def fail(self) -> NoReturn:
        if self._first_redundant() < (self.index if self.settled is None else self.settled):
            raise invalid(f"Invalid {self.parameter}: {_REDUNDANT}")
        raise syntax_error(self.text, self.tokens, self.index, self.parameter)

    def _first_redundant(self) -> int:
        """The position of the first parenthesis that closes a redundant pair; that of the end if there is none."""
        first_position = len(self.tokens)
        for opening, closing in self.closings.items():
            before = self.tokens[opening - 1] if opening else None
            is_call = before is not None and before.kind == "name" and before.word() not in _KEYWORDS - {"IN"}
            if not is_call and self.closings.get(opening + 1) == closing - 1:
                first_position = min(first_position, closing)
        return first_position

    def complain_at(self, index: int, message: str) -> None:
        self._located.append((index, message))

    def complain(self, kind: str, message: str) -> None:
        self._complaints.setdefault(kind, message)

    def finish(self, *order: str) -> None:
        """Raise the most important complaint; `order` is that of the kinds."""
        if self._first_redundant() < len(self.tokens):
            raise invalid(f"Invalid {self.parameter}: {_REDUNDANT}")
        if self._located:
            raise invalid(f"Invalid {self.parameter}: {min(self._located)[1]}")
        for kind in order:
            if kind in self._complaints:
                raise invalid(f"Invalid {self.parameter}: {self._complaints[kind]}")

    def name(self) -> str:
        """One attribute name: plain, or a `#placeholder`."""
        token = self.token
        if token.kind == "hash":
            self.index += 1
            return token.text
        if token.kind != "name" or token.word() in _KEYWORDS:
            self.fail()
        self.index += 1
        if is_reserved(token.text):
            message = f"Attribute name is a reserved keyword; reserved keyword: {token.text}"
            self.complain_at(self.index - 1, message)
        return token.text

    def path(self) -> DocumentPath:
        """A document path, as `a.#b[0]`."""
        steps: list[str | int] = [self.name()]
        while True:
            if self.accept("."):
                steps.append(self.name())
            elif self.accept("["):
                if self.token.kind != "number":
                    self.fail()
                steps.append(self._position(self.advance().text))
                self.expect("]")
            else:
                if len(steps) > limits.NESTING:
                    self.complain(
                        "nesting", f"The document path has too many nesting levels; nesting levels: {len(steps)}"
                    )
                return DocumentPath(tuple(steps))

    def _position(self, text: str) -> int:
        # What does not fit need not be read to its end: int() of a long text would be slow.
        position = int(text[:11])
        if position >= _LIST_POSITIONS:
            self.complain_at(self.index, f"List index is not within the allowable range; index: [{text}]")
        return position

    def operand(self, depth: int = 0) -> Operand:
        """A path, a `:value` or a function call, in parentheses or not."""
        if depth > _OPERAND_DEPTH:
            raise invalid(
                f"Invalid {self.parameter}: The expression is nested too deeply; maximum depth: {_OPERAND_DEPTH}"
            )
        parentheses = self.skip_opening_parentheses()
        operand = self._bare_operand(depth)
        for _ in range(parentheses):
            self.expect(")")
        return operand

    def skip_opening_parentheses(self) -> int:
        """Skip opening parentheses, and return how many there were."""
        start = self.index
        while self.accept("("):
            pass
        return self.index - start

    def _bare_operand(self, depth: int) -> Operand:
        token = self.token
        if token.kind == "value":
            self.index += 1
            return Placeholder(token.text)
        following = self.peek()
        if (
            token.kind == "name"
            and following.kind == "sign"
            and following.text == "("
            and token.word() not in _KEYWORDS
        ):
            return self.call(depth)
        return self.path()

    def call(self, depth: int = 0) -> FunctionCall:
        index = self.index
        function = self.advance().text
        self.expect("(")
        arguments = [self.operand(depth + 1)]
        while self.accept(","):
            arguments.append(self.operand(depth + 1))
        self.expect(")")
        if function not in self._functions:
            self._complain_about_function(index, function)
        call = FunctionCall(function, tuple(arguments))
        self._calls[id(call)] = index
        return call

    def _complain_about_function(self, index: int, function: str) -> None:
        if function in CONDITION_FUNCTIONS | UPDATE_FUNCTIONS:
            expression_name = "an update" if self._functions is UPDATE_FUNCTIONS else "a condition"
            self.complain_at(
                index, f"The function is not allowed in {expression_name} expression; function: {function}"
            )
        else:
            self.complain_at(index, f"Invalid function name; function: {function}")

    def complain_about_misuse(self, call: FunctionCall) -> None:
        message = f"The function is not allowed to be used this way in an expression; function: {call.function}"
        self.complain_at(self._calls[id(call)], message)

    def count_operators(self, count: int) -> None:
        limit = limits.EXPRESSION_OPERATORS
        if count > limit:  # DynamoDB stops counting at the first that is too many
            self.complain("operators", f"The expression contains too many operators; operator count: {limit + 1}")


def path_clash(paths: list[DocumentPath]) -> str | None:
    """The message about the first two paths that overlap or conflict."""
    if len({path.steps[0] for path in paths}) == len(paths):
        return None
    path_of_steps: dict[Steps, DocumentPath] = {}
    # A conflict uses an attribute as a map and as a list: `a.b` and `a[0]`. An overlap that follows is reported first.
    conflict: str | None = None
    heads: dict[Steps, tuple[type, DocumentPath]] = {}
    """For each beginning of a path, the type of its next step, and the first path that begins with it."""
    for path in paths:
        clash = path_of_steps.get(path.steps) or _path_above(path, path_of_steps)
        if clash is None and path.steps in heads:
            _, clash = heads[path.steps]
        if clash is not None:
            return (
                "Two document paths overlap with each other; must remove or rewrite one of these paths; "
                f"path one: {clash}, path two: {path}"
            )
        for length in range(1, len(path.steps)):
            step_type = type(path.steps[length])
            type_and_path = heads.setdefault(path.steps[:length], (step_type, path))
            if type_and_path[0] is not step_type and conflict is None:
                conflict = (
                    "Two document paths conflict with each other; must remove or rewrite one of these paths; "
                    f"path one: {type_and_path[1]}, path two: {path}"
                )
        path_of_steps[path.steps] = path
    return conflict


def _path_above(path: DocumentPath, path_of_steps: dict[Steps, DocumentPath]) -> DocumentPath | None:
    """The path of which this one is a part, the shortest first."""
    for length in range(1, len(path.steps)):
        above = path_of_steps.get(path.steps[:length])
        if above is not None:
            return above
    return None
