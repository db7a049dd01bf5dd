"""The input of the checks of a design, and the list of their diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from prejoin.design.checks.bound_keys import BoundKey, Flaw, bind
from prejoin.design.checks.key_answers import KeyAnswer, answer
from prejoin.design.mapping.map_reads import ask_of
from prejoin.design.model import TABLE, Design, ItemName
from prejoin.diagnostics import Code, Diagnostic, Span
from prejoin.keys import Lookup
from prejoin.workload.lookup import changes
from prejoin.workload.model import Action, Entity, Read, Workload, Write

At = Callable[[str, str], Span | None]
"""Returns the place in the design's document for an entity, an index or a pattern; the second argument is the slot
or empty.
"""


def _nowhere(name: str, slot: str) -> Span | None:
    return None


@dataclass
class Report:
    design: Design
    workload: Workload
    at: At = _nowhere
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def say(self, code: Code, message: str, fix: str, name: str = "", slot: str = "") -> None:
        """Report on an entity (in a slot), an index or a pattern; without a name, on the design as a whole."""
        span = self.at(name, slot) or (self.at(name, "") if slot else None)
        self.diagnostics.append(code.at(span, message, fix, about=name))

    def say_of_key(self, key: BoundKey, code: Code, message: str, fix: str) -> None:
        """Report on a key of an item, whose name comes before the message."""
        self.say(code, f"{key.name}: {message}", fix, key.item.entity, key.slot)

    @cached_property
    def _bound(self) -> tuple[tuple[BoundKey, ...], tuple[Flaw, ...]]:
        return bind(self.design, self.workload)

    @property
    def keys(self) -> tuple[BoundKey, ...]:
        """All keys that could be parsed, in the order of the design's items."""
        return self._bound[0]

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        return self._bound[1]

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The reads in scope."""
        outside = self.workload.out_of_scope
        return tuple(read for read in self.workload.reads if read.id not in outside)

    @cached_property
    def writes(self) -> tuple[Write, ...]:
        outside = self.workload.out_of_scope
        return tuple(write for write in self.workload.changing if write.id not in outside)

    @cached_property
    def asks(self) -> dict[str, Lookup]:
        """The question of each read to the planner, if keys can answer it at all."""
        lookups = {}
        for read in self.reads:
            try:
                lookups[read.id] = ask_of(read, self.workload)
            except ValueError:
                continue
        return lookups

    @cached_property
    def answers(self) -> dict[str, KeyAnswer]:
        """The answer of the keys to each read that they serve."""
        answers = {}
        for id_, ask in self.asks.items():
            if key_answer := answer(self.keys, ask):
                answers[id_] = key_answer
        return answers

    def base(self, entity: str) -> BoundKey | None:
        """The key of an entity's own item in the table."""
        own = ItemName(entity)
        return next((key for key in self.keys if key.slot == TABLE and key.item.item_name == own), None)

    def actions(self, entity: str) -> Iterator[tuple[Write, Action]]:
        for write in self.writes:
            for action in write.actions:
                if action.entity == entity:
                    yield write, action

    def changers(self, entity: Entity, attribute: str) -> list[str]:
        """The patterns that change an attribute of existing items."""
        ids = []
        for write, action in self.actions(entity.name):
            if action.updates and any(change.attribute == attribute for change in changes(write, action, entity)):
                ids.append(write.id)
        return ids
