"""The workload as YAML and JSON: the published schema, and atomic writes of files."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from prejoin.workload.files import json_schema, read_file, read_text, write_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])


def test_the_schema_is_a_json_schema() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert not jsonschema.Draft202012Validator(schema).is_valid({"entities": "none"})


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_every_document_as_data_is_valid_by_the_schema_and_reads_back(path: Path) -> None:
    workload = read_file(path).workload
    validator = jsonschema.Draft202012Validator(json_schema())
    as_json, as_yaml = write_text(workload, "json"), write_text(workload, "yaml")
    validator.validate(json.loads(as_json))
    validator.validate(yaml.safe_load(as_yaml))
    assert read_text(as_json, "json").workload == read_text(as_yaml, "yaml").workload == workload


def test_checks_are_the_same_for_data_and_say_where() -> None:
    text = "title: T\nentities:\n- name: User\n  attributes:\n  - {name: userId, id: true}\nreads:\n- id: AP-001\n  entities: [User]\n  inputs:\n  - attribute: usrId\n  result: Single\n"
    diagnostics = [(d.code, d.line) for d in read_text(text, "yaml").diagnostics if d.severity == "error"]
    assert diagnostics == [("PJ202", 10)]


@pytest.mark.parametrize("text", ["\u2028", "\x7f", "\ufeff", "a\tb", "--- #", "x" * 2000, "\U0001f642", '"\\', "\x85"])
def test_json_supports_text_that_yaml_does_not(text: str) -> None:
    workload = Workload(title="T", notes=text, header={text: text})
    reading = read_text(write_text(workload, "json"), "json")
    assert reading.workload == workload
    assert reading.places.find(("notes",)) is not None
