"""Errors of the pipeline. Each carries diagnostics: a code, a message, a place in a file, and a fix."""

from __future__ import annotations

from dataclasses import dataclass

from prejoin.diagnostics import Code, Diagnostic, Severity, Span
from prejoin.errors import PrejoinError


@dataclass(frozen=True, slots=True)
class Source:
    """A file, its text to quote from, and the diagnostics about it."""

    file: str
    text: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def only(self, *severities: Severity) -> Source:
        return Source(self.file, self.text, tuple(d for d in self.diagnostics if d.severity in severities))


class PipelineError(PrejoinError):
    """A step of the pipeline failed: `sources` has the diagnostics, by file.

    >>> from prejoin.pipeline import codes
    >>> str(PipelineError(codes.CANNOT_WRITE, "the disk is full", "delete something", "keys.md"))
    'keys.md: the disk is full (delete something)'
    """

    def __init__(
        self, code: Code, message: str, fix: str, file: str = "", span: Span | None = None, text: str = ""
    ) -> None:
        self._fill((Source(file, text, (code.at(span, message, fix),)),))

    def _fill(self, sources: tuple[Source, ...], note: str = "") -> None:
        self.sources = sources
        self.note = note
        """A sentence about the step that was not done."""
        Exception.__init__(self, "\n".join(_line(source.file, d) for source in sources for d in source.diagnostics))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return tuple(d for source in self.sources for d in source.diagnostics)


class InputError(PipelineError):
    """A document, a design or prejoin.toml has errors."""

    def __init__(self, *sources: Source, note: str = "") -> None:
        self._fill(sources, note)


class InvalidArgumentError(PipelineError):
    """An argument does not exist or cannot have this value."""


class RefusedError(PipelineError):
    """The step would overwrite or change something that is not prejoin's."""


class ChangedByHandError(RefusedError):
    """The step would overwrite what somebody changed in a generated file."""

    def __init__(self, source: Source) -> None:
        self._fill((source,), "nothing was written")


class GeneratedCodeError(PipelineError):
    """prejoin generated a file that does not compile: a bug in prejoin."""


def _line(file: str, d: Diagnostic) -> str:
    place = f"{file}:{d.line}:{d.column}: " if d.line else f"{file}: " if file else ""
    return f"{place}{d.message}" + (f" ({d.fix})" if d.fix else "")
