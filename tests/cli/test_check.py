"""`prejoin check`: messages, their positions, and exit statuses."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from prejoin.cli.outcome import Line
from prejoin.cli.text.messages import cells, messages
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.pipeline.errors import Source
from prejoin.workload.starter import starter
from tests.cli.conftest import Prejoin

SHOP = Path(__file__).parents[2] / "examples" / "shop"


def test_a_document_without_errors_is_fine(prejoin: Prejoin, here: Path) -> None:
    (here / "a.md").write_text(starter(), encoding="utf-8")
    ran = prejoin("check", "a.md", "--no-hints")
    assert (ran.status, ran.out) == (0, "a.md: fine. 4 entities, 12 reads, 5 writes, 3 deletes.\n")
    assert ran.err == "next: `prejoin design a.md` designs its table\n"
    assert prejoin("check", "a.md", "--format", "json").json["result"]["next"] == ["prejoin design a.md"]


def test_error_shows_place_underline_and_fix(prejoin: Prejoin, wrong: Path) -> None:
    ran = prejoin("check", "wrong.md")
    assert ran.status == 1
    assert "wrong.md:9:14: error PJ110: `strng` is not a type\n" in ran.out
    lines = ran.out.split("\n")
    at = next(i for i, line in enumerate(lines) if line.endswith("`email` (strng, unique)"))
    assert lines[at + 1].index("^") == lines[at].index("strng")
    assert lines[at + 1].count("^") == len("strng")
    assert lines[at + 2] == "  fix: write `string`"
    assert "2 errors" in ran.out.strip().split("\n")[-1]
    assert "`prejoin explain PJ110` explains more" in ran.out


def test_without_a_file_it_is_the_document_of_the_usual_name(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("check")
    assert ran.status == 2
    assert "there is no `access-patterns.md` here" in ran.err
    (here / "access-patterns.md").write_text(starter(), encoding="utf-8")
    assert prejoin("check").status == 0


def test_standard_input_is_checked_in_the_given_format(prejoin: Prejoin, here: Path) -> None:
    assert prejoin("check", "-", stdin=starter().encode()).status == 0
    yaml = prejoin("convert", "-", "--to", "yaml", stdin=starter().encode()).out
    assert prejoin("check", "-", "--as", "yaml", stdin=yaml.encode()).status == 0
    assert prejoin("check", "-", stdin=yaml.encode()).status == 1
    assert "<stdin>: error PJ100: standard input is not UTF-8" in prejoin("check", "-", stdin=b"\xff\xfe").out


def test_file_with_another_suffix_is_read_with_an_explicit_format(prejoin: Prejoin, here: Path) -> None:
    (here / "notes.txt").write_text(starter(), encoding="utf-8")
    refused = prejoin("check", "notes.txt")
    assert refused.status == 1
    assert "`--as md`" in refused.out
    assert prejoin("check", "notes.txt", "--as", "md").status == 0


@pytest.mark.parametrize(
    ("name", "message"), [("none.md", "No such file"), (".", "is a folder"), ("none/x.md", "No such file")]
)
def test_unreadable_input_is_a_message(prejoin: Prejoin, here: Path, name: str, message: str) -> None:
    ran = prejoin("check", name)
    assert ran.status == 1
    assert "PJ100" in ran.out
    assert message in ran.out


def test_strict_fails_on_warnings(prejoin: Prejoin, here: Path) -> None:
    (here / "a.md").write_text(starter().replace("# Tool Library\n", "", 1), encoding="utf-8")
    assert prejoin("check", "a.md").status == 0
    assert prejoin("check", "a.md", "--strict").status == 1


def test_several_files_are_each_summed_up(prejoin: Prejoin, wrong: Path) -> None:
    (wrong.parent / "a.md").write_text(starter(), encoding="utf-8")
    ran = prejoin("check", "a.md", "wrong.md", "--no-hints")
    assert ran.status == 1
    assert ran.out.strip().split("\n")[-2] == "a.md: fine. 4 entities, 12 reads, 5 writes, 3 deletes."
    assert [f["errors"] for f in prejoin("check", "a.md", "wrong.md", "--format", "json").json["result"]["files"]] == [
        0,
        2,
    ]


def _plain(lines: Iterable[Line]) -> list[str]:
    return ["".join(p if isinstance(p, str) else p[0] for p in line) for line in lines]


def _rendered(line: str, word: str) -> list[str]:
    d = Diagnostic("PJ110", Severity.ERROR, "wrong", "right", 1, line.index(word) + 1, word)
    return _plain(messages([Source("a.md", line, (d,))]))


@pytest.mark.parametrize(
    "line", ["- `名前` (strng)", "\t- x (strng)", "é ｆｕｌｌ (strng)", "x" * 300 + " strng " + "y" * 300]
)
def test_underline_is_aligned_after_any_text(line: str) -> None:
    _, shown, mark, _ = _rendered(line, "strng")
    assert cells(shown[: shown.index("strng")]) == mark.index("^")
    assert mark.count("^") == 5
    assert cells(shown) <= 100


def test_control_characters_are_not_printed() -> None:
    shown = "\n".join(_rendered("\x1b[2J\u202e strng", "strng"))
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_equal_hints_are_grouped_with_one_fix() -> None:
    hints = [Diagnostic("PJ4", Severity.HINT, f"m{n}", "do", n, 1) for n in (1, 2)]
    other = Diagnostic("PJ5", Severity.HINT, "o", "other", 1, 1)
    text = _plain(messages([Source("a.md", "", (hints[0], other, hints[1]))]))
    assert text[:3] == ["a.md:1:1: hint PJ4: m1", "a.md:2:1: hint PJ4: m2", "  fix: do"]


# --- Designs ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(here: Path) -> Path:
    """The shop's document and its design."""
    for name in ("access-patterns.md", "table-design.md"):
        shutil.copy(SHOP / name, here / name)
    return here / "table-design.md"


def test_a_design_is_checked_against_its_access_patterns(prejoin: Prejoin, shop: Path) -> None:
    ran = prejoin("check", "table-design.md", "access-patterns.md")
    assert ran.status == 0
    assert "in table-design.md (5 entities, 4 indexes, 17 access patterns)" in ran.out
    assert "in access-patterns.md (5 entities, 10 reads" in ran.out
    files = prejoin("check", "table-design.md", "--format", "json").json["result"]["files"]
    assert (files[0]["table"], files[0]["for"], files[0]["errors"]) == ("shop", "access-patterns.md", 0)


def test_mistake_in_a_design_is_shown_with_its_position(prejoin: Prejoin, shop: Path) -> None:
    text = shop.read_text("utf-8")
    line = text[: text.index("`PRODUCT#{productId}`")].count("\n") + 1
    shop.write_text(text.replace("`PRODUCT#{productId}`", "`PRODUCT#{stock}`", 1), "utf-8")
    ran = prejoin("check", "table-design.md", "--no-hints")
    assert ran.status == 1
    assert "error PJ515" in ran.out
    assert f"table-design.md:{line}:" in ran.out


def test_design_without_its_document_is_an_error(prejoin: Prejoin, shop: Path) -> None:
    folder = shop.parent
    (folder / "access-patterns.md").rename(folder / "asked.md")
    ran = prejoin("check", "table-design.md")
    assert ran.status == 1
    assert "error PJ034: its access patterns, access-patterns.md, have errors or cannot" in ran.out
    assert prejoin("check", "table-design.md", "--for", "asked.md").status == 0
    shop.write_text(
        shop.read_text("utf-8").replace("> Access patterns: access-patterns.md", "> Access patterns: asked.md"), "utf-8"
    )
    assert prejoin("check", "table-design.md").status == 0


@pytest.mark.slow
def test_design_is_recognised_by_its_content(prejoin: Prejoin, shop: Path) -> None:
    shop.rename(shop.parent / "keys.md")
    assert "17 access patterns" in prejoin("check", "keys.md").out
    prejoin("convert", "keys.md", "-o", "keys.yaml")
    assert "17 access patterns" in prejoin("check", "keys.yaml").out


def test_missing_design_is_reported(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("check", "table-design.md")
    assert ran.status == 1
    assert "table-design.md: nothing could be read" in ran.out
