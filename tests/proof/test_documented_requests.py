"""The documented requests are those that are sent: one to one, and in order.

While a design is proven, all requests of the client are recorded. Each is an instance of a literal request of its
pattern (`design.requests`), with the same expressions, and each literal request was sent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.test_laws import HUNDREDS
from tests.design.wide_workloads import wide_workloads
from tests.place import examples
from tests.proof.documented_requests import differences, recorded_calls
from tests.proof.league import NOW
from tests.solutions import solve

from prejoin.design.model import ItemAction, Operation
from prejoin.design.solver.solve import solve as solve_anew
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.workload.conditions import leaves
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    (
        *ROOT.glob("examples/*/access-patterns.md"),
        *ROOT.glob("tests/corpus/*/access-patterns.md"),
        *ROOT.glob("tests/render/python/documents/*.md"),
        ROOT / "tests/constructs/notes.md",
        ROOT / "tests/small.md",
        ROOT / "tests/proof/league.md",
        ROOT / "tests/proof/market.md",
    )
)


def _name(path: Path) -> str:
    return path.parent.name if path.stem == "access-patterns" else path.stem


def _with_actions(operation: Operation, change: Callable[[ItemAction], ItemAction]) -> Operation:
    requests = [
        replace(request, actions=tuple(change(action) for action in request.actions)) for request in operation.requests
    ]
    return replace(operation, requests=tuple(requests))


def _knowing_nothing(action: ItemAction) -> ItemAction:
    conditions = [test for test in action.conditions if not {one.attribute for one in leaves(test)} & {*action.known}]
    return replace(action, known=(), unchanged=(), conditions=tuple(conditions))


MUTANTS: dict[str, Callable[[Operation], Operation]] = {
    "no conditions": lambda one: _with_actions(one, lambda action: replace(action, conditions=())),
    "one change less": lambda one: _with_actions(one, lambda it: replace(it, changes=it.changes[:1] or it.changes)),
    "another key": lambda one: _with_actions(one, lambda action: replace(action, pk=f"X{action.pk}")),
    "one item less": lambda one: replace(one, requests=tuple(replace(r, actions=r.actions[:1]) for r in one.requests)),
    "no values known": lambda one: _with_actions(one, _knowing_nothing),
    "other order": lambda one: replace(one, requests=tuple(replace(r, reverse=not r.reverse) for r in one.requests)),
    "no range": lambda one: replace(one, requests=tuple(replace(r, sk=None) for r in one.requests)),
    "other limit": lambda one: replace(one, requests=tuple(replace(r, limit=None) for r in one.requests)),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_in_an_operation_is_found(mutant: str) -> None:
    workload = read_file(ROOT / "examples/shop/access-patterns.md").workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine)
    operations = tuple(MUTANTS[mutant](operation) for operation in design.operations)
    assert differences(recorded, workload, replace(design, operations=operations)) != []


@pytest.mark.slow
@pytest.mark.parametrize("path", DOCUMENTS, ids=_name)
def test_the_requests_of_a_document_are_those_that_are_sent(path: Path) -> None:
    workload = read_file(path).workload
    design = solve(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine)
    assert recorded
    assert differences(recorded, workload, design) == []


SEATS = """# Seats

## Entities

### Seat

- **Attributes**:
  - `eventId` (string, id)
  - `seatNo` (string, id, natural)
  - `status` (FREE | HELD | SOLD, mutable)
  - `heldBy` (string, optional, mutable)
  - `price` (integer, mutable)
{more}- **Cardinality**: ~2000
{line}
## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| -- | ------ | ---------------- | ------ | --------- |
| R1 | Seat | eventId | Collection | 1/s |
{read}
### Writes

| ID | Entity | Input Parameters | Items Written | Conditions | Frequency |
| -- | ------ | ---------------- | ------------- | ---------- | --------- |
| W1 | Seat | eventId, seatNo, price | `upsert Seat (price, status = FREE)` | `{conditions}` | 5/s |
"""
OF_HOLDER = "| R2 | Seat | heldBy, status = HELD | Collection | 1/s |\n"
"""A read for which the upsert reads the seat first: its index key may change."""
REMOVED = {"more": "  - `removedAt` (datetime, optional, mutable)\n", "line": "- **Soft delete**: removedAt\n"}
EXPIRING = {"more": "  - `expiresAt` (datetime, optional, mutable, ttl)\n"}


@pytest.mark.parametrize("lines", [{}, REMOVED, EXPIRING], ids=["plain", "soft delete", "expiry"])
@pytest.mark.parametrize("read", ["", OF_HOLDER], ids=["blind", "read first"])
@pytest.mark.parametrize(
    "conditions",
    [
        "price < price or status in (FREE, HELD)",
        "price < price; status in (FREE, HELD)",
        "price < price; Seat not exists or status = FREE",
        "Seat exists and price < price",
        "not (Seat exists and price < price)",
    ],
)
def test_the_conditions_of_an_upsert_are_those_that_are_sent(conditions: str, read: str, lines: dict[str, str]) -> None:
    text = SEATS.format_map({"more": "", "line": "", "read": read, "conditions": conditions, **lines})
    reading = read_text(text, "md")
    assert [d.message for d in reading.diagnostics if d.severity == "error"] == []
    design = solve(reading.workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        assert prove(reading.workload, design, engine, now=NOW).right
    assert differences(recorded, reading.workload, design) == []


@pytest.mark.slow
@given(wide_workloads())
@settings(HUNDREDS, max_examples=examples(200))
def test_the_requests_of_random_workloads_are_those_that_are_sent(workload: Workload) -> None:
    design = solve_anew(workload).design
    with Embedded() as engine, recorded_calls() as recorded:
        prove(workload, design, engine, now=NOW)
    assert differences(recorded, workload, design) == []
