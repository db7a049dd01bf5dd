"""The cost of updating the items that follow a source, after it has changed: `refreshes(workload, design)`.

The client reads the source, finds the items by a Query, writes up to 99 of them in a transaction with a check of the
source, and reads the source again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal

import msgspec

from prejoin import keys
from prejoin.design.cost.assumptions import count_by, per_second
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import units_of
from prejoin.design.mapping.addressing import placing
from prejoin.design.mapping.facets import ending, planner_facets
from prejoin.design.mapping.map_writes import entity_actions, found_by
from prejoin.design.model import TABLE, Call, Design, Did, ItemAction, Operation, Request, Units
from prejoin.keys import Lookup, Plan
from prejoin.protocol.limits import TRANSACTION_ACTIONS
from prejoin.protocol.prices import EVENTUAL, MONTH_SECONDS, STRONG, dollars, read_units, write_units
from prejoin.workload.follow_links import FollowLink, follow_links
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Change, Entity, Input, Verb, Workload, Write

_AT_ONCE = TRANSACTION_ACTIONS - 1
_PAGE = 1_000


class Refresh(msgspec.Struct, frozen=True):
    """One refresh of the items that follow a source."""

    link: FollowLink
    plan: Plan
    """The Query that finds the items."""
    items: float
    """How many items follow one source."""
    requests: int
    units: Units
    operation: Operation
    """The requests, each once."""
    writes: tuple[Write, ...]
    """The writes that change a source."""

    @property
    def rate(self) -> float:
        """How often a second a source changes."""
        return sum(per_second(write.rate) for write in self.writes)

    @property
    def dollars(self) -> Decimal:
        """The cost in a month."""
        times = self.rate * MONTH_SECONDS
        return dollars(reads=times * self.units.read, writes=times * self.units.write)


def refreshes(workload: Workload, design: Design) -> tuple[Refresh, ...]:
    """The refresh of each entity that follows another, as far as the keys of the design allow it."""
    found = follow_links(workload)
    facets = planner_facets(design, workload) if found else ()
    priced = (_refresh(workload, design, facets, one) for one in found)
    return tuple(one for one in priced if one is not None)


def _refresh(workload: Workload, design: Design, facets: Iterable[keys.Facet], one: FollowLink) -> Refresh | None:
    bases = [f for f in facets if f.entity == one.source.name and f.slot == TABLE and not f.copy]
    plan = keys.plan(list(facets), Lookup.of(one.entity.name, equal=one.by.values()))
    if not bases or not set(bases[0].attributes) <= one.by.keys() or not isinstance(plan, Plan):
        return None
    figures, operation = Estimates(design, workload), _operation(workload, design, one, plan)
    items = count_by(workload, one.entity, one.by.values())
    batches = math.ceil(items / _AT_ONCE)
    source = figures.size(one.source.name)
    factor = STRONG if plan.slot == TABLE else EVENTUAL
    read = 2 * read_units(source, STRONG) + read_units(round(items * figures.size(one.entity.name, plan.slot)), factor)
    entries = figures.entries(operation, operation.requests[-1])
    item = sum(entry.times * units_of(entry, transactional=True) for entry in entries)
    first = math.ceil(items) if _read_first(design, one) else 0
    read += first * read_units(figures.size(one.entity.name), STRONG)
    write = items * item + batches * write_units(source, transactional=True)
    return Refresh(
        one,
        plan,
        items,
        requests=2 + math.ceil(items / _PAGE) * plan.shards + first + batches,
        units=Units(round(read, 6), round(write, 6)),
        operation=operation,
        writes=tuple(writes_of_source(workload, one)),
    )


def _operation(workload: Workload, design: Design, one: FollowLink, plan: Plan) -> Operation:
    """The requests for one item: its source read, itself found, and written with its copies and index keys."""
    action = Action(Verb.UPDATE, one.entity.name, changes=tuple(map(Change, one.attributes)))
    every = tuple(Input(a.name) for a in one.entity.attributes)
    write = Write("refresh", entities=(one.entity.name,), inputs=every, actions=(action,))
    (_, written), *_ = entity_actions(write, workload, design, one.entity)
    source, (pk, sk) = _get(design, one.source), _key(design, one.source)
    check = Request(Call.TRANSACT_WRITE, actions=(ItemAction(Did.CHECK, one.source.name, pk, sk),))
    first = [_get(design, one.entity)] if _read_first(design, one) else []
    return Operation("refresh", (source, found_by(plan), *first, check, written))


def _read_first(design: Design, one: FollowLink) -> bool:
    """Whether the client reads an item before it updates it: to move it in an index, or to update copies and guards."""
    item = design.item(one.entity.name)
    moved = item is not None and any(placing(facet) & one.attributes.keys() for facet in item.facets)
    kept = {*(copy.entity for copy in design.copies), *(guard.entity for guard in design.guards)}
    return moved or one.entity.name in kept or bool(ending(design, one.entity))


def _get(design: Design, entity: Entity) -> Request:
    pk, sk = _key(design, entity)
    return Request(Call.GET, entities=(entity.name,), pk=pk, sk=f"= {sk}" if sk else "", consistent=True)


def _key(design: Design, entity: Entity) -> tuple[str, str]:
    item = design.item(entity.name)
    assert item is not None  # it has a facet in the table
    return item.facets[0].pk[0], next(iter(item.facets[0].sk), "")


def writes_of_source(workload: Workload, one: FollowLink) -> Iterator[Write]:
    """The writes that change a followed attribute of the source. A put may replace one that has other values."""
    followed = set(one.attributes.values())
    for write in workload.writes:
        updates = [a for a in write.actions if a.entity == one.source.name and a.updates]
        is_replaced = any(a.entity == one.source.name and a.verb is Verb.PUT for a in write.actions)
        if is_replaced or any(
            change.attribute in followed for a in updates for change in changes(write, a, one.source)
        ):
            yield write
