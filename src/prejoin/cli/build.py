"""`prejoin build`: the whole way: the document checked, the table designed and proven, code, infrastructure, pages."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import click

from prejoin import __version__
from prejoin.cli.built import Planned, digest, is_current, planned, read_record, write_all
from prejoin.cli.command import command
from prejoin.cli.design import contradiction
from prejoin.cli.design_file import document_text, target
from prejoin.cli.making import ContradictionError, Made, Wanted, make
from prejoin.cli.outcome import Line, Outcome
from prejoin.cli.output import say, table
from prejoin.cli.progress import Progress
from prejoin.cli.show import counted
from prejoin.cli.sources import Document, files_or_default, load
from prejoin.cli.status import Status
from prejoin.design.files import design_beside
from prejoin.diagnostics import Severity, has_errors
from prejoin.render.documents.render_documents import DocumentOptions, render_documents
from prejoin.render.infrastructure.cdk_python import render_cdk_python
from prejoin.render.infrastructure.cdk_typescript import render_cdk_typescript
from prejoin.render.infrastructure.cloudformation import render_cloudformation
from prejoin.render.infrastructure.sst import render_sst
from prejoin.render.infrastructure.terraform import render_terraform
from prejoin.render.keeping import Merged
from prejoin.render.pictures.render_pictures import render_pictures
from prejoin.render.python.package import Options, render_python

Files = Mapping[PurePosixPath, str]

_INFRASTRUCTURE: Mapping[str, Callable[..., Files]] = {
    "cloudformation": render_cloudformation,
    "terraform": render_terraform,
    "cdk-python": render_cdk_python,
    "cdk-typescript": render_cdk_typescript,
    "sst": render_sst,
}
_SERIOUS = frozenset({Severity.ERROR, Severity.WARNING})


@dataclass(frozen=True, slots=True)
class Choices:
    """What is made."""

    style: str
    package: str
    infrastructure: tuple[str, ...]


@command("build")
@click.argument("document", required=False, type=click.Path())
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option("--check", is_flag=True, help="Write nothing; fail when document, design and code disagree.")
@click.option("--diff", "diffs", is_flag=True, help="Show what would change in each file.")
@click.option(
    "--style", type=click.Choice(["dataclass", "msgspec", "pydantic"]), default="dataclass", show_default=True
)
@click.option("--package", default="", help="The name of the Python package; made from the title if not said.")
@click.option(
    "--infrastructure",
    multiple=True,
    type=click.Choice([*_INFRASTRUCTURE, "none"]),
    default=["cloudformation"],
    show_default=True,
    help="What deploys the table; may be given several times.",
)
def build(
    document: str | None,
    yes: bool,
    check: bool,
    diffs: bool,
    style: str,
    package: str,
    infrastructure: tuple[str, ...],
    as_json: bool,
) -> Outcome:
    """Make everything from DOCUMENT (access-patterns.md): the design, proven, and typed Python with tests.

    Files are written beside the document. What is as it was is left alone, and what somebody changed by hand is never
    written over. A design with the status APPROVED stays as it is, and what is new is added to it.
    """
    read = load(files_or_default((document,) if document else ())[0])
    if has_errors(read.reading.diagnostics):
        note = "the document has errors; nothing was made"
        return Outcome(Status.FAILED, sources=(read.source(_SERIOUS),), notes=(note,))
    folder = Path(read.file).parent
    choices = Choices(style, package, tuple(name for name in infrastructure if name != "none"))
    source = digest("\0".join([__version__, read.text, repr(choices)]))
    record = read_record(folder)
    if is_current(folder, record, source) and not diffs:
        result = {"document": read.file, "files": [{"path": path, "state": "same"} for path in record.files]}
        note = f"{counted(len(record.files), 'file')}, all as {read.file} wants them"
        return Outcome(Status.FINE, result, [(note,)])
    try:
        with Progress() as progress:
            made, files = _made(read, folder, choices, progress)
    except ContradictionError as problem:
        return contradiction(problem, read)
    if not made.fine:
        note = "the design has errors; nothing was written"
        return Outcome(Status.FAILED, sources=(made.source(hints=False),), notes=(note,))
    found = planned(folder, files, record)
    return _finished(read, folder, found, source, made, _Asked(yes, check, diffs, as_json))


@dataclass(frozen=True, slots=True)
class _Asked:
    yes: bool
    check: bool
    diffs: bool
    as_json: bool


def _made(read: Document, folder: Path, choices: Choices, progress: Progress) -> tuple[Made, Files]:
    where = target(design_beside(Path(read.file)))
    made = make(Wanted(read, kept=where.before if where.approved else None), progress)
    progress.begin("writing it down")
    workload, design = made.workload, made.design
    python = render_python(workload, design, Options(choices.package, choices.style))  # type: ignore[arg-type]
    files: dict[PurePosixPath, str] = dict(python)
    files |= render_documents(workload, design, DocumentOptions(python))
    files |= render_pictures(workload, design)
    for name in choices.infrastructure:
        files |= _INFRASTRUCTURE[name](workload, design)
    files[PurePosixPath(where.path.name)] = document_text(made, where.form, where.text, folder)
    return made, files


def _finished(read: Document, folder: Path, found: list[Planned], source: str, made: Made, asked: _Asked) -> Outcome:
    # The design's own document keeps what people wrote in it: it is rewritten, not replaced.
    own = design_beside(Path(read.file)).name
    found = [_rewritten(one) if one.path.name == own and len(one.path.parts) == 1 else one for one in found]
    states = Counter(one.merged.state for one in found)
    conflicts = [one for one in found if one.merged.state == "conflict"]
    changing = states["new"] + states["changed"]
    result: dict[str, Any] = {
        "document": read.file,
        "files": [{"path": str(one.path), "state": one.merged.state, "reason": one.merged.reason} for one in found],
        "served": sum(operation.served for operation in made.design.operations),
        "proven": made.proof is not None and made.proof.right,
        "written": False,
    }
    notes = [f"{one.path} is left alone: {one.merged.reason}" for one in conflicts]
    write = asked.yes and not asked.check
    if not write and not asked.check and not asked.as_json and changing and sys.stdin.isatty() and sys.stdout.isatty():
        say(
            f"{counted(changing, 'file')} to write in {folder}/:",
            *(f"\n  {one.path}" for one in found if one.merged.writable),
        )
        write = click.confirm("Write them?", default=True, err=True)
    if write:
        write_all(folder, found, source, read_record(folder))
        result["written"] = True
    elif changing and not asked.check:
        notes.append("`--yes` writes them; nothing was written")
    page: list[Line] = list(_page(found, read, made, result["written"]))
    if asked.diffs:
        page += [(line,) for one in found if one.merged.state != "same" for line in one.diff.splitlines()]
    disagree = bool(conflicts) or (asked.check and changing > 0)
    if asked.check and disagree:
        notes.append("document, design and code disagree: `prejoin build` makes them agree")
    return Outcome(Status.FAILED if disagree else Status.FINE, result, page, notes=tuple(notes))


def _rewritten(one: Planned) -> Planned:
    if one.merged.state != "conflict":
        return one
    return Planned(one.path, one.before, Merged("changed", one.merged.text))


def _page(found: list[Planned], read: Document, made: Made, written: bool) -> list[Line]:
    """What there is, folder by folder."""
    design, workload = made.design, made.workload
    copies = f" and {counted(len(design.copies), 'copy')}" if design.copies else ""
    served = (
        f"{sum(o.served for o in design.operations)} of {counted(len(design.operations), 'pattern')} served and proven"
    )
    words = {"new": "written" if written else "new", "changed": "rewritten" if written else "changed"}
    rows = [
        (str(one.path), words.get(one.merged.state, "as it was" if one.merged.state == "same" else "left alone"))
        for one in found
    ]
    head: Line = (
        (workload.title, "bold"),
        f", from {read.file}: {counted(len(design.indexes), 'index')}{copies}; {served}.",
    )
    return [head, (), *table(rows, ("bold", "green"))]
