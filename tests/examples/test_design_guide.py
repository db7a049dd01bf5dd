"""Runs all commands of the guide to designing in order, and compares their output with the guide."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Prejoin, here, prejoin  # noqa: F401 - fixtures

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "design.md"
_BLOCK = re.compile(r"^```(console|markdown)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def calls(block: str) -> list[tuple[list[str], list[str]]]:
    """The commands of a block, each with its shown output."""
    found: list[tuple[list[str], list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ prejoin "):
            found.append((shlex.split(line.removeprefix("$ prejoin ")), []))
        else:
            found[-1][1].append(line)
    return found


def shown(lines: list[str], message: str) -> str:
    """The first line that is not in the output, in order; `…` stands for anything."""
    at = 0
    printed = message.splitlines()
    for line in lines:
        if line == "…":
            continue
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        while at < len(printed) and not pattern.fullmatch(printed[at]):
            at += 1
        if at == len(printed):
            return line
        at += 1
    return ""


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_guide_shows_real_output(prejoin: Prejoin) -> None:  # noqa: F811
    ran = 0
    for kind, name, block in _BLOCK.findall(GUIDE.read_text("utf-8")):
        if kind == "markdown":
            Path(name).write_text(block, "utf-8")
            continue
        for arguments, lines in calls(block):
            wanted = 0
            if lines and (status := re.fullmatch(r"\[exit status (\d)\]", lines[-1])):
                wanted = int(status[1])
                lines = lines[:-1]
            answer = prejoin(*arguments)
            output = answer.out + answer.err
            assert answer.status == wanted, output
            assert shown(lines, output) == "", f"{arguments}: {output}"
            ran += 1
    assert ran == 19


def test_missing_line_is_reported() -> None:
    assert shown(["a", "…", "c…"], "a\nb\ncd\n") == ""
    assert shown(["b", "a"], "a\nb\n") == "a"


def test_the_guide_names_all_that_can_be_typed() -> None:
    from prejoin.cli.prompt.approval import _VERBS

    text = GUIDE.read_text("utf-8")
    for verb in _VERBS:
        assert re.search(rf"`{verb[0] if verb in ('yes', 'no') else verb}\b", text), verb
