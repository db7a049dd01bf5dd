"""NoSQL Workbench models in `prejoin convert`: a design as one, and one as a design with its access patterns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from prejoin.cli.outcome import Outcome, Source
from prejoin.cli.status import Status
from prejoin.design.document.annotations import Kept
from prejoin.design.document.write_document import write_document
from prejoin.design.files import write_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.workbench.description import left_out
from prejoin.design.workbench.read_model import is_model, read_workbench
from prejoin.diagnostics import has_errors
from prejoin.pipeline.design_file import DesignFile
from prejoin.pipeline.document import DEFAULT, FORMS
from prejoin.pipeline.document_file import as_text, check_writable, refuse_to_overwrite, write, written_for
from prejoin.render.workbench import render_workbench
from prejoin.workload.files import Form
from prejoin.workload.model import Workload

WORKBENCH = "workbench"
TARGETS = (*FORMS, WORKBENCH)


def is_workbench(file: str) -> bool:
    """Whether a file holds a model that NoSQL Workbench exported."""
    path = Path(file)
    return path.suffix.lower() == ".json" and path.is_file() and is_model(_text(path))


def model_of(workload: Workload, design: Design, file: str) -> Mapping[PurePosixPath, str]:
    """The model of a design, by its file; refused where the tables that go into its description cannot be written."""
    with written_for(file, "change that text"):
        return render_workbench(workload, design)


def to_workbench(found: DesignFile, output: Path | None) -> Outcome:
    """A design as a model."""
    (text,) = model_of(found.document.workload, found.design, found.file).values()
    said = tuple(f"not in the model: {sentence}" for sentence in left_out(found.design))
    result: dict[str, Any] = {"file": found.file, "to": WORKBENCH, "output": str(output) if output else None}
    if output is None:
        return Outcome(result={**result, "text": text}, page=text, notes=said)
    write(output, text)
    return Outcome(result={**result, "text": None}, notes=(*said, f"wrote {output}"))


def from_workbench(file: str, to: Form, output: Path | None, force: bool, table: str) -> Outcome:
    """A model as a design; in a file, with the access patterns beside it."""
    text = _text(Path(file))
    found = read_workbench(text, table)
    source = Source(file, text, found.diagnostics)
    if has_errors(found.diagnostics):
        return Outcome(Status.FAILED, sources=(source,), notes=("nothing was converted",))
    patterns = output.with_name(f"{Path(DEFAULT).stem}.{to}") if output else None
    if not force:
        for path in (p for p in (output, patterns) if p):
            refuse_to_overwrite(path)
    workload = found.workload
    asked = as_text(workload, to, file)
    if to == "md":
        design = map_patterns(found.design, workload)
        with written_for(file, "write YAML or JSON"):
            written = write_document(design, workload, Kept(source=patterns.name if patterns else ""))
    else:
        written = write_design(found.design, to)
    result: dict[str, Any] = {"file": file, "to": to, "output": str(output) if output else None}
    result |= {"patterns": str(patterns) if patterns else None}
    if output is None or patterns is None:
        note = "with `-o table-design.md` the access patterns are written beside it"
        return Outcome(result={**result, "text": written}, page=written, sources=(source,), notes=(note,))
    check_writable(patterns, output)
    write(patterns, asked)
    write(output, written)
    notes = (f"wrote {output} and {patterns}", f"`prejoin check {output}` says what there is to say about it")
    return Outcome(result={**result, "text": None}, sources=(source,), notes=notes)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
