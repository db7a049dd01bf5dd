"""The guide to explanations shows what is really said. `python -m tests.design.test_explain_guide` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.solutions import solve

from prejoin.design.explain import Explanation, add_alternatives, explain, why
from prejoin.design.explain.text import block_lines, partition_block, sections
from prejoin.design.solver.solve import Solution
from prejoin.design.whatif.alternatives import without_pattern
from prejoin.design.whatif.attempt import WhatIf
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "design-explained.md"
_BLOCK = re.compile(r"<!-- (\w+): (.+?) -->\n```text\n(.*?)```", re.DOTALL)


def refreshed(text: str) -> str:
    """The guide with its blocks as they are now."""
    made: dict[str, tuple[Workload, Solution, Explanation]] = {}

    def block(found: re.Match[str]) -> str:
        name, asked = found[1], found[2]
        if name not in made:
            made[name] = _explained(name)
        return f"<!-- {name}: {asked} -->\n```text\n" + "\n".join(_said(*made[name], asked)) + "\n```"

    return _BLOCK.sub(block, text)


def _explained(name: str) -> tuple[Workload, Solution, Explanation]:
    folder = next(f for f in (ROOT / "examples" / name, ROOT / "tests" / "corpus" / name) if f.is_dir())
    workload = read_file(folder / "access-patterns.md").workload
    solution = solve(workload)
    return workload, solution, add_alternatives(WhatIf(workload, solution), explain(workload, solution))


def _said(workload: Workload, solution: Solution, explanation: Explanation, asked: str) -> list[str]:
    what, _, topic = asked.partition(" ")
    if what == "table":
        _, blocks = next(sections(explanation))
        return block_lines(blocks[0])
    if what == "partitions":
        return [line for one in explanation.partitions for line in block_lines(partition_block(one))]
    if what == "without":
        return [without_pattern(WhatIf(workload, solution), topic).text]
    return why(explanation, topic)


def test_guide_shows_the_real_output() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert len(_BLOCK.findall(text)) == 6
    assert text == refreshed(text), f"write it anew: python {Path(__file__).relative_to(ROOT)}"


def test_the_example_of_the_guide_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    said: list[str] = []
    monkeypatch.chdir(ROOT)
    exec(compile(source, str(GUIDE), "exec"), {"print": said.append})
    assert said[0].startswith("The table\n")
    assert said[1].startswith("Assignment: `")


if __name__ == "__main__":
    GUIDE.write_text(refreshed(GUIDE.read_text(encoding="utf-8")), encoding="utf-8")
