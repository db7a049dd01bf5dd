"""`prejoin convert`: a document or a design in another form; NoSQL Workbench models, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prejoin.cli.command import command
from prejoin.cli.documents import load
from prejoin.cli.outcome import Outcome
from prejoin.design.document.annotations import Annotations
from prejoin.design.document.write_document import write_document
from prejoin.design.files import write_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.workbench.description import left_out
from prejoin.design.workbench.read_model import read_workbench
from prejoin.diagnostics import Severity, has_errors
from prejoin.pipeline.design.design_file import DesignFile, read_design
from prejoin.pipeline.document import (
    DOCUMENT,
    FORMS,
    check_writable,
    document_text,
    is_design,
    lost_words,
    refuse_to_overwrite,
    report_unwritable,
    save_original,
    text_of,
    write,
)
from prejoin.pipeline.errors import InputError, Source
from prejoin.pipeline.summary import figures, quantity
from prejoin.pipeline.workbench import is_workbench, workbench_model
from prejoin.workload.files import Form, form_of

_WORKBENCH = "workbench"
_BY_NAME: dict[str, Form] = {form: form for form in FORMS}
_NO_OUTPUT = "nothing was converted"


@command("convert")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--to", type=click.Choice((*FORMS, _WORKBENCH)), help="The new form (default: that of the -o file).")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write (default: standard output).")
@click.option("--as", "form", type=click.Choice(FORMS), help="The form of FILE (default for `-`: md).")
@click.option("--table", default="", help="The table to read from a NoSQL Workbench model with several.")
@click.option("--force", is_flag=True, help="Overwrite the -o file.")
@click.option("--anyway", is_flag=True, help="Convert in spite of errors; text that is not understood is kept.")
def convert(
    file: str, to: str | None, output: Path | None, form: Form | None, table: str, force: bool, anyway: bool
) -> Outcome:
    """Convert a document or a table design to Markdown, YAML or JSON; a design to a NoSQL Workbench model, and back.

    `prejoin convert FILE --to md` gives a Markdown document in its canonical form; with `-o FILE --force` in place.
    """
    if to == _WORKBENCH:
        return _to_workbench(file, output, force)
    to = _target(to, output)
    if form is None and is_workbench(file):
        return _from_workbench(file, to, output, force, table)
    if table:
        raise click.UsageError("`--table` is for a NoSQL Workbench model, and FILE is none")
    if form is None and is_design(file):
        return _design(file, to, output, force)
    return _convert_document(file, to, output, form, force, anyway)


def _convert_document(
    file: str, to: Form, output: Path | None, form: Form | None, force: bool, anyway: bool
) -> Outcome:
    """A document in another form. Text that is not understood is kept, with `anyway`."""
    document = load(file, form)
    has_failed = has_errors(document.diagnostics)
    if document.unusable or (has_failed and not anyway):
        note = "" if document.unusable else f"{_NO_OUTPUT}; `--anyway` keeps text that is not understood"
        raise InputError(document.source(Severity.ERROR), note=note)
    if output and not force:
        refuse_to_overwrite(output)
    text = document_text(document.workload, to, file)
    notes = []
    if has_failed:
        errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in document.diagnostics)
        notes.append(f"converted with {quantity(errors, 'error')}; `prejoin check {file}` shows them")
    result = {"file": file, "to": to, "output": str(output) if output else None, **figures(document.workload)}
    is_in_place = output is not None and file != "-" and output.exists() and output.samefile(file)
    if output and is_in_place and lost_words(document.text, text):
        backup = save_original(output, document.text)
        notes.append(f"some text, such as comments, could not be carried over: the old text is in {backup}")
    return _write_text(result, text, output, *notes)


def _write_text(result: dict[str, Any], text: str, output: Path | None, *notes: str) -> Outcome:
    """Writes the text to the output file, or prints it."""
    if output is None:
        return Outcome(result={**result, "text": text}, page=text, notes=notes)
    write(output, text)
    return Outcome(result={**result, "text": None}, notes=(*notes, f"wrote {output}"))


def _read_design(file: str, output: Path | None, force: bool) -> DesignFile:
    design_file = read_design(file)
    if design_file.unusable or design_file.fails:
        raise InputError(design_file.source(Severity.ERROR), note=_NO_OUTPUT)
    if output and not force:
        refuse_to_overwrite(output)
    return design_file


def _design(file: str, to: Form, output: Path | None, force: bool) -> Outcome:
    """A design in another form. As Markdown it has the operations of its access patterns."""
    design_file = _read_design(file, output, force)
    with report_unwritable(file, "write YAML or JSON"):
        if to == "md":
            text = write_document(design_file.design, design_file.document.workload, design_file.reading.kept)
        else:
            text = write_design(design_file.design, to, keeps=design_file.reading.kept.keeps)
    return _write_text({"file": file, "to": to, "output": str(output) if output else None}, text, output)


def _to_workbench(file: str, output: Path | None, force: bool) -> Outcome:
    """A design as a NoSQL Workbench model."""
    if not is_design(file):
        raise click.UsageError(f"{file} is not a table design; `prejoin design` makes one from a document")
    if output and form_of(output) != "json":
        raise click.UsageError(f"a model is JSON, and {output} does not end in .json")
    design_file = _read_design(file, output, force)
    (text,) = workbench_model(design_file.document.workload, design_file.design, file).values()
    notes = (f"not in the model: {sentence}" for sentence in left_out(design_file.design))
    return _write_text(
        {"file": file, "to": _WORKBENCH, "output": str(output) if output else None}, text, output, *notes
    )


def _from_workbench(file: str, to: Form, output: Path | None, force: bool, table: str) -> Outcome:
    """A NoSQL Workbench model as a design; in a file, with the access patterns beside it."""
    text = text_of(Path(file))
    model = read_workbench(text, table)
    source = Source(file, text, model.diagnostics)
    if has_errors(model.diagnostics):
        raise InputError(source, note=_NO_OUTPUT)
    patterns = output.with_name(f"{Path(DOCUMENT).stem}.{to}") if output else None
    if not force:
        for path in (path for path in (output, patterns) if path):
            refuse_to_overwrite(path)
    document = document_text(model.workload, to, file)
    if to == "md":
        design = map_patterns(model.design, model.workload)
        with report_unwritable(file, "write YAML or JSON"):
            design_text = write_document(design, model.workload, Annotations(source=patterns.name if patterns else ""))
    else:
        design_text = write_design(model.design, to)
    result: dict[str, Any] = {"file": file, "to": to, "output": str(output) if output else None}
    result |= {"patterns": str(patterns) if patterns else None}
    if output is None or patterns is None:
        note = "with `-o table-design.md` the access patterns are written beside it"
        return Outcome(result={**result, "text": design_text}, page=design_text, sources=(source,), notes=(note,))
    check_writable(patterns, output)
    write(patterns, document)
    write(output, design_text)
    notes = (f"wrote {output} and {patterns}", f"`prejoin check {output}` checks it")
    return Outcome(result={**result, "text": None}, sources=(source,), notes=notes)


def _target(to: str | None, output: Path | None) -> Form:
    named_form = form_of(output) if output else None
    if to is None and named_form is None:
        raise click.UsageError("The new form is not given: pass `--to md`, `--to yaml` or `--to json`")
    if to and named_form and to != named_form:
        raise click.UsageError(f"`--to {to}` and the name {output} do not agree")
    return _BY_NAME.get(to or "", named_form or "md")
