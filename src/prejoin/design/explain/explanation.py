"""The explanation of a design, `explain(workload, solution)`, with the claims about its quality and its decisions."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.cost.assumed import assumed
from prejoin.design.cost.objective import BETWEEN_EQUALS, IN_WORDS
from prejoin.design.explain.costs import Costs, costs_of
from prejoin.design.explain.entities import explain_entities
from prejoin.design.explain.keys import key_explanations, plan_reads
from prejoin.design.explain.model import AboutIndex, AboutKey, Because, Explanation
from prejoin.design.explain.partitions import explain_partitions
from prejoin.design.explain.patterns import explain_patterns
from prejoin.design.explain.structures import explain_copies, explain_indexes
from prejoin.design.mapping.validate import must_fit
from prejoin.design.model import Choice, Design
from prejoin.design.phrases import count, listed, money, rate, verb
from prejoin.design.solver.constraints import constraints_of
from prejoin.design.solver.solve import Solution, excess_complexity
from prejoin.design.whatif.alternative import Alternative
from prejoin.workload.model import Result, Workload

MOST_NAMED = 3
"""The most patterns named as the most expensive."""


def explain(workload: Workload, solution: Solution) -> Explanation:
    """Explain a design and its cost. Alternatives are added on demand (`add_alternatives`)."""
    return explain_design(workload, solution.design, solution)


def explain_design(workload: Workload, design: Design, solution: Solution | None = None) -> Explanation:
    """Explain any mapped design. Only a solved one has claims about its quality.

    Raises DesignError if it does not fit the workload.
    """
    must_fit(design, workload)
    costs = costs_of(workload, design)
    read_plans = plan_reads(workload, design)
    keys = key_explanations(workload, design, read_plans)
    return Explanation(
        table=design.table,
        structures=design.structures,
        dollars=costs.total,
        exact=solution is not None and solution.exact,
        text=(*_table_sentences(design, costs), *(claim_sentences(workload, solution) if solution else ())),
        entities=explain_entities(workload, design, keys, read_plans, costs),
        indexes=explain_indexes(workload, design, keys, costs),
        copies=explain_copies(workload, design, keys, costs),
        patterns=explain_patterns(workload, design, costs),
        partitions=explain_partitions(workload, design, keys),
        assumed=tuple(_assumption_sentences(workload, design)),
    )


def _assumption_sentences(workload: Workload, design: Design) -> Iterator[str]:
    """All assumptions, one sentence for each kind."""
    names_by_value: dict[tuple[str, str], dict[str, list[str]]] = {}
    for assumption in assumed(workload, design):
        values = names_by_value.setdefault((assumption.what, assumption.why), {})
        values.setdefault(assumption.value, []).append(assumption.about)
    for (subject, reason), values in names_by_value.items():
        assumed_values = "; ".join(f"{value} for {listed(names)}" for value, names in values.items())
        yield f"{subject[:1].upper()}{subject[1:]} is assumed to be {assumed_values}: {reason}."


def _table_sentences(design: Design, costs: Costs) -> Iterator[str]:
    entity_names = dict.fromkeys(item.entity for item in design.items)
    structures = f"{count(len(design.indexes), 'index', 'indexes')} and {count(len(design.copies), 'copy', 'copies')}"
    yield f"One table holds {count(len(entity_names), 'entity', 'entities')}, with {structures}."
    unserved_patterns = [operation.pattern for operation in design.operations if not operation.served]
    served_count = len(design.operations) - len(unserved_patterns)
    exceptions = ""
    if unserved_patterns:
        exceptions = f"; {listed(unserved_patterns)} {verb(unserved_patterns, 'is', 'are')} not"
    patterns = count(len(design.operations), "access pattern")
    yield f"{served_count} of {patterns} {verb(range(served_count), 'is', 'are')} served{exceptions}."
    background = f"{money(costs.background)} in the background, " if costs.bill.background else ""
    yield (
        f"It costs {money(costs.total)} a month: {money(costs.reading)} for reads, {money(costs.writing)} for writes, "
        f"{background}{money(costs.storing)} for storage."
    )
    for line in costs.bill.background:
        how_often = f"{rate(line.rate)}, " if line.rate else ""
        yield f"In the background, for {line.about}: {line.text}; {how_often}{money(line.dollars)} a month."
    yield from _most_expensive_sentence(costs)


def _most_expensive_sentence(costs: Costs) -> Iterator[str]:
    """The few patterns and background requests that account for more than half of the cost, if a few do."""
    prices = [(cost.dollars, cost.pattern) for cost in costs.bill.patterns]
    prices += [(cost.dollars, f"{cost.about}, {cost.kind},") for cost in costs.bill.background]
    phrases: list[str] = []
    dollars_named = 0.0
    for price, name in sorted(prices, key=lambda line: (-line[0], line[1])):
        if dollars_named * 2 > costs.total or len(phrases) == MOST_NAMED:
            break
        dollars_named += float(price)
        phrases.append(f"{name} ({money(price)})")
    if dollars_named * 2 > costs.total:
        yield f"Most of that is for {listed(phrases)}."


def claim(workload: Workload, solution: Solution) -> str:
    """What is proven about a solved design, as a clause; empty if it has no indexes and copies.

    The solver compares combinations of candidate keys. Other keys exist, so nothing is claimed about all designs. What
    indexes hold, and which keys share one, is improved step by step afterwards, so the bill is only the best found.
    """
    selection = solution.chosen
    keys = f"the {selection.candidates:,} candidate keys"
    if constraints_of(workload).money:
        limit = "" if solution.ended else " before the search reached its limit"
        return f"the cheapest found{limit} of the combinations of {keys}, by the monthly bill"
    if not solution.design.indexes and not solution.design.copies:
        return ""
    least = f"{keys} need a complexity of at least {selection.least:.3g}"
    if not solution.ended:
        return f"the best found before the search reached its limit; {least}"
    if excess_complexity(workload, solution) > 0:
        return f"the best found; {least}, if each index held only what its reads want"
    return f"no combination of {keys} serves as much with less complexity"


def claim_sentences(workload: Workload, solution: Solution) -> tuple[str, ...]:
    """The claim as sentences, with the criteria that decide between equal designs."""
    claim_text = claim(workload, solution)
    sentences = []
    if claim_text:
        sentences.append(f"{claim_text[0].upper()}{claim_text[1:]}.")
    if constraints_of(workload).money:
        return tuple(sentences)
    sentences.append(f"Designs are compared by {IN_WORDS}. Ties are decided by {BETWEEN_EQUALS}.")
    has_needs = any(read.needs for read in workload.reads)
    has_narrow_reads = has_needs or any(read.result is Result.COUNT for read in workload.reads)
    if has_narrow_reads and solution.design.indexes:
        demands = "name the attributes they want" if has_needs else "only count items"
        sentences.append(
            f"Some reads {demands}, so an index may hold less than whole items. This is decided after the keys, step "
            "by step: it is not established that no other keys of this complexity have a lower bill."
        )
    return tuple(sentences)


def annotate(design: Design, explanation: Explanation) -> Design:
    """The design with its decisions and the purpose of each index."""
    purposes = {index.index: purpose(index) for index in explanation.indexes}
    slots = tuple(replace(slot, purpose=purposes.get(slot.name, slot.purpose)) for slot in design.slots)
    return replace(design, slots=slots, decisions=choices(explanation))


def purpose(index: AboutIndex) -> str:
    """The purpose of an index in a line: `User by email (AP-002); Order by status, in the order of placedAt
    (AP-008)`.
    """
    return "; ".join(_purpose_of_key(key) for key in index.keys)


def _purpose_of_key(key: AboutKey) -> str:
    inputs = [part.attribute for part in (*key.partition, *key.sort) if part.because is Because.GIVEN]
    inputs = list(dict.fromkeys(inputs))
    order = dict.fromkeys(part.attribute for part in key.sort if part.because in (Because.RANGE, Because.ORDER))
    # A sparse key whose condition only tests inputs says nothing that these do not.
    is_restricted = not set(key.tested) <= set(inputs)
    condition = f" where {key.sparse}" if is_restricted else ""
    if inputs:
        text = f"{key.entity} by {listed(inputs)}{condition}"
    else:
        text = f"{key.entity} items{condition}" if is_restricted else f"all {key.entity} items"
    if order:
        text += f", in the order of {listed(order)}"
    return f"{text} ({', '.join(key.patterns)})" if key.patterns else text


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
    return tuple(alternative.text for alternative in alternatives)
