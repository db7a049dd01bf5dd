"""The workload as YAML and JSON: the published schema, and files that are saved whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
import yaml

from prejoin.workload.data import json_schema
from prejoin.workload.files import read_file, read_text, save, write_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])


def test_the_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())


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
    said = [(d.code, d.line) for d in read_text(text, "yaml").diagnostics if d.severity == "error"]
    assert said == [("PJ202", 10)]


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    save(path, "old")
    path.chmod(0o640)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    save(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_link_keeps_pointing_at_what_it_points_at(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "link.md").symlink_to("real.md")
    save(tmp_path / "link.md", "new")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "new"


@pytest.mark.parametrize("text", ["\u2028", "\x7f", "\ufeff", "a\tb", "--- #", "x" * 2000, "\U0001f642", '"\\', "\x85"])
def test_json_may_hold_what_yaml_would_stumble_over(text: str) -> None:
    workload = Workload(title="T", notes=text, header={text: text})
    reading = read_text(write_text(workload, "json"), "json")
    assert reading.workload == workload
    assert reading.places.find(("notes",)) is not None
