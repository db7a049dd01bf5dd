"""Explains each access pattern: its requests and cost, the price of a join, and why a pattern is not served."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, per_second, size_of, value_sizes
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.objective import queries_each
from prejoin.design.cost.units import predict_units
from prejoin.design.cost.upkeep import index_cents
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.model import AboutPattern, Alternative
from prejoin.design.explain.operations import operation_words
from prejoin.design.explain.phrases import amount, coded, count, listed, money, rate, verb
from prejoin.design.explain.workarounds import alternatives, own_inputs
from prejoin.design.model import Design, Operation, Units
from prejoin.design.solver.candidates import index_candidates
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.solve import solve
from prejoin.protocol.prices import MONTH_SECONDS, dollars, write_units
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bare_name, bindings, changes, foreign_key
from prejoin.workload.model import AtMost, Combine, Consistency, Entity, Pattern, Read, Verb, Without, Workload


def patterns(workload: Workload, design: Design, costs: Costs) -> tuple[AboutPattern, ...]:
    """The explanations of all patterns, including those out of scope."""
    return tuple(_pattern(workload, design, costs, pattern) for pattern in workload.patterns)


def _pattern(workload: Workload, design: Design, costs: Costs, pattern: Pattern) -> AboutPattern:
    name = pattern.name or pattern.description
    often = per_second(pattern.rate)
    operation = design.operation(pattern.id)
    if operation is None:
        outside = ("Out of scope: the document decides that this table does not serve it.",)
        return AboutPattern(pattern.id, name, False, often, Units(), 0.0, outside=True, text=outside)
    units, dollars = costs.units(pattern.id), costs.pattern(pattern.id)
    said: tuple[str, ...]
    others: tuple[Alternative, ...] = ()
    if operation.served:
        inputs = {one.attribute for one in pattern.inputs}
        words = (*operation_words(operation, design, inputs), *_expiry(workload, pattern))
        said = (*words, _price(often, units, dollars))
        if isinstance(pattern, Read) and pattern.combine is Combine.JOIN:
            more, others = join_words(workload, design, pattern, operation)
            said = (*said, *more)
    else:
        said = tuple(unserved_words(workload, design, pattern, operation))
        if isinstance(pattern, Read):
            others = alternatives(workload, design, pattern)
    slots = tuple(dict.fromkeys(request.slot for request in operation.requests))
    return AboutPattern(pattern.id, name, operation.served, often, units, dollars, slots, False, said, others)


def _expiry(workload: Workload, pattern: Pattern) -> Iterator[str]:
    """The steps that DynamoDB does by itself."""
    for action in () if isinstance(pattern, Read) else pattern.actions:
        entity = workload.entity(action.entity)
        ends = [a.name for a in entity.attributes if a.ttl] if entity and action.verb is Verb.EXPIRE else []
        if ends:
            yield f"DynamoDB deletes each {action.entity} some time after its `{ends[0]}`; no request is needed."


def _price(often: float, units: Units, dollars: float) -> str:
    parts = [(units.read, "read unit"), (units.write, "write unit")]
    cost = " and ".join(count(number, kind) for number, kind in parts if number) or "no units"
    return f"A call costs {cost}; {rate(often)}, that is {money(dollars)} a month."


def join_words(
    workload: Workload, design: Design, read: Read, operation: Operation
) -> tuple[tuple[str, ...], tuple[Alternative, ...]]:
    """The sentences about a join's second request, and the alternative without it."""
    if len(read.entities) < 2 or len(operation.requests) < 2:
        return (), ()
    first, second = map(workload.entity, read.entities[:2])
    if first is None or second is None:
        return (), ()
    all_units = predict_units(operation, design, workload).read
    alone = predict_units(replace(operation, requests=operation.requests[:1]), design, workload).read
    later = all_units - alone
    cost = _month(read, later)
    how = "a second request reads it by its id"
    if queries_each(operation):
        times = Estimates(design, workload).items(read, operation.requests[0])
        how = f"a Query for each reads it by its id: about {amount(times)} more requests, one after the other"
    said = (
        f"{second.name} is not in the partition of {first.name}, so {how}.",
        f"It uses {amount(later)} of the {amount(all_units)} read units: {money(cost)} a month.",
    )
    other = _repeated(workload, design, read, first, second, cost)
    return said, (other,) if other else ()


def _repeated(
    workload: Workload, design: Design, read: Read, first: Entity, second: Entity, saved: float
) -> Alternative | None:
    """The alternative that repeats attributes of the second entity in each item of the first."""
    via = read.via or next((a.name for a in first.attributes if a.referenced_entity == second.name), "")
    named = [
        bare_name(name)
        for name in read.needs
        if second.attribute(bare_name(name)) and not first.attribute(bare_name(name))
    ]
    wanted = named or [a.name for a in second.attributes if not a.id]
    if not via or not wanted:
        return None
    key = foreign_key(workload, first, second) or frozenset()
    fan = count_by(workload, first, key if bare_name(via) in key else [bare_name(via)])
    item = design.item(first.name)
    places = len(item.facets) if item else 1
    larger = size_of(first) + sum(len(name) + value_sizes(second)[name] for name in wanted)
    rewritten, by = 0.0, list[str]()
    for write in workload.writes:
        for action in write.actions:
            if action.entity == second.name and (action.updates or action.verb is Verb.PUT):
                changed = {change.attribute for change in changes(write, action, second)}
                if action.verb is Verb.PUT or changed & set(wanted):
                    rewritten += per_second(write.rate) * fan * write_units(larger) * places
                    by.append(write.id)
    by = list(dict.fromkeys(by))
    more = float(dollars(writes=rewritten * MONTH_SECONDS))
    text = (
        f"copy {coded(wanted)} of {second.name} into each {first.name}: no second request, {money(saved)} a month less"
    )
    return Alternative(text + _rewriting(by, fan, more), dollars=more - saved)


def _rewriting(by: Sequence[str], fan: float, more: float) -> str:
    if not by:
        return "; no access pattern changes them"
    return f"; but {listed(by)} would then write about {amount(fan)} more items each time, {money(more)} a month more"


def _month(read: Read, units: float) -> float:
    return float(dollars(reads=units * per_second(read.rate) * MONTH_SECONDS))


def unserved_words(workload: Workload, design: Design, pattern: Pattern, operation: Operation) -> Iterator[str]:
    yield f"Not served: {operation.problem}."
    dressed = list(_dressed(workload, pattern)) if isinstance(pattern, Read) else []
    yield from dressed
    if dressed or not operation.remedy:
        return
    yield f"To serve it: {operation.remedy}."
    if isinstance(pattern, Read):
        yield from _consistent(pattern)
        yield from _another_index(workload, pattern)
        yield from _limits(workload, design, pattern)


def _dressed(workload: Workload, read: Read) -> Iterator[str]:
    """The sentences about a join that is declared as a collection: one entity has no attribute for the input."""
    if len(read.entities) < 2 or read.combine is Combine.JOIN:
        return
    if own := own_inputs(workload, read):
        bound = bindings(workload, read.entities, own[0].attribute)
        strangers = [name for name in read.entities if name not in bound]
        asked = write_inputs((replace(own[0], filter=True),))
        yield f"{strangers[0]} has no attribute for `{own[0].attribute}`, so no key of both has it."
        yield f"To serve it, write `{asked}`: the filter leaves out items of {next(iter(bound))} only."
        return
    for one in read.inputs:
        bound = bindings(workload, read.entities, one.attribute)
        strangers = [name for name in read.entities if name not in bound]
        if bound and strangers and not one.filter:
            yield (
                f"{strangers[0]} has no attribute for `{one.attribute}`, so no partition holds it together with "
                f"{next(iter(bound))}: this is a join, and needs a second request or a copied attribute."
            )
            yield f"To serve it, write `Join`, or add `{one.attribute}` to {strangers[0]}."
            return


def _consistent(read: Read) -> Iterator[str]:
    if read.consistency is not None and read.consistency is not Consistency.EVENTUAL:
        yield f"It needs {read.consistency.value.lower()} consistency, which no index has."


def _another_index(workload: Workload, read: Read) -> Iterator[str]:
    """The cost of an index that would serve the read with eventual consistency, if one would."""
    alone = replace(read, consistency=Consistency.EVENTUAL)
    if not all(one.served for one in solve(replace(workload, reads=(alone,), writes=(), deletes=())).design.operations):
        return
    asked, _ = read_needs(replace(workload, reads=(read,)))
    if len(asked) != 1 or len(asked[0].needs) != 1:
        return
    (need,) = asked[0].needs
    entity = workload.entity(need.entity)
    found = index_candidates(workload, entity, [need]) if entity else []
    if entity and found:
        best = min(found, key=lambda one: (index_cents(workload, entity, one), len(one.pk), one))
        cost = money(index_cents(workload, entity, best) / 100)
        names = coded(best.pk) or "a constant"
        yield f"An index of {entity.name} with the partition key {names} would cost {cost} a month."


def _limits(workload: Workload, design: Design, pattern: Pattern) -> Iterator[str]:
    """The decisions that do not allow another key."""
    indexes, copies = len(design.indexes), len(design.copies)
    there = {"GSIs": indexes, "copies": copies, "structures": indexes + copies}
    entities = {*pattern.entities}
    found = []
    for decision in workload.decisions:
        pin = decision.pin
        full = isinstance(pin, AtMost) and pin.what in there and there[pin.what] >= pin.count
        barred = isinstance(pin, Without) and pin.what in there and pin.entity in entities
        if pin and (full or barred):
            found.append(f"`{write_pin(pin)}`")
    if found:
        yield f"The document does not allow another key: {listed(found)} {verb(found, 'is', 'are')} decided."
