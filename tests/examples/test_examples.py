"""The documents of the examples have no warnings, and are in canonical form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from prejoin.diagnostics import Severity
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import form_of, read_file
from prejoin.workload.model import Workload

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
DOCUMENTS = sorted(EXAMPLES.glob("*/access-patterns.md"))
NAMES = {"shop", "blog", "groups", "files", "organisation", "teams", "metrics", "documents"}


def named(path: Path) -> str:
    return path.parent.name


def read(path: Path) -> Workload:
    return read_file(path).workload


def test_readme_lists_every_example() -> None:
    assert {named(path) for path in DOCUMENTS} >= NAMES
    listed = re.findall(r"\]\((\w+)/access-patterns\.md\)", (EXAMPLES / "README.md").read_text("utf-8"))
    assert sorted(listed) == sorted(named(path) for path in DOCUMENTS)


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_an_example_has_no_errors_and_no_warnings(path: Path) -> None:
    assert form_of(path) == "md"
    assert [d for d in read_file(path).diagnostics if d.severity is not Severity.HINT] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_an_example_is_in_canonical_form(path: Path) -> None:
    assert write_document(read(path)) == path.read_text("utf-8")


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_an_example_says_all_that_a_reviewer_asks_for(path: Path) -> None:
    workload = read(path)
    assert workload.title
    assert workload.status
    assert workload.overview
    assert workload.context
    assert workload.collections
    assert workload.decisions
    assert workload.notes
    assert [e.name for e in workload.entities if not (e.cardinality and e.size and e.lifecycle)] == []
    assert [p.id for p in workload.patterns if not (p.description and p.rate)] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_the_ids_of_an_example_begin_at_1_for_reads_at_20_for_writes_and_at_30_for_deletes(path: Path) -> None:
    workload = read(path)
    for patterns, first in ((workload.reads, 1), (workload.writes, 20), (workload.deletes, 30)):
        assert [p.id for p in patterns] == [f"AP-{first + at:03}" for at in range(len(patterns))]


def test_shop_is_short() -> None:
    shop = read(EXAMPLES / "shop" / "access-patterns.md")
    assert 4 <= len(shop.entities) <= 6
    assert len(shop.patterns) <= 18
    assert max(len(p.description) for p in shop.patterns) <= 40
