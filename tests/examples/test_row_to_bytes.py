"""The page that follows one write pattern from its row to the bytes runs as it stands."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "from-row-to-bytes.md"
SOURCE = Path(__file__).parents[2] / "src" / "prejoin"


def test_the_examples_of_the_page_run() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    example = doctest.DocTestParser().get_doctest("".join(blocks), {}, PAGE.name, str(PAGE), 0)
    assert len(example.examples) > 30
    reported: list[str] = []
    doctest.DocTestRunner().run(example, out=reported.append)
    assert not reported, "".join(reported)


def test_the_modules_that_the_page_names_exist() -> None:
    named = set(re.findall(r"`([a-z]+/[a-z_/]*(?:\.py)?)`", PAGE.read_text(encoding="utf-8")))
    assert len(named) > 15
    here = [path for path in named if not path.startswith(("src/", "tests/"))]
    assert [path for path in sorted(here) if not (SOURCE / path).exists()] == []
