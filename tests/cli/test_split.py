"""`prejoin split`: one table against several, with a document for each that can be designed on its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin
from tests.design.whatif.test_tables import BANK

NEED = "Visit needs its own authorisation"


@pytest.fixture
def bank(here: Path) -> Path:
    (here / "access-patterns.md").write_text(BANK.format(decision="no copies"), encoding="utf-8")
    return here


def test_tables_are_compared_and_nothing_is_written(prejoin: Prejoin, bank: Path) -> None:
    ran = prejoin("split", "--decide", NEED, "--format", "json")
    assert ran.status == 0, ran.err
    result = ran.json["result"]
    assert [table["name"] for table in result["tables"]] == ["Visit", "rest"]
    assert result["files"] == []
    assert [path.name for path in bank.iterdir()] == ["access-patterns.md"]


def test_document_of_each_table_has_no_errors(prejoin: Prejoin, bank: Path) -> None:
    ran = prejoin("split", "--decide", NEED, "-o", "tables")
    assert ran.status == 0, ran.err
    assert "Several tables: " in ran.out
    assert prejoin("check", "tables/visit/access-patterns.md", "tables/rest/access-patterns.md").status == 0
    again = prejoin("split", "--decide", NEED, "-o", "tables")
    assert again.status == 4
    assert prejoin("split", "--decide", NEED, "-o", "tables", "--force").status == 0


def test_folder_that_is_a_file_is_an_error(prejoin: Prejoin, bank: Path) -> None:
    ran = prejoin("split", "--decide", NEED, "-o", "access-patterns.md")
    assert ran.status != 0
    assert "is a file" in ran.err
    assert (bank / "access-patterns.md").is_file()


def test_document_without_needs_is_refused(prejoin: Prejoin, bank: Path) -> None:
    ran = prejoin("split")
    assert ran.status == 2
    assert "PJ039" in ran.err


def test_entity_in_two_statements_is_refused(prejoin: Prejoin, bank: Path) -> None:
    ran = prejoin("split", "--decide", NEED, "--decide", "Visit and Payment need their own stream")
    assert ran.status != 0
    assert "`Visit` has two tables of its own" in ran.err


def test_design_tells_what_several_tables_would_cost(prejoin: Prejoin, bank: Path) -> None:
    ran = prejoin("design", "--decide", "Payment needs its own stream", "--no-proof")
    assert "One table: AP-020 cannot be done as it is with several" in ran.out
    assert "prejoin split access-patterns.md -o FOLDER" in ran.out
