"""Documents to work on, and a recorder of progress."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.solutions import solved_once as solved_once

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = Path(__file__).parents[1] / "small.md"
"""Two reads and a write: for tests of files and steps, whatever is in them."""


@dataclass
class Recorder:
    """The steps that were reported, with their results."""

    steps: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def begin(self, activity: str, step: str = "") -> None:
        if step:
            self.steps.append(step)

    def update(self, detail: str) -> None: ...

    def result(self, summary: str) -> None:
        self.results.append(summary)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small document, alone in the current folder."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(SMALL, tmp_path / "access-patterns.md"))


@pytest.fixture
def teams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The document of the example teams, alone in the current folder."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(EXAMPLES / "teams" / "access-patterns.md", tmp_path))
