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
from prejoin.cli.text.messages import coded, file_name
from prejoin.diagnostics import Severity
from prejoin.pipeline.check import check_document
from prejoin.pipeline.document import DOCUMENT, FORMS, is_design
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import contents, counts, figures, tally
from prejoin.workload.files import Form


@dataclass(frozen=True, slots=True)
class _Checked:
    """A document or a design that was checked."""

    source: Source
    contents: str
    """A phrase about its contents; empty if it could not be read."""
    figures: dict[str, Any]
    document: str
    """The document, or that of the design."""
    is_design: bool = False


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
    found = [_check(file, form, patterns) for file in files or (file_or_default(None),)]
    sources = tuple(one.source.only(*severities) for one in found)
    diagnostics = [d for source in sources for d in source.diagnostics]
    failed = any(d.severity in failing for d in diagnostics)
    steps = [] if failed else list(_next(found))
    summaries = [_summary(one, source) for one, source in zip(found, sources, strict=True)]
    return Outcome(
        status=ExitStatus.FAILED if failed else ExitStatus.FINE,
        result={"files": [one.figures for one in found], "next": [do for do, _ in steps]},
        page=[*([()] if diagnostics else []), *summaries],
        sources=sources,
        notes=tuple(f"next: `{do}` {what}" for do, what in steps),
        about=True,
    )


def _check(file: str, form: Form | None, patterns: str | None) -> _Checked:
    if patterns or (form is None and is_design(file)):
        return _check_design(file, patterns)
    document = load(file, form)
    diagnostics = check_document(document)
    return _Checked(
        Source(file, document.text, diagnostics),
        "" if document.unusable else contents(document.workload),
        {"file": file, **figures(document.workload), **counts(diagnostics)},
        file,
    )


def _check_design(file: str, patterns: str | None) -> _Checked:
    from prejoin.pipeline.design.design_file import read_design  # documents are checked without loading the designer

    found = read_design(file, patterns)
    design, kept = found.design, found.reading.kept
    figures = {
        "file": file,
        "for": found.document.file,
        "table": design.table,
        "status": kept.status.value if kept.status else None,
        "indexes": len(design.indexes),
        "copies": len(design.copies),
        **counts(found.diagnostics),
    }
    return _Checked(found.source(), "" if found.unusable else found.contents, figures, found.document.file, True)


def _next(checked: Sequence[_Checked]) -> Iterator[tuple[str, str]]:
    """The command that comes after a document, or after its design, and what it does."""
    designed = {one.document for one in checked if one.is_design}
    for one in checked:
        named = "" if one.document == DOCUMENT else f" {shlex.quote(one.document)}"
        if one.is_design:
            yield f"{invocation()} build{named}", "generates everything from it"
        elif one.document != "-" and one.document not in designed:
            yield f"{invocation()} design{named}", "designs its table"


def _summary(one: _Checked, source: Source) -> Line:
    name, diagnostics, found = file_name(source.file), source.diagnostics, one.contents
    if not found:
        return ((name, "bold"), ": nothing could be read")
    if not diagnostics:
        return ((name, "bold"), ": ", ("fine", "bold green"), f". {found[:1].upper()}{found[1:]}.")
    first = min(diagnostics, key=lambda d: list(Severity).index(d.severity))
    more = f"; `prejoin explain {first.code}` explains more"
    return (tally(diagnostics), " in ", (name, "bold"), f" ({found})", *coded(more))
