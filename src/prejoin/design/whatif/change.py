"""A change of a document as data, and the document after it: `apply_change(workload, change)`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from prejoin.workload.model import Decision, Entity, Pattern, Pin, Read, Workload, Write

_Part = TypeVar("_Part", Entity, Read, Write)


class Change(msgspec.Struct, frozen=True):
    """Decisions, entities and patterns that a document gets, or no longer has."""

    summary: str = ""
    """The change in words."""
    pins: tuple[Pin, ...] = ()
    """Decisions that are added, if they are not decided already."""
    entities: tuple[Entity, ...] = ()
    """Entities that are added, or take the place of those with their names."""
    patterns: tuple[Pattern, ...] = ()
    """Patterns that are added, or take the place of those with their ids."""
    removed_names: tuple[str, ...] = ()
    """The ids of patterns that are removed, with the decisions about them, and the names of entities."""
    removed_pins: tuple[Pin, ...] = ()
    """Decisions that are removed."""
    caution: str = ""
    """A consequence that no figure shows, as the end of a sentence."""
    spared_reads: tuple[str, ...] = ()
    """More reads that may no longer need the structures that they use: for an estimate of the gain."""


def apply_change(workload: Workload, change: Change) -> Workload:
    """The workload after a change.

    >>> shop = Workload(entities=(Entity("Order"),), reads=(Read("R1"), Read("R2")))
    >>> changed = apply_change(shop, Change(entities=(Entity("Item"),), patterns=(Read("R3"),), removed_names=("R1",)))
    >>> [entity.name for entity in changed.entities], [read.id for read in changed.reads]
    (['Order', 'Item'], ['R2', 'R3'])
    """
    delete_ids = {delete.id for delete in workload.deletes}
    reads: list[Read] = []
    writes: list[Write] = []
    deletes: list[Write] = []
    for pattern in change.patterns:
        if isinstance(pattern, Read):
            reads.append(pattern)
        elif pattern.id in delete_ids:
            deletes.append(pattern)
        else:
            writes.append(pattern)
    decisions = [decision for decision in workload.decisions if not _is_removed(decision, change)]
    decided_pins = [decision.pin for decision in decisions]
    return replace(
        workload,
        entities=_with_parts(workload.entities, change.entities, change.removed_names),
        reads=_with_parts(workload.reads, reads, change.removed_names),
        writes=_with_parts(workload.writes, writes, change.removed_names),
        deletes=_with_parts(workload.deletes, deletes, change.removed_names),
        decisions=(*decisions, *(Decision(pin) for pin in change.pins if pin not in decided_pins)),
    )


def combine_changes(changes: Sequence[Change]) -> Change:
    """One change for several, each of which was made after those before it."""
    all_patterns = chain.from_iterable(change.patterns for change in changes)
    patterns = {pattern.id: pattern for pattern in all_patterns}
    return Change(
        "; ".join(change.summary for change in changes),
        entities=_with_parts((), chain.from_iterable(change.entities for change in changes)),
        patterns=tuple(patterns.values()),
    )


def _is_removed(decision: Decision, change: Change) -> bool:
    return decision.pin in change.removed_pins or getattr(decision.pin, "pattern", "") in change.removed_names


def _with_parts(
    parts: Iterable[_Part], changed_parts: Iterable[_Part], dropped_names: Collection[str] = ()
) -> tuple[_Part, ...]:
    """The parts with changed ones in their places and new ones at the end, without those that are dropped."""
    # A dictionary keeps the place of a name whose value is replaced.
    by_name = {_name_of(part): part for part in parts if _name_of(part) not in dropped_names}
    by_name.update((_name_of(part), part) for part in changed_parts)
    return tuple(by_name.values())


def _name_of(part: Entity | Pattern) -> str:
    return part.name if isinstance(part, Entity) else part.id
