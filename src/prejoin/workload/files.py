"""Reads and writes workloads in Markdown, YAML or JSON, with all checks, and their JSON Schema."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from prejoin.diagnostics import in_order
from prejoin.workload import codes
from prejoin.workload.checks import check
from prejoin.workload.contents import with_contents
from prejoin.workload.data_tree import NotATreeError, TreeForm, convert_tree, read_tree, write_tree
from prejoin.workload.document.markdown import Text
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.sections import MOST_CHARACTERS
from prejoin.workload.document.write_document import write_document
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Notes, Places, WorkloadReading
from prejoin.workload.shorthand import without_unquoted_texts, write_out_names
from prejoin.workload.tenants import expand, move_places

Form = Literal["md", "yaml", "json"]
_FORMS: dict[str, Form] = {".md": "md", ".markdown": "md", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def form_of(path: Path) -> Form | None:
    return _FORMS.get(path.suffix.lower())


def read_file(path: Path) -> WorkloadReading:
    """The workload in a file and its diagnostics. An unreadable file gives a diagnostic."""
    form = form_of(path)
    if form is None:
        return _unreadable(f"{path} is not .md, .yaml or .json", "use one of these suffixes")
    try:
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            return _unreadable(
                f"{path.name} is larger than {4 * MOST_CHARACTERS:,} bytes", "see `prejoin explain PJ100`"
            )
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as problem:
        return _unreadable(f"{path.name} is not UTF-8 at byte {problem.start}", "save it as UTF-8")
    except OSError as problem:
        return _unreadable(
            f"{path} cannot be read: {problem.strerror or problem}", "check the path and its permissions"
        )
    return read_text(text, form)


@lru_cache(maxsize=64)  # a command reads its document several times
def read_text(text: str, form: Form) -> WorkloadReading:
    reading = read_document(text) if form == "md" else read_data(text, form)
    if any(d.code in {codes.UNREADABLE.id, codes.DATA.id} for d in reading.diagnostics):
        return reading
    workload = write_out_names(reading.workload)
    diagnostics = in_order((*reading.diagnostics, *check(workload, reading.places)))
    return WorkloadReading(without_unquoted_texts(workload), diagnostics, reading.places)


def write_text(workload: Workload, form: Form) -> str:
    return write_document(workload) if form == "md" else write_data(workload, form)


def _unreadable(message: str, fix: str) -> WorkloadReading:
    notes = Notes()
    notes.say(codes.UNREADABLE, None, message, fix)
    return WorkloadReading(Workload(), tuple(notes.diagnostics), Places())


SCHEMA_ID = "urn:prejoin:workload:1"
_FIX = "compare with the JSON Schema (`prejoin schema`), or with a document turned into YAML (`prejoin convert`)"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a workload in YAML or JSON."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "prejoin workload",
        "description": "Entities and access patterns: what an application stores and asks.",
        **msgspec.json.schema(Workload),
    }


def write_data(workload: Workload, form: TreeForm) -> str:
    # Answers of an interview may have words without quotes, which are plain texts there.
    return write_tree(msgspec.to_builtins(workload, str_keys=True, enc_hook=str), form)


def read_data(source: str, form: TreeForm) -> WorkloadReading:
    """The workload in a YAML or JSON text; a diagnostic if it is not one."""
    notes = Notes()
    try:
        plain, notes.places.spans = read_tree(source, form)
        written_workload: Workload = convert_tree(plain, notes.places.spans, Workload)
        workload = expand(with_contents(written_workload))
        move_places(notes.places, written_workload, workload)
        return WorkloadReading(workload, (), notes.places)
    except NotATreeError as problem:
        position = Text(problem.span.text, problem.span.line, problem.span.column)
        notes.say(codes.DATA, position, f"this is not a workload in {form.upper()}: {problem}", _FIX)
    return WorkloadReading(Workload(), tuple(notes.diagnostics), notes.places)
