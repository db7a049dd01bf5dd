"""`prejoin check`: what is wrong with documents and designs, what is missing in them, and what people forget."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from prejoin.cli.command import command
from prejoin.cli.invocation import invocation
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.status import Status
from prejoin.cli.text.messages import coded, counted, counts, shown, tally
from prejoin.diagnostics import Diagnostic, Severity, in_order
from prejoin.pipeline.document import DEFAULT, FORMS, Document, files_or_default, load
from prejoin.workload.files import Form
from prejoin.workload.model import Workload

if TYPE_CHECKING:
    from prejoin.pipeline.design_file import DesignFile


@command("check")
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option("--for", "patterns", type=click.Path(), help="The access patterns of a design, if not those it names.")
@click.option("--as", "form", type=click.Choice(FORMS), help="What the files hold; Markdown for `-` if not said.")
@click.option("--hints/--no-hints", default=True, help="Whether to show what people often forget.")
@click.option("--strict", is_flag=True, help="Fail on warnings too.")
def check(files: tuple[str, ...], patterns: str | None, form: Form | None, hints: bool, strict: bool) -> Outcome:
    """Say what is wrong with a document or a design, what is missing, and what people forget.

    Without a FILE it is access-patterns.md; `-` is standard input. A table-design.md is checked against the access
    patterns that it is for. The exit status is 1 when there are errors.
    """
    severities = frozenset(Severity) if hints else frozenset(Severity) - {Severity.HINT}
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    documents = [_load(file, form, patterns) for file in files_or_default(files)]
    sources = tuple(document.source(severities) for document in documents)
    said = [d for source in sources for d in source.diagnostics]
    failed = any(d.severity in failing for d in said)
    steps = [] if failed else list(_next(documents))
    return Outcome(
        status=Status.FAILED if failed else Status.FINE,
        result={"files": [_figures(document) for document in documents], "next": [do for do, _ in steps]},
        page=[*([()] if said else []), *(_summary(d, s.diagnostics) for d, s in zip(documents, sources, strict=True))],
        sources=sources,
        notes=tuple(f"next: `{do}` {what}" for do, what in steps),
        about=True,
    )


def _load(file: str, form: Form | None, patterns: str | None) -> Document | DesignFile:
    """A document, or a design with what is wrong in the document it is for."""
    from prejoin.pipeline.design_file import (
        is_design,
        load_design,
        new_since_approval,
    )  # the designer is not needed for documents

    if patterns or (form is None and is_design(file)):
        return load_design(file, patterns)
    document = load(file, form)
    new = new_since_approval(document)
    said = in_order((*document.reading.diagnostics, *new))
    return replace(document, reading=replace(document.reading, diagnostics=said)) if new else document


def _next(documents: Sequence[Document | DesignFile]) -> Iterator[tuple[str, str]]:
    """What comes after a document, or after a design of it, and what that does."""
    designed = {one.document.file for one in documents if not isinstance(one, Document)}
    for one in documents:
        own = isinstance(one, Document)
        file = one.file if isinstance(one, Document) else one.document.file
        named = "" if file == DEFAULT else f" {shlex.quote(file)}"
        if own and file != "-" and file not in designed:
            yield f"{invocation()} design{named}", "designs the table for it"
        elif not own:
            yield f"{invocation()} build{named}", "makes everything of it"


def figures(workload: Workload) -> dict[str, Any]:
    """What there is in a workload, in numbers."""
    return {
        "title": workload.title,
        "status": workload.status.value if workload.status else None,
        "entities": len(workload.entities),
        "reads": len(workload.reads),
        "writes": len(workload.writes),
        "deletes": len(workload.deletes),
    }


def _figures(document: Document | DesignFile) -> dict[str, Any]:
    if isinstance(document, Document):
        return {"file": document.file, **figures(document.workload), **counts(document.reading.diagnostics)}
    design, kept = document.design, document.reading.kept
    return {
        "file": document.file,
        "for": document.document.file,
        "table": design.table,
        "status": kept.status.value if kept.status else None,
        "indexes": len(design.indexes),
        "copies": len(design.copies),
        **counts(document.diagnostics),
    }


def contents(workload: Workload) -> str:
    """What there is in a workload, in words."""
    parts = {"entity": workload.entities, "read": workload.reads, "write": workload.writes, "delete": workload.deletes}
    return ", ".join(counted(len(found), noun) for noun, found in parts.items() if found) or "nothing"


def _summary(document: Document | DesignFile, said: tuple[Diagnostic, ...]) -> Line:
    name = shown(document.file)
    if document.unusable:
        return ((name, "bold"), ": nothing could be read")
    found = contents(document.workload) if isinstance(document, Document) else document.contents
    if not said:
        return ((name, "bold"), ": ", ("fine", "bold green"), f". {found[:1].upper()}{found[1:]}.")
    first = min(said, key=lambda d: list(Severity).index(d.severity))
    more = f"; `prejoin explain {first.code}` tells more"
    return (tally(said), " in ", (name, "bold"), f" ({found})", *coded(more))
