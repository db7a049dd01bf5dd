"""Running access patterns from Python."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from prejoin import Client
from prejoin.engine import Embedded
from prejoin.pipeline.build.build import build_project
from prejoin.pipeline.build.settings import Overrides
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.document import Document, read_document
from prejoin.pipeline.errors import InvalidArgumentError, PipelineError, RefusedError
from prejoin.pipeline.query.arguments import MissingArgumentsError
from prejoin.pipeline.query.query import plain, query_design, run_pattern
from prejoin.proof.package import load_package
from prejoin.workload.program.resolved_read import ReturnKind
from tests.pipeline.conftest import EXAMPLES


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The document of the example teams, with its design. Patterns change neither."""
    path = Path(shutil.copy(EXAMPLES / "teams" / "access-patterns.md", tmp_path_factory.mktemp("teams")))
    build_project(path, overrides=Overrides(tests=False)).write()
    return read_document(path)


@pytest.fixture
def place(document: Document, tmp_path: Path) -> TablePlace:
    """An empty table of the design, in a file."""
    found = query_design(document)
    file = str(tmp_path / "teams.db")
    with Embedded(file) as engine:
        Client(load_package(document.workload, found.design).schema, found.design.table, engine).create_table()
    return TablePlace(db=file)


def test_a_read_finds_sample_data(document: Document) -> None:
    found = run_pattern(document, "AP-001")
    assert found.made_up == set(found.arguments)
    assert found.items
    assert found.units > 0
    assert [call.operation for call in found.calls]


def test_arguments_are_texts_or_values_by_either_name(document: Document) -> None:
    (name,) = run_pattern(document, "AP-001").arguments
    value = run_pattern(document, "AP-001").arguments[name]
    texts = run_pattern(document, "ap-001", {name.replace("_", ""): str(value)})
    values = run_pattern(document, "AP-001", {name: value})
    assert texts.items == values.items
    assert not texts.made_up


def test_unknown_patterns_and_arguments_are_errors(document: Document) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no pattern AP-999"):
        run_pattern(document, "AP-999")
    with pytest.raises(InvalidArgumentError, match="AP-001 takes no colour"):
        run_pattern(document, "AP-001", {"colour": "red"})


def test_a_table_that_exists_needs_all_arguments(document: Document, place: TablePlace) -> None:
    with pytest.raises(MissingArgumentsError) as caught:
        run_pattern(document, "AP-001", place=place)
    assert list(caught.value.samples) == [param.name for param in query_design(document).method("AP-001").params]


def test_a_write_to_a_table_that_exists_is_confirmed(document: Document, place: TablePlace) -> None:
    found = query_design(document)
    write = next(w for w in document.workload.writes if found.methods[w.id].result.kind is ReturnKind.NOTHING)
    arguments = {name: json.dumps(plain(value)) for name, value in run_pattern(found, write.id).arguments.items()}
    with pytest.raises(RefusedError, match=f"{write.id} would change data"):
        run_pattern(found, write.id, arguments, place=place, confirm=lambda pattern: False)
    assert run_pattern(found, write.id, arguments, place=place).calls


def test_a_missing_table_is_an_error_that_names_the_others(document: Document, place: TablePlace) -> None:
    arguments = run_pattern(document, "AP-001").arguments
    with pytest.raises(PipelineError, match=r"there is no table `other`.*it has `teams`"):
        run_pattern(document, "AP-001", arguments, place=place, table="other")
