"""What is said about how good a design is holds: no single decision gives a design that contradicts it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.cost.objective import Objective, objective
from prejoin.design.explain import add_alternatives, explain
from prejoin.design.explain.explanation import claim
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import Solution
from prejoin.design.whatif.attempt import WhatIf
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import AtMost, Decision, FixedKey, Pin, Under, Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])
READS = """| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""
CATALOGUE = f"""# Catalogue

## Entities

### Product

- **Attributes**:
  - `productId` (string, generated)
  - `name` (string, immutable)

## Access Patterns

### Reads

{READS}| AP-001 | Product | - | Collection | name ASC | Yes (50) | Warm | No |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Product | productId, name | create Product | No | Cold |
"""
FEED = f"""# Feed

## Entities

### User

- **Attributes**:
  - `userId` (uuid, generated)
- **Cardinality**: ~1M total

### Follow

- **Attributes**:
  - `followerId` (uuid, id, → User)
  - `followedId` (uuid, id, → User)
- **Cardinality**: ~100 per User

### Post

- **Attributes**:
  - `postId` (ulid, generated)
  - `authorId` (uuid, immutable, → User)
- **Cardinality**: ~100 per User

## Access Patterns

### Reads

{READS}| AP-001 | Post | authorId | Collection | postId DESC | Yes (20) | 20/s | No |
| AP-002 | Follow | followedId | Collection | - | Yes (100) | 20/s | No |
| AP-003 | Follow, Post | followerId | Collection | Post.postId DESC | Yes (20) | 100/s | Join |
"""
WAREHOUSES = f"""# Warehouses

## Entities

### Warehouse

- **Attributes**:
  - `warehouseId` (uuid, generated)
- **Cardinality**: ~1K total

### Product

- **Attributes**:
  - `warehouseId` (uuid, id, → Warehouse)
  - `productId` (uuid, generated)
  - `category` (string, immutable)
- **Cardinality**: ~200 per Warehouse

## Access Patterns

### Reads

{READS}| AP-001 | Product | warehouseId | Collection | - | Yes (50) | 5/s | No |
| AP-002 | Product | warehouseId, category | Collection | - | Yes (50) | 5/s | No |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Product | warehouseId, productId, category | put Product | No | 1/s |
"""


def read(text: str) -> Workload:
    return read_text(text, "md").workload


def decisions(workload: Workload, design: Design) -> Iterator[Pin]:
    """Single decisions that a reader might try: fewer indexes, no copies, an entity under another."""
    yield from (AtMost("GSIs", count) for count in range(len(design.indexes)))
    if design.copies:
        yield AtMost("copies", 0)
    for entity in workload.entities:
        parents = dict.fromkeys(a.references.partition(".")[0] for a in entity.attributes if a.references)
        yield from (Under(entity.name, name) for name in parents if name != entity.name)


def decided(workload: Workload, pin: Pin) -> Solution | None:
    try:
        return solve(replace(workload, decisions=(*workload.decisions, Decision(pin))))
    except InfeasibleError:
        return None


def compared(of: Objective) -> tuple[int, Decimal]:
    """The parts of the objective that a design is said to be compared by."""
    return of.lost, of.complexity


def holds(workload: Workload, wholly: bool) -> None:
    solution = solve(workload)
    ours = objective(workload, solution.design)
    said = " ".join(explain(workload, solution).text)
    if solution.exact:
        assert (ours.unserved, solution.design.indexes, solution.design.copies) == (0, (), ())
    for pin in decisions(workload, solution.design):
        other = decided(workload, pin)
        if other is None:
            continue
        theirs = objective(workload, other.design)
        if "serves as much with less" in said or "Designs are compared by" in said:
            assert compared(ours) <= compared(theirs), pin
        if wholly:
            assert ours <= theirs, pin


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS[::3], ids=lambda path: path.parent.name)
def test_no_decision_gives_a_better_design_of_a_document(path: Path) -> None:
    """Not even by what the solver only estimates."""
    holds(read_file(path).workload, wholly=True)


@given(workloads())
@settings(max_examples=examples(15))
def test_no_decision_contradicts_what_is_said_of_any_workload(workload: Workload) -> None:
    holds(workload, wholly=False)


def test_the_parts_of_the_objective_are_compared_in_their_order() -> None:
    worse = {"lost": 1, "complexity": Decimal("0.5"), "reading_writes": 1, "queries_each": 1}
    best = objective(read(CATALOGUE), solve(read(CATALOGUE)).design)
    assert best == Objective(0, Decimal(), 0, 0, best.dollars)
    found = [replace(best, **{name: value}) for name, value in worse.items()]
    assert sorted([best, *found]) == [best, *reversed(found)]


def test_a_small_catalogue_that_is_read_whole_needs_no_index() -> None:
    design = solve(read(CATALOGUE)).design
    assert not design.indexes
    assert design.items[0].facets[0].sk == ("PRODUCT#{name}#{productId}",)
    large = read(CATALOGUE.replace("(string, immutable)\n", "(string, immutable)\n- **Cardinality**: 5M total\n"))
    assert [o.requests[0].slot for o in solve(large).design.operations] == ["gsi1", "table"], "too much for a partition"


def test_unserved_read_gets_no_structures() -> None:
    solution = solve(read(FEED))
    assert [o.pattern for o in solution.design.operations if not o.served] == ["AP-003"]
    assert (solution.design.indexes, solution.chosen.unserved) == ((), ("AP-003",))
    assert not solution.exact, "with more indexes more might be served"


def test_what_a_read_gives_beside_ids_may_be_in_the_sort_key() -> None:
    """The pinned key serves both reads from the table; so does what is chosen."""
    workload = read(WAREHOUSES)
    pinned = decided(workload, FixedKey("Product", "WAREHOUSE#{warehouseId}", "PRODUCT#{category}#{productId}"))
    assert pinned is not None
    assert objective(workload, solve(workload).design) <= objective(workload, pinned.design)


def test_claim_covers_only_compared_designs() -> None:
    workload = read_file(ROOT / "examples" / "shop" / "access-patterns.md").workload
    solution = solve(workload)
    assert not solution.exact
    assert solution.ended
    number = solution.chosen.candidates
    assert claim(workload, solution) == (
        f"no combination of the {number:,} candidate keys serves as much with less complexity"
    )


@pytest.mark.slow
def test_infeasible_alternative_does_not_name_missing_decisions() -> None:
    for path in DOCUMENTS[::9]:
        workload = read_file(path).workload
        solution = solve(workload)
        told = add_alternatives(WhatIf(workload, solution), explain(workload, solution), most=4)
        every = [*told.alternatives, *(a for about in (*told.entities, *told.copies) for a in about.alternatives)]
        if not workload.decisions:
            assert not [one.text for one in every if "decide" in one.text]
