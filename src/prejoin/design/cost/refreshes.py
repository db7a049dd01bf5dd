"""The cost of updating the items that repeat values of a source, after it has changed: `refreshes(workload, design)`.

The client reads the source, finds the items by a Query, writes up to 99 of them in a transaction with a check of the
source, and reads the source again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal

import msgspec

from prejoin import keys
from prejoin.constructs.construct import RefreshedConstruct
from prejoin.constructs.refreshed import refreshed_in
from prejoin.constructs.registry import all_constructs
from prejoin.design.cost.assumptions import count_by, number_of_items, per_second
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import units_of
from prejoin.design.mapping.addressing import placing
from prejoin.design.mapping.facets import usable_facets
from prejoin.design.mapping.map_writes import entity_actions, found_by
from prejoin.design.model import TABLE, Call, Design, Did, ItemAction, ItemName, Operation, Request, Units
from prejoin.keys import Lookup, Plan
from prejoin.keys.planner.placeholders import SortCondition
from prejoin.protocol.limits import TRANSACTION_ACTIONS
from prejoin.protocol.prices import EVENTUAL, MONTH_SECONDS, STRONG, dollars, read_units, write_units
from prejoin.workload.model import Action, Change, Entity, Input, Verb, Workload, Write

_AT_ONCE = TRANSACTION_ACTIONS - 1
_PAGE = 1_000


class Refresh(msgspec.Struct, frozen=True):
    """One refresh of the items of a source."""

    bound: RefreshedConstruct
    plan: Plan
    """The Query that finds the items."""
    items: float
    """How many items one source has."""
    requests: int
    units: Units
    operation: Operation
    """The requests, each once."""
    writes: tuple[Write, ...]
    """The writes that change a source."""
    rate: float
    """How often a second a source changes."""

    @property
    def unchanged_sources(self) -> str:
        """The attributes that are followed, if no write changes one: `Agent.name`."""
        names = (f"{self.bound.source.name}.{name}" for name in self.bound.attributes.values())
        return "" if self.writes else " or ".join(dict.fromkeys(names))

    @property
    def dollars(self) -> Decimal:
        """The cost in a month."""
        times = self.rate * MONTH_SECONDS
        return dollars(reads=times * self.units.read, writes=times * self.units.write)


def refreshes(workload: Workload, design: Design) -> tuple[Refresh, ...]:
    """The refreshes of a workload, as far as the keys of the design allow them."""
    constructs = refreshed_in(workload)
    facets = tuple(usable_facets(design, workload)) if constructs else ()
    candidates = (_refresh(workload, design, facets, bound) for bound in constructs)
    return tuple(refresh for refresh in candidates if refresh is not None)


def _refresh(
    workload: Workload, design: Design, facets: Iterable[keys.Facet], bound: RefreshedConstruct
) -> Refresh | None:
    """The cost of refreshing the items of one source: None if no key finds them, or the design has mistakes.

    The source is read before and checked after, its items are found by one plan, and written in transactions.
    """
    plan = keys.plan(list(facets), Lookup.of(bound.entity.name, equal=bound.by.values()))
    if not isinstance(plan, Plan) or not _is_source_identified(facets, bound):
        return None
    items_concerned = [item for item in design.items if item.entity in (bound.entity.name, bound.source.name)]
    if not all(item.facets and item.facets[0].pk for item in items_concerned):
        return None  # a design with mistakes, which checks report
    estimates = Estimates(design, workload)
    operation = _operation(workload, design, bound, plan)
    items = count_by(workload, bound.entity, bound.by.values())
    # A transaction has at most 100 actions, and one of them checks the source.
    batches = math.ceil(items / _AT_ONCE)
    source_size = estimates.size(ItemName(bound.source.name))
    item_size = estimates.size(ItemName(bound.entity.name))
    # One Query reads the entries, as large as the index holds them.
    found_size = round(items * estimates.size(ItemName(bound.entity.name), plan.slot))
    reads_before_writes = math.ceil(items) if reads_first(design, bound) else 0
    # The source is read at the start and at the end.
    read = 2 * read_units(source_size, STRONG)
    read += read_units(found_size, STRONG if plan.slot == TABLE else EVENTUAL)
    read += reads_before_writes * read_units(item_size, STRONG)
    entries = estimates.entries(operation, operation.requests[-1])
    units_per_item = sum(entry.times * units_of(entry, transactional=True) for entry in entries)
    # Each transaction also checks the source.
    write = items * units_per_item + batches * write_units(source_size, transactional=True)
    return Refresh(
        bound,
        plan,
        items,
        requests=2 + math.ceil(items / _PAGE) * plan.shards + reads_before_writes + batches,
        units=Units(round(read, 6), round(write, 6)),
        operation=operation,
        writes=source_writes(workload, bound),
        rate=change_rate(workload, bound),
    )


def _is_source_identified(facets: Iterable[keys.Facet], bound: RefreshedConstruct) -> bool:
    """Whether an item has all attributes of its source's key in the table."""
    for facet in facets:
        if facet.entity == bound.source.name and facet.slot == TABLE and not facet.copy:
            return set(facet.attributes) <= bound.by.keys()
    return False


def refresh_write(bound: RefreshedConstruct) -> Write:
    """The update of one item, as a write of the workload."""
    action = Action(Verb.UPDATE, bound.entity.name, changes=tuple(map(Change, bound.attributes)))
    inputs = tuple(Input(attribute.name) for attribute in bound.entity.attributes)
    return Write("refresh", entities=(bound.entity.name,), inputs=inputs, actions=(action,))


def _operation(workload: Workload, design: Design, bound: RefreshedConstruct, plan: Plan) -> Operation:
    """The requests for one item: its source read, itself found, and written with its copies and index keys."""
    (_, write_request), *_ = entity_actions(refresh_write(bound), workload, design, bound.entity)
    source, (pk, sk) = _get(design, bound.source), _key(design, bound.source)
    check = Request(Call.TRANSACT_WRITE, actions=(ItemAction(Did.CHECK, ItemName(bound.source.name), pk, sk),))
    first = [_get(design, bound.entity)] if reads_first(design, bound) else []
    return Operation("refresh", (source, found_by(plan, workload), *first, check, write_request))


def reads_first(design: Design, bound: RefreshedConstruct) -> bool:
    """Whether the client reads an item before it updates it.

    It does so to move the item in an index, and if the schema has other patterns for it than bounds, which may depend
    on the stored item.
    """
    entity = bound.entity
    item = design.item(entity.name)
    if item is not None:
        # The text of an index key may hold other attributes, too, which the client has to know to write it again.
        is_moved = any(placing(facet) & bound.attributes.keys() for facet in item.facets)
        if is_moved or item.mirrored or item.read_members or item.next_attributes:
            return True
    has_copies = any(copy.entity == entity.name for copy in design.copies)
    return has_copies or any(True for _ in all_constructs(entity, design))


def _get(design: Design, entity: Entity) -> Request:
    pk, sk = _key(design, entity)
    return Request(Call.GET, entities=(entity.name,), pk=pk, sk=SortCondition("=", sk) if sk else None, consistent=True)


def _key(design: Design, entity: Entity) -> tuple[str, str]:
    item = design.item(entity.name)
    assert item is not None  # it has a facet in the table
    return item.facets[0].pk[0], next(iter(item.facets[0].sk), "")


def source_writes(workload: Workload, bound: RefreshedConstruct) -> tuple[Write, ...]:
    """The writes that change a source."""
    return tuple(write for write in workload.changing if any(bound.source_changes(write)))


def change_rate(workload: Workload, bound: RefreshedConstruct) -> float:
    """How often a second a source changes. A write of several sources changes each of them."""
    total = 0.0
    for write in source_writes(workload, bound):
        for action in bound.source_changes(write):
            total += per_second(write.rate) * number_of_items(workload, write, action, bound.source)
    return total
