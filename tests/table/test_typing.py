"""Type checkers infer the classes of results, and find mistakes."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "table" / "typing").glob("*.py"))


@cache
def mypy() -> dict[str, dict[int, str]]:
    """The messages of mypy by file and line."""
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *map(str, FILES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert not ran.stderr, ran.stderr
    messages: dict[str, dict[int, str]] = {}
    for path, line, what in re.findall(r"^(.+?):(\d+): error: (.*)$", ran.stdout, re.MULTILINE):
        messages.setdefault(Path(path).name, {})[int(line)] = what
    return messages


def expected() -> dict[str, set[int]]:
    """The lines of each file with an expected error."""
    texts = {path.name: path.read_text(encoding="utf-8").splitlines() for path in FILES}
    return {
        name: {number for number, line in enumerate(lines, 1) if "# expect: error" in line}
        for name, lines in texts.items()
    }


def test_results_have_the_types_of_the_classes_asked_for() -> None:
    found = {name: messages for name, messages in mypy().items() if not name.startswith("refused")}
    assert found == {}, "and nothing else was found wrong on the way"
    assert len(FILES) == 4


def test_every_mistake_is_found_where_it_is() -> None:
    for name in ("refused.py", "refused_writes.py"):
        assert set(mypy()[name]) == expected()[name]
        assert len(expected()[name]) > 15
