"""`prejoin build` generates everything from the document, and keeps everything written by hand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin
from tests.cli.terminal import Terminal

TEAMS = Path(__file__).parents[2] / "examples" / "teams" / "access-patterns.md"


@pytest.fixture
def teams(here: Path) -> Path:
    """A small document in an otherwise empty folder."""
    shutil.copy(TEAMS, here / "access-patterns.md")
    return here


def texts(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text("utf-8") for p in sorted(folder.rglob("*")) if p.is_file()}


def package(folder: Path) -> Path:
    return next(p.parent for p in folder.rglob("repository.py"))


def test_nothing_is_written_before_confirmation(prejoin: Prejoin, teams: Path) -> None:
    before = texts(teams)
    ran = prejoin("build")
    assert ran.status == 0
    assert "11 of 11 patterns served and proven" in ran.out
    assert "repository.py" in ran.out
    assert "nothing was written" in ran.err
    assert texts(teams) == before


@pytest.mark.slow
def test_built_project_passes_its_tests(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--yes").status == 0
    assert {"table-design.md", "query-interfaces.md", "keys.md", "template.yaml"} <= set(texts(teams))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=teams,
        env={"PYTHONPATH": str(teams), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    passed = re.search(r"(\d+) passed", ran.stdout)
    assert passed is not None
    assert int(passed[1]) >= 11, "a test for each pattern, and the refusals"


@pytest.mark.slow
def test_unchanged_files_are_not_written_again(prejoin: Prejoin, teams: Path) -> None:
    prejoin("build", "--yes")
    for name in ("__init__.py", "entities.py"):  # of one generated line, and of many
        file = package(teams) / name
        file.write_text(file.read_text("utf-8") + "\nOWN = 1\n", "utf-8")
    before = texts(teams)
    again = prejoin("build", "--yes")
    assert "up to date" in again.out
    assert "prove:" not in again.err
    assert texts(teams) == before
    assert prejoin("build", "--check").status == 0


@pytest.mark.slow
def test_a_check_fails_when_document_and_code_disagree(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--check").status == 1
    prejoin("build", "--yes")
    document = teams / "access-patterns.md"
    document.write_text(document.read_text("utf-8").replace("- `name` (string", "- `title` (string", 1), "utf-8")
    before = texts(teams)
    ran = prejoin("build", "--check")
    assert ran.status == 1
    assert "do not match" in ran.err
    assert texts(teams) == before
    assert prejoin("build", "--yes").status == 0
    assert prejoin("build", "--check").status == 0


@pytest.mark.slow
def test_lines_below_the_generated_ones_are_kept(prejoin: Prejoin, teams: Path) -> None:
    prejoin("build", "--yes")
    file = package(teams) / "entities.py"
    added = "\n\ndef greeting() -> str:\n    return 'hello'\n"
    file.write_text(file.read_text("utf-8") + added, "utf-8")
    document = teams / "access-patterns.md"
    document.write_text(document.read_text("utf-8").replace("- `name` (string", "- `title` (string", 1), "utf-8")
    assert prejoin("build", "--yes").status == 0
    assert file.read_text("utf-8").endswith(added)
    assert "title" in file.read_text("utf-8")


def test_files_changed_by_hand_are_kept_and_reported(prejoin: Prejoin, teams: Path) -> None:
    prejoin("build", "--yes")
    file = package(teams) / "repository.py"
    for one in (file, teams / "keys.md"):
        one.write_text(one.read_text("utf-8").replace("User", "Person", 1), "utf-8")
    before = texts(teams)
    ran = prejoin("build", "--yes", "--diff")
    assert ran.status == 1
    assert "lines that were generated have been changed by hand" in ran.err
    assert "keys.md: error PJ062: not written" in ran.err
    assert "+++" in ran.out
    assert texts(teams) == before
    file.unlink()
    (teams / "keys.md").unlink()
    assert prejoin("build", "--yes").status == 0
    assert prejoin("build", "--check").status == 0


def test_an_approved_design_stays_and_grows(prejoin: Prejoin, teams: Path) -> None:
    prejoin("build", "--yes")
    design = teams / "table-design.md"
    design.write_text(design.read_text("utf-8").replace("Status: DRAFT", "Status: APPROVED"), "utf-8")
    document = teams / "access-patterns.md"
    text = document.read_text("utf-8")
    document.write_text(text.replace("## Decisions", "## Decisions\n\n- at most 9 GSIs", 1), "utf-8")
    assert prejoin("build", "--yes").status == 0
    assert "Status: APPROVED" in design.read_text("utf-8")


@pytest.mark.slow
def test_changed_picture_is_listed_without_a_diff(prejoin: Prejoin, teams: Path) -> None:
    out = prejoin("build", "--diff").out
    assert "pictures/table.svg: a new picture" in out
    assert "<svg" not in out
    assert "+++ keys.md (generated)" in out


def test_table_design_is_refused_with_the_document_to_pass(prejoin: Prejoin, teams: Path) -> None:
    (teams / "table-design.md").write_text("# Teams\n")
    ran = prejoin("build", "--yes", "table-design.md")
    assert ran.status == 1
    assert "table-design.md is a table design" in ran.err
    assert "pass its access patterns, such as access-patterns.md" in ran.err


def test_errors_stop_it_before_anything_is_made(prejoin: Prejoin, teams: Path) -> None:
    document = teams / "access-patterns.md"
    document.write_text(document.read_text("utf-8").replace("| userId", "| usrId", 1), "utf-8")
    before = texts(teams)
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    assert "nothing was built" in ran.err
    assert texts(teams) == before


@pytest.mark.everyday(1)
@pytest.mark.parametrize("style", ["msgspec", "pydantic"])
def test_entities_come_in_the_style_that_is_asked_for(prejoin: Prejoin, teams: Path, style: str) -> None:
    assert prejoin("build", "--yes", "--style", style, "--package", "app", "--infrastructure", "none").status == 0
    text = (teams / "app" / "entities.py").read_text("utf-8")
    assert {"msgspec": "Struct", "pydantic": "BaseModel"}[style] in text
    assert not (teams / "template.yaml").exists()


@pytest.mark.slow
def test_scripts_get_all_of_it(prejoin: Prejoin, teams: Path) -> None:
    result = prejoin("build", "--yes", "--format", "json").json["result"]
    assert result["written"]
    assert result["proven"]
    assert {one["state"] for one in result["files"]} == {"new"}
    again = prejoin("build", "--format", "json").json["result"]
    assert {one["state"] for one in again["files"]} == {"same"}


@pytest.mark.slow
def test_steps_and_next_commands_are_printed(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("build", "--yes")
    told = [line.split(":")[0] for line in ran.err.splitlines()]
    assert told[:6] == ["check", "design", "prove", "test", "render", "write"]
    assert "next: `prejoin query AP-001` runs" in ran.err
    assert "next: `python -m pytest` runs the tests" in ran.err
    assert prejoin("build", "--yes").err == ""
    assert prejoin("build", "--check", "--format", "json").err == ""


@pytest.mark.slow
def test_unchanged_design_is_not_made_again(prejoin: Prejoin, teams: Path) -> None:
    prejoin("build", "--yes")
    whole = texts(teams)
    (teams / "keys.md").unlink()
    ran = prejoin("build", "--yes", "--workbench")
    assert ran.status == 0
    assert "unchanged since it was proven" in ran.err
    assert "prove:" not in ran.err
    assert {path: text for path, text in texts(teams).items() if path in whole and "build" not in path} == {
        path: text for path, text in whole.items() if "build" not in path
    }
    assert "prove: 11 of 11" in prejoin("build", "--check", "--workbench").err
    design = teams / "table-design.md"
    design.write_text(design.read_text("utf-8").replace("## Table", "Looked at.\n\n## Table", 1), "utf-8")
    assert "prove: 11 of 11" in prejoin("build", "--yes", "--workbench").err


@pytest.mark.slow
def test_on_a_terminal_it_asks_and_tells_how_far_it_is(teams: Path) -> None:
    terminal = Terminal("build", folder=teams)
    terminal.expect("11 of 11 patterns proven")
    terminal.expect("Write the files? [y/n] ")
    assert not (teams / "keys.md").exists()
    terminal.send("y\n")
    terminal.expect("next: ")
    assert terminal.status() == 0
    assert (teams / "keys.md").exists()
    (teams / "keys.md").unlink()
    terminal = Terminal("build", folder=teams)
    terminal.expect("Write the files? [y/n] ")
    terminal.send("n\n")
    terminal.expect("nothing was written")
    assert terminal.status() == 0
    assert not (teams / "keys.md").exists()
