"""Workarounds for a read that no key serves, priced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

import msgspec
from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, count_of, per_second, size_of
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import TABLE, Design, ProjectionKind
from prejoin.design.operation_text import shape
from prejoin.design.phrases import count, listed, money
from prejoin.design.whatif.alternative import Alternative
from prejoin.design.whatif.attempt import price_of
from prejoin.design.whatif.change import Change, apply_change
from prejoin.design.whatif.edits import as_filter, edit_inputs
from prejoin.protocol.prices import EVENTUAL, MONTH_SECONDS, READ_UNIT_SIZE, STRONG, dollars, read_units
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bare_name, bindings
from prejoin.workload.model import (
    RANGES,
    Accept,
    Combine,
    Consistency,
    Input,
    Op,
    Read,
    Workload,
)
from prejoin.workload.program.resolved_read import Role, resolve_read, role_of

_FILTER = "with a filter for the rest"
_READ_AGAIN = "then a consistent read of each item"
_JOIN = "then the others by their ids"
_ACCEPTED = {_FILTER: "filter", _JOIN: "second request"}
"""The words of the decisions that accept them."""
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


def alternatives(workload: Workload, design: Design, read: Read) -> tuple[Alternative, ...]:
    """The workarounds as alternatives with prices, without those that nobody would pay; the cheapest in any case."""
    affordable: list[Alternative] = []
    highest = highest_price(workload, design)
    for workaround in workarounds(workload, design, read):
        cost = float(dollars(reads=workaround.units * per_second(read.rate) * MONTH_SECONDS))
        if cost > highest and affordable:
            break
        units = count(workaround.units, "read unit")
        text = f"{workaround.does}, {listed(workaround.how)}: {units} a call, {money(cost)} a month"
        if workaround.accept:
            text += f" (write `{write_pin(Accept(read.id, workaround.accept))}` under Decisions)"
        affordable.append(Alternative(text, dollars=cost))
    return tuple(affordable)


def highest_price(workload: Workload, design: Design) -> float:
    """Dollars a month that somebody may pay for a workaround."""
    return max(ANYWAY, ABSURD * price_of(workload, design))


def workarounds(workload: Workload, design: Design, read: Read) -> list[Workaround]:
    """The workarounds, the cheapest first. A Scan is listed only if nothing is cheaper."""
    cheapest: dict[str, Workaround] = {}
    candidates = (
        *_with_fewer_demands(workload, design, read),
        *_with_separate_requests(workload, design, read),
        *_with_own_filters(workload, design, read),
        _scan(workload, design, read),
    )
    for workaround in candidates:
        incumbent = cheapest.get(workaround.does)
        if incumbent is None or workaround.units < incumbent.units:
            cheapest[workaround.does] = workaround
    workarounds_by_price = sorted(
        cheapest.values(), key=lambda workaround: (workaround.units, len(workaround.how), workaround.does)
    )
    return workarounds_by_price[:_MOST]


def _with_fewer_demands(workload: Workload, design: Design, read: Read) -> Iterator[Workaround]:
    """The read with fewer demands, of which the application does the others."""
    edits = _edits(read)
    accepting_workload = apply_change(workload, Change(pins=(Accept(read.id, _ACCEPTED[_FILTER]),)))
    # Fewer demands are given up first: with each number all combinations are tried.
    for number in range(1, len(edits) + 1):
        for how in combinations(edits, number):
            changed_read = read
            for words in how:
                changed_read = edits[words](changed_read)
            units, does = _requests(accepting_workload if _FILTER in how else workload, design, [changed_read])
            if changed_read != read and does:
                if _READ_AGAIN in how:
                    units += _units_of_items(workload, read)
                yield Workaround(how, does, units, _ACCEPTED.get(how[0], "") if number == 1 else "")


def _edits(read: Read) -> dict[str, Callable[[Read], Read]]:
    """What the application can do instead, in words, and the read that is left."""
    edits: dict[str, Callable[[Read], Read]] = {}
    if any(condition.op is Op.EQ or condition.op in RANGES for condition in read.inputs):
        edits[_FILTER] = _with_filters
    edits["sorted by the application"] = lambda other_read: replace(other_read, sort=(), limit=None, page=None)
    edits[_READ_AGAIN] = lambda other_read: replace(other_read, consistency=Consistency.EVENTUAL)
    if len(read.entities) > 1:
        edits[_JOIN] = lambda other_read: replace(other_read, combine=Combine.JOIN)
    return edits


def _with_filters(read: Read) -> Read:
    """The read with its second and further ranges as filters; or its only range."""
    ranges = [condition for condition in read.inputs if role_of(condition) is Role.RANGE]
    return edit_inputs(read, ranges[1:] or ranges, as_filter)


def _requests(workload: Workload, design: Design, reads: Iterable[Read]) -> tuple[float, str]:
    """The read units of some reads and their requests in words; none if one of them is not served."""
    units, shapes = 0.0, []
    for read in reads:
        operation = map_read(read, workload, planner_facets(design, workload))
        if not operation.served:
            return 0.0, ""
        units += predict_units(operation, design, workload).read
        shapes.append(shape(operation))
    return units, ", then ".join(shapes)


def _with_separate_requests(workload: Workload, design: Design, read: Read) -> Iterator[Workaround]:
    """One request for each entity."""
    if len(read.entities) < 2:
        return
    reads = []
    clauses = resolve_read(workload, replace(read, combine=None)).clauses
    for name in read.entities:
        inputs = tuple(clause.input for clause in clauses if name in clause.bound)
        sort = tuple(part for part in read.sort if name in bindings(workload, read.entities, part.attribute))
        if not inputs:
            return
        reads.append(replace(read, entities=(name,), inputs=inputs, sort=sort, combine=None))
    units, does = _requests(workload, design, reads)
    if does:
        yield Workaround(("one request for each entity",), does, units, "second request")


def _with_own_filters(workload: Workload, design: Design, read: Read) -> Iterator[Workaround]:
    """Filters for the inputs that only some of the entities have."""
    own = own_inputs(workload, read)
    units, does = _requests(workload, design, [edit_inputs(read, own, as_filter)] if own else [])
    if does:
        yield Workaround((f"with `{write_inputs(tuple(map(as_filter, own)))}`",), does, units)


def own_inputs(workload: Workload, read: Read) -> list[Input]:
    """The inputs of a read of several entities that only some of them have, if another input finds all of them."""
    resolved_read = resolve_read(workload, read)
    key_clauses = [clause for clause in resolved_read.clauses if not clause.input.filter]
    own = [clause.input for clause in key_clauses if 0 < len(clause.bound) < len(resolved_read.entities)]
    return own if len(own) < len(key_clauses) else []


def _units_of_items(workload: Workload, read: Read) -> float:
    """Read units of reading all results again, consistently."""
    units = 0.0
    for name in read.entities:
        entity = workload.entity(name)
        if entity is not None:
            given_names = [bare_name(condition.attribute) for condition in read.inputs if condition.op is Op.EQ]
            limit = read.limit or read.page or count_of(workload, entity)
            units += min(limit, count_by(workload, entity, given_names)) * read_units(size_of(entity), STRONG)
    return units


def _scan(workload: Workload, design: Design, read: Read) -> Workaround:
    """A Scan of the smallest slot that holds all items of the read."""
    consistent = read.is_consistent
    # A Scan reads all items of a slot, of every entity.
    places = {TABLE: 0.0}
    for slot in design.indexes:
        is_usable = slot.projection.kind is ProjectionKind.ALL and not consistent
        if is_usable and all(_all_in(workload, design, name, slot.name) for name in read.entities):
            places[slot.name] = 0.0
    for _, name, entries, size in Estimates(design, workload).stored():
        if name in places:
            places[name] += entries * size
    name, bytes_read = min(places.items(), key=lambda place: (place[1], place[0] != TABLE))
    # An index is read eventually; a Scan of the table may be consistent, at twice the units.
    units = max(1, math.ceil(bytes_read / READ_UNIT_SIZE)) * (STRONG if consistent else EVENTUAL)
    place_words = "the table" if name == TABLE else name
    return Workaround(("with a filter over all items",), f"Scan of {place_words}", units, "scan")


def _all_in(workload: Workload, design: Design, name: str, slot: str) -> bool:
    """Whether an index holds every item of an entity: no sparse condition and no optional key attribute."""
    entity, item = workload.entity(name), design.item(name)
    facet = item.facet(slot) if item else None
    if entity is None or facet is None or facet.when:
        return False
    optional = {a.name for a in entity.attributes if a.optional}
    return optional.isdisjoint(facet.fields)
