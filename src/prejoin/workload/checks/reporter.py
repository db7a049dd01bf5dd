"""Collects the diagnostics of the checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from prejoin.diagnostics import Code, Diagnostic, Span
from prejoin.workload.model import Pattern, Workload
from prejoin.workload.phrases import name_list as name_list  # checks of designs import it from here
from prejoin.workload.read_result import MOST, Path, Places


@dataclass(slots=True)
class Reporter:
    workload: Workload
    places: Places
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def say(self, code: Code, path: Path, message: str, fix: str, word: str = "", instead: str = "") -> None:
        """Report on a part of the workload; `word` narrows the place within the part's text.

        `instead` is the replacement for the word, if that is the whole fix.
        """
        if self.full or path[:2] in self.places.incomplete:
            return
        span = self.places.find(path)
        if span and word and (match := re.search(rf"(?<!\w){re.escape(word)}(?!\w)", span.text)):
            span = Span(span.line, span.column + match.start(), word)
        is_word_found = span is not None and span.text == word
        self.diagnostics.append(code.at(span, message, fix, instead if is_word_found else ""))

    def patterns(self) -> Iterator[tuple[Path, Pattern]]:
        for kind in ("reads", "writes", "deletes"):
            for index, pattern in enumerate(getattr(self.workload, kind)):
                yield (kind, index), pattern

    @property
    def full(self) -> bool:
        """Whether the limit of diagnostics is reached."""
        return len(self.diagnostics) >= MOST

    @property
    def out_of_scope(self) -> frozenset[str]:
        return self.workload.out_of_scope
