"""The problem that the solver gets and the selection of keys that it returns, as data."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import msgspec

from prejoin.design.cost.objective import WEIGHTS
from prejoin.design.solver.candidates import Candidate, serves
from prejoin.design.solver.constraints import DesignConstraints
from prejoin.design.solver.fixed_keys import FixedKeys
from prejoin.design.solver.needs import Need, ReadNeeds
from prejoin.design.solver.program.integer_program import TimeLimit
from prejoin.workload.model import Entity, Workload

OWN = 0
"""The entity's own item; copies are 1, 2, …"""
BASE = 0
"""The table; indexes are 1, 2, …"""


class Placement(msgspec.Struct, frozen=True, order=True):
    """A candidate as the key of an item of an entity in a slot."""

    entity: str
    item: int
    slot: int
    candidate: Candidate


class CollectionPlace(msgspec.Struct, frozen=True, order=True):
    """A place where a read of several entities finds them: the slot, the partition, and the sort attributes before the
    type.

    Both use the attribute names of the read.
    """

    read: str
    slot: int
    names: tuple[str, ...]
    rest: tuple[str, ...] = ()


class Score(msgspec.Struct, frozen=True, order=True):
    """The quality of a selection: smaller is better, and the first difference decides."""

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
    """The part of the bill that depends on the selection, in cents a month."""
    ended: bool = True
    """Whether the solver compared all combinations of the candidates. If not, this is the best one found."""
    least: Decimal = Decimal()
    """A lower bound of the complexity of any combination of candidates that serves as much."""
    candidates: int = 0
    """The number of candidates."""
    reading: int = 0
    """Writes that have to read first because of the selected keys."""
    queries_each: int = 0
    """Joins that send a Query for each item because of the selected keys."""
    halves: int = 0
    """The complexity in halves of new copies, guards and fan-out reads."""
    equals: tuple[Selection, ...] = ()
    """The best selections of the same complexity with other numbers of indexes."""

    @property
    def total_halves(self) -> int:
        """The complexity in halves, with the indexes."""
        return self.indexes * int(2 * WEIGHTS["index"]) + self.halves

    @property
    def score(self) -> Score:
        return Score(len(self.unserved), self.indexes + self.copies, self.money)


Forbidden = frozenset[Placement]
"""Keys that cannot all be chosen: no order of their types makes all reads contiguous."""


class Problem(msgspec.Struct, frozen=True):
    """Everything that a selection depends on."""

    workload: Workload
    reads: tuple[ReadNeeds, ...]
    finds: tuple[ReadNeeds, ...]
    constraints: DesignConstraints
    fixed: FixedKeys
    told: Callable[[str], None]
    """Called with the progress of the search."""
    limit: TimeLimit | None = None
    forbidden: tuple[Forbidden, ...] = ()
    rivals: tuple[frozenset[CollectionPlace], ...] = ()
    """Places of several reads in one partition that cannot all be chosen: a parent has only two neighbours."""
    refused: frozenset[tuple[str, Placement]] = frozenset()
    """Reads and fixed keys that do not serve them, because of other items in the partition."""


class Component(msgspec.Struct, frozen=True):
    """Entities that are read together, with all of their reads."""

    entities: tuple[Entity, ...]
    reads: tuple[ReadNeeds, ...]


def placement_answers(place: Placement, need: Need) -> bool:
    if place.entity != need.entity:
        return False
    if serves(place.candidate, need):
        return True
    # The whole key of an item is given, and more: one item is read and compared with the rest.
    whole = (place.item, place.slot) == (OWN, BASE) and set(place.candidate.attributes) <= need.given
    return whole and not need.shared and not need.ranged


def lies_in(place: Placement, question: ReadNeeds, need: Need, way: CollectionPlace) -> bool:
    """Whether an item has a key in the place where a read of several entities finds them."""
    if (place.entity, place.slot) != (need.entity, way.slot):
        return False
    name = question.ask.name
    pk = frozenset(a for a in need.given if name(need.entity, a) in way.names)
    if not serves(place.candidate, need, pk):
        return False
    return tuple(name(need.entity, one.attribute) for one in place.candidate.sk[: len(way.rest)]) == way.rest


def key_as_asked(place: Placement, question: ReadNeeds, rest: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The partition and the first sort attributes of a placement, in the attribute names of a read."""
    name, candidate = question.ask.name, place.candidate
    pk = tuple(name(place.entity, one) for one in candidate.pk)
    return pk, tuple(name(place.entity, one.attribute) for one in candidate.sk[:rest])
