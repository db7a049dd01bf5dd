"""The options of a component: each candidate in each kind of place, with the reads it serves and what it costs.

Every figure comes from the functions that price the finished design: the layout writes the candidate's key, the planner
maps the reads to it, and the estimates count the entries of each write. So the bill that the solver minimises is the
bill that is printed. Some parts of a bill are shared between the keys of an item, and are priced by themselves: a write
pays once for a transaction (`Prices.transaction`), and once for reading an item first (`Prices.read_first`, and
`Prices.refresh_first` for refreshes of items that repeat values of others).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec

from prejoin import keys
from prejoin.constructs.refreshed import refreshed_in
from prejoin.constructs.registry import ending_of, keeps_contents
from prejoin.design.cost.assumptions import GARBAGE, SEVERAL, count_by, peak, per_second, several, size_of
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.heat import read_loads, write_loads
from prejoin.design.cost.objective import WEIGHTS, fans_out
from prejoin.design.cost.refreshes import change_rate, reads_first, refresh_write
from prejoin.design.cost.units import predict_units, units_of
from prejoin.design.cost.upkeep import items_of, steps_on
from prejoin.design.counters import counters_of, with_kept
from prejoin.design.layout.key_words import Alike, KeyWords
from prejoin.design.layout.lay_out import guards_of
from prejoin.design.mapping.addressing import finding, unknown
from prejoin.design.mapping.facets import planner_facet
from prejoin.design.mapping.map_reads import map_read
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
from prejoin.workload.model import Entity, Workload, Write
from prejoin.workload.program.resolved_read import resolve_read
from prejoin.workload.program.resolved_write import Step, resolve_write

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
    """The numbers of the refreshes that have to read each item first because of it."""
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
        self._requests: dict[str, list[tuple[Step, Request]]] = {}

    def requests(self, write: Write) -> list[tuple[Step, Request]]:
        """Each step of a write on the entity, with its request."""
        if write.id not in self._requests:
            self._requests[write.id] = entity_actions(write, self.figures.workload, self.design, self._entity)
        return self._requests[write.id]

    def actions(self, write: Write) -> int:
        """The number of items of the entity, its copies and guards that a write writes."""
        return sum(len(request.actions) for _, request in self.requests(write))

    def with_slots(self, slots: tuple[Slot, ...]) -> _Probe:
        design = msgspec.structs.replace(self.design, slots=slots)
        return _Probe(design, self.figures.workload, self._entity)


class Prices:
    """The prices of the keys of one entity."""

    def __init__(self, problem: Problem, entity: Entity, questions: Iterable[ReadNeeds], alike: Alike) -> None:
        self._alike = alike
        self._problem = problem
        self._workload: Workload = problem.workload
        self._entity = entity
        self._questions = {q.read.id: q for q in questions if q.ask.entities == (entity.name,)}
        """The reads of this entity alone."""
        self._ids = Candidate(entity.name, tuple(a.name for a in entity.id))
        # Index keys and copies are priced beside this key of the table: their prices hardly depend on it.
        self._usual_base = self._facet(Placement(entity.name, OWN, BASE, self._ids), TABLE)
        self._forced_guards = self._common_guards()
        self._writes = writes_to(self._workload, entity)
        self._forced_probe = self._probe(self._usual_base, guards=self._forced_guards)
        self.always_first = self._writes_reading_first(self._forced_probe)
        """The writes that have to read the item first, because of its unique attributes."""
        self._plain_probe = self._probe(self._usual_base)
        self._plain_dollars = self._table_dollars(self._plain_probe)
        self._guard_prices: dict[tuple[Guard, ...], Price] = {}
        """What guards cost; they are all that depends on the key in the table, except for the reads."""

    def base(self, candidate: Candidate) -> Price:
        """The own item with this key in the table. Its entries cost the same with every key."""
        facet = self._facet(Placement(self._entity.name, OWN, BASE, candidate), TABLE)
        guards = self._forced_guards
        if not candidate.fixed:
            guards = tuple(guards_of(self._workload, self._entity, candidate))
        answers, finds, is_cut = self._services(self._probe(facet, guards=guards), facet, candidate)
        # Most keys need the same guards, and predicting the units of a design takes milliseconds.
        if guards not in self._guard_prices:
            self._guard_prices[guards] = self._guard_price(guards)
        return msgspec.structs.replace(
            self._guard_prices[guards],
            answers=answers,
            finds=finds,
            cut=is_cut,
            hot=self._is_hot(self._probe(facet), TABLE, atomic=self._guard_prices[guards].atomic),
            length=_length(facet),
            queries_each=sum(not ids.issuperset(candidate.attributes) for ids in self._join_attributes),
        )

    def _guard_price(self, guards: tuple[Guard, ...]) -> Price:
        """What the guards of a key in the table cost, beside those that the entity has with any key."""
        probe = self._probe(self._usual_base, guards=guards)
        added_probe = self._probe(self._usual_base, guards=tuple(g for g in guards if g not in self._forced_guards))
        return Price(
            self._table_dollars(added_probe) - self._plain_dollars,
            {},
            self._writes_reading_first(probe) - self.always_first,
            self._refreshes_reading_first(probe),
            self._new_transactions(added_probe),
            guards=sum(self._guard_halves(guard) for guard in added_probe.design.guards),
        )

    def index(self, candidate: Candidate) -> Price:
        """The own item with this key in an index."""
        facet = self._facet(Placement(self._entity.name, OWN, 1, candidate), _INDEX)
        probe = self._probe(self._usual_base, facet)
        answers, finds, is_cut = self._services(probe, facet, candidate)
        narrowest = self._narrowest_index(probe, candidate, [self._questions[read] for read in answers])
        return Price(
            self._write_dollars(probe, _INDEX) + self._storage_dollars(probe, _INDEX),
            answers,
            self._writes_reading_first(probe) - self.always_first,
            self._refreshes_reading_first(probe),
            finds=finds,
            cut=is_cut,
            without_id=self._reading_first_without_id(probe),
            hot=self._is_hot(narrowest, _INDEX),
            hot_if_guarded=self._is_hot(narrowest, _INDEX, atomic=self._atomic_if_guarded),
            length=_length(facet),
        )

    def copy(self, candidate: Candidate) -> Price:
        """A copy with this key in the table."""
        facet = self._facet(Placement(self._entity.name, OWN + 1, BASE, candidate), TABLE)
        copy = Item(self._entity.name, _COPY, (facet,), _COPY)
        probe = self._probe(self._usual_base, copy=copy)
        answers, finds, is_cut = self._services(probe, facet, candidate, copy)
        return Price(
            self._table_dollars(probe) - self._plain_dollars,
            answers,
            self._writes_reading_first(probe) - self.always_first,
            self._refreshes_reading_first(probe),
            self._new_transactions(probe),
            finds,
            is_cut,
            self._reading_first_without_id(probe),
            hot=self._is_hot(probe, TABLE, _COPY),
        )

    def _common_guards(self) -> tuple[Guard, ...]:
        """The guards that the entity has with any key. A unique value that may be the key itself needs none then."""
        guards = tuple(guards_of(self._workload, self._entity, self._ids))
        if (self._entity.name, OWN, BASE) in self._problem.fixed.candidates:
            return guards
        possible_keys = unique_keys(self._workload, self._entity)
        return tuple(guard for guard in guards if frozenset(guard.attributes) not in possible_keys)

    def _guard_halves(self, guard: Guard) -> int:
        is_of_key = set(guard.attributes) == {a.name for a in self._entity.id}
        return int(2 * WEIGHTS["guard of a key" if is_of_key else "guard"])

    @cached_property
    def _join_attributes(self) -> list[frozenset[str]]:
        return joined_by(self._workload, self._entity)

    # --- Parts that several keys share --------------------------------------------------------------------------------

    def transaction(self, write: Write) -> float:
        """What it costs in a month that the own items of this entity are written in a transaction."""
        # DynamoDB takes twice the write units for an item in a transaction.
        probe = self._forced_probe
        units = self._units(probe, write, TABLE, True) - self._units(probe, write, TABLE, False)
        return self._month_dollars(write, units)

    @cached_property
    def _plain_writes(self) -> frozenset[str]:
        """The writes of this entity that are no transactions, if only forced guards are written with it."""
        return frozenset(write.id for write in self._writes if self._is_plain(write))

    @cached_property
    def _atomic_if_guarded(self) -> frozenset[tuple[str, str]]:
        """The writes that become transactions with all guards that the entity may have."""
        guards = tuple(guards_of(self._workload, self._entity, self._ids))
        return self._new_transactions(self._probe(self._usual_base, guards=guards))

    def _is_plain(self, write: Write) -> bool:
        resolved_write = resolve_write(self._workload, write)
        if resolved_write.checked or (write.atomic is not False and len(resolved_write.actions) > 1):
            return False
        for _, request in self._forced_probe.requests(write):
            is_list = len(request.actions) == 1 and request.actions[0].many
            if len(request.actions) != 1 or (is_list and write.atomic is not False):
                return False
        return True

    def read_first(self, write: Write) -> float:
        """What it costs in a month to read the items before the write, one by one."""
        return _dollars(reads=per_second(write.rate) * self._items(write) * read_units(size_of(self._entity), STRONG))

    def refresh_first(self, number: int) -> float:
        """What it costs in a month to read the items of a source before they are refreshed."""
        items = self._refresh_writes[number][1]
        return _dollars(reads=items * read_units(size_of(self._entity), STRONG))

    def find(self, write: Write) -> float:
        """What it costs in a month to find the items of a write by another key."""
        queries = self._queries_to_find(write)
        # A Query rounds up once for all items of a page.
        size = math.ceil(size_of(self._entity) * self._items(write) / queries)
        return _dollars(reads=per_second(write.rate) * queries * read_units(size))

    def _queries_to_find(self, write: Write) -> int:
        """The number of requests that find the items of this entity which a write changes."""
        steps = [step for step in resolve_write(self._workload, write).written_steps if step.entity is self._entity]
        repeated_for = next((step.repeated_for for step in steps if step.repeated_for), "")
        if not repeated_for:
            return 1
        items = self._items(write)
        over = self._workload.entity(repeated_for.rpartition(".")[0])
        if over is None:
            return items  # an id for each, which the caller gives
        is_written = any(action.many and action.entity == over.name for action in write.actions)
        return min(items, several(self._workload, write, over) or SEVERAL) if is_written else 1

    def _items(self, write: Write) -> int:
        """The number of items of this entity that a write changes."""
        own_actions = [action for action in write.actions if action.entity == self._entity.name]
        if not any(action.many for action in own_actions):
            return 1
        return several(self._workload, write, self._entity) or SEVERAL

    @property
    def forced_guards(self) -> int:
        """The number of guards that the entity has with any key."""
        return len(self._forced_guards)

    @cached_property
    def _is_busy(self) -> bool:
        """Whether one partition could not take all writes, each a transaction that changes an index key."""
        # Twice, because a key that changes is a delete and a put in an index.
        units = 2 * write_units(size_of(self._entity), transactional=True)
        steps = steps_on(self._workload, self._entity)
        calls = sum(peak(step.write.rate) * items_of(step) for step in steps)
        return calls * units > PARTITION_WRITE_UNITS

    # --- Probes: a design with the items of this entity only ----------------------------------------------------------

    def _facet(self, placement: Placement, slot: str) -> Facet:
        """A key with its words, as if it were the only one."""
        selection = Selection((placement,), (), (), 1, 0, 0)
        separator = self._problem.fixed.design.separator
        return KeyWords(self._problem, selection, separator, self._alike).facet(placement, slot)

    def _probe(
        self, base: Facet, index: Facet | None = None, copy: Item | None = None, guards: tuple[Guard, ...] = ()
    ) -> _Probe:
        item = Item(self._entity.name, self._entity.name, (base, *([index] if index else ())))
        items = (item, *([copy] if copy else ()))
        design = msgspec.structs.replace(self._empty, items=items, guards=guards)
        return _Probe(design, self._workload, self._entity)

    @cached_property
    def _empty(self) -> Design:
        """A design without items."""
        approved_design = self._problem.fixed.design
        ending = ending_of(self._entity)
        return msgspec.structs.replace(
            approved_design,
            table="probe",
            slots=_SLOTS,
            counters=with_kept(approved_design.counters, counters_of(self._workload)),
            stores=stores_of(self._workload, approved_design.stores),
            operations=(),
            ttl_attribute=ending.name if ending else "",
        )

    def _services(
        self, probe: _Probe, facet: Facet, candidate: Candidate, copy: Item | None = None
    ) -> tuple[dict[str, Answer], frozenset[str], bool]:
        """What a key is good for, by the planner: the reads of this entity alone that it answers, the writes that find
        their items by it, and whether its partitions are split.
        """
        slot = BASE if facet.slot == TABLE else 1
        placement = Placement(self._entity.name, OWN + bool(copy), slot, candidate)
        planned_facet = planner_facet(probe.design, self._entity, copy or probe.design.items[0], facet)
        answers: dict[str, Answer] = {}
        for question in self._questions.values():
            # The planner takes much longer than this check, and few keys answer a read.
            if placement_answers(placement, question.needs[0]):
                answer = self._answer(question, probe, planned_facet, candidate)
                if answer is not None:
                    answers[question.read.id] = answer
        is_split = any(field.encoding.derived for field in planned_facet.pk.fields)
        return answers, self._finding_writes(planned_facet, candidate), is_split

    def _answer(
        self, question: ReadNeeds, probe: _Probe, planned_facet: keys.Facet, candidate: Candidate
    ) -> Answer | None:
        """How the planner answers a read with a key; None if it does not."""
        read = msgspec.structs.replace(question.read, entities=(self._entity.name,), combine=None)
        operation = map_read(read, self._workload, (planned_facet,))
        if not operation.requests:
            return None
        units = predict_units(operation, probe.design, self._workload, probe.figures)
        money = _dollars(reads=per_second(read.rate) * units.read)
        has_joins = bool(resolve_read(self._workload, question.read).joins)
        # The heat of a read takes an index as narrow as the read allows, and most reads are far below the limit.
        is_hot = False
        if peak(read.rate) * units.read > PARTITION_READ_UNITS:
            figures = self._narrowest_index(probe, candidate, [question]).figures
            is_hot = any(load.hot for load in read_loads(figures, read, operation))
        return Answer(is_hot, has_joins or fans_out(operation), money)

    def _finding_writes(self, planned_facet: keys.Facet, candidate: Candidate) -> frozenset[str]:
        """The writes that can find their items by a key."""
        # Before their types, items of several entities lie among each other.
        prefix = [key.attribute for key in candidate.sk[: candidate.type_position]]
        steps = [step for step in item_changes(self._workload) if step.entity is self._entity]
        # A key that finds one item of `delete Folder; delete Folder[]` finds no list.
        lists = {step.write.id for step in steps if step.is_list}
        writes: set[str] = set()
        for step in steps:
            if step.write.id in lists or not step.known.issuperset((*candidate.pk, *prefix)):
                continue
            if finding((planned_facet,), self._entity, step.known):
                writes.add(step.write.id)
        return frozenset(writes)

    def _reading_first_without_id(self, probe: _Probe) -> frozenset[str]:
        """The further writes that have to read the item first, if the key in the table is a unique value."""
        if not unique_keys(self._workload, self._entity):
            return frozenset()
        return self._writes_reading_first(probe, frozenset()) - self._writes_reading_first(probe) - self.always_first

    def _writes_reading_first(self, probe: _Probe, names: frozenset[str] | None = None) -> frozenset[str]:
        """The writes that have to read the item first. They know its id, or `names` instead."""
        if names is None:
            names = frozenset(a.name for a in self._entity.id)
        writes: set[str] = set()
        for write in self._writes:
            for step, _ in probe.requests(write):
                if unknown(step, probe.design, step.known | names):
                    writes.add(write.id)
        return frozenset(writes)

    def _refreshes_reading_first(self, probe: _Probe) -> frozenset[int]:
        """The refreshes that have to read each item first, but would not without this key."""
        numbers: set[int] = set()
        for number, bound in enumerate(refreshed_in(self._workload)):
            if bound.entity.name == self._entity.name:
                is_first_anyway = reads_first(self._forced_probe.design, bound)
                if reads_first(probe.design, bound) and not is_first_anyway:
                    numbers.add(number)
        return frozenset(numbers)

    def _new_transactions(self, probe: _Probe) -> frozenset[tuple[str, str]]:
        """The writes that become transactions, because they write more items in this design than in the plain one."""
        writes = [write for write in self._writes if write.id in self._plain_writes]
        larger = [write for write in writes if probe.actions(write) > self._plain_probe.actions(write)]
        return frozenset((write.id, self._entity.name) for write in larger)

    def _is_hot(
        self, probe: _Probe, slot: str, copy: str = "", atomic: frozenset[tuple[str, str]] = frozenset()
    ) -> bool:
        """Whether writes are too many for a partition of a key, if some are `atomic`. Those of copies always are."""
        if not self._is_busy:
            return False
        requests = []
        for write in self._writes:
            is_atomic = copy or write.id not in self._plain_writes or (write.id, self._entity.name) in atomic
            for _, request in probe.requests(write):
                call = Call.TRANSACT_WRITE if is_atomic else Call.PUT
                requests.append((write, msgspec.structs.replace(request, call=call)))
        loads = write_loads(probe.figures, requests)
        return any(load.hot for load in loads if (load.slot, load.copy) == (slot, copy))

    def _narrowest_index(self, probe: _Probe, candidate: Candidate, questions: Iterable[ReadNeeds]) -> _Probe:
        """The design with an index that holds no more than these reads want, beside its keys.

        What an index holds is decided after the keys, so a key counts as hot only if it is hot with any projection.
        """
        name_sets = [question.ask.needs for question in questions]
        if not name_sets or None in name_sets:
            return probe
        names = set[str]().union(*filter(None, name_sets))
        projection = Projection(ProjectionKind.INCLUDE, (probe.design.type_attribute, *sorted(names)))
        if all(map(self._may_be_key, names.difference(candidate.attributes))):
            projection = Projection(ProjectionKind.KEYS_ONLY)
        table, index = probe.design.slots
        return probe.with_slots((table, msgspec.structs.replace(index, projection=projection)))

    def _may_be_key(self, name: str) -> bool:
        """Whether an attribute may be in the table's key, which every index holds."""
        attribute = self._entity.attribute(name)
        return attribute is not None and bool(attribute.id or attribute.unique or attribute.references)

    def _table_dollars(self, probe: _Probe) -> float:
        """The cost of all items in the table, each written in a transaction."""
        return self._write_dollars(probe, TABLE) + self._storage_dollars(probe, TABLE)

    def _write_dollars(self, probe: _Probe, slot: str) -> float:
        """The cost of the writes of a slot in a month, each a transaction."""
        writes = sum(self._month_dollars(write, self._units(probe, write, slot, True)) for write in self._writes)
        refreshes = 0.0
        for write, items in self._refresh_writes.values():
            refreshes += _dollars(writes=items * self._units(probe, write, slot, True))
        return writes + refreshes

    @cached_property
    def _refresh_writes(self) -> dict[int, tuple[Write, float]]:
        """The refreshes of the items of a source, each with the number of items in a second."""
        updates = {}
        for number, bound in enumerate(refreshed_in(self._workload)):
            if bound.entity.name == self._entity.name:
                items = change_rate(self._workload, bound) * count_by(self._workload, bound.entity, bound.by.values())
                # A probe remembers the requests of a write by its id.
                updates[number] = (msgspec.structs.replace(refresh_write(bound), id=f"refresh {number}"), items)
        return updates

    def _units(self, probe: _Probe, write: Write, slot: str, transactional: bool) -> float:
        """The write units of one call in a slot."""
        total = 0.0
        for _, request in probe.requests(write):
            for entry in probe.figures.entries(Operation(write.id), request):
                if entry.slot == slot:
                    total += entry.times * units_of(entry, transactional)
        return total

    def _storage_dollars(self, probe: _Probe, slot: str) -> float:
        """The cost of the entries of a slot in a month; of the table, with the scans for garbage."""
        entries = [(count, size) for _, name, count, size in probe.figures.stored() if name == slot]
        storage = sum(_dollars(stored_bytes=count * (size + STORAGE_OVERHEAD)) for count, size in entries)
        scanned_bytes = sum(count * size for count, size in entries) if slot == TABLE else 0.0
        units = self._scans_a_month * scanned_bytes * EVENTUAL / READ_UNIT_SIZE
        return storage + float(dollars(reads=units))

    @cached_property
    def _scans_a_month(self) -> float:
        """How often `remove_garbage` scans the whole table."""
        contents_in_parts = 0
        for entity in self._workload.entities:
            if not keeps_contents(entity):
                contents_in_parts += sum(not self._empty.in_store(entity.name, a.name) for a in contents_of(entity))
        return contents_in_parts * MONTH_SECONDS / GARBAGE

    def _month_dollars(self, write: Write, units: float) -> float:
        return _dollars(writes=per_second(write.rate) * units)


def collection_units(workload: Workload, question: ReadNeeds) -> float:
    """The read units of one call of a read of several entities. They are the same in every place."""
    read, ask = question.read, question.ask
    items = tuple(Item(name, name, (Facet(TABLE, (name,)),)) for name in ask.entities)
    # Of each group of alternatives one input is enough; a group with a declared filter is left to filters.
    input_groups = [tuple(clause.input for clause in group) for group in resolve_read(workload, read).groups]
    filters = tuple([group for group in input_groups if any(condition.filter for condition in group)])
    request = Request(Call.QUERY, TABLE, ask.entities, consistent=ask.consistent, filters=filters)
    operation = Operation(read.id, (request,))
    return predict_units(operation, Design("probe", _SLOTS, items), workload).read


def _length(facet: Facet) -> int:
    """The length of a key as a template."""
    return sum(map(len, facet.templates))


def _dollars(reads: float = 0, writes: float = 0, stored_bytes: float = 0) -> float:
    """The cost of units a second, or of stored bytes, in a month."""
    return float(dollars(reads=reads * MONTH_SECONDS, writes=writes * MONTH_SECONDS, gb_months=stored_bytes / GB))
