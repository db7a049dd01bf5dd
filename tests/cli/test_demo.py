"""`prejoin demo`: from a document to answered questions; and what it says when that cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from prejoin.cli.demo import _fitted
from prejoin.cli.run import run

SHOP = Path(__file__).parents[2] / "examples" / "shop"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    shutil.copytree(SHOP, tmp_path / "shop")
    return tmp_path / "shop" / "access-patterns.md"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_every_pattern_of_the_shop_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo"]) == 0
    out = capsys.readouterr().out
    assert "17 of 17 patterns answered" in out
    assert "✗" not in out


def test_a_changed_pattern_changes_what_is_asked(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(
        shop,
        "| A user's orders, newest first | userId | Collection | placedAt DESC |",
        "| Some | userId, placedAt last 3 days | Collection | placedAt ASC |",
    )
    assert run(["demo", str(shop), "--format", "json"]) == 0
    patterns = {p["id"]: p for p in json.loads(capsys.readouterr().out)["result"]["patterns"]}
    assert "ORDER#20" in patterns["AP-004"]["calls"][0]["key"]


def test_a_pattern_that_no_key_serves_is_shown_with_the_key_that_would(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(
        shop,
        "| A user's orders, newest first | userId | Collection | placedAt DESC |",
        "| Dearest | userId | Collection | total DESC |",
    )
    assert run(["demo", str(shop)]) == 1
    out = capsys.readouterr().out
    assert "16 of 17" in out
    assert "not served" in out
    assert "sort key starting with total" in out


def test_a_document_with_errors_is_not_run(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(shop, "| AP-002 | User | Sign in by e-mail | email |", "| AP-002 | User | Sign in by e-mail | mail |")
    assert run(["demo", str(shop)]) == 1
    captured = capsys.readouterr()
    assert "did you mean `email`?" in captured.err
    assert captured.out == ""


def test_without_a_design_it_says_where_one_would_be(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop.parent / "table-design.yaml").unlink()
    assert run(["demo", str(shop)]) == 1
    assert "table-design.yaml" in capsys.readouterr().err


def test_an_example_is_written_to_be_changed_with_its_design(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "access-patterns.md"
    assert run(["init", "--example", "shop", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == (SHOP / "access-patterns.md").read_text(encoding="utf-8")
    assert run(["demo", str(path)]) == 0
    assert run(["init", "--example", "blog", str(path)]) == 4
    assert run(["init", "--example", "shpo", str(tmp_path / "b.md")]) == 2
    assert "shop" in capsys.readouterr().err


def test_rows_are_cut_to_the_width_of_the_terminal() -> None:
    header = ("Pattern", "", "Key")
    rows = [("AP-001", "d" * 40, "k" * 60), ("AP-002", "d", "k")]
    for width in (30, 50, 80):
        fitted = _fitted(header, rows, width)
        assert max(len("  ".join(row)) for row in fitted) <= max(width, 33)
        assert fitted[1] == rows[1]
    assert _fitted(header, rows, None) == rows


def test_buckets_and_shards_are_one_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(SHOP.parent / "metrics" / "access-patterns.md")]) == 0
    assert "10 of 10 patterns answered" in capsys.readouterr().out
