"""The guide's examples, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "testing.md"


@pytest.mark.slow
def test_the_examples_of_the_guide_are_tests_that_pass(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 8
    pytester.makepyfile(**{f"test_{at}": block for at, block in enumerate(blocks)})
    pytester.runpytest_subprocess().assert_outcomes(passed=9)
