"""The harness: every attack is registered and can be run, and whatever happens to one becomes a row of the table."""

from __future__ import annotations

import ast
import os
import sys
import time
from pathlib import Path

import pytest
from tests.attack import report
from tests.attack.attacks import ATTACKS, Attack, attack
from tests.attack.report import Row, Run
from tests.attack.result import Result
from tests.attack.run import main, run_apart

HERE = Path(__file__).parent


def attack_functions() -> set[str]:
    """`module:function` of every function in this folder that takes (seconds, seed), by its source."""
    return {
        f"{path.stem}:{node.name}"
        for path in HERE.glob("*.py")
        if not path.name.startswith("test_")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and [one.arg for one in node.args.args][:2] == ["seconds", "seed"]
    }


def test_every_attack_in_this_folder_is_registered() -> None:
    assert attack_functions() == {one.function for one in ATTACKS}


@pytest.mark.parametrize("name", [one.name for one in ATTACKS])
def test_registered_attack_can_be_imported(name: str) -> None:
    assert callable(attack(name).load())


def test_attack_names_are_unique() -> None:
    assert len({one.name for one in ATTACKS}) == len(ATTACKS) > 5


def test_unknown_attack_lists_known_attacks() -> None:
    with pytest.raises(KeyError, match="there are kills, "):
        attack("nothing")


# --- Attacks that end badly -----------------------------------------------------------------------------------------


def finds(seconds: float, seed: int) -> Result:
    return Result(3, [f"one thing, seed {seed}"])


def raises(seconds: float, seed: int) -> Result:
    raise ValueError("out of the blue")


def dies(seconds: float, seed: int) -> Result:
    os._exit(9)


def hangs(seconds: float, seed: int) -> Result:
    time.sleep(600)
    raise AssertionError("never reached")


@pytest.mark.everyday(1)
@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
@pytest.mark.parametrize(
    ("function", "tries", "finding"),
    [
        ("finds", 3, "one thing, seed 5"),
        ("raises", 0, "ValueError: out of the blue"),
        ("dies", 0, "its process ended with 9"),
        ("hangs", 0, "did not end within 2 s"),
    ],
)
def test_attack_result_records_everything(function: str, tries: int, finding: str) -> None:
    patience = 2.0 if function == "hangs" else 100.0
    result = run_apart(Attack(function, f"test_harness:{function}"), 0.0, 5, patience)
    assert result.tries == tries
    assert [finding in one for one in result.findings] == [True]


# --- The report -----------------------------------------------------------------------------------------------------

RUN = Run(
    (
        Row("kills", "writers killed", "kills", 1500, (), 30.2),
        Row("keys", "hostile keys", "values", 20, ("a | b broke",), 1),
    ),
    60,
    7,
)


def test_text_has_a_line_for_each_attack_and_finding() -> None:
    text = report.as_text(RUN)
    assert "kills   1,500  kills   0         30\n" in text
    assert "  a | b broke\n" in text
    assert "Seed 7, Python 3." in text


def test_report_replaces_the_table_and_nothing_else() -> None:
    page = f"# Title\n\n{report.BEGIN}\nold\n{report.END}\n\nProse.\n"
    written = report.replaced(page, report.as_markdown(RUN))
    assert written.startswith("# Title\n")
    assert written.endswith("\nProse.\n")
    assert "old" not in written
    assert "| kills | writers killed | 1,500 kills | 0 |" in written
    assert "- a \\| b broke" in written
    assert report.replaced(written, report.as_markdown(RUN)) == written


def test_page_without_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="the page lacks"):
        report.replaced("# Title", "table")


def test_page_has_a_row_for_every_attack() -> None:
    """Fails when an attack is new: run `scripts/soak --attack --write-report`."""
    table = report.PAGE.read_text(encoding="utf-8").partition(report.BEGIN)[2].partition(report.END)[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("| ")][2:]
    assert rows == [one.name for one in ATTACKS]


def test_report_of_some_attacks_only_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "keys", "--write-report"])
    assert "leave out --only" in capsys.readouterr().err
