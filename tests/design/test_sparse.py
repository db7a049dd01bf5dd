"""Sparse indexes: an index holds what its reads can find; where it holds more, or a filter does the work, that is said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.design.texts import changes_of
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.assumed import assumed
from prejoin.design.cost.assumptions import share_meeting
from prejoin.design.cost.bill import bill
from prejoin.design.cost.estimates import share_in
from prejoin.design.document.read_document import read_document
from prejoin.design.document.write_document import write_document
from prejoin.design.layout.sharding import shards_of
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import TABLE, Facet, Item, When
from prejoin.design.solver.candidates import Candidate
from prejoin.design.solver.needs import SortAttribute
from prejoin.diagnostics import Diagnostic
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.files import read_text
from prejoin.workload.model import Accept, Decision, Workload

DOCUMENT = """# Tickets

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (ulid, generated)
  - `team` (string, immutable)
  - `assigneeId` (string, optional, mutable)
  - `status` (OPEN | WAITING | DONE, mutable)
  - `dueAt` (datetime, optional, mutable)
  - `createdAt` (datetime, immutable)
- **Cardinality**: 10M total
- **Size**: 4 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
{reads}

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Ticket | ticketId, team, createdAt | create Ticket | No | - | 5/s |
| AP-021 | Ticket | ticketId, dueAt | update Ticket (dueAt) | No | - | 5/s |
| AP-022 | Ticket | ticketId{more} | update Ticket (status = OPEN) | No | - | 5/s |
"""
OVERDUE = "| AP-001 | Ticket | team, dueAt < | Collection | dueAt ASC | Yes (50) | 1/s |"
BY_DUE = "| AP-002 | Ticket | team | Collection | dueAt ASC | Yes (50) | 1/s |"
UNASSIGNED = "| AP-003 | Ticket | team, assigneeId not exists | Collection | createdAt ASC | Yes (50) | 1/s |"
OPEN = "| AP-004 | Ticket | status = OPEN | Collection | createdAt ASC | Yes (50) | 1/s |"


def read(*reads: str, more: str = "") -> Workload:
    return read_text(DOCUMENT.format(reads="\n".join(reads), more=more), "md").workload


def said(workload: Workload, code: str) -> Sequence[Diagnostic]:
    return [one for one in check_design(solve(workload).design, workload) if one.code == code]


def test_an_index_that_is_read_by_a_range_holds_only_what_has_a_value() -> None:
    workload = read(OVERDUE)
    design = solve(workload).design
    assert [facet.sk for facet in design.items[0].facets if facet.slot == "gsi1"] == [("TICKET#{dueAt}#{ticketId}",)]
    entries = {one.slot: one.entries for one in bill(workload, design).storage}
    assert entries["gsi1"] == entries["table"] / 2, "half of them are taken to have it"
    with Embedded() as engine:
        assert prove(workload, design, engine).right


@pytest.mark.parametrize("reads", [(BY_DUE,), (BY_DUE, OVERDUE)], ids=["sorted", "sorted and ranged"])
def test_read_sorted_by_an_optional_attribute_finds_items_without_it(reads: tuple[str, ...]) -> None:
    workload = read(*reads)
    design = solve(workload).design
    assert [facet.sk for facet in design.items[0].facets if facet.slot == "gsi1"] == [("TICKET#{dueAt?}#{ticketId}",)]
    with Embedded() as engine:
        assert prove(workload, design, engine).right


MEMBERS = {
    UNASSIGNED: ("TEAM#{team}#NO_ASSIGNEE", When("assigneeId", absent=True)),
    "| AP-005 | Ticket | team, assigneeId exists | Collection | createdAt ASC | Yes (50) | 1/s |": (
        "TEAM#{team}#ASSIGNEE",
        When("assigneeId"),
    ),
    "| AP-006 | Ticket | team, status in (OPEN, WAITING) | Collection | createdAt ASC | Yes (50) | 1/s |": (
        "TEAM#{team}#OPEN_OR_WAITING",
        When("status", ("OPEN", "WAITING")),
    ),
    "| AP-007 | Ticket | dueAt exists | Collection | dueAt ASC | Yes (50) | 1/s |": ("TICKET_DUE", When("dueAt")),
}


@pytest.mark.parametrize("asked", MEMBERS)
def test_index_holds_only_what_its_read_asks_for(asked: str) -> None:
    text = DOCUMENT.format(reads=asked, more="").replace("status = OPEN)", "status = DONE)")
    workload = read_text(text, "md").workload
    if " Count " in asked:  # of five million items
        workload = replace(workload, decisions=(Decision(Accept("AP-007", "several pages")),))
    design = solve(workload).design
    (facet,) = design.items[0].facets[1:]
    pk, when = MEMBERS[asked]
    assert facet.pk[0].startswith(pk)
    assert facet.when == (when,)
    assert not design.operations[0].requests[0].filters
    entries = {one.slot: one.entries for one in bill(workload, design).storage}
    assert entries["gsi1"] < entries["table"]
    assert not said(workload, "PJ547")
    with Embedded() as engine:
        assert prove(workload, design, engine).right
    assert read_document(write_document(design, workload), workload).design.items[0].facets == design.items[0].facets


def test_assigning_takes_an_item_out_without_reading_it() -> None:
    text = DOCUMENT.format(reads=UNASSIGNED, more="").replace("ticketId, dueAt |", "ticketId, assigneeId |")
    workload = read_text(text.replace("update Ticket (dueAt)", "update Ticket (assigneeId)"), "md").workload
    operation = solve(workload).design.operation("AP-021")
    assert operation is not None
    (request,) = operation.requests
    assert changes_of(request.actions[0]) == ["SET assigneeId = {assigneeId}", "REMOVE gsi1pk", "REMOVE gsi1sk"]


BY_CREATED = "| AP-008 | Ticket | team | Collection | createdAt ASC | Yes (50) | 1/s |"


def test_undeclared_filter_is_reported_with_its_price() -> None:
    """One index serves both reads, so it holds every ticket."""
    (warning,) = said(read(UNASSIGNED, BY_CREATED), "PJ547")
    assert "AP-003 filters by `assigneeId not exists`, because no key of the design finds it" in warning.message
    assert "a call reads 50 units ($16.20 a month), and the items that match are 25 ($8.10)" in warning.message
    assert "write `filter assigneeId not exists` to accept it" in (warning.fix or "")


def test_declared_filter_is_not_reported() -> None:
    assert not said(read(UNASSIGNED.replace("assigneeId not", "filter assigneeId not"), BY_CREATED), "PJ547")


def test_index_that_could_be_sparse_is_reported_with_both_prices() -> None:
    (warning,) = said(read(OPEN), "PJ562")
    assert "gsi1 holds every Ticket, and AP-004 wants only those where `status` is OPEN" in warning.message
    assert warning.fix == "give `createdAt` to AP-022, which then need not be read first"


def test_the_write_that_gives_what_is_missing_makes_the_index_sparse() -> None:
    workload = read(OPEN, more=", createdAt")
    assert not said(workload, "PJ562")
    assert next(f.when for f in solve(workload).design.items[0].facets if f.slot == "gsi1")
    dear, cheap = (bill(w, solve(w).design).total for w in (read(OPEN), workload))
    assert cheap < dear


def test_size_of_a_sparse_partition_is_that_of_its_items() -> None:
    """All tickets are 40 GB, and a third of them is open."""
    workload = read(OPEN, more=", createdAt")
    (ticket,) = workload.entities
    every = Candidate("Ticket", (), (SortAttribute("createdAt"),))
    assert [shards_of(workload, ticket, one) for one in (every, replace(every, when=(("status", "OPEN"),)))] == [4, 2]


STATED = {
    "assigneeId exists": When("assigneeId"),
    "assigneeId not exists": When("assigneeId", absent=True),
    "status = OPEN": When("status", ("OPEN",)),
    "status in (OPEN, WAITING)": When("status", ("OPEN", "WAITING")),
}


def stated(condition: str, share: str) -> Workload:
    asked = f"| AP-001 | Ticket | team, {condition}{share} | Collection | createdAt ASC | Yes (50) | 1/s |"
    return read_text(DOCUMENT.format(reads=asked, more="").replace("status = OPEN)", "status = DONE)"), "md").workload


@pytest.mark.parametrize("condition", STATED)
def test_stated_share_is_the_part_of_the_items_in_an_index(condition: str) -> None:
    guessed, rare, common = (stated(condition, share) for share in ("", " (keeps 0.1%)", " (keeps 90%)"))
    bills = [bill(asked, solve(asked).design) for asked in (guessed, rare, common)]
    entries = [{one.slot: one.entries for one in each.storage} for each in bills]
    assert [each["table"] for each in entries] == [10_000_000] * 3
    assert [each["gsi1"] for each in entries[1:]] == [10_000, 9_000_000]
    sums = [each.total for each in bills]
    assert sums[1] < sums[0] < sums[2], "each entry is written and stored"
    part = "the part of the items in gsi1"
    assert part in [one.what for one in assumed(guessed, solve(guessed).design)]
    assert part not in [one.what for one in assumed(rare, solve(rare).design)], "the document says it"


@pytest.mark.parametrize("condition", STATED)
@pytest.mark.parametrize("place", ["gsi1", "copy"])
def test_stated_share_is_that_of_keys_by_hand(condition: str, place: str) -> None:
    """A facet with the condition, in an index or of a copy, of a design that prejoin did not choose."""
    asked = stated(condition, " (keeps 2%)")
    design = solve(asked).design
    (item,) = design.items
    key = Facet(TABLE if place == "copy" else "gsi1", ("T#{team}",), ("{createdAt}#{ticketId}",), (STATED[condition],))
    if place == "copy":
        design = replace(design, items=(replace(item, facets=item.facets[:1]), Item("Ticket", "Copy", (key,), "copy")))
    else:
        design = replace(design, items=(replace(item, facets=(item.facets[0], key)),))
    entity = asked.entities[0]
    changed = planner_facets(design, asked)[-1]
    assert share_in(asked, entity, changed) == pytest.approx(0.02)


def test_share_follows_from_what_reads_state_of_its_opposite_and_its_parts() -> None:
    asked = read(
        "| AP-001 | Ticket | team, assigneeId not exists (keeps 99%) | Collection | createdAt ASC | Yes (50) | 1/s |",
        "| AP-002 | Ticket | team, status = OPEN (keeps 2%) | Collection | createdAt ASC | Yes (50) | 1/s |",
        "| AP-003 | Ticket | status = WAITING (keeps 1%) | Collection | createdAt ASC | Yes (50) | 1/s |",
        "| AP-004 | Ticket | status = OPEN (keeps 5%) | Count | - | No | 1/s |",
    )
    (ticket,) = asked.entities
    assert share_meeting(asked, ticket, "assigneeId") == pytest.approx(0.01)
    assert share_meeting(asked, ticket, "status", ["OPEN"]) == pytest.approx(0.05), "the larger one: it costs more"
    assert share_meeting(asked, ticket, "status", ["OPEN", "WAITING"]) == pytest.approx(0.06)
    assert share_meeting(asked, ticket, "status", ["OPEN", "DONE"]) == pytest.approx(2 / 3), "of DONE nothing is stated"
