"""What the checks of a design look at, and where they put their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from prejoin.design.checks.bound_keys import Bound, Flaw, bind
from prejoin.design.checks.key_answers import Answer, answer
from prejoin.design.mapping.map_reads import ask_of
from prejoin.design.model import TABLE, Design
from prejoin.diagnostics import Code, Diagnostic, Span
from prejoin.keys import Ask
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Entity, OutOfScope, Read, Verb, Workload, Write

At = Callable[[str, str], Span | None]
"""Where a design's document speaks of an entity, an index or a pattern; the second is the slot, or empty."""


def _nowhere(name: str, slot: str) -> Span | None:
    return None


@dataclass
class Report:
    design: Design
    workload: Workload
    at: At = _nowhere
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def say(self, code: Code, message: str, fix: str, name: str = "", slot: str = "") -> None:
        """Says it about an entity (in a slot), an index or a pattern; about the design as a whole without a name."""
        span = self.at(name, slot) or (self.at(name, "") if slot else None)
        self.diagnostics.append(code.at(span, message, fix, about=name))

    @cached_property
    def _bound(self) -> tuple[tuple[Bound, ...], tuple[Flaw, ...]]:
        return bind(self.design, self.workload)

    @property
    def keys(self) -> tuple[Bound, ...]:
        """All keys that could be read, in the order of the design's items."""
        return self._bound[0]

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        return self._bound[1]

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The reads that the table is to answer."""
        outside = self._outside
        return tuple(read for read in self.workload.reads if read.id not in outside)

    @cached_property
    def writes(self) -> tuple[Write, ...]:
        outside = self._outside
        return tuple(w for w in (*self.workload.writes, *self.workload.deletes) if w.id not in outside)

    @cached_property
    def _outside(self) -> frozenset[str]:
        return frozenset(d.pin.pattern for d in self.workload.decisions if isinstance(d.pin, OutOfScope))

    @cached_property
    def asks(self) -> dict[str, Ask]:
        """What each read asks of the keys, where keys can be asked that at all."""
        found = {}
        for read in self.reads:
            try:
                found[read.id] = ask_of(read, self.workload)
            except ValueError:
                continue
        return found

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """How the keys answer each read that they answer."""
        found = {}
        for id_, ask in self.asks.items():
            if answered := answer(self.keys, ask):
                found[id_] = answered
        return found

    def base(self, entity: str) -> Bound | None:
        """The key that an entity's own item has in the table."""
        return next((k for k in self.keys if k.item.entity == entity and not k.item.copy and k.slot == TABLE), None)

    def actions(self, entity: str) -> Iterator[tuple[Write, Action]]:
        for write in self.writes:
            for action in write.actions:
                if action.entity == entity:
                    yield write, action

    def changers(self, entity: Entity, attribute: str) -> list[str]:
        """The patterns that change an attribute of an item that is there."""
        return [
            write.id
            for write, action in self.actions(entity.name)
            if action.verb is Verb.UPDATE
            and any(change.attribute == attribute for change in changes(write, action, entity))
        ]


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names in a row, cut where they get too many.

    >>> listed(["User", "Order"])
    '`User`, `Order`'
    """
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
