"""The skills: installed where agents look, never over changed files, and every command in them works."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click
import pytest

from prejoin.cli.commands.skill import Skill, skills
from prejoin.cli.run import cli
from prejoin.pipeline.build.settings import read_settings
from tests.cli.conftest import Prejoin

NAMES = ["prejoin-access-patterns", "prejoin-table-design", "prejoin-query-interfaces"]


def commands(skill: Skill) -> list[tuple[list[str], int]]:
    """The commands in a skill's blocks, and whether each succeeds, which is the default."""
    found = []
    for block in re.findall(r"```bash\n(.*?)```", skill.text, re.DOTALL):
        for line in block.splitlines():
            text, _, status = line.partition("  # exit ")
            program, *arguments = shlex.split(text)
            assert program == "prejoin", line
            found.append((arguments, int(status or 0)))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("skill", skills(), ids=lambda skill: skill.name)
def test_commands_and_code_of_each_skill_run(
    prejoin: Prejoin, here: Path, skill: Skill, monkeypatch: pytest.MonkeyPatch
) -> None:
    for arguments, status in commands(skill):
        ran = prejoin(*arguments)
        assert ran.status == status, (arguments, ran.err, ran.out[-2000:])
        assert "--format" not in arguments or ran.json["exit"] == status
    code = "\n".join(re.findall(r"```python\n(.*?)```", skill.text, re.DOTALL))
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    exec(code, {"__name__": "skill"})


@pytest.mark.parametrize("skill", skills(), ids=lambda skill: skill.name)
def test_skill_has_the_form_that_agents_expect(skill: Skill) -> None:
    assert re.fullmatch(r"[a-z0-9-]{1,64}", skill.name)
    assert 100 < len(skill.description) <= 1024
    assert "Use when" in skill.description
    assert len(skill.text.splitlines()) < 500
    assert commands(skill)


@pytest.mark.parametrize("skill", skills(), ids=lambda skill: skill.name)
def test_names_in_skills_exist(prejoin: Prejoin, skill: Skill) -> None:
    for name in re.findall(r"`prejoin ([a-z]+)[ `]", skill.text):
        assert name in cli.names, name  # type: ignore[attr-defined]
    for code in re.findall(r"PJ\d{3}", skill.text):
        assert prejoin("explain", code).status == 0
    for name in re.findall(r"skill `([a-z-]+)`", skill.text):
        assert name in NAMES


@pytest.mark.parametrize("skill", skills(), ids=lambda skill: skill.name)
def test_options_in_skills_exist(skill: Skill) -> None:
    for text in re.findall(r"`prejoin ([a-z]+ [^`]*--[^`]*)`", skill.text):
        name, *words = text.replace("\n", " ").split()
        found = cli.get_command(click.Context(cli), name)
        assert found is not None, text
        known = {option for param in found.params for option in (*param.opts, *param.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known, text


def test_settings_in_a_skill_are_valid() -> None:
    texts = [text for skill in skills() for text in re.findall(r"```toml\n(.*?)```", skill.text, re.DOTALL)]
    assert texts
    for text in texts:
        assert read_settings(text).diagnostics == ()


def test_there_is_one_for_each_step(prejoin: Prejoin) -> None:
    assert [one["name"] for one in prejoin("skill", "list", "--format", "json").json["result"]["skills"]] == NAMES
    assert prejoin("skill", "list").out.splitlines()[0].startswith("prejoin-access-patterns")
    assert prejoin("skill", "show", "prejoin-table-design").out.startswith("---\nname: prejoin-table-design\n")


def test_skills_are_installed_where_agents_look(prejoin: Prejoin, here: Path) -> None:
    ran = prejoin("skill", "install", "--format", "json")
    assert ran.json["result"]["written"] == [f".agents/skills/{name}/SKILL.md" for name in NAMES]
    (here / ".claude").mkdir()
    assert prejoin("skill", "install", "prejoin-table-design").status == 0
    assert [path.parent.name for path in here.glob(".claude/skills/*/SKILL.md")] == ["prejoin-table-design"]
    assert prejoin("skill", "install", "--to", "elsewhere").status == 0
    for one in skills():
        assert (here / "elsewhere" / one.name / "SKILL.md").read_text(encoding="utf-8") == one.text


def test_installed_again_nothing_is_written(prejoin: Prejoin, here: Path) -> None:
    prejoin("skill", "install")
    path = here / ".agents/skills" / NAMES[0] / "SKILL.md"
    before = path.stat().st_mtime_ns
    ran = prejoin("skill", "install", "--format", "json")
    assert (ran.status, ran.json["result"]["written"], len(ran.json["result"]["unchanged"])) == (0, [], 3)
    assert path.stat().st_mtime_ns == before


def test_manual_changes_are_shown_and_kept_until_confirmed(prejoin: Prejoin, here: Path) -> None:
    prejoin("skill", "install")
    path = here / ".agents/skills" / NAMES[1] / "SKILL.md"
    theirs = path.read_text(encoding="utf-8") + "\nOur table is called shop-prod.\n"
    path.write_text(theirs, encoding="utf-8")
    (here / ".agents/skills" / NAMES[0] / "SKILL.md").unlink()
    ran = prejoin("skill", "install")
    assert ran.status == 4
    assert "-Our table is called shop-prod." in ran.err
    assert path.read_text(encoding="utf-8") == theirs
    assert not (here / ".agents/skills" / NAMES[0] / "SKILL.md").exists()
    assert prejoin("skill", "install", "--yes").status == 0
    assert path.read_text(encoding="utf-8") != theirs


def test_misuse_raises(prejoin: Prejoin, here: Path) -> None:
    assert prejoin("skill", "install", "prejoin-nonsense").status == 2
    assert prejoin("skill", "list", "--yes").status == 2
    assert prejoin("skill").status == 2
    (here / "file").write_text("", encoding="utf-8")
    assert prejoin("skill", "install", "--to", "file/skills").status == 1
