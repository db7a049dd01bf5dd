"""Checks indexes and copies: whether each is needed, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from msgspec.structs import replace

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.key_answers import KeyAnswer, answer, nearest
from prejoin.design.checks.report import Report
from prejoin.design.checks.writes import find_lookup
from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.layout.projection import WORTH, twin_of, without_index
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item, ProjectionKind, Slot, When
from prejoin.design.phrases import count
from prejoin.design.solver.violations import ignored_decisions, violations
from prejoin.keys import Lookup, fields_of
from prejoin.protocol import limits
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bare_name
from prejoin.workload.model import Read
from prejoin.workload.program.resolved_read import Role, resolve_read
from prejoin.workload.program.resolved_write import resolve_write

MANY = 5
WORTHWHILE = Decimal("0.05")
"""The fraction of the bill that a sparse index must save to be reported."""
MOST_WRITES = 4
"""The most writes for a new item that are not reported."""


def check_indexes(report: Report) -> None:
    _check_number(report)
    _check_decisions(report)
    _check_needed(report)
    _check_mergeable(report)
    _check_projected_names(report)
    _check_projections(report)
    _check_write_amplification(report)
    _check_sparse(report)


def _check_number(report: Report) -> None:
    local_indexes = [slot for slot in report.design.indexes if slot.local]
    global_count = len(report.design.indexes) - len(local_indexes)
    if global_count > limits.GLOBAL_INDEXES or len(local_indexes) > limits.LOCAL_INDEXES:
        message = f"there are {global_count} global and {len(local_indexes)} local indexes; 20 and 5 are allowed"
        report.say(codes.TOO_MANY_INDEXES, message, "let entities share an index")
    elif global_count > MANY:
        report.say(
            codes.MANY_INDEXES,
            f"there are {global_count} global indexes",
            "check whether each pattern is worth its index",
        )


def _check_projected_names(report: Report) -> None:
    """The limit of attribute names in projections."""
    total = 0
    for slot in report.design.indexes:
        names = len(slot.projection.attributes)
        total += names
        if names > limits.INDEX_PROJECTED_ATTRIBUTES:
            message = f"the projection of {slot.name} names {names} attributes; 20 are allowed"
            report.say(codes.TOO_MANY_PROJECTED, message, "let it hold all attributes", slot.name)
    if total > limits.PROJECTED_ATTRIBUTES:
        message = f"the projections of all indexes name {total} attributes; 100 are allowed"
        report.say(codes.TOO_MANY_PROJECTED, message, "let some of them hold all attributes")


def _check_decisions(report: Report) -> None:
    """Decisions that the design violates or ignores."""
    for violation in violations(report.design, report.workload):
        names = name_list(violation.there)
        message = f"the document decides `{write_pin(violation.pin)}`, and there {_verb(violation.there)} {names}"
        report.say(
            codes.BEYOND,
            message,
            f"remove {names}, or the decision",
            violation.name,
            violation.slot,
        )
    for decision in ignored_decisions(report.design, report.workload):
        sentence = write_pin(decision.pin)
        report.say(codes.NO_EFFECT, f"the decision `{sentence}` has no effect: {decision.why}", decision.fix, sentence)


def _verb(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _lookups(report: Report) -> dict[str, Lookup]:
    """The questions of reads, and of writes that have to find their items."""
    stored_entities = {key.item.entity for key in report.keys}
    lookups = {}
    for id_, ask in report.asks.items():
        # Without the entities that have no item, the rest of a collection is still read.
        entities = tuple(name for name in ask.entities if name in stored_entities)
        if not entities:
            continue
        lookups[id_] = replace(ask, entities=entities)
        if answer(report.keys, lookups[id_]) is None:
            # A pattern with a second request or a filter still needs the key of its first part.
            _, easier_ask = nearest(report.keys, lookups[id_])
            lookups[id_] = easier_ask or lookups[id_]
    for write in report.writes:
        for step in resolve_write(report.workload, write).steps:
            base = report.base(step.entity.name)
            search = find_lookup(report, step, base) if base is not None else None
            if search is not None and search.equal:
                lookups[f"{write.id} {step.entity.name}"] = search
    return lookups


class _NeededKeys:
    """The keys of a design, without those that no question needs.

    Keys are removed one after the other, as long as each question keeps an answer that is as good. Two indexes of
    which either would do are not both reported.
    """

    def __init__(self, report: Report) -> None:
        self.keys = list(report.keys)
        self._asks = _lookups(report)
        self._answers: dict[str, KeyAnswer] = {}
        for id_, ask in self._asks.items():
            key_answer = answer(self.keys, ask)
            if key_answer is not None:
                self._answers[id_] = key_answer

    def remove(self, keys: Sequence[BoundKey]) -> bool:
        """Remove keys if no answer needs them, and return whether they were removed."""
        removed_ids = set(map(id, keys))
        kept_keys = [key for key in self.keys if id(key) not in removed_ids]
        forms = [key.form for key in keys]
        new_answers: dict[str, KeyAnswer] = {}
        for id_, former_answer in self._answers.items():
            # Reads of other keys keep their answers: fewer items can only be between theirs.
            if not former_answer.rank and not any(form in forms for form in former_answer.plan.facets):
                continue
            new_answer = answer(kept_keys, self._asks[id_])
            if new_answer is None or new_answer.price > former_answer.price:
                return False
            new_answers[id_] = new_answer
        self.keys = kept_keys
        self._answers |= new_answers
        return True


def _check_needed(report: Report) -> None:
    """Indexes, copies and index entries that can be removed without changing an answer."""
    needed_keys = _NeededKeys(report)
    relieving = {slot.name for slot in report.design.indexes if _relieves_twin(report, slot)}
    for slot in reversed(report.design.indexes):
        index_keys = [key for key in needed_keys.keys if key.slot == slot.name]
        if slot.name not in relieving and needed_keys.remove(index_keys):
            message = f"no pattern needs the index {slot.name}"
            report.say(codes.UNUSED_INDEX, message, "leave it out", slot.name, slot.name)
    for copy in reversed(report.design.copies):
        _check_copy(report, needed_keys, copy)
    for key in list(needed_keys.keys):
        if key.slot not in {TABLE, *relieving} and not _unavoidable(report, key.place):
            _check_entry(report, needed_keys, key)


def _check_copy(report: Report, needed_keys: _NeededKeys, copy: Item) -> None:
    copy_keys = [key for key in needed_keys.keys if key.item == copy]
    if copy_keys and needed_keys.remove(copy_keys):
        message = f"no pattern needs the copy `{copy.copy}` of {copy.entity}"
        report.say(codes.UNUSED_COPY, message, "leave it out", copy.entity, TABLE)


def _check_entry(report: Report, needed_keys: _NeededKeys, key: BoundKey) -> None:
    """The items of one type in an index."""
    if needed_keys.remove([key]):
        report.say(
            codes.UNUSED_ENTRY,
            f"no pattern reads {key.name} in {key.slot}",
            f"remove {name_list(list(key.place.key_names))} from {key.name}",
            key.item.entity,
            key.slot,
        )


def _relieves_twin(report: Report, slot: Slot) -> bool:
    """Whether another index has the same keys, and this one is cheaper or cooler because it holds less."""
    if slot.projection.kind is ProjectionKind.ALL or twin_of(slot, report.design) is None:
        return False
    pruned_design = without_index(slot, report.design, report.workload)
    is_hotter = len(hot_loads(report.workload, pruned_design)) > len(hot_loads(report.workload, report.design))
    return is_hotter or bill(report.workload, pruned_design).total > bill(report.workload, report.design).total


def _unavoidable(report: Report, place: Slot) -> bool:
    """Whether an index is the table's key inverted: every item is in it."""
    return set(place.key_names).issubset(report.design.slots[0].key_names)


def _check_mergeable(report: Report) -> None:
    """Pairs of indexes that have no entity in common."""
    groups: list[list[Slot]] = []
    for slot in report.design.indexes:
        if slot.local or _unavoidable(report, slot):
            continue
        group = next((group for group in groups if _fits_group(report, slot, group)), None)
        if group is None:
            groups.append([slot])
        else:
            group.append(slot)
    for group in groups:
        if len(group) > 1:
            names = [slot.name for slot in group]
            message = f"no entity is in more than one of {name_list(names)}"
            fix = f"let them share the key attributes of one index, which saves {len(group) - 1}"
            report.say(codes.COULD_BE_ONE, message, fix, names[1], names[1])


def _fits_group(report: Report, slot: Slot, group: Sequence[Slot]) -> bool:
    """Whether an index has the form of the others, and no entity of theirs."""
    first = group[0]
    # Only texts can hold the keys of several entities, with a word for each. The number of sort attributes may differ.
    has_same_form = first.projection == slot.projection and len(first.pk) == len(slot.pk)
    has_only_texts = all(attribute.type == "S" for attribute in (*first.key_attributes, *slot.key_attributes))
    if not has_same_form or not has_only_texts:
        return False
    entities = _entities(report, slot)
    return all(entities.isdisjoint(_entities(report, other)) for other in group)


def _entities(report: Report, slot: Slot) -> set[str]:
    return {item.entity for item in report.design.items if item.facet(slot.name)}


def _check_projections(report: Report) -> None:
    """Indexes with all attributes whose reads name at most half of them."""
    for slot in report.design.indexes:
        reads = [read for read in report.reads if _is_answered_by(report, read, slot)]
        holds_all = slot.projection.kind is ProjectionKind.ALL
        if not holds_all or not reads or not all(read.needs for read in reads):
            continue
        needed_names: set[str] = set()
        all_names: set[str] = set()
        for read in reads:
            needed_names.update(map(bare_name, read.needs))
            for name in read.entities:
                entity = report.workload.entity(name)
                all_names.update(entity.types if entity else ())
        if len(needed_names) * 2 <= len(all_names):
            report.say(
                codes.HOLDS_MORE,
                f"{slot.name} holds all attributes, and only {name_list(sorted(needed_names))} are read from it",
                "project these only",
                slot.name,
                slot.name,
            )


def _is_answered_by(report: Report, read: Read, slot: Slot) -> bool:
    key_answer = report.answers.get(read.id)
    return key_answer is not None and key_answer.plan.slot == slot.name


def _check_write_amplification(report: Report) -> None:
    for entity in report.workload.entities:
        items = [item for item in report.design.items if item.entity == entity.name]
        guards = sum(guard.entity == entity.name for guard in report.design.guards)
        places = sum(len(item.facets) for item in items) + guards
        if places > MOST_WRITES:
            report.say(
                codes.MANY_WRITES,
                f"a new {entity.name} is written {places} times, as {count(len(items), 'item')}, "
                f"{count(guards, 'guard')} and {count(places - len(items) - guards, 'index entry', 'index entries')}",
                "check whether each pattern is worth its index",
                entity.name,
            )


def _check_sparse(report: Report) -> None:
    """Index entries that no read wants, because all of them ask for one constant."""
    for item in report.design.items:
        for facet in item.facets:
            readers = _constants_by_reader(report, item.entity, facet.slot) if facet.slot != TABLE else {}
            if not readers:
                continue
            common_constants = set.intersection(*readers.values())
            tested_constants = {(when.attribute, value) for when in facet.when for value in when.values}
            for name, value in sorted(common_constants - tested_constants):
                sparse_facet = replace(facet, when=(*facet.when, When(name, (value,))))
                design = _with_facet(report.design, item, facet, sparse_facet)
                _report_sparse(report, design, item.entity, sparse_facet, list(readers))


def _with_facet(design: Design, item: Item, facet: Facet, new_facet: Facet) -> Design:
    """The design with another key of an item in an index."""
    facets = tuple(new_facet if other is facet else other for other in item.facets)
    items = tuple(replace(item, facets=facets) if other is item else other for other in design.items)
    return replace(design, items=items)


def _constants_by_reader(report: Report, entity: str, slot: str) -> dict[str, set[tuple[str, str]]]:
    """The reads of an entity in an index, with their constants; writes that find items there have none."""
    constants_by_reader: dict[str, set[tuple[str, str]]] = {}
    for operation in report.design.operations:
        if not any(request.slot == slot and entity in request.entities for request in operation.requests):
            continue
        read = report.workload.pattern(operation.pattern)
        constants: set[tuple[str, str]] = set()
        constants_by_reader[operation.pattern] = constants
        if not isinstance(read, Read) or len(read.entities) > 1:
            continue
        for clause in resolve_read(report.workload, read).having(Role.EQUAL):
            constant = clause.input.values[0].const if clause.input.values else None
            if constant is not None:
                constants.add((clause.name, constant))
    return constants_by_reader


def _report_sparse(report: Report, sparse: Design, entity: str, facet: Facet, reads: Sequence[str]) -> None:
    """Report the cost with the sparse key, and the write that prevents it."""
    sparse_design = map_patterns(sparse, report.workload)
    if not _served_patterns(report.design) <= _served_patterns(sparse_design):
        return
    price = bill(report.workload, report.design).total
    sparse_price = bill(report.workload, sparse_design).total
    if price - sparse_price < max(WORTH, price * WORTHWHILE):
        return
    when = facet.when[-1]
    fix = f"put them there only when it is {when.values[0]}"
    if demands := list(_demands_of_sparse_key(report, sparse_design, facet)):
        fix = f"give {' and '.join(demands)}, which then need not be read first"
    report.say(
        codes.NOT_SPARSE,
        f"{facet.slot} holds every {entity}, and {', '.join(reads)} wants only those where `{when.attribute}` is "
        f"{when.values[0]}: with only these the design would cost ${sparse_price:,.2f} a month, not ${price:,.2f}",
        fix,
        entity,
        facet.slot,
    )


def _demands_of_sparse_key(report: Report, sparse_design: Design, facet: Facet) -> Iterator[str]:
    """The attributes that writes have to know to write a sparse key, if they make its condition true."""
    key_names = [name for text in facet.templates for name in fields_of(text) if name != facet.when[-1].attribute]
    for operation in sparse_design.operations:
        dense_operation = report.design.operation(operation.pattern)
        pattern = report.workload.pattern(operation.pattern)
        if dense_operation is None or pattern is None:
            continue
        inputs = {input_.attribute for input_ in pattern.inputs}
        unknown_names = [name for name in key_names if name not in inputs]
        # More requests than before: the sparse key makes the write read the item first.
        if unknown_names and len(operation.requests) > len(dense_operation.requests):
            yield f"{name_list(unknown_names)} to {operation.pattern}"


def _served_patterns(design: Design) -> set[str]:
    return {operation.pattern for operation in design.operations} - design.unserved
