"""`prejoin.toml`: generated files, properties of the table, roles; each key is checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import get_args

import pytest

from prejoin.pipeline.build.settings import FILE, Language, read_settings
from prejoin.render.infrastructure.languages import LANGUAGES
from tests.cli.conftest import Prejoin

TEAMS = Path(__file__).parents[1] / "small.md"
ALL = """
style = "msgspec"
package = "club"
infrastructure = ["cloudformation", "terraform", "cdk-python", "cdk-typescript", "sst"]
workbench = true

[table]
billing = "PROVISIONED"
reads = { least = 7, most = 70, target = 50 }
stream = "NEW_IMAGE"
encryption = "customer"
deletion-protection = false
tags = { team = "orders" }

[roles]
desk = ["AP-001", "AP-020"]
report = "reads"
admin = "all"
"""


@pytest.fixture
def teams(here: Path) -> Path:
    shutil.copy(TEAMS, here / "access-patterns.md")
    return here


def test_settings_decide_what_is_built(prejoin: Prejoin, teams: Path) -> None:
    (teams / FILE).write_text(ALL, "utf-8")
    ran = prejoin("build", "--yes")
    assert ran.status == 0, ran.err
    assert "Struct" in (teams / "club" / "entities.py").read_text("utf-8")
    assert json.loads((teams / "workbench.json").read_text("utf-8"))["ModelName"] == "Teams"
    template = (teams / "template.yaml").read_text("utf-8")
    for said in (
        "MinCapacity: 7",
        "NEW_IMAGE",
        "AWS::KMS::Key",
        "DeletionProtectionEnabled: false",
        "team",
        "DeskPolicy",
    ):
        assert said in template, said
    assert template.count("AWS::IAM::ManagedPolicy") == 4  # one is for the consumers of the stream
    for path in ("terraform/main.tf", "cdk/teams_table.py", "cdk/teams-table.ts", "infra/table.ts"):
        assert (teams / path).exists(), path
    assert "up to date" in prejoin("build").out
    assert prejoin("build", "--check").status == 0


def test_the_command_line_comes_first(prejoin: Prejoin, teams: Path) -> None:
    (teams / FILE).write_text('style = "msgspec"\npackage = "club"\nworkbench = true\ninfrastructure = []\n', "utf-8")
    options = ("--package", "team", "--no-workbench", "--infrastructure", "terraform")
    assert prejoin("build", "--yes", *options).status == 0
    assert "Struct" in (teams / "team" / "entities.py").read_text("utf-8")
    assert (teams / "terraform").exists()
    assert not any((teams / name).exists() for name in ("club", "template.yaml", "workbench.json"))


@pytest.mark.slow
def test_changed_settings_are_built(prejoin: Prejoin, teams: Path) -> None:
    assert prejoin("build", "--yes").status == 0
    (teams / FILE).write_text('[table]\nstream = "KEYS_ONLY"\n', "utf-8")
    ran = prejoin("build", "--check", "--format", "json")
    assert [(one["file"], one["code"]) for one in ran.json["diagnostics"]] == [("template.yaml", "PJ060")]
    assert prejoin("build", "--yes").status == 0
    assert prejoin("build", "--check").status == 0


@pytest.mark.parametrize(
    ("text", "line", "code", "fix"),
    [
        ('styel = "msgspec"', 1, "PJ051", "did you mean `style`?"),
        ('\nstyle = "pydantik"', 2, "PJ052", 'did you mean `"pydantic"`?'),
        ('infrastructure = ["terrafrom"]', 1, "PJ052", 'did you mean `"terraform"`?'),
        ("workbench = 1", 1, "PJ052", "write `true` or `false`"),
        ('package = "my-app"', 1, "PJ052", "small letters"),
        ('package = "tests"', 1, "PJ052", "another name"),
        ("[table]\npoint_in_time_recovery = true", 2, "PJ051", "did you mean `point-in-time-recovery`?"),
        ("[table]\nroles = []", 2, "PJ051", "there are"),
        ('[table]\nbilling = "cheap"', 2, "PJ052", '`"PAY_PER_REQUEST"`'),
        ("[table.reads]\nleast = 5\nmsot = 9", 3, "PJ051", "did you mean `most`?"),
        ("[table]\nreads = { most = true }", 2, "PJ052", "write a whole number"),
        ("[table]\ntags = { a = 1 }", 2, "PJ052", "texts"),
        ("[roles]\nadmin = []", 2, "PJ052", '"all"'),
        ('[roles]\nadmin = "alles"', 2, "PJ052", '"all"'),
        ('roles = "all"', 1, "PJ052", "AP-001"),
        ('[roles]\ndesk = [\n  "AP-001",\n  "AP-0022",\n]', 4, "PJ052", "did you mean"),
        ("style = ", 1, "PJ050", "toml.io"),
        ("\nstyle = msgspec", 2, "PJ050", "toml.io"),
    ],
)
def test_errors_have_a_place(prejoin: Prejoin, teams: Path, text: str, line: int, code: str, fix: str) -> None:
    (teams / FILE).write_text(text, "utf-8")
    ran = prejoin("build", "--yes", "--format", "json")
    assert ran.status == 1
    (diagnostic,) = ran.json["diagnostics"]
    assert (diagnostic["file"], diagnostic["line"], diagnostic["code"]) == (FILE, line, code)
    assert fix in diagnostic["fix"]
    assert not (teams / "template.yaml").exists()


@pytest.mark.everyday(1)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[table]\ntags = { "aws:x" = "1" }', "those of AWS"),
        ('[table]\nkey-arn = "arn:aws:kms:x"', "customer"),
        ("[table]\nreads = { least = 9, most = 5 }", "not above the most"),
        ('[roles]\n"9lives" = "all"', "begins with a letter"),
    ],
)
def test_settings_that_aws_refuses_are_refused(prejoin: Prejoin, teams: Path, text: str, message: str) -> None:
    (teams / FILE).write_text(text, "utf-8")
    ran = prejoin("build", "--yes")
    assert ran.status == 1
    assert f"{FILE}: error PJ053" in ran.err
    assert message in ran.err
    assert not (teams / "template.yaml").exists()


def test_role_for_an_absent_kind_of_pattern_gets_no_permissions(prejoin: Prejoin, here: Path) -> None:
    assert prejoin("init", "--entity", "User: userId (uuid, id)", "--read", "User by userId").status == 0
    document = here / "access-patterns.md"
    text = document.read_text("utf-8")
    document.write_text("\n".join(line for line in text.splitlines() if "Create" not in line and "Delete" not in line))
    (here / FILE).write_text('[roles]\nclerk = "writes"\n', "utf-8")
    ran = prejoin("build")
    assert ran.status == 1
    assert "there are none" in ran.err


def test_a_title_that_gives_no_good_name_needs_one(prejoin: Prejoin, teams: Path) -> None:
    document = teams / "access-patterns.md"
    document.write_text(document.read_text("utf-8").replace("Teams", "Calendar", 1), "utf-8")
    ran = prejoin("build")
    assert ran.status == 1
    assert "`calendar` is the name of something else" in ran.err
    assert prejoin("build", "--package", "planner").status == 0


def test_every_language_can_be_asked_for() -> None:
    assert set(get_args(Language)) == set(LANGUAGES)


def test_empty_file_has_no_messages() -> None:
    assert read_settings("# nothing yet\n").diagnostics == ()
