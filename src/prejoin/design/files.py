"""Reads and writes designs: the Markdown document for review, or YAML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from prejoin.design.codes import NO_DESIGN, NOT_A_DESIGN, UNREADABLE
from prejoin.design.document.annotations import Annotations, DesignReading
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.mapping.validate import misfits
from prejoin.design.model import Design
from prejoin.design.operation_files import NotAnOperationError, operations_as_data
from prejoin.diagnostics import Code, Diagnostic, Span, has_errors
from prejoin.workload.data_tree import NotATreeError, convert_tree, read_tree, write_tree
from prejoin.workload.document.sections import MOST_CHARACTERS
from prejoin.workload.files import Form, form_of
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Path as PathInTree
from prejoin.workload.read_result import Places

NAME = "table-design.md"
KEEPS = "keeps"
"""The name of the design in use that a design extends, in YAML and JSON."""
_NAMES = (NAME, "table-design.yaml", "table-design.yml", "table-design.json")


def design_beside(document: Path) -> Path:
    """The path of a document's design: beside it, Markdown unless another form exists."""
    places = [document.with_name(name) for name in _NAMES]
    return next((place for place in places if place.exists()), places[0])


def read_design(text: str, workload: Workload, form: Form = "yaml") -> tuple[Design | None, tuple[Diagnostic, ...]]:
    """The design in a text, for a workload, and its diagnostics; None if there are errors."""
    reading = read_design_text(text, workload, form)
    return (None if has_errors(reading.diagnostics) else reading.design), reading.diagnostics


def read_design_text(text: str, workload: Workload, form: Form) -> DesignReading:
    """The design in a text, with places and annotations. Only Markdown comes with operations mapped."""
    if form == "md":
        return read_document(text, workload)
    spans: dict[PathInTree, Span] = {}
    try:
        plain, spans = read_tree(text, form)
        keeps = plain.pop(KEEPS, "") if isinstance(plain, dict) else ""
        if not isinstance(keeps, str):
            raise NotATreeError(f"`{KEEPS}` is not the path of a design", spans.get((KEEPS,)))
        design = design_of(plain, spans)
    except (NotATreeError, NotAnOperationError) as problem:
        fix = "compare with a design that prejoin wrote"
        message = f"this is not a design in {form.upper()}: {problem}"
        span = problem.span if isinstance(problem, NotATreeError) else spans.get(("operations",))
        return DesignReading(Design(""), (NOT_A_DESIGN.at(span, message, fix),), Places())
    places = Places(spans)
    return DesignReading(design, misfits(design, workload, places), places, Annotations(keeps=keeps))


def design_of(plain: Any, spans: dict[PathInTree, Span]) -> Design:
    """The design in a tree of data. Parts of its operations may be texts.

    Raises NotATreeError or NotAnOperationError if it is none.
    """
    if isinstance(plain, dict) and isinstance(plain.get("operations"), list):
        plain = {**plain, "operations": operations_as_data(plain["operations"], _partition_key(plain))}
    design: Design = convert_tree(plain, spans, Design)
    return design


def _partition_key(plain: dict[str, Any]) -> str:
    """The name of the table's partition key in the data of a design; empty if it has none."""
    match plain:
        case {"slots": [{"pk": [{"name": str(name)}, *_]}, *_]}:
            return name
        case _:
            return ""


def read_design_file(path: Path, workload: Workload) -> DesignReading:
    """The design in a file; the suffix decides the form. An unreadable file gives a diagnostic."""
    form = form_of(path)
    if form is None:
        return _unreadable(UNREADABLE, f"{path} is not .md, .yaml or .json", "use one of these suffixes")
    try:
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            message = f"{path.name} is larger than {4 * MOST_CHARACTERS:,} bytes"
            return _unreadable(UNREADABLE, message, "see `prejoin explain PJ620`")
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as problem:
        message = f"{path.name} is not UTF-8 at byte {problem.start}"
        return _unreadable(UNREADABLE, message, "save it as UTF-8")
    except OSError as problem:
        message = f"{path.name} cannot be read: {problem.strerror or problem}"
        return _unreadable(NO_DESIGN, message, "`prejoin design` writes one; or write the keys by hand")
    return read_design_text(text, workload, form)


def write_design(design: Design, form: Form = "yaml", workload: Workload | None = None, keeps: str = "") -> str:
    """The text of a design. The Markdown document also uses the workload.

    `keeps` is the path of the design in use that it extends.
    """
    if form == "md":
        return write_document(design, workload or Workload(), Annotations(keeps=keeps))
    kept = {KEEPS: keeps} if keeps else {}
    return write_tree({**kept, **msgspec.to_builtins(design, str_keys=True)}, form)


def _unreadable(code: Code, message: str, fix: str) -> DesignReading:
    return DesignReading(Design(""), (code.at(None, message, fix),), Places())
