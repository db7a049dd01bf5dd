"""`prejoin convert`: the same workload in another form, and no file overwritten without `--force`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from prejoin.workload.files import read_text
from prejoin.workload.starter import starter
from tests.cli.conftest import Prejoin

SHOP = Path(__file__).parents[2] / "examples" / "shop"


@pytest.fixture
def document(here: Path) -> Path:
    path = here / "a.md"
    path.write_text(starter(), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_document_round_trips(prejoin: Prejoin, document: Path, form: str) -> None:
    assert prejoin("convert", "a.md", "-o", f"b.{form}").status == 0
    assert prejoin("convert", f"b.{form}", "--to", "md").out == starter()


def test_to_markdown_gives_the_canonical_form(prejoin: Prejoin, document: Path) -> None:
    document.write_text(starter().replace("| Warm |", "|  warm|"), encoding="utf-8")
    assert prejoin("convert", "a.md", "--to", "md").out == starter()
    ran = prejoin("convert", "a.md", "--to", "md", "-o", "a.md", "--force")
    assert ran.status == 0
    assert document.read_text(encoding="utf-8") == starter()


def test_existing_file_is_overwritten_only_with_force(prejoin: Prejoin, document: Path) -> None:
    before = document.read_bytes()
    ran = prejoin("convert", "a.md", "--to", "md", "-o", "a.md")
    assert ran.status == 4
    assert "“Tool Library”, 4 entities, 12 reads, 5 writes, 3 deletes" in ran.err
    assert document.read_bytes() == before
    assert ran.out == ""


def test_comments_that_a_rewrite_would_lose_are_kept_aside(prejoin: Prejoin, document: Path) -> None:
    prejoin("convert", "a.md", "-o", "a.yaml")
    path = document.with_suffix(".yaml")
    commented = "# agreed with the team on Tuesday\n" + path.read_text(encoding="utf-8")
    path.write_text(commented, encoding="utf-8")
    ran = prejoin("convert", "a.yaml", "-o", "a.yaml", "--force")
    assert ran.status == 0
    assert "a.yaml.orig" in ran.err
    assert path.with_name("a.yaml.orig").read_text(encoding="utf-8") == commented


def test_document_with_errors_is_converted_only_with_anyway_and_loses_nothing(prejoin: Prejoin, wrong: Path) -> None:
    ran = prejoin("convert", "wrong.md", "--to", "yaml")
    assert (ran.status, ran.out) == (1, "")
    assert "PJ110" in ran.err
    assert "`--anyway`" in ran.err
    anyway = prejoin("convert", "wrong.md", "--to", "yaml", "--anyway")
    assert anyway.status == 0
    assert "strng" in anyway.out
    assert "2 errors;" in anyway.err
    assert read_text(anyway.out, "yaml").workload == read_text(wrong.read_text(encoding="utf-8"), "md").workload


def test_the_name_of_the_output_and_the_form_have_to_agree(prejoin: Prejoin, document: Path) -> None:
    assert prejoin("convert", "a.md", "--to", "md", "-o", "b.json").status == 2
    assert prejoin("convert", "a.md").status == 2


def test_a_text_that_markdown_cannot_carry_is_named_and_nothing_is_written(prejoin: Prejoin, here: Path) -> None:
    (here / "a.yaml").write_text('title: "two\\nlines"\n', encoding="utf-8")
    ran = prejoin("convert", "a.yaml", "-o", "b.md", "--anyway")
    assert ran.status == 1
    assert "PJ006" in ran.err
    assert not (here / "b.md").exists()


@pytest.mark.parametrize("name", ["none/b.yaml", "a.md/b.yaml"])
def test_a_path_that_cannot_be_written_is_a_message(prejoin: Prejoin, document: Path, name: str) -> None:
    ran = prejoin("convert", "a.md", "-o", name)
    assert ran.status == 1
    assert "PJ004" in ran.err


def test_design_round_trips_through_other_forms(prejoin: Prejoin, here: Path) -> None:
    for name in ("access-patterns.md", "table-design.md"):
        shutil.copy(SHOP / name, here / name)
    for name in ("table-design.yaml", "table-design.json"):
        assert prejoin("convert", "table-design.md", "-o", name).status == 0
        ran = prejoin("convert", name, "--to", "md")
        assert ran.status == 0
        assert (
            ran.out.partition("## Validation")[0]
            == (here / "table-design.md").read_text("utf-8").partition("## Validation")[0]
        )
    assert prejoin("convert", "table-design.md", "-o", "table-design.yaml").status == 4
    (here / "access-patterns.md").unlink()
    ran = prejoin("convert", "table-design.md", "--to", "yaml")
    assert ran.status == 1
    assert "nothing was converted" in ran.err
