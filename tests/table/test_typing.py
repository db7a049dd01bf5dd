"""What type checkers make of the client: results have the types of the classes asked for, and mistakes are found."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path("tests/table/typing")


@cache
def mypy() -> dict[str, dict[int, str]]:
    """What mypy says about each file, by line."""
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", *(str(path) for path in (ROOT / HERE).glob("*.py"))],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert not ran.stderr, ran.stderr
    said: dict[str, dict[int, str]] = {}
    for path, line, what in re.findall(r"^(.+?):(\d+): error: (.*)$", ran.stdout, re.MULTILINE):
        said.setdefault(Path(path).name, {})[int(line)] = what
    return said


def test_results_have_the_types_of_the_classes_asked_for() -> None:
    assert mypy().get("accepted.py", {}) == {}
    assert set(mypy()) <= {"accepted.py", "refused.py"}, "nothing else was found wrong on the way"


def test_every_mistake_is_found_where_it_is() -> None:
    lines = (ROOT / HERE / "refused.py").read_text(encoding="utf-8").splitlines()
    expected = {number for number, line in enumerate(lines, 1) if "# expect: error" in line}
    assert set(mypy()["refused.py"]) == expected
    assert len(expected) > 15
