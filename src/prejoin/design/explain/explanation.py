"""The explanation of a design, `explain(workload, solution)`, with the claims about its quality and its decisions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.cost.assumed import assumed
from prejoin.design.cost.objective import BETWEEN_EQUALS, IN_WORDS
from prejoin.design.explain.costs import Costs, costs_of
from prejoin.design.explain.entities import entities
from prejoin.design.explain.keys import key_explanations, plans
from prejoin.design.explain.model import AboutIndex, Alternative, Because, Explanation
from prejoin.design.explain.partitions import partitions
from prejoin.design.explain.patterns import patterns
from prejoin.design.explain.phrases import count, listed, money, rate, verb
from prejoin.design.explain.structures import copies, indexes
from prejoin.design.mapping.validate import must_fit
from prejoin.design.model import Choice, Design
from prejoin.design.solver.constraints import constraints_of
from prejoin.design.solver.solve import Solution, excess_complexity
from prejoin.workload.model import Result, Workload

MOST_NAMED = 3
"""The most patterns named as the most expensive."""


def explain(workload: Workload, solution: Solution) -> Explanation:
    """Explain a design and its cost. Alternatives are added on demand (`add_alternatives`, `without`)."""
    return explain_design(workload, solution.design, solution)


def explain_design(workload: Workload, design: Design, solution: Solution | None = None) -> Explanation:
    """Explain any mapped design. Only a solved one has claims about its quality.

    Raises DesignError if it does not fit the workload.
    """
    must_fit(design, workload)
    costs = costs_of(workload, design)
    planned = plans(workload, design)
    keys = key_explanations(workload, design, planned)
    return Explanation(
        table=design.table,
        structures=len(design.indexes) + len(design.copies),
        dollars=costs.total,
        exact=solution is not None and solution.exact,
        text=(*_words(design, costs), *(claim_sentences(workload, solution) if solution else ())),
        entities=entities(workload, design, keys, planned, costs),
        indexes=indexes(workload, design, keys, costs),
        copies=copies(workload, design, keys, costs),
        patterns=patterns(workload, design, costs),
        partitions=partitions(workload, design, keys),
        assumed=tuple(_assumed(workload, design)),
    )


def _assumed(workload: Workload, design: Design) -> Iterator[str]:
    """All assumptions, one sentence for each kind."""
    kinds: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in assumed(workload, design):
        kinds.setdefault((one.what, one.why), {}).setdefault(one.value, []).append(one.about)
    for (what, why), values in kinds.items():
        taken = "; ".join(f"{value} for {listed(names)}" for value, names in values.items())
        yield f"{what[:1].upper()}{what[1:]} is assumed to be {taken}: {why}."


def _words(design: Design, costs: Costs) -> Iterator[str]:
    entity_names = dict.fromkeys(item.entity for item in design.items)
    structures = f"{count(len(design.indexes), 'index', 'indexes')} and {count(len(design.copies), 'copy', 'copies')}"
    yield f"One table holds {count(len(entity_names), 'entity', 'entities')}, with {structures}."
    lost = [operation.pattern for operation in design.operations if not operation.served]
    served = len(design.operations) - len(lost)
    missing = f"; {listed(lost)} {verb(lost, 'is', 'are')} not" if lost else ""
    whole = count(len(design.operations), "access pattern")
    yield f"{served} of {whole} {verb(range(served), 'is', 'are')} served{missing}."
    background = f"{money(costs.background)} in the background, " if costs.bill.background else ""
    yield (
        f"It costs {money(costs.total)} a month: {money(costs.reading)} for reads, {money(costs.writing)} for writes, "
        f"{background}{money(costs.storing)} for storage."
    )
    for line in costs.bill.background:
        yield f"In the background, for {line.about}: {line.text}; {rate(line.rate)}, {money(line.dollars)} a month."
    yield from _dearest(costs)


def _dearest(costs: Costs) -> Iterator[str]:
    """The patterns and background requests that account for more than half of the cost."""
    lines = [(one.dollars, one.pattern) for one in costs.bill.patterns]
    lines += [(one.dollars, f"{one.about}, {one.kind},") for one in costs.bill.background]
    found: list[str] = []
    paid = 0.0
    for price, name in sorted(lines, key=lambda line: (-line[0], line[1])):
        if paid * 2 > costs.total or len(found) == MOST_NAMED:
            break
        paid += float(price)
        found.append(f"{name} ({money(price)})")
    if paid * 2 > costs.total:
        yield f"Most of that is for {listed(found)}."


def claim(workload: Workload, solution: Solution) -> str:
    """What is proven about a solved design, as a clause; empty if it has no indexes and copies.

    The solver compares combinations of candidate keys. Other keys exist, so nothing is claimed about all designs. What
    indexes hold, and which keys share one, is improved step by step afterwards, so the bill is only the best found.
    """
    chosen = solution.chosen
    keys = f"the {chosen.candidates:,} candidate keys"
    if constraints_of(workload).money:
        limit = "" if solution.ended else " before the search reached its limit"
        return f"the cheapest found{limit} of the combinations of {keys}, by the monthly bill"
    if not solution.design.indexes and not solution.design.copies:
        return ""
    least = f"{keys} need a complexity of at least {chosen.least:.3g}"
    if not solution.ended:
        return f"the best found before the search reached its limit; {least}"
    if excess_complexity(workload, solution) > 0:
        return f"the best found; {least}, if each index held only what its reads want"
    return f"no combination of {keys} serves as much with less complexity"


def claim_sentences(workload: Workload, solution: Solution) -> tuple[str, ...]:
    """The claim as sentences, with the criteria that decide between equal designs."""
    known = claim(workload, solution)
    first = (f"{known[0].upper()}{known[1:]}.",) if known else ()
    if constraints_of(workload).money:
        return first
    equals = f"Ties are decided by {BETWEEN_EQUALS}."
    compared = f"Designs are compared by {IN_WORDS}. {equals}"
    narrow = any(read.needs or read.result is Result.COUNT for read in workload.reads)
    if not narrow or not solution.design.indexes:
        return (*first, compared)
    want = "name the attributes they want" if any(read.needs for read in workload.reads) else "only count items"
    return (
        *first,
        compared,
        f"Some reads {want}, so an index may hold less than whole items. This is decided after "
        "the keys, step by step: it is not established that no other keys of this complexity have a lower bill.",
    )


def annotate(design: Design, explanation: Explanation) -> Design:
    """The design with its decisions and the purpose of each index."""
    purposes = {index.index: purpose(index) for index in explanation.indexes}
    slots = tuple(replace(slot, purpose=purposes.get(slot.name, slot.purpose)) for slot in design.slots)
    return replace(design, slots=slots, decisions=choices(explanation))


def purpose(index: AboutIndex) -> str:
    """The purpose of an index in a line: `User by email (AP-002); Order by status, in the order of placedAt
    (AP-008)`.
    """
    found = []
    for key in index.keys:
        by = dict.fromkeys(p.attribute for p in (*key.partition, *key.sort) if p.because is Because.GIVEN)
        order = dict.fromkeys(p.attribute for p in key.sort if p.because in (Because.RANGE, Because.ORDER))
        text = f"{key.entity} by {listed(by)}" if by else f"all {key.entity} items"
        text += f", in the order of {listed(order)}" if order else ""
        found.append(f"{text} ({', '.join(key.patterns)})" if key.patterns else text)
    return "; ".join(found)


def choices(explanation: Explanation) -> tuple[Choice, ...]:
    """The decisions about the table, each entity, index, copy and busy partition, in that order."""
    return tuple(_choices(explanation))


def _choices(explanation: Explanation) -> Iterator[Choice]:
    yield Choice("table", " ".join(explanation.text), _texts(explanation.alternatives))
    for entity in explanation.entities:
        yield Choice(entity.entity, " ".join(entity.text), _texts(entity.alternatives))
    for index in explanation.indexes:
        yield Choice(index.index, " ".join(index.text), _texts(index.alternatives))
    for copy in explanation.copies:
        yield Choice(f"{copy.entity}/{copy.copy}", " ".join(copy.text), _texts(copy.alternatives))
    for partition in explanation.partitions:
        if partition.shards > 1 or partition.bucket or partition.enough > 1:
            yield Choice(f"partition {partition.pk}", " ".join(partition.text))
    for pattern in explanation.patterns:
        if not pattern.served or pattern.alternatives:
            yield Choice(pattern.pattern, " ".join(pattern.text), _texts(pattern.alternatives))


def _texts(alternatives: tuple[Alternative, ...]) -> tuple[str, ...]:
    return tuple(one.text for one in alternatives)
