"""A slice of the attack on readers for every day: all families, and the pumps that were found to be slow."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from tests.attack import readers

from prejoin.workload.files import read_text

SOURCE = Path(__file__).parents[2] / "src" / "prejoin"
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


@pytest.mark.parametrize("name", readers.FAMILIES)
def test_reader_takes_linear_time_for_growing_texts(name: str) -> None:
    make, place = readers.FAMILIES[name]
    assert readers.try_growth(name, readers.FAMILY_SIZES, make, place) == ""


@pytest.mark.parametrize(("where", "start", "pump", "end"), KNOWN)
def test_reader_takes_linear_time_for_pumped_texts(where: str, start: str, pump: str, end: str) -> None:
    def make(size: int) -> str:
        return readers.pumped(start, pump, end, size)

    assert readers.try_growth(where, readers.SIZES, make, readers.PLACES[where]) == ""


def test_attack_finds_a_slow_reader_and_an_unexpected_error() -> None:
    slow = re.compile(r"(?:a|a)+b")
    assert "of CPU" in readers.try_growth("slow", (28,), lambda n: "a" * n, slow.fullmatch)
    assert "KeyError" in readers.try_growth("wrong", (1,), lambda n: "a" * n, {}.__getitem__)


def test_tables_and_lines_have_limits_with_a_message() -> None:
    wide = read_text(readers._wide(2_000), "md")
    assert [(d.code, d.line) for d in wide.diagnostics] == [("PJ100", 7)]
    assert "more than 100 columns" in wide.diagnostics[0].message
    long = read_text("# a\n" + "x" * 20_001, "md")
    assert [(d.code, d.line) for d in long.diagnostics] == [("PJ100", 2)]


def literals() -> list[tuple[str, str]]:
    """Every pattern that is a literal in our code, with where it stands."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                called, first = node.func, node.args[0]
                is_re = isinstance(called.value, ast.Name) and called.value.id == "re"
                if is_re and isinstance(first, ast.Constant) and isinstance(first.value, str):
                    found.append((f"{path.relative_to(SOURCE)}:{node.lineno}", first.value))
    return found


def repeats_ambiguously(pattern: str) -> bool:
    """Whether an unlimited repeat holds another one, with nothing in its round that keeps the rounds apart."""
    return _any_ambiguous(_parser.parse(pattern))


def _any_ambiguous(items: Any) -> bool:
    for name, value in items:
        if name in {_parser.MAX_REPEAT, _parser.MIN_REPEAT}:
            if value[1] == _parser.MAXREPEAT and _round_overlaps(value[2]):
                return True
            if _any_ambiguous(value[2]):
                return True
        elif (name is _parser.SUBPATTERN and _any_ambiguous(value[3])) or (
            name is _parser.BRANCH and any(map(_any_ambiguous, value[1]))
        ):
            return True
    return False


def _round_overlaps(items: Any) -> bool:
    """Whether a round has an unlimited repeat of characters, and all else in it may be of these characters, too."""
    parts = list(items)
    while len(parts) == 1 and parts[0][0] is _parser.SUBPATTERN:
        parts = list(parts[0][1][3])
    for at, (name, value) in enumerate(parts):
        if name is _parser.MAX_REPEAT and value[1] == _parser.MAXREPEAT and len(value[2]) == 1:
            mine = _characters(value[2][0])
            others = [_characters(one) for number, one in enumerate(parts) if number != at]
            if mine and all(mine & other for other in others):
                return True
    return False


def _characters(item: Any) -> set[str]:
    """The ASCII characters that a part may begin with; none where it is more than a set of characters."""
    name, value = item
    every = {chr(code) for code in range(128)}
    if name is _parser.LITERAL:
        return {chr(value)}
    if name is _parser.NOT_LITERAL:
        return every - {chr(value)}
    if name is _parser.ANY:
        return every - {"\n"}
    if name is not _parser.IN:
        return set()
    found: set[str] = set()
    for kind, inner in value:
        if kind is _parser.LITERAL:
            found.add(chr(inner))
        elif kind is _parser.RANGE:
            found |= {char for char in every if inner[0] <= ord(char) <= inner[1]}
        elif kind is _parser.CATEGORY:
            tests = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
            plain = str(inner).removeprefix("CATEGORY_")
            test = tests.get(plain.removeprefix("NOT_"), r"\w")
            found |= {char for char in every if bool(re.match(test, char)) != plain.startswith("NOT_")}
    return every - found if value[0][0] is _parser.NEGATE else found


def test_no_pattern_repeats_what_repeats() -> None:
    found = literals()
    assert len(found) > 100
    assert repeats_ambiguously(r"(?:a+)+b")
    assert repeats_ambiguously(r"[^\W\d]+(?:[_ -][^\W\d]+)*")
    assert not repeats_ambiguously(r"a+b*")
    assert [where for where, pattern in found if repeats_ambiguously(pattern)] == []
