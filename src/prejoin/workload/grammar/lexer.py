"""Splits cells into tokens: the words, literals and signs of the document's grammar.

Parsers take tokens from a `CellTokens`. Text that does not match raises `Inexact`, with the place, the mistake and the
fix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum, auto
from typing import NamedTuple


class Inexact(Exception):  # noqa: N818 - what it says, not that it fails
    """A text that cannot be read without guessing."""

    def __init__(self, message: str, fix: str, offset: int = 0, text: str = "", replacement: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.offset = offset
        self.text = text
        self.replacement = replacement
        """The replacement for `text`, if that is the whole fix."""


class TokenKind(StrEnum):
    WORD = auto()
    NAME = auto()
    """A name in backticks, with any characters."""
    STRING = auto()
    NUMBER = auto()
    SIGN = auto()
    END = auto()


class Token(NamedTuple):
    kind: TokenKind
    text: str
    """The text without quotes."""
    offset: int
    raw: str

    @property
    def named(self) -> bool:
        return self.kind is TokenKind.WORD or self.kind is TokenKind.NAME


_BREAK = r"<br\s*/?>"
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<name>``[^`]+``|`[^`]+`)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<sign>{_BREAK}|\+=|-=|<=|>=|<>|!=|->|→|≤|≥|\[\]|[-=<>,;()?.:+|~%/–—−\[\]])
    | (?P<number>\d[\d_]*(?:\.\d+)?(?![\w]))
    | (?P<word>[\w$@*&\#{{}}]+)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGNS = {"→": "->", "≤": "<=", "≥": ">=", "!=": "<>", "–": "-", "—": "-", "−": "-"}
WORD = re.compile(r"[^\W\d]\w*\Z")
"""Names that need no backticks."""
_STATEMENT = re.compile(
    r"""^(?:create|put|update|upsert|delete|expire)\s+[^\W\d]
      | (?:^|[\s(]) [^\W\d][\w.]* (?:\[\])? \?? \s* (?:[=<>,;]|[+-]=)
      | ^[^\W\d][\w.]* (?:\[\]|\?|\s+(?:exists|between|in|desc|asc)) $
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Code in Markdown: a verb with its entity, a word with an operator behind it. ``$id <b>`` and ``]]>`` are names."""


class CellTokens:
    """The tokens of one cell, read left to right.

    Backticks mark a name, or a statement such as `` `status = FREE` `` unless `code` is false (where an attribute
    is defined). A name that looks like a statement is in double backticks.
    """

    def __init__(self, text: str, *, code: bool = True) -> None:
        self.text = text
        self._tokens = _split(text, code)
        self._at = 0

    @property
    def next(self) -> Token:
        return self._tokens[self._at]

    def peek(self, ahead: int = 1) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        token = self.next
        if token.kind is not TokenKind.END:
            self._at += 1
        return token

    @property
    def done(self) -> bool:
        return self.next.kind is TokenKind.END

    def sign(self, *signs: str) -> bool:
        """Take the next token if it is one of these signs."""
        if self.next.kind is TokenKind.SIGN and self.next.text in signs:
            self._at += 1
            return True
        return False

    def word(self, *words: str) -> str | None:
        """Take the next token if it is one of these words, in any case."""
        if self.next.kind is TokenKind.WORD and (word := self.next.text.lower()) in words:
            self._at += 1
            return word
        return None

    def words(self, phrase: str) -> bool:
        """Take the next tokens if they are these words in a row."""
        parts = phrase.split()
        ahead = [self.peek(i) for i in range(len(parts))]
        if all(t.kind is TokenKind.WORD and t.text.lower() == p for t, p in zip(ahead, parts, strict=True)):
            self._at += len(parts)
            return True
        return False

    def name(self, what: str) -> str:
        """Take a name, possibly qualified: `userId`, `Order.userId`, `` `first name` ``."""
        token = self.take()
        if not token.named:
            raise self.inexact(f"expected {what}", f"write {what}, in backticks if it has unusual characters", token)
        text = token.text
        while self.next.text == "." and self.next.kind is TokenKind.SIGN and self.peek().named:
            self._at += 1
            text = f"{text}.{self.take().text}"
        return text

    def names(self, what: str) -> str:
        """Take a name, or the names that several entities have: `Order.placedAt / Payment.paidAt`."""
        text = self.name(what)
        while self.sign("/"):
            text = f"{text} / {self.name(what)}"
        return text

    def rest(self) -> str:
        """Take the remaining text as written."""
        start = self.next.offset
        self._at = len(self._tokens) - 1
        return self.text[start:].strip()

    def separators(self) -> bool:
        """Take all separators between two list entries."""
        has_separator = False
        while self.next.kind is TokenKind.SIGN and (self.next.text in {",", ";"} or self.next.text.startswith("<br")):
            self._at += 1
            has_separator = True
        return has_separator

    def expect_end(self, fix: str) -> None:
        if not self.done:
            raise self.inexact(f"`{self.next.raw}` is not understood here", fix)

    def inexact(self, message: str, fix: str, token: Token | None = None, replacement: str = "") -> Inexact:
        token = token or self.next
        return Inexact(message, fix, token.offset, token.raw, replacement)


def _split(text: str, code: bool) -> list[Token]:
    tokens = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            start = at + len(text[at:]) - len(text[at:].lstrip())
            raise Inexact(
                f"`{text[start]}` is not understood here",
                "quote text that is meant literally",
                start,
                text[start],
            )
        kind = TokenKind[(match.lastgroup or "").upper()]
        if kind is TokenKind.NAME and code and _is_statement(match["name"]):
            # Spaces keep the places of its parts.
            first, last = match.span("name")
            text = f"{text[:first]} {text[first + 1 : last - 1]} {text[last:]}"
            end = len(text.rstrip())
            continue
        raw = match[match.lastgroup or ""]
        tokens.append(Token(kind, _content(kind, raw), match.start(match.lastgroup or ""), raw))
        at = match.end()
    tokens.append(Token(TokenKind.END, "", end, ""))
    return tokens


def _is_statement(name: str) -> bool:
    return not name.startswith("``") and _STATEMENT.search(name.strip("`")) is not None


def _content(kind: TokenKind, raw: str) -> str:
    if kind is TokenKind.NAME:
        return raw.strip("`")
    if kind is TokenKind.STRING:
        return re.sub(r"\\(.)", r"\1", raw[1:-1], flags=re.DOTALL)
    if kind is TokenKind.SIGN:
        return _SIGNS.get(raw, raw.lower())
    return raw


def quote(text: str) -> str:
    """A constant in quotes.

    >>> quote('say "hi"')
    '"say \\\\"hi\\\\""'
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_name(name: str) -> str:
    """A name as written: bare if it is a plain word, otherwise in backticks, part by part.

    >>> write_name("Order.placedAt"), write_name("first name"), write_name("paid = yes")
    ('Order.placedAt', '`first name`', '``paid = yes``')
    """
    names = [alternative.split(".") for alternative in name.split(" / ")]
    return " / ".join(".".join(map(_write_part, parts)) for parts in names)


def _write_part(part: str) -> str:
    if WORD.match(part):
        return part
    return f"``{part}``" if _is_statement(part) else f"`{part}`"


# --- Lists of names -------------------------------------------------------------------------------------------------


def read_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, plus signs or `and`.

    >>> read_names("Order, Item and `first name`")
    ('Order', 'Item', 'first name')
    """
    tokens = CellTokens(text)
    names = []
    while not tokens.done:
        names.append(tokens.name("a name"))
        if not tokens.separators() and not tokens.sign("+", "/") and not tokens.word("and"):
            tokens.expect_end("separate names by commas")
    return tuple(names)


def write_names(names: Iterable[str]) -> str:
    return ", ".join(map(write_name, names))


def read_name_groups(text: str) -> tuple[tuple[str, ...], ...]:
    """Attributes that are unique together: `tenantId + slug, tenantId + number`."""
    tokens = CellTokens(text)
    groups = []
    while not tokens.done:
        group = [tokens.name("an attribute")]
        while tokens.sign("+"):
            group.append(tokens.name("an attribute"))
        groups.append(tuple(group))
        if not tokens.separators():
            tokens.expect_end("write `tenantId + slug` for attributes that are unique together")
    return tuple(groups)


def write_name_groups(groups: Iterable[Iterable[str]]) -> str:
    return ", ".join(" + ".join(map(write_name, group)) for group in groups)


def read_former_name(text: str) -> str:
    """The name that an entity had in the design before."""
    tokens = CellTokens(text)
    name = tokens.name("the name that the entity had before")
    tokens.expect_end("write one name: the one that the entity had in the design before this one")
    return name
