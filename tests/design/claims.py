"""Verifies what is said about a design: `false_claims(workload, solution, explanation)`.

Every figure that is printed is computed a second time, from the workload and the finished design alone: the patterns
served, the structures and their complexity, the units of each pattern and the bill. No figure of the solver is used,
and whether a key answers a read is decided here by its own rules, not by the planner. A difference is a bug.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, count_of, per_second
from prejoin.design.cost.background import BackgroundKind
from prejoin.design.cost.bill import bill
from prejoin.design.cost.contents import contents, part_units
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.objective import STORE, WEIGHTS, complexity, fans_out
from prejoin.design.cost.refreshes import refreshes
from prejoin.design.cost.units import units_of
from prejoin.design.explain.model import Explanation
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Call, Design, Item, ItemName, Operation, Request
from prejoin.design.solver.constraints import constraints_of
from prejoin.design.solver.solve import Solution
from prejoin.keys import Facet
from prejoin.protocol.prices import GB, MONTH_SECONDS, READ_MILLION, STORAGE_GB_MONTH, STORAGE_OVERHEAD, WRITE_MILLION
from prejoin.types import Kind
from prejoin.workload.lookup import bindings, identified
from prejoin.workload.model import (
    RANGES,
    Combine,
    Direction,
    Entity,
    FixedKey,
    Op,
    OutOfScope,
    Pattern,
    Read,
    Result,
    Verb,
    Workload,
    Write,
)

_CENT = Decimal("0.01")


def false_claims(
    workload: Workload, solution: Solution, explanation: Explanation | None = None, kept: Design | None = None
) -> list[str]:
    """The claims about a solved design that do not hold, a sentence each. `kept` is the approved design in it."""
    design = solution.design
    found = [*_patterns(workload, design), *_structures(workload, design, kept), *_bill(workload, design)]
    aside = constraints_of(workload).aside
    lost = {operation.pattern for operation in design.operations if not operation.served} - aside
    reads = {read.id for read in workload.reads}
    unserved = reads & set(solution.chosen.unserved)
    if unserved != lost & reads:
        found.append(f"the solver leaves {sorted(unserved)} unserved, and the design {sorted(lost & reads)}")
    if solution.exact and (lost or design.indexes or design.copies):
        found.append("it is said to be the best of all designs, and other keys might save a structure")
    if explanation is not None:
        found += _explained(workload, design, explanation)
    return found


# --- Patterns -------------------------------------------------------------------------------------------------------


def _patterns(workload: Workload, design: Design) -> Iterator[str]:
    """Each pattern in scope has one operation, which follows from the keys, answers the pattern and has its units."""
    outside = {d.pin.pattern for d in workload.decisions if isinstance(d.pin, OutOfScope)}
    wanted = [pattern.id for pattern in workload.patterns if pattern.id not in outside]
    if [operation.pattern for operation in design.operations] != wanted:
        yield "the operations are not those of the patterns in scope"
        return
    again = map_patterns(design, workload)
    facets = {(f.entity, f.copy, f.slot): f for f in planner_facets(design, workload)}
    for operation, mapped in zip(design.operations, again.operations, strict=True):
        name, pattern = operation.pattern, workload.pattern(operation.pattern)
        if replace(operation, units=None) != replace(mapped, units=None):
            yield f"{name} is another operation with these keys"
        elif operation.units != mapped.units:
            yield f"{name} has other units than {operation.units}"
        if operation.served and isinstance(pattern, Read):
            yield from (f"{name} is not served: {why}" for why in _unanswered(workload, pattern, operation, facets))


def _unanswered(
    workload: Workload, read: Read, operation: Operation, facets: dict[tuple[str, str, str], Facet]
) -> Iterator[str]:
    """Why the first request of an operation does not find what a read asks for, all of it and in its order."""
    request = operation.requests[0]
    entities = read.entities[:1] if read.combine is Combine.JOIN else read.entities
    if set(request.entities) != set(entities):
        yield f"it reads {', '.join(request.entities)}"
        return
    single = request.call in (Call.GET, Call.BATCH_GET, Call.TRANSACT_GET)
    for name in entities:
        facet = facets.get((name, request.copy_of(name), request.slot))
        if facet is None:
            yield f"{name} is not in {request.slot}"
            continue
        if request.consistent and request.slot != TABLE and not facet.local:
            yield f"{request.slot} is read a moment late"
        given = _bound(workload, read, entities, name, ranges=False)
        ranged = _bound(workload, read, entities, name, ranges=True)
        fields = [f for f in facet.pk.fields if not f.encoding.shards and not f.encoding.bucket]
        if unknown := [f.attribute for f in fields if f.attribute not in given]:
            yield f"the partition of {name} needs {', '.join(unknown)}"
        if single:
            if missing := [f.attribute for f in (facet.sk.fields if facet.sk else ()) if f.attribute not in given]:
                yield f"the key of {name} needs {', '.join(missing)}"
            continue
        yield from _unsorted(workload, read, request, facet, given, ranged)


def _bound(workload: Workload, read: Read, entities: Sequence[str], name: str, ranges: bool) -> set[str]:
    """The attributes of an entity that a read gives, by a value or by a range."""
    return {
        attribute
        for one in read.inputs
        if not one.filter and (one.op in RANGES if ranges else one.op is Op.EQ)
        if (attribute := bindings(workload, tuple(entities), one.attribute).get(name))
    }


def _unsorted(
    workload: Workload, read: Read, request: Request, facet: Facet, given: set[str], ranged: set[str]
) -> Iterator[str]:
    """Whether the sort key goes on with the rest of the given attributes, then the range, then the order."""
    entities, name = request.entities, facet.entity
    filtered = {
        attribute
        for one in read.inputs
        if one in request.tested_inputs
        if (attribute := bindings(workload, entities, one.attribute).get(name))
    }
    held = {f.attribute for f in facet.pk.fields} | {when.attribute for when in facet.when}
    fields = list(facet.sk.fields) if facet.sk else []
    rest = given - held
    while fields and fields[0].attribute in given:
        rest.discard(fields.pop(0).attribute)
    if rest - filtered:
        yield f"the key of {name} does not take {', '.join(sorted(rest - filtered))}"
    after = [f.attribute for f in fields]
    for one in sorted(ranged - filtered):
        if after[:1] != [one] and not any(f.attribute == one and f.encoding.bucket for f in facet.pk.fields):
            yield f"the key of {name} has no range of {one}"
    if read.result is Result.COUNT or len(entities) > 1:
        return
    order = [(n, s.direction) for s in read.sort if (n := bindings(workload, entities, s.attribute).get(name))]
    order = [(attribute, direction) for attribute, direction in order if attribute not in given]
    if after[: len(order)] != [attribute for attribute, _ in order]:
        yield f"{name} is not in the order of {', '.join(attribute for attribute, _ in order)}"
        return
    for field, (attribute, direction) in zip(fields, order, strict=False):
        if (field.encoding.descending != request.reverse) != (direction is Direction.DESC):
            yield f"{name} is in the wrong direction of {attribute}"


# --- Structures and bill --------------------------------------------------------------------------------------------


def _structures(workload: Workload, design: Design, kept: Design | None) -> Iterator[str]:
    """Every index and copy is read by a pattern, unless it was decided or approved."""
    asked = [request for operation in design.operations for request in operation.requests]
    fixed = {d.pin.index for d in workload.decisions if isinstance(d.pin, FixedKey)}
    fixed |= {slot.name for slot in kept.slots} if kept else set()
    for slot in design.indexes:
        if slot.name not in fixed and not any(request.slot == slot.name for request in asked):
            yield f"nothing reads {slot.name}"
    for item in design.copies:
        if not (kept and kept.item(item.entity, item.copy)) and not _is_read(item, asked):
            yield f"nothing reads the copy {item.name}"
    ids = {entity.name: {a.name for a in entity.id} for entity in workload.entities}
    of_keys = [guard for guard in design.guards if set(guard.attributes) == ids.get(guard.entity)]
    counts = {
        "index": len(design.slots) - 1,
        "copy": sum(bool(item.copy) for item in design.items),
        "guard": len(design.guards) - len(of_keys),
        "guard of a key": len(of_keys),
        "fan-out read": sum(fans_out(o) for o in design.operations if isinstance(workload.pattern(o.pattern), Read)),
        "hot partition": _hot_writes(workload, design) + _hot_reads(workload, design),
    }
    weight = sum((WEIGHTS[what] * count for what, count in counts.items()), STORE * bool(design.stores))
    if weight != complexity(workload, design):
        yield f"the complexity is {weight}, and not {complexity(workload, design)}"


def _hot_writes(workload: Workload, design: Design) -> int:
    """The keys with a partition that takes over 1,000 write units a second at the peak."""
    busiest: dict[tuple[str, str, str], float] = {}
    facets = {(f.entity, f.copy, f.slot): f for f in planner_facets(design, workload)}
    for operation in design.operations:
        write = workload.pattern(operation.pattern)
        if not isinstance(write, Write) or not operation.served:
            continue
        created = {action.entity for action in write.actions if action.verb is Verb.CREATE}
        for request, action in ((r, a) for r in operation.requests for a in r.actions):
            if action.item.apart:
                continue  # it has partitions of its own
            alone = replace(request, actions=(action,))
            for entry in Estimates(design, workload).entries(operation, alone):
                key = (action.item.entity, action.item.copy, entry.slot)
                units = entry.times * units_of(entry, request.call is Call.TRANSACT_WRITE)
                calls = _busiest_calls(workload, facets[key], write, action.item.entity in created)
                busiest[key] = busiest.get(key, 0.0) + units * calls
    return sum(round(units, 6) > 1000 for units in busiest.values())


def _hot_reads(workload: Workload, design: Design) -> int:
    """The requests of reads that take over 3,000 read units a second from one partition at the peak."""
    found = 0
    facets = {(f.entity, f.copy, f.slot): f for f in planner_facets(design, workload)}
    for operation in design.operations:
        read = workload.pattern(operation.pattern)
        if not isinstance(read, Read) or not operation.served:
            continue
        for request in (one for one in operation.requests if not one.counter):
            first = request.entities[0]
            facet = facets.get((first, request.copy_of(first), request.slot))
            if facet is None:
                continue  # it is said already that there is nothing to read
            each = 2.0 if request.call is Call.TRANSACT_GET else 1.0 if request.consistent else 0.5
            pages = Estimates(design, workload).pages(operation, request)
            units = sum(page.times * each * max(1, -(-page.size // 4096)) for page in pages)
            found += round(units * _busiest_calls(workload, facet, read, created=False), 6) > 3000
    return found


def _busiest_calls(workload: Workload, facet: Facet, pattern: Pattern, created: bool) -> float:
    """The calls of a pattern a second that go to the busiest partition of a key, or to its busiest shard."""
    entity = workload.entity(facet.entity)
    assert entity is not None
    names = [f.attribute for f in facet.pk.fields if not f.encoding.shards and not f.encoding.bucket]
    types = [a.type for name in names if (a := entity.attribute(name))]
    each = count_by(workload, entity, names) / count_of(workload, entity)
    share = 1.0 if all(t.values or t.kind is Kind.BOOLEAN for t in types) else each
    rate = pattern.rate
    if rate and rate.hottest and not (created and identified(entity, names)):
        share = max(share, rate.hottest / 100 * _part_of_hottest(workload, entity, names, rate.hottest_of))
    calls = rate.peak if rate and rate.peak is not None else per_second(rate)
    return calls * share / math.prod(f.encoding.shards or 1 for f in facet.pk.fields)


def _part_of_hottest(workload: Workload, entity: Entity, names: Sequence[str], whose: str) -> float:
    """The fraction of the busiest value of an attribute that is in one partition."""
    if not whose:
        return 1.0
    known = entity.attribute(whose) is not None
    return count_by(workload, entity, [*names, whose]) / count_by(workload, entity, [whose]) if known else 0.0


def _is_read(item: Item, asked: Sequence[Request]) -> bool:
    return any(item.item_name in request.copies for request in asked)


def _bill(workload: Workload, design: Design) -> Iterator[str]:
    """The bill is the sum of its patterns, the requests in the background and its storage, by the price list."""
    total = Decimal()
    for operation in design.operations:
        pattern = workload.pattern(operation.pattern)
        if pattern is not None and operation.served and operation.units is not None:
            calls = Decimal(str(per_second(pattern.rate))) * MONTH_SECONDS / 1_000_000
            total += calls * Decimal(str(operation.units.read)) * READ_MILLION
            total += calls * Decimal(str(operation.units.write)) * WRITE_MILLION
    for one in contents(workload, design):
        contents_a_month = Decimal(str(one.rate + one.deletes)) * MONTH_SECONDS / 1_000_000
        in_parts = contents_a_month * Decimal(str(part_units(one.size))) * WRITE_MILLION + one.left_dollars
        total += one.objects if one.stored else in_parts
    for refresh in refreshes(workload, design):
        refreshes_a_month = Decimal(str(refresh.rate)) * MONTH_SECONDS / 1_000_000
        total += refreshes_a_month * Decimal(str(refresh.units.read)) * READ_MILLION
        total += refreshes_a_month * Decimal(str(refresh.units.write)) * WRITE_MILLION
    kinds = (BackgroundKind.STREAM, BackgroundKind.REMOVE_GARBAGE)
    total += sum((line.dollars for line in bill(workload, design).background if line.kind in kinds), Decimal())
    for _, _, entries, size in Estimates(design, workload).stored():
        total += Decimal(str(entries)) * (size + STORAGE_OVERHEAD) / GB * STORAGE_GB_MONTH
    said = bill(workload, design).total
    if abs(total - said) > _CENT:
        yield f"a month costs ${total:,.2f}, and not ${said:,.2f}"


def _explained(workload: Workload, design: Design, explanation: Explanation) -> Iterator[str]:
    """The figures of the explanation are those of the design."""
    structures = len(design.indexes) + len(design.copies)
    if explanation.structures != structures:
        yield f"there are {structures} structures, and not {explanation.structures}"
    costs = bill(workload, design)
    if abs(Decimal(str(explanation.dollars)) - costs.total) > _CENT:
        yield f"a month costs ${costs.total:,.2f}, and not ${explanation.dollars:,.2f}"
    entries = {(item, slot): number for item, slot, number, _ in Estimates(design, workload).stored()}
    for key in explanation.partitions:
        held = entries.get((str(ItemName(key.entity, key.copy)), key.slot), 0.0)
        if not held or key.items > max(1.0, held) + 1:
            yield f"no partition of {key.entity} in {key.slot} has {key.items:,.0f} items: there are {held:,.0f}"
        elif not key.bucket and key.number * key.items < held:
            yield f"{key.number:,.0f} partitions of {key.items:,.0f} items do not hold all {held:,.0f} of {key.entity}"
    for about in explanation.patterns:
        operation = design.operation(about.pattern)
        if operation is None:
            continue
        if about.served != operation.served:
            yield f"{about.pattern} is {'' if operation.served else 'not '}served"
        if operation.served and about.units != operation.units:
            yield f"{about.pattern} takes {operation.units}, and not {about.units}"
