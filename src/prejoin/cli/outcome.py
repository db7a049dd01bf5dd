"""What a command gives back: status, messages, a result for tools, a page for people. Showing it lives elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from prejoin._version import __version__
from prejoin.cli.design_answers import DesignAnswers
from prejoin.cli.invocation import runnable
from prejoin.cli.status import Status
from prejoin.diagnostics import Code, Diagnostic, Severity, Span

Piece = str | tuple[str, str]
"""Text, or text and its style."""
Line = Sequence[Piece]
Page = str | Sequence[Line]


@dataclass(frozen=True, slots=True)
class Source:
    """A file, as it was named, and what is to be said about it."""

    file: str
    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    status: Status = Status.FINE
    result: Any = None
    """What `--format json` gives under that name."""
    page: Page = ""
    """What stands on standard output otherwise. A str is data, and written as it is."""
    sources: tuple[Source, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences for standard error."""
    about: bool = False
    """The messages are what was asked for, so they go to standard output."""


class CommandError(Exception):
    """What keeps a command from doing what it was asked to."""

    def __init__(
        self,
        code: Code,
        message: str,
        fix: str,
        status: Status,
        file: str = "",
        span: Span | None = None,
        text: str = "",
    ) -> None:
        super().__init__(message)
        self.source = Source(file, text, (code.at(span, message, fix),))
        self.status = status
        self.result: Any = None


class Message(msgspec.Struct, frozen=True):
    """A diagnostic, and the file it is about."""

    code: str
    severity: Severity
    message: str
    fix: str
    file: str
    line: int
    column: int
    text: str
    replacement: str
    """What to write instead of `text`, where the fix is just that; empty otherwise."""


class Envelope(msgspec.Struct, frozen=True):
    """What every command prints with `--format json`."""

    prejoin: str
    """The version."""
    command: str
    ok: bool
    exit: int
    diagnostics: tuple[Message, ...]
    result: dict[str, Any] | None


def envelope(command: str, outcome: Outcome) -> Envelope:
    messages = tuple(
        Message(
            d.code,
            d.severity,
            runnable(d.message),
            runnable(d.fix),
            source.file,
            d.line,
            d.column,
            d.text,
            d.replacement,
        )
        for source in outcome.sources
        for d in source.diagnostics
    )
    return Envelope(__version__, command, outcome.status is Status.FINE, int(outcome.status), messages, outcome.result)


def envelope_schema() -> dict[str, Any]:
    """The JSON Schema of the envelope. `$defs` has the answers of `design --why` and the like, too."""
    (found, _), parts = msgspec.json.schema_components([Envelope, DesignAnswers], ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:prejoin:envelope:1",
        "title": "prejoin envelope",
        **found,
        "$defs": parts,
    }
