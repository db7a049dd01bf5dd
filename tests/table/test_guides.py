"""The guides' examples, run as they stand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from prejoin.keys.specs import BUCKETS

GUIDES = Path(__file__).parents[2] / "docs" / "guides"


@pytest.mark.parametrize("name", ["keys.md", "existing-table.md"])
def test_the_examples_of_a_guide_do_what_it_says(name: str) -> None:
    text = (GUIDES / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 6
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, name, name, 0)
    assert len(example.examples) > 15
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=told.append)
    assert not told, "".join(told)


def test_the_guide_to_keys_names_every_spec() -> None:
    text = (GUIDES / "keys.md").read_text(encoding="utf-8")
    for spec in (*BUCKETS, "seconds", "millis", "desc", "shard(8)", "lower", "upper", "06d", "09.2f"):
        assert f"`{spec}`" in text, spec


@pytest.mark.parametrize("name", ["keys.md", "existing-table.md"])
def test_links_lead_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)#]+)\)", (GUIDES / name).read_text(encoding="utf-8")):
        assert (GUIDES / link).exists(), link
