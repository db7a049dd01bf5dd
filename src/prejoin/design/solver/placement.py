"""What is chosen: keys for the items of entities, and where reads of several find them; and what that is chosen for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from prejoin.design.solver.candidates import Candidate, serves
from prejoin.design.solver.constraints import Constraints
from prejoin.design.solver.fixed_keys import FixedKeys
from prejoin.design.solver.integer_program import TimeLimit
from prejoin.design.solver.needs import Need, ReadNeeds
from prejoin.workload.model import Entity, Workload

OWN = 0
"""The entity's own item; copies are 1, 2, …"""
BASE = 0
"""The table; indexes are 1, 2, …"""
MOST_COPIES = 4
"""Copies of one entity that are thought of."""


class Placement(msgspec.Struct, frozen=True, order=True):
    """A candidate chosen for an item of an entity, in a slot."""

    entity: str
    item: int
    slot: int
    candidate: Candidate


class CollectionPlace(msgspec.Struct, frozen=True, order=True):
    """Where a read of several entities finds them: the slot, what makes the partition, and what comes before the type.

    Both as the read calls it.
    """

    read: str
    slot: int
    names: tuple[str, ...]
    rest: tuple[str, ...] = ()


class Score(msgspec.Struct, frozen=True, order=True):
    """What is to be small, the first first."""

    unserved: int
    structures: int
    money: int


class Selection(msgspec.Struct, frozen=True):
    placed: tuple[Placement, ...]
    together: tuple[CollectionPlace, ...]
    unserved: tuple[str, ...]
    indexes: int
    copies: int
    money: int
    ended: bool = True
    """Whether the solver compared all combinations of the candidate keys; else it is the best that was found."""
    least: int = 0
    """Structures that every combination of the candidate keys has that serves as much."""
    candidates: int = 0
    """How many keys were considered."""

    @property
    def score(self) -> Score:
        return Score(len(self.unserved), self.indexes + self.copies, self.money)


Forbidden = frozenset[Placement]
"""Keys that cannot all be: side by side they would have to lie in an order that there is not."""


class Problem(msgspec.Struct, frozen=True):
    """All that a choice is made for."""

    workload: Workload
    reads: tuple[ReadNeeds, ...]
    finds: tuple[ReadNeeds, ...]
    constraints: Constraints
    fixed: FixedKeys
    told: Callable[[str], None]
    """Hears how far the search is."""
    limit: TimeLimit | None = None
    forbidden: tuple[Forbidden, ...] = ()
    rivals: tuple[frozenset[CollectionPlace], ...] = ()
    """Ways of several reads in one partition, not all of which can be: a parent has two neighbours."""
    refused: frozenset[tuple[str, Placement]] = frozenset()
    """Reads, and keys that are there in any case and do not serve them, because of what else is in their partition."""


class Component(msgspec.Struct, frozen=True):
    """Entities that reads ask for together, with all that is asked of them."""

    entities: tuple[Entity, ...]
    reads: tuple[ReadNeeds, ...]


def placement_answers(place: Placement, need: Need) -> bool:
    if place.entity != need.entity:
        return False
    if serves(place.candidate, need):
        return True
    # The whole key of an item is given, and more: one item is read, and compared with the rest.
    whole = (place.item, place.slot) == (OWN, BASE) and set(place.candidate.attributes) <= need.given
    return whole and not need.shared and not need.ranged


def lies_in(place: Placement, question: ReadNeeds, need: Need, way: CollectionPlace) -> bool:
    """Whether an item lies where a read of several entities finds them."""
    if (place.entity, place.slot) != (need.entity, way.slot):
        return False
    name = question.ask.name
    pk = frozenset(a for a in need.given if name(need.entity, a) in way.names)
    if not serves(place.candidate, need, pk):
        return False
    return tuple(name(need.entity, one.attribute) for one in place.candidate.sk[: len(way.rest)]) == way.rest


def key_as_asked(place: Placement, question: ReadNeeds, rest: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a partition is made of and what comes first in the sort key, as a read calls it."""
    name, candidate = question.ask.name, place.candidate
    pk = tuple(name(place.entity, one) for one in candidate.pk)
    return pk, tuple(name(place.entity, one.attribute) for one in candidate.sk[:rest])
