"""The outcome of a command: a status, messages, a result for tools and a page for people. `output` prints it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import msgspec

from prejoin._version import __version__
from prejoin.cli.invocation import runnable
from prejoin.diagnostics import Severity
from prejoin.pipeline.errors import (
    GeneratedCodeError,
    InvalidArgumentError,
    PipelineError,
    RefusedError,
    Source,
)

Piece = str | tuple[str, str]
"""Text, or text and its style."""
Line = Sequence[Piece]
Page = str | Sequence[Line]


class ExitStatus(IntEnum):
    """Exit statuses, the same for every command. docs/reference/command.md documents them."""

    FINE = 0
    FAILED = 1
    """The input has errors, a check or a proof failed, or a file could not be read or written."""
    MISUSED = 2
    """The arguments of the command are wrong."""
    NOT_INSTALLED = 3
    REFUSED = 4
    """The command would have overwritten or destroyed something."""
    FAULT = 70
    """A bug in prejoin."""
    INTERRUPTED = 130


_STATUSES: dict[type[PipelineError], ExitStatus] = {
    InvalidArgumentError: ExitStatus.MISUSED,
    RefusedError: ExitStatus.REFUSED,
    GeneratedCodeError: ExitStatus.FAULT,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    status: ExitStatus = ExitStatus.FINE
    result: Any = None
    """The `result` of `--format json`."""
    page: Page = ""
    """Standard output otherwise. A str is data, and written as it is."""
    sources: tuple[Source, ...] = ()
    """Diagnostics, for standard error."""
    notes: tuple[str, ...] = ()
    """Sentences for standard error."""
    about: bool = False
    """Whether the diagnostics are what the command is for, so that they go to standard output."""


def outcome_of(problem: PipelineError, result: Any = None) -> Outcome:
    """The outcome of a command that an error of the pipeline ended."""
    status = next((status for kind, status in _STATUSES.items() if isinstance(problem, kind)), ExitStatus.FAILED)
    return Outcome(status, result, sources=problem.sources, notes=(problem.note,) if problem.note else ())


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
    """A text that replaces `text`, if that is the whole fix; empty otherwise."""


class Envelope(msgspec.Struct, frozen=True):
    """The output of every command with `--format json`."""

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
    return Envelope(
        __version__, command, outcome.status is ExitStatus.FINE, int(outcome.status), messages, outcome.result
    )
