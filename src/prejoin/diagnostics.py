"""Coded diagnostics for the author of an input: what is wrong, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from importlib import resources

import msgspec


class Severity(StrEnum):
    """How severe a diagnostic is: an error stops the pipeline, a warning and a hint do not."""

    ERROR = "error"
    """The input cannot be used until this is fixed."""
    WARNING = "warning"
    """The input can be used, but a part of it was ignored or is probably a mistake."""
    HINT = "hint"
    """Something people often forget, or a way to be more exact."""


class Span(msgspec.Struct, frozen=True):
    """A place in a text: line and column from 1, in characters."""

    line: int
    column: int
    text: str = ""
    """The text at this place."""


class Code(msgspec.Struct, frozen=True):
    """A kind of diagnostic. Its id is stable for scripts, and `prejoin explain` prints its explanation."""

    id: str
    severity: Severity
    title: str
    explanation: str

    def at(self, span: Span | None, message: str, fix: str, replacement: str = "", about: str = "") -> Diagnostic:
        line, column, text = (span.line, span.column, span.text) if span else (0, 0, "")
        return Diagnostic(self.id, self.severity, message, fix, line, column, text, replacement if text else "", about)

    @property
    def as_error(self) -> Code:
        """The same code for a case in which a warning or a hint is not enough."""
        return msgspec.structs.replace(self, severity=Severity.ERROR)


class Diagnostic(msgspec.Struct, frozen=True, order=True):
    """One diagnostic about one place. Line 0 means the input as a whole."""

    code: str
    severity: Severity
    message: str
    fix: str
    line: int = 0
    column: int = 0
    text: str = ""
    replacement: str = ""
    """The replacement for `text`, if that is the whole fix; empty if a person has to decide."""
    about: str = ""
    """The entity, index or access pattern of the diagnostic; empty if it is about none of them."""


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The diagnostics sorted by place, without duplicates."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=lambda d: (d.line, d.column, d.code, d.message)))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(d.severity is Severity.ERROR for d in diagnostics)


def read_catalogue(package: str) -> Mapping[str, Code]:
    """The codes in `codes.md` of a package: `## PJ100 · error · title`, then the explanation."""
    text = resources.files(package).joinpath("codes.md").read_text(encoding="utf-8")
    codes = {}
    for entry in text.split("\n## ")[1:]:
        heading, _, explanation = entry.partition("\n")
        id_, severity, title = heading.split(" · ", 2)
        assert id_ not in codes, f"{id_} is in codes.md twice"
        codes[id_] = Code(id_, Severity(severity), title, explanation.strip())
    return codes
