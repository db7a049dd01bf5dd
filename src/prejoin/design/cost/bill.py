"""The monthly bill of a design, `bill(workload, design)`, and the write amplification of each entity.

The bill has a line for each pattern, one for each kind of request in the background (`background`), and one for the
storage of each item type in each slot. A pattern costs its rate times the units of one call (`units`), which follow
from estimated sizes and counts (`estimates`) by DynamoDB's rules. Its write units include the entries of all indexes.
The bill is exact for the figures of the document. The solver adds up the same figures for each key
(`prejoin.design.solver.program.pricing`), so it minimises this bill.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from prejoin.design.cost.assumptions import per_second
from prejoin.design.cost.background import BackgroundCost, background
from prejoin.design.cost.contents import ContentCost, contents
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.footprint import EntryWrite
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.map_writes import map_write
from prejoin.design.model import TABLE, Call, Design, ItemName, Units
from prejoin.protocol.prices import GB, MONTH_SECONDS, STORAGE_OVERHEAD, dollars, provisioned_dollars, write_units
from prejoin.workload.model import Action, Input, Model, Pattern, Verb, Workload, Write

OBJECT_STORE: Final = "object store"
"""Where contents are that are not in the table. No index has a name with a space."""
_EXACT = Decimal("0.000001")


class PatternCost(Model, frozen=True):
    """The cost of a pattern in a month. A pattern that is not served has no units and costs nothing here."""

    pattern: str
    rate: float
    """Calls a second."""
    calls: float
    """Calls a month."""
    units: Units
    """Units of one call."""
    dollars: Decimal


class StorageCost(Model, frozen=True):
    """The storage cost of an item, a copy or a guard in one slot, or of contents in the object store."""

    item: str
    """`Order`; for a copy `Order/lookup`, for a guard `User!email`, for parts of contents `Document.body`."""
    slot: str
    """`OBJECT_STORE` for contents in the object store."""
    entries: float
    size: int
    """Bytes of each entry, without DynamoDB's overhead."""
    dollars: Decimal

    @property
    def stored(self) -> float:
        """Billed bytes."""
        overhead = 0 if self.slot == OBJECT_STORE else STORAGE_OVERHEAD
        return self.entries * (self.size + overhead)


class Bill(Model, frozen=True):
    """The bill of a month: on-demand capacity, us-east-1, table class Standard."""

    patterns: tuple[PatternCost, ...]
    storage: tuple[StorageCost, ...]
    provisioned: Decimal
    """The cost of the requests to the table with provisioned capacity for the average rates at 70 % utilisation."""
    background: tuple[BackgroundCost, ...] = ()
    """The requests that no pattern sends."""

    @property
    def requests(self) -> Decimal:
        """The cost of all requests: those of the patterns, and those in the background."""
        return sum((cost.dollars for cost in self.patterns), Decimal()) + self.in_background

    @property
    def in_background(self) -> Decimal:
        """The cost of the requests that no pattern sends."""
        return sum((cost.dollars for cost in self.background), Decimal())

    @property
    def kept(self) -> Decimal:
        """The cost of storage."""
        return sum((cost.dollars for cost in self.storage), Decimal())

    @property
    def total(self) -> Decimal:
        return self.requests + self.kept

    @property
    def per_second(self) -> Units:
        """The units of all requests in a second."""
        lines: tuple[PatternCost | BackgroundCost, ...] = (*self.patterns, *self.background)
        return Units(
            sum(cost.rate * cost.units.read for cost in lines), sum(cost.rate * cost.units.write for cost in lines)
        )

    def pattern(self, id_: str) -> PatternCost | None:
        return next((cost for cost in self.patterns if cost.pattern == id_), None)

    def slot(self, name: str) -> Decimal:
        """The storage cost of one slot. The cost of writing to it is part of the patterns."""
        return sum((cost.dollars for cost in self.storage if cost.slot == name), Decimal())


def bill(workload: Workload, design: Design) -> Bill:
    """The bill of a month for a mapped design, with the rates and sizes of the document."""
    patterns = tuple(pattern_cost(p, design) for p in workload.patterns if design.operation(p.id))
    large = contents(workload, design)
    # Provisioned capacity follows from the units of all requests together, so it is added last.
    without_capacity = Bill(patterns, _storage(workload, design, large), Decimal(), background(workload, design, large))
    units = without_capacity.per_second
    return replace(without_capacity, provisioned=provisioned_dollars(reads=units.read, writes=units.write))


def pattern_cost(pattern: Pattern, design: Design) -> PatternCost:
    """The cost of one mapped pattern in a month."""
    operation = design.operation(pattern.id)
    units = (operation.units if operation and operation.served else None) or Units()
    rate = per_second(pattern.rate)
    calls = rate * MONTH_SECONDS
    money = dollars(reads=calls * units.read, writes=calls * units.write)
    return PatternCost(pattern.id, rate, calls, units, money.quantize(_EXACT))


def _storage(workload: Workload, design: Design, large: Sequence[ContentCost]) -> tuple[StorageCost, ...]:
    lines = []
    for item, slot, entries, size in Estimates(design, workload).stored():
        # DynamoDB bills 100 bytes for each item and index entry beside its size.
        price = dollars(gb_months=entries * (size + STORAGE_OVERHEAD) / GB)
        lines.append(StorageCost(item, slot, entries, size, price.quantize(_EXACT)))
    for content in large:
        if content.stored:
            price = content.kept.quantize(_EXACT)
            lines.append(StorageCost(content.name, OBJECT_STORE, content.count, content.size, price))
    return tuple(lines)


class Amplification(Model, frozen=True):
    """The footprint of one write of an item, with copies, guards and index entries."""

    entity: str
    verb: Verb
    items: int
    """Items in the table: its own, its copies, its guards and the shards of its counter."""
    entries: float
    """Index entries; a fraction where only some items are in an index."""
    units: float
    alone: float
    """The units of the item alone."""
    transaction: bool = False

    @property
    def factor(self) -> float:
        """The units compared with those of the item alone."""
        return self.units / self.alone


def amplification(workload: Workload, design: Design) -> tuple[Amplification, ...]:
    """The write amplification of creating and deleting one item of each entity."""
    figures = Estimates(design, workload)
    amplifications = []
    for entity in workload.entities:
        for verb in (Verb.CREATE, Verb.DELETE):
            all_inputs = tuple(Input(a.name) for a in entity.attributes)
            action = Action(verb, entity.name)
            write = Write(f"{verb} {entity.name}", entities=(entity.name,), inputs=all_inputs, actions=(action,))
            operation = map_write(write, workload, design)
            if not operation.served:
                continue
            entries: list[EntryWrite] = []
            for request in operation.requests:
                entries += figures.entries(operation, request)
            amplifications.append(
                Amplification(
                    entity.name,
                    verb,
                    items=round(sum(e.times for e in entries if e.slot == TABLE)),
                    entries=round(sum(e.times for e in entries if e.slot != TABLE), 6),
                    units=predict_units(operation, design, workload, figures).write,
                    alone=write_units(figures.size(ItemName(entity.name))),
                    transaction=any(r.call is Call.TRANSACT_WRITE for r in operation.requests),
                )
            )
    return tuple(amplifications)
