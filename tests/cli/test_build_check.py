"""`prejoin build --check` reports disagreements with codes, and `--prune` removes outdated files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Prejoin

TEAMS = Path(__file__).parents[2] / "examples" / "teams" / "access-patterns.md"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small document, built once."""
    from prejoin.cli.run import run

    folder = tmp_path_factory.mktemp("built")
    shutil.copy(TEAMS, folder / "access-patterns.md")
    assert run(["build", str(folder / "access-patterns.md"), "--yes", "--format", "json"]) == 0
    return folder


@pytest.fixture
def teams(built: Path, here: Path) -> Path:
    shutil.copytree(built, here, dirs_exist_ok=True)
    return here


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")


def codes(ran: object) -> dict[str, str]:
    return {one["file"]: one["code"] for one in ran.json["diagnostics"]}  # type: ignore[attr-defined]


def change_the_document(folder: Path) -> None:
    edit(folder / "access-patterns.md", "- `name` (string", "- `title` (string")


def edit_the_keys_of_the_design(folder: Path) -> None:
    edit(folder / "table-design.md", "`USER#{userId}`", "`PERSON#{userId}`")


def edit_generated_lines(folder: Path) -> None:
    edit(folder / "teams" / "repository.py", "def ", "def my_")


def delete_a_file(folder: Path) -> None:
    (folder / "keys.md").unlink()


def leave_a_file_over(folder: Path) -> None:
    (folder / "old").mkdir()
    shutil.copy(folder / "teams" / "schema.py", folder / "old" / "schema.py")
    record = json.loads((folder / ".prejoin-build.json").read_text("utf-8"))
    record["files"]["old/schema.py"] = record["files"]["teams/schema.py"]
    (folder / ".prejoin-build.json").write_text(json.dumps(record), "utf-8")


def test_check_after_a_build_finds_no_difference(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--check").status == 0


@pytest.mark.everyday(3)  # the others design the table again
@pytest.mark.parametrize(
    ("disturb", "file", "code"),
    [
        (edit_generated_lines, "teams/repository.py", "PJ062"),
        (delete_a_file, "keys.md", "PJ061"),
        (leave_a_file_over, "old/schema.py", "PJ063"),
        (change_the_document, "teams/entities.py", "PJ060"),
        (edit_the_keys_of_the_design, "table-design.md", "PJ062"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_check_reports_each_difference(
    prejoin: Prejoin, teams: Path, disturb: Callable[[Path], None], file: str, code: str
) -> None:
    disturb(teams)
    ran = prejoin("build", "--check", "--format", "json")
    assert ran.status == 1
    assert codes(ran)[file] == code
    assert ran.err == ""


@pytest.mark.slow
def test_prose_in_the_design_disagrees_with_nothing(prejoin: Prejoin, teams: Path) -> None:
    edit(teams / "table-design.md", "## Table", "Reviewed by the team.\n\n## Table")
    assert prejoin("build", "--check").status == 0
    assert prejoin("build", "--yes").status == 0
    assert "Reviewed by the team." in (teams / "table-design.md").read_text("utf-8")


@pytest.mark.slow
def test_keys_that_people_changed_in_the_design_are_not_written_over(prejoin: Prejoin, teams: Path) -> None:
    edit_the_keys_of_the_design(teams)
    change_the_document(teams)
    before = (teams / "table-design.md").read_text("utf-8"), (teams / "teams" / "entities.py").read_text("utf-8")
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    assert "by hand would be lost" in ran.err
    assert "APPROVED" in ran.err
    assert before == (
        (teams / "table-design.md").read_text("utf-8"),
        (teams / "teams" / "entities.py").read_text("utf-8"),
    )
    edit(teams / "table-design.md", "Status: DRAFT", "Status: APPROVED")
    assert prejoin("build", "--yes").status == 0
    assert "PERSON#{user_id}" in (teams / "teams" / "schema.py").read_text("utf-8")


def test_errors_of_an_approved_design_are_reported(prejoin: Prejoin, teams: Path) -> None:
    edit(teams / "table-design.md", "Status: DRAFT", "Status: APPROVED")
    edit(teams / "table-design.md", "USER#{userId}", "USER#{usrId}")
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    assert "is APPROVED and has errors" in ran.err


def test_key_changes_are_reported(prejoin: Prejoin, teams: Path) -> None:
    decision = "- User has key `PERSON#{userId}` and `PROFILE`"
    edit(teams / "access-patterns.md", "## Decisions\n", f"## Decisions\n\n{decision}\n")
    ran = prejoin("build", "--yes")
    assert ran.status == 0
    assert "User in the table is at `PERSON#{userId} / PROFILE`, was `USER#{userId} / USER`" in ran.out


@pytest.mark.slow
def test_leftover_files_are_reported_and_deleted_only_with_prune(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--yes", "--package", "club").status == 0
    ran = prejoin("build", "--package", "club")
    assert ran.status == 0
    assert "not generated any more" in ran.err
    assert "teams/schema.py" in ran.err
    edit(teams / "teams" / "seed.py", "# Generated", "# Generated")
    with (teams / "teams" / "seed.py").open("a") as file:
        file.write("\n\nMINE = 1\n")
    would = prejoin("build", "--package", "club", "--prune")
    assert "teams/schema.py" in would.out
    assert "nothing was written" in would.err
    assert (teams / "teams" / "schema.py").exists()
    ran = prejoin("build", "--package", "club", "--prune", "--yes", "--format", "json")
    states = {one["path"]: one["state"] for one in ran.json["result"]["files"]}
    assert states["teams/schema.py"] == "deleted"
    assert states["teams/seed.py"] == "left"
    assert [path.name for path in (teams / "teams").iterdir()] == ["seed.py"]
    (teams / "teams" / "seed.py").unlink()
    assert prejoin("build", "--package", "club", "--check").status == 0


def test_a_record_cannot_have_anything_deleted_outside_of_its_folder(prejoin: Prejoin, teams: Path) -> None:
    outside = teams.parent / "outside.md"
    outside.write_text("", "utf-8")
    record = json.loads((teams / ".prejoin-build.json").read_text("utf-8"))
    record["files"] |= {"../outside.md": "e3b0c44298fc1c14", str(outside): "e3b0c44298fc1c14"}
    (teams / ".prejoin-build.json").write_text(json.dumps(record), "utf-8")
    assert prejoin("build", "--prune", "--yes").status == 0
    assert outside.exists()


def test_foreign_file_is_reported_at_each_build(prejoin: Prejoin, here: Path) -> None:
    shutil.copy(TEAMS, here / "access-patterns.md")
    (here / "keys.md").write_text("my keys\n", "utf-8")
    assert [prejoin("build", "--yes").status for _ in range(2)] == [1, 1]
    assert (here / "keys.md").read_text("utf-8") == "my keys\n"


@pytest.mark.slow
def test_lines_added_below_do_not_cause_a_rebuild(prejoin: Prejoin, teams: Path) -> None:
    with (teams / "teams" / "entities.py").open("a") as file:
        file.write("\n\nMINE = 1\n")
    assert "up to date" in prejoin("build").out
    assert prejoin("build", "--check").status == 0


@pytest.mark.parametrize("arguments", [("--check", "--yes"), ("--package", "my-app"), ("--package", "json")])
def test_misuse_raises(prejoin: Prejoin, teams: Path, arguments: tuple[str, ...]) -> None:
    assert prejoin("build", *arguments).status == 2


# --- Options --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_options_of_a_build_are_remembered(prejoin: Prejoin, here: Path) -> None:
    shutil.copy(TEAMS, here / "access-patterns.md")
    assert prejoin("build", "--yes", "--infrastructure", "sst", "--package", "club", "--style", "msgspec").status == 0
    ran = prejoin("build", "--check")
    assert ran.status == 0, ran.err
    assert "up to date" in prejoin("build").out
    change_the_document(here)
    assert prejoin("build", "--yes").status == 0  # without options: the package stays where it is
    assert "Struct" in (here / "club" / "entities.py").read_text("utf-8")
    assert not any((here / name).exists() for name in ("teams", "template.yaml"))
    assert prejoin("build", "--yes", "--infrastructure", "terraform").status == 0  # one is replaced, the rest stays
    assert (here / "terraform").exists()
    assert (here / "club").exists()
    assert prejoin("build", "--check").status == 1  # infra/table.ts of sst is outdated
    assert prejoin("build", "--yes", "--prune").status == 0
    assert prejoin("build", "--check").status == 0


@pytest.mark.slow
def test_settings_file_overrules_remembered_options(prejoin: Prejoin, here: Path) -> None:
    shutil.copy(TEAMS, here / "access-patterns.md")
    (here / "prejoin.toml").write_text('style = "msgspec"\n', "utf-8")
    assert prejoin("build", "--yes", "--style", "pydantic", "--no-tests", "--infrastructure", "none").status == 0
    ran = prejoin("build", "--check")
    assert ran.status == 1
    assert "the last build had `--style pydantic`, and prejoin.toml overrides it" in ran.err
    assert prejoin("build", "--yes").status == 0
    assert "Struct" in (here / "teams" / "entities.py").read_text("utf-8")
    assert not (here / "template.yaml").exists()
    assert prejoin("build", "--check").status == 0


@pytest.mark.everyday(1)  # each builds again
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| Table name     | `", "| Table name     | `other-"),
        ("| TTL attribute  | -", "| TTL attribute  | `goesAt`"),
        ("| Separator      | `#`", "| Separator      | `&`"),
        ("| Type attribute | `", "| Type attribute | `other"),
    ],
)
def test_settings_that_people_changed_in_the_design_are_not_written_over(
    prejoin: Prejoin, teams: Path, old: str, new: str
) -> None:
    edit(teams / "table-design.md", old, new)
    before = (teams / "table-design.md").read_text("utf-8")
    ran = prejoin("build", "--yes", "--no-tests")
    assert ran.status == 1
    assert "1 change by hand would be lost" in ran.err
    assert "--yes --replace" in ran.err
    assert (teams / "table-design.md").read_text("utf-8") == before
