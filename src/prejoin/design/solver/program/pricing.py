"""The options of a component: each candidate in each kind of place, with the reads it serves and what it costs.

Every figure comes from the functions that price the finished design: the layout writes the candidate's key, the planner
maps the reads to it, and the estimates count the entries of each write. So the bill that the solver minimises is the
bill that is printed. Some parts of a bill are shared between the keys of an item, and are priced by themselves: a write
pays once for a transaction (`Prices.transaction`), and once for reading an item first (`Prices.read_first`, and
`Prices.refresh_first` for refreshes of attributes that follow others).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from prejoin import keys
from prejoin.design.cost.assumptions import GARBAGE, SEVERAL, count_by, peak, per_second, several, size_of
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.heat import read_loads, write_loads
from prejoin.design.cost.objective import WEIGHTS, fans_out
from prejoin.design.cost.refreshes import change_rate, reads_first, refresh_write
from prejoin.design.cost.units import predict_units, units_of
from prejoin.design.cost.upkeep import items_of, writes_of
from prejoin.design.counters import counters_of, with_kept
from prejoin.design.layout.key_words import Alike, KeyWords
from prejoin.design.layout.lay_out import guards_of
from prejoin.design.mapping.addressing import finding, unknown
from prejoin.design.mapping.facets import planner_facet
from prejoin.design.mapping.map_reads import group_text, map_read
from prejoin.design.mapping.map_writes import entity_actions
from prejoin.design.model import (
    TABLE,
    Call,
    Design,
    Facet,
    Guard,
    Item,
    KeyAttribute,
    Operation,
    Projection,
    ProjectionKind,
    Request,
    Slot,
)
from prejoin.design.solver.candidates import Candidate, joined_by, unique_keys
from prejoin.design.solver.needs import ReadNeeds, item_changes, writes_to
from prejoin.design.solver.placement import BASE, OWN, Placement, Problem, Selection, placement_answers
from prejoin.design.stores import stores_of
from prejoin.protocol.limits import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from prejoin.protocol.prices import (
    EVENTUAL,
    GB,
    MONTH_SECONDS,
    READ_UNIT_SIZE,
    STORAGE_OVERHEAD,
    STRONG,
    dollars,
    read_units,
    write_units,
)
from prejoin.workload.contents import contents_of
from prejoin.workload.follow_links import follow_links
from prejoin.workload.lookup import alternatives
from prejoin.workload.model import Action, Combine, Entity, Workload, Write
from prejoin.workload.targets import actions_of, checked_items, known

_INDEX = "index"
_COPY = "copy"
_SLOTS = (
    Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),)),
    Slot(_INDEX, (KeyAttribute("index_pk"),), (KeyAttribute("index_sk"),)),
)


class Answer(msgspec.Struct, frozen=True, order=True):
    """How a read of one entity is answered by a key."""

    hot: bool
    """Whether it takes more read units than one partition has."""
    fans_out: bool
    dollars: float
    """The cost of the read in a month."""

    def is_as_good(self, other: Answer) -> bool:
        """Whether no part is worse than that of another answer."""
        return self.hot <= other.hot and self.fans_out <= other.fans_out and self.dollars <= other.dollars


class Price(msgspec.Struct, frozen=True):
    """The cost of a key in one kind of place, and the reads of one entity that it answers."""

    dollars: float
    """What its entries and its storage cost in a month, without the shared parts."""
    answers: Mapping[str, Answer]
    """By the id of the read."""
    read_first: frozenset[str] = frozenset()
    """The writes that have to read the item first because of it."""
    refreshes_first: frozenset[int] = frozenset()
    """The numbers of the follow links whose refresh has to read each item first because of it."""
    atomic: frozenset[tuple[str, str]] = frozenset()
    """The writes and entities that become transactions because of it."""
    finds: frozenset[str] = frozenset()
    """The writes that can find their items by it."""
    cut: bool = False
    """Whether its partitions are split into shards or by time."""
    without_id: frozenset[str] = frozenset()
    """The writes that have to read the item first because of it, if the key in the table does not hold the id."""
    guards: int = 0
    """The complexity in halves of guards that the entity has because of this key, and not with every other one."""
    hot: bool = False
    """Whether its busiest partition takes more writes than a partition has."""
    hot_if_guarded: bool = False
    """Whether that is so if the key in the table has a guard: items are written in transactions then."""
    length: int = 0
    """The length of the key as a template. An index of few attributes holds little else than keys, also the table's."""
    queries_each: int = 0
    """Joins that send a Query for each item of the entity, because their ids are not this key in the table."""


class _Probe:
    """A design with the items of one entity only, and what it makes of their writes."""

    def __init__(self, design: Design, workload: Workload, entity: Entity) -> None:
        self.design = design
        self.figures = Estimates(design, workload)
        self._entity = entity
        self._requests: dict[str, list[tuple[Action, Request]]] = {}

    def requests(self, write: Write) -> list[tuple[Action, Request]]:
        """Each action of a write on the entity, with its request."""
        if write.id not in self._requests:
            found = entity_actions(write, self.figures.workload, self.design, self._entity)
            self._requests[write.id] = found
        return self._requests[write.id]

    def actions(self, write: Write) -> int:
        """The number of items of the entity, its copies and guards that a write writes."""
        return sum(len(request.actions) for _, request in self.requests(write))

    def with_slots(self, slots: tuple[Slot, ...]) -> _Probe:
        design = msgspec.structs.replace(self.design, slots=slots)
        return _Probe(design, self.figures.workload, self._entity)


class Prices:
    """The prices of the keys of one entity."""

    def __init__(self, problem: Problem, entity: Entity, questions: Iterable[ReadNeeds], same: Alike) -> None:
        self._same = same
        self._problem = problem
        self._workload: Workload = problem.workload
        self._entity = entity
        self._questions = {q.read.id: q for q in questions if q.ask.entities == (entity.name,)}
        self._ids = Candidate(entity.name, tuple(a.name for a in entity.id))
        self._own = self._facet(Placement(entity.name, OWN, BASE, self._ids), TABLE)
        self._forced = self._common_guards()
        self._writes = writes_to(self._workload, entity)
        self._without = self._probe(self._own, guards=self._forced)
        self._always = self._first(self._without)
        self._plain = self._probe(self._own)
        self._plain_table = self._table(self._plain)
        self._guarded: dict[tuple[Guard, ...], Price] = {}
        """What guards cost; they are all that depends on the key in the table, except for the reads."""

    def base(self, candidate: Candidate, facet: Facet | None = None) -> Price:
        """The own item with this key in the table. Its entries cost the same with every key."""
        facet = facet or self._facet(Placement(self._entity.name, OWN, BASE, candidate), TABLE)
        guards = tuple(guards_of(self._workload, self._entity, candidate)) if not candidate.fixed else self._forced
        answers, finds, cut = self._answered(self._probe(facet, guards=guards), facet, candidate)
        if guards not in self._guarded:
            more = self._probe(self._own, guards=tuple(g for g in guards if g not in self._forced))
            self._guarded[guards] = Price(
                self._table(more) - self._plain_table,
                {},
                self._first(self._probe(self._own, guards=guards)) - self._always,
                self._refreshes_first(self._probe(self._own, guards=guards)),
                self._together(more),
                guards=sum(self._halves(guard) for guard in more.design.guards),
            )
        return msgspec.structs.replace(
            self._guarded[guards],
            answers=answers,
            finds=finds,
            cut=cut,
            hot=self._is_hot(self._probe(facet), TABLE, atomic=self._guarded[guards].atomic),
            length=_length(facet),
            queries_each=sum(not ids.issuperset(candidate.attributes) for ids in self._joined),
        )

    def index(self, candidate: Candidate, facet: Facet | None = None) -> Price:
        """The own item with this key in an index."""
        facet = facet or self._facet(Placement(self._entity.name, OWN, 1, candidate), _INDEX)
        facet = msgspec.structs.replace(facet, slot=_INDEX)
        probe = self._probe(self._own, facet)
        answers, finds, cut = self._answered(probe, facet, candidate)
        narrowest = self._narrowest(probe, candidate, [self._questions[read] for read in answers])
        return Price(
            self._entries(probe, _INDEX) + self._stored(probe, _INDEX),
            answers,
            self._first(probe) - self._always,
            self._refreshes_first(probe),
            finds=finds,
            cut=cut,
            without_id=self._first_without_id(probe),
            hot=self._is_hot(narrowest, _INDEX),
            hot_if_guarded=self._is_hot(narrowest, _INDEX, atomic=self._atomic_if_guarded),
            length=_length(facet),
        )

    def copy(self, candidate: Candidate) -> Price:
        """A copy with this key in the table."""
        facet = self._facet(Placement(self._entity.name, OWN + 1, BASE, candidate), TABLE)
        copy = Item(self._entity.name, _COPY, (facet,), _COPY)
        probe = self._probe(self._own, copy=copy)
        answers, finds, cut = self._answered(probe, facet, candidate, copy)
        return Price(
            self._table(probe) - self._plain_table,
            answers,
            self._first(probe) - self._always,
            self._refreshes_first(probe),
            self._together(probe),
            finds,
            cut,
            self._first_without_id(probe),
            hot=self._is_hot(probe, TABLE, _COPY),
        )

    def _common_guards(self) -> tuple[Guard, ...]:
        """The guards that the entity has with any key. A unique value that may be the key itself needs none then."""
        every = tuple(guards_of(self._workload, self._entity, self._ids))
        if (self._entity.name, OWN, BASE) in self._problem.fixed.candidates:
            return every
        keys_ = unique_keys(self._workload, self._entity)
        return tuple(guard for guard in every if frozenset(guard.attributes) not in keys_)

    def _halves(self, guard: Guard) -> int:
        of_key = set(guard.attributes) == {a.name for a in self._entity.id}
        return int(2 * WEIGHTS["guard of a key" if of_key else "guard"])

    @cached_property
    def _joined(self) -> list[frozenset[str]]:
        return joined_by(self._workload, self._entity)

    # --- Parts that several keys share --------------------------------------------------------------------------------

    def transaction(self, write: Write) -> float:
        """What it costs in a month that the own items of this entity are written in a transaction."""
        probe = self._without
        return self._month(write, self._units(probe, write, TABLE, True) - self._units(probe, write, TABLE, False))

    @cached_property
    def _plain_writes(self) -> frozenset[str]:
        """The writes of this entity that are no transactions, if only forced guards are written with it."""
        return frozenset(write.id for write in self._writes if self._is_plain(write))

    @cached_property
    def _atomic_if_guarded(self) -> frozenset[tuple[str, str]]:
        """The writes that become transactions with all guards that the entity may have."""
        return self._together(self._probe(self._own, guards=tuple(guards_of(self._workload, self._entity, self._ids))))

    def _is_plain(self, write: Write) -> bool:
        if checked_items(self._workload, write):
            return False
        if write.atomic is not False and len(actions_of(self._workload, write)) > 1:
            return False
        requests = [request for _, request in self._without.requests(write)]
        return all(len(r.actions) == 1 and not (r.actions[0].many and write.atomic is not False) for r in requests)

    def read_first(self, write: Write) -> float:
        """What it costs in a month to read the items before the write, one by one."""
        return _dollars(reads=per_second(write.rate) * self._items(write) * read_units(size_of(self._entity), STRONG))

    def refresh_first(self, number: int) -> float:
        """What it costs in a month to read the items that follow a source, before they are refreshed."""
        items = self._refreshed[number][1]
        return _dollars(reads=items * read_units(size_of(self._entity), STRONG))

    def find(self, write: Write) -> float:
        """What it costs in a month to find the items of a write by another key."""
        return _dollars(reads=per_second(write.rate) * read_units(size_of(self._entity) * self._items(write)))

    def _items(self, write: Write) -> int:
        """The number of items of this entity that a write changes."""
        many = any(a.many for a in write.actions if a.entity == self._entity.name)
        return (several(self._workload, write, self._entity) or SEVERAL) if many else 1

    @property
    def forced(self) -> int:
        """The number of guards that the entity has with any key."""
        return len(self._forced)

    @cached_property
    def _is_busy(self) -> bool:
        """Whether one partition could not take all writes, each a transaction that changes an index key."""
        units = 2 * write_units(size_of(self._entity), transactional=True)
        every = writes_of(self._workload, self._entity)
        calls = sum(peak(write.rate) * items_of(self._workload, write, action, self._entity) for write, action in every)
        return calls * units > PARTITION_WRITE_UNITS

    @cached_property
    def always_first(self) -> frozenset[str]:
        """The writes that have to read the item first, because of its unique attributes."""
        return self._always

    # --- Probes: a design with the items of this entity only ----------------------------------------------------------

    def _facet(self, placed: Placement, slot: str) -> Facet:
        chosen = Selection((placed,), (), (), 1, 0, 0)
        return KeyWords(self._problem, chosen, self._problem.fixed.design.separator, self._same).facet(placed, slot)

    def _probe(
        self, own: Facet, index: Facet | None = None, copy: Item | None = None, guards: tuple[Guard, ...] = ()
    ) -> _Probe:
        item = Item(self._entity.name, self._entity.name, (own, *([index] if index else ())))
        items = (item, *([copy] if copy else ()))
        design = msgspec.structs.replace(self._empty, items=items, guards=guards)
        return _Probe(design, self._workload, self._entity)

    @cached_property
    def _empty(self) -> Design:
        """A design without items."""
        kept = self._problem.fixed.design
        return msgspec.structs.replace(
            kept,
            table="probe",
            slots=_SLOTS,
            counters=with_kept(kept.counters, counters_of(self._workload)),
            stores=stores_of(self._workload, kept.stores),
            operations=(),
            ttl_attribute=next((a.name for a in self._entity.attributes if a.ttl), ""),
        )

    def _answered(
        self, probe: _Probe, facet: Facet, candidate: Candidate, copy: Item | None = None
    ) -> tuple[dict[str, Answer], frozenset[str], bool]:
        """What a key is good for, by the planner: the reads of this entity alone that it answers, the writes that find
        their items by it, and whether its partitions are split.
        """
        place = Placement(self._entity.name, OWN + bool(copy), BASE if facet.slot == TABLE else 1, candidate)
        planned = planner_facet(probe.design, self._entity, copy or probe.design.items[0], facet)
        found = {}
        for question in self._questions.values():
            if not placement_answers(place, question.needs[0]):
                continue
            read = msgspec.structs.replace(question.read, entities=(self._entity.name,), combine=None)
            operation = map_read(read, self._workload, (planned,))
            if operation.requests:
                units = predict_units(operation, probe.design, self._workload, probe.figures)
                money = _dollars(reads=per_second(read.rate) * units.read)
                joins = question.read.combine is Combine.JOIN
                hot = peak(read.rate) * units.read > PARTITION_READ_UNITS and any(
                    load.hot
                    for load in read_loads(self._narrowest(probe, candidate, [question]).figures, read, operation)
                )
                found[read.id] = Answer(hot, joins or fans_out(operation), money)
        return found, self._found(planned, candidate), any(field.encoding.derived for field in planned.pk.fields)

    def _found(self, planned: keys.Facet, candidate: Candidate) -> frozenset[str]:
        """The writes that can find their items by a key."""
        found = set()
        # Before their types, items of several entities lie among each other.
        needed = (*candidate.pk, *(one.attribute for one in candidate.sk[: candidate.type_position]))
        changed = [
            (write, action) for write, action in item_changes(self._workload) if action.entity == self._entity.name
        ]
        lists = {write.id for write, action in changed if action.many}
        for write, action in changed:
            if write.id not in lists:  # a key that finds one item of `delete Folder; delete Folder[]` finds no list
                names = known(self._workload, write, action)
                if names.issuperset(needed) and finding((planned,), self._entity, names):
                    found.add(write.id)
        return frozenset(found)

    def _first_without_id(self, probe: _Probe) -> frozenset[str]:
        """The further writes that have to read the item first, if the key in the table is a unique value."""
        if not unique_keys(self._workload, self._entity):
            return frozenset()
        return self._first(probe, frozenset()) - self._first(probe) - self._always

    def _first(self, probe: _Probe, given: frozenset[str] | None = None) -> frozenset[str]:
        """The writes that have to read the item first. They know its id, or what is `given` instead."""
        ids = frozenset(a.name for a in self._entity.id) if given is None else given
        return frozenset(
            write.id
            for write in self._writes
            for action, _ in probe.requests(write)
            if unknown(write, action, self._entity, probe.design, known(self._workload, write, action) | ids)
        )

    def _refreshes_first(self, probe: _Probe) -> frozenset[int]:
        """The follow links whose refresh has to read each item first, but would not without this key."""
        return frozenset(
            number
            for number, link in enumerate(follow_links(self._workload))
            if link.entity.name == self._entity.name
            and reads_first(probe.design, link)
            and not reads_first(self._without.design, link)
        )

    def _together(self, probe: _Probe) -> frozenset[tuple[str, str]]:
        """The writes that become transactions, because they write more items in this design than in the plain one."""
        return frozenset(
            (write.id, self._entity.name)
            for write in self._writes
            if write.id in self._plain_writes and probe.actions(write) > self._plain.actions(write)
        )

    def _is_hot(
        self, probe: _Probe, slot: str, copy: str = "", atomic: frozenset[tuple[str, str]] = frozenset()
    ) -> bool:
        """Whether writes are too many for a partition of a key, if some are `atomic`. Those of copies always are."""
        if not self._is_busy:
            return False
        requests = []
        for write in self._writes:
            alone = not copy and write.id in self._plain_writes and (write.id, self._entity.name) not in atomic
            for _, request in probe.requests(write):
                call = Call.PUT if alone else Call.TRANSACT_WRITE
                requests.append((write, msgspec.structs.replace(request, call=call)))
        loads = write_loads(probe.figures, requests)
        return any(load.hot for load in loads if (load.slot, load.copy) == (slot, copy))

    def _narrowest(self, probe: _Probe, candidate: Candidate, questions: Iterable[ReadNeeds]) -> _Probe:
        """The design with an index that holds no more than these reads want, beside its keys.

        What an index holds is decided after the keys, so a key counts as hot only if it is hot with any projection.
        """
        wanted = [question.ask.needs for question in questions]
        if not wanted or None in wanted:
            return probe
        names = frozenset().union(*(needs for needs in wanted if needs is not None))
        projection = Projection(ProjectionKind.INCLUDE, (probe.design.type_attribute, *sorted(names)))
        if all(name in candidate.attributes or self._may_be_key(name) for name in names):
            projection = Projection(ProjectionKind.KEYS_ONLY)
        table, index = probe.design.slots
        return probe.with_slots((table, msgspec.structs.replace(index, projection=projection)))

    def _may_be_key(self, name: str) -> bool:
        """Whether an attribute may be in the table's key, which every index holds."""
        attribute = self._entity.attribute(name)
        return attribute is not None and bool(attribute.id or attribute.unique or attribute.references)

    def _table(self, probe: _Probe) -> float:
        """The cost of all items in the table, each written in a transaction."""
        return self._entries(probe, TABLE) + self._stored(probe, TABLE)

    def _entries(self, probe: _Probe, slot: str) -> float:
        written = sum(self._month(write, self._units(probe, write, slot, True)) for write in self._writes)
        refreshed = sum(
            _dollars(writes=items * self._units(probe, write, slot, True)) for write, items in self._refreshed.values()
        )
        return written + refreshed

    @cached_property
    def _refreshed(self) -> dict[int, tuple[Write, float]]:
        """The updates of items that follow a source, each with the number of items in a second."""
        updates = {}
        for number, link in enumerate(follow_links(self._workload)):
            if link.entity.name == self._entity.name:
                items = change_rate(self._workload, link) * count_by(self._workload, link.entity, link.by.values())
                # A probe remembers the requests of a write by its id.
                updates[number] = (msgspec.structs.replace(refresh_write(link), id=f"refresh {number}"), items)
        return updates

    def _units(self, probe: _Probe, write: Write, slot: str, transactional: bool) -> float:
        """The write units of one call in a slot."""
        return sum(
            entry.times * units_of(entry, transactional)
            for _, request in probe.requests(write)
            for entry in probe.figures.entries(Operation(write.id), request)
            if entry.slot == slot
        )

    def _stored(self, probe: _Probe, slot: str) -> float:
        found = [(entries, size) for _, where, entries, size in probe.figures.stored() if where == slot]
        stored = sum(_dollars(stored=entries * (size + STORAGE_OVERHEAD)) for entries, size in found)
        scanned = sum(entries * size for entries, size in found) if slot == TABLE else 0.0
        scans = self._scans_a_month
        return stored + float(dollars(reads=scans * scanned * EVENTUAL / READ_UNIT_SIZE))

    @cached_property
    def _scans_a_month(self) -> float:
        """How often `remove_garbage` scans the whole table."""
        scanning = 0
        for entity in self._workload.entities:
            if not entity.history:
                scanning += sum(not self._empty.in_store(entity.name, a.name) for a in contents_of(entity))
        return scanning * MONTH_SECONDS / GARBAGE

    def _month(self, write: Write, units: float) -> float:
        return _dollars(writes=per_second(write.rate) * units)


def collection_units(workload: Workload, question: ReadNeeds) -> float:
    """The read units of one call of a read of several entities. They are the same in every place."""
    read, ask = question.read, question.ask
    items = tuple(Item(name, name, (Facet(TABLE, (name,)),)) for name in ask.entities)
    filters = tuple(group_text(group) for group in alternatives(read.inputs) if any(one.filter for one in group))
    request = Request(Call.QUERY, TABLE, ask.entities, consistent=ask.consistent, filters=filters)
    operation = Operation(read.id, (request,))
    return predict_units(operation, Design("probe", _SLOTS, items), workload).read


def _length(facet: Facet) -> int:
    return sum(map(len, (*facet.pk, *facet.sk)))


def _dollars(reads: float = 0, writes: float = 0, stored: float = 0) -> float:
    """The cost of units a second, or of stored bytes, in a month."""
    return float(dollars(reads=reads * MONTH_SECONDS, writes=writes * MONTH_SECONDS, gb_months=stored / GB))
