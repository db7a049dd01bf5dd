"""Tokens of an expression, and the syntax error that names one of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, invalid

_TOKEN = re.compile(
    r"[ \t\r\n]+|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<hash>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<number>0|[1-9][0-9]*)|(?P<sign><>|<=|>=|.)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """`kind` is name, hash, value, number, sign or end."""

    kind: str
    text: str
    start: int

    def word(self) -> str:
        """The upper case of a name, to compare with a keyword; nothing for any other token."""
        return self.text.upper() if self.kind == "name" else ""


END = "<EOF>"


def tokenise(text: str, parameter: str) -> tuple[Token, ...]:
    """The tokens of an expression, the last of them the end.

    >>> [token.text for token in tokenise("a.b[0] >= :v", "ConditionExpression")]
    ['a', '.', 'b', '[', '0', ']', '>=', ':v', '<EOF>']
    """
    if not text:
        raise invalid(f"Invalid {parameter}: The expression can not be empty;")
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    if size > limits.EXPRESSION_SIZE:
        shown = "" if parameter == "UpdateExpression" else f" expression size: {size}"
        raise invalid(f"Invalid {parameter}: Expression size has exceeded the maximum allowed size;{shown}")
    found = [
        Token(match.lastgroup, match.group(), match.start())
        for match in _TOKEN.finditer(text)
        if match.lastgroup is not None
    ]
    found.append(Token("end", END, len(text)))
    return tuple(found)


def syntax_error(text: str, tokens: tuple[Token, ...], index: int, parameter: str) -> DynamoDBError:
    """The error for an unexpected token; `near` runs from the token before it to the token after it."""
    first = tokens[max(index - 1, 0)]
    last = tokens[min(index + 1, len(tokens) - 1)]
    near = text[first.start : last.start + (0 if last.kind == "end" else len(last.text))]
    return invalid(f'Invalid {parameter}: Syntax error; token: "{tokens[index].text}", near: "{near}"')
