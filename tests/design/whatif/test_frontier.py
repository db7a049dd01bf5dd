"""The frontier: what each design on it promises, and the proposal of a much cheaper one."""

from __future__ import annotations

from dataclasses import replace as with_other
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.cli.outcome import Line as TextLine
from prejoin.cli.text.frontier import proposal_lines
from prejoin.design.cost.objective import objective
from prejoin.design.phrases import money
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.frontier import LARGE_SAVING, FrontierPoint, frontier, propose
from prejoin.pipeline.design.design_table import design_table
from prejoin.pipeline.design.frontier import frontier_command
from prejoin.pipeline.document import Document
from prejoin.render.pictures.drawing import Dot, Line, write_svg
from prejoin.render.pictures.frontier import draw_frontier
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Accept, AtMost, Decision, Minimise, Workload

ROOT = Path(__file__).parents[3]
SHOP = read_file(ROOT / "examples" / "shop" / "access-patterns.md").workload
TASKS = read_text(
    """# Tasks

## Entities

### Task

- **Attributes**:
  - `taskId` (string, generated)
  - `state` (OPEN | DONE, mutable)

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-001 | Task | state | Collection | Yes (20) | Hot |
""",
    "md",
).workload
ACCOUNTS = read_text(
    """# Accounts

## Entities

### Account

- **Attributes**:
  - `accountId` (string, generated)
  - `email` (string, mutable)
  - `name` (string, mutable)

## Access Patterns

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Account | email, name | update Account (name) | No | - | 1/s |
""",
    "md",
).workload
ORDERS = """# Orders

## Entities

### Customer

- **Attributes**:
  - `customerId` (string, generated)

### Order

- **Attributes**:
  - `orderId` (string, generated)
  - `customerId` (string, immutable, → Customer)
  - `status` (NEW | PAID | SENT | DONE, mutable)
  - `placedAt` (datetime, immutable)
- **Cardinality**: ~300 per Customer
- **Size**: 2 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Order | customerId | Collection | placedAt DESC | Yes (20) | 1/s |
| AP-002 | Order | customerId, status | Collection | - | Yes | 50/s |

## Decisions

- AP-002 may filter
"""
OPEN = """# Tickets

## Entities

### Ticket

- **Attributes**:
  - `ticketId` (string, generated)
  - `state` (OPEN | DONE, mutable)
  - `rank` (integer, immutable)
- **Size**: 3 KB

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Ticket | state = OPEN, ticketId, rank >= | Collection | rank ASC | Yes (20) | 50/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-002 | Ticket | ticketId, state | update Ticket (state) | No | - | 5/s |
"""


def assert_frontier_is_right(workload: Workload) -> None:
    """Decisions give each design again; none is beaten, and the proposal saves what it claims."""
    solution = solve(workload)
    ours = objective(workload, solution.design)
    points = frontier(WhatIf(workload, solution))
    assert [point.decisions for point in points].count(()) == 1
    for point in points:
        decided = replace(workload, decisions=(*workload.decisions, *map(Decision, point.decisions)))
        assert solve(decided).design == point.design, "the decisions give it again"
        found = objective(workload, point.design)
        assert found.lost <= ours.lost
        assert (found.complexity, found.dollars) == (point.complexity, point.dollars)
    for relaxed in (point for point in points if point.relaxed):
        beating = [p for p in points if p.complexity <= relaxed.complexity and p.dollars <= relaxed.dollars]
        assert beating == [relaxed]
    others = [point for point in points if point.decisions and not point.relaxed]
    for simpler, cheaper in pairwise(others):
        assert simpler.complexity < cheaper.complexity
        assert simpler.dollars > cheaper.dollars
    offered = propose(WhatIf(workload, solution))
    if offered:
        assert offered.dollars < ours.dollars * (1 - LARGE_SAVING)
        assert offered.structures <= len(solution.design.indexes) + len(solution.design.copies) + 1


def test_frontier_of_the_shop() -> None:
    assert_frontier_is_right(SHOP)


def test_filter_that_spares_an_index_is_a_design_of_the_frontier() -> None:
    """It is simpler and cheaper than the chosen design, which stays on the frontier: filters are for people to accept."""
    found = design_table(Document.of(SHOP), prove=False, alternatives=0)
    first, chosen = frontier(WhatIf(SHOP, found.solution))
    assert first.decisions == (Accept("AP-006", "filter"),)
    assert first.relaxed
    assert (chosen.decisions, chosen.relaxed) == ((), False)
    assert (first.complexity, first.indexes) == (chosen.complexity - 1, chosen.indexes - 1)
    assert first.dollars < chosen.dollars
    assert frontier_command(found, first).endswith('--decide "AP-006 may filter"')


def test_every_design_finds_the_items_that_a_write_does_not_know() -> None:
    """A design is not as good if it assumes that the caller of a write knows an id that the document does not give."""
    found = solve(ACCOUNTS)
    blind = replace(ACCOUNTS, decisions=(Decision(AtMost("GSIs", 0)),))
    assert objective(ACCOUNTS, found.design).lost == 0 < objective(ACCOUNTS, solve(blind).design).lost
    assert [point.indexes for point in frontier(WhatIf(ACCOUNTS, found))] == [1]


@pytest.mark.slow
@given(workloads(most_reads=6))
@settings(max_examples=examples(100))
def test_frontier_of_any_workload(workload: Workload) -> None:
    assert_frontier_is_right(workload)


def point(complexity: str, dollars: str, *pins: Minimise) -> FrontierPoint:
    return FrontierPoint(pins, Decimal(complexity), Decimal(dollars), 2, 1, 0, solve(SHOP).design)


def test_chart_places_simpler_designs_left_and_cheaper_ones_lower() -> None:
    drawing = draw_frontier("Shop", (point("2", "310"), point("4.5", "120.5", Minimise("money"))))
    first, second = (shape for shape in drawing.shapes if isinstance(shape, Dot))
    assert first.x < second.x
    assert first.y < second.y
    assert "complexity 4.5, $120.50 a month, 2 indexes, 1 copy: minimise money" in write_svg(drawing)


def test_chart_draws_the_line_without_designs_that_need_a_filter() -> None:
    relaxed = replace(point("1", "90"), decisions=(Accept("AP-006", "filter"),))
    drawing = draw_frontier("Shop", (relaxed, point("2", "310"), point("4.5", "120.5", Minimise("money"))))
    assert len([shape for shape in drawing.shapes if isinstance(shape, Dot)]) == 3
    without = draw_frontier("Shop", (point("2", "310"), point("4.5", "120.5", Minimise("money"))))
    assert [s for s in drawing.shapes if isinstance(s, Line)] == [s for s in without.shapes if isinstance(s, Line)]


def test_much_cheaper_design_is_proposed_and_told_at_the_top() -> None:
    """A design with eight shards that nobody needs costs several times as much as the one without."""
    spread = design_table(Document.of(TASKS), decisions=["Task in 8 shards"], prove=False)
    offered = propose(WhatIf(TASKS, spread.solution))
    assert offered is not None
    assert offered.dollars < Decimal(spread.bill.total) * (1 - LARGE_SAVING)
    told = "".join(map(plain, proposal_lines(with_other(spread, proposal=offered))))
    costs = f"{money(offered.dollars)} a month instead of {money(spread.bill.total)}"
    assert told.startswith(f"With other keys it costs {costs} (")
    assert told.endswith('% less): `--decide "minimise money"` `--decide "at most 2 structures"`')
    assert propose(WhatIf(TASKS, solve(TASKS))) is None


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (ORDERS, "With 1 structure more it costs "),  # an index instead of the filter that the document accepts
        (OPEN, "With other keys, and more writes that read first, it costs "),  # an index of open tickets only
    ],
)
def test_much_cheaper_design_is_proposed_for_a_design_as_chosen(document: str, text: str) -> None:
    found = design_table(Document.of(read_text(document, "md").workload), prove=False)
    told = "".join(map(plain, proposal_lines(found)))
    assert told.startswith(text)


def plain(line: TextLine) -> str:
    return "".join(piece if isinstance(piece, str) else piece[0] for piece in line)
