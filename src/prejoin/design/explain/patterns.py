"""Each access pattern: what it becomes, what a call costs and a month of it; and those that no key serves."""

from __future__ import annotations

from prejoin.design.cost.assumptions import per_second
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.joins import join_words
from prejoin.design.explain.model import AboutPattern, Alternative
from prejoin.design.explain.operations import operation_words
from prejoin.design.explain.phrases import count, money, rate
from prejoin.design.explain.unserved import unserved_words
from prejoin.design.explain.workarounds import alternatives
from prejoin.design.model import Design, Units
from prejoin.workload.model import Combine, Pattern, Read, Workload


def patterns(workload: Workload, design: Design, costs: Costs) -> tuple[AboutPattern, ...]:
    """All patterns of the document, those out of scope too."""
    return tuple(_pattern(workload, design, costs, pattern) for pattern in workload.patterns)


def _pattern(workload: Workload, design: Design, costs: Costs, pattern: Pattern) -> AboutPattern:
    name = pattern.name or pattern.description
    often = per_second(pattern.rate)
    operation = design.operation(pattern.id)
    if operation is None:
        outside = ("Out of scope, as the document decides: this table does not answer it.",)
        return AboutPattern(pattern.id, name, False, often, Units(), 0.0, outside=True, text=outside)
    units, dollars = costs.units(pattern.id), costs.pattern(pattern.id)
    said: tuple[str, ...]
    others: tuple[Alternative, ...] = ()
    if operation.served:
        said = (*operation_words(operation), _price(often, units, dollars))
        if isinstance(pattern, Read) and pattern.combine is Combine.JOIN:
            more, others = join_words(workload, design, pattern, operation)
            said = (*said, *more)
    else:
        said = tuple(unserved_words(workload, design, pattern, operation))
        if isinstance(pattern, Read):
            others = alternatives(workload, design, pattern)
    slots = tuple(dict.fromkeys(request.slot for request in operation.requests))
    return AboutPattern(pattern.id, name, operation.served, often, units, dollars, slots, False, said, others)


def _price(often: float, units: Units, dollars: float) -> str:
    parts = [(units.read, "read unit"), (units.write, "write unit")]
    cost = " and ".join(count(number, kind) for number, kind in parts if number) or "no units"
    return f"A call costs {cost}; {rate(often)}, that is {money(dollars)} a month."
