"""`prejoin check`: errors, omissions and common oversights in documents and designs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.documents import file_or_default, load
from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.text.messages import file_name, with_code_style
from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline.check import check_document
from prejoin.pipeline.document import DOCUMENT, FORMS, is_design
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import contents, counts, figures, tally
from prejoin.workload.files import Form


@dataclass(frozen=True, slots=True)
class _CheckedFile:
    """A document or a design that was checked."""

    source: Source
    contents: str
    """A phrase about its contents; empty if it could not be read."""
    figures: dict[str, Any]
    document: str
    """The document, or that of the design."""
    is_design: bool = False
    may_grow: bool = False
    """Whether it is a design in use that lacks something: a build keeps its keys, and adds to them."""


@command("check")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--for", "patterns", type=click.Path(), help="The access patterns of a design, if it names others.")
@click.option("--as", "form", type=click.Choice(FORMS), help="The form of the files (default for `-`: md).")
@click.option("--hints/--no-hints", default=True, help="Whether to show what people often forget.")
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
def check(files: tuple[str, ...], patterns: str | None, form: Form | None, hints: bool, strict: bool) -> Outcome:
    """Check a document or a design for errors, omissions and common oversights.

    Without a FILE it is access-patterns.md; `-` is standard input. A table-design.md is checked against its access
    patterns. The exit status is 1 if there are errors.
    """
    severities = frozenset(Severity) if hints else frozenset(Severity) - {Severity.HINT}
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    checked_files = [_check(file, form, patterns) for file in files or (file_or_default(None),)]
    sources = tuple(checked_file.source.only(*severities) for checked_file in checked_files)
    diagnostics = [diagnostic for source in sources for diagnostic in source.diagnostics]
    has_failed = any(diagnostic.severity in failing for diagnostic in diagnostics)
    steps = [] if has_failed else list(_next(checked_files))
    summaries = [_summary(checked_file, source) for checked_file, source in zip(checked_files, sources, strict=True)]
    return Outcome(
        status=ExitStatus.FAILED if has_failed else ExitStatus.FINE,
        result={"files": [checked_file.figures for checked_file in checked_files], "next": [step for step, _ in steps]},
        page=[*([()] if diagnostics else []), *summaries],
        sources=sources,
        notes=(*_growth_notes(checked_files), *(f"next: `{step}` {effect}" for step, effect in steps)),
        about=True,
    )


def _check(file: str, form: Form | None, patterns: str | None) -> _CheckedFile:
    if patterns or (form is None and is_design(file)):
        return _check_design(file, patterns)
    document = load(file, form)
    diagnostics = check_document(document)
    return _CheckedFile(
        Source(file, document.text, diagnostics),
        "" if document.unusable else contents(document.workload),
        {"file": file, **figures(document.workload), **counts(diagnostics)},
        file,
    )


def _check_design(file: str, patterns: str | None) -> _CheckedFile:
    from prejoin.pipeline.design.design_file import read_design  # documents are checked without loading the designer

    design_file = read_design(file, patterns)
    design, annotations = design_file.design, design_file.reading.kept
    figures = {
        "file": file,
        "for": design_file.document.file,
        "table": design.table,
        "status": annotations.status.value if annotations.status else None,
        "indexes": len(design.indexes),
        "copies": len(design.copies),
        **counts(design_file.diagnostics),
    }
    return _CheckedFile(
        design_file.source(),
        "" if design_file.unusable else design_file.contents,
        figures,
        design_file.document.file,
        True,
        design_file.is_in_use and not design_file.fails and has_errors(design_file.diagnostics),
    )


def _growth_notes(checked_files: Sequence[_CheckedFile]) -> Iterator[str]:
    for checked_file in checked_files:
        if checked_file.may_grow:
            name = file_name(checked_file.source.file)
            effect = "keeps its keys, and adds indexes and items that are missing"
            yield f"{name} is in use: `{invocation()} build` {effect}"


def _next(checked_files: Sequence[_CheckedFile]) -> Iterator[tuple[str, str]]:
    """The command that comes after a document, or after its design, and what it does."""
    documents_with_design = {checked_file.document for checked_file in checked_files if checked_file.is_design}
    for checked_file in checked_files:
        argument = "" if checked_file.document == DOCUMENT else f" {shlex.quote(checked_file.document)}"
        if checked_file.is_design:
            yield f"{invocation()} build{argument}", "generates everything from it"
        elif checked_file.document != "-" and checked_file.document not in documents_with_design:
            yield f"{invocation()} design{argument}", "designs its table"


def _summary(checked_file: _CheckedFile, source: Source) -> Line:
    name, diagnostics, phrase = file_name(source.file), source.diagnostics, checked_file.contents
    if not phrase:
        return ((name, "bold"), ": nothing could be read")
    if not diagnostics:
        return ((name, "bold"), ": ", ("fine", "bold green"), f". {phrase[:1].upper()}{phrase[1:]}.")
    first = min(diagnostics, key=lambda diagnostic: list(Severity).index(diagnostic.severity))
    advice = f"; `prejoin explain {first.code}` explains more"
    return (tally(diagnostics), " in ", (name, "bold"), f" ({phrase})", *with_code_style(advice))
