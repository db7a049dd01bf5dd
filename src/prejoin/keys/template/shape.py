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
            widths = {width(alternative) for alternative in piece.shapes}
            piece_width = widths.pop() if len(widths) == 1 else None
        else:
            piece_width = None if piece.many else 1
        if piece_width is None:
            return None
        total += piece_width
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
        alternatives = sorted(map(expression, piece.shapes), key=len, reverse=True)
        return f"(?:{'|'.join(alternatives)})"
    if not piece.many and len(piece.ranges) == 1 and piece.ranges[0][0] == piece.ranges[0][1]:
        return re.escape(piece.ranges[0][0])
    ranges = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in piece.ranges)
    return f"[{ranges}]{'*' * piece.many}"


@lru_cache(maxsize=4096)
def meet(first: Shape, other: Shape) -> bool:
    """Whether some text has both shapes.

    >>> meet(literal("ORDER#") + ANYTHING, literal("ORDER#42"))
    True
    >>> meet(literal("USER#") + many(("$", TOP)), literal("USER#1#X"))
    False
    >>> meet(words(["OPEN", "PAID"]), literal("ALL")), meet(words(["OPEN", "ALL"]), literal("ALL"))
    (False, True)
    """
    if _begin_differently(first, other):
        return False
    first_walk, other_walk = _walk(first), _walk(other)
    waiting_states: list[tuple[int, int]] = [(0, 0)]
    reached_states = set(waiting_states)
    while waiting_states:
        first_state, other_state = waiting_states.pop()
        if first_state == first_walk.end and other_state == other_walk.end:
            return True
        successors = [(next_state, other_state) for next_state in first_walk.skips[first_state]]
        successors += [(first_state, next_state) for next_state in other_walk.skips[other_state]]
        for ranges, next_state in first_walk.steps[first_state]:
            for other_ranges, other_next_state in other_walk.steps[other_state]:
                if _share(ranges, other_ranges):
                    successors.append((next_state, other_next_state))
        for pair in successors:
            if pair not in reached_states:
                reached_states.add(pair)
                waiting_states.append(pair)
    return False


def _begin_differently(first: Shape, other: Shape) -> bool:
    """Whether two shapes differ in the single characters that they begin with, as most keys of different entities do.

    It is much faster than walking both automata.
    """
    for first_piece, other_piece in zip(first, other, strict=False):
        if isinstance(first_piece, Either) or isinstance(other_piece, Either) or first_piece.many or other_piece.many:
            return False
        if first_piece is not other_piece and not _share(first_piece.ranges, other_piece.ranges):
            return True
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

    def through(self, shape: Shape, state: int) -> int:
        """Add a shape after a state, and return the state at its end."""
        for piece in shape:
            next_state = self.place()
            if isinstance(piece, Either):
                for alternative in piece.shapes:
                    # From a state of its own, because a repeated class loops where it begins.
                    start = self.place()
                    self.skips[state].append(start)
                    self.skips[self.through(alternative, start)].append(next_state)
            elif piece.many:
                self.steps[state].append((piece.ranges, state))
                self.skips[state].append(next_state)
            else:
                self.steps[state].append((piece.ranges, next_state))
            state = next_state
        return state


@lru_cache(maxsize=1024)
def _walk(shape: Shape) -> _Walk:
    walk = _Walk([], [], 0)
    return _Walk(walk.steps, walk.skips, walk.through(shape, walk.place()))


def _share(first: Ranges, other: Ranges) -> bool:
    return any(low <= high2 and low2 <= high for low, high in first for low2, high2 in other)
