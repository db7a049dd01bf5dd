"""The guide to the document: its blocks form one document, and the grammar reads each cell as described."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prejoin.constructs.registry import CONSTRUCTS
from prejoin.diagnostics import Severity
from prejoin.types import Kind
from prejoin.workload import codes
from prejoin.workload.document.markdown import parse
from prejoin.workload.document.read_document import read_document
from prejoin.workload.document.tables import CONTEXT_LABELS, SECTIONS
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_text
from prejoin.workload.grammar.answers import (
    read_combine,
    read_consistency,
    read_page,
    read_result,
    read_sort,
    read_yes_no,
)
from prejoin.workload.grammar.attributes import FLAGS, read_attribute
from prejoin.workload.grammar.inputs import read_inputs
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.grammar.quantities import read_cardinality, read_rate, read_size
from prejoin.workload.grammar.statements import read_pin, read_relationship, read_tenant
from prejoin.workload.grammar.values import read_retention
from prejoin.workload.grammar.writes import read_actions, read_checks

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "guides" / "access-patterns.md").read_text("utf-8")
BLOCKS = re.findall(r"^```markdown\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
INPUTS = frozenset({"quantity"})


def pin(text: str) -> object:
    found = read_pin(text)
    if found is None:
        raise Inexact("not a pin", "")
    return found


GRAMMAR: dict[str, Callable[[str], object]] = {
    "Attributes": read_attribute,
    "Relationships": read_relationship,
    "Tenants": read_tenant,
    "Cardinality": read_cardinality,
    "Size": read_size,
    "Retention": read_retention,
    **{construct.grammar.label: construct.read for construct in CONSTRUCTS},
    "Input Parameters": read_inputs,
    "Result": read_result,
    "Sort": read_sort,
    "Paginated": read_page,
    "Frequency": read_rate,
    "Consistency": read_consistency,
    "Multi-Entity": read_combine,
    "Items Written": lambda text: read_actions(text, INPUTS),
    "Transaction": read_yes_no,
    "Conditions": lambda text: read_checks(text, INPUTS),
    "Decisions": pin,
}


def code(cell: str) -> str:
    """The code between the backticks of a cell."""
    return cell[2:-2].strip() if cell.startswith("``") else cell[1:-1]


def tables(first: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows of every table whose first column has that title, each with the heading above it."""
    for section in parse(GUIDE):
        for block in section.blocks:
            if block.kind == "table" and block.header[0].text == first:
                for row in block.rows:
                    yield section.title.text, tuple(cell.text for cell in row)


SHOWN = [(title, code(row[0])) for title, row in tables("You write")]
INSTEAD = [(row[2], code(row[0]), code(row[1])) for _, row in tables("Instead of")]


def test_the_blocks_of_the_guide_are_one_document_without_errors_or_warnings() -> None:
    document = "\n".join(BLOCKS)
    assert [d for d in read_text(document, "md").diagnostics if d.severity is not Severity.HINT] == []
    assert write_document(read_document(document).workload) == document


@pytest.mark.parametrize("block", BLOCKS, ids=lambda b: b.splitlines()[0])
def test_each_block_reads_without_an_error_but_that_the_rest_is_missing(block: str) -> None:
    errors = {d.code for d in read_document(block).diagnostics if d.severity is Severity.ERROR}
    assert errors <= {codes.NO_SECTION.id}


def test_every_part_of_the_grammar_is_shown() -> None:
    assert {title for title, _ in SHOWN} == set(GRAMMAR)
    assert {place for place, _, _ in INSTEAD} <= set(GRAMMAR)
    assert len(SHOWN) > 70


@pytest.mark.parametrize("title", GRAMMAR)
def test_cells_in_the_guide_are_exact(title: str) -> None:
    for text in (text for place, text in SHOWN if place == title):
        assert GRAMMAR[title](text) is not None, text


@pytest.mark.parametrize(("place", "loose", "exact"), INSTEAD, ids=lambda value: value)
def test_warnings_and_alternatives_of_the_guide_are_right(place: str, loose: str, exact: str) -> None:
    with pytest.raises(Inexact):
        GRAMMAR[place](loose)
    GRAMMAR[place](exact)


def test_the_guide_names_every_section_label_type_and_flag() -> None:
    for name in (*SECTIONS, *(label.name for label in CONTEXT_LABELS), "Unique", "Excludes", "Owner", "Lifecycle"):
        assert name in GUIDE
    for word in (*(str(kind) for kind in Kind if kind is not Kind.ENUM), *FLAGS):
        assert f"`{word}`" in GUIDE


def test_links_lead_somewhere() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "guides"
    for link in re.findall(r"\]\(([^)#]+)\)", GUIDE):
        assert (guide / link).exists(), link
