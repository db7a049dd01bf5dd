"""The reference page lists every command and every option."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from prejoin.cli.run import cli
from prejoin.pipeline.build.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "command.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    found = re.search(rf"^## prejoin {name}\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert found, name
    return found[1]


def commands() -> dict[str, click.Command]:
    """All commands, those of a group as `migrate load`."""
    found: dict[str, click.Command] = {}
    for name in cli.names:  # type: ignore[attr-defined]
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {one}": below for one, below in command.commands.items()}
    return found


@pytest.mark.parametrize("name", commands())
def test_reference_lists_exactly_the_options(name: str) -> None:
    command = commands()[name]
    options = {opt for p in command.params if isinstance(p, click.Option) for opt in (*p.opts, *p.secondary_opts)}
    shared = {"--format", "-h", "--help"}
    text = section(name)
    missing = {one for one in options - shared if one.startswith("--") and one not in text}
    assert not missing - {"--output"}
    synopsis = text.split("```")[1] if "```" in text else text.split("`")[1]
    assert set(re.findall(r"--[a-z][a-z-]+", synopsis)) <= options | shared


def test_reference_lists_every_setting() -> None:
    text = section("build")
    for name in (field.replace("_", "-") for field in Settings.__struct_fields__):
        assert f"`{name}`" in text or f"`[{name}]`" in text, name
