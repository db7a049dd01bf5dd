"""Reads that read far more than they return, or more than a page, are not served as they are."""

from __future__ import annotations

import pytest
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.bill import bill
from prejoin.design.cost.excess import excess
from prejoin.design.model import Operation
from prejoin.workload.files import read_text
from prejoin.workload.model import Workload
from prejoin.workload.program.resolved_read import resolve_read

TICKETS = """
# Admin

## Entities

### Team

- **Attributes**:
  - `teamId` (uuid, generated)
- **Cardinality**: 200 total

### Ticket

- **Attributes**:
  - `ticketId` (uuid, generated)
  - `teamId` (uuid, immutable, → Team)
  - `status` (OPEN | DONE, mutable)
  - `priority` (LOW | HIGH, mutable)
  - `assignee` (string, mutable)
  - `product` (string, immutable)
  - `title` (string, immutable)
  - `createdAt` (datetime, immutable)
- **Cardinality**: {count}
- **Size**: 1 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket | ticketId | Single | - | No | 5/s |
| AP-002 | Ticket | {inputs} | {result} | {sort} | {paginated} | 1/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Ticket | ticketId, teamId, status | create Ticket | No | - | 1/s |

## Decisions

- {decision}
"""


def tickets(
    inputs: str,
    result: str = "Collection",
    sort: str = "createdAt DESC",
    paginated: str = "Yes (50)",
    count: str = "1M total",
    decision: str = "-",
) -> Workload:
    text = TICKETS.format(inputs=inputs, result=result, sort=sort, paginated=paginated, count=count, decision=decision)
    return read_text(text, "md").workload


def second(workload: Workload) -> Operation:
    found = solve(workload).design.operation("AP-002")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("workload", "units", "remedy"),
    [
        # Of a million items, one in 2 × 2 × 100 × 100 is returned.
        (tickets("status?, priority?, assignee?, product?"), 125_000, "require `status` or"),
        (tickets("filter title contains (keeps 0.1%)"), 6_250, "OpenSearch"),
        (tickets("teamId, title contains (keeps 1%)"), 625, "OpenSearch"),
        (tickets("-", "Count", "-", "No"), 12_208, "a counter"),
        (tickets("-", "Collection", "-", "No"), 125_000, "Paginated"),
        (tickets("teamId", "Collection", "-", "No"), 625, "Paginated"),
    ],
    ids=["optional", "filter", "contains", "count", "all", "of a team"],
)
def test_what_reads_too_much_is_not_served_and_has_its_price(workload: Workload, units: float, remedy: str) -> None:
    found = second(workload)
    assert not found.served
    assert found.units is not None
    assert found.units.read == pytest.approx(units, rel=0.01)
    assert remedy in found.remedy
    assert f"{found.units.read:,.0f} read units" in found.problem


@pytest.mark.parametrize(
    "workload",
    [
        tickets("teamId, status?"),  # twice what is returned
        tickets("teamId, title contains (keeps 50%)"),
        tickets("teamId, filter title contains (keeps 20%)"),
        tickets("status?, priority?, assignee?, product?", count="200 total"),
        tickets("status?, assignee?", count="-"),  # how many there are is not known
        tickets("-", "Collection", "-", "Yes"),
        tickets("-", "Collection, limit 100", "-", "No"),
        tickets("teamId", "Count", "-", "No", count="1K total"),
        tickets("ticketId[]", "Collection", "-", "No"),
        tickets("status?, priority?, assignee?, product?", decision="AP-002 may filter"),
        tickets("-", "Count", "-", "No", decision="AP-002 may read several pages"),
    ],
)
def test_what_reads_little_or_was_accepted_is_served(workload: Workload) -> None:
    assert excess(resolve_read(workload, workload.reads[1])) is None
    assert second(workload).served


def test_no_index_is_made_for_what_reads_too_much_and_the_bill_leaves_it_out() -> None:
    workload = tickets("status?, priority?, assignee?, product?")
    solution = solve(workload)
    assert not solution.design.indexes
    assert solution.chosen.unserved == () or "AP-002" in solution.chosen.unserved
    cost = bill(workload, solution.design).pattern("AP-002")
    assert cost is not None
    assert cost.dollars == 0
    assert "PJ530" in {d.code for d in check_design(solution.design, workload) if d.about == "AP-002"}


def test_several_pages_may_be_read_only_by_the_keys_of_the_read() -> None:
    """Accepting a large result does not accept a filter."""
    found = second(
        tickets("teamId, status, createdAt >=", "Count", "-", "No", decision="AP-002 may read several pages")
    )
    assert found.served
    assert found.requests[0].filters == ()
