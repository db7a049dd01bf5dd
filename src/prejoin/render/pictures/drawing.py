"""Drawings as data: boxes, lines and texts with their widths; and their SVG.

The SVG is valid XML whatever the texts are, has a title and a description for those who cannot see it, no scripts and
nothing from elsewhere, and is the same for the same drawing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from prejoin.render.pictures.measure import Font, elide, width
from prejoin.render.pictures.palette import Tint, stylesheet

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    css: str | Tint
    radius: float = 0


@dataclass(frozen=True, slots=True)
class Line:
    """A path, in SVG syntax."""

    path: str
    css: str | Tint
    thick: float = 1
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    radius: float
    css: str | Tint


@dataclass(frozen=True, slots=True)
class Words:
    """A text on one line. A text that is too long is cut, and shown whole as a tooltip."""

    x: float
    """Where it begins; or ends, or its middle."""
    y: float
    """Its base line."""
    text: str
    font: Font
    room: float
    css: str | Tint = "ink"
    anchor: str = "start"
    full_text: str = ""
    """The whole text of which this is a line."""

    @property
    def visible_text(self) -> str:
        """The text, cut to its room."""
        return elide(self.text, self.font, self.room)


Shape = Box | Line | Dot | Words


@dataclass(frozen=True, slots=True)
class Drawing:
    title: str
    description: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def write_svg(drawing: Drawing) -> str:
    """The drawing as a file.

    >>> text = write_svg(Drawing("a < b", "", 10, 10, (Words(0, 8, "pk & sk", Font(8), 40),)))
    >>> "a &lt; b" in text, "pk &amp; sk" in text
    (True, True)
    """
    wide, high = _number(drawing.width), _number(drawing.height)
    fonts: set[Font] = set()
    hues: set[int] = set()
    for shape in drawing.shapes:
        if isinstance(shape, Words):
            fonts.add(shape.font)
        if isinstance(shape.css, Tint):
            hues.add(shape.css.hue)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        'role="img" aria-labelledby="title desc">'
    )
    lines = [
        head,
        f'<title id="title">{escape(drawing.title)}</title>',
        f'<desc id="desc">{escape(drawing.description)}</desc>',
        f"<style>\n{escape(stylesheet(fonts, hues))}\n</style>",
        f'<rect class="page" width="{wide}" height="{high}"/>',
        *map(_shape, drawing.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """A text escaped for XML; characters that XML does not allow are replaced."""
    return _NOT_XML.sub("\ufffd", text).translate(_ENTITIES)


def _shape(shape: Shape) -> str:
    match shape:
        case Box():
            round_ = f' rx="{_number(shape.radius)}"' if shape.radius else ""
            place = f'x="{_number(shape.x)}" y="{_number(shape.y)}"'
            return (
                f'<rect class="{shape.css}" {place} width="{_number(shape.width)}" height="{_number(shape.height)}"'
                f"{round_}/>"
            )
        case Line():
            dashes = ' stroke-dasharray="4 3"' if shape.dashed else ""
            thick = f' stroke-width="{_number(shape.thick)}"' if shape.thick != 1 else ""
            return f'<path class="{shape.css}" d="{shape.path}"{thick}{dashes}/>'
        case Dot():
            place = f'cx="{_number(shape.x)}" cy="{_number(shape.y)}"'
            return f'<circle class="{shape.css}" {place} r="{_number(shape.radius)}"/>'
        case Words():
            return _words(shape)
        case _:
            assert_never(shape)


def _words(words: Words) -> str:
    visible_text = words.visible_text
    full_text = words.full_text or words.text
    tooltip = f"<title>{escape(full_text)}</title>" if visible_text != full_text else ""
    if words.text.startswith(" "):
        # SVG drops spaces at the beginning of a text, and the indentation with them.
        visible_text = visible_text.replace(" ", "\N{NO-BREAK SPACE}")
    anchor = f' text-anchor="{words.anchor}"' if words.anchor != "start" else ""
    css = f"{words.font.css} {words.css}"
    place = f'x="{_number(words.x)}" y="{_number(words.y)}"{anchor}'
    return f'<text class="{css}" {place}>{tooltip}{escape(visible_text)}</text>'


def _number(value: float) -> str:
    """
    >>> _number(12.0), _number(0.333333)
    ('12', '0.33')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def legend(names: Sequence[tuple[str, int]], x: float, y: float, room: float) -> tuple[list[Shape], float]:
    """The legend of entities and colours, and where it ends."""
    font = Font(12)
    shapes: list[Shape] = []
    at = x
    for name, hue in names:
        text = elide(name, font, 220)
        entry_width = 18 + width(text, font) + 18
        if at + entry_width > x + room and at > x:
            at, y = x, y + 20
        shapes.append(Box(at, y, 12, 12, Tint("tone", hue), 3))
        shapes.append(Words(at + 18, y + 10.5, name, font, min(220, width(name, font))))
        at += entry_width
    return shapes, y + 20
