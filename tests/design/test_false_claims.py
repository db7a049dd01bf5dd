"""The checker of claims finds every falsehood that is planted in a design, and none in what the solver returns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.claims import false_claims
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.explain import explain, explain_design
from prejoin.design.model import Design, Facet, Item, KeyAttribute, Operation, Slot, Units
from prejoin.design.solver.solve import Solution
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])
TASKS = """# Tasks

## Entities

### Task

- **Attributes**:
  - `taskId` (string, generated)
  - `teamId` (string, immutable)
  - `createdAt` (datetime, immutable)
- **Cardinality**: 1K total

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Sort | Paginated | Frequency |
| --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Task | taskId | Single | - | No | Warm |
| AP-002 | Task | teamId | Collection | createdAt DESC | Yes (20) | Warm |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-020 | Task | Task | create Task | No | Warm |
"""


def workload() -> Workload:
    return read_text(TASKS, "md").workload


def with_operation(design: Design, changed: Callable[[Operation], Operation], pattern: str = "AP-002") -> Design:
    operations = tuple(changed(o) if o.pattern == pattern else o for o in design.operations)
    return replace(design, operations=operations)


def with_index_key(design: Design, facet: Facet) -> Design:
    """The design with another key in its index, and the same operations."""
    item = design.items[0]
    facets = tuple(facet if one.slot == facet.slot else one for one in item.facets)
    return replace(design, items=(replace(item, facets=facets),))


def without_key(design: Design) -> Design:
    return replace(design, items=(replace(design.items[0], facets=design.items[0].facets[:1]),))


def first(operation: Operation, **changed: object) -> Operation:
    return replace(operation, requests=(replace(operation.requests[0], **changed), *operation.requests[1:]))


FALSE: dict[str, tuple[Callable[[Design], Design], str]] = {
    "a pattern is missing": (lambda d: replace(d, operations=d.operations[1:]), "not those of the patterns"),
    "other units": (lambda d: with_operation(d, lambda o: replace(o, units=Units(99))), "has other units"),
    "another direction": (lambda d: with_operation(d, lambda o: first(o, reverse=False)), "wrong direction"),
    "another entity": (lambda d: with_operation(d, lambda o: first(o, entities=("Team",))), "it reads Team"),
    "no key in the index": (without_key, "Task is not in gsi1"),
    "a partition that is not given": (
        lambda d: with_index_key(d, Facet("gsi1", ("OWNER#{taskId}",), ("TASK#{createdAt}",))),
        "the partition of Task needs taskId",
    ),
    "a key in another order": (
        lambda d: with_index_key(d, Facet("gsi1", ("TEAM#{teamId}",), ("TASK#{taskId}#{createdAt}",))),
        "not in the order of createdAt",
    ),
    "a key without an input": (
        lambda d: with_index_key(d, Facet("gsi1", ("ALL",), ("TASK#{createdAt}#{taskId}",))),
        "does not take teamId",
    ),
    "an index that nothing reads": (
        lambda d: replace(d, slots=(*d.slots, Slot("gsi9", (KeyAttribute("a"),), (KeyAttribute("b"),)))),
        "nothing reads gsi9",
    ),
    "a copy that nothing reads": (
        lambda d: replace(d, items=(*d.items, Item("Task", "T2", (Facet("table", ("X#{taskId}",), ("X",)),), "x"))),
        "nothing reads the copy Task/x",
    ),
    "a consistent read of an index": (lambda d: with_operation(d, lambda o: first(o, consistent=True)), "moment late"),
}


@pytest.mark.parametrize("name", FALSE)
def test_planted_falsehood_is_found(name: str) -> None:
    change, said = FALSE[name]
    asked = workload()
    solution = solve(asked)
    assert [slot.name for slot in solution.design.indexes] == ["gsi1"]
    assert false_claims(asked, solution, explain(asked, solution)) == []
    wrong = Solution(change(solution.design), solution.chosen)
    assert said in " ".join(false_claims(asked, wrong))


def test_explanation_of_another_design_is_false() -> None:
    asked = workload()
    solution = solve(asked)
    told = explain(asked, solution)
    small, large = (replace(told.partitions[0], items=items) for items in (0, 1e9))
    wrong = replace(
        told,
        structures=7,
        dollars=told.dollars + 1,
        patterns=(replace(told.patterns[0], served=False),),
        partitions=(small, large),
    )
    said = " ".join(false_claims(asked, solution, wrong))
    assert "there are 1 structures, and not 7" in said
    assert "a month costs" in said
    assert "AP-001 is served" in said
    assert "do not hold all 1,000 of Task" in said
    assert "has 1,000,000,000 items: there are 1,000" in said


@pytest.mark.everyday(3)
@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_claims_about_documents_hold(path: Path) -> None:
    asked = read_file(path).workload
    solution = solve(asked)
    assert false_claims(asked, solution, explain(asked, solution)) == []


@given(workloads(most_reads=6))
@settings(max_examples=examples(40))
def test_claims_about_random_workloads_hold(asked: Workload) -> None:
    solution = solve(asked)
    assert false_claims(asked, solution, explain(asked, solution)) == []


@given(workloads(most_reads=6))
@settings(max_examples=examples(20))
def test_claims_about_grown_designs_hold(asked: Workload) -> None:
    in_use = solve(replace(asked, reads=asked.reads[:-1])).design
    solution = solve(asked, in_use)
    assert false_claims(asked, solution, explain_design(asked, solution.design), in_use) == []
