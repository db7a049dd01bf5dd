"""The bill of every document and of random workloads: it has a line for all that is sent, and each price is of a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.design.test_laws import HUNDREDS
from tests.design.test_one_bill import DOCUMENT, DOCUMENTS, KINDS, PLAIN, page_text, result_of
from tests.design.wide_workloads import wide_workloads
from tests.place import examples

from prejoin.cli.text.design_json import design_json
from prejoin.design.cost.background import BackgroundKind
from prejoin.design.cost.bill import OBJECT_STORE
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.document import headings
from prejoin.design.document.write_document import write_document
from prejoin.design.phrases import money
from prejoin.pipeline.design.design_table import DesignResult, design_table
from prejoin.protocol.prices import dollars
from prejoin.workload.contents import contents_of
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Entity, History, Verb, Workload

PRICE = re.compile(r"less than a cent|\$\d[\d,]*(?:\.\d+)?")
OFFER = re.compile(r"\(write `|^ *Possible: |^ *Not served: |\bPJ5(?:30|47): ")
"""Lines with the price of another design, which a decision would give, or of a read as it is not or should not be."""
PENNIES = 0.000_001


def bill_problems(result: DesignResult) -> Iterator[str]:
    """What the bill has no line for, and prices that are of no line."""
    bill, design, workload = result.bill, result.design, result.workload
    lines = (*bill.patterns, *bill.background, *bill.storage)
    if bill.total != sum((line.dollars for line in lines), Decimal()):
        yield "the total is not the sum of the lines"
    if [line.pattern for line in bill.patterns] != [operation.pattern for operation in design.operations]:
        yield "the patterns with a line are not those of the design"
    yield from _missing_background(result)
    yield from _missing_storage(result)
    # JSON
    data = design_json(result)["bill"]
    rows = [row for group in ("patterns", "background", "kept") for row in data[group]]
    if len(rows) != len(lines) or abs(sum(row["dollars"] for row in rows) - data["total"]) > PENNIES * len(rows):
        yield "the lines of the JSON are not the total"
    # Text
    prices = {money(line.dollars) for line in lines} | {money(bill.total), money(bill.kept), money(bill.requests)}
    texts = {"the page": page_text(result), "table-design.md": _review(write_document(design, workload))}
    for name, text in texts.items():
        said = [line for line in text.split("\n") if not OFFER.search(line)]
        for line in said:
            yield from (f"{name} has {price}: {line}" for price in PRICE.findall(line) if price not in prices)
        if f"{money(bill.total)} a month" not in text:
            yield f"{name} lacks the total"
        yield from (f"{name} lacks {line.text}" for line in bill.background if line.text not in text)
    parts = next(text for text in result.explanation.text if text.startswith("It costs "))
    reading = sum((dollars(reads=line.calls * line.units.read) for line in bill.patterns), Decimal())
    expected = [bill.total, reading, bill.requests - bill.in_background - reading, bill.in_background, bill.kept]
    if not set(PRICE.findall(parts)) <= {money(round(price, 6)) for price in expected} or len(PRICE.findall(parts)) < 2:
        yield f"the explanation has {parts}, and the bill {expected}"


def _review(document: str) -> str:
    return document.partition(f"## {headings.REVIEW}")[2].partition("\n## ")[0]


def _missing_background(result: DesignResult) -> Iterator[str]:
    """Work in the background by what the document says, without the bill."""
    workload, design = result.workload, result.design
    stored = [entity for entity in workload.entities if design.item(entity.name)]
    expected = {kind: set[str]() for kind in BackgroundKind}
    for refresh in refreshes(workload, design):
        expected[BackgroundKind.REFRESH].add(refresh.bound.entity.name)
        if refresh.bound.within is not None and BackgroundKind.STREAM not in {b.kind for b in result.bill.background}:
            yield "the stream has no line"
    for entity in stored:
        if contents_of(entity):
            if entity.history is None:
                expected[BackgroundKind.REMOVE_GARBAGE].add(entity.name)
            elif entity.history != History() and _replaces_contents(workload, entity):
                # Earlier versions refer to contents, and nothing deletes those of the versions that are dropped.
                expected[BackgroundKind.LEAVE_CONTENTS].add(entity.name)
        if any(attribute.ttl for attribute in entity.attributes):
            expected[BackgroundKind.EXPIRY].add(entity.name)
    for kind, names in expected.items():
        about = " ".join(line.about for line in result.bill.background if line.kind is kind)
        yield from (f"{name} has no line for {kind}" for name in names if name not in about)


def _replaces_contents(workload: Workload, entity: Entity) -> bool:
    """Whether a write gives an item another content, or deletes it with its content."""
    names = {attribute.name for attribute in contents_of(entity)}
    return any(
        action.verb is Verb.DELETE or (action.updates and any(c.attribute in names for c in action.changes))
        for write in (*workload.writes, *workload.deletes)
        for action in write.actions
        if action.entity == entity.name
    )


def _missing_storage(result: DesignResult) -> Iterator[str]:
    """Each item of the design in each slot where it has a key, and each object store."""
    kept = {(line.item, line.slot) for line in result.bill.storage}
    for item in result.design.items:
        yield from (
            f"{item.name} has no storage in {facet.slot}"
            for facet in item.facets
            if (str(item.name), facet.slot) not in kept
        )
    for store in result.design.stores:
        if (store.name, OBJECT_STORE) not in kept:
            yield f"{store.name} has no storage"


def designed(workload: Workload) -> DesignResult:
    return design_table(workload, prove=False, alternatives=0)


@pytest.mark.parametrize("kind", KINDS)
def test_bill_of_each_kind_of_work_is_complete(kind: str) -> None:
    assert list(bill_problems(result_of(kind))) == []


def test_the_price_of_a_read_as_it_should_not_be_is_of_no_line() -> None:
    all_comments = "| AP-003 | Comment | of a text | author | Count | - | No | 5/s |"
    text = DOCUMENT.format(**PLAIN).replace("\n### Writes", f"{all_comments}\n\n### Writes", 1)
    result = designed(read_text(text.replace("50 per User", "5M per User"), "md").workload)
    assert "PJ530" in write_document(result.design, result.workload)
    assert list(bill_problems(result)) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_bill_of_a_document_is_complete(path: Path) -> None:
    assert list(bill_problems(designed(read_file(path).workload))) == []


@pytest.mark.slow
@given(wide_workloads())
@settings(HUNDREDS, max_examples=examples(200))
def test_bill_of_a_random_workload_is_complete(workload: Workload) -> None:
    assert list(bill_problems(designed(workload))) == []
