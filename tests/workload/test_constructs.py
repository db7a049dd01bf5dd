"""The table of the grammar's constructs is complete: it has every keyword, and examples are read as described."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import grammar_guide
from grammar_guide import TABLES, GrammarTable
from prejoin.types import Kind
from prejoin.workload import grammar, model
from prejoin.workload.document import tables
from prejoin.workload.document.columns import KnownNames, known_names, normal
from prejoin.workload.grammar.lexer import Inexact

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "guides" / "access-patterns.md").read_text("utf-8")
NAMES = ("answers", "attributes", "inputs", "lexer", "quantities", "statements", "values", "writes")
MODULES = [import_module(f"prejoin.workload.grammar.{name}") for name in NAMES]
ADVICE = {"_BELONGS", "_HAS", "_LOOSE", "_OTHER_NAMES"}
"""Texts that the grammar refuses, but recognises for its advice."""
NOT_WRITTEN = {"enum", "compare"}
"""Names of the model that do not occur in a document: members of an enum and comparisons are written without them."""


def every_text() -> str:
    """All examples, spellings and quotations in the meanings, in lower case."""
    rows = [row for table in TABLES for row in table.rows]
    quoted = [text for row in rows for text in re.findall(r"`[^`]+`", row.meaning)]
    return "\n".join([*(text for row in rows for text in (row.example, *row.also)), *quoted]).lower()


def occurs(word: str, text: str) -> bool:
    """Whether a word occurs in a text: not within another one, but after a figure, as in `10K`."""
    before, after = (r"(?<![a-z])" if word[0].isalnum() else ""), (r"(?!\w)" if word[-1].isalnum() else "")
    return re.search(before + re.escape(word.lower()) + after, text) is not None


def arguments(module: ModuleType) -> Iterator[str]:
    """The words and signs that a module looks for in tokens."""
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in {"word", "words", "sign"}:
                yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
        elif isinstance(node, ast.comprehension | ast.For) and isinstance(node.iter, ast.Tuple):
            # for phrase in ("not exists", …): tokens.words(phrase)
            yield from (a.value for a in node.iter.elts if isinstance(a, ast.Constant) and isinstance(a.value, str))


def constants(module: ModuleType) -> Iterator[str]:
    """The words of a module's tables; and parts of words of its regular expressions, with an ellipsis before."""
    for name, value in vars(module).items():
        if name in ADVICE or name.startswith("__") or name.endswith("_FIX"):
            continue
        if isinstance(value, Mapping):
            yield from (key for key in value if isinstance(key, str) and key)
        elif isinstance(value, re.Pattern) and not name.startswith("_TOKEN"):
            yield from parts_of(value)
        elif name == "_UNIQUE_PHRASES":
            yield from value
        elif name == "_PIN_FORMS":
            yield from (part for form in value for part in parts_of(form.pattern))


def parts_of(pattern: re.Pattern[str]) -> Iterator[str]:
    plain = re.sub(r"\\.|\?P<\w+>|\[[^\]]*\]", " ", pattern.pattern)
    yield from (f"…{part}" for part in re.findall(r"[A-Za-z]{3,}", plain))


def enums() -> Iterator[str]:
    for value in vars(model).values():
        if isinstance(value, type) and issubclass(value, StrEnum):
            yield from (member.value for member in value)
    yield from (kind.value for kind in Kind)


KEYWORDS = sorted({*enums(), *(word for module in MODULES for find in (arguments, constants) for word in find(module))})


def test_the_walk_finds_the_grammar() -> None:
    modules = {path.stem for path in Path(str(grammar.__path__[0])).glob("*.py")} - {"__init__"}
    assert modules == set(NAMES)
    for word in (
        "append",
        "not exists",
        "default",
        "snapshot of",
        "hottest",
        "->",
        "most",
        "buckets",
        "scope",
        "unbounded",
    ):
        assert word in KEYWORDS or all(f"…{part}" in KEYWORDS for part in word.split()), word
    assert len(KEYWORDS) > 120


def test_every_keyword_of_the_grammar_occurs_in_the_table() -> None:
    text = every_text()
    missing = []
    for word in (word for word in KEYWORDS if word not in NOT_WRITTEN):
        part = word.removeprefix("…").lower()
        if not (part in text if word.startswith("…") else occurs(part, text) or occurs(f"{part}s", text)):
            missing.append(part)
    assert missing == [], "add examples with them to scripts/grammar_guide.py"


@pytest.mark.parametrize("table", [table for table in TABLES if table.read], ids=lambda table: table.title)
def test_every_example_is_exact_and_other_spellings_are_the_same(table: GrammarTable) -> None:
    assert table.read is not None
    for row in table.rows:
        meant = table.read(row.example)
        for spelling in row.also:
            assert table.read(spelling) == meant, spelling


def test_an_example_that_is_not_exact_would_be_found() -> None:
    for table in TABLES:
        if table.read:
            with pytest.raises(Inexact):
                table.read("( nothing of the kind")


@pytest.mark.parametrize(
    ("table", "names"),
    [
        (grammar_guide.READS, tables.READS.names),
        (grammar_guide.WRITES, known_names([*tables.WRITES.columns, *tables.DELETES.columns])),
        (grammar_guide.COLLECTIONS, tables.COLLECTIONS.names),
        (grammar_guide.LABELS, known_names(tables.ENTITY_LABELS)),
        (grammar_guide.CONTEXT, known_names(tables.CONTEXT_LABELS)),
        (grammar_guide.SECTIONS, KnownNames(tables.SECTIONS)),
    ],
    ids=lambda v: v.title if isinstance(v, GrammarTable) else "",
)
def test_every_column_label_and_section_is_in_the_table_with_its_other_names(
    table: GrammarTable, names: KnownNames
) -> None:
    rows = {row.example.lstrip("#> "): row for row in table.rows}
    assert set(names.known) <= set(rows)
    for name in names.known:
        also = {normal(one.lstrip("# ")) for one in rows[name].also}
        found = {other for other, meant in names.by_name.items() if meant == name and other != normal(name)}
        assert found <= also | {normal(one) for one in names.known}, name
        assert also <= set(names.by_name), name


def test_the_guide_has_every_table() -> None:
    titles = re.findall(r"<!-- table: (.+) -->", GUIDE)
    assert sorted(titles) == sorted(table.title for table in TABLES)
    for table in TABLES:
        assert grammar_guide.as_markdown(table) in GUIDE
