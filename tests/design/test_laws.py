"""Laws of the designer over random workloads: no decision, no key and no search by brute force gives a better design.

Better is less by the objective that is printed, in which hot partitions count, by a dollar a month or more. A design
with another finding that ours does not have is not better: nobody would sign it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.design.brute_force import base_keys, best_design
from tests.design.workloads import workloads
from tests.place import examples

from prejoin.design import codes
from prejoin.design.checks import check_design
from prejoin.design.cost.assumptions import count_of, size_of
from prejoin.design.cost.objective import objective
from prejoin.design.layout.projection import WORTH, with_projections
from prejoin.design.layout.sharding import LARGE
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design, Projection
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import solve
from prejoin.diagnostics import Severity
from prejoin.keys import TemplateError
from prejoin.workload.files import read_file
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.model import AtMost, Decision, Minimise, Pin, Under, Without, Workload

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("tests/corpus/*/access-patterns.md"), *ROOT.glob("examples/*/access-patterns.md")])
EXACT = Decimal("0.00001")
"""The part of a bill up to which two bills are equal."""
HUNDREDS = settings(
    max_examples=examples(250),
    phases=(Phase.explicit, Phase.generate),
    derandomize=not os.environ.get("PREJOIN_EXAMPLES"),
)
"""100 examples of each law in the slow tests, always the same, and over a thousand others by scripts/soak. They are small,
so none is shrunk.
"""


def decisions(workload: Workload, design: Design) -> Iterator[Pin]:
    """Every single decision that asks for neither less nor for a partition that is too large."""
    yield from (Minimise("money"), Minimise("structures"))
    yield from (AtMost("GSIs", number) for number in range(len(design.indexes) + 2))
    yield from (AtMost("copies", number) for number in range(len(design.copies) + 1))
    yield from (AtMost("structures", number) for number in range(len(design.indexes) + len(design.copies) + 1))
    for entity in workload.entities:
        parents = dict.fromkeys(a.references.partition(".")[0] for a in entity.attributes if a.references)
        yield from (Under(entity.name, name) for name in parents if name != entity.name)
        yield from (Without(what, entity.name) for what in ("GSIs", "copies", "structures"))
        if count_of(workload, entity) * size_of(entity) <= LARGE:
            yield from (Without(what, entity.name) for what in ("shards", "buckets"))


def deciding(workload: Workload, pin: Pin) -> Design | None:
    try:
        return solve(replace(workload, decisions=(*workload.decisions, Decision(pin)))).design
    except InfeasibleError:
        return None


def flaws(workload: Workload, design: Design) -> set[tuple[str, str]]:
    """What our checks say against a design."""
    found = check_design(design, workload)
    return {(one.code, one.about) for one in found if one.severity is not Severity.HINT and one.code != codes.HOT.id}


def assert_not_better(workload: Workload, ours: Design, other: Design, what: str) -> None:
    mine, theirs = objective(workload, ours), objective(workload, other)
    # A dollar decides nothing: an index does not hold less to save it. And prices in the program have six digits.
    worth = max(WORTH, mine.dollars * EXACT)
    if theirs < replace(mine, dollars=mine.dollars - worth) and flaws(workload, other) <= flaws(workload, ours):
        raise AssertionError(f"{what}: {theirs} is better than {mine}\n{keys(other)}\ninstead of\n{keys(ours)}")


def keys(design: Design) -> str:
    rows = [(item.name, facet.slot, *facet.pk, *facet.sk) for item in design.items for facet in item.facets]
    return "\n".join("  " + " ".join(row) for row in rows)


@given(workloads(most_reads=6, together=True))
@HUNDREDS
def test_no_decision_gives_a_better_design(workload: Workload) -> None:
    ours = solve(workload).design
    for pin in decisions(workload, ours):
        if other := deciding(workload, pin):
            assert_not_better(workload, ours, other, write_pin(pin))


@given(workloads(most_reads=4, together=True))
@HUNDREDS
def test_no_key_gives_a_better_design(workload: Workload) -> None:
    ours = solve(workload).design
    for pin in base_keys(workload):
        if other := deciding(workload, pin):
            assert_not_better(workload, ours, other, write_pin(pin))


@given(workloads(most_reads=6, together=True))
@HUNDREDS
def test_brute_force_finds_no_better_design(workload: Workload) -> None:
    assert_not_better(workload, solve(workload).design, best_design(workload), "brute force")


def swaps(workload: Workload, design: Design) -> Iterator[tuple[str, Design]]:
    """The design with the keys of one entity in two indexes swapped, or moved. Each index holds what its reads want."""
    whole = tuple(replace(slot, projection=Projection()) for slot in design.slots)
    for item in design.items:
        for one, other in combinations([slot.name for slot in design.indexes], 2):
            names = {one: other, other: one}
            facets = [replace(facet, slot=names.get(facet.slot, facet.slot)) for facet in item.facets]
            if facets != list(item.facets):
                order = [slot.name for slot in design.slots]
                moved = replace(item, facets=tuple(sorted(facets, key=lambda facet: order.index(facet.slot))))
                items = tuple(moved if item is i else i for i in design.items)
                with suppress(TemplateError):  # attributes as they stand fit only an index of these attributes
                    mapped = map_patterns(replace(design, slots=whole, items=items), workload)
                    yield f"{item.name}: {one} and {other} swapped", with_projections(mapped, workload)


@given(workloads(most_reads=6, together=True))
@HUNDREDS
def test_no_swap_of_indexes_gives_a_better_design(workload: Workload) -> None:
    ours = solve(workload).design
    for what, other in swaps(workload, ours):
        assert_not_better(workload, ours, other, what)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.parent.name)
def test_no_swap_of_indexes_gives_a_better_design_of_a_document(path: Path) -> None:
    workload = read_file(path).workload
    ours = solve(workload).design
    for what, other in swaps(workload, ours):
        assert_not_better(workload, ours, other, what)


@given(workloads(most_reads=6, together=True), st.randoms(use_true_random=False))
@HUNDREDS
def test_the_order_of_the_workload_changes_no_key(workload: Workload, random: Random) -> None:
    entities, reads, writes = (list(part) for part in (workload.entities, workload.reads, workload.writes))
    for part in (entities, reads, writes):
        random.shuffle(part)
    turned = replace(workload, entities=tuple(entities), reads=tuple(reads), writes=tuple(writes))
    ours, theirs = solve(workload).design, solve(turned).design
    assert sorted(keys(ours).split("\n")) == sorted(keys(theirs).split("\n"))
    assert objective(workload, ours) == objective(workload, theirs)


@given(workloads(most_reads=6, together=True), st.integers(1, 5))
@HUNDREDS
def test_growth_moves_nothing(workload: Workload, first: int) -> None:
    """What a table in use has stays as it is when further reads come."""
    before = solve(replace(workload, reads=workload.reads[:first])).design
    assert_grown(before, solve(workload, before).design)


def assert_grown(before: Design, after: Design) -> None:
    """All that was there before is there after."""
    for slot in before.slots:
        now = after.slot(slot.name)
        assert now is not None
        assert (now.pk, now.sk, now.projection) == (slot.pk, slot.sk, slot.projection)
    for item in before.items:
        then = after.item(item.entity, item.copy)
        assert then is not None
        assert all(then.facet(facet.slot) == facet for facet in item.facets)
    assert set(before.guards) <= set(after.guards)
