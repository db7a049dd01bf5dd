"""The workload as YAML and JSON: the same model, the same checks, and the JSON Schema it is published with."""

from __future__ import annotations

from typing import Any

import msgspec

from prejoin.workload import codes
from prejoin.workload.data_tree import Form, NotATreeError, convert_tree, read_tree, write_tree
from prejoin.workload.document.markdown import Text
from prejoin.workload.model import Workload
from prejoin.workload.read_result import Notes, Reading
from prejoin.workload.tenants import expand, move_places

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


def write_data(workload: Workload, form: Form) -> str:
    return write_tree(msgspec.to_builtins(workload, str_keys=True), form)


def read_data(source: str, form: Form) -> Reading:
    """The workload in a YAML or JSON text; a message where it is not one."""
    notes = Notes()
    try:
        plain, notes.places.spans = read_tree(source, form)
        written: Workload = convert_tree(plain, notes.places.spans, Workload)
        workload = expand(written)
        move_places(notes.places, written, workload)
        return Reading(workload, (), notes.places)
    except NotATreeError as problem:
        where = Text(problem.span.text, problem.span.line, problem.span.column)
        notes.say(codes.DATA, where, f"this is not a workload in {form.upper()}: {problem}", _FIX)
    return Reading(Workload(), tuple(notes.diagnostics), notes.places)
