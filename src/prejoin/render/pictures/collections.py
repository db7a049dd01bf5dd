"""The picture of item collections: a band for each partition, a row for each item, coloured by entity.

The table and each index is a picture of its own, `draw_slot`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from prejoin.design.model import TABLE, Design, KeyAttribute, Operation, Projection, ProjectionKind, Slot
from prejoin.render.pictures.drawing import Box, Drawing, Line, Shape, Words, legend
from prejoin.render.pictures.measure import Font, width, wrap_lines
from prejoin.render.pictures.palette import Tint, hue_of
from prejoin.render.pictures.rows import Partition, Row, partitions_of
from prejoin.workload.model import Workload

_TITLE, _TEXT, _HEAD, _NAME = Font(18, bold=True), Font(12), Font(12, bold=True), Font(12, bold=True)
_KEY, _TEMPLATE = Font(12, mono=True), Font(10, mono=True)
_FIELD, _VALUE = Font(10), Font(11, mono=True)
_MARGIN, _PAD = 24, 10
_LINE, _SMALL = 16, 14
_CELL = 32
"""The height of an attribute: its name above its value."""
_PK, _SK, _ITEM, _ATTRIBUTES = 325, 330, 150, 670
"""The largest width of a column."""
_WIDEST_CELL = 140
_MOST_TEMPLATES = 3
"""The most templates that are shown of a key; items of one partition may have several."""

Widths = Mapping[tuple[str, str, str], float]
"""How wide an attribute is, by entity, note and name."""


@dataclass(frozen=True, slots=True)
class _Columns:
    pk: float
    sk: float
    item: float
    attributes: float

    @property
    def total(self) -> float:
        return self.pk + self.sk + self.item + self.attributes


@dataclass(frozen=True, slots=True)
class _Keyed:
    """A key: its template, small, above its value."""

    templates: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def height(self) -> float:
        return _SMALL * len(self.templates) + _LINE * len(self.values)


def draw_slot(workload: Workload, design: Design, slot: Slot) -> Drawing:
    """The picture of the table or of an index."""
    hues = {entity.name: hue_of(at) for at, entity in enumerate(workload.entities)}
    partitions = partitions_of(workload, design, slot)
    rows: list[Row] = []
    for partition in partitions:
        rows += partition.rows
    cells = _cell_widths(rows)
    columns = _columns(slot, rows, cells)
    drawing_width = columns.total + 2 * _MARGIN
    title = _title(design, slot)
    shapes: list[Shape] = [Words(_MARGIN, 38, title, _TITLE, columns.total)]
    y = 60.0
    for line in wrap_lines(_subtitle(design, slot), _TEXT, columns.total, most=3):
        shapes.append(Words(_MARGIN, y, line, _TEXT, columns.total, "muted"))
        y += _LINE
    shown_entities = {row.entity for row in rows}
    legend_entries = [(name, hue) for name, hue in hues.items() if name in shown_entities]
    new_shapes, y = legend(legend_entries, _MARGIN, y, columns.total)
    shapes += new_shapes
    shapes += _headers(slot, columns, y)
    y += 28
    for partition in partitions:
        new_shapes, y = _partition(design, partition, columns, cells, hues, y)
        shapes += new_shapes
    if not rows:
        shapes.append(Words(_MARGIN, y + 24, "No item is here.", _TEXT, columns.total, "muted"))
        y += 40
    return Drawing(title, _description(slot, partitions), drawing_width, y + _MARGIN, tuple(shapes))


def _title(design: Design, slot: Slot) -> str:
    return f"{design.table}: the table" if slot.name == TABLE else f"{design.table}: index {slot.name}"


def _subtitle(design: Design, slot: Slot) -> str:
    if slot.name == TABLE:
        return "Sample items. What shares a partition is an item collection: one query reads it, in this order."
    readers = [operation.pattern for operation in design.operations if _is_reader(operation, slot)]
    readers_text = f"Read by {', '.join(readers)}. " if readers else ""
    return f"{readers_text}{_projection_text(slot.projection)} Sample items, in the order of the index."


def _is_reader(operation: Operation, slot: Slot) -> bool:
    return slot.name in {request.slot for request in operation.requests}


def _projection_text(projection: Projection) -> str:
    match projection.kind:
        case ProjectionKind.ALL:
            return "Holds whole items."
        case ProjectionKind.KEYS_ONLY:
            return "Holds keys only."
        case ProjectionKind.INCLUDE:
            return f"Holds keys and {', '.join(projection.attributes)}."
        case _:
            assert_never(projection.kind)


def _description(slot: Slot, partitions: Sequence[Partition]) -> str:
    """The text alternative: the items under each key."""
    texts: dict[str, None] = {}
    for partition in partitions:
        texts |= dict.fromkeys(map(_row_text, partition.rows))
    place_name = "the table" if slot.name == TABLE else f"the index {slot.name}"
    return f"Sample items of {place_name}: {'; '.join(texts)}." if texts else f"There is no item in {place_name}."


def _row_text(row: Row) -> str:
    """An item with its key in words: `Order (copy by-user) under USER#{userId}, sorted as {orderId}`."""
    note = f" ({row.note})" if row.note else ""
    order = f", sorted as {' and '.join(row.sk_templates)}" if row.sk_templates else ""
    return f"{row.entity}{note} under {' and '.join(row.pk_templates)}{order}"


# --- How wide -------------------------------------------------------------------------------------------------------


def _cell_widths(rows: Sequence[Row]) -> Widths:
    """The width of each attribute, the same in all rows of an item, so that they are aligned."""
    widths: dict[tuple[str, str, str], float] = {}
    for row in rows:
        for name, value in row.attributes:
            needed_width = max(width(name, _FIELD), width(value, _VALUE)) + 2 * _PAD
            key = (row.entity, row.note, name)
            widths[key] = min(max(widths.get(key, 64), needed_width), _WIDEST_CELL)
    return widths


def _columns(slot: Slot, rows: Sequence[Row], cells: Widths) -> _Columns:
    """The width of each column: that of its widest text, up to a limit."""
    pk = width(_head("Partition key", slot.pk), _HEAD)
    sk = width(_head("Sort key", slot.sk), _HEAD)
    item = width("Item", _HEAD)
    attributes = width("Attributes", _HEAD) + 2 * _PAD
    for row in rows:
        pk = max(pk, _key_width(row.pk_templates, row.pk))
        sk = max(sk, _key_width(row.sk_templates, row.sk))
        item = max(item, width(row.entity, _NAME), width(row.note, _FIELD))
        attributes = max(attributes, *map(sum, _flow(row, cells, _ATTRIBUTES)))
    return _Columns(
        min(pk + 2 * _PAD, _PK),
        min(sk + 2 * _PAD, _SK) if slot.sk else 0,
        min(item + 2 * _PAD, _ITEM) + 6,
        attributes,
    )


def _key_width(templates: Sequence[str], values: Sequence[str]) -> float:
    widths = [width(text, _TEMPLATE) for text in templates] + [width(text, _KEY) for text in values]
    return max(widths, default=0)


def _flow(row: Row, cells: Widths, room: float) -> list[list[float]]:
    """The attributes of a row, as widths on the lines that they take."""
    lines: list[list[float]] = [[]]
    for name, _ in row.attributes:
        cell_width = cells[row.entity, row.note, name]
        if lines[-1] and sum(lines[-1]) + cell_width > room:
            lines.append([])
        lines[-1].append(cell_width)
    return lines


# --- What is drawn --------------------------------------------------------------------------------------------------


def _head(words: str, attributes: Sequence[KeyAttribute]) -> str:
    names = ", ".join(attribute.name for attribute in attributes)
    return f"{words} · {names}" if names else words


def _headers(slot: Slot, columns: _Columns, y: float) -> list[Shape]:
    shapes: list[Shape] = [Box(_MARGIN, y, columns.total, 28, "band")]
    x: float = _MARGIN
    heads = [(_head("Partition key", slot.pk), columns.pk), (_head("Sort key", slot.sk), columns.sk)]
    for text, column_width in (*heads, ("Item", columns.item), ("Attributes", columns.attributes)):
        if column_width:
            shapes.append(Words(x + _PAD, y + 18, text, _HEAD, column_width - 2 * _PAD))
        x += column_width
    return shapes


def _partition(
    design: Design,
    partition: Partition,
    columns: _Columns,
    cells: Widths,
    hues: Mapping[str, int],
    y: float,
) -> tuple[list[Shape], float]:
    top = y
    shapes: list[Shape] = []
    templates = list(map(" , ".join, partition.templates))
    pk = _wrap_key(templates, partition.pk, columns.pk, design.separator)
    heights = [_row_height(design, row, columns, cells) for row in partition.rows]
    # A key of many lines is higher than few items: the last row takes the difference.
    missing_height = pk.height + 2 * _PAD - sum(heights)
    if missing_height > 0:
        heights[-1] += missing_height
    for row, height in zip(partition.rows, heights, strict=True):
        shapes += _row(design, row, columns, cells, hues.get(row.entity, 0), y, height)
        y += height
    full_key, full_template = " | ".join(partition.pk), " , ".join(dict.fromkeys(templates))
    shapes += _key(pk, full_key, full_template, _MARGIN + _PAD, top + _PAD, columns.pk - 2 * _PAD)
    right = _MARGIN + columns.total
    shapes.append(Line(f"M{_MARGIN:g} {y:g}H{right:g}", "line", 1.5))
    shapes.append(Line(f"M{_MARGIN:g} {top:g}V{y:g}M{right:g} {top:g}V{y:g}", "line"))
    return shapes, y


def _wrap_key(templates: Sequence[str], values: Sequence[str], column_width: float, separator: str) -> _Keyed:
    room = column_width - 2 * _PAD
    template_lines: list[str] = []
    # A key without attributes is its own template: it is not written twice.
    if list(templates) != list(values):
        for text in templates[:_MOST_TEMPLATES]:
            template_lines += wrap_lines(text, _TEMPLATE, room, separator, most=3)
    value_lines: list[str] = []
    for value in values:
        value_lines += wrap_lines(value, _KEY, room, separator)
    return _Keyed(tuple(template_lines), tuple(value_lines))


def _key(key_text: _Keyed, full_key: str, template: str, x: float, y: float, room: float) -> list[Shape]:
    shapes: list[Shape] = []
    for line in key_text.templates:
        shapes.append(Words(x, y + 10, line, _TEMPLATE, room, "muted", full_text=template))
        y += _SMALL
    for line in key_text.values:
        shapes.append(Words(x, y + 12, line, _KEY, room, full_text=full_key))
        y += _LINE
    return shapes


def _row_height(design: Design, row: Row, columns: _Columns, cells: Widths) -> float:
    sk = _wrap_key(row.sk_templates, row.sk, columns.sk, design.separator).height if columns.sk else 0
    label_height = _LINE + (_SMALL if row.note else 0)
    lines = len(_flow(row, cells, _ATTRIBUTES)) if row.attributes else 0
    return max(sk + 2 * _PAD, label_height + 2 * _PAD, _CELL * lines + _PAD, 44)


def _row(
    design: Design,
    row: Row,
    columns: _Columns,
    cells: Widths,
    hue: int,
    y: float,
    height: float,
) -> list[Shape]:
    left_edge = _MARGIN + columns.pk
    right = _MARGIN + columns.total
    shapes: list[Shape] = [
        Box(left_edge, y, right - left_edge, height, Tint("ground", hue)),
        Line(f"M{left_edge:g} {y:g}H{right:g}", "line"),
        Line(f"M{left_edge:g} {y:g}V{y + height:g}", "line"),
    ]
    if columns.sk:
        sk = _wrap_key(row.sk_templates, row.sk, columns.sk, design.separator)
        room = columns.sk - 2 * _PAD
        shapes += _key(sk, " | ".join(row.sk), " , ".join(row.sk_templates), left_edge + _PAD, y + _PAD, room)
    x = left_edge + columns.sk
    shapes.append(Box(x, y + 5, 4, height - 10, Tint("tone", hue), 2))
    room = columns.item - 2 * _PAD - 2
    shapes.append(Words(x + _PAD + 2, y + _PAD + 12, row.entity, _NAME, room, Tint("tone", hue)))
    if row.note:
        shapes.append(Words(x + _PAD + 2, y + _PAD + 12 + _SMALL, row.note, _FIELD, room))
    shapes += _attributes(row, cells, x + columns.item, y + 5)
    return shapes


def _attributes(row: Row, cells: Widths, left: float, y: float) -> Iterator[Shape]:
    """The attributes of a row, each name above its value, on the lines of `_flow`."""
    x = left
    for name, value in row.attributes:
        cell_width = cells[row.entity, row.note, name]
        if x > left and x + cell_width > left + _ATTRIBUTES:
            x, y = left, y + _CELL
        yield Words(x + _PAD, y + 12, name, _FIELD, cell_width - 2 * _PAD, "muted")
        yield Words(x + _PAD, y + 26, value, _VALUE, cell_width - 2 * _PAD)
        x += cell_width
