"""The chart of the designs worth choosing between: complexity to the right, dollars a month upwards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prejoin.design.cost.objective import WEIGHTS
from prejoin.design.phrases import count, money
from prejoin.design.whatif.frontier import FrontierPoint
from prejoin.render.pictures.drawing import Dot, Drawing, Line, Shape, Words
from prejoin.render.pictures.measure import Font, width
from prejoin.workload.grammar.statements import write_pin

_TITLE, _TEXT, _SMALL, _NAME = Font(18, bold=True), Font(12), Font(11), Font(12, bold=True)
_PLOT_LEFT, _TOP, _WIDE, _HIGH = 92, 84, 560, 300
"""The place and size of the plot."""
_PLOT_RIGHT = _PLOT_LEFT + _WIDE
_MARGIN = 24
_ROW = 20
_STEPS = 5


@dataclass(frozen=True, slots=True)
class _Scale:
    """The place of a design in the plot, by its complexity and price."""

    highest_complexity: int
    ticks: list[float]
    """The prices at the grid lines, from 0 up."""

    def x(self, complexity: float) -> float:
        return _PLOT_LEFT + _WIDE * complexity / self.highest_complexity

    def y(self, dollars: float) -> float:
        return _TOP + _HIGH * (1 - dollars / self.ticks[-1])

    def place(self, point: FrontierPoint) -> tuple[float, float]:
        return self.x(float(point.complexity)), self.y(float(point.dollars))


def draw_frontier(title: str, points: Sequence[FrontierPoint]) -> Drawing:
    """The chart, with a numbered line for each design below it."""
    scale = _scale(points)
    shapes: list[Shape] = [
        Words(_MARGIN, 38, title, _TITLE, _PLOT_RIGHT - _MARGIN),
        Words(_MARGIN, 60, "Dollars a month, by complexity. Lower and further left is better.", _TEXT, _WIDE, "muted"),
        *_axes(scale),
        *_plot(points, scale),
    ]
    bottom = _TOP + _HIGH + 70.0
    widest = 0.0
    texts: list[str] = []
    for number, text in enumerate(map(_line, points), 1):
        line_width = width(text, _TEXT)
        shapes.append(Words(_MARGIN, bottom, f"{number}", _NAME, 20))
        shapes.append(Words(_MARGIN + 20, bottom, text, _TEXT, max(line_width, 1.0)))
        bottom += _ROW
        widest = max(widest, line_width)
        texts.append(f"{number}: {text}")
    drawing_width = max(_PLOT_RIGHT + _MARGIN, _MARGIN + 20 + widest + _MARGIN)
    description = f"Designs by complexity and dollars a month. {'; '.join(texts)}."
    return Drawing(title, description, drawing_width, bottom + 4, tuple(shapes))


def _scale(points: Sequence[FrontierPoint]) -> _Scale:
    dollars = max((float(point.dollars) for point in points), default=0.0)
    complexity = max((float(point.complexity) for point in points), default=0.0)
    return _Scale(max(math.ceil(complexity) + 1, 2), _ticks(dollars))


def _axes(scale: _Scale) -> Iterator[Shape]:
    """The grid lines with their prices, and the numbers below the plot with their meaning."""
    for tick in scale.ticks:
        y = scale.y(tick)
        yield Line(f"M{_PLOT_LEFT} {y:.1f}H{_PLOT_RIGHT}", "line")
        yield Words(_PLOT_LEFT - 8, y + 4, f"${tick:,.10g}", _SMALL, _PLOT_LEFT - 8 - 4, "muted", "end")
    for complexity in range(scale.highest_complexity + 1):
        yield Words(scale.x(complexity), _TOP + _HIGH + 18, str(complexity), _SMALL, 40, "muted", "middle")
    weights = ", ".join(f"{noun} {weight.normalize():f}" for noun, weight in WEIGHTS.items())
    yield Words(_PLOT_LEFT + _WIDE / 2, _TOP + _HIGH + 38, f"Complexity: {weights}", _SMALL, _WIDE, "muted", "middle")


def _plot(points: Sequence[FrontierPoint], scale: _Scale) -> Iterator[Shape]:
    """A numbered dot for each design, and a line through those that need no relaxed requirement."""
    line_places = [scale.place(point) for point in points if not point.relaxed]
    if len(line_places) > 1:
        (start_x, start_y), *further_places = line_places
        # Steps, not slopes: there is no design between two others.
        steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in further_places)
        yield Line(f"M{start_x:.1f} {start_y:.1f}{steps}", "edge", 1.5)
    for number, point in enumerate(points, 1):
        x, y = scale.place(point)
        yield Dot(x, y, 10, _dot_class(point))
        yield Words(x, y + 4, str(number), _NAME, 20, "page", "middle")


def _dot_class(point: FrontierPoint) -> str:
    if point.relaxed:
        return "t2"
    return "t0" if point.decisions else "t1"


def _line(point: FrontierPoint) -> str:
    structures = f"{count(point.indexes, 'index', 'indexes')}, {count(point.copies, 'copy', 'copies')}"
    decisions_text = "; ".join(map(write_pin, point.decisions)) or "chosen"
    return (
        f"complexity {point.complexity.normalize():f}, {money(point.dollars)} a month, {structures}: {decisions_text}"
    )


def _ticks(largest: float) -> list[float]:
    """Round numbers from 0 to above the largest price.

    >>> _ticks(1992), _ticks(0.49), _ticks(0)
    ([0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.0, 1.0])
    """
    if largest <= 0:
        return [0.0, 1.0]
    size = 10.0 ** math.floor(math.log10(largest / _STEPS))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * _STEPS >= largest)
    return [round(step * number, 10) for number in range(math.ceil(largest * 1.05 / step) + 1)]
