"""The width of a text without a font: a table of widths of the widest font that a viewer may use.

An SVG names fonts and the viewer has others. So texts are measured as DejaVu would set them, which is wider than
Helvetica, Arial or Segoe: what fits here fits everywhere.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

ELLIPSIS = "…"
_FIRST = 32
# Hundredths of the size, for the characters from the space to the tilde.
_PLAIN = (
    32, 41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 54, 100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, 61, 79, 70, 64, 62, 74, 69, 99, 69, 62,
    69, 40, 34, 40, 84, 50, 50, 62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, 64, 64, 42, 53, 40, 64, 60,
    82, 60, 60, 53, 64, 34, 64, 84,
)  # fmt: skip
_BOLD = (
    35, 46, 53, 84, 70, 101, 88, 31, 46, 46, 53, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40, 84,
    84, 84, 59, 100, 78, 77, 74, 84, 69, 69, 83, 84, 38, 38, 78, 64, 100, 84, 86, 74, 86, 78, 73, 69, 82, 78, 111, 78,
    73, 73, 46, 37, 46, 84, 50, 50, 68, 72, 60, 72, 68, 44, 72, 72, 35, 35, 67, 35, 105, 72, 69, 72, 72, 50, 60, 48, 72,
    66, 93, 65, 66, 59, 72, 37, 72, 84,
)  # fmt: skip
_MONO = 61
_OTHER = {"Ll": 72, "Lu": 92, "Lo": 80, "Nd": 72, "Zs": 40, "Mn": 0, "Me": 0, "Cf": 0}
_OTHER_WIDTH = 105
_WIDE, _EMOJI = 104, 140
"""East Asian characters are square; the emoji among them are set wider by some."""
_SLACK = 0.01
"""Tolerance for rounding errors of widths."""


@dataclass(frozen=True, slots=True)
class Font:
    size: int
    bold: bool = False
    mono: bool = False

    @property
    def css(self) -> str:
        """The class that sets it.

        >>> Font(12).css, Font(12, bold=True).css, Font(11, mono=True).css
        ('s12', 'b12', 'm11')
        """
        return f"{'m' if self.mono else 'b' if self.bold else 's'}{self.size}"


def width(text: str, font: Font) -> float:
    """The largest width of a text in pixels.

    >>> width("pk", Font(10)), width("pk", Font(10, mono=True)), width("注文", Font(10))
    (12.2, 12.2, 20.8)
    """
    return sum(_hundredths(char, font) for char in text) * font.size / 100


def _hundredths(char: str, font: Font) -> int:
    at = ord(char) - _FIRST
    if 0 <= at < len(_PLAIN):
        if font.mono:
            return _MONO
        return _BOLD[at] if font.bold else _PLAIN[at]
    if char == ELLIPSIS:
        return 100
    if unicodedata.east_asian_width(char) in "WF":
        return _EMOJI if unicodedata.category(char) == "So" else _WIDE
    return _OTHER.get(unicodedata.category(char), _OTHER_WIDTH) + 8 * font.bold


def elide(text: str, font: Font, room: float) -> str:
    """The text, cut to a width.

    >>> elide("userId", Font(10), 100), elide("organisationId", Font(10), 60)
    ('userId', 'organisat…')
    """
    if width(text, font) <= room + _SLACK:
        return text
    room_left = room - width(ELLIPSIS, font)
    end = 0
    for char in text:
        room_left -= width(char, font)
        if room_left < -_SLACK:
            break
        end += 1
    if end:
        return text[:end].rstrip() + ELLIPSIS
    return ELLIPSIS if room >= width(ELLIPSIS, font) else ""


def wrap_lines(text: str, font: Font, room: float, after: str = "", most: int = 4) -> tuple[str, ...]:
    """The text in lines of a width, broken after separators of keys and spaces.

    >>> wrap_lines("ORDER#2026-01-15#7", Font(10, mono=True), 75, "#")
    ('ORDER#', '2026-01-15#7')
    >>> wrap_lines("ABCDEFGHIJ", Font(10, mono=True), 25, "#", most=2)
    ('ABCD', 'EF…')
    """
    lines: list[str] = []
    while text and len(lines) < most:
        if width(text, font) <= room + _SLACK:
            return (*lines, text)
        if len(lines) == most - 1:
            return (*lines, elide(text, font, room))
        end = 1
        while end < len(text) and width(text[: end + 1], font) <= room:
            end += 1
        end = _last_break(text, end, after) or end
        lines.append(text[:end].rstrip(" "))
        text = text[end:].lstrip(" ")
    return tuple(lines)


def _last_break(text: str, end: int, after: str) -> int:
    """The end of the last separator or space of a text, up to a place; 0 if there is none after its beginning."""
    last = 0
    for mark in (after, " "):
        start = text.rfind(mark, 0, end) if mark else 0
        # A separator may begin before the end of the line and go on after it.
        if start > 0 and start + len(mark) <= end:
            last = max(last, start + len(mark))
    return last
