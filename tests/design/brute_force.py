"""The best design of a small workload by trying all keys: `best_design(workload)`.

Entities are independent, except that they share the indexes, and that a read of several of them finds them in one
partition. So for each number of indexes all places of these reads are tried: the table or an index, and every division
of the given attributes into a partition and what precedes the type in the sort key. For each combination of places the
best keys of each entity are found alone, and the best combination is taken.

Keys are all divisions of an entity's attributes into a partition and a sort order, without the limits that the solver
has, and which reads a key serves is asked of the planner. What is compared is the objective of real designs, mapped and
priced. Keys are left out only if another one serves at least the same reads and costs no more; so what is found is a
design, and perhaps not the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, permutations, product

from msgspec.structs import replace

from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.cost.objective import WEIGHTS, Objective, fans_out, objective
from prejoin.design.cost.units import predict_units
from prejoin.design.layout.index_keys import with_index_keys
from prejoin.design.layout.lay_out import lay_out
from prejoin.design.layout.projection import with_projections
from prejoin.design.mapping.addressing import finding
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.map_reads import ask_of, map_read
from prejoin.design.model import Design, Projection
from prejoin.design.solver.candidates import Candidate, identifies
from prejoin.design.solver.candidates import _is_small as fits_one_partition
from prejoin.design.solver.needs import SortAttribute, read_needs
from prejoin.design.solver.placement import BASE, OWN, CollectionPlace, Placement, Selection
from prejoin.design.solver.search import problem_of
from prejoin.workload.lookup import changes
from prejoin.workload.model import Entity, FixedKey, Op, Read, Verb, Workload
from prejoin.workload.program.resolved_write import resolve_write

MOST_INDEXES = 6
TRIED = 60
"""How many combinations of the keys of an entity are priced, the most promising first."""


@dataclass(frozen=True)
class Key:
    """A key, the reads that it serves, the writes that find their items by it, and what it costs to keep."""

    candidate: Candidate
    serves: frozenset[str]
    fans: frozenset[str]
    """The reads that take several requests with it."""
    reading: frozenset[str]
    """The writes that have to read first because of it."""
    dollars: Decimal
    guards: int
    identifies: bool
    """Whether it holds the id: then all that know the key know the id."""
    hot: frozenset[str]
    """The reads that are too many for one partition; and an empty text if the writes are."""
    ways: frozenset[CollectionPlace]
    """The places of reads of several entities that it is in, if it is in the table."""

    def beats(self, other: Key) -> bool:
        return (
            self.serves >= other.serves
            and self.ways >= other.ways
            and self.fans & other.serves <= other.fans
            and self.reading <= other.reading
            and self.dollars <= other.dollars
            and self.guards <= other.guards
            and self.identifies >= other.identifies
            and self.hot & {*other.serves, ""} <= other.hot
        )


@dataclass(frozen=True)
class Choice:
    """Keys of an entity: one in the table, some in given slots, of which those in the table are copies, and others."""

    base: Key
    pinned: tuple[tuple[int, Key], ...]
    free: tuple[Key, ...]

    @property
    def keys(self) -> tuple[Key, ...]:
        return (self.base, *(key for _, key in self.pinned), *self.free)


@dataclass(frozen=True)
class Asked:
    """What a read asks of an entity, in the entity's own names of the attributes."""

    given: frozenset[str]
    mentioned: frozenset[str]
    constants: tuple[tuple[str, str], ...]
    """The values that are always the same: an index can hold only the items that have them."""


def best_design(workload: Workload) -> Design:
    """The best design found."""
    found = [_Entity(workload, entity) for entity in workload.entities]
    best: tuple[Objective, Design] | None = None
    for indexes in range(MOST_INDEXES + 1):
        if best and not best[0].lost and indexes > best[0].complexity:
            break
        for together in _places(workload, indexes):
            chosen = [one.best(indexes, one.needed(together)) for one in found]
            if all(placed is not None for placed in chosen):
                placed = tuple(p for some in chosen for p in some or ())
                design = _with_natural_keys(workload, _design(workload, placed, together))
                this = objective(workload, design), design
                best = this if best is None or this[0] < best[0] else best
    assert best is not None
    return best[1]


def _with_natural_keys(workload: Workload, design: Design) -> Design:
    whole = replace(design, slots=tuple(replace(slot, projection=Projection()) for slot in design.slots))
    texts = map_patterns(whole, workload)
    nothing = replace(design, slots=design.slots[:1])

    def projected(one: Design) -> Design:
        return with_projections(one, workload)

    return projected(with_index_keys(texts, workload, nothing, projected))


def _places(workload: Workload, indexes: int) -> Iterator[tuple[CollectionPlace, ...]]:
    """All combinations of places for the reads of several entities. Indexes are alike, so they are taken in order."""
    shared = [read for read in workload.reads if len(read.entities) > 1]
    for slots in product(range(indexes + 1), repeat=len(shared)):
        if all(slot <= max(slots[:at], default=0) + 1 for at, slot in enumerate(slots)):
            yield from product(*(_ways(read, slot) for read, slot in zip(shared, slots, strict=True)))


def _ways(read: Read, slot: int) -> Iterator[CollectionPlace]:
    """The divisions of what a read gives."""
    given = sorted(_given(read))
    for size in range(1, len(given) + 1):
        for pk in combinations(given, size):
            for rest in permutations(name for name in given if name not in pk):
                yield CollectionPlace(read.id, slot, pk, rest)


def base_keys(workload: Workload) -> Iterator[FixedKey]:
    """The keys in the table that are worth trying, as decisions."""
    for one in (_Entity(workload, entity) for entity in workload.entities):
        for key in one.bases:
            item = one.laid_out([Placement(one.entity.name, OWN, BASE, key.candidate)]).item(one.entity.name)
            assert item is not None
            yield FixedKey(one.entity.name, item.facets[0].pk[0], item.facets[0].sk[0])


def _design(workload: Workload, placed: Iterable[Placement], together: tuple[CollectionPlace, ...] = ()) -> Design:
    there = tuple(sorted(placed))
    asked, _ = read_needs(workload)
    problem = problem_of(workload, asked)
    indexes = max((p.slot for p in there), default=0)
    copies = len({(p.entity, p.item) for p in there if p.item})
    design = lay_out(problem, Selection(there, together, (), indexes, copies, 0))
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
        self.full = workload
        self.shared = [read for read in workload.reads if len(read.entities) > 1 and entity.name in read.entities]
        self.asked = {read.id: _asked(workload, entity, read) for read in (*reads, *self.shared)}
        self.changed = {
            write.id: step.known
            for write in writes
            for step in resolve_write(workload, write).steps
            if step.verb is not Verb.CREATE
        }
        self.asked |= {id_: Asked(names, names, ()) for id_, names in self.changed.items()}
        self.known: dict[tuple[int, frozenset[CollectionPlace]], tuple[Placement, ...] | None] = {}
        self.bases = _best_of(filter(self._is_worthy_base, map(self._base, self._base_keys())))
        self.others = _best_of(filter(self._is_worthy, map(self._other, self._other_keys())))

    # --- All keys ---------------------------------------------------------------------------------------------------

    def _keys(self, names: Sequence[str]) -> Iterator[Candidate]:
        """Every partition and sort order of attributes that one read mentions, with the rest of the id at the end."""
        ids = [a.name for a in self.entity.id]
        for size in range(len(names) + 1):
            for pk in combinations(names, size):
                orders: set[tuple[str, ...]] = {()}
                for one in self.asked.values():
                    if set(pk) <= one.given:
                        rest = [n for n in names if n in one.mentioned and n not in pk]
                        orders |= {order for many in range(len(rest) + 1) for order in permutations(rest, many)}
                ends = {
                    (*order, *end)
                    for order in orders
                    for end in permutations(name for name in ids if name not in pk and name not in order)
                }
                for sk in sorted(ends):
                    yield from self._shared_keys(Candidate(self.entity.name, pk, tuple(map(SortAttribute, sk))))

    def _shared_keys(self, key: Candidate) -> Iterator[Candidate]:
        """The key; and for reads of several entities its type after what they give, and partitions that are not cut."""
        positions, whole = {0}, {False}
        for read in self.shared:
            given = self.asked[read.id].given
            if key.pk and given.issuperset(key.pk):
                positions.add(len(given) - len(key.pk))
                whole.add(True)
        for position, uncut in product(sorted(positions), sorted(whole)):
            yield replace(key, type_position=position, whole=uncut)

    def _base_keys(self) -> Iterator[Candidate]:
        needed = {a.name for a in self.entity.id}.union(*(one.mentioned for one in self.asked.values()))
        names = [a.name for a in self.entity.attributes if a.name in needed and self._stays(a.name)]
        needs = [n for q in read_needs(self.workload)[0] for n in q.needs]
        small = fits_one_partition(self.full, self.entity, needs)
        yield from (key for key in self._keys(names) if key.pk or small)
        yield from self._unique_keys()

    def _unique_keys(self) -> Iterator[Candidate]:
        """A unique value that stays, instead of a generated id, if nothing knows the id only. A part of it comes first.

        A single id is generated unless the document says otherwise.
        """
        ids = {a.name for a in self.entity.id}
        last = self.entity.id[-1]
        if not last.generated and not (len(ids) == 1 and last.generated is None):
            return
        groups = [(a.name,) for a in self.entity.attributes if a.unique] + list(self.entity.unique)
        for group in (group for group in groups if all(map(self._stays, group))):
            if any(one.given >= ids and not one.given.issuperset(group) for one in self.asked.values()):
                continue
            for size in range(1, len(group) + 1):
                for pk in combinations(group, size):
                    rest = permutations(name for name in group if name not in pk)
                    yield from (Candidate(self.entity.name, pk, tuple(map(SortAttribute, order))) for order in rest)

    def _other_keys(self) -> Iterator[Candidate]:
        mentioned = frozenset[str]().union(*(one.mentioned for one in self.asked.values()))
        listed = any(not one.given for one in self.asked.values())
        for when in dict.fromkeys([(), *(one.constants for one in self.asked.values())]):
            left = mentioned - {name for name, _ in when}
            keys = self._keys([a.name for a in self.entity.attributes if a.name in left])
            yield from (replace(key, when=when) for key in keys if key.pk or when or listed)

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
        return self._key(candidate, design, BASE)

    def _other(self, candidate: Candidate) -> Key:
        own = Placement(self.entity.name, OWN, BASE, _by_id(self.entity))
        return self._key(candidate, self.laid_out([own, Placement(self.entity.name, OWN, 1, candidate)]), 1)

    def laid_out(self, placed: Iterable[Placement]) -> Design:
        return _design(self.workload, [*placed, *self.rest])

    def _key(self, candidate: Candidate, design: Design, number: int) -> Key:
        slot = design.slots[number].name
        facets = [f for f in planner_facets(design, self.workload) if (f.entity, f.slot) == (self.entity.name, slot)]
        found = {id_: map_read(read, self.workload, facets) for id_, read in self.reads.items()}
        # A partition of all items is for the reads that give nothing, or the whole key.
        whole = set(candidate.attributes)
        given = {id_: self.asked[id_].given for id_ in found}
        parted = candidate.pk or candidate.when
        suited = {id_ for id_ in found if parted or not given[id_] or given[id_] >= whole}
        served = frozenset(id_ for id_, operation in found.items() if operation.served and id_ in suited)
        written = [operation for operation in design.operations if operation.pattern not in found]
        served |= {id_ for id_, names in self.changed.items() if finding(facets, self.entity, names)}
        costs = bill(self.workload, design)
        return Key(
            candidate,
            served,
            frozenset(id_ for id_, operation in found.items() if id_ in served and fans_out(operation)),
            frozenset(o.pattern for o in design.operations if o.pattern not in found and len(o.requests) > 1),
            costs.kept + sum((one.dollars for one in costs.patterns if one.pattern not in found), Decimal()),
            len(design.guards),
            whole >= {a.name for a in self.entity.id},
            self._hot(replace(design, operations=(*found.values(), *written)), slot),
            frozenset(
                replace(way, slot=BASE)
                for read in self.shared
                for way in _ways(read, number)
                if self._lies_in(read, candidate, way)
            ),
        )

    def _lies_in(self, read: Read, candidate: Candidate, way: CollectionPlace) -> bool:
        """Whether the planner finds items with this key in the place, beside those of the other entities."""

        def key_of(entity: Entity) -> Candidate:
            pk, rest = ([ask.attribute(entity.name, name) for name in names] for names in (way.names, way.prefix))
            sk = [*rest, *(a.name for a in entity.id if a.name not in (*pk, *rest))]
            return Candidate(entity.name, tuple(pk), tuple(map(SortAttribute, sk)), type_position=len(rest), whole=True)

        ask = ask_of(read, self.full)
        usual = key_of(self.entity)
        if {*usual.pk} != {*candidate.pk} or usual.sk[: len(way.prefix)] != candidate.sk[: len(way.prefix)]:
            return False
        keys = {e.name: key_of(e) for e in self.full.entities if e.name in read.entities} | {
            self.entity.name: candidate
        }
        placed = {Placement(name, OWN, way.slot, key) for name, key in keys.items()}
        bases = {p.entity for p in placed if p.slot == BASE}
        placed |= {Placement(e.name, OWN, BASE, _by_id(e)) for e in self.full.entities if e.name not in bases}
        design = _design(self.full, placed, (way,))
        slot = design.slots[way.slot].name
        facets = [f for f in planner_facets(design, self.full) if f.slot == slot and f.entity in keys]
        return map_read(read, self.full, facets).served

    def _hot(self, design: Design, slot: str) -> frozenset[str]:
        units = [replace(o, units=predict_units(o, design, self.workload)) for o in design.operations]
        hot = hot_loads(self.workload, replace(design, operations=tuple(units)))
        return frozenset(load.read for load in hot if (load.entity, load.slot) == (self.entity.name, slot))

    def _is_worthy(self, key: Key) -> bool:
        """Whether no read gives something better than the partition, for one that the key serves.

        An id is better than other attributes, these than a status, and a status than nothing.
        """
        own = self._identified(key.candidate.pk)
        asked = [self.asked[read] for read in (*key.serves, *(way.read for way in key.ways))]
        needed = {a.name for a in self.entity.id}.union(*(one.mentioned for one in asked))
        if not needed.issuperset(key.candidate.attributes):
            return False  # no attribute is in a key only to be held by an index of keys
        left_out = {name for name, _ in key.candidate.when}
        return any(own >= self._identified(one.given - left_out) for one in asked)

    def _is_worthy_base(self, key: Key) -> bool:
        own = self._identified(key.candidate.pk)
        if own < 0:
            return self._is_worthy(key) and self._is_found(key)
        groups = [{a.name} for a in self.entity.attributes if a.unique] + [set(group) for group in self.entity.unique]
        if any(group.issubset(key.candidate.pk) for group in groups) and not self._is_found(key):
            return False  # a unique value is no partition of items that are asked for by their id
        return own >= self._identified(a.name for a in self.entity.id) or (own > 0 and self._is_worthy(key))

    def _is_found(self, key: Key) -> bool:
        """Whether everything that knows the id of an item knows its key."""
        ids, whole = {a.name for a in self.entity.id}, set(key.candidate.attributes)
        return all(one.given >= whole for one in self.asked.values() if one.given >= ids)

    def _identified(self, names: Iterable[str]) -> int:
        return max((identifies(self.workload, self.entity, name) for name in names), default=-1)

    # --- Choices ----------------------------------------------------------------------------------------------------

    def needed(self, together: Iterable[CollectionPlace]) -> frozenset[CollectionPlace]:
        """The places in which this entity needs a key."""
        ids = {read.id for read in self.shared}
        return frozenset(way for way in together if way.read in ids)

    def best(self, indexes: int, needed: frozenset[CollectionPlace]) -> tuple[Placement, ...] | None:
        """The best keys with at most this many indexes, and as few copies as that needs; None if that is too many."""
        if (indexes, needed) not in self.known:
            self.known[indexes, needed] = self._best(indexes, needed)
        return self.known[indexes, needed]

    def _best(self, indexes: int, needed: frozenset[CollectionPlace]) -> tuple[Placement, ...] | None:
        choices = sorted((one for base in self.bases for one in self._choices(base, needed)), key=_promise)
        for copies in range(3):
            fitting = [one for one in choices if len(one.keys) <= 1 + indexes + copies]
            placed = [p for one in fitting[:TRIED] for p in self._placed(one, indexes, copies)]
            if placed:
                return min(placed, key=self._value)
        return None

    def _value(self, placed: Iterable[Placement]) -> Objective:
        """The objective of the keys of this entity. The indexes are there already, so they do not count."""
        design = self.laid_out(placed)
        found = objective(self.workload, design)
        return replace(found, complexity=found.complexity - len(design.indexes))

    def _choices(self, base: Key, needed: frozenset[CollectionPlace]) -> Iterator[Choice]:
        """The keys that are in all places and serve all that can be served, without one that is not needed."""
        wanted = [
            (slot, frozenset(replace(way, slot=BASE) for way in needed if way.slot == slot))
            for slot in sorted({way.slot for way in needed} - {BASE})
        ]
        wanted += [(BASE, frozenset({way})) for way in sorted(needed - base.ways) if way.slot == BASE]
        for pinned in product(*([(slot, key) for key in self.others if key.ways >= ways] for slot, ways in wanted)):
            served = base.serves.union(*(key.serves for _, key in pinned))
            for free in self._covers(served):
                yield Choice(base, tuple(dict.fromkeys(pinned)), free)

    def _covers(self, served: frozenset[str]) -> Iterator[tuple[Key, ...]]:
        """The sets of further keys that serve the rest of all that can be served, without one that is not needed."""
        possible = frozenset[str]().union(*(key.serves for key in (*self.bases, *self.others)))

        def extended(chosen: tuple[Key, ...], left: frozenset[str]) -> Iterator[tuple[Key, ...]]:
            if not left:
                yield chosen
            elif len(chosen) <= MOST_INDEXES:
                first = min(left)
                for key in self.others:
                    if first in key.serves:
                        yield from extended((*chosen, key), left - key.serves)

        yield from extended((), possible - served)

    def _placed(self, choice: Choice, indexes: int, copies: int) -> Iterator[tuple[Placement, ...]]:
        """The keys at their places: some are those of copies in the table, the rest are in indexes.

        An index holds no copies: an item is not stored twice only to be in an index twice.
        """
        name, free = self.entity.name, choice.free
        optional = {a.name for a in self.entity.attributes if a.optional}
        taken = {slot: key for slot, key in choice.pinned if slot != BASE}
        stored = [key for slot, key in choice.pinned if slot == BASE]
        open_ = [slot for slot in range(1, indexes + 1) if slot not in taken]
        for chosen in combinations(range(len(free)), max(0, copies - len(stored))):
            copied = [*stored, *(free[at] for at in chosen)]
            rest = [key for at, key in enumerate(free) if at not in chosen]
            if (
                len(copied) == copies
                and len(rest) <= len(open_)
                and not any(optional.intersection(key.candidate.attributes) for key in copied)
            ):
                there = [(OWN, BASE, choice.base), *((number, BASE, key) for number, key in enumerate(copied, 1))]
                there += [(OWN, slot, key) for slot, key in (*taken.items(), *zip(open_, rest, strict=False))]
                yield tuple(Placement(name, item, slot, key.candidate) for item, slot, key in there)


def _promise(choice: Choice) -> tuple[Decimal, int, Decimal]:
    """The objective of a choice, as far as the parts add up."""
    fans: set[str] = set()
    hot: set[str] = set()
    done: set[str] = set()
    for key in choice.keys:
        fans |= key.fans - done
        hot |= key.hot - done
        done |= key.serves
    weight = WEIGHTS["fan-out read"] * len(fans) + WEIGHTS["hot partition"] * len(hot)
    reading = frozenset[str]().union(*(key.reading for key in choice.keys))
    dollars = sum((key.dollars for key in choice.keys), Decimal())
    return weight + WEIGHTS["guard"] * choice.base.guards, len(reading), dollars


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


def _asked(workload: Workload, entity: Entity, read: Read) -> Asked:
    ask = ask_of(read, workload)
    names = {one.attribute for one in read.inputs} | {one.attribute for one in read.sort}
    own = {name: ask.attribute(entity.name, name) for name in names}
    fixed = [(own[one.attribute], one.values[0].const) for one in read.inputs if one.values and one.values[0].const]
    return Asked(frozenset(own[name] for name in _given(read)), frozenset(own.values()), tuple(fixed))
