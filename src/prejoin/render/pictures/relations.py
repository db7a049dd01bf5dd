"""The picture of entities: a box for each with its attributes, a line from the one to the many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from prejoin.design.model import Design
from prejoin.render.pictures.drawing import Box, Drawing, Line, Shape, Words
from prejoin.render.pictures.layered import Arrow, Placed, place
from prejoin.render.pictures.links import RelationLink, links_of
from prejoin.render.pictures.measure import Font, width
from prejoin.render.pictures.palette import Tint, hue_of
from prejoin.workload.model import Attribute, Entity, Workload

_TITLE, _TEXT, _NAME = Font(18, bold=True), Font(12), Font(14, bold=True)
_FIELD, _ID, _TYPE = Font(12), Font(12, bold=True), Font(11)
_MARGIN, _PAD, _GAP, _BETWEEN = 24, 12, 36, 110
_TOP = 104
"""Where the boxes begin."""
_NARROWEST = 720
_HEAD, _ROW = 34, 20
_MOST_WIDE, _LEAST_WIDE = 320, 150


_LEGEND = (
    "What identifies an item is bold. A line goes from one (a bar) to many (a crow's foot), and ends at the",
    "attribute that says whose it is; it is dashed where that may be missing.",
)


@dataclass(frozen=True, slots=True)
class _Frame:
    entity: Entity
    x: float
    y: float
    width: float
    height: float
    hue: int

    @property
    def right(self) -> float:
        return self.x + self.width

    def row(self, via: tuple[str, ...]) -> float:
        """The middle of the row of the last of some attributes, or of the head."""
        names = [attribute.name for attribute in self.entity.attributes]
        if not via or via[-1] not in names:
            return self.y + _HEAD / 2
        return self.y + _HEAD + _ROW * (names.index(via[-1]) + 0.5) + 3


def draw_relations(workload: Workload, design: Design) -> Drawing:
    """The picture of a workload's entities; those that the design has, with its colours."""
    links = links_of(workload)
    placement = _place_entities(workload, links)
    frames, height = _frames(workload, placement)
    right = max((frame.right for frame in frames.values()), default=0)
    loop_room = 40 if any(link.is_loop for link in links) else 0
    drawing_width = max(right + _MARGIN + loop_room, _NARROWEST)
    title = f"{workload.title or design.table}: entities"
    shapes: list[Shape] = [Words(_MARGIN, 38, title, _TITLE, drawing_width - 2 * _MARGIN)]
    for at, line in enumerate(_LEGEND):
        shapes.append(Words(_MARGIN, 60 + 16 * at, line, _TEXT, drawing_width - 2 * _MARGIN, "muted"))
    lines = _Lines(workload, frames, placement)
    ports = lines.ports(links)
    for link in links:
        shapes += lines.draw_loop(link, ports[link]) if link.is_loop else lines.draw_edge(link, ports[link])
    for frame in frames.values():
        shapes += _entity(frame)
    return Drawing(title, _description(workload, links), drawing_width, height, tuple(shapes))


def _description(workload: Workload, links: Sequence[RelationLink]) -> str:
    names = ", ".join(entity.name for entity in workload.entities)
    link_texts = "; ".join(map(_link_text, links))
    return f"Entities: {names}." + (f" {link_texts[0].upper()}{link_texts[1:]}." if link_texts else "")


def _link_text(link: RelationLink) -> str:
    """A link in words: `one User to many Order by userId`."""
    parents, children = "many" if link.mutual else "one", "many" if link.many else "one"
    via_words = f" by {', '.join(link.via)}" if link.via else ""
    return f"{parents} {link.parent} to {children} {link.child}{via_words}"


def _place_entities(workload: Workload, links: Sequence[RelationLink]) -> Placed:
    numbers = _numbers(workload)
    arrows = [Arrow(numbers[link.parent], numbers[link.child]) for link in links]
    return place([*map(_height, workload.entities)], arrows, _GAP)


def _numbers(workload: Workload) -> dict[str, int]:
    """The number of each entity, by which the layout knows it."""
    return {entity.name: number for number, entity in enumerate(workload.entities)}


def _height(entity: Entity) -> float:
    return _HEAD + _ROW * len(entity.attributes) + 8


def _wide(entity: Entity) -> float:
    widest = width(entity.name, _NAME) + 16 + width(_many(entity), _TYPE)
    for attribute in entity.attributes:
        name_width = width(attribute.name, _ID if attribute.id else _FIELD)
        widest = max(widest, name_width + 24 + width(_type_text(attribute), _TYPE))
    return min(max(_LEAST_WIDE, widest + 2 * _PAD), _MOST_WIDE)


def _frames(workload: Workload, placement: Placed) -> tuple[dict[str, _Frame], float]:
    widths = [_wide(entity) for entity in workload.entities]
    column_widths = [0.0] * (max(placement.columns, default=0) + 1)
    for column, entity_width in zip(placement.columns, widths, strict=True):
        column_widths[column] = max(column_widths[column], entity_width)
    lefts = [float(_MARGIN)]
    for column_width in column_widths:
        lefts.append(lefts[-1] + column_width + _BETWEEN)
    frames: dict[str, _Frame] = {}
    for number, entity in enumerate(workload.entities):
        x, y = lefts[placement.columns[number]], _TOP + placement.tops[number]
        frames[entity.name] = _Frame(entity, x, y, widths[number], _height(entity), hue_of(number))
    return frames, _TOP + placement.height + _MARGIN


def _many(entity: Entity) -> str:
    """The number of items, for the head.

    >>> from prejoin.workload.model import Cardinality
    >>> _many(Entity("Order", cardinality=(Cardinality(20, "User"), Cardinality(40_000_000))))
    '40M'
    """
    if entity.singleton:
        return "one"
    text = ""
    for cardinality in entity.cardinality:
        if cardinality.count and not cardinality.per:
            return _short(cardinality.count)
        if cardinality.count and not text:
            text = f"{_short(cardinality.count)} per {cardinality.per}"
    return text


def _short(count: float) -> str:
    """
    >>> _short(950), _short(1_500), _short(2_000_000)
    ('950', '1.5K', '2M')
    """
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "K")):
        if count >= size:
            return f"{count / size:.3g}{letter}"
    return str(count)


def _type_text(attribute: Attribute) -> str:
    words = ["enum" if attribute.type.values else str(attribute.type)]
    for word, is_set in (("unique", attribute.unique), ("ttl", attribute.ttl), ("optional", attribute.optional)):
        if is_set:
            words.append(word)
    if attribute.references:
        words.append(f"→ {attribute.references}")
    return ", ".join(words)


def _entity(frame: _Frame) -> list[Shape]:
    x, y, frame_width = frame.x, frame.y, frame.width
    count_text = _many(frame.entity)
    inner = frame_width - 2 * _PAD
    # The name comes first; how many there are has what is left, and a quarter at least.
    count_width = min(width(count_text, _TYPE), max(inner - 16 - width(frame.entity.name, _NAME), inner / 4))
    room = inner - (count_width + 16 if count_text else 0)
    shapes: list[Shape] = [
        Box(x, y, frame_width, frame.height, "box", 6),
        Box(x, y, frame_width, _HEAD, Tint("ground", frame.hue), 6),
        Box(x, y + _HEAD - 3, frame_width, 3, Tint("tone", frame.hue)),
        Words(x + _PAD, y + 21, frame.entity.name, _NAME, room),
    ]
    if count_text:
        shapes.append(Words(x + frame_width - _PAD, y + 21, count_text, _TYPE, count_width, "muted", "end"))
    row = y + _HEAD + 3
    for attribute in frame.entity.attributes:
        font = _ID if attribute.id else _FIELD
        type_text = _type_text(attribute)
        name_width = min(width(attribute.name, font), inner - min(width(type_text, _TYPE) + 12, inner / 2))
        shapes.append(Words(x + _PAD, row + 14, attribute.name, font, name_width))
        shapes.append(Words(x + frame_width - _PAD, row + 14, type_text, _TYPE, inner - name_width - 8, "muted", "end"))
        row += _ROW
    return shapes


# --- Lines ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines between boxes that are placed."""

    workload: Workload
    frames: dict[str, _Frame]
    placement: Placed

    def _passes(self, link: RelationLink) -> tuple[tuple[int, float], ...]:
        """The columns that a link passes, with its heights there."""
        numbers = _numbers(self.workload)
        return self.placement.passes.get(Arrow(numbers[link.parent], numbers[link.child]), ())

    def ports(self, links: Sequence[RelationLink]) -> dict[RelationLink, float]:
        """The height at which each link leaves its parent, in the order of its destinations."""
        ports: dict[RelationLink, float] = {}
        for name, frame in self.frames.items():
            leaving = [link for link in links if link.parent == name and not link.is_loop]
            leaving.sort(key=self._destination)
            top = frame.y + _HEAD
            for link in links:
                if link.parent == name and link.is_loop:
                    ports[link] = frame.y + _HEAD / 2
                    # The other links leave below the row at which a loop ends.
                    top = max(top, frame.row(link.via) + 6)
            top = min(top, frame.y + frame.height - 12)
            room = frame.y + frame.height - top
            for number, link in enumerate(leaving, 1):
                ports[link] = top + room * number / (len(leaving) + 1)
        return ports

    def _destination(self, link: RelationLink) -> tuple[float, float]:
        """The height at which a link passes the next column, and that at which it ends."""
        passes = self._passes(link)
        row = self.frames[link.child].row(link.via)
        return (_TOP + passes[0][1] if passes else row), row

    def draw_loop(self, link: RelationLink, leaves: float) -> list[Shape]:
        """The line of a link from an entity to itself, to the right of its box."""
        frame = self.frames[link.parent]
        x, arrives = frame.right, frame.row(link.via)
        bend_height = leaves
        if arrives == leaves:
            # Both ends are at the head: there is no row for the attribute. The line needs some height.
            arrives, bend_height = leaves + 40, leaves - 10
        path = f"M{x:g} {leaves:g}C{x + 44:g} {bend_height:g} {x + 44:g} {arrives:g} {x:g} {arrives:g}"
        return [Line(path, "edge", 1.5, link.optional), *_ends(link, x, leaves, 1, x, arrives, 1)]

    def draw_edge(self, link: RelationLink, leaves: float) -> list[Shape]:
        """The line of a link between two boxes: curves between columns, straight where it passes one."""
        parent, child = self.frames[link.parent], self.frames[link.child]
        arrives = child.row(link.via)
        # Each end is on the side of its box that looks to the other; `out` and `back` are the directions there.
        if parent.x == child.x:
            start, end, out, back = parent.right, child.right, 1, 1
        elif parent.x < child.x:
            start, end, out, back = parent.right, child.x, 1, -1
        else:
            start, end, out, back = parent.x, child.right, -1, 1
        points = [(start, leaves), *self._points_between(link, parent.x < child.x), (end, arrives)]
        path = f"M{start:g} {leaves:g}"
        for number, ((ax, ay), (bx, by)) in enumerate(pairwise(points)):
            # The points come in pairs, the two sides of a column: every second piece passes one.
            if number % 2:
                path += f"L{bx:g} {by:g}"
            else:
                bend = max(abs(bx - ax) / 2, 36)
                path += f"C{ax + out * bend:g} {ay:g} {bx + back * bend:g} {by:g} {bx:g} {by:g}"
        return [Line(path, "edge", 1.5, link.optional), *_ends(link, start, leaves, out, end, arrives, back)]

    def _points_between(self, link: RelationLink, is_forward: bool) -> Iterator[tuple[float, float]]:
        """Where a link enters and leaves each column that it passes."""
        for column, height in self._passes(link):
            left, right = self._sides(column)
            y = _TOP + height
            yield from [(left, y), (right, y)] if is_forward else [(right, y), (left, y)]

    def _sides(self, column: int) -> tuple[float, float]:
        """The left and right end of the boxes in a column."""
        # The placement has the entities in the order of the frames.
        pairs = zip(self.frames.values(), self.placement.columns, strict=True)
        frames = [frame for frame, column_of_frame in pairs if column_of_frame == column]
        return min(frame.x for frame in frames), max(frame.right for frame in frames)


def _ends(link: RelationLink, x: float, y: float, out: int, end: float, at: float, back: int) -> list[Shape]:
    """A bar at the one, a crow's foot at the many."""
    shapes: list[Shape] = []
    for place_, height, side, is_many in ((x, y, out, link.mutual), (end, at, back, link.many)):
        tip = place_ + 11 * side
        foot = f"M{tip:g} {height:g}L{place_:g} {height - 5:g}M{tip:g} {height:g}L{place_:g} {height + 5:g}"
        bar = f"M{place_ + 7 * side:g} {height - 5:g}V{height + 5:g}"
        shapes.append(Line(foot if is_many else bar, "edge", 1.5))
    return shapes
