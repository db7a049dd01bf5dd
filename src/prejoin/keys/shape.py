"""What text a piece of a key can be: classes of characters in a row, and whether two such rows can meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Ranges = tuple[tuple[str, str], ...]

TOP = "\U0010ffff"
ANY: Ranges = (("\x00", TOP),)
DIGIT: Ranges = (("0", "9"),)
HEX: Ranges = (("0", "9"), ("a", "f"))


@dataclass(frozen=True)
class Chars:
    """One character out of some ranges, or any number of them."""

    ranges: Ranges
    many: bool = False


Shape = tuple[Chars, ...]

ANYTHING: Shape = (Chars(ANY, many=True),)


def literal(text: str) -> Shape:
    return tuple(Chars(((char, char),)) for char in text)


def pictured(picture: str) -> Shape:
    """A shape of fixed width drawn as text, with 9 for any digit and all else for itself: `9999-99-99`."""
    return tuple(Chars(DIGIT) if char == "9" else Chars(((char, char),)) for char in picture)


def many(*ranges: tuple[str, str]) -> Shape:
    return (Chars(tuple(ranges), many=True),)


def meet(one: Shape, other: Shape) -> bool:
    """Whether some text has both shapes.

    >>> meet(literal("ORDER#") + ANYTHING, literal("ORDER#42"))
    True
    >>> meet(literal("USER#") + many(("$", TOP)), literal("USER#1#X"))
    False
    """
    todo: list[tuple[int, int]] = [(0, 0)]
    seen = set(todo)
    while todo:
        here = todo.pop()
        if here == (len(one), len(other)):
            return True
        for there in _moves(one, other, *here):
            if there not in seen:
                seen.add(there)
                todo.append(there)
    return False


def _moves(one: Shape, other: Shape, i: int, j: int) -> Iterator[tuple[int, int]]:
    a = one[i] if i < len(one) else None
    b = other[j] if j < len(other) else None
    if a and a.many:
        yield i + 1, j
    if b and b.many:
        yield i, j + 1
    if a and b and _share(a.ranges, b.ranges):
        yield i + (not a.many), j + (not b.many)


def _share(one: Ranges, other: Ranges) -> bool:
    return any(low <= high2 and low2 <= high for low, high in one for low2, high2 in other)
