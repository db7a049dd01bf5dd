"""Renders changes that are left out if the caller does not give their values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prejoin.render.python.layout import STEP, Group, Part, call, string


def if_given(params: Iterable[str], depth: str = "") -> Part:
    """The line before changes of which at least one is given."""
    first, *more = [f"{param} is not NOT_GIVEN" for param in dict.fromkeys(params)]
    return Group(f"{depth}if (", (first, *(f"or {test}" for test in more)), "):", commas=False, loose=True)


def refuse_nothing(params: Sequence[str]) -> Iterator[Part]:
    """The lines that refuse a call in which nothing is given, before anything is sent."""
    names = list(dict.fromkeys(params))
    first, *more = [f"{name} is NOT_GIVEN" for name in names]
    yield Group("if (", (first, *(f"and {test}" for test in more)), "):", commas=False, loose=True)
    what = f"give {names[0]}" if len(names) == 1 else f"give at least one of {', '.join(names)}"
    yield call(f"{STEP}raise ValueError", string(f"nothing is changed: {what}"))
