"""The generated tests, run by `prejoin build`: its output, and a failing test."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path, PurePosixPath

import pytest

from prejoin.pipeline.build.build import _passed_tests
from prejoin.pipeline.build.generated_tests import run_tests
from prejoin.pipeline.document import read_document
from prejoin.pipeline.errors import InputError
from prejoin.pipeline.progress import SILENT
from prejoin.render.python import render_python
from tests.cli.conftest import Prejoin
from tests.render.designed import designed

ROOT = Path(__file__).parents[2]
TESTS = PurePosixPath("tests/test_repository.py")


@pytest.fixture
def teams(here: Path) -> Path:
    return Path(shutil.copy(ROOT / "examples" / "teams" / "access-patterns.md", here))


def broken() -> dict[PurePosixPath, str]:
    """A package with a method that does nothing."""
    files = dict(render_python(*designed("teams")))
    repository = PurePosixPath("teams/repository.py")
    assert files[repository].count("self.db.insert(team)") == 1
    files[repository] = files[repository].replace("self.db.insert(team)", "pass")
    return files


def test_build_runs_the_generated_tests(prejoin: Prejoin, teams: Path) -> None:
    ran = prejoin("build", "--yes")
    assert ran.status == 0
    assert "19 tests passed" in ran.err
    page = (teams.parent / "query-interfaces.md").read_text("utf-8")
    assert "11 methods, 11 tested" in page
    assert page.count("- **Tested by**:") == 11
    assert not [name for name in sys.modules if name.partition(".")[0] == "teams"]


@pytest.mark.slow
def test_tests_that_did_not_run_are_not_called_passed(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--yes", "--no-tests").status == 0
    page = (teams.parent / "query-interfaces.md").read_text("utf-8")
    assert "11 methods, 11 with a test" in page
    assert "Tested by" not in page
    (teams.parent / "prejoin.toml").write_text("tests = false\n")
    assert prejoin("build", "--check").status == 0


def test_tests_are_those_that_were_generated_and_not_those_on_disk(prejoin: Prejoin, teams: Path) -> None:
    (teams.parent / "teams").mkdir()
    (teams.parent / "teams" / "repository.py").write_text("raise SystemExit('imported')\n")
    assert "19 tests passed" in prejoin("build", "--yes").err


def test_failing_test_is_reported_by_name() -> None:
    ran = run_tests(broken(), "teams")
    assert ran.failed is not None
    refusal = "test_set_up_team_refuses_an_existing_team"
    assert [*ran.failed] == [f"{TESTS}::{name}" for name in ("test_set_up_team", refusal)]
    assert ran.failed[f"{TESTS}::{refusal}"] == "AssertionError: it was not refused"
    assert len(ran.passed) == 17


def test_failing_test_writes_nothing(teams: Path) -> None:
    with pytest.raises(InputError) as stopped:
        _passed_tests(run_tests(broken(), "teams"), read_document(teams), SILENT)
    diagnostic, _ = stopped.value.diagnostics  # of the refusal, too
    assert diagnostic.code == "PJ035"
    assert "test_set_up_team fails: AssertionError" in diagnostic.message
    assert "--no-tests" in (diagnostic.fix or "")


def test_generated_tests_are_skipped_without_their_packages() -> None:
    files = dict(render_python(*designed("teams")))
    files[TESTS] = files[TESTS].replace("import seed\n", "import seed\nimport not_installed_here\n")
    ran = run_tests(files, "teams")
    assert (ran.passed, ran.failed) == (frozenset(), None)
    assert "not_installed_here" in ran.problem
