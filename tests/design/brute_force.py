"""The best design of a small workload by trying all keys: `best_design(workload)`.

The reads must be of one entity each. Then entities are independent, except that they share the indexes: for each number
of indexes the best keys of each entity are found alone, and the best number is taken. Keys are all divisions of an
entity's attributes into a partition and a sort order, without the limits that the solver has, and which reads a key
serves is asked of the planner. What is compared is the objective of real designs, mapped and priced. Keys are left out
only if another one serves at least the same reads and costs no more; so what is found is a design, and perhaps not the
best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, permutations

from msgspec.structs import replace

from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.cost.objective import WEIGHTS, Objective, fans_out, objective
from prejoin.design.cost.units import predict_units
from prejoin.design.layout.lay_out import lay_out
from prejoin.design.layout.projection import with_projections
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.map_reads import map_read
from prejoin.design.model import Design
from prejoin.design.solver.candidates import Candidate, identifies
from prejoin.design.solver.candidates import _is_small as fits_one_partition
from prejoin.design.solver.needs import SortAttribute, read_needs
from prejoin.design.solver.placement import BASE, OWN, Placement, Selection
from prejoin.design.solver.search import problem_of
from prejoin.workload.lookup import changes
from prejoin.workload.model import Entity, FixedKey, Op, Read, Verb, Workload

MOST_INDEXES = 6
TRIED = 60
"""How many combinations of the keys of an entity are priced, the most promising first."""


@dataclass(frozen=True)
class Key:
    """A key, the reads that it serves, and what it costs to keep."""

    candidate: Candidate
    serves: frozenset[str]
    fans: frozenset[str]
    """The reads that take several requests with it."""
    reading: frozenset[str]
    """The writes that have to read first because of it."""
    dollars: Decimal
    guards: int
    lost: frozenset[str]
    """The writes that do not find their item."""
    identifies: bool
    """Whether it holds the id: then all that know the key know the id."""
    hot: frozenset[str]
    """The reads that are too many for one partition; and an empty text if the writes are."""

    def beats(self, other: Key) -> bool:
        return (
            self.serves >= other.serves
            and self.fans & other.serves <= other.fans
            and self.reading <= other.reading
            and self.dollars <= other.dollars
            and self.guards <= other.guards
            and self.lost <= other.lost
            and self.identifies >= other.identifies
            and self.hot & {*other.serves, ""} <= other.hot
        )


def best_design(workload: Workload) -> Design:
    """The best design found."""
    assert all(len(read.entities) == 1 for read in workload.reads)
    found = [_Entity(workload, entity) for entity in workload.entities]
    best: tuple[Objective, Design] | None = None
    for indexes in range(MOST_INDEXES + 1):
        chosen = [one.best(indexes) for one in found]
        if all(placed is not None for placed in chosen):
            placed = tuple(p for some in chosen for p in some or ())
            used = max((p.slot for p in placed), default=0)
            design = _design(workload, placed)
            this = objective(workload, design), design
            best = this if best is None or this[0] < best[0] else best
            if used < indexes:
                break
    assert best is not None
    return best[1]


def base_keys(workload: Workload) -> Iterator[FixedKey]:
    """The keys in the table that are worth trying, as decisions."""
    for one in (_Entity(workload, entity) for entity in workload.entities):
        for key in one.bases:
            item = one.laid_out([Placement(one.entity.name, OWN, BASE, key.candidate)]).item(one.entity.name)
            assert item is not None
            yield FixedKey(one.entity.name, item.facets[0].pk[0], item.facets[0].sk[0])


def _design(workload: Workload, placed: Iterable[Placement]) -> Design:
    there = tuple(sorted(placed))
    asked, _ = read_needs(workload)
    problem = problem_of(workload, asked)
    indexes = max((p.slot for p in there), default=0)
    copies = len({(p.entity, p.item) for p in there if p.item})
    design = lay_out(problem, Selection(there, (), (), indexes, copies, 0))
    return with_projections(map_patterns(design, workload), workload)


class _Entity:
    """The keys of one entity, and the best choice of them for each number of indexes."""

    def __init__(self, workload: Workload, entity: Entity) -> None:
        self.entity = entity
        reads = tuple(read for read in workload.reads if read.entities == (entity.name,))
        writes = tuple(write for write in workload.writes if write.entities == (entity.name,))
        others = tuple(e for e in workload.entities if e.name != entity.name)
        # The other entities stay for their numbers; without patterns they have any key.
        self.workload = replace(workload, reads=reads, writes=writes)
        self.rest = [Placement(e.name, OWN, BASE, _by_id(e)) for e in others]
        self.reads = {read.id: read for read in reads}
        self.bases = _best_of(filter(self._is_worthy_base, map(self._base, self._base_keys())))
        self.others = _best_of(filter(self._is_worthy, map(self._other, self._other_keys())))

    # --- All keys ---------------------------------------------------------------------------------------------------

    def _keys(self, names: Sequence[str], reads: Sequence[Read]) -> Iterator[Candidate]:
        """Every partition and sort order of attributes that one read mentions, with the rest of the id at the end."""
        ids = [a.name for a in self.entity.id]
        seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
        for size in range(len(names) + 1):
            for pk in combinations(names, size):
                orders: set[tuple[str, ...]] = {()}
                for read in reads:
                    if set(pk) <= _given(read):
                        rest = [n for n in names if n in _mentioned(read) and n not in pk]
                        orders |= {order for many in range(len(rest) + 1) for order in permutations(rest, many)}
                for order in sorted(orders):
                    left = [name for name in ids if name not in pk and name not in order]
                    for end in permutations(left):
                        if (pk, (*order, *end)) not in seen:
                            seen.add((pk, (*order, *end)))
                            yield Candidate(self.entity.name, pk, tuple(map(SortAttribute, (*order, *end))))

    def _base_keys(self) -> Iterator[Candidate]:
        ids = {a.name for a in self.entity.id}
        allowed = [a.name for a in self.entity.attributes if self._stays(a.name)]
        mentioned = {name for read in self.reads.values() for name in _mentioned(read)}
        whole = Read("", entities=(self.entity.name,))
        small = fits_one_partition(
            self.workload, self.entity, [n for q in read_needs(self.workload)[0] for n in q.needs]
        )
        for key in self._keys([n for n in allowed if n in ids | mentioned], [*self.reads.values(), whole]):
            if key.pk or small:
                yield key
        yield from self._unique_keys()

    def _unique_keys(self) -> Iterator[Candidate]:
        """A unique value that stays, instead of a generated id, if nothing knows the id only. A part of it comes first."""
        ids = {a.name for a in self.entity.id}
        if not self.entity.id[-1].generated:
            return
        changing = [w for w in self.workload.writes if any(a.verb is not Verb.CREATE for a in w.actions)]
        known = [*map(_given, self.reads.values()), *({one.attribute for one in write.inputs} for write in changing)]
        groups = [(a.name,) for a in self.entity.attributes if a.unique] + list(self.entity.unique)
        for group in (group for group in groups if all(map(self._stays, group))):
            if any(names >= ids and not names.issuperset(group) for names in known):
                continue
            for size in range(1, len(group) + 1):
                for pk in combinations(group, size):
                    rest = permutations(name for name in group if name not in pk)
                    yield from (Candidate(self.entity.name, pk, tuple(map(SortAttribute, order))) for order in rest)

    def _other_keys(self) -> Iterator[Candidate]:
        mentioned = {name for read in self.reads.values() for name in _mentioned(read)}
        names = [a.name for a in self.entity.attributes if a.name in mentioned]
        for key in self._keys(names, list(self.reads.values())):
            whole = any(not _given(read) for read in self.reads.values())
            if key.pk or whole:
                yield key

    def _stays(self, name: str) -> bool:
        """Whether every item has the attribute and keeps its value."""
        attribute = self.entity.attribute(name)
        assert attribute is not None
        changed = {
            change.attribute
            for write in self.workload.writes
            for action in write.actions
            if action.verb is Verb.UPDATE
            for change in changes(write, action, self.entity)
        }
        return not attribute.optional and not attribute.mutable and name not in changed

    # --- What a key does --------------------------------------------------------------------------------------------

    def _base(self, candidate: Candidate) -> Key:
        design = self.laid_out([Placement(self.entity.name, OWN, BASE, candidate)])
        return self._key(candidate, design, "table")

    def _other(self, candidate: Candidate) -> Key:
        own = Placement(self.entity.name, OWN, BASE, _by_id(self.entity))
        return self._key(candidate, self.laid_out([own, Placement(self.entity.name, OWN, 1, candidate)]), "gsi1")

    def laid_out(self, placed: Iterable[Placement]) -> Design:
        return _design(self.workload, [*placed, *self.rest])

    def _key(self, candidate: Candidate, design: Design, slot: str) -> Key:
        facets = [f for f in planner_facets(design, self.workload) if (f.entity, f.slot) == (self.entity.name, slot)]
        found = {id_: map_read(read, self.workload, facets) for id_, read in self.reads.items()}
        # A partition of all items is for the reads that give nothing, or the whole key.
        whole = set(candidate.attributes)
        suited = {id_ for id_, r in self.reads.items() if candidate.pk or not _given(r) or _given(r) >= whole}
        served = frozenset(id_ for id_, operation in found.items() if operation.served and id_ in suited)
        written = [operation for operation in design.operations if operation.pattern not in found]
        costs = bill(self.workload, design)
        return Key(
            candidate,
            served,
            frozenset(id_ for id_ in served if fans_out(found[id_])),
            frozenset(o.pattern for o in design.operations if o.pattern not in found and len(o.requests) > 1),
            costs.kept + sum((one.dollars for one in costs.patterns if one.pattern not in found), Decimal()),
            len(design.guards),
            frozenset(o.pattern for o in design.operations if o.pattern not in found and not o.served),
            whole >= {a.name for a in self.entity.id},
            self._hot(replace(design, operations=(*found.values(), *written)), slot),
        )

    def _hot(self, design: Design, slot: str) -> frozenset[str]:
        units = [replace(o, units=predict_units(o, design, self.workload)) for o in design.operations]
        hot = hot_loads(self.workload, replace(design, operations=tuple(units)))
        return frozenset(load.read for load in hot if (load.entity, load.slot) == (self.entity.name, slot))

    def _is_worthy(self, key: Key) -> bool:
        """Whether no read gives something better than the partition, for one that the key serves.

        An id is better than other attributes, these than a status, and a status than nothing.
        """
        own = self._identified(key.candidate.pk)
        needed = {a.name for a in self.entity.id}.union(*(_mentioned(self.reads[read]) for read in key.serves))
        if not needed.issuperset(key.candidate.attributes):
            return False  # no attribute is in a key only to be held by an index of keys
        return any(own >= self._identified(_given(self.reads[read])) for read in key.serves)

    def _is_worthy_base(self, key: Key) -> bool:
        own = self._identified(key.candidate.pk)
        if own < 0:
            return self._is_worthy(key) and self._is_found(key)
        return own >= self._identified(a.name for a in self.entity.id) or (own > 0 and self._is_worthy(key))

    def _is_found(self, key: Key) -> bool:
        """Whether everything that knows the id of an item knows its key."""
        ids, whole = {a.name for a in self.entity.id}, set(key.candidate.attributes)
        updated = any(a.verb is not Verb.CREATE for write in self.workload.writes for a in write.actions)
        given = [_given(read) for read in self.reads.values()] + ([ids] if updated else [])
        return all(names >= whole for names in given if names >= ids)

    def _identified(self, names: Iterable[str]) -> int:
        return max((identifies(self.workload, self.entity, name) for name in names), default=-1)

    # --- Choices ----------------------------------------------------------------------------------------------------

    def best(self, indexes: int) -> tuple[Placement, ...] | None:
        """The best keys with at most this many indexes, and as few copies as that needs; None if that is too many."""
        choices = [(base, cover) for base in self.bases for cover in self._covers(base, MOST_INDEXES + 1)]
        for copies in range(3):
            fitting = [(base, cover) for base, cover in choices if len(cover) <= indexes + copies]
            placed = [p for one in sorted(fitting, key=_promise)[:TRIED] for p in self._placed(*one, indexes, copies)]
            if placed:
                return min(placed, key=self._value)
        return None

    def _value(self, placed: Iterable[Placement]) -> Objective:
        """The objective of the keys of this entity. The indexes are there already, so they do not count."""
        design = self.laid_out(placed)
        found = objective(self.workload, design)
        return replace(found, complexity=found.complexity - len(design.indexes))

    def _covers(self, base: Key, most: int) -> Iterator[tuple[Key, ...]]:
        """The sets of further keys that serve all that can be served, without one that is not needed."""
        possible = frozenset().union(*(key.serves for key in (*self.bases, *self.others)))

        def extended(chosen: tuple[Key, ...], left: frozenset[str]) -> Iterator[tuple[Key, ...]]:
            if not left:
                yield chosen
            elif len(chosen) < most:
                first = min(left)
                for key in self.others:
                    if first in key.serves:
                        yield from extended((*chosen, key), left - key.serves)

        yield from extended((), possible - base.serves)

    def _placed(self, base: Key, cover: Sequence[Key], indexes: int, copies: int) -> Iterator[tuple[Placement, ...]]:
        """The keys at their places: some are those of copies in the table, the rest are in indexes.

        An index holds no copies: an item is not stored twice only to be in an index twice.
        """
        name = self.entity.name
        optional = {a.name for a in self.entity.attributes if a.optional}
        own = Placement(name, OWN, BASE, base.candidate)
        for bases in combinations(range(len(cover)), copies):
            if any(optional & set(cover[at].candidate.attributes) for at in bases):
                continue
            rest = [key.candidate for at, key in enumerate(cover) if at not in bases]
            if len(rest) <= indexes:
                there = [Placement(name, number, BASE, cover[at].candidate) for number, at in enumerate(bases, 1)]
                there += [Placement(name, OWN, slot, key) for slot, key in enumerate(rest, 1)]
                yield (own, *there)


def _promise(choice: tuple[Key, tuple[Key, ...]]) -> tuple[int, Decimal, int, Decimal]:
    """The objective of a choice, as far as the parts add up."""
    base, cover = choice
    fans: set[str] = set()
    hot: set[str] = set()
    done: set[str] = set()
    for key in (base, *cover):
        fans |= key.fans - done
        hot |= key.hot - done
        done |= key.serves
    weight = WEIGHTS["fan-out read"] * len(fans) + WEIGHTS["hot partition"] * len(hot)
    reading = frozenset[str]().union(*(key.reading for key in (base, *cover)))
    dollars = sum((key.dollars for key in cover), base.dollars)
    return len(base.lost), weight + WEIGHTS["guard"] * base.guards, len(reading), dollars


def _best_of(keys: Iterable[Key]) -> list[Key]:
    """The keys that no other one beats."""
    found: list[Key] = []
    for key in keys:
        if not any(one.beats(key) for one in found):
            found = [one for one in found if not key.beats(one)] + [key]
    return found


def _by_id(entity: Entity) -> Candidate:
    first, *rest = (a.name for a in entity.id)
    return Candidate(entity.name, (first,), tuple(map(SortAttribute, rest)))


def _given(read: Read) -> set[str]:
    return {one.attribute for one in read.inputs if one.op is Op.EQ and not one.filter}


def _mentioned(read: Read) -> set[str]:
    return {one.attribute for one in (*read.inputs, *read.sort)}
