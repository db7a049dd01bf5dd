"""Parses Markdown into sections of blocks with their places in the source, without knowing their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from prejoin.diagnostics import Span

_BREAK = re.compile(r"(?:(?<!\s)\s++)?<br\s*+/?>\s*+", re.IGNORECASE)

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
MOST_COLUMNS = 100
MOST_LINE = 20_000
"""The most characters in a line. The grammar of cells is not made for longer ones."""


class DocumentTooLargeError(ValueError):
    """A line or a table is too large."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.where = Text("", line, 1)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text and its place."""

    text: str
    line: int
    column: int
    raw: str | None = None
    """The text in the source, if escapes make it longer."""

    def __bool__(self) -> bool:
        return bool(self.text)

    def span(self, offset: int = 0, text: str | None = None) -> Span:
        before = self.text[:offset]
        line = self.line + before.count("\n")
        column = self.column + offset if line == self.line else len(before) - before.rfind("\n")
        if self.raw is not None:
            column = self.column + _raw_offset(self.raw, offset)
        return Span(line, column, self.text if text is None else text)

    def slice(self, start: int, end: int | None = None) -> Text:
        """The text from `start` to `end`, without space around it."""
        selection = self.text[start:end]
        span = self.span(start + len(selection) - len(selection.lstrip()))
        return Text(selection.strip(), span.line, span.column)

    def lines(self) -> str:
        """The text with `<br>` as line breaks."""
        return _BREAK.sub("\n", self.text)


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item: its text, its nested items, and other content as raw text."""

    text: Text
    items: tuple[ListItem, ...] = ()
    rest: str = ""

    def as_line(self) -> str:
        """The item in one line of a list."""
        return "- " + self.flat().replace("\n", "<br>")

    def flat(self) -> str:
        """All of its text, one line each."""
        return "\n".join(part for part in (self.text.lines(), *(i.flat() for i in self.items), self.rest) if part)


@dataclass(frozen=True, slots=True)
class MarkdownBlock:
    kind: str
    """`paragraph`, `list`, `table`, `quote` or `other`."""
    raw: str
    line: int
    items: tuple[ListItem, ...] = ()
    header: tuple[Text, ...] = ()
    rows: tuple[tuple[Text, ...], ...] = ()

    @property
    def text(self) -> Text:
        return Text(self.raw, self.line, 1)

    @property
    def first_line(self) -> Text:
        return Text(self.raw.split("\n")[0], self.line, 1)

    @property
    def height(self) -> int:
        """The number of its lines."""
        return self.raw.count("\n") + 1


@dataclass(frozen=True, slots=True)
class MarkdownSection:
    """A heading and its content up to the next heading; level 0 is the content before the first."""

    level: int
    title: Text
    blocks: tuple[MarkdownBlock, ...]
    first: int
    """The first line after the heading."""
    last: int
    raw: str = field(repr=False, default="")

    @property
    def whole(self) -> str:
        """Its heading and its content."""
        return f"{'#' * self.level} {self.title.text}\n\n{self.raw}"


@lru_cache(maxsize=8)  # a build reads the document and the design several times
def parse(source: str) -> tuple[MarkdownSection, ...]:
    """The sections of a document in order, not nested. Raises DocumentTooLargeError."""
    lines = source.split("\n")
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_LINE:
            raise DocumentTooLargeError(f"line {number} has more than {MOST_LINE:,} characters", number)
        # The parser takes cubic time in the number of columns, so it must not see large tables.
        if line.count("|") > MOST_COLUMNS and line.count("|") - line.count("\\|") > MOST_COLUMNS + 1:
            raise DocumentTooLargeError(f"the table in line {number} has more than {MOST_COLUMNS} columns", number)
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(source)
    headings = [(i, t) for i, t in enumerate(tokens) if t.type == "heading_open" and t.level == 0 and t.map]
    starts = [(0, 0, Text("", 1, 1), 0), *(_heading(tokens, i, t, lines) for i, t in headings)]
    sections = []
    for at, (index, level, title, first) in enumerate(starts):
        last_token, last_line = len(tokens), len(lines)
        if at + 1 < len(starts):
            last_token = headings[at][0]
            last_line = (headings[at][1].map or [0])[0]
        blocks = tuple(_blocks(tokens[index:last_token], lines))
        raw = "\n".join(lines[first:last_line]).strip("\n")
        sections.append(MarkdownSection(level, title, blocks, first + 1, last_line, raw.rstrip()))
    return tuple(sections)


def _heading(tokens: Sequence[Token], index: int, token: Token, lines: Sequence[str]) -> tuple[int, int, Text, int]:
    start, end = token.map or [0, 1]
    content = _COMMENT.sub("", tokens[index + 1].content).strip()
    if len(content) > MOST_LINE:
        raise DocumentTooLargeError(
            f"the heading in line {start + 1} has more than {MOST_LINE:,} characters", start + 1
        )
    column = max(lines[start].find(content.split("\n")[0]), 0) + 1
    return index + 3, int(token.tag[1:]), Text(content, start + 1, column), end


def _blocks(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[MarkdownBlock]:
    kinds = {"paragraph_open": "paragraph", "bullet_list_open": "list", "ordered_list_open": "list"}
    kinds |= {"table_open": "table", "blockquote_open": "quote"}
    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = _close(tokens, at)
        if token.map:
            start, stop = token.map
            raw = "\n".join(lines[start:stop]).rstrip()
            kind = kinds.get(token.type, "other")
            if kind == "list":
                yield MarkdownBlock(kind, raw, start + 1, items=tuple(_items(tokens[at + 1 : end], lines)))
            elif kind == "table":
                yield _table(token, raw, lines)
            else:
                yield MarkdownBlock(kind, raw, start + 1)
        at = end + 1


def _close(tokens: Sequence[Token], at: int) -> int:
    """The index of the token that closes the one at `at`."""
    depth = 0
    while True:
        depth += tokens[at].nesting
        if depth <= 0 or at + 1 == len(tokens):
            return at
        at += 1


def _items(tokens: Sequence[Token], lines: Sequence[str]) -> Iterator[ListItem]:
    at = 0
    while at < len(tokens):
        end = _close(tokens, at)
        yield _item(tokens[at + 1 : end], lines, tokens[at])
        at = end + 1


def _item(tokens: Sequence[Token], lines: Sequence[str], opening: Token) -> ListItem:
    text: Text | None = None
    items: list[ListItem] = []
    other_text: list[str] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        end = _close(tokens, index)
        if token.type == "paragraph_open" and text is None and not items and not other_text and token.map:
            content = " ".join(tokens[index + 1].content.split("\n")).strip()
            if len(content) > MOST_LINE:
                message = f"the list item in line {token.map[0] + 1} has more than {MOST_LINE:,} characters"
                raise DocumentTooLargeError(message, token.map[0] + 1)
            first = tokens[index + 1].content.split("\n")[0].strip()
            text = Text(content, token.map[0] + 1, max(lines[token.map[0]].find(first), 0) + 1)
        elif token.type in {"bullet_list_open", "ordered_list_open"}:
            items.extend(_items(tokens[index + 1 : end], lines))
        elif token.map:
            other_text.append("\n".join(line.strip() for line in lines[token.map[0] : token.map[1]]).strip())
        index = end + 1
    line = (opening.map or [0])[0] + 1
    return ListItem(text or Text("", line, 1), tuple(items), "\n".join(other_text))


def _table(token: Token, raw: str, lines: Sequence[str]) -> MarkdownBlock:
    start, stop = token.map or [0, 0]
    rows = [_cells(lines[number], number + 1) for number in range(start, stop) if number != start + 1]
    return MarkdownBlock("table", raw, start + 1, header=rows[0], rows=tuple(rows[1:]))


def _cells(line: str, number: int) -> tuple[Text, ...]:
    r"""The cells of a row. A pipe in a cell is written `\|`, in code spans, too.

    >>> [c.text for c in _cells(r"| a | b \| c |", 1)]
    ['a', 'b | c']
    """
    content = line.strip()
    start = line.find(content)
    bounds = [m.start() for m in re.finditer(r"(?<!\\)\|", content)]
    edges = [-1, *bounds, len(content)]
    if bounds and bounds[0] == 0:
        edges = edges[1:]
    if bounds and bounds[-1] == len(content) - 1 and len(edges) > 2:
        edges = edges[:-1]
    cells = []
    for left, right in pairwise(edges):
        piece = content[left + 1 : right]
        raw = piece.strip()
        column = start + left + 2 + len(piece) - len(piece.lstrip())
        cells.append(Text(raw.replace("\\|", "|"), number, column, raw if "\\|" in raw else None))
    return tuple(cells)


def _raw_offset(raw: str, offset: int) -> int:
    at = 0
    for _ in range(offset):
        at += 2 if raw.startswith("\\|", at) else 1
    return at


def escape_cell(text: str) -> str:
    """A text escaped for a cell."""
    return text.replace("|", "\\|").replace("\n", "<br>")


def write_row(cells: Iterable[str]) -> str:
    """A row of a table, from escaped cells."""
    return "| " + " | ".join(cells) + " |"


def whole_text(section: MarkdownSection, below: Sequence[MarkdownSection]) -> str:
    """The raw text of a section and its subsections, without its own heading."""
    parts = [section.raw, *(subsection.whole for subsection in below)]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()).rstrip()
