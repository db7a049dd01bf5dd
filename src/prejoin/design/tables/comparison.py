"""One table against several, priced: `compare_tables(workload)` solves both, and says which and why."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.design.cost.bill import bill
from prejoin.design.explain.phrases import count, listed, money
from prejoin.design.model import Design
from prejoin.design.solver.solve import solve
from prejoin.design.tables.split import Loss, Split, split_tables
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
        bound = {c.pattern for c in self.split.crossings if c.loss is not Loss.REQUEST}
        bound |= {pattern for table in self.several for pattern in table.unserved} - {*self.one.unserved}
        return tuple(sorted(bound))

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
    several = tuple(_priced(part.workload, solve(part.workload).design) for part in split.parts)
    return TableComparison(split, _priced(workload, one or solve(workload).design), several)


def _priced(workload: Workload, design: Design) -> TablePrice:
    unserved = tuple(o.pattern for o in design.operations if not o.served)
    return TablePrice(len(design.indexes), len(design.copies), float(bill(workload, design).total), unserved)


def _sentences(found: TableComparison) -> Iterator[str]:
    wanted = listed(f"{listed(part.entities)} ({listed(part.needs)})" for part in found.split.parts if part.needs)
    if found.separate:
        yield f"Several tables: a table is restored, streamed, replicated and authorised as a whole. Apart: {wanted}."
    else:
        lost = found.in_the_way
        yield (
            f"One table: {listed(lost)} cannot be done as {'it is' if len(lost) == 1 else 'they are'} with several, "
            "because generated code has transactions and conditions within one table only. Apart would be: "
            f"{wanted}."
        )
    tables = count(len(found.several), "table")
    more = found.dollars - found.one.dollars
    difference = f"{money(abs(more))} {'more' if more > 0 else 'less'}" if round(more, 2) else "the same"
    yield (
        f"{tables} cost {money(found.dollars)} a month and one table {money(found.one.dollars)}, {difference}, without "
        f"backups, streams and replicas, which are then needed for some tables only."
    )
    if apart := [c.pattern for c in found.split.crossings if c.loss is Loss.REQUEST]:
        yield f"{listed(apart)} would send a request to each table."
