"""What a design costs: `bill(workload, design)`, pattern by pattern and entry by entry; and what one write becomes."""

from __future__ import annotations

from decimal import Decimal

from prejoin.design.cost.assumptions import per_second
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.units import predict_units
from prejoin.design.mapping.map_writes import map_write
from prejoin.design.model import TABLE, Call, Design, Units
from prejoin.protocol.prices import GB, MONTH_SECONDS, STORAGE_OVERHEAD, dollars, provisioned_dollars, write_units
from prejoin.workload.model import Action, Input, Model, Pattern, Verb, Workload, Write

_EXACT = Decimal("0.000001")


class PatternCost(Model, frozen=True):
    """What a pattern costs in a month. One that is not served has no units, and costs nothing here."""

    pattern: str
    rate: float
    """Calls a second."""
    calls: float
    """Calls a month."""
    units: Units
    """Of one call."""
    dollars: Decimal


class StorageCost(Model, frozen=True):
    """What it costs to keep the items of an entity, a copy or a guard, in the table or in an index."""

    item: str
    """`Order`; of a copy `Order/lookup`, of a guard `User!email`."""
    slot: str
    entries: float
    size: int
    """Bytes of each, without what DynamoDB adds."""
    dollars: Decimal

    @property
    def stored(self) -> float:
        """Bytes, as they are billed."""
        return self.entries * (self.size + STORAGE_OVERHEAD)


class Bill(Model, frozen=True):
    """A month of a design, on demand, in us-east-1 and table class Standard."""

    patterns: tuple[PatternCost, ...]
    storage: tuple[StorageCost, ...]
    provisioned: Decimal
    """The requests, if capacity for the usual rates were provisioned instead, 70 % of it used."""

    @property
    def requests(self) -> Decimal:
        return sum((one.dollars for one in self.patterns), Decimal())

    @property
    def kept(self) -> Decimal:
        """For storage."""
        return sum((one.dollars for one in self.storage), Decimal())

    @property
    def total(self) -> Decimal:
        return self.requests + self.kept

    @property
    def per_second(self) -> Units:
        """The units of all patterns together, a second."""
        return Units(
            sum(one.rate * one.units.read for one in self.patterns),
            sum(one.rate * one.units.write for one in self.patterns),
        )

    def pattern(self, id_: str) -> PatternCost | None:
        return next((one for one in self.patterns if one.pattern == id_), None)

    def slot(self, name: str) -> Decimal:
        """What it costs to keep the entries of the table, or of an index; writing them is in the patterns."""
        return sum((one.dollars for one in self.storage if one.slot == name), Decimal())


def bill(workload: Workload, design: Design) -> Bill:
    """What a month of the mapped design costs, at the rates and sizes of the document."""
    figures = Estimates(design, workload)
    patterns = tuple(pattern_cost(p, design) for p in workload.patterns if design.operation(p.id))
    storage = tuple(StorageCost(*one, _storage(one[2], one[3])) for one in figures.stored())
    reads = sum(one.rate * one.units.read for one in patterns)
    writes = sum(one.rate * one.units.write for one in patterns)
    return Bill(patterns, storage, provisioned_dollars(reads=reads, writes=writes))


def pattern_cost(pattern: Pattern, design: Design) -> PatternCost:
    """What a month of one pattern costs, as it is mapped."""
    operation = design.operation(pattern.id)
    units = (operation.units if operation else None) or Units()
    rate = per_second(pattern.rate)
    calls = rate * MONTH_SECONDS
    money = dollars(reads=calls * units.read, writes=calls * units.write)
    return PatternCost(pattern.id, rate, calls, units, money.quantize(_EXACT))


def _storage(entries: float, size: int) -> Decimal:
    return dollars(gb_months=entries * (size + STORAGE_OVERHEAD) / GB).quantize(_EXACT)


class Amplification(Model, frozen=True):
    """What one write of an item becomes: with copies, guards and entries in indexes."""

    entity: str
    verb: Verb
    items: int
    """In the table: its own, its copies and its guards."""
    entries: float
    """In the indexes; a part of one where only some items are in an index."""
    units: float
    alone: float
    """The units it would be without them."""
    transaction: bool = False

    @property
    def factor(self) -> float:
        """How many times as much."""
        return self.units / self.alone


def amplification(workload: Workload, design: Design) -> tuple[Amplification, ...]:
    """What it takes to create and to delete one item of each entity."""
    figures = Estimates(design, workload)
    found = []
    for entity in workload.entities:
        for verb in (Verb.CREATE, Verb.DELETE):
            everything = tuple(Input(a.name) for a in entity.attributes)
            action = Action(verb, entity.name)
            write = Write(f"{verb} {entity.name}", entities=(entity.name,), inputs=everything, actions=(action,))
            operation = map_write(write, workload, design)
            if not operation.served:
                continue
            entries = [e for r in operation.requests for e in figures.entries(operation, r)]
            found.append(
                Amplification(
                    entity.name,
                    verb,
                    items=sum(len(r.actions) for r in operation.requests),
                    entries=round(sum(e.times for e in entries if e.slot != TABLE), 6),
                    units=predict_units(operation, design, workload, figures).write,
                    alone=write_units(figures.size(entity.name)),
                    transaction=any(r.call is Call.TRANSACT_WRITE for r in operation.requests),
                )
            )
    return tuple(found)
