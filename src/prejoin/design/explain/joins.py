"""A join: what its second request costs, and what it would cost to repeat the attributes instead."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, per_second, size_of, value_sizes
from prejoin.design.cost.units import predicted
from prejoin.design.explain.model import Alternative
from prejoin.design.explain.phrases import amount, coded, listed, money
from prejoin.design.mapping.map_reads import plain
from prejoin.design.model import Design, Operation
from prejoin.protocol.prices import MONTH_SECONDS, dollars, write_units
from prejoin.workload.lookup import changes, foreign_key
from prejoin.workload.model import Entity, Read, Verb, Workload


def join_words(
    workload: Workload, design: Design, read: Read, operation: Operation
) -> tuple[tuple[str, ...], tuple[Alternative, ...]]:
    """What is to be said about a join that two requests answer, and the way without the second."""
    if len(read.entities) < 2 or len(operation.requests) < 2:
        return (), ()
    first, second = map(workload.entity, read.entities[:2])
    if first is None or second is None:
        return (), ()
    all_units = predicted(operation, design, workload).read
    alone = predicted(replace(operation, requests=operation.requests[:1]), design, workload).read
    later = all_units - alone
    cost = _month(read, later)
    said = (
        f"No key lays {second.name} beside {first.name}: it is under an id of its own, so it takes a second request.",
        f"That one is {amount(later)} of the {amount(all_units)} read units: {money(cost)} a month.",
    )
    other = _repeated(workload, design, read, first, second, cost)
    return said, (other,) if other else ()


def _repeated(
    workload: Workload, design: Design, read: Read, first: Entity, second: Entity, saved: float
) -> Alternative | None:
    """The attributes of the second entity kept in each item of the first."""
    via = read.via or next((a.name for a in first.attributes if a.references.partition(".")[0] == second.name), "")
    named = [plain(name) for name in read.needs if second.attribute(plain(name)) and not first.attribute(plain(name))]
    wanted = named or [a.name for a in second.attributes if not a.id]
    if not via or not wanted:
        return None
    key = foreign_key(workload, first, second) or frozenset()
    fan = count_by(workload, first, key if plain(via) in key else [plain(via)])
    item = design.item(first.name)
    places = len(item.facets) if item else 1
    larger = size_of(first) + sum(len(name) + value_sizes(second)[name] for name in wanted)
    rewritten, by = 0.0, list[str]()
    for write in workload.writes:
        for action in write.actions:
            if action.entity == second.name and action.verb in (Verb.UPDATE, Verb.PUT):
                changed = {change.attribute for change in changes(write, action, second)}
                if action.verb is Verb.PUT or changed & set(wanted):
                    rewritten += per_second(write.rate) * fan * write_units(larger) * places
                    by.append(write.id)
    by = list(dict.fromkeys(by))
    more = float(dollars(writes=rewritten * MONTH_SECONDS))
    text = (
        f"repeat {coded(wanted)} of {second.name} in each {first.name}: no second request, {money(saved)} a month less"
    )
    return Alternative(text + _rewriting(by, fan, more), dollars=more - saved)


def _rewriting(by: Sequence[str], fan: float, more: float) -> str:
    if not by:
        return "; no access pattern changes them"
    return f"; but {listed(by)} would then write about {amount(fan)} more items each time, {money(more)} a month more"


def _month(read: Read, units: float) -> float:
    return float(dollars(reads=units * per_second(read.rate) * MONTH_SECONDS))
