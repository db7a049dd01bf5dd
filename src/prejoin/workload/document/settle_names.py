"""Replaces names in running text by exact entity names: `~100 per user`, `orders live under their user`.

Only if exactly one entity has that name in another case or number. Tables must use exact names.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from prejoin.workload.model import (
    Accept,
    AtMost,
    ContentPlace,
    CounterShards,
    Decision,
    FixedKey,
    IndexKeys,
    Minimise,
    Naming,
    OutOfScope,
    OwnTable,
    Spread,
    Under,
    Unproven,
    Without,
    Workload,
)
from prejoin.workload.renaming import rename_in_figures, rename_tenant


def settle(workload: Workload) -> Workload:
    """The workload with exact names in cardinalities, relationships and pins."""
    exact = _ExactNames(workload)
    return replace(
        workload,
        context=rename_tenant(workload.context, exact),
        entities=tuple(rename_in_figures(entity, exact) for entity in workload.entities),
        decisions=tuple(_decision(decision, exact) for decision in workload.decisions),
    )


class _ExactNames:
    """The exact name of an entity for another case or the plural of it: `User` for `users`."""

    def __init__(self, workload: Workload) -> None:
        self._exact = {entity.name for entity in workload.entities}
        self._spellings: dict[str, set[str]] = {}
        for name in self._exact:
            for spelling in (name.lower(), _plural(name.lower())):
                self._spellings.setdefault(spelling, set()).add(name)

    def __call__(self, name: str) -> str:
        if name in self._exact:
            return name
        names = self._spellings.get(name.lower(), set())
        return next(iter(names)) if len(names) == 1 else name


def _plural(word: str) -> str:
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _decision(decision: Decision, exact: _ExactNames) -> Decision:
    match decision.pin:
        case Under() as pin:
            return replace(decision, pin=replace(pin, entity=exact(pin.entity), parent=exact(pin.parent)))
        case Without() | Spread() | CounterShards() | ContentPlace() | FixedKey() as pin:
            return replace(decision, pin=replace(pin, entity=exact(pin.entity)))
        case AtMost() | Minimise() | IndexKeys() | Accept() | OutOfScope() | Unproven() | Naming() | OwnTable() | None:
            return decision
        case _:
            assert_never(decision.pin)
