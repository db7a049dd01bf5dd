"""The picture of entities: a box for each with its attributes, a line from the one to the many."""

from __future__ import annotations

from collections.abc import Sequence
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

    def row(self, via: tuple[str, ...]) -> float:
        """The middle of the row of the last of some attributes, or of the head."""
        names = [attribute.name for attribute in self.entity.attributes]
        name = via[-1] if via else ""
        return self.y + _HEAD + _ROW * (names.index(name) + 0.5) + 3 if name in names else self.y + _HEAD / 2


def draw_relations(workload: Workload, design: Design) -> Drawing:
    """The picture of a workload's entities; those that the design has, with its colours."""
    links = links_of(workload)
    placement = _place_entities(workload, links)
    frames, height = _frames(workload, placement)
    right = max((frame.x + frame.width for frame in frames.values()), default=0)
    loops = any(link.parent == link.child for link in links)
    drawing_width = max(right + _MARGIN + (40 if loops else 0), _NARROWEST)
    title = f"{workload.title or design.table}: entities"
    shapes: list[Shape] = [Words(_MARGIN, 38, title, _TITLE, drawing_width - 2 * _MARGIN)]
    for at, line in enumerate(_LEGEND):
        shapes.append(Words(_MARGIN, 60 + 16 * at, line, _TEXT, drawing_width - 2 * _MARGIN, "muted"))
    ends = _ports(workload, links, frames, placement)
    for link in links:
        shapes += _edge(link, frames, placement, ends[link], workload)
    for frame in frames.values():
        shapes += _entity(frame)
    return Drawing(title, _description(workload, links), drawing_width, height, tuple(shapes))


def _description(workload: Workload, links: Sequence[RelationLink]) -> str:
    names = ", ".join(entity.name for entity in workload.entities)
    link_texts = "; ".join(
        f"{'many' if link.mutual else 'one'} {link.parent} to {'many' if link.many else 'one'} {link.child}"
        + (f" by {', '.join(link.via)}" if link.via else "")
        for link in links
    )
    return f"Entities: {names}." + (f" {link_texts[0].upper()}{link_texts[1:]}." if link_texts else "")


def _place_entities(workload: Workload, links: Sequence[RelationLink]) -> Placed:
    heights = [_height(entity) for entity in workload.entities]
    return place(heights, [_arrow(workload, link) for link in links], _GAP)


def _height(entity: Entity) -> float:
    return _HEAD + _ROW * len(entity.attributes) + 8


def _wide(entity: Entity) -> float:
    rows = [
        width(attribute.name, _ID if attribute.id else _FIELD) + 24 + width(_type_text(attribute), _TYPE)
        for attribute in entity.attributes
    ]
    head = width(entity.name, _NAME) + 16 + width(_many(entity), _TYPE)
    return min(max(_LEAST_WIDE, head + 2 * _PAD, *(row + 2 * _PAD for row in rows), 0), _MOST_WIDE)


def _frames(workload: Workload, placement: Placed) -> tuple[dict[str, _Frame], float]:
    widths = [_wide(entity) for entity in workload.entities]
    columns = max(placement.columns, default=0) + 1
    lefts = [float(_MARGIN)]
    for column in range(columns):
        widest = max(
            (
                entity_width
                for entity_width, entity_column in zip(widths, placement.columns, strict=True)
                if entity_column == column
            ),
            default=0,
        )
        lefts.append(lefts[-1] + widest + _BETWEEN)
    frames = {
        entity.name: _Frame(
            entity, lefts[placement.columns[at]], _TOP + placement.tops[at], widths[at], _height(entity), hue_of(at)
        )
        for at, entity in enumerate(workload.entities)
    }
    return frames, _TOP + placement.height + _MARGIN


def _many(entity: Entity) -> str:
    """The number of items, for the head.

    >>> from prejoin.workload.model import Cardinality
    >>> _many(Entity("Order", cardinality=(Cardinality(20, "User"), Cardinality(40_000_000))))
    '40M'
    """
    if entity.singleton:
        return "one"
    total = next(
        (cardinality.count for cardinality in entity.cardinality if not cardinality.per and cardinality.count), None
    )
    if total is None:
        per = next((cardinality for cardinality in entity.cardinality if cardinality.per and cardinality.count), None)
        return f"{_short(per.count)} per {per.per}" if per and per.count else ""
    return _short(total)


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
    flags = [
        "enum" if attribute.type.values else str(attribute.type),
        *(["unique"] if attribute.unique else []),
        *(["ttl"] if attribute.ttl else []),
        *(["optional"] if attribute.optional else []),
        *([f"→ {attribute.references}"] if attribute.references else []),
    ]
    return ", ".join(flags)


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


def _ports(
    workload: Workload, links: Sequence[RelationLink], frames: dict[str, _Frame], placement: Placed
) -> dict[RelationLink, float]:
    """The height at which each link leaves its parent, in the order of its destinations."""

    def towards(link: RelationLink) -> float:
        between = placement.passes.get(_arrow(workload, link), ())
        return _TOP + between[0][1] if between else frames[link.child].row(link.via)

    ports: dict[RelationLink, float] = {}
    for name, frame in frames.items():
        leaving = [link for link in links if link.parent == name and link.child != name]
        leaving.sort(key=lambda link: (towards(link), frames[link.child].row(link.via)))
        loops = [frame.row(link.via) for link in links if link.parent == link.child == name]
        top = min(max([frame.y + _HEAD, *(row + 6 for row in loops)]), frame.y + frame.height - 12)
        room = frame.y + frame.height - top
        for at, link in enumerate(leaving):
            ports[link] = top + room * (at + 1) / (len(leaving) + 1)
    ports |= {link: frames[link.parent].y + _HEAD / 2 for link in links if link.parent == link.child}
    return ports


def _arrow(workload: Workload, link: RelationLink) -> Arrow:
    numbers = {entity.name: at for at, entity in enumerate(workload.entities)}
    return Arrow(numbers[link.parent], numbers[link.child])


def _edge(
    link: RelationLink, frames: dict[str, _Frame], placement: Placed, leaves: float, workload: Workload
) -> list[Shape]:
    parent, child = frames[link.parent], frames[link.child]
    arrives = child.row(link.via)
    if link.parent == link.child:
        x = parent.x + parent.width
        path = f"M{x:g} {leaves:g}C{x + 44:g} {leaves:g} {x + 44:g} {arrives:g} {x:g} {arrives:g}"
        if arrives == leaves:
            arrives = leaves + 40
            path = f"M{x:g} {leaves:g}C{x + 44:g} {leaves - 10:g} {x + 44:g} {arrives:g} {x:g} {arrives:g}"
        return [Line(path, "edge", 1.5, link.optional), *_ends(link, x, leaves, 1, x, arrives, 1)]
    forward = parent.x < child.x
    start = parent.x + parent.width if forward else parent.x
    end = child.x if forward else child.x + child.width
    out, back = (1, -1) if forward else (-1, 1)
    if parent.x == child.x:
        start, end, out, back = parent.x + parent.width, child.x + child.width, 1, 1
    numbers = {entity.name: at for at, entity in enumerate(workload.entities)}
    between = placement.passes.get(_arrow(workload, link), ())
    points: list[tuple[float, float]] = [(start, leaves)]
    for column, height in between:
        inside = [frame for frame in frames.values() if placement.columns[numbers[frame.entity.name]] == column]
        left, right = min(frame.x for frame in inside), max(frame.x + frame.width for frame in inside)
        at = _TOP + height
        points += [(left, at), (right, at)] if forward else [(right, at), (left, at)]
    points.append((end, arrives))
    path = f"M{start:g} {leaves:g}"
    for number, ((ax, ay), (bx, by)) in enumerate(pairwise(points)):
        if number % 2:
            path += f"L{bx:g} {by:g}"
            continue
        bend = max(abs(bx - ax) / 2, 36)
        path += f"C{ax + out * bend:g} {ay:g} {bx + back * bend:g} {by:g} {bx:g} {by:g}"
    return [Line(path, "edge", 1.5, link.optional), *_ends(link, start, leaves, out, end, arrives, back)]


def _ends(link: RelationLink, x: float, y: float, out: int, end: float, at: float, back: int) -> list[Shape]:
    """A bar at the one, a crow's foot at the many."""
    shapes: list[Shape] = []
    for place_, height, side, is_many in ((x, y, out, link.mutual), (end, at, back, link.many)):
        tip = place_ + 11 * side
        foot = f"M{tip:g} {height:g}L{place_:g} {height - 5:g}M{tip:g} {height:g}L{place_:g} {height + 5:g}"
        bar = f"M{place_ + 7 * side:g} {height - 5:g}V{height + 5:g}"
        shapes.append(Line(foot if is_many else bar, "edge", 1.5))
    return shapes
