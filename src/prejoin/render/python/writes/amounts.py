"""The checks of amounts at the beginning of a method: `-= n` with n > 0, and n within its bounds."""

from __future__ import annotations

from collections.abc import Iterator

from prejoin.render.python.layout import comprehension, in_parentheses
from prejoin.render.python.statements import If, Raise
from prejoin.render.python.writes.existing_items import ItemWrite
from prejoin.render.python.writes.loops import Loop, LoopValue
from prejoin.render.python.writes.sources import Sources
from prejoin.workload.bounds import input_bounds, must_be_positive
from prejoin.workload.model import Change, Workload, Write


def amount_checks(sources: Sources, writes: list[ItemWrite]) -> list[If]:
    """The checks of amounts that are inputs or attributes of objects.

    The same amount may be taken from one item and added to another: it is checked once.
    """
    checks: dict[str, If] = {}
    for write in writes:
        for change, amount in write.amounts():
            for operation, rule in _rules(sources.context.workload, sources.write, change):
                test = f"{amount} {operation}"
                checks[test] = _check(amount, test, rule, write.values.loop)
    return list(checks.values())


def _rules(workload: Workload, write: Write, change: Change) -> Iterator[tuple[str, str]]:
    """The comparisons that are true of a refused amount, each with the words for the caller."""
    if must_be_positive(workload, write, change):
        yield "<= 0", "must be more than 0"
    name = change.value.param if change.value else None
    minimum, maximum = input_bounds(workload, write, name) if name else (None, None)
    if minimum is not None:
        yield f"< {minimum}", f"must be at least {minimum}"
    if maximum is not None:
        yield f"> {maximum}", f"must be at most {maximum}"


def _check(amount: str, test: str, rule: str, loop: Loop | None) -> If:
    if isinstance(amount, LoopValue) and loop is not None:
        is_any = comprehension(test, loop.iteration_of(amount), head="any(", tail=")")
        return If(is_any, [Raise("ValueError", f'"each {amount} {rule}"')])
    return If(in_parentheses(test), [Raise("ValueError", f'f"{amount} is {{{amount}}}, and {rule}"')])
