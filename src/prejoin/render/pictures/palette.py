"""Colours: one for each entity, for a light and a dark page; and the classes that SVG files use them by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from prejoin.render.pictures.measure import Font


@dataclass(frozen=True, slots=True)
class Hue:
    """A pale background and a strong colour, for a light and for a dark page."""

    ground: str
    tone: str
    dark_ground: str
    dark_tone: str


@dataclass(frozen=True, slots=True)
class Tint:
    """A colour of an entity in a drawing: its hue, as a background, as the strong colour, or as a ring.

    >>> print(Tint("ground", 3), Tint("ring", 0))
    g3 r0 ring
    """

    use: Literal["ground", "tone", "ring"]
    hue: int

    def __str__(self) -> str:
        """The classes of the stylesheet."""
        return f"{self.use[0]}{self.hue}{' ring' if self.use == 'ring' else ''}"


# Grounds keep text at a contrast of 7:1 and more, tones of 4.5:1 against the page: the tests compute both.
HUES = (
    Hue("#dbeafe", "#1d4ed8", "#1b2b4b", "#93b8ff"),
    Hue("#dcf5e3", "#15703a", "#143524", "#7ddc9f"),
    Hue("#fdecc8", "#8a5300", "#3c2c0c", "#f2c25b"),
    Hue("#f3e1fb", "#8327a8", "#37204a", "#d9a3f5"),
    Hue("#fde0dd", "#b3261e", "#472020", "#ffa49b"),
    Hue("#d3f3f5", "#0b6c76", "#0f353a", "#6fd8e2"),
    Hue("#ece9c6", "#5f5a00", "#33310f", "#d6cf62"),
    Hue("#fbdfec", "#ab1d66", "#451d33", "#ff9ccb"),
    Hue("#e2e3fb", "#4a3fc4", "#292a52", "#b3aeff"),
    Hue("#e3efd0", "#45690f", "#28360f", "#b2da6b"),
    Hue("#f3e3d6", "#86461a", "#3d2919", "#eeb287"),
    Hue("#dfe7ec", "#3c596b", "#243038", "#a9c6d8"),
)

PAGE, DARK_PAGE = "#ffffff", "#0d1117"
INK, DARK_INK = "#1a1f26", "#e6edf3"
MUTED, DARK_MUTED = "#57606a", "#9aa5b1"
LINE, DARK_LINE = "#c9d1d9", "#3a424d"
BAND, DARK_BAND = "#f3f5f7", "#171d25"
BAD, DARK_BAD = "#b3261e", "#ffa49b"

_SANS = "'Helvetica Neue',Helvetica,Arial,'Liberation Sans','DejaVu Sans',sans-serif"
_MONOSPACE = "ui-monospace,SFMono-Regular,Menlo,'Liberation Mono','DejaVu Sans Mono',monospace"


def hue_of(number: int) -> int:
    """The hue of an entity by its number; they repeat after the last."""
    return number % len(HUES)


def stylesheet(fonts: Iterable[Font], hues: Iterable[int]) -> str:
    """The classes for the fonts and hues of a picture, in plain CSS that every viewer knows."""
    sorted_hues = sorted(set(hues))
    faces = sorted({(font.css, font) for font in fonts}, key=lambda face: face[0])
    sets = [f".{css}{{font:{_face(font)}}}" for css, font in faces]
    return "\n".join(
        [*sets, *_tones(sorted_hues, False), "@media (prefers-color-scheme:dark){", *_tones(sorted_hues, True), "}"]
    )


def _face(font: Font) -> str:
    return f"{'600 ' if font.bold else ''}{font.size}px {_MONOSPACE if font.mono else _SANS}"


def _tones(hues: list[int], dark: bool) -> list[str]:
    def choose(light: str, other: str) -> str:
        return other if dark else light

    page, ink, muted_ink = choose(PAGE, DARK_PAGE), choose(INK, DARK_INK), choose(MUTED, DARK_MUTED)
    line, band, bad = choose(LINE, DARK_LINE), choose(BAND, DARK_BAND), choose(BAD, DARK_BAD)
    rules = [
        f".page{{fill:{page}}}.ink{{fill:{ink}}}.muted{{fill:{muted_ink}}}.bad{{fill:{bad}}}.band{{fill:{band}}}",
        f".line{{stroke:{line};fill:none}}.box{{stroke:{line};fill:{page}}}.edge{{stroke:{muted_ink};fill:none}}",
        ".ring{stroke-width:1.5}",
    ]
    for at in hues:
        hue = HUES[at]
        ground, tone = choose(hue.ground, hue.dark_ground), choose(hue.tone, hue.dark_tone)
        rules.append(f".g{at}{{fill:{ground}}}.t{at}{{fill:{tone}}}.r{at}{{stroke:{tone};fill:none}}")
    return rules
