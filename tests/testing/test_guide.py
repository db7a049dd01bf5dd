"""Runs the examples of the guides about testing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("guide", "number", "tests"), [("testing.md", 9, 11), ("weather.md", 3, 3), ("from-moto.md", 1, 1)]
)
def test_the_examples_of_the_guide_are_tests_that_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, guide: str, number: int, tests: int
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    blocks = re.findall(
        r"^```python\n(.*?)^```", (GUIDES / guide).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert len(blocks) == number
    pytester.makepyfile(**{f"test_{at}": block for at, block in enumerate(blocks)})
    pytester.runpytest_subprocess().assert_outcomes(passed=tests)
