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
from prejoin.design.cost.assumptions import SEVERAL, count_by, per_second, several
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import units_of
from prejoin.design.mapping.addressing import placing
from prejoin.design.mapping.facets import ending, usable_facets
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
    rate: float
    """How often a second a source changes."""

    @property
    def dollars(self) -> Decimal:
        """The cost in a month."""
        times = self.rate * MONTH_SECONDS
        return dollars(reads=times * self.units.read, writes=times * self.units.write)


def refreshes(workload: Workload, design: Design) -> tuple[Refresh, ...]:
    """The refresh of each entity that follows another, as far as the keys of the design allow it."""
    found = follow_links(workload)
    facets = tuple(usable_facets(design, workload)) if found else ()
    priced = (_refresh(workload, design, facets, one) for one in found)
    return tuple(one for one in priced if one is not None)


def _refresh(workload: Workload, design: Design, facets: Iterable[keys.Facet], one: FollowLink) -> Refresh | None:
    bases = [f for f in facets if f.entity == one.source.name and f.slot == TABLE and not f.copy]
    plan = keys.plan(list(facets), Lookup.of(one.entity.name, equal=one.by.values()))
    if not bases or not set(bases[0].attributes) <= one.by.keys() or not isinstance(plan, Plan):
        return None
    touched = [item for item in design.items if item.entity in (one.entity.name, one.source.name)]
    if not all(item.facets and item.facets[0].pk for item in touched):
        return None  # a design with mistakes, which checks report
    figures, operation = Estimates(design, workload), _operation(workload, design, one, plan)
    items = count_by(workload, one.entity, one.by.values())
    batches = math.ceil(items / _AT_ONCE)
    source = figures.size(one.source.name)
    factor = STRONG if plan.slot == TABLE else EVENTUAL
    read = 2 * read_units(source, STRONG) + read_units(round(items * figures.size(one.entity.name, plan.slot)), factor)
    entries = figures.entries(operation, operation.requests[-1])
    item = sum(entry.times * units_of(entry, transactional=True) for entry in entries)
    first = math.ceil(items) if reads_first(design, one) else 0
    read += first * read_units(figures.size(one.entity.name), STRONG)
    write = items * item + batches * write_units(source, transactional=True)
    return Refresh(
        one,
        plan,
        items,
        requests=2 + math.ceil(items / _PAGE) * plan.shards + first + batches,
        units=Units(round(read, 6), round(write, 6)),
        operation=operation,
        writes=source_writes(workload, one),
        rate=change_rate(workload, one),
    )


def refresh_write(one: FollowLink) -> Write:
    """The update of one item that follows a source, as a write of the workload."""
    action = Action(Verb.UPDATE, one.entity.name, changes=tuple(map(Change, one.attributes)))
    every = tuple(Input(a.name) for a in one.entity.attributes)
    return Write("refresh", entities=(one.entity.name,), inputs=every, actions=(action,))


def _operation(workload: Workload, design: Design, one: FollowLink, plan: Plan) -> Operation:
    """The requests for one item: its source read, itself found, and written with its copies and index keys."""
    (_, written), *_ = entity_actions(refresh_write(one), workload, design, one.entity)
    source, (pk, sk) = _get(design, one.source), _key(design, one.source)
    check = Request(Call.TRANSACT_WRITE, actions=(ItemAction(Did.CHECK, one.source.name, pk, sk),))
    first = [_get(design, one.entity)] if reads_first(design, one) else []
    return Operation("refresh", (source, found_by(plan), *first, check, written))


def reads_first(design: Design, one: FollowLink) -> bool:
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


def source_writes(workload: Workload, one: FollowLink) -> tuple[Write, ...]:
    """The writes that change a followed attribute of the source."""
    return tuple(write for write in workload.writes if any(_source_changes(write, one)))


def change_rate(workload: Workload, one: FollowLink) -> float:
    """How often a second a source changes. A write of several sources changes each of them."""
    total = 0.0
    for write in workload.writes:
        for action in _source_changes(write, one):
            sources = (several(workload, write, one.source) or SEVERAL) if action.many else 1
            total += per_second(write.rate) * sources
    return total


def _source_changes(write: Write, one: FollowLink) -> Iterator[Action]:
    """The actions of a write that change a followed attribute of the source. A put may replace a source."""
    followed = set(one.attributes.values())
    for action in write.actions:
        if action.entity != one.source.name:
            continue
        changed = {change.attribute for change in changes(write, action, one.source)} if action.updates else set()
        if action.verb is Verb.PUT or changed & followed:
            yield action
