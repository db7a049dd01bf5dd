"""Renders the checks of amounts at the beginning of a method: `-= n` with n > 0, and n within its bounds.

They are refused with a ValueError before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prejoin.render.python.layout import STEP, Group, Part, call
from prejoin.render.python.method import RenderContext
from prejoin.render.python.write_sources import Loop, LoopValue
from prejoin.workload.bounds import input_bounds, must_be_positive
from prejoin.workload.model import Change, Write


def amount_checks(
    module: RenderContext, write: Write, change: Change, amount: str, loop: Loop | None
) -> Iterator[tuple[str, Sequence[Part]]]:
    """The checks of an amount that is an input or an attribute of an object: each test, and the lines that refuse.

    The same amount may be taken from one item and added to another, so callers keep each test once.
    """
    name = change.value.param if change.value else None
    if name is None:
        return
    rules: list[tuple[str, str]] = []
    if must_be_positive(module.workload, write, change):
        rules.append((f"{amount} <= 0", "must be more than 0"))
    least, greatest = input_bounds(module.workload, write, name)
    if least is not None:
        rules.append((f"{amount} < {least}", f"must be at least {least}"))
    if greatest is not None:
        rules.append((f"{amount} > {greatest}", f"must be at most {greatest}"))
    for test, rule in rules:
        if isinstance(amount, LoopValue) and loop is not None:
            head = Group("if any(", (test, _iteration(amount, loop)), "):", commas=False)
            message = f'"each {amount} {rule}"'
        else:
            head = Group("if (", (test,), "):", commas=False, loose=True)
            message = f'f"{amount} is {{{amount}}}, and {rule}"'
        yield test, (head, call(f"{STEP}raise ValueError", message))


def _iteration(amount: str, loop: Loop) -> str:
    """The loop over the amounts: `for line in lines`, or of parallel lists the one with the amounts."""
    for parameter, variable in loop.lists.items():
        if variable == amount:
            return f"for {variable} in {parameter}"
    return loop.head
