"""`prejoin init`: writes a document to start from, a commented one or one made of what the flags say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from msgspec.structs import replace

from prejoin.cli.command import command
from prejoin.cli.commands.check import contents, figures
from prejoin.cli.outcome import CommandError, Outcome, Source
from prejoin.cli.status import Status
from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline import codes
from prejoin.pipeline.document import DEFAULT, load
from prejoin.pipeline.document_file import as_text, form_for, refuse_to_overwrite, write
from prejoin.pipeline.examples import DOCUMENT, folder, names
from prejoin.workload.checks import check
from prejoin.workload.files import read_text
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.model import Status as DocumentStatus
from prejoin.workload.model import Workload
from prejoin.workload.starter import read_change, read_entity, read_question, retitled, starter
from prejoin.workload.stubs import add, obvious

T = TypeVar("T")


@command("init")
@click.argument("path", type=click.Path(path_type=Path), default=DEFAULT)
@click.option("--title", help="The application's name.")
@click.option("--entity", "entities", multiple=True, help='As "User: userId (uuid, id), email (string, unique)".')
@click.option("--read", "reads", multiple=True, help='As "Order by userId sort placedAt DESC", "all User".')
@click.option("--write", "writes", multiple=True, help='As "create Order; update User (orderCount += 1)".')
@click.option("--example", type=click.Choice(names()), help="One of the examples.")
@click.option("--from", "origin", type=click.Path(), help="A document in YAML, JSON or Markdown to begin with.")
@click.option("--force", is_flag=True, help="Replace the file that is there.")
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

    Without flags it is a small one, with comments, that shows each part. With --entity it has these entities and their
    obvious patterns: get by id, list under the parent, create, update, delete.
    """
    form = form_for(path)
    if not force:
        refuse_to_overwrite(path)
    if example is not None:
        if entities or reads or writes or origin:
            raise click.UsageError("`--example` is a whole document; change it after it is written")
        origin = str(folder() / example / DOCUMENT)
    if origin is None and not entities:
        if reads or writes:
            raise click.UsageError("`--read` and `--write` need entities: give `--entity` or `--from`")
        document = retitled(starter(), title) if title else starter()
        workload = read_text(document, "md").workload
        text = document if form == "md" else as_text(workload, form)
    else:
        workload = Workload(title=title or _titled(path))
        if origin is not None:
            found = load(origin)
            if found.unusable:
                return Outcome(Status.FAILED, sources=(found.source(),))
            workload = replace(found.workload, title=title or found.workload.title or _titled(path))
        workload = _built(workload, entities, reads, writes)
        text = as_text(workload, form)
    if title and read_text(text, form).workload.title != title:
        raise CommandError(codes.FLAG, f"`{title}` cannot be a title", "write it on one line", Status.MISUSED)
    write(path, text)
    said = tuple(d for d in read_text(text, form).diagnostics if d.severity is Severity.ERROR)
    notes = (f"wrote {path}: {contents(workload)}", f"change it to what you need; `prejoin check {path}` reads it")
    return Outcome(
        result={"path": str(path), **figures(workload)}, sources=(Source(str(path), text, said),), notes=notes
    )


def _titled(path: Path) -> str:
    """A name for an application that was given none: its folder's."""
    name = path.resolve().parent.name.replace("-", " ").replace("_", " ").strip()
    return name[:1].upper() + name[1:] if name.replace(" ", "").isalnum() else "Application"


def _built(w: Workload, entities: tuple[str, ...], reads: tuple[str, ...], writes: tuple[str, ...]) -> Workload:
    had = has_errors(check(w))
    made = tuple(_flag("--entity", text, read_entity) for text in entities)
    whole = replace(w, entities=(*w.entities, *made))
    questions = [_flag("--read", text, lambda t: read_question(t, whole)) for text in reads]
    changes = [_flag("--write", text, lambda t: read_change(t, whole)) for text in writes]
    stubs = obvious(whole, {e.name for e in made})
    asked = {(r.entities, r.inputs, r.result) for r in questions}
    w = replace(whole, status=w.status or DocumentStatus.DRAFT)
    for read in (*(s for s in stubs.reads if (s.entities, s.inputs, s.result) not in asked), *questions):
        w = add(w, "reads", read)
    for kind, patterns in (("writes", (*stubs.writes, *changes)), ("deletes", stubs.deletes)):
        for pattern in patterns:
            w = add(w, kind, pattern)
    problem = next((d for d in check(w) if d.severity is Severity.ERROR), None)
    if problem and not had and (entities or reads or writes):
        raise CommandError(codes.FLAG, problem.message, problem.fix, Status.MISUSED)
    return w


def _flag(name: str, text: str, read: Callable[[str], T]) -> T:
    try:
        return read(text)
    except Inexact as problem:
        message = f"{problem.message}, in {name} “{text}”"
        raise CommandError(codes.FLAG, message, problem.fix, Status.MISUSED) from None
