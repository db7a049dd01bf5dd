"""Simplifications: other ways to answer a read that is served, for a simpler or much cheaper table.

- A lookup item instead of an index: the guard of a unique value, as an entity that holds the id. Two requests.
- A counter instead of counting.
- A small collection that the application sorts, instead of a key in that order.
- An eventual read of an index, instead of a copy that is read consistently.

As with relaxations, each is a change of the document, solved and priced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from prejoin.design.cost.bill import bill
from prejoin.design.cost.estimates import Estimates
from prejoin.design.explain.costs import total
from prejoin.design.explain.counter_change import counter
from prejoin.design.explain.document_changes import (
    DocumentChange,
    changes_later,
    only_entity,
    shape_of,
    structures_of,
    unserved_of,
    with_entity,
    with_read,
)
from prejoin.design.explain.model import Alternative
from prejoin.design.explain.phrases import count, money
from prejoin.design.explain.relaxations import SMALL, smaller_designs
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Call, Design, Operation
from prejoin.design.solver.integer_program import InfeasibleError
from prejoin.design.solver.solve import Solution, solve
from prejoin.protocol.prices import read_units
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.writes import write_actions
from prejoin.workload.lookup import bare_name, gives_object
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    CheckKind,
    Combine,
    Consistency,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Verb,
    Workload,
    Write,
)

MOST_SIMPLIFIED = 3
"""The most simplifications that are solved."""
MUCH = 0.9
"""A simplification without fewer structures costs at most this part of the bill."""


def simplifications(
    workload: Workload, solution: Solution, kept: Design | None = None, most: int = MOST_SIMPLIFIED
) -> tuple[Alternative, ...]:
    """Changes of the document for fewer structures that are not dearer, or a much smaller bill; the cheapest first."""
    before = solution.design
    paid = total(workload, before)
    found = []
    for change in list(_changes(workload, before, kept))[:most]:
        try:
            after = solve(change.workload, kept)
        except InfeasibleError:
            continue
        cost = total(change.workload, after.design)
        fewer = structures_of(before) - structures_of(after.design)
        indexed = fewer == 0 and len(after.design.copies) < len(before.copies)
        better = ((fewer > 0 or indexed) and cost <= paid) or (fewer == 0 and cost <= MUCH * paid)
        if better and unserved_of(after.design) <= unserved_of(before):
            text = f"{change.what}: {shape_of(after.design)} for {money(cost)} a month, {money(paid - cost)} less"
            found.append(Alternative(text, -fewer, cost - paid, take=change.take, changes_document=True))
    return tuple(sorted(found, key=lambda one: (one.dollars, one.text)))


def _changes(workload: Workload, design: Design, kept: Design | None) -> Iterator[DocumentChange]:
    """Changes after which an index or a copy is not needed any more; then counters of counts that cost much."""
    seen: set[tuple[str, ...]] = set()
    for less in smaller_designs(design, kept):
        lost = unserved_of(map_patterns(less, workload)) - unserved_of(design)
        reads = [read for read in workload.reads if read.id in lost]
        change = _without(workload, reads) if len(reads) == len(lost) else None
        if change is not None and change.take not in seen:
            seen.add(change.take)
            yield change
    for read in workload.reads:
        operation = design.operation(read.id)
        if operation and operation.served:
            yield from _eventual(workload, read, operation)
            if operation.requests[0].call is Call.QUERY and operation.requests[0].slot == TABLE:
                yield from _lookup(workload, read)  # the key has the value and the id, and a guard keeps it unique
    paid = bill(workload, design)
    dear = {one.pattern for one in paid.patterns if one.dollars > (1 - MUCH) * float(paid.total)}
    for read in workload.reads:
        if read.id in dear - unserved_of(design):
            yield from counter(workload, read)
    for read in workload.reads:
        operation = design.operation(read.id)
        if operation and operation.served and (operation.requests[0].copies or operation.requests[0].slot != TABLE):
            yield from _unsorted(workload, design, read)


def _eventual(workload: Workload, read: Read, operation: Operation) -> Iterator[DocumentChange]:
    """A consistent read of a copy as a read that an index can serve."""
    if read.consistency is Consistency.STRONG and operation.requests[0].copies:
        asked = replace(read, consistency=Consistency.EVENTUAL)
        row = f"{read.id}: {Consistency.EVENTUAL.value} under Consistency"
        yield DocumentChange(f"if {read.id} may read eventually", with_read(workload, asked), (row,))


def _unsorted(workload: Workload, design: Design, read: Read) -> Iterator[DocumentChange]:
    """A read without its order, if a call then still reads little."""
    if not read.sort or len(read.entities) != 1 or read.result is not Result.MANY:
        return
    asked = replace(read, sort=(), limit=None, page=None, paginated=False)
    operation = design.operation(read.id)
    assert operation is not None
    request = replace(operation.requests[0], limit=None)
    figures = Estimates(design, workload)
    (name,) = read.entities
    found = figures.found(asked, request, name)
    if read_units(round(found * figures.size(name))) > SMALL:
        return
    what = f"if the application of {read.id} sorts about {count(math.ceil(found), 'item')} itself"
    yield DocumentChange(what, with_read(workload, asked), (f"{read.id}: Collection | Sort - | Paginated No",))


def _without(workload: Workload, reads: list[Read]) -> DocumentChange | None:
    """A lookup item for each of some reads; None if one of them cannot have one."""
    whole: DocumentChange | None = None
    for read in reads:
        change = next(_lookup(whole.workload if whole else workload, read), None)
        if change is None:
            return None
        if whole is not None:
            change = DocumentChange(f"{whole.what}; {change.what}", change.workload, (*whole.take, *change.take))
        whole = change
    return whole


def _lookup(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """An entity that holds the id for a unique value: it is the guard, and it is read first."""
    entity = only_entity(workload, read)
    asked = read.inputs[0] if len(read.inputs) == 1 else Input("")
    unique = entity.attribute(bare_name(asked.attribute)) if entity else None
    if entity is None or unique is None or workload.tenant or not entity.id or read.result is not Result.ONE:
        return
    plain = asked.op is Op.EQ and not (asked.values or asked.many or asked.filter or asked.optional)
    fixed = unique.unique and not unique.id and not unique.optional and not changes_later(workload, entity, unique)
    name = f"{entity.name}{unique.name[:1].upper()}{unique.name[1:]}"
    if not plain or not fixed or workload.entity(name) or not _created_and_deleted(workload, entity):
        return
    own = replace(unique, id=True, generated=False, unique=False, mutable=None)
    held = tuple(_reference(entity, part) for part in entity.id)
    lookup = Entity(name, attributes=(own, *held), cardinality=(Cardinality(1, entity.name),), size=150)
    rest = tuple(replace(a, unique=False) if a is unique else a for a in entity.attributes)
    changed = with_entity(workload, replace(entity, attributes=rest))
    changed, rows = _kept_with(replace(changed, entities=(*changed.entities, lookup)), entity, lookup)
    again = replace(read, entities=(name, entity.name), combine=Combine.JOIN, result=Result.MANY)
    lines = (
        f"{entity.name}: {write_attribute(replace(unique, unique=False))}",
        f"### {name}",
        *(f"- {write_attribute(a)}" for a in lookup.attributes),
        *rows,
        f"{read.id}: {name}, {entity.name} | {write_inputs(read.inputs)} | Collection | Join",
    )
    what = f"if {read.id} reads an item by `{unique.name}`, which also keeps it unique, and then the {entity.name}"
    yield DocumentChange(what, with_read(changed, again), lines)


def _reference(entity: Entity, part: Attribute) -> Attribute:
    to = entity.name if len(entity.id) == 1 else f"{entity.name}.{part.name}"
    return replace(part, id=False, generated=None, unique=False, mutable=False, references=to)


def _created_and_deleted(workload: Workload, entity: Entity) -> bool:
    """Whether items are only created, updated and deleted, one by one: then another item can follow them."""
    actions = [a for write in (*workload.writes, *workload.deletes) for a in write.actions if a.entity == entity.name]
    return all(a.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE) and not a.many for a in actions)


def _kept_with(workload: Workload, entity: Entity, lookup: Entity) -> tuple[Workload, list[str]]:
    """The writes that create or delete an item, with its lookup item in the same transaction; and their rows."""
    unique = lookup.attributes[0].name
    rows: list[str] = []

    def kept(write: Write) -> Write:
        own = next((a for a in write.actions if a.entity == entity.name), None)
        checks = tuple(c for c in write.checks if not (c.kind is CheckKind.UNIQUE and c.attribute == unique))
        if own is None or own.verb is Verb.UPDATE:
            return replace(write, checks=checks)
        actions = (*write.actions, Action(own.verb, lookup.name))
        known = gives_object(write, entity) or any(one.attribute == unique for one in write.inputs)
        inputs = write.inputs if known else (*write.inputs, Input(unique))
        row = f"{write.id}: {write_inputs(inputs)} | {write_actions(actions, frozenset())} | Yes"
        rows.append(row if checks == write.checks else f"{row}, without the condition `{unique} unique`")
        entities = (*write.entities, lookup.name)
        return replace(write, entities=entities, inputs=inputs, actions=actions, atomic=True, checks=checks)

    writes, deletes = tuple(map(kept, workload.writes)), tuple(map(kept, workload.deletes))
    return replace(workload, writes=writes, deletes=deletes), rows
