"""`prejoin convert`: a document or a design in another form, NoSQL Workbench's too; and Markdown as we write it."""

from __future__ import annotations

from pathlib import Path

import click

from prejoin.cli.command import command
from prejoin.cli.commands.check import figures
from prejoin.cli.outcome import Outcome
from prejoin.cli.status import Status
from prejoin.cli.text.messages import counted
from prejoin.design.document.write_document import write_document
from prejoin.design.files import write_design
from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline.design_file import is_design, load_design
from prejoin.pipeline.document import FORMS, load
from prejoin.pipeline.document_file import as_text, keep_original, lost, refuse_to_overwrite, write, written_for
from prejoin.pipeline.workbench import TARGETS, WORKBENCH, from_workbench, is_workbench, to_workbench
from prejoin.workload.files import Form, form_of

_SERIOUS = frozenset({Severity.ERROR})
_BY_NAME: dict[str, Form] = {form: form for form in FORMS}


@command("convert")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--to", type=click.Choice(TARGETS), help="What to turn it into; if not said, what the name after -o says."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Where to write it; standard output if not said.")
@click.option("--as", "form", type=click.Choice(FORMS), help="What FILE holds; Markdown for `-` if not said.")
@click.option("--table", default="", help="Of a NoSQL Workbench model with several tables, the one to read.")
@click.option("--force", is_flag=True, help="Replace the file that -o names.")
@click.option(
    "--anyway", is_flag=True, help="Convert although there are errors; what is not exact goes along as it stands."
)
def convert(
    file: str, to: str | None, output: Path | None, form: Form | None, table: str, force: bool, anyway: bool
) -> Outcome:
    """Turn a document, or a table design, into Markdown, YAML or JSON; a design into a NoSQL Workbench model, and back.

    `prejoin convert FILE --to md` gives a Markdown document in its canonical form; with `-o FILE --force` in place.
    """
    if to == WORKBENCH:
        return _model(file, output, force)
    to = _target(to, output)
    if form is None and is_workbench(file):
        return from_workbench(file, to, output, force, table)
    if table:
        raise click.UsageError("`--table` is for a model of NoSQL Workbench, and FILE is none")
    if form is None and is_design(file):
        return _design(file, to, output, force)
    document = load(file, form)
    failed = has_errors(document.reading.diagnostics)
    if document.unusable or (failed and not anyway):
        note = "nothing was converted; `--anyway` takes along as it stands what is not exact"
        notes = () if document.unusable else (note,)
        return Outcome(Status.FAILED, sources=(document.source(_SERIOUS),), notes=notes)
    if output and not force:
        refuse_to_overwrite(output)
    text = as_text(document.workload, to, file)
    said = []
    if failed:
        errors = sum(d.severity is Severity.ERROR for d in document.reading.diagnostics)
        said.append(f"{counted(errors, 'error')} went along; `prejoin check {file}` shows them")
    result = {"file": file, "to": to, "output": str(output) if output else None, **figures(document.workload)}
    if output is None:
        return Outcome(result={**result, "text": text}, page=text, notes=tuple(said))
    if file != "-" and output.exists() and output.samefile(file) and lost(document.text, text):
        aside = keep_original(output, document.text)
        said.append(f"not all of it is carried over (comments, above all): the text as it was is in {aside}")
    write(output, text)
    return Outcome(result={**result, "text": None}, notes=(*said, f"wrote {output}"))


def _design(file: str, to: Form, output: Path | None, force: bool) -> Outcome:
    """A design in another form. As Markdown it comes with the operations of its access patterns."""
    found = load_design(file)
    if found.unusable or found.fails:
        return Outcome(Status.FAILED, sources=(found.source(_SERIOUS),), notes=("nothing was converted",))
    if output and not force:
        refuse_to_overwrite(output)
    workload = found.document.workload
    kept = found.reading.kept
    with written_for(file, "write YAML or JSON"):
        text = write_document(found.design, workload, kept) if to == "md" else write_design(found.design, to)
    result = {"file": file, "to": to, "output": str(output) if output else None, "text": None if output else text}
    if output is None:
        return Outcome(result=result, page=text)
    write(output, text)
    return Outcome(result=result, notes=(f"wrote {output}",))


def _model(file: str, output: Path | None, force: bool) -> Outcome:
    """A design as a model of NoSQL Workbench."""
    if not is_design(file):
        raise click.UsageError(f"{file} is not a table design; `prejoin design` makes one of a document")
    if output and form_of(output) != "json":
        raise click.UsageError(f"a model is JSON, and {output} is not named so")
    found = load_design(file)
    if found.unusable or found.fails:
        return Outcome(Status.FAILED, sources=(found.source(_SERIOUS),), notes=("nothing was converted",))
    if output and not force:
        refuse_to_overwrite(output)
    return to_workbench(found, output)


def _target(to: str | None, output: Path | None) -> Form:
    named = form_of(output) if output else None
    if to is None and named is None:
        raise click.UsageError("It is not said what to turn it into: `--to md`, `--to yaml` or `--to json`")
    if to and named and to != named:
        raise click.UsageError(f"`--to {to}` and the name {output} do not agree")
    return _BY_NAME.get(to or "", named or "md")
