"""The designs worth choosing between, as a table and as the result for tools; and the one that is proposed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prejoin.cli.outcome import Line
from prejoin.cli.text.design_answers import Choosable
from prejoin.cli.text.messages import with_code_style
from prejoin.cli.text.tables import Row, table_with_titles
from prejoin.design.cost.objective import objective
from prejoin.design.phrases import count, money
from prejoin.design.whatif.frontier import FrontierPoint
from prejoin.pipeline.design.design_table import DesignResult
from prejoin.pipeline.design.frontier import frontier_command
from prejoin.workload.grammar.statements import write_pin


def frontier_lines(result: DesignResult, points: Sequence[FrontierPoint]) -> Iterator[Line]:
    """Complexity against money, and the command for each design."""
    rows: list[Row] = [
        (
            f"{point.complexity.normalize():f}",
            str(point.indexes),
            str(point.copies),
            money(point.dollars),
            "; ".join(map(write_pin, point.decisions)) or "(chosen)",
        )
        for point in points
    ]
    yield from table_with_titles(
        ("Complexity", "GSIs", "Copies", "A month", "Decisions"), rows, ("bold", "", "", "green", "")
    )
    choices = [point for point in points if point.decisions]
    if not choices:
        yield ("No design that serves as much is simpler or cheaper.",)
    for point in choices:
        yield with_code_style(f"To take the one for {money(point.dollars)}: `{frontier_command(result, point)}`")


def proposal_lines(result: DesignResult) -> Iterator[Line]:
    """The design that is much cheaper for one more structure."""
    point = result.proposal
    if point is None:
        return
    total = float(result.bill.total)
    more_structures = point.structures - len(result.design.indexes) - len(result.design.copies)
    change = f"With {count(more_structures, 'structure')} more" if more_structures > 0 else "With other keys"
    if point.reading_writes > objective(result.workload, result.design).reading_writes:
        change += ", and more writes that read first,"
    saving = 1 - float(point.dollars) / total
    yield (
        (f"{change} it costs {money(point.dollars)} a month instead of {money(total)} ({saving:.0%} less): ", "bold"),
        *with_code_style(" ".join(f'`--decide "{write_pin(pin)}"`' for pin in point.decisions)),
    )
    yield ()


def choosable(result: DesignResult, points: Sequence[FrontierPoint]) -> tuple[Choosable, ...]:
    return tuple(
        Choosable(
            float(point.complexity),
            float(point.dollars),
            point.indexes,
            point.copies,
            point.reading_writes,
            tuple(map(write_pin, point.decisions)),
            frontier_command(result, point),
            not point.decisions,
        )
        for point in points
    )
