"""One table against several, priced: `compare_tables(workload)` solves both, and says which and why."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design.model import Design
from prejoin.design.phrases import count, listed, money, verb
from prejoin.design.solver.solve import solve
from prejoin.design.whatif.attempt import price_of
from prejoin.design.whatif.split import Loss, Split, split_tables
from prejoin.workload.model import Model, Workload


class TablePrice(Model, frozen=True):
    """A design in figures."""

    indexes: int
    copies: int
    dollars: float
    """Dollars a month, without backups, streams and replicas."""
    unserved: tuple[str, ...] = ()


class TableComparison(Model, frozen=True):
    """One table against several."""

    split: Split
    one: TablePrice
    several: tuple[TablePrice, ...]
    """One for each table, in the order of the split."""

    @property
    def dollars(self) -> float:
        """The monthly price of all tables of the split."""
        return sum(table.dollars for table in self.several)

    @property
    def in_the_way(self) -> tuple[str, ...]:
        """Patterns that speak against several tables: they need one transaction, or only one table serves them."""
        ids = {crossing.pattern for crossing in self.split.crossings if crossing.loss is not Loss.REQUEST}
        unserved_ids: set[str] = set()
        for table in self.several:
            unserved_ids.update(table.unserved)
        return tuple(sorted(ids | unserved_ids.difference(self.one.unserved)))

    @property
    def separate(self) -> bool:
        """Whether several tables are advised. What is needed decides, not money; but no pattern may become wrong."""
        return not self.in_the_way

    @property
    def text(self) -> tuple[str, ...]:
        """The advice and its reasons, as sentences."""
        return tuple(_sentences(self))


def compare_tables(workload: Workload, one: Design | None = None) -> TableComparison:
    """Solves and prices one table, if its design is not given, and the tables that the document's needs ask for.

    Raises InfeasibleError if the decisions of the document cannot hold in one of them.
    """
    split = split_tables(workload)
    # Each part is solved by itself: its indexes and copies serve its own entities only.
    table_prices = tuple(_price(part.workload, solve(part.workload).design) for part in split.parts)
    return TableComparison(split, _price(workload, one or solve(workload).design), table_prices)


def _price(workload: Workload, design: Design) -> TablePrice:
    unserved_ids = tuple(operation.pattern for operation in design.operations if not operation.served)
    return TablePrice(len(design.indexes), len(design.copies), price_of(workload, design), unserved_ids)


def _sentences(comparison: TableComparison) -> Iterator[str]:
    parts = [part for part in comparison.split.parts if part.needs]
    needs = listed(f"{listed(part.entities)} ({listed(part.needs)})" for part in parts)
    if comparison.separate:
        yield f"Several tables: a table is restored, streamed, replicated and authorised as a whole. Apart: {needs}."
    else:
        pattern_ids = comparison.in_the_way
        is_done = verb(pattern_ids, "it is", "they are")
        yield (
            f"One table: {listed(pattern_ids)} cannot be done as {is_done} with several, because generated code has "
            f"transactions and conditions within one table only. Apart would be: {needs}."
        )
    tables = count(len(comparison.several), "table")
    difference = comparison.dollars - comparison.one.dollars
    words = f"{money(abs(difference))} {'more' if difference > 0 else 'less'}" if round(difference, 2) else "the same"
    yield (
        f"{tables} cost {money(comparison.dollars)} a month and one table {money(comparison.one.dollars)}, {words}, "
        "without backups, streams and replicas, which are then needed for some tables only."
    )
    requests = [crossing.pattern for crossing in comparison.split.crossings if crossing.loss is Loss.REQUEST]
    if requests:
        yield f"{listed(requests)} would send a request to each table."
