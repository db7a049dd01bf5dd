"""Shapes: the set of texts that a part of a key can be, as a row of character classes, and whether two shapes overlap.

A shape is a small regular expression without nesting. Two shapes overlap if some text matches both, which is decided by
walking both as nondeterministic automata at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

Ranges = tuple[tuple[str, str], ...]

TOP = "\U0010ffff"
ANY: Ranges = (("\x00", TOP),)
DIGIT: Ranges = (("0", "9"),)
HEX: Ranges = (("0", "9"), ("a", "f"))


class Chars(msgspec.Struct, frozen=True):
    """One character out of some ranges, or any number of them."""

    ranges: Ranges
    many: bool = False


class Either(msgspec.Struct, frozen=True):
    """One of several shapes: the members of an enum, or a value and the text of a missing one."""

    shapes: tuple[Shape, ...]


Shape = tuple[Chars | Either, ...]

ANYTHING: Shape = (Chars(ANY, many=True),)


def literal(text: str) -> Shape:
    return tuple(map(_char, text))


@lru_cache(maxsize=1024)
def _char(char: str) -> Chars:
    return Chars(((char, char),))


def shape_of_picture(picture: str) -> Shape:
    """A shape of fixed width drawn as text, with 9 for any digit: `9999-99-99`."""
    return tuple(Chars(DIGIT) if char == "9" else Chars(((char, char),)) for char in picture)


def many(*ranges: tuple[str, str]) -> Shape:
    return (Chars(tuple(ranges), many=True),)


def words(texts: Iterable[str]) -> Shape:
    """One of these texts."""
    return (Either(tuple(literal(text) for text in texts)),)


def width(shape: Shape) -> int | None:
    """The number of characters, if it is fixed.

    >>> width(shape_of_picture("9999-99")), width(words(["PAID", "OPEN"])), width(words(["PAID", "LATE?"]))
    (7, 4, None)
    """
    total = 0
    for piece in shape:
        if isinstance(piece, Either):
            widths = {width(one) for one in piece.shapes}
            found = widths.pop() if len(widths) == 1 else None
        else:
            found = None if piece.many else 1
        if found is None:
            return None
        total += found
    return total


def expression(shape: Shape) -> str:
    """The regular expression for texts of a shape.

    >>> expression(shape_of_picture("99-W") + many(("a", "z")))
    '[0-9][0-9]\\\\-W[a-z]*'
    """
    return "".join(_expression(piece) for piece in shape)


def _expression(piece: Chars | Either) -> str:
    if isinstance(piece, Either):
        # The longest first: the text of a missing value may be the beginning of another.
        found = sorted(map(expression, piece.shapes), key=len, reverse=True)
        return f"(?:{'|'.join(found)})"
    if not piece.many and len(piece.ranges) == 1 and piece.ranges[0][0] == piece.ranges[0][1]:
        return re.escape(piece.ranges[0][0])
    ranges = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in piece.ranges)
    return f"[{ranges}]{'*' * piece.many}"


@lru_cache(maxsize=4096)
def meet(one: Shape, other: Shape) -> bool:
    """Whether some text has both shapes.

    >>> meet(literal("ORDER#") + ANYTHING, literal("ORDER#42"))
    True
    >>> meet(literal("USER#") + many(("$", TOP)), literal("USER#1#X"))
    False
    >>> meet(words(["OPEN", "PAID"]), literal("ALL")), meet(words(["OPEN", "ALL"]), literal("ALL"))
    (False, True)
    """
    # Most keys already differ in their first text.
    for ours_first, theirs_first in zip(one, other, strict=False):
        if isinstance(ours_first, Either) or isinstance(theirs_first, Either) or ours_first.many or theirs_first.many:
            break
        if ours_first is not theirs_first and not _share(ours_first.ranges, theirs_first.ranges):
            return False
    ours, theirs = _walk(one), _walk(other)
    todo: list[tuple[int, int]] = [(0, 0)]
    seen = set(todo)
    while todo:
        i, j = todo.pop()
        if i == ours.end and j == theirs.end:
            return True
        found = [(there, j) for there in ours.skips[i]] + [(i, there) for there in theirs.skips[j]]
        for ranges, there in ours.steps[i]:
            found += [(there, where) for others, where in theirs.steps[j] if _share(ranges, others)]
        for pair in found:
            if pair not in seen:
                seen.add(pair)
                todo.append(pair)
    return False


class _Walk(msgspec.Struct, frozen=True):
    """A shape as an automaton: states, with transitions by a character or without one. It starts in state 0."""

    steps: list[list[tuple[Ranges, int]]]
    skips: list[list[int]]
    end: int

    def place(self) -> int:
        self.steps.append([])
        self.skips.append([])
        return len(self.steps) - 1

    def through(self, shape: Shape, here: int) -> int:
        """Add a shape after a state, and return the state at its end."""
        for piece in shape:
            there = self.place()
            if isinstance(piece, Either):
                for one in piece.shapes:
                    # From a state of its own, because a repeated class loops where it begins.
                    start = self.place()
                    self.skips[here].append(start)
                    self.skips[self.through(one, start)].append(there)
            elif piece.many:
                self.steps[here].append((piece.ranges, here))
                self.skips[here].append(there)
            else:
                self.steps[here].append((piece.ranges, there))
            here = there
        return here


@lru_cache(maxsize=1024)
def _walk(shape: Shape) -> _Walk:
    walk = _Walk([], [], 0)
    return _Walk(walk.steps, walk.skips, walk.through(shape, walk.place()))


def _share(one: Ranges, other: Ranges) -> bool:
    return any(low <= high2 and low2 <= high for low, high in one for low2, high2 in other)
