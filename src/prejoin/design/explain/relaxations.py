"""Relaxations: what could be given up to need fewer structures, or to serve a read that is not served.

Each one is a change of the document that an expert would propose: a filter on a small collection, a counter for a
count, a required input, an index of words, a geohash, a feed that is written in advance. It is solved and priced, and
comes with the lines of the document that take it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, count_of, per_second
from prejoin.design.cost.bill import bill
from prejoin.design.cost.excess import excess, filters
from prejoin.design.explain.costs import total
from prejoin.design.explain.counter_change import counter
from prejoin.design.explain.document_changes import (
    DocumentChange,
    changes_later,
    only_entity,
    shape_of,
    structures_of,
    unserved_of,
    with_decisions,
    with_entity,
    with_read,
)
from prejoin.design.explain.model import Alternative
from prejoin.design.explain.phrases import amount, count, listed, money
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import Design
from prejoin.design.solver.program.integer_program import InfeasibleError
from prejoin.design.solver.solve import Solution, solve
from prejoin.types import STRING, Kind
from prejoin.workload.grammar.answers import write_page, write_sort
from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.grammar.writes import write_actions
from prejoin.workload.lookup import alternatives, bare_name, changes, root, target
from prejoin.workload.model import (
    RANGES,
    Accept,
    Action,
    Attribute,
    Cardinality,
    Change,
    Combine,
    Decision,
    Entity,
    Input,
    Op,
    OutOfScope,
    Rate,
    Read,
    Result,
    Verb,
    Workload,
    Write,
)

MOST_RELAXED = 3
"""The most relaxations that are solved for the whole table, and for each read that is not served."""
MOST_INSTEAD = 6
"""The most that are solved for all reads that are not served."""
SMALL = 10.0
"""Read units of a call that a filter may read: a collection of up to 80 KB."""
WORDS = 10
"""Words of a text, if an index of words is proposed."""
MEMBERS = 3
"""Members of a set or a list."""
CELLS = 9
"""Cells of a geohash that a search around a point asks: its own, and those beside it."""
NEAR = 50
"""Items in a cell of a geohash: its length is chosen so."""
_PLACE = re.compile(r"(?:(?:^|_)(?:lat|lng|lon)|Lat|Lng|Lon)(?![a-z])|(?:(?:^|_)long|Long)$|[Ll]atitude|[Ll]ongitude")
"""A coordinate by its name: `lat`, `homeLng`, `longitude`; not `latestAt` or `translatedAt`."""


# --- The whole table -------------------------------------------------------------------------------------------------


def fewer_structures(
    workload: Workload, solution: Solution, kept: Design | None = None, most: int = MOST_RELAXED
) -> tuple[Alternative, ...]:
    """Designs with fewer structures that are not dearer, if some reads may use a filter; the cheapest first."""
    before = solution.design
    paid = total(workload, before)
    told: dict[object, Alternative] = {}
    for pins in accepted_filters(workload, before, kept, most):
        other = with_decisions(workload, tuple(map(Decision, pins)))
        try:
            after = solve(other, kept)
        except InfeasibleError:
            continue
        cost = total(other, after.design)
        fewer = structures_of(before) - structures_of(after.design)
        if fewer <= 0 or cost > paid or unserved_of(after.design) - unserved_of(before):
            continue
        text = (
            f"if {listed(pin.pattern for pin in pins)} may filter: {shape_of(after.design)} for {money(cost)} a month, "
            f"{count(fewer, 'structure')} fewer and {money(paid - cost)} less"
        )
        told.setdefault(after.design.items, Alternative(text, -fewer, cost - paid, take=tuple(map(write_pin, pins))))
    return tuple(told.values())


def accepted_filters(
    workload: Workload, before: Design, kept: Design | None = None, most: int = MOST_RELAXED
) -> list[tuple[Accept, ...]]:
    """Decisions for filters that spare a structure and cost no more: all at once, then each way, the cheapest first."""
    paid = total(workload, before)
    found: dict[tuple[str, ...], float] = {}
    for less in smaller_designs(before, kept):
        accepted = _filtering(workload, before, less)
        if accepted and (price := _price(workload, less, accepted)) is not None and price <= paid:
            found[accepted] = price
    ways = sorted(found, key=lambda one: (found[one], one))[: most - 1 if len(found) > 1 else most]
    if len(ways) > 1:
        ways.insert(0, tuple(sorted({pattern for way in ways for pattern in way})))
    return [tuple(Accept(pattern, "filter") for pattern in way) for way in ways]


def smaller_designs(design: Design, kept: Design | None) -> Iterator[Design]:
    """The design without one of its indexes or copies that are not in use."""
    staying = {slot.name for slot in kept.slots} if kept else set()
    copied = {item.name for item in kept.copies} if kept else set()
    for slot in design.indexes:
        if slot.name not in staying:
            items = tuple(
                replace(item, facets=tuple(f for f in item.facets if f.slot != slot.name)) for item in design.items
            )
            yield replace(design, slots=tuple(s for s in design.slots if s is not slot), items=items)
    for copy in design.copies:
        if copy.name not in copied:
            yield replace(design, items=tuple(i for i in design.items if i is not copy))


def _filtering(workload: Workload, before: Design, less: Design) -> tuple[str, ...]:
    """The reads that have to use a filter in a smaller design; none if it does not serve as much, or reads too much."""
    lost = unserved_of(map_patterns(less, workload)) - unserved_of(before)
    reads = tuple(sorted(read.id for read in workload.reads if read.id in lost))
    if not reads or len(reads) < len(lost):
        return ()
    mapped = map_patterns(less, with_decisions(workload, tuple(Decision(Accept(read, "filter")) for read in reads)))
    units = [o.units.read if (o := mapped.operation(read)) and o.served and o.units else SMALL + 1 for read in reads]
    return reads if max(units) <= SMALL else ()


def _price(workload: Workload, less: Design, accepted: tuple[str, ...]) -> float | None:
    other = with_decisions(workload, tuple(Decision(Accept(pattern, "filter")) for pattern in accepted))
    return float(bill(other, map_patterns(less, other)).total)


# --- A read that is not served --------------------------------------------------------------------------------------


def instead_of(
    workload: Workload, solution: Solution, read: Read, kept: Design | None = None, most: int = MOST_RELAXED
) -> tuple[Alternative, ...]:
    """Changes of the document that serve a read, solved and priced, the cheapest first; then what other services do."""
    lost = unserved_of(solution.design) - {read.id}
    paid = total(workload, solution.design)
    found = []
    for change in list(_changes(workload, read))[:most]:
        try:
            after = solve(change.workload, kept)
        except InfeasibleError:
            continue
        if unserved_of(after.design) - lost:
            continue
        more = total(change.workload, after.design) - paid
        text = f"{change.what}: {shape_of(after.design)}, {money(abs(more))} a month {'more' if more >= 0 else 'less'}"
        found.append(
            Alternative(text, structures_of(after.design) - structures_of(solution.design), more, take=change.take)
        )
    return (*sorted(found, key=lambda one: (one.dollars, one.text)), *_elsewhere(workload, read))


def instead_of_unserved(
    workload: Workload, solution: Solution, reads: Iterable[Read], kept: Design | None = None
) -> dict[str, tuple[Alternative, ...]]:
    """The changes that serve each of some reads. The first ones are solved, as long as they are not too many."""
    left = MOST_INSTEAD
    found: dict[str, tuple[Alternative, ...]] = {}
    for read in reads:
        most = min(left, MOST_RELAXED)
        found[read.id] = instead_of(workload, solution, read, kept, most)
        left -= len(list(_changes(workload, read))[:most])
    return found


def _changes(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    yield from counter(workload, read)
    yield from _required(workload, read)
    yield from _each(workload, read)
    yield from _queries(workload, read)
    yield from _paged(workload, read)
    yield from _geohash(workload, read)
    yield from _words(workload, read)
    yield from _feed(workload, read)


def _required(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """As few of the optional inputs as needed, required, so that the rest reads little."""
    optional = [i for i in read.inputs if i.optional and i.op is Op.EQ and not i.filter]
    for number in (1, 2):
        ways = []
        for chosen in combinations(optional, number):
            asked = replace(read, inputs=tuple(replace(i, optional=False) if i in chosen else i for i in read.inputs))
            if excess(asked, workload) is None:
                ways.append((_found(workload, asked), chosen, asked))
        if ways:
            _, chosen, asked = min(ways, key=lambda one: one[0])
            names = " and ".join(f"`{i.attribute}`" for i in chosen)
            row = f"{read.id}: {write_inputs(asked.inputs)}"
            yield DocumentChange(f"{names} always given", with_read(workload, asked), (row,))
            return


def _found(workload: Workload, read: Read) -> float:
    entity = only_entity(workload, read)
    given = [bare_name(i.attribute) for i in read.inputs if i.op is Op.EQ and i not in filters(read)]
    return count_by(workload, entity, given) if entity else 0.0


def _each(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """A Query for each of several values, instead of a filter by a list of them."""
    listed_ = [i for i in read.inputs if i.op is Op.IN and not i.values]
    if len(listed_) != 1 or not excess(read, workload):
        return
    (one,) = listed_
    inputs = tuple(Input(i.attribute, many=True) if i is one else i for i in read.inputs)
    asked = replace(read, inputs=inputs, paginated=False, page=None, limit=None)
    if excess(asked, workload) is None:
        row = f"{read.id}: {write_inputs(inputs)} | No under Paginated"
        yield DocumentChange(f"a Query for each `{one.attribute}`, without pages", with_read(workload, asked), (row,))


def _queries(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """A read for each of several alternatives, which the application merges."""
    group = next((group for group in alternatives(read.inputs) if len(group) > 1), None)
    pinned = any(getattr(d.pin, "pattern", "") == read.id for d in workload.decisions)
    if group is None or pinned or read.result is not Result.MANY:
        return
    parts = []
    for number, chosen in enumerate(group, 1):
        alone = replace(chosen, filter=False, either=False)
        others = [one for one in group if one is not chosen]
        inputs = tuple(alone if i is chosen else i for i in read.inputs if not any(i is one for one in others))
        parts.append(replace(read, id=f"{read.id}-{number}", name="", inputs=inputs))
    if any(excess(part, workload) or workload.pattern(part.id) for part in parts):
        return
    reads = tuple(one for old in workload.reads for one in (parts if old.id == read.id else [old]))
    rows = tuple(f"{part.id}: {write_inputs(part.inputs)}" for part in parts)
    what = f"{count(len(parts), 'read')} in place of `or`, merged by the application"
    yield DocumentChange(what, replace(workload, reads=reads), rows)


def _paged(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    if read.result is Result.MANY and not read.paginated and not read.limit and excess(read, workload):
        asked = replace(read, paginated=True, page=50)
        row = f"{read.id}: {write_page(True, 50)} under Paginated"
        if excess(asked, workload) is None:
            yield DocumentChange("pages of 50 items", with_read(workload, asked), (row,))


def _geohash(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """Two ranges of coordinates as the prefix of a geohash, asked once for each of nine cells."""
    entity = only_entity(workload, read)
    ranges = [i for i in read.inputs if i.op in RANGES and not i.filter and _PLACE.search(i.attribute)]
    if entity is None or len(ranges) != 2 or entity.attribute("geohash"):
        return
    moves = any(a.mutable for i in ranges if (a := entity.attribute(bare_name(i.attribute))))
    cell = Attribute("geohash", STRING, mutable=moves)
    rest = tuple(i for i in read.inputs if i not in ranges)
    near = min(100.0, float(f"{100 * NEAR / count_of(workload, entity):.2g}"))
    prefix = Input("geohash", Op.BEGINS_WITH, keeps=near)
    inputs = (*rest, prefix, *(replace(i, filter=True, keeps=50.0) for i in ranges))
    rate = Rate(value=per_second(read.rate) * CELLS)
    asked = replace(read, inputs=inputs, sort=(), rate=rate)
    changed = with_read(with_entity(workload, replace(entity, attributes=(*entity.attributes, cell))), asked)
    changed, rows = _moved_with(changed, entity, {bare_name(i.attribute) for i in ranges}, cell.name)
    lines = (f"{entity.name}: {write_attribute(cell)}", *rows, f"{read.id}: {write_inputs(inputs)}")
    what = f"a geohash, of which a call asks up to {CELLS} cells and sorts by distance itself"
    yield DocumentChange(what, changed, lines)


def _moved_with(workload: Workload, entity: Entity, names: set[str], also: str) -> tuple[Workload, list[str]]:
    """The updates that change one of some attributes, which then also change another one; and their rows."""
    lines: list[str] = []

    def extended(write: Write) -> Write:
        def action_of(action: Action) -> Action:
            changed = changes(write, action, entity) if action.entity == entity.name and action.updates else ()
            moves = any(one.attribute in names for one in changed)
            return replace(action, changes=(*changed, Change(also))) if moves else action

        actions = tuple(map(action_of, write.actions))
        if actions == write.actions:
            return write
        inputs = (*write.inputs, Input(also))
        lines.append(f"{write.id}: {write_inputs(inputs)} | {write_actions(actions, frozenset())}")
        return replace(write, inputs=inputs, actions=actions)

    return replace(workload, writes=tuple(map(extended, workload.writes))), lines


def _words(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """An item for each word of a text, or each member of a set, under the word."""
    entity = only_entity(workload, read)
    asked = next((i for i in read.inputs if i.op is Op.CONTAINS), None)
    attribute = entity.attribute(bare_name(asked.attribute)) if entity and asked else None
    if entity is None or asked is None or attribute is None or not entity.id:
        return
    text = attribute.type.kind not in (Kind.SET, Kind.LIST)
    name = f"{entity.name}{'Word' if text else attribute.name[:1].upper() + attribute.name[1:].removesuffix('s')}"
    if workload.entity(name) or entity.attribute("word"):
        return
    word = Attribute("word", STRING, id=True, generated=False)
    held = [
        replace(a, id=True, generated=None, references=f"{entity.name}.{a.name}" if len(entity.id) > 1 else entity.name)
        for a in entity.id
    ]
    known = {a.name for a in held}
    others = [i for i in read.inputs if i is not asked and i not in filters(read)]
    needed = [bare_name(one) for one in (*(i.attribute for i in others), *(s.attribute for s in read.sort))]
    extra = [replace(a, unique=False) for n in dict.fromkeys(needed) if n not in known and (a := entity.attribute(n))]
    # As in a feed, what it is sorted by is part of the id, if it never changes.
    sorts = {bare_name(s.attribute) for s in read.sort}
    order = [a for a in extra if a.name in sorts and not a.optional and not changes_later(workload, entity, a)]
    ids = [word, *(replace(a, id=True, generated=None, mutable=None) for a in order), *held]
    extra = [a for a in extra if a not in order]
    count_ = WORDS if text else MEMBERS
    index = Entity(name, attributes=(*ids, *extra), cardinality=(Cardinality(count_, entity.name),), size=200)
    inputs = (Input("word"), *others)
    again = replace(read, entities=(name, entity.name), inputs=inputs, combine=Combine.JOIN, via="", needs=())
    changed = replace(workload, entities=(*workload.entities, index))
    lines = [
        f"### {name}",
        *(f"- {write_attribute(a)}" for a in index.attributes),
        f"- Cardinality: ~{count_} per {entity.name}",
    ]
    changed, rows = _written_with(changed, entity, name, atomic=True)
    lines += [*rows, f"{read.id}: {name}, {entity.name} | {write_inputs(inputs)} | Join"]
    what = f"an item for each {'word' if text else 'member'}, about {count_} for each {entity.name}"
    yield DocumentChange(what, with_read(changed, again), tuple(lines))


def _written_with(workload: Workload, entity: Entity, name: str, *, atomic: bool) -> tuple[Workload, list[str]]:
    """The writes that create an item, which then also create several items of another entity; and their rows."""
    lines: list[str] = []

    def extended(write: Write) -> Write:
        if not any(a.verb is Verb.CREATE and a.entity == entity.name and not a.many for a in write.actions):
            return write
        actions = (*write.actions, Action(Verb.CREATE, name, many=True))
        lines.append(f"{write.id}: {write_actions(actions, frozenset())} | {'Yes' if atomic else 'No'}")
        return replace(write, entities=(*write.entities, name), actions=actions, atomic=atomic)

    return replace(workload, writes=tuple(map(extended, workload.writes))), lines


def _feed(workload: Workload, read: Read) -> Iterator[DocumentChange]:
    """A feed: what is read is written in advance, once for each reader."""
    if len(read.entities) != 2 or read.combine is None:
        return
    follow, post = map(workload.entity, read.entities)
    if follow is None or post is None or not post.id or len(read.inputs) != 1:
        return
    reader = follow.attribute(bare_name(read.inputs[0].attribute))
    followed = [
        (a, b)
        for a in follow.attributes
        for b in post.attributes
        if a is not reader and a.references and root(workload, follow, a) == root(workload, post, b)
    ]
    name = f"{post.name}Feed"
    if (
        reader is None
        or len(followed) != 1
        or any(target(workload, a) == (post, post.id[0]) for a in follow.attributes)
        or workload.entity(name)
    ):
        return
    readers = round(count_by(workload, follow, [followed[0][0].name]))
    # What the feed is sorted by is part of its id: it never changes, and the key of the table is in this order.
    sorts = [a for s in read.sort if (a := post.attribute(bare_name(s.attribute))) and not a.id]
    if any(a.optional or changes_later(workload, post, a) for a in sorts):
        return
    order = [replace(a, id=True, generated=None, unique=False, mutable=None) for a in sorts]
    held = [replace(a, id=True, generated=None, references=post.name) for a in post.id]
    feed = Entity(
        name,
        attributes=(replace(reader, id=True, generated=None), *order, *held),
        cardinality=(Cardinality(readers, post.name),),
        size=200,
    )
    sort = tuple(replace(s, attribute=bare_name(s.attribute)) for s in read.sort)
    asked = replace(read, entities=(name, post.name), combine=Combine.JOIN, via=post.id[0].name, sort=sort)
    lines = [
        f"### {name}",
        *(f"- {write_attribute(a)}" for a in feed.attributes),
        f"- Cardinality: ~{readers} per {post.name}",
    ]
    changed, rows = _written_with(replace(workload, entities=(*workload.entities, feed)), post, name, atomic=False)
    lines += [*rows, f"{read.id}: {name}, {post.name} | {write_sort(sort) or '-'} | Join via {post.id[0].name}"]
    what = f"a feed, written for each of about {amount(readers)} readers when a {post.name} is created"
    yield DocumentChange(what, with_read(changed, asked), tuple(lines))


def _elsewhere(workload: Workload, read: Read) -> Iterator[Alternative]:
    """What another service answers better. Its price is not known here."""
    take = (write_pin(OutOfScope(read.id)),)
    searched = [i for i in read.inputs if i.op is Op.CONTAINS]
    near = sum(bool(_PLACE.search(i.attribute)) and i.op in RANGES for i in read.inputs) > 1
    if near or searched or sum(i.optional for i in read.inputs) > 2:
        kind = "geographic search" if near else "search by any combination" if not searched else "full-text search"
        yield Alternative(f"{kind} in OpenSearch, fed by the stream of the table (not priced here)", take=take)
    elif excess(read, workload) and per_second(read.rate) < 1 / 3600:
        yield Alternative("an export to S3, asked with Athena (not priced here)", take=take)
