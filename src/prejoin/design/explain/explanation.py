"""The explanation of a design, all of it: `explain(workload, solution)`."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design.cost.assumptions import assumptions
from prejoin.design.explain.claims import compared
from prejoin.design.explain.costs import Costs, costs_of
from prejoin.design.explain.entities import entities
from prejoin.design.explain.keys import keyed, plans
from prejoin.design.explain.model import Explanation
from prejoin.design.explain.partitions import partitions
from prejoin.design.explain.patterns import patterns
from prejoin.design.explain.phrases import count, listed, money, verb
from prejoin.design.explain.structures import copies, indexes
from prejoin.design.mapping.validate import must_fit
from prejoin.design.model import Design
from prejoin.design.solver.solve import Solution
from prejoin.workload.model import Workload

MOST_NAMED = 3
"""Patterns that are named as the dearest."""


def explain(workload: Workload, solution: Solution) -> Explanation:
    """Why the design is as it is, and what it costs. Alternatives are solved on demand (`considered`, `without`)."""
    return explain_design(workload, solution.design, solution)


def explain_design(workload: Workload, design: Design, solution: Solution | None = None) -> Explanation:
    """The same for any design with its operations. How good it is, is said only of one that was solved.

    A DesignError where it is not one for this workload.
    """
    must_fit(design, workload)
    costs = costs_of(workload, design)
    planned = plans(workload, design)
    keys = keyed(workload, design, planned)
    return Explanation(
        table=design.table,
        structures=len(design.indexes) + len(design.copies),
        dollars=costs.total,
        exact=solution is not None and solution.exact,
        text=(*_words(design, costs), *(compared(workload, solution) if solution else ())),
        entities=entities(workload, design, keys, planned, costs),
        indexes=indexes(workload, design, keys, costs),
        copies=copies(workload, design, keys, costs),
        patterns=patterns(workload, design, costs),
        partitions=partitions(workload, design, keys),
        assumed=tuple(_assumed(workload)),
    )


def _assumed(workload: Workload) -> Iterator[str]:
    """What was assumed, each kind of it said once for all that it is about."""
    kinds: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in assumptions(workload):
        kinds.setdefault((one.what, one.why), {}).setdefault(one.value, []).append(one.about)
    for (what, why), values in kinds.items():
        taken = "; ".join(f"{value} for {listed(names)}" for value, names in values.items())
        yield f"{what[:1].upper()}{what[1:]} is taken to be {taken}: {why}."


def _words(design: Design, costs: Costs) -> Iterator[str]:
    entity_names = dict.fromkeys(item.entity for item in design.items)
    structures = f"{count(len(design.indexes), 'index', 'indexes')} and {count(len(design.copies), 'copy', 'copies')}"
    yield f"One table holds {count(len(entity_names), 'entity', 'entities')}, with {structures}."
    lost = [operation.pattern for operation in design.operations if not operation.served]
    served = len(design.operations) - len(lost)
    missing = f"; {listed(lost)} {verb(lost, 'is', 'are')} not" if lost else ""
    whole = count(len(design.operations), "access pattern")
    yield f"{served} of {whole} {verb(range(served), 'is', 'are')} served{missing}."
    yield (
        f"It costs {money(costs.total)} a month: {money(costs.reading)} for reads, {money(costs.writing)} for writes, "
        f"{money(costs.storing)} for storage."
    )
    yield from _dearest(costs)


def _dearest(costs: Costs) -> Iterator[str]:
    """The patterns that more than half of the money is for."""
    found: list[str] = []
    paid = 0.0
    for one in sorted(costs.bill.patterns, key=lambda one: (-one.dollars, one.pattern)):
        if paid * 2 > costs.total or len(found) == MOST_NAMED:
            break
        paid += float(one.dollars)
        found.append(f"{one.pattern} ({money(one.dollars)})")
    if paid * 2 > costs.total:
        yield f"Most of that is for {listed(found)}."
