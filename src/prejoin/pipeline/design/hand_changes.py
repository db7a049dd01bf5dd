"""What somebody changed by hand in a design document, and what of it would be lost if it were written again.

The document is compared with the text that prejoin wrote last. Everything that differs was written by hand; it is lost
if the new text has it neither in the same place nor elsewhere. A table is compared cell by cell, because one wider
cell moves all the others, and because authors add columns of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from prejoin.design.document import headings
from prejoin.diagnostics import Diagnostic, Span
from prejoin.pipeline import codes
from prejoin.pipeline.summary import quantity
from prejoin.workload.document.markdown import DocumentTooLargeError, MarkdownBlock, MarkdownSection, parse
from prejoin.workload.files import Form
from prejoin.workload.model import Status

MOST_LISTED = 12
"""Changes that are listed; the first says how many there are."""
_MARKERS = re.compile(r"(?:[#>*+-]+\s+)+")
_FENCES = ("```", "~~~")
_MOST_SHOWN = 200
_EMPTY_CELLS = ("", "-")
_STATUSES = frozenset(f"{headings.STATUS}: {status.value}".casefold() for status in Status)
_KEY_SECTIONS = frozenset(
    {headings.CONFIGURATION, headings.INDEXES, headings.KEYS, headings.UNIQUE, headings.COUNTERS, headings.CONTENTS}
)
"""Sections that a design is read from: an approved design keeps what they say."""


_Path: TypeAlias = tuple[str, ...]
"""The titles of headings, without that of the document."""
_Identity: TypeAlias = tuple[_Path, str, str, int]


@dataclass(frozen=True, slots=True)
class HandChange:
    """A line that was changed by hand, and whose change would be lost."""

    section: str
    """The titles of its headings: `Requests / AP-001`."""
    line: int
    """0 if the line was deleted."""
    column: int
    text: str

    @property
    def is_deleted(self) -> bool:
        return self.line == 0


@dataclass(frozen=True, slots=True)
class _Fragment:
    """A line, or a cell of a table, as it is compared."""

    path: _Path
    kind: str
    """`prose` or `code`; of a cell, the name of its row and its column."""
    text: str
    line: int
    column: int
    number: int = 0
    """How many of the same come before it."""

    @property
    def identity(self) -> _Identity:
        return self.path, self.kind, self.text, self.number


def lost_changes(last: str, current: str, new: str, form: Form = "md") -> tuple[HandChange, ...]:
    """The changes by hand of the current text that the new text does not have.

    `last` is the text that prejoin wrote last.

    >>> lost_changes("# Shop\\n\\nGenerated.\\n", "# Shop\\n\\nMine.\\n", "# Shop\\n\\nGenerated again.\\n")
    (HandChange(section='', line=3, column=1, text='Mine.'),)
    """
    if last == current:
        return ()
    row_columns = _row_columns(new) if form == "md" else {}
    last_fragments = _fragments(last, form, row_columns)
    current_fragments = _fragments(current, form, row_columns)
    new_fragments = _fragments(new, form, row_columns)
    by_hand = [fragment for identity, fragment in current_fragments.items() if identity not in last_fragments]
    new_identities = new_fragments.keys() - last_fragments.keys()
    is_moved = _finder_of_moved(new_fragments[identity] for identity in new_identities)
    new_paths = {fragment.path for fragment in new_fragments.values()}
    losses: dict[int, HandChange] = {}
    paths = set()
    for fragment in by_hand:
        # Text of a section that is not written any more moves to the section above.
        may_move = fragment.kind == "prose" or fragment.path not in new_paths
        if fragment.identity in new_fragments:
            continue
        if may_move and is_moved(fragment.text):
            continue
        paths.add(fragment.path)
        line = fragment.line
        losses.setdefault(line, _change(fragment, line))
    # Generated lines that were deleted and would be there again, the first of each section. A line that was edited is
    # missing as it was written, too: it is reported once.
    deleted_changes = []
    for identity, fragment in last_fragments.items():
        if identity in current_fragments or identity not in new_fragments:
            continue
        path = fragment.path
        if path not in paths:
            deleted_changes.append(_change(fragment, line=0))
            paths.add(path)
    return (*losses.values(), *deleted_changes)


def hand_change_diagnostics(
    changes: Sequence[HandChange], replace_command: str, form: Form = "md"
) -> tuple[Diagnostic, ...]:
    """An error for the file, and one for each of the first lines that would be lost."""
    count = quantity(len(changes), "change")
    fix = f"`{replace_command}` replaces what you do not need"
    diagnostics = [codes.BY_HAND.at(None, f"not written: {count} by hand would be lost", fix)]
    for change in changes[:MOST_LISTED]:
        place = f" in {change.section}" if change.section else ""
        if change.is_deleted:
            diagnostics.append(codes.BY_HAND.at(None, f"deleted by hand{place}: `{change.text}`", "put it back"))
        else:
            span = Span(change.line, change.column, change.text)
            diagnostics.append(codes.BY_HAND.at(span, f"changed by hand{place}", _way_on(change, form)))
    return tuple(diagnostics)


def foreign_keys_diagnostics(
    key_changes: Sequence[str], fixed_key_errors: Sequence[Diagnostic], replace_command: str
) -> tuple[Diagnostic, ...]:
    """Errors for a file whose keys prejoin did not write here: one for the file, and one for each of the first keys."""
    if not key_changes and not fixed_key_errors:
        return ()
    message = "not written: its keys or settings were written by hand, or with other options, and would be lost"
    key_errors = [codes.BY_HAND.at(None, change, _KEEP_KEYS) for change in key_changes[:MOST_LISTED]]
    return (codes.BY_HAND.at(None, message, f"`{replace_command}` replaces them"), *key_errors, *fixed_key_errors)


_KEEP_KEYS = "approve the design (`Status: APPROVED`), or make it a decision of the access patterns"


def _way_on(change: HandChange, form: Form) -> str:
    keys = _KEEP_KEYS
    if form != "md":
        return keys
    notes = "move it into a section of your own, such as `## Notes`"
    return notes if _KEY_SECTIONS.isdisjoint(change.section.split(" / ")) else f"{keys}; or {notes}"


def _change(fragment: _Fragment, line: int) -> HandChange:
    section = " / ".join(fragment.path)
    text = fragment.text[:_MOST_SHOWN]
    return HandChange(section, line, fragment.column, text)


def _finder_of_moved(new: Iterable[_Fragment]) -> Callable[[str], bool]:
    """Whether a text is part of one of the new fragments, as a whole word."""
    texts = "\n".join(fragment.text for fragment in new)
    return lambda text: re.search(rf"(?<!\w){re.escape(text)}(?!\w)", texts) is not None


# --- Fragments ------------------------------------------------------------------------------------------------------


def _fragments(text: str, form: Form, row_columns: Mapping[_Path, Set[str]]) -> dict[_Identity, _Fragment]:
    counts: Counter[_Identity] = Counter()
    fragments = {}
    pieces = _markdown_fragments(text, row_columns) if form == "md" else _line_fragments((), "code", text, 1)
    for piece in pieces:
        number = counts[piece.identity]
        counts[piece.identity] += 1
        fragment = replace(piece, number=number)
        fragments[fragment.identity] = fragment
    return fragments


def _markdown_fragments(text: str, row_columns: Mapping[_Path, Set[str]]) -> Iterator[_Fragment]:
    try:
        sections = parse(text)
    except DocumentTooLargeError:
        yield from _line_fragments((), "code", text, 1)
        return
    for path, section in _with_paths(sections):
        if section.level:
            title = section.title
            yield _Fragment(path, "prose", _prose(title.text), title.line, title.column)
        for block in section.blocks:
            if block.kind == "table":
                yield from _cell_fragments(path, block, row_columns.get(path, frozenset()))
            else:
                kind = "code" if block.raw.lstrip().startswith(_FENCES) else "prose"
                yield from _line_fragments(path, kind, block.raw, block.line)


def _with_paths(sections: Iterable[MarkdownSection]) -> Iterator[tuple[_Path, MarkdownSection]]:
    """The sections with the titles of their headings, without that of the document, which may change."""
    path: list[tuple[int, str]] = []
    for section in sections:
        path = [(level, title) for level, title in path if level < section.level]
        if section.level:
            path.append((section.level, section.title.text))
        yield tuple(title for level, title in path if level > 1), section


def _line_fragments(path: _Path, kind: str, raw: str, first: int) -> Iterator[_Fragment]:
    for line, text in enumerate(raw.split("\n"), first):
        line_text = _prose(text)
        if kind == "code":
            line_text = text.rstrip()
        # A status means what it says: a design that changed is a draft again.
        if line_text and line_text.casefold() not in _STATUSES:
            indentation = len(text) - len(text.lstrip())
            yield _Fragment(path, kind, line_text, line, indentation + 1)


def _prose(text: str) -> str:
    """A line without its markers: a heading whose place is gone is kept as a paragraph."""
    words = " ".join(text.split())
    marker = _MARKERS.match(words)
    return words[marker.end() :].rstrip(":") if marker else words.rstrip(":")


def _cell_fragments(path: _Path, table: MarkdownBlock, row_columns: Set[str]) -> Iterator[_Fragment]:
    columns = [" ".join(cell.text.split()) for cell in table.header]
    # Authors may put a column of their own first; prejoin writes it last.
    named_by = next((at for at, column in enumerate(columns) if column in row_columns), 0)
    for cell in table.header:
        text = " ".join(cell.text.split())
        yield _Fragment(path, "column", text, cell.line, cell.column)
    for row in table.rows:
        name = " ".join(row[named_by].text.split()) if len(row) > named_by else ""
        for at, cell in enumerate(row):
            column = columns[at] if at < len(columns) else ""
            text = " ".join(cell.text.split())
            if text not in _EMPTY_CELLS:
                yield _Fragment(path, f"{name}\n{column}", text, cell.line, cell.column)


def _row_columns(text: str) -> dict[_Path, set[str]]:
    """The first column of each table, by section: the names of its rows."""
    columns: dict[_Path, set[str]] = {}
    for path, section in _with_paths(parse(text)):
        for block in section.blocks:
            if block.kind == "table" and block.header:
                columns.setdefault(path, set()).add(" ".join(block.header[0].text.split()))
    return columns
