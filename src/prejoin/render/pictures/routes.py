"""The picture of access patterns: a row for each, a column for the table and each index, marks coloured by entity.

A read has a dot where it reads. A write has a square where it writes, and a ring in each index that follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prejoin.design.model import TABLE, Call, Design, Did, Operation, Request
from prejoin.render.pattern_outcome import OUT_OF_SCOPE, operation_of
from prejoin.render.pictures.drawing import Box, Dot, Drawing, Line, Shape, Words, legend
from prejoin.render.pictures.measure import Font, width, wrapped
from prejoin.render.pictures.palette import Tint, hue_of
from prejoin.workload.model import Pattern, Workload

_TITLE, _TEXT, _HEAD, _ID = Font(18, bold=True), Font(12), Font(12, bold=True), Font(12, bold=True)
_SMALL, _CODE = Font(11), Font(11, mono=True)
_MARGIN, _PAD, _LINE = 24, 10, 16
_DESCRIPTION, _OPERATION = 300, 520
_MARK, _STEP = 5, 14
_SEVERAL = frozenset({Call.TRANSACT_WRITE, Call.BATCH_WRITE})
_TOLD = "A dot: it is read there.  A square: it is written there.  A ring: the entry in the index follows by itself."


@dataclass(frozen=True, slots=True)
class _Marks:
    """The entities that a pattern reads and writes in a slot."""

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    refreshes: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        return _STEP * (len(self.read) + len(self.written) + len(self.refreshes))


@dataclass(frozen=True, slots=True)
class _Route:
    pattern: Pattern
    marks: Mapping[str, _Marks]
    lines: tuple[tuple[str, str], ...]
    """The requests, each line with its CSS class."""
    description: tuple[str, ...]
    """The description."""
    units: str

    @property
    def height(self) -> float:
        return _LINE * max(len(self.lines), len(self.description), 1) + 2 * _PAD - 2


def draw_routes(workload: Workload, design: Design) -> Drawing:
    """The picture of all patterns."""
    hues = {entity.name: hue_of(at) for at, entity in enumerate(workload.entities)}
    groups = [
        (name, [_route(workload, design, pattern) for pattern in patterns])
        for name, patterns in (("Reads", workload.reads), ("Writes", workload.writes), ("Deletes", workload.deletes))
        if patterns
    ]
    routes = [route for _, rows in groups for route in rows]
    ids = max((width(route.pattern.id, _ID) for route in routes), default=40)
    names = {slot.name: "the table" if slot.name == TABLE else slot.name for slot in design.slots}
    slots = {
        name: min(max(width(head, _HEAD), *(r.marks.get(name, _Marks()).width for r in routes), 0), 190) + 2 * _PAD
        for name, head in names.items()
    }
    units = max((width(route.units, _SMALL) for route in routes), default=0)
    widths = [
        min(ids, 140) + 2 * _PAD,
        _DESCRIPTION,
        *slots.values(),
        _OPERATION,
        max(units, width("Units", _HEAD)) + 2 * _PAD,
    ]
    total = sum(widths)
    title = f"{workload.title or design.table}: access patterns"
    shapes: list[Shape] = [Words(_MARGIN, 38, title, _TITLE, total)]
    served = sum(operation.served for operation in design.operations)
    counted = f"{served} of {len(design.operations)} are served."
    shapes.append(Words(_MARGIN, 60, f"{counted}  {_TOLD}", _TEXT, total, "muted"))
    drawn, y = legend(list(hues.items()), _MARGIN, 74, total)
    shapes += drawn
    heads = ["ID", "Asks for", *names.values(), "Is sent as", "Units"]
    shapes.append(Box(_MARGIN, y, total, 28, "band"))
    x: float = _MARGIN
    for head, wide in zip(heads, widths, strict=True):
        shapes.append(Words(x + _PAD, y + 18, head, _HEAD, wide - 2 * _PAD))
        x += wide
    y += 28
    for name, rows in groups:
        shapes.append(Words(_MARGIN + _PAD, y + 20, name, _HEAD, total - 2 * _PAD, "muted"))
        y += 28
        for route in rows:
            shapes += _row(route, widths, list(names), hues, y)
            y += route.height
    shapes.append(Line(f"M{_MARGIN} {y:g}H{_MARGIN + total:g}", "line"))
    return Drawing(title, _description(routes), total + 2 * _MARGIN, y + _MARGIN, tuple(shapes))


def _description(routes: Sequence[_Route]) -> str:
    told = [f"{route.pattern.id}: {'; '.join(text.strip() for text, _ in route.lines)}" for route in routes]
    return f"The requests of each access pattern. {'. '.join(told)}."


# --- What is told ---------------------------------------------------------------------------------------------------


def _route(workload: Workload, design: Design, pattern: Pattern) -> _Route:
    operation = operation_of(workload, design, pattern)
    room = _OPERATION - 2 * _PAD
    lines: list[tuple[str, str]] = []
    if operation.problem == OUT_OF_SCOPE:
        lines.append((OUT_OF_SCOPE, "muted"))
    elif operation.problem:
        lines += [(line, "bad") for line in wrapped(f"not served: {operation.problem}", _SMALL, room, most=3)]
    for text in (text for request in operation.requests for text in _sent(request)):
        lines += [(line, "ink") for line in wrapped(text, _CODE, room, design.separator, most=2)]
    told = wrapped(pattern.description or pattern.name, _TEXT, _DESCRIPTION - 2 * _PAD, most=3)
    units = operation.units
    counts = [(units.read, "R"), (units.write, "W")] if units and operation.served else []
    return _Route(
        pattern,
        {slot.name: _marks(design, operation, slot.name) for slot in design.slots},
        tuple(lines),
        told,
        " + ".join(f"{number:g} {letter}" for number, letter in counts if number),
    )


def _sent(request: Request) -> Iterator[str]:
    """The request in words: one line, or one for each item of a transaction."""
    if request.actions:
        several = request.call in _SEVERAL
        if several:
            yield request.call.value
        for action in request.actions:
            lead = f"  {action.action.value}" if several else request.call.value
            yield f"{lead} {action.item}{'[]' * action.many}"
        return
    where = "" if request.slot == TABLE else f" {request.slot}"
    key = " · ".join(part for part in (request.pk, request.sk) if part)
    often = [f"{request.shards} shards" if request.shards > 1 else "", f"each {request.bucket}" * bool(request.bucket)]
    often.append(f"each {request.each}" * bool(request.each))
    spread = ", ".join(part for part in often if part)
    yield f"{request.call.value}{where} {key}" + (f" ({spread})" if spread else "")


def _marks(design: Design, operation: Operation, slot: str) -> _Marks:
    read: dict[str, None] = {}
    written: dict[str, None] = {}
    following: dict[str, None] = {}
    for request in operation.requests:
        if not request.actions and request.slot == slot:
            read |= dict.fromkeys(request.entities)
        for action in request.actions:
            entity, copy, apart = action.target.entity, action.target.copy, action.target.apart
            item = None if apart else design.item(entity, copy)
            if action.action is Did.CHECK:
                read |= {entity: None} if slot == TABLE else {}
            elif slot == TABLE:
                written[entity] = None
            elif item and item.facet(slot):
                following[entity] = None
    return _Marks(tuple(read), tuple(written), tuple(following))


# --- What is drawn --------------------------------------------------------------------------------------------------


def _row(
    route: _Route, widths: Sequence[float], slots: Sequence[str], hues: Mapping[str, int], y: float
) -> list[Shape]:
    total = sum(widths)
    shapes: list[Shape] = [Line(f"M{_MARGIN} {y:g}H{_MARGIN + total:g}", "line")]
    base = y + _PAD + 11
    x: float = _MARGIN
    shapes.append(Words(x + _PAD, base, route.pattern.id, _ID, widths[0] - 2 * _PAD))
    x += widths[0]
    whole = route.pattern.description or route.pattern.name
    for at, line in enumerate(route.description):
        shapes.append(Words(x + _PAD, base + _LINE * at, line, _TEXT, widths[1] - 2 * _PAD, full_text=whole))
    x += widths[1]
    for slot, wide in zip(slots, widths[2:], strict=False):
        most = int((wide - 2 * _PAD + 1) // _STEP)
        for at, (entity, kind) in enumerate(list(_each(route.marks.get(slot, _Marks())))[:most]):
            shapes.append(_mark(kind, hues.get(entity, 0), x + _PAD + _MARK + _STEP * at, base - 4))
        x += wide
    for at, (line, css) in enumerate(route.lines):
        font = _CODE if css == "ink" else _SMALL
        shapes.append(Words(x + _PAD, base + _LINE * at, line, font, _OPERATION - 2 * _PAD, css))
    x += _OPERATION
    shapes.append(Words(x + _PAD, base, route.units, _SMALL, widths[-1] - 2 * _PAD, "muted"))
    return shapes


def _each(marks: _Marks) -> Iterator[tuple[str, str]]:
    for kind, names in (("read", marks.read), ("written", marks.written), ("following", marks.refreshes)):
        for name in names:
            yield name, kind


def _mark(kind: str, hue: int, x: float, y: float) -> Shape:
    if kind == "written":
        return Box(x - _MARK, y - _MARK, 2 * _MARK, 2 * _MARK, Tint("tone", hue), 1.5)
    return Dot(x, y, _MARK, Tint("tone", hue)) if kind == "read" else Dot(x, y, _MARK - 0.75, Tint("ring", hue))
