"""Runs the examples of the guides to patterns, and checks their links."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides" / "patterns").glob("*.md"))


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_examples_of_the_guide_run(guide: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", guide.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, guide.name, str(guide), 0)
    assert example.examples or guide.stem == "README"
    reported: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example, out=reported.append)
    assert not reported, "".join(reported)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_links_lead_somewhere(guide: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", guide.read_text(encoding="utf-8")):
        assert (guide.parent / link).exists(), link
