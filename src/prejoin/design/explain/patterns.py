"""Explains each access pattern: its requests and cost, the price of a join, and why a pattern is not served."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from prejoin.constructs.registry import constructs_of
from prejoin.design.cost.assumptions import count_by, per_second, size_of, value_sizes
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.objective import queries_each
from prejoin.design.cost.units import predict_units
from prejoin.design.cost.upkeep import index_cents
from prejoin.design.explain.added import added_words
from prejoin.design.explain.costs import Costs
from prejoin.design.explain.model import AboutPattern
from prejoin.design.explain.operations import operation_words
from prejoin.design.model import Design, Operation, Units
from prejoin.design.phrases import amount, coded, count, listed, money, rate, verb
from prejoin.design.solver.candidates import index_candidates
from prejoin.design.solver.needs import read_needs
from prejoin.design.solver.solve import solve
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.workarounds import alternatives, own_inputs
from prejoin.protocol.prices import MONTH_SECONDS, dollars, write_units
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bare_name, changes, foreign_key
from prejoin.workload.model import (
    Action,
    AtMost,
    Combine,
    Consistency,
    Entity,
    Pattern,
    Pin,
    Read,
    Verb,
    Without,
    Workload,
    Write,
)
from prejoin.workload.program.resolved_read import resolve_read


def explain_patterns(workload: Workload, design: Design, costs: Costs) -> tuple[AboutPattern, ...]:
    """The explanations of all patterns, including those out of scope."""
    return tuple(_explain_pattern(workload, design, costs, pattern) for pattern in workload.patterns)


def _explain_pattern(workload: Workload, design: Design, costs: Costs, pattern: Pattern) -> AboutPattern:
    name = pattern.name or pattern.description
    calls_per_second = per_second(pattern.rate)
    operation = design.operation(pattern.id)
    if operation is None:
        outside = ("Out of scope: the document decides that this table does not serve it.",)
        return AboutPattern(pattern.id, name, False, calls_per_second, Units(), 0.0, outside=True, text=outside)
    units, dollars = costs.units(pattern.id), costs.pattern(pattern.id)
    sentences: tuple[str, ...]
    alternative_ways: tuple[Alternative, ...] = ()
    if operation.served:
        sentences = (
            *operation_words(operation),
            *added_words(operation, workload, design),
            *_expiry_sentences(workload, pattern),
            _price_sentence(calls_per_second, units, dollars),
        )
        if isinstance(pattern, Read) and pattern.combine is Combine.JOIN:
            join_sentences, alternative_ways = explain_join(workload, design, pattern, operation)
            sentences = (*sentences, *join_sentences)
    else:
        sentences = tuple(unserved_sentences(workload, design, pattern, operation))
        if isinstance(pattern, Read):
            alternative_ways = alternatives(workload, design, pattern)
    return AboutPattern(
        pattern=pattern.id,
        name=name,
        served=operation.served,
        per_second=calls_per_second,
        units=units,
        dollars=dollars,
        slots=tuple(dict.fromkeys(request.slot for request in operation.requests)),
        text=sentences,
        alternatives=alternative_ways,
    )


def _expiry_sentences(workload: Workload, pattern: Pattern) -> Iterator[str]:
    """The steps that DynamoDB does by itself."""
    if isinstance(pattern, Read):
        return
    for action in pattern.actions:
        entity = workload.entity(action.entity)
        if entity is None or action.verb is not Verb.EXPIRE:
            continue
        for construct in constructs_of(entity):
            if words := construct.expiry_words():
                yield words


def _price_sentence(calls_per_second: float, units: Units, dollars: float) -> str:
    parts = [(units.read, "read unit"), (units.write, "write unit")]
    cost = " and ".join(count(number, kind) for number, kind in parts if number) or "no units"
    return f"A call costs {cost}; {rate(calls_per_second)}, that is {money(dollars)} a month."


def explain_join(
    workload: Workload, design: Design, read: Read, operation: Operation
) -> tuple[tuple[str, ...], tuple[Alternative, ...]]:
    """The sentences about a join's second request, and the alternative without it."""
    if len(read.entities) < 2 or len(operation.requests) < 2:
        return (), ()
    first, second = map(workload.entity, read.entities[:2])
    if first is None or second is None:
        return (), ()
    all_units = predict_units(operation, design, workload).read
    first_units = predict_units(replace(operation, requests=operation.requests[:1]), design, workload).read
    later_units = all_units - first_units
    cost = _monthly_dollars(read, later_units)
    manner = "a second request reads it by its id"
    if queries_each(operation):
        times = Estimates(design, workload).items(read, operation.requests[0])
        manner = f"a Query for each reads it by its id: about {amount(times)} more requests, one after the other"
    sentences = (
        f"{second.name} is not in the partition of {first.name}, so {manner}.",
        f"It uses {amount(later_units)} of the {amount(all_units)} read units: {money(cost)} a month.",
    )
    alternative = _repeated_attributes_alternative(workload, design, read, first, second, cost)
    return sentences, (alternative,) if alternative else ()


def _repeated_attributes_alternative(
    workload: Workload, design: Design, read: Read, first: Entity, second: Entity, saved: float
) -> Alternative | None:
    """The alternative that repeats attributes of the second entity in each item of the first."""
    references = (attribute.name for attribute in first.attributes if attribute.referenced_entity == second.name)
    via = read.via or next(references, "")
    wanted = _attributes_to_repeat(read, first, second)
    if not via or not wanted:
        return None
    # A foreign key of several attributes finds fewer items than the one attribute that the join names.
    foreign_attributes = foreign_key(workload, first, second) or frozenset()
    via_attributes = foreign_attributes if bare_name(via) in foreign_attributes else [bare_name(via)]
    items_per_change = count_by(workload, first, via_attributes)
    item_size = size_of(first) + sum(len(name) + value_sizes(second)[name] for name in wanted)
    item = design.item(first.name)
    places = len(item.facets) if item else 1

    units_per_second = 0.0
    pattern_ids: dict[str, None] = {}
    for write in workload.writes:
        for action in write.actions:
            if _changes_any(write, action, second, wanted):
                units_per_second += per_second(write.rate) * items_per_change * write_units(item_size) * places
                pattern_ids[write.id] = None
    dollars_more = float(dollars(writes=units_per_second * MONTH_SECONDS))
    text = (
        f"copy {coded(wanted)} of {second.name} into each {first.name}: no second request, {money(saved)} a month less"
    )
    return Alternative(
        text + _rewrite_clause(list(pattern_ids), items_per_change, dollars_more), dollars=dollars_more - saved
    )


def _attributes_to_repeat(read: Read, first: Entity, second: Entity) -> list[str]:
    """The attributes of the second entity that the read wants; without any named, all but its id."""
    needs = [bare_name(name) for name in read.needs]
    return [name for name in needs if second.attribute(name) and not first.attribute(name)] or [
        attribute.name for attribute in second.attributes if not attribute.id
    ]


def _changes_any(write: Write, action: Action, entity: Entity, attributes: Sequence[str]) -> bool:
    """Whether an action of a write changes some attributes of an existing item."""
    if action.entity != entity.name:
        return False
    if action.verb is Verb.PUT:
        return True
    if not action.updates:
        return False
    return any(change.attribute in attributes for change in changes(write, action, entity))


def _rewrite_clause(pattern_ids: Sequence[str], items_per_change: float, dollars_more: float) -> str:
    if not pattern_ids:
        return "; no access pattern changes them"
    items = f"about {amount(items_per_change)} more items each time"
    return f"; but {listed(pattern_ids)} would then write {items}, {money(dollars_more)} a month more"


def _monthly_dollars(read: Read, units: float) -> float:
    return float(dollars(reads=units * per_second(read.rate) * MONTH_SECONDS))


def unserved_sentences(workload: Workload, design: Design, pattern: Pattern, operation: Operation) -> Iterator[str]:
    yield f"Not served: {operation.problem}."
    # A missing attribute has a remedy of its own, which is nearer to the cause than that of the operation.
    missing_attribute = tuple(_missing_attribute_sentences(workload, pattern)) if isinstance(pattern, Read) else ()
    yield from missing_attribute
    if missing_attribute or not operation.remedy:
        return
    yield f"To serve it: {operation.remedy}."
    if isinstance(pattern, Read):
        yield from _consistency_sentences(pattern)
        yield from _another_index_sentences(workload, pattern)
        yield from _limit_sentences(workload, design, pattern)


def _missing_attribute_sentences(workload: Workload, read: Read) -> Iterator[str]:
    """The sentences about a join that is declared as a collection: one entity has no attribute for the input."""
    resolved = resolve_read(workload, read)
    inputs_to_filter = own_inputs(workload, read)
    for clause in resolved.clauses:
        entities_without = [name for name in resolved.names if name not in clause.bound]
        entity_with = next(iter(clause.bound), "")
        attribute = clause.input.attribute
        if clause.input in inputs_to_filter:
            filter_input = write_inputs((replace(clause.input, filter=True),))
            yield f"{entities_without[0]} has no attribute for `{attribute}`, so no key of both has it."
            yield f"To serve it, write `{filter_input}`: the filter leaves out items of {entity_with} only."
            return
        if entity_with and entities_without and not clause.input.filter:
            yield (
                f"{entities_without[0]} has no attribute for `{attribute}`, so no partition holds it together with "
                f"{entity_with}: this is a join, and needs a second request or a copied attribute."
            )
            yield f"To serve it, write `Join`, or add `{attribute}` to {entities_without[0]}."
            return


def _consistency_sentences(read: Read) -> Iterator[str]:
    if read.consistency is not None and read.consistency is not Consistency.EVENTUAL:
        yield f"It needs {read.consistency.value.lower()} consistency, which no index has."


def _another_index_sentences(workload: Workload, read: Read) -> Iterator[str]:
    """The cost of an index that would serve the read with eventual consistency, if one would."""
    # The solver decides, on a document with nothing but this read.
    relaxed_read = replace(read, consistency=Consistency.EVENTUAL)
    relaxed_design = solve(replace(workload, reads=(relaxed_read,), writes=(), deletes=())).design
    if not all(operation.served for operation in relaxed_design.operations):
        return
    needs_of_reads, _ = read_needs(replace(workload, reads=(read,)))
    if len(needs_of_reads) != 1 or len(needs_of_reads[0].needs) != 1:
        return
    (need,) = needs_of_reads[0].needs
    entity = workload.entity(need.entity)
    if entity is None:
        return
    priced = [
        (index_cents(workload, entity, key), len(key.pk), key) for key in index_candidates(workload, entity, [need])
    ]
    if priced:
        cents, _, key = min(priced)
        names = coded(key.pk) or "a constant"
        yield f"An index of {entity.name} with the partition key {names} would cost {money(cents / 100)} a month."


def _limit_sentences(workload: Workload, design: Design, pattern: Pattern) -> Iterator[str]:
    """The decisions that do not allow another key."""
    pins = [decision.pin for decision in workload.decisions if decision.pin is not None]
    limits = [f"`{write_pin(pin)}`" for pin in pins if _forbids_another_key(pin, design, pattern)]
    if limits:
        yield f"The document does not allow another key: {listed(limits)} {verb(limits, 'is', 'are')} decided."


def _forbids_another_key(pin: Pin, design: Design, pattern: Pattern) -> bool:
    indexes, copies = len(design.indexes), len(design.copies)
    numbers = {"GSIs": indexes, "copies": copies, "structures": indexes + copies}
    if isinstance(pin, AtMost):
        return pin.what in numbers and numbers[pin.what] >= pin.count
    return isinstance(pin, Without) and pin.what in numbers and pin.entity in pattern.entities
