"""`prejoin demo` runs the patterns of a document; and its messages when it cannot."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from prejoin.cli.run import run
from prejoin.cli.text.tables import fit_columns

BY_HAND = Path(__file__).parents[1] / "designs"
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


@pytest.mark.slow
def test_changed_pattern_changes_its_requests(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(
        shop,
        "| A user's orders, newest first | userId | Collection | placedAt DESC |",
        "| Some | userId, placedAt last 3 days | Collection | placedAt ASC |",
    )
    assert run(["demo", str(shop), "--format", "json"]) == 0
    patterns = {p["id"]: p for p in json.loads(capsys.readouterr().out)["result"]["patterns"]}
    assert "ORDER#20" in patterns["AP-004"]["calls"][0]["key"]


@pytest.mark.slow
def test_pattern_in_another_order_gets_its_own_key(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(
        shop,
        "| A user's orders, newest first | userId | Collection | placedAt DESC |",
        "| Dearest | userId | Collection | total DESC |",
    )
    assert run(["demo", str(shop)]) == 0
    out = capsys.readouterr().out
    assert "17 of 17" in out
    assert "#{total}#" in out


def test_a_pattern_that_no_key_of_a_design_serves_is_shown_with_the_key_that_would(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(
        shop,
        "| A user's orders, newest first | userId | Collection | placedAt DESC |",
        "| Dearest | userId | Collection | total DESC |",
    )
    assert run(["demo", str(shop), "--design", str(BY_HAND / "shop.yaml")]) == 1
    captured = capsys.readouterr()
    assert "16 of 17" in captured.out
    assert "not served" in captured.out
    assert "error PJ031: AP-004 is not served" in captured.err
    assert "sort key starting with total" in captured.err


def test_a_document_with_errors_is_not_run(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(shop, "| AP-002 | User | Sign in by e-mail | email |", "| AP-002 | User | Sign in by e-mail | mail |")
    assert run(["demo", str(shop)]) == 1
    captured = capsys.readouterr()
    assert "did you mean `email`?" in captured.err
    assert captured.out == ""


def test_missing_or_invalid_design_is_reported(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(shop), "--design", "nowhere.yaml"]) == 1
    assert "nowhere.yaml cannot be read" in capsys.readouterr().err
    assert run(["demo", str(shop), "--design", str(BY_HAND / "metrics.yaml")]) == 1
    assert "there is no entity" in capsys.readouterr().err


def test_contradicting_decisions_are_reported(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(shop, "- Address lives under User\n", "- Address lives under User\n- Product lives under User\n")
    assert run(["demo", str(shop)]) == 1
    assert "says why" in capsys.readouterr().err


def test_an_example_is_written_to_be_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "access-patterns.md"
    assert run(["init", "--example", "shop", str(path)]) == 0
    assert path.read_text(encoding="utf-8") == (SHOP / "access-patterns.md").read_text(encoding="utf-8")
    assert [one.name for one in tmp_path.iterdir()] == ["access-patterns.md"]
    assert run(["demo", str(path)]) == 0
    assert run(["init", "--example", "blog", str(path)]) == 4
    assert run(["init", "--example", "shpo", str(tmp_path / "b.md")]) == 2
    assert "shop" in capsys.readouterr().err


def test_rows_are_cut_to_the_width_of_the_terminal() -> None:
    header = ("Pattern", "", "Key")
    rows = [("AP-001", "d" * 40, "k" * 60), ("AP-002", "d", "k")]
    for width in (30, 50, 80):
        cut = fit_columns(header, rows, width, ((2, 10), (1, 10)))
        assert max(len("  ".join(row)) for row in cut) <= max(width, 33)
        assert cut[1] == rows[1]
    assert fit_columns(header, rows, None, ((2, 10), (1, 10))) == rows


def test_buckets_and_shards_are_one_query(capsys: pytest.CaptureFixture[str]) -> None:
    document = str(SHOP.parent / "metrics" / "access-patterns.md")
    for keys in ([], ["--design", str(BY_HAND / "metrics.yaml")]):
        assert run(["demo", document, *keys]) == 0
        assert "11 of 11 patterns answered" in capsys.readouterr().out
