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

    @property
    def is_base(self) -> bool:
        """Whether it is the key of the own item in the table."""
        return self.item == OWN and self.slot == BASE


class CollectionPlace(msgspec.Struct, frozen=True, order=True):
    """A place where a read of several entities finds them: the slot, the partition, and the sort attributes before the
    type.

    Both use the attribute names of the read.
    """

    read: str
    slot: int
    names: tuple[str, ...]
    prefix: tuple[str, ...] = ()
    """The sort attributes before the type."""


class Score(msgspec.Struct, frozen=True, order=True):
    """The quality of a selection: smaller is better, and the first difference decides."""

    unserved: int
    structures: int
    money: int


class Selection(msgspec.Struct, frozen=True):
    """The selected keys, with what the search knows of their quality."""

    placed: tuple[Placement, ...]
    collections: tuple[CollectionPlace, ...]
    """The places where reads of several entities find them."""
    unserved: tuple[str, ...]
    indexes: int
    copies: int
    money: int
    """The part of the bill that depends on the selection, in cents a month."""
    is_complete: bool = True
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
    on_progress: Callable[[str], None]
    """Called with the progress of the search."""
    limit: TimeLimit | None = None
    key_cuts: tuple[Forbidden, ...] = ()
    place_cuts: tuple[frozenset[CollectionPlace], ...] = ()
    """Places of several reads in one partition that cannot all be chosen: a parent has only two neighbours."""
    refused_keys: frozenset[tuple[str, Placement]] = frozenset()
    """Reads and fixed keys that do not serve them, because of other items in the partition."""


class Component(msgspec.Struct, frozen=True):
    """Entities that are read together, with all of their reads."""

    entities: tuple[Entity, ...]
    reads: tuple[ReadNeeds, ...]


def placement_answers(placement: Placement, need: Need) -> bool:
    """Whether a read of one entity finds its items by a key, as far as it needs them."""
    if placement.entity != need.entity:
        return False
    if serves(placement.candidate, need):
        return True
    # The whole key of an item is given, and more: one item is read, and compared with the other values.
    has_whole_key = placement.is_base and set(placement.candidate.attributes) <= need.equal_names
    return has_whole_key and not need.is_shared and not need.has_range


def lies_in(placement: Placement, question: ReadNeeds, need: Need, place: CollectionPlace) -> bool:
    """Whether an item has a key in the place where a read of several entities finds them."""
    if (placement.entity, placement.slot) != (need.entity, place.slot):
        return False
    name_in_read = question.ask.name
    pk = frozenset(name for name in need.equal_names if name_in_read(need.entity, name) in place.names)
    if not serves(placement.candidate, need, pk):
        return False
    sort_attributes = placement.candidate.sk[: len(place.prefix)]
    return tuple(name_in_read(need.entity, key.attribute) for key in sort_attributes) == place.prefix


def is_key_in(placement: Placement, question: ReadNeeds, place: CollectionPlace) -> bool:
    """Whether an existing key is as a read of several entities asks for it: its partition, then the sort attributes."""
    name_in_read, candidate = question.ask.name, placement.candidate
    pk = frozenset(name_in_read(placement.entity, name) for name in candidate.pk)
    if pk != frozenset(place.names):
        return False
    sort_attributes = candidate.sk[: len(place.prefix)]
    return tuple(name_in_read(placement.entity, key.attribute) for key in sort_attributes) == place.prefix
