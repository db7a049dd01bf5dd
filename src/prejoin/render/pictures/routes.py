"""The picture of access patterns: a row for each, a column for the table and each index, marks coloured by entity.

A read has a dot where it reads. A write has a square where it writes, and a ring in each index that follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from prejoin.design.model import TABLE, Call, Design, Did, ItemName, Operation, Request
from prejoin.render.pattern_outcome import OUT_OF_SCOPE, operation_of
from prejoin.render.pictures.drawing import Box, Dot, Drawing, Line, Shape, Words, legend
from prejoin.render.pictures.measure import Font, width, wrap_lines
from prejoin.render.pictures.palette import Tint, hue_of
from prejoin.workload.model import Pattern, Workload

_TITLE, _TEXT, _HEAD, _ID = Font(18, bold=True), Font(12), Font(12, bold=True), Font(12, bold=True)
_SMALL, _CODE = Font(11), Font(11, mono=True)
_MARGIN, _PAD, _LINE = 24, 10, 16
_DESCRIPTION, _OPERATION = 300, 520
_HEAD_HEIGHT = 28
_MARK, _STEP = 5, 14
"""The radius of a mark, and the distance between two."""
_MULTIPLE_CALLS = frozenset({Call.TRANSACT_WRITE, Call.BATCH_WRITE})
_MARKS_LEGEND = (
    "A dot: it is read there.  A square: it is written there.  A ring: the entry in the index follows by itself."
)


@dataclass(frozen=True, slots=True)
class _Marks:
    """The entities that a pattern reads and writes in a slot."""

    read: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    refreshes: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        return _STEP * (len(self.read) + len(self.writes) + len(self.refreshes))


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


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns: the id, the description, each slot, the requests, and the units of a call."""

    heads: tuple[str, ...]
    widths: tuple[float, ...]
    slots: tuple[str, ...]

    @property
    def total(self) -> float:
        return sum(self.widths)


def draw_routes(workload: Workload, design: Design) -> Drawing:
    """The picture of all patterns."""
    hues = {entity.name: hue_of(at) for at, entity in enumerate(workload.entities)}
    groups: dict[str, list[_Route]] = {}
    routes: list[_Route] = []
    for name, patterns in (("Reads", workload.reads), ("Writes", workload.writes), ("Deletes", workload.deletes)):
        groups[name] = [_route(workload, design, pattern) for pattern in patterns]
        routes += groups[name]
    columns = _columns(design, routes)
    title = f"{workload.title or design.table}: access patterns"
    shapes: list[Shape] = [Words(_MARGIN, 38, title, _TITLE, columns.total)]
    served_count = sum(operation.served for operation in design.operations)
    served_text = f"{served_count} of {len(design.operations)} are served."
    shapes.append(Words(_MARGIN, 60, f"{served_text}  {_MARKS_LEGEND}", _TEXT, columns.total, "muted"))
    legend_shapes, y = legend(list(hues.items()), _MARGIN, 74, columns.total)
    shapes += [*legend_shapes, *_header(columns, y)]
    y += _HEAD_HEIGHT
    for name, group in groups.items():
        if not group:
            continue
        shapes.append(Words(_MARGIN + _PAD, y + 20, name, _HEAD, columns.total - 2 * _PAD, "muted"))
        y += _HEAD_HEIGHT
        for route in group:
            shapes += _row(route, columns, hues, y)
            y += route.height
    shapes.append(Line(f"M{_MARGIN} {y:g}H{_MARGIN + columns.total:g}", "line"))
    return Drawing(title, _description(routes), columns.total + 2 * _MARGIN, y + _MARGIN, tuple(shapes))


def _columns(design: Design, routes: Sequence[_Route]) -> _Columns:
    ids = [width(route.pattern.id, _ID) for route in routes]
    units = [width(route.units, _SMALL) for route in routes]
    heads, widths = ["ID", "Asks for"], [min(max(ids, default=40), 140) + 2 * _PAD, _DESCRIPTION]
    for slot in design.slots:
        head = "the table" if slot.name == TABLE else slot.name
        marks = [route.marks[slot.name].width for route in routes]
        heads.append(head)
        widths.append(min(max(width(head, _HEAD), *marks, 0), 190) + 2 * _PAD)
    heads += ["Is sent as", "Units"]
    widths += [_OPERATION, max(width("Units", _HEAD), *units, 0) + 2 * _PAD]
    return _Columns(tuple(heads), tuple(widths), tuple(slot.name for slot in design.slots))


def _header(columns: _Columns, y: float) -> Iterator[Shape]:
    yield Box(_MARGIN, y, columns.total, _HEAD_HEIGHT, "band")
    x: float = _MARGIN
    for head, column_width in zip(columns.heads, columns.widths, strict=True):
        yield Words(x + _PAD, y + 18, head, _HEAD, column_width - 2 * _PAD)
        x += column_width


def _description(routes: Sequence[_Route]) -> str:
    """The text alternative: the requests of each pattern."""
    route_texts: list[str] = []
    for route in routes:
        lines = [text.strip() for text, _ in route.lines]
        route_texts.append(f"{route.pattern.id}: {'; '.join(lines)}")
    return f"The requests of each access pattern. {'. '.join(route_texts)}."


# --- What is told ---------------------------------------------------------------------------------------------------


def _route(workload: Workload, design: Design, pattern: Pattern) -> _Route:
    operation = operation_of(workload, design, pattern)
    room = _OPERATION - 2 * _PAD
    lines: list[tuple[str, str]] = []
    if operation.problem == OUT_OF_SCOPE:
        lines.append((OUT_OF_SCOPE, "muted"))
    elif operation.problem:
        lines += [(line, "bad") for line in wrap_lines(f"not served: {operation.problem}", _SMALL, room, most=3)]
    for request in operation.requests:
        for text in _request_lines(request):
            lines += [(line, "ink") for line in wrap_lines(text, _CODE, room, design.separator, most=2)]
    description_lines = wrap_lines(pattern.description or pattern.name, _TEXT, _DESCRIPTION - 2 * _PAD, most=3)
    marks = {slot.name: _marks(design, operation, slot.name) for slot in design.slots}
    return _Route(pattern, marks, tuple(lines), description_lines, _units_text(operation))


def _units_text(operation: Operation) -> str:
    """The units of a call: `0.5 R + 2 W`."""
    units = operation.units
    counts = [(units.read, "R"), (units.write, "W")] if units and operation.served else []
    return " + ".join(f"{number:g} {letter}" for number, letter in counts if number)


def _request_lines(request: Request) -> Iterator[str]:
    """The request in words: one line, or one for each item of a transaction."""
    if request.actions:
        is_multiple = request.call in _MULTIPLE_CALLS
        if is_multiple:
            yield request.call.value
        for action in request.actions:
            lead = f"  {action.action.value}" if is_multiple else request.call.value
            yield f"{lead} {action.item}{'[]' * action.many}"
        return
    index_suffix = "" if request.slot == TABLE else f" {request.slot}"
    key = " · ".join(filter(None, (request.pk, str(request.sk or ""))))
    repetitions = [f"{request.shards} shards"] if request.shards > 1 else []
    repetitions += [f"each {name}" for name in (request.bucket, request.each) if name]
    yield f"{request.call.value}{index_suffix} {key}" + (f" ({', '.join(repetitions)})" if repetitions else "")


def _marks(design: Design, operation: Operation, slot: str) -> _Marks:
    read_entities: dict[str, None] = {}
    written_entities: dict[str, None] = {}
    following_entities: dict[str, None] = {}
    for request in operation.requests:
        if not request.actions and request.slot == slot:
            read_entities |= dict.fromkeys(request.entities)
        for action in request.actions:
            if action.action is Did.CHECK:
                if slot == TABLE:
                    read_entities[action.item.entity] = None
            elif slot == TABLE:
                written_entities[action.item.entity] = None
            elif _is_in_index(design, action.item, slot):
                following_entities[action.item.entity] = None
    return _Marks(tuple(read_entities), tuple(written_entities), tuple(following_entities))


def _is_in_index(design: Design, name: ItemName, slot: str) -> bool:
    """Whether DynamoDB writes an item to an index, too. Items of constructs are in the table only."""
    item = None if name.apart else design.item(name.entity, name.copy)
    return item is not None and item.facet(slot) is not None


# --- What is drawn --------------------------------------------------------------------------------------------------


def _row(route: _Route, columns: _Columns, hues: Mapping[str, int], y: float) -> list[Shape]:
    widths = columns.widths
    shapes: list[Shape] = [Line(f"M{_MARGIN} {y:g}H{_MARGIN + columns.total:g}", "line")]
    base = y + _PAD + 11
    x: float = _MARGIN
    shapes.append(Words(x + _PAD, base, route.pattern.id, _ID, widths[0] - 2 * _PAD))
    x += widths[0]
    full_description = route.pattern.description or route.pattern.name
    for at, line in enumerate(route.description):
        shapes.append(Words(x + _PAD, base + _LINE * at, line, _TEXT, widths[1] - 2 * _PAD, full_text=full_description))
    x += widths[1]
    for slot, column_width in zip(columns.slots, widths[2:], strict=False):
        mark_limit = int((column_width - 2 * _PAD + 1) // _STEP)
        for at, (entity, kind) in enumerate(islice(_entities(route.marks[slot]), mark_limit)):
            shapes.append(_mark(kind, hues.get(entity, 0), x + _PAD + _MARK + _STEP * at, base - 4))
        x += column_width
    for at, (line, css) in enumerate(route.lines):
        font = _CODE if css == "ink" else _SMALL
        shapes.append(Words(x + _PAD, base + _LINE * at, line, font, _OPERATION - 2 * _PAD, css))
    x += _OPERATION
    shapes.append(Words(x + _PAD, base, route.units, _SMALL, widths[-1] - 2 * _PAD, "muted"))
    return shapes


def _entities(marks: _Marks) -> Iterator[tuple[str, str]]:
    """The entities of marks, each with the kind of its mark."""
    for kind, names in (("read", marks.read), ("written", marks.writes), ("following", marks.refreshes)):
        for name in names:
            yield name, kind


def _mark(kind: str, hue: int, x: float, y: float) -> Shape:
    if kind == "written":
        return Box(x - _MARK, y - _MARK, 2 * _MARK, 2 * _MARK, Tint("tone", hue), 1.5)
    if kind == "read":
        return Dot(x, y, _MARK, Tint("tone", hue))
    # Half of a ring's line is outside of its radius.
    return Dot(x, y, _MARK - 0.75, Tint("ring", hue))
