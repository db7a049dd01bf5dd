"""The designs worth choosing between, for a design that was made: as data, as commands and as a chart."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from prejoin.design.whatif.frontier import FrontierPoint, frontier
from prejoin.pipeline.design.design_table import DesignResult
from prejoin.pipeline.document import write
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.render.pictures.drawing import write_svg
from prejoin.render.pictures.frontier import draw_frontier
from prejoin.workload.grammar.statements import write_pin


def design_frontier(result: DesignResult, *, progress: Progress = SILENT) -> tuple[FrontierPoint, ...]:
    """The designs to choose between, from the simplest to the cheapest. All serve the same access patterns.

    No design is both simpler and cheaper than another, except for those that need a filter to be accepted (`relaxed`).
    One of them is the design of the result, without `decisions`.
    """
    progress.begin("looking for simpler and cheaper designs")
    return frontier(result.what_if)


def frontier_command(result: DesignResult, point: FrontierPoint) -> str:
    """The command that makes a design of the frontier."""
    pins = (*result.request.pins, *point.decisions)
    words = ["prejoin", "design", result.request.document.file]
    return " ".join([shlex.join(words), *(f'--decide "{write_pin(pin)}"' for pin in pins)])


def frontier_svg(result: DesignResult, points: Sequence[FrontierPoint]) -> str:
    """The chart of complexity against money, as SVG."""
    return write_svg(draw_frontier(f"{result.workload.title or result.design.table}: designs to choose from", points))


def chart_beside(path: Path) -> Path:
    """Where the chart of a design is written: `table-design-frontier.svg` beside `table-design.md`."""
    return path.with_name(f"{path.stem}-frontier.svg")


def write_frontier(result: DesignResult, points: Sequence[FrontierPoint], path: Path) -> None:
    """Writes the chart."""
    write(path, frontier_svg(result, points))
