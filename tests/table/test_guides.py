"""Runs the examples of the guides."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from prejoin.keys.template.specs import BUCKETS

pytest_plugins = ["pytester"]

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
TALKS = {
    "get-started.md": 20,
    "keys.md": 30,
    "existing-table.md": 15,
    "query.md": 40,
    "update.md": 40,
    "transactions.md": 15,
    "async.md": 10,
    "from-boto3.md": 20,
    "from-pynamodb.md": 20,
}
"""The guides with Python sessions, and the least number of outputs that each shows."""


def blocks(name: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (GUIDES / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("name", "least"), TALKS.items(), ids=TALKS)
def test_examples_of_the_guide_run(name: str, least: int) -> None:
    example = doctest.DocTestParser().get_doctest("".join(blocks(name)), {}, name, name, 0)
    assert len(example.examples) >= least
    reported: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=reported.append)
    assert not reported, "".join(reported)


@pytest.mark.slow
def test_the_function_of_the_guide_to_lambda_passes_its_test(pytester: pytest.Pytester) -> None:
    for block in blocks("lambda.md"):
        first, _, code = block.partition("\n")
        (pytester.path / first.removeprefix("# ")).write_text(code, encoding="utf-8")
    assert {path.name for path in pytester.path.glob("*.py")} == {"shop.py", "handler.py", "test_handler.py"}
    pytester.syspathinsert()
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_the_guide_to_keys_names_every_spec() -> None:
    text = (GUIDES / "keys.md").read_text(encoding="utf-8")
    for spec in (*BUCKETS, "seconds", "millis", "desc", "shard(8)", "lower", "upper", "06d", "09.2f"):
        assert f"`{spec}`" in text, spec


@pytest.mark.parametrize("name", sorted(path.name for path in GUIDES.glob("*.md")))
def test_a_link_into_a_page_leads_to_a_heading(name: str) -> None:
    for page, heading in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", (GUIDES / name).read_text(encoding="utf-8")):
        text = ((GUIDES / page) if page else GUIDES / name).read_text(encoding="utf-8")
        anchors = {
            re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.+)$", text, re.M)
        }
        assert heading in anchors, f"{page}#{heading}"
