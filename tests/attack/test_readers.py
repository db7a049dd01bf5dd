"""A slice of the attack on readers for every day: all families, and the pumps that were found to be slow."""

from __future__ import annotations

import re

import pytest
from tests.attack import readers

from prejoin.pipeline.build.settings import read_settings
from prejoin.workload.files import read_text

KNOWN = [
    ("workbench", "", "_a", "!"),
    ("workbench", "", "# ", "!"),
    ("cardinality", "0", " ", "!"),
    ("cardinality after a number", "", "\t", "!"),
    ("relationship", "0", " ", "!"),
    ("read, Frequency", "0", "\t", "a"),
    ("--read", "0", " ", "!"),
    ("design copy", "", " ", "!"),
    ("workbench description", "", "`", "!"),
    ("document", "", " ", "!"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", readers.FAMILIES)
def test_reader_takes_linear_time_for_growing_texts(name: str) -> None:
    make, place = readers.FAMILIES[name]
    assert readers.try_growth(name, readers.FAMILY_SIZES, make, place) == ""


@pytest.mark.slow
@pytest.mark.parametrize(("where", "start", "pump", "end"), KNOWN)
def test_reader_takes_linear_time_for_pumped_texts(where: str, start: str, pump: str, end: str) -> None:
    def make(size: int) -> str:
        return readers.pumped(start, pump, end, size)

    assert readers.try_growth(where, readers.SIZES, make, readers.PLACES[where]) == ""


@pytest.mark.slow
def test_attack_finds_a_slow_reader_and_an_unexpected_error() -> None:
    exponential, quadratic = re.compile(r"(?:a|a)+b"), re.compile(r"(?:a|bc)*(?:a|bc)*d")
    assert "of CPU" in readers.try_growth("slow", readers.SIZES, lambda n: "a" * n, exponential.fullmatch)
    assert "of CPU" in readers.try_growth("slow", readers.SIZES, lambda n: "a" * n, quadratic.fullmatch)
    assert "KeyError" in readers.try_growth("wrong", (1,), lambda n: "a" * n, {}.__getitem__)


def test_tables_and_lines_have_limits_with_a_message() -> None:
    wide = read_text(readers._wide(2_000), "md")
    assert [(d.code, d.line) for d in wide.diagnostics] == [("PJ100", 7)]
    assert "more than 100 columns" in wide.diagnostics[0].message
    long = read_text("# a\n" + "x" * 20_001, "md")
    assert [(d.code, d.line) for d in long.diagnostics] == [("PJ100", 2)]
    for name, text in (("list item", "- x" + "\nx" * 12_000), ("heading", "x" + "\nx" * 12_000 + "\n===")):
        joined = read_text(f"# a\n\n{text}", "md")
        assert [(d.code, d.line) for d in joined.diagnostics] == [("PJ100", 3)]
        assert f"the {name} in line 3 has more than 20,000 characters" in joined.diagnostics[0].message
    settings = read_settings('package = "shop"\na' + ".a" * 2_500 + " = 1\n")
    assert [(d.code, d.line, d.fix) for d in settings.diagnostics] == [("PJ050", 2, "write lists on several lines")]
