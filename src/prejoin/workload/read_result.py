"""The result of reading a workload: diagnostics, and the place of each part in the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from prejoin.diagnostics import Code, Diagnostic, Span
from prejoin.workload.document.markdown import Text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.model import Workload

Path = tuple[str | int, ...]
"""The path to a part of the workload: `("reads", 0, "inputs")`."""

T = TypeVar("T")
MOST = 500
"""The most diagnostics that are reported."""


@dataclass(frozen=True, slots=True)
class WorkloadReading:
    workload: Workload
    diagnostics: tuple[Diagnostic, ...]
    places: Places


@dataclass(slots=True)
class Places:
    """The places of a workload's parts in its source."""

    spans: dict[Path, Span] = field(default_factory=dict)
    incomplete: set[Path] = field(default_factory=set)
    """Patterns with a cell that could not be read. What the checks would miss there may stand in that cell."""

    def mark(self, path: Path, text: Text) -> None:
        self.spans[path] = text.span()

    def find(self, path: Path) -> Span | None:
        """The place of a part, or of the nearest part around it that has one."""
        for length in range(len(path), 0, -1):
            if span := self.spans.get(path[:length]):
                return span
        return None


@dataclass(slots=True)
class Notes:
    """Diagnostics and places, collected while reading."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    places: Places = field(default_factory=Places)
    read_lines: set[int] = field(default_factory=set)
    """The lines whose content was read, or refused with a diagnostic."""

    def mark_read(self, first: int, count: int = 1) -> None:
        self.read_lines.update(range(first, first + count))

    def say(self, code: Code, text: Text | None, message: str, fix: str, replacement: str = "") -> None:
        self._add(code.at(None if text is None else text.span(), message, fix, replacement))

    def attempt(self, code: Code, text: Text, read: Callable[[str], T]) -> T | None:
        """The result of `read` for a text; None with a diagnostic if it raises Inexact."""
        self.mark_read(text.line)
        try:
            return read(text.text)
        except Inexact as problem:
            span = text.span(problem.offset, problem.text or text.text)
            self._add(code.at(span, problem.message, problem.fix, problem.replacement))
            return None

    def _add(self, diagnostic: Diagnostic) -> None:
        if len(self.diagnostics) < MOST:
            self.diagnostics.append(diagnostic)
