"""Simplifications: other ways to answer a read that is served, for a simpler or much cheaper table.

- A lookup item instead of an index: the guard of a unique value, as an entity that holds the id. Two requests.
- A counter instead of counting.
- A small collection that the application sorts, instead of a key in that order.
- An eventual read of an index, instead of a copy that is read consistently.
- A key for a constant that is filtered by, so that an index holds only the items that are asked for.

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
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import Solution, solve
from prejoin.protocol.prices import read_units
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.writes import write_actions
from prejoin.workload.lookup import alternatives, bare_name, gives_object
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    Combine,
    Consistency,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Uniqueness,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import contract

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
            if operation.requests[0].call is Call.QUERY:
                # The key has the value and the id, and a guard keeps the value unique: one item would do.
                yield from (change for change in _lookup(workload, read) if change.take not in seen)
    paid = bill(workload, design)
    dear = {one.pattern for one in paid.patterns if one.dollars > (1 - MUCH) * float(paid.total)}
    for read in workload.reads:
        if read.id in dear - unserved_of(design):
            yield from counter(workload, read)
            yield from _unfiltered(workload, read)
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


def _unfiltered(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """A read whose constants are a part of the key, and not of a filter."""
    together = {one for group in alternatives(read.inputs) if len(group) > 1 for one in group}
    constant = [i for i in read.inputs if i.filter and i.values and i.op in (Op.EQ, Op.IN) and i not in together]
    if constant:
        inputs = tuple(replace(i, filter=False) if i in constant else i for i in read.inputs)
        asked = write_inputs(tuple(replace(i, filter=False) for i in constant))
        what = f"if {read.id} asks for `{asked}` without a filter"
        row = f"{read.id}: {write_inputs(inputs)}"
        yield DocumentChange(what, with_read(workload, replace(read, inputs=inputs)), (row,))


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
    group = _unique_value(workload, entity, read) if entity else ()
    if entity is None or not group or not _created_and_deleted(workload, entity):
        return
    own = tuple(a for a in entity.attributes if a.name in group)
    value = [a.name for a in own if not a.id]
    name = "".join((entity.name, *(one[:1].upper() + one[1:] for one in value)))
    if workload.entity(name):
        return
    held = tuple(_reference(entity, part) for part in entity.id if part.name not in group)
    ids = tuple(a if a.id else replace(a, id=True, generated=False, unique=False, mutable=None) for a in own)
    lookup = Entity(name, attributes=(*ids, *held), cardinality=(Cardinality(1, entity.name),), size=150)
    rest = tuple(replace(a, unique=a.unique and {a.name} != set(group)) for a in entity.attributes)
    others = tuple(one for one in entity.unique if set(one) != set(group))
    changed = with_entity(workload, replace(entity, attributes=rest, unique=others))
    changed = _kept_with(replace(changed, entities=(*changed.entities, lookup)), entity, group, lookup)
    again = replace(read, entities=(name, entity.name), combine=Combine.JOIN, result=Result.MANY)
    changed = with_read(changed, again)
    what = f"if {read.id} reads an item by {name_list(value)}, which also keeps it unique, and then the {entity.name}"
    yield DocumentChange(what, changed, _lines(workload, changed, entity.name, name, read.id))


def _unique_value(workload: Workload, entity: Entity, read: Read) -> tuple[str, ...]:
    """The attributes by which a read finds one item, if they are unique together, always there and never changed."""
    plain = all(i.op is Op.EQ and not (i.values or i.many or i.filter or i.optional) for i in read.inputs)
    asked = tuple(bare_name(one.attribute) for one in read.inputs)
    own = [a for a in entity.attributes if a.name in asked]
    groups = [{a.name} for a in entity.attributes if a.unique] + [set(group) for group in entity.unique]
    fixed = all(a.id or not (a.optional or changes_later(workload, entity, a)) for a in own)
    found = read.result is Result.ONE and entity.id and set(asked) in groups and not all(a.id for a in own)
    return asked if plain and fixed and found else ()


def _lines(before: Workload, after: Workload, name: str, lookup: str, read_id: str) -> tuple[str, ...]:
    """The changed lines of the document; a tenant that the context names is not repeated in them."""
    before, after = contract(before), contract(after)
    old, entity, added = before.entity(name), after.entity(name), after.entity(lookup)
    assert old is not None
    assert entity is not None
    assert added is not None
    read = next(one for one in after.reads if one.id == read_id)
    writes = [
        (one, other)
        for one, other in zip((*before.writes, *before.deletes), (*after.writes, *after.deletes), strict=True)
        if one.actions != other.actions
    ]
    return (
        *(f"{name}: {write_attribute(a)}" for a in entity.attributes if a not in old.attributes),
        *(f"{name}: without `{' + '.join(group)}` under Unique" for group in old.unique if group not in entity.unique),
        f"### {lookup}",
        *(f"- {write_attribute(a)}" for a in added.attributes),
        *(_row(was, write) for was, write in writes),
        f"{read_id}: {', '.join(read.entities)} | {write_inputs(read.inputs)} | Collection | Join",
    )


def _row(before: Write, after: Write) -> str:
    row = f"{after.id}: {write_inputs(after.inputs)} | {write_actions(after.actions, frozenset())} | Yes"
    gone = [one.attribute for one in before.checks if isinstance(one, Uniqueness) and one not in after.checks]
    return f"{row}, without the condition `{' and '.join(gone)} unique`" if gone else row


def _reference(entity: Entity, part: Attribute) -> Attribute:
    to = entity.name if len(entity.id) == 1 else f"{entity.name}.{part.name}"
    return replace(part, id=False, generated=None, unique=False, mutable=False, references=to)


def _created_and_deleted(workload: Workload, entity: Entity) -> bool:
    """Whether items are only created, updated and deleted, one by one: then another item can follow them."""
    actions = [a for write in (*workload.writes, *workload.deletes) for a in write.actions if a.entity == entity.name]
    return all(a.verb in (Verb.CREATE, Verb.UPDATE, Verb.DELETE) and not a.many for a in actions)


def _kept_with(workload: Workload, entity: Entity, group: tuple[str, ...], lookup: Entity) -> Workload:
    """The workload whose writes create or delete an item with its lookup item, in the same transaction."""

    def kept(write: Write) -> Write:
        own = next((a for a in write.actions if a.entity == entity.name), None)
        checks = tuple(c for c in write.checks if not (isinstance(c, Uniqueness) and c.attribute in group))
        if own is None:
            return write
        if own.verb is Verb.UPDATE:
            return replace(write, checks=checks)
        actions = (*write.actions, Action(own.verb, lookup.name))
        given = {one.attribute for one in write.inputs}
        missing = [] if gives_object(write, entity) else [Input(name) for name in group if name not in given]
        entities = (*write.entities, lookup.name)
        inputs = (*write.inputs, *missing)
        return replace(write, entities=entities, inputs=inputs, actions=actions, atomic=True, checks=checks)

    return replace(workload, writes=tuple(map(kept, workload.writes)), deletes=tuple(map(kept, workload.deletes)))
