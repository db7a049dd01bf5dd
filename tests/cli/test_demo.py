"""`prejoin demo`: from a document to answered questions; and what it says when that cannot be."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

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
