"""`prejoin init`: a document to start from, with comments or with the entities and patterns of the options."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec.structs import replace

from prejoin.cli.command import command
from prejoin.cli.outcome import Outcome
from prejoin.diagnostics import Severity
from prejoin.pipeline import codes
from prejoin.pipeline.document import DOCUMENT, document_text, output_form, read_document, refuse_to_overwrite, write
from prejoin.pipeline.errors import InputError, InvalidArgumentError, Source
from prejoin.pipeline.examples import folder, names
from prejoin.pipeline.new_document import extended
from prejoin.pipeline.summary import contents, figures
from prejoin.workload.files import Form, read_text
from prejoin.workload.model import Workload
from prejoin.workload.starter import retitled, starter


@command("init")
@click.argument("path", type=click.Path(path_type=Path), default=DOCUMENT)
@click.option("--title", help="The name of the application.")
@click.option("--entity", "entities", multiple=True, help='As "User: userId (uuid, id), email (string, unique)".')
@click.option("--read", "reads", multiple=True, help='As "Order by userId sort placedAt DESC", "all User".')
@click.option("--write", "writes", multiple=True, help='As "create Order; update User (orderCount += 1)".')
@click.option("--example", type=click.Choice(names()), help="Copy one of the examples.")
@click.option("--from", "origin", type=click.Path(), help="Start from a document in YAML, JSON or Markdown.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(
    path: Path,
    title: str | None,
    entities: tuple[str, ...],
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    example: str | None,
    origin: str | None,
    force: bool,
) -> Outcome:
    """Write a document to start from at PATH (access-patterns.md).

    Without options it is a small one, with comments on each part. With --entity it has these entities and their
    usual patterns: get by id, list under the parent, create, update, delete.
    """
    form = output_form(path)
    if not force:
        refuse_to_overwrite(path)
    if example is not None:
        if entities or reads or writes or origin:
            raise click.UsageError("`--example` is a whole document; change it after it is written")
        origin = str(folder() / example / DOCUMENT)
    if origin is None and not entities:
        if reads or writes:
            raise click.UsageError("`--read` and `--write` need entities: give `--entity` or `--from`")
        workload, text = _starter_document(title, form)
    else:
        workload = extended(_base_workload(origin, title, path), entities, reads, writes)
        text = document_text(workload, form)
    document = read_text(text, form)
    if title and document.workload.title != title:
        raise InvalidArgumentError(codes.FLAG, f"`{title}` cannot be a title", "write it on one line")
    write(path, text)
    errors = tuple(diagnostic for diagnostic in document.diagnostics if diagnostic.severity is Severity.ERROR)
    notes = (f"wrote {path}: {contents(workload)}", f"edit it, then run `prejoin check {path}`")
    return Outcome(
        result={"path": str(path), **figures(workload)}, sources=(Source(str(path), text, errors),), notes=notes
    )


def _starter_document(title: str | None, form: Form) -> tuple[Workload, str]:
    """A small document with comments on each part, which only Markdown has."""
    document = retitled(starter(), title) if title else starter()
    workload = read_text(document, "md").workload
    return workload, document if form == "md" else document_text(workload, form)


def _base_workload(origin: str | None, title: str | None, path: Path) -> Workload:
    """The workload that entities and patterns are added to: that of a document, or an empty one."""
    if origin is None:
        return Workload(title=title or _title_of_folder(path))
    document = read_document(origin)
    if document.unusable:
        raise InputError(document.source())
    return replace(document.workload, title=title or document.workload.title or _title_of_folder(path))


def _title_of_folder(path: Path) -> str:
    """A title from the name of the folder."""
    name = path.resolve().parent.name.replace("-", " ").replace("_", " ").strip()
    return name[:1].upper() + name[1:] if name.replace(" ", "").isalnum() else "Application"
