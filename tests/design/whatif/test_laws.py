"""Laws of what-ifs that hold for every change: they can be undone, and what is said of their outcome is true."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from msgspec.structs import replace
from tests.design.workloads import workloads
from tests.place import examples
from tests.solutions import solve

from prejoin.design.cost.bill import bill
from prejoin.design.explain import add_alternatives, explain
from prejoin.design.model import Design
from prejoin.design.whatif import attempt
from prejoin.design.whatif.alternatives import copy_changes, key_changes, table_changes
from prejoin.design.whatif.attempt import Outcome, WhatIf
from prejoin.design.whatif.change import Change, apply_change, combine_changes
from prejoin.design.whatif.counter import counter_changes
from prejoin.design.whatif.document_lines import changed_lines
from prejoin.design.whatif.filters import filter_changes
from prejoin.design.whatif.frontier import frontier, propose
from prejoin.design.whatif.relaxations import relaxation_changes
from prejoin.design.whatif.simplifications import MOST_SIMPLIFIED, simplification_changes, simplify
from prejoin.workload.checks import check
from prejoin.workload.document.write_document import write_document
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Accept, AtMost, Decision, Minimise, Read, Result, Workload

ROOT = Path(__file__).parents[3]
NAMES = ("small", "shop", "blog", "teams", "metrics", "aws_retail_cart", "aws_ski_resort", "debrie_session_store")
PATHS = {"small": ROOT / "tests" / "small.md"}
PATHS |= {path.parent.name: path for path in ROOT.glob("examples/*/access-patterns.md")}
PATHS |= {path.parent.name: path for path in ROOT.glob("tests/corpus/*/access-patterns.md")}
COUNTS = """# Votes

## Entities

### Vote

- **Attributes**:
  - `voteId` (ulid, generated)
  - `pollId` (uuid, immutable)
  - `color` (string, immutable)
  - `place` (string, immutable)
  - `party` (string, immutable)
- **Cardinality**: ~100 per pollId, ~100 per color, ~100 per place, ~100 per party, 1M total

## Access Patterns

### Reads

| ID | Entity | Input Parameters | Result | Frequency |
| --- | --- | --- | --- | --- |
| AP-001 | Vote | pollId | Count | 100/s |
| AP-002 | Vote | color | Count | 110/s |
| AP-003 | Vote | place | Count | 120/s |
| AP-004 | Vote | party | Count | 400/s |

### Writes

| ID | Entity | Input Parameters | Items Written | Transaction | Frequency |
| --- | --- | --- | --- | --- | --- |
| AP-010 | Vote | Vote | create Vote | No | 1/min |
"""


def document(name: str) -> Workload:
    return read_file(PATHS[name]).workload


def all_changes(what_if: WhatIf) -> Iterator[Change]:
    """The changes that any question is about."""
    yield from table_changes(what_if)
    yield from copy_changes(what_if).values()
    yield from key_changes(what_if).values()
    yield from filter_changes(what_if)
    yield from simplification_changes(what_if)
    for read in what_if.workload.reads:
        yield from relaxation_changes(what_if.workload, read)
    yield Change(pins=(Minimise("money"), AtMost("structures", what_if.design.structures + 1)))
    yield from (Change(removed_names=(pattern.id,)) for pattern in what_if.workload.patterns)


def undo(workload: Workload, change: Change) -> Change:
    """The change that takes a change back."""
    added = [entity.name for entity in change.entities if workload.entity(entity.name) is None]
    added += [pattern.id for pattern in change.patterns if workload.pattern(pattern.id) is None]
    replaced = [workload.pattern(id_) for id_ in (*(pattern.id for pattern in change.patterns), *change.removed_names)]
    changed = apply_change(workload, change)
    removed = [decision.pin for decision in workload.decisions if decision not in changed.decisions]
    return Change(
        pins=tuple(pin for pin in removed if pin),
        removed_pins=tuple(pin for pin in change.pins if pin not in [decision.pin for decision in workload.decisions]),
        entities=tuple(old for entity in change.entities if (old := workload.entity(entity.name))),
        patterns=tuple(pattern for pattern in replaced if pattern),
        removed_names=tuple(added),
    )


def parts(workload: Workload) -> list[object]:
    """Everything that a change can be about, in no order of patterns: those that are dropped come back at the end."""
    patterns = sorted((*workload.reads, *workload.writes, *workload.deletes), key=lambda pattern: pattern.id)
    return [workload.entities, patterns, sorted(repr(decision.pin) for decision in workload.decisions)]


def keys(design: Design) -> list[object]:
    return [(item.entity, item.copy, item.facets) for item in design.items]


def assert_outcome_is_true(what_if: WhatIf, outcome: Outcome) -> None:
    """The changed document, written and read again, has the design and the bill of the outcome."""
    assert outcome.design is not None
    reading = read_text(write_document(outcome.workload), "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    design = solve(reading.workload, what_if.kept).design
    price = float(bill(reading.workload, design).total)
    assert price == pytest.approx(outcome.price)
    assert keys(design) == keys(outcome.design)
    assert outcome.dollars == pytest.approx(price - what_if.price)
    assert outcome.structures == design.structures - what_if.design.structures
    assert {*outcome.lost_patterns} == design.unserved - what_if.design.unserved
    assert {*outcome.gained_patterns} == what_if.design.unserved - design.unserved - {*outcome.change.removed_names}


def assert_change_can_be_undone(what_if: WhatIf, change: Change) -> None:
    changed = apply_change(what_if.workload, change)
    again = apply_change(changed, undo(what_if.workload, change))
    assert parts(again) == parts(what_if.workload)
    assert keys(solve(again, what_if.kept).design) == keys(what_if.design)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.everyday(1)
def test_every_change_of_a_document(name: str) -> None:
    workload = document(name)
    what_if = WhatIf(workload, solve(workload))
    for change in all_changes(what_if):
        assert_change_can_be_undone(what_if, change)
        outcome = what_if.attempt(change)
        if outcome.design is not None and not change.removed_names:
            assert_outcome_is_true(what_if, outcome)
    assert what_if.attempt(Change()).design == what_if.design


@pytest.mark.slow
@given(workloads(most_reads=4))
@settings(max_examples=examples(40))
def test_every_change_of_any_workload(workload: Workload) -> None:
    what_if = WhatIf(workload, solve(workload))
    for change in all_changes(what_if):
        assert_change_can_be_undone(what_if, change)
        outcome = what_if.attempt(change)
        assert change.pins or outcome.failure is None
        if outcome.design is not None and outcome.dollars < 0 and not change.removed_names:
            assert bill(outcome.workload, solve(outcome.workload).design).total < bill(workload, what_if.design).total


def test_every_proposal_leaves_a_document_without_errors() -> None:
    for name in NAMES:
        workload = document(name)
        for read in workload.reads:
            for change in relaxation_changes(workload, read):
                errors = [d for d in check(apply_change(workload, change)) if d.severity == "error"]
                assert errors == [], (name, change.summary)


@pytest.mark.slow
def test_every_change_keeps_a_design_in_use() -> None:
    """All changes but those of a key that is in use, which contradict it."""
    workload = document("aws_retail_cart")
    kept = solve(apply_change(workload, Change(removed_names=("AP3",)))).design
    what_if = WhatIf(workload, solve(workload, kept), kept)
    for change in all_changes(what_if):
        outcome = what_if.attempt(change)
        assert outcome.design is not None or change.pins
        for item in kept.items if outcome.design else ():
            now = outcome.design.item(item.entity, item.copy)
            assert now is not None
            assert {(facet.slot, facet.pk, facet.sk) for facet in item.facets} <= {
                (facet.slot, facet.pk, facet.sk) for facet in now.facets
            }


def test_nothing_is_solved_twice_for_all_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[Workload] = []
    remembered = attempt.solve

    def counted(workload: Workload, *more: object, **options: object) -> object:
        solved.append(workload)
        return remembered(workload, *more, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(attempt, "solve", counted)
    workload = document("aws_retail_cart")
    solution = solve(workload)
    what_if = WhatIf(workload, solution)
    for _ in range(2):
        add_alternatives(what_if, explain(workload, solution))
        frontier(what_if)
        propose(what_if)
    assert len(solved) == len({repr(changed) for changed in solved})
    assert workload not in solved


def test_best_candidates_are_attempted_and_not_the_first() -> None:
    """The fourth counter saves most, and three are attempted."""
    workload = read_text(COUNTS, "md").workload
    what_if = WhatIf(workload, solve(workload))
    changes = simplification_changes(what_if)
    assert len(changes) > MOST_SIMPLIFIED
    assert {"AP-004"} == {pattern.id for pattern in changes[3].patterns if isinstance(pattern, Read)}
    assert changes[3] in what_if.best_changes(changes, MOST_SIMPLIFIED)
    assert any("AP-004" in line for line in simplify(what_if)[0].take)


def test_decisions_about_a_dropped_pattern_go_with_it() -> None:
    shop = document("shop")
    workload = replace(shop, decisions=(Decision(Accept("AP-006", "filter")), Decision(AtMost("GSIs", 3))))
    changed = apply_change(workload, Change(removed_names=("AP-006",)))
    assert changed.decisions == (Decision(AtMost("GSIs", 3)),)
    assert changed.pattern("AP-006") is None


def test_several_changes_are_one() -> None:
    workload = read_text(COUNTS, "md").workload
    first = next(counter_changes(workload, workload.reads[0]))
    between = apply_change(workload, first)
    second = Change("second", patterns=(replace(workload.reads[1], result=Result.MANY),))
    both = combine_changes([first, second])
    assert apply_change(workload, both) == apply_change(between, second)
    assert both.summary == f"{first.summary}; second"


def test_lines_tell_each_cell_that_changes() -> None:
    """A geohash asks nine cells, in no order: without these cells the document would have another price."""
    text = COUNTS.replace("`color` (string", "`lat` (decimal").replace("`place` (string", "`lon` (decimal")
    text = text.replace("~100 per color, ~100 per place, ", "").replace(
        "| color | Count |", "| lat between, lon between | Collection |"
    )
    text = text.replace("| AP-003 | Vote | place | Count | 120/s |\n", "")
    text = text.replace("| Result | Frequency |\n| --- ", "| Result | Sort | Frequency |\n| --- | --- ")
    text = text.replace("Count | ", "Count | - | ").replace("Collection | ", "Collection | party ASC | ")
    workload = read_text(text, "md").workload
    (change,) = relaxation_changes(workload, workload.reads[1])
    last = list(changed_lines(workload, apply_change(workload, change)))[-1]
    assert last.startswith("AP-002: geohash begins_with")
    assert last.endswith("| - under Sort | 990/s under Frequency")
