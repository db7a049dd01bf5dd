"""The chart of the designs worth choosing between: complexity to the right, dollars a month upwards."""

from __future__ import annotations

import math
from collections.abc import Sequence

from prejoin.design.cost.objective import WEIGHTS
from prejoin.design.phrases import count, money
from prejoin.design.whatif.frontier import FrontierPoint
from prejoin.render.pictures.drawing import Dot, Drawing, Line, Shape, Words
from prejoin.render.pictures.measure import Font, width
from prejoin.workload.grammar.statements import write_pin

_TITLE, _TEXT, _SMALL, _NAME = Font(18, bold=True), Font(12), Font(11), Font(12, bold=True)
_LEFT, _TOP, _WIDE, _HIGH = 92, 84, 560, 300
"""The place and size of the plot."""
_MARGIN = 24
_ROW = 20
_STEPS = 5


def draw_frontier(title: str, points: Sequence[FrontierPoint]) -> Drawing:
    """The chart, with a numbered line for each design below it."""
    ticks = _ticks(max((float(point.dollars) for point in points), default=0.0))
    highest_complexity = max(math.ceil(max((float(point.complexity) for point in points), default=0.0)) + 1, 2)

    def x(complexity: float) -> float:
        return _LEFT + _WIDE * complexity / highest_complexity

    def y(dollars: float) -> float:
        return _TOP + _HIGH * (1 - dollars / ticks[-1])

    right = _LEFT + _WIDE
    shapes: list[Shape] = [
        Words(_MARGIN, 38, title, _TITLE, _WIDE + _LEFT - _MARGIN),
        Words(_MARGIN, 60, "Dollars a month, by complexity. Lower and further left is better.", _TEXT, _WIDE, "muted"),
    ]
    for tick in ticks:
        shapes.append(Line(f"M{_LEFT} {y(tick):.1f}H{right}", "line"))
        shapes.append(Words(_LEFT - 8, y(tick) + 4, f"${tick:,.10g}", _SMALL, _LEFT - 8 - 4, "muted", "end"))
    numbers = range(highest_complexity + 1)
    shapes += [Words(x(at), _TOP + _HIGH + 18, str(at), _SMALL, 40, "muted", "middle") for at in numbers]
    axis = "Complexity: " + ", ".join(f"{noun} {weight.normalize():f}" for noun, weight in WEIGHTS.items())
    shapes.append(Words(_LEFT + _WIDE / 2, _TOP + _HIGH + 38, axis, _SMALL, _WIDE, "muted", "middle"))
    places = [(x(float(point.complexity)), y(float(point.dollars))) for point in points]
    line = [place for point, place in zip(points, places, strict=True) if not point.relaxed]
    if len(line) > 1:
        (start_x, start_y), *other_points = line
        steps = "".join(f"H{across:.1f}V{down:.1f}" for across, down in other_points)
        shapes.append(Line(f"M{start_x:.1f} {start_y:.1f}{steps}", "edge", 1.5))
    for number, (point, (across, down)) in enumerate(zip(points, places, strict=True), 1):
        shapes.append(Dot(across, down, 10, f"t{2 if point.relaxed else 0 if point.decisions else 1}"))
        shapes.append(Words(across, down + 4, str(number), _NAME, 20, "page", "middle"))
    below = _TOP + _HIGH + 70.0
    for number, point in enumerate(points, 1):
        text = _line(point)
        shapes.append(Words(_MARGIN, below, f"{number}", _NAME, 20))
        shapes.append(Words(_MARGIN + 20, below, text, _TEXT, max(width(text, _TEXT), 1.0)))
        below += _ROW
    widest = max((width(_line(point), _TEXT) for point in points), default=0.0)
    drawing_width = max(right + _MARGIN, _MARGIN + 20 + widest + _MARGIN)
    point_texts = "; ".join(f"{number}: {_line(point)}" for number, point in enumerate(points, 1))
    return Drawing(
        title, f"Designs by complexity and dollars a month. {point_texts}.", drawing_width, below + 4, tuple(shapes)
    )


def _line(point: FrontierPoint) -> str:
    structures = f"{count(point.indexes, 'index', 'indexes')}, {count(point.copies, 'copy', 'copies')}"
    decisions_text = "; ".join(map(write_pin, point.decisions)) or "chosen"
    return (
        f"complexity {point.complexity.normalize():f}, {money(point.dollars)} a month, {structures}: {decisions_text}"
    )


def _ticks(largest: float) -> list[float]:
    """Round numbers from 0 to above `most`.

    >>> _ticks(1992), _ticks(0.49), _ticks(0)
    ([0.0, 500.0, 1000.0, 1500.0, 2000.0, 2500.0], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.0, 1.0])
    """
    if largest <= 0:
        return [0.0, 1.0]
    size = 10.0 ** math.floor(math.log10(largest / _STEPS))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * _STEPS >= largest)
    return [round(step * number, 10) for number in range(math.ceil(largest * 1.05 / step) + 1)]
