"""Workarounds for a read that no key serves, priced."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, count_of, per_second, size_of
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import predict_units
from prejoin.design.explain.costs import total
from prejoin.design.explain.model import Alternative
from prejoin.design.explain.operations import shape
from prejoin.design.explain.phrases import count, listed, money
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import TABLE, Design, Operation, ProjectionKind
from prejoin.keys import fields_of
from prejoin.protocol.prices import EVENTUAL, MONTH_SECONDS, READ_UNIT_SIZE, STRONG, dollars, read_units
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bare_name, bindings
from prejoin.workload.model import (
    RANGES,
    Accept,
    Combine,
    Consistency,
    Decision,
    Input,
    Op,
    Read,
    Workload,
)

_MOST = 3
"""The most workarounds listed."""
ABSURD = 10
"""A workaround that costs this many times the whole table is not listed."""
ANYWAY = 1000.0
"""Dollars a month up to which a workaround is listed, however little the table costs."""


class Workaround(msgspec.Struct, frozen=True):
    """One way to answer a read that no key serves."""

    how: tuple[str, ...]
    """The requirement that is given up, in words."""
    does: str
    """The requests, in a few words."""
    units: float
    accept: str = ""
    """The word of the decision that accepts it: `filter`."""


def workarounds(workload: Workload, design: Design, read: Read) -> list[Workaround]:
    """The workarounds, the cheapest first. A Scan is listed only if nothing is cheaper."""
    found: dict[str, Workaround] = {}
    ways = (_relaxed, _apart, _filtered)
    for way in (*(way for find in ways for way in find(workload, design, read)), _scan(workload, design, read)):
        if way.does not in found or way.units < found[way.does].units:
            found[way.does] = way
    return sorted(found.values(), key=lambda way: (way.units, len(way.how), way.does))[:_MOST]


def alternatives(workload: Workload, design: Design, read: Read) -> tuple[Alternative, ...]:
    """The workarounds as alternatives with prices, without those that nobody would pay; the cheapest in any case."""
    found: list[Alternative] = []
    most = dearest(workload, design)
    for way in workarounds(workload, design, read):
        cost = float(dollars(reads=way.units * per_second(read.rate) * MONTH_SECONDS))
        if cost > most and found:
            break
        text = f"{way.does}, {listed(way.how)}: {count(way.units, 'read unit')} a call, {money(cost)} a month"
        if way.accept:
            text += f" (write `{write_pin(Accept(read.id, way.accept))}` under Decisions)"
        found.append(Alternative(text, dollars=cost))
    return tuple(found)


def dearest(workload: Workload, design: Design) -> float:
    """Dollars a month that somebody may pay for a workaround."""
    return max(ANYWAY, ABSURD * total(workload, design))


def _relaxed(workload: Workload, design: Design, read: Read) -> Iterator[Workaround]:
    """The read with fewer demands, with the rest done by the application."""
    for left, unsorted, later, joined in product((False, True), repeat=4):
        asked, how = read, []
        if left:
            asked = _filtering(asked)
            how.append("with a filter for the rest")
        if unsorted:
            asked = replace(asked, sort=(), limit=None, page=None)
            how.append("sorted by the application")
        if later:
            asked = replace(asked, consistency=Consistency.EVENTUAL)
            how.append("then a consistent read of each item")
        if joined:
            asked = replace(asked, combine=Combine.JOIN)
            how.append("then the others by their ids")
        if asked == read or (left and not _filterable(read)) or (joined and len(read.entities) < 2):
            continue
        operation = _mapped(workload, design, asked, left)
        if operation is None:
            continue
        units = predict_units(operation, design, workload).read
        if later:
            units += _again(workload, read)
        accept = "filter" if left and len(how) == 1 else "second request" if joined and len(how) == 1 else ""
        yield Workaround(tuple(how), shape(operation), units, accept)


def _filterable(read: Read) -> bool:
    return any(i.op is Op.EQ or i.op in RANGES for i in read.inputs)


def _filtering(read: Read) -> Read:
    """The read with its second and further ranges as filters; or its only range."""
    ranges = [i for i in read.inputs if i.op in RANGES and not i.filter and not i.optional]
    others = ranges[1:] if len(ranges) > 1 else ranges
    return replace(read, inputs=tuple(replace(i, filter=True) if i in others else i for i in read.inputs))


def _mapped(workload: Workload, design: Design, read: Read, filtering: bool) -> Operation | None:
    """The operation of a read, if inputs may become filters; None if it is not served."""
    if filtering:
        pin = Decision(Accept(read.id, "filter"))
        workload = replace(workload, decisions=(*workload.decisions, pin))
    operation = map_read(read, workload, planner_facets(design, workload))
    return operation if operation.served else None


def _apart(workload: Workload, design: Design, read: Read) -> Iterator[Workaround]:
    """One request for each entity."""
    if len(read.entities) < 2:
        return
    units, calls = 0.0, []
    for name in read.entities:
        known = [i for i in read.inputs if name in bindings(workload, read.entities, i.attribute)]
        sort = tuple(s for s in read.sort if name in bindings(workload, read.entities, s.attribute))
        alone = replace(read, entities=(name,), inputs=tuple(known), sort=sort, combine=None)
        operation = _mapped(workload, design, alone, filtering=False)
        if operation is None or not known:
            return
        units += predict_units(operation, design, workload).read
        calls.append(shape(operation))
    yield Workaround(("one request for each entity",), ", then ".join(calls), units, "second request")


def _filtered(workload: Workload, design: Design, read: Read) -> Iterator[Workaround]:
    """Filters for the inputs that only some of the entities have."""
    own = own_inputs(workload, read)
    inputs = tuple(replace(i, filter=True) if i in own else i for i in read.inputs)
    operation = _mapped(workload, design, replace(read, inputs=inputs), filtering=False) if own else None
    if operation:
        how = f"with `{write_inputs(tuple(i for i in inputs if i not in read.inputs))}`"
        yield Workaround((how,), shape(operation), predict_units(operation, design, workload).read)


def own_inputs(workload: Workload, read: Read) -> list[Input]:
    """The inputs of a read of several entities that only some of them have, if another input finds all of them."""
    if len(read.entities) < 2 or read.combine is Combine.JOIN:
        return []
    given = [i for i in read.inputs if not i.filter]
    own = [i for i in given if 0 < len(bindings(workload, read.entities, i.attribute)) < len(read.entities)]
    return own if len(own) < len(given) else []


def _again(workload: Workload, read: Read) -> float:
    """Read units of reading all results again, consistently."""
    units = 0.0
    for name in read.entities:
        entity = workload.entity(name)
        if entity is not None:
            given = [bare_name(i.attribute) for i in read.inputs if i.op is Op.EQ]
            many = min(read.limit or read.page or count_of(workload, entity), count_by(workload, entity, given))
            units += many * read_units(size_of(entity), STRONG)
    return units


def _scan(workload: Workload, design: Design, read: Read) -> Workaround:
    """A Scan of the smallest slot that holds all items of the read."""
    consistent = read.is_consistent
    places = {TABLE: 0.0}
    for slot in design.indexes:
        whole = slot.projection.kind is ProjectionKind.ALL and not consistent
        if whole and all(_all_in(workload, design, name, slot.name) for name in read.entities):
            places[slot.name] = 0.0
    for _, name, entries, size in Estimates(design, workload).stored():
        if name in places:
            places[name] += entries * size
    name, stored = min(places.items(), key=lambda one: (one[1], one[0] != TABLE))
    units = max(1, math.ceil(stored / READ_UNIT_SIZE)) * (STRONG if consistent else EVENTUAL)
    where = "the table" if name == TABLE else name
    return Workaround(("with a filter over all items",), f"Scan of {where}", units, "scan")


def _all_in(workload: Workload, design: Design, name: str, slot: str) -> bool:
    """Whether an index holds every item of an entity: no sparse condition and no optional key attribute."""
    entity, item = workload.entity(name), design.item(name)
    facet = item.facet(slot) if item else None
    if entity is None or facet is None or facet.when:
        return False
    optional = {a.name for a in entity.attributes if a.optional}
    return not optional & {field for text in (*facet.pk, *facet.sk) for field in fields_of(text)}
