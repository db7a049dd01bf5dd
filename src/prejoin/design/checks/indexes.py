"""Checks indexes and copies: whether each is needed, and what it costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from msgspec.structs import replace

from prejoin.design import codes
from prejoin.design.checks.bound_keys import BoundKey
from prejoin.design.checks.key_answers import answer, nearest
from prejoin.design.checks.report import Report
from prejoin.design.checks.writes import finds
from prejoin.design.cost.bill import bill
from prejoin.design.cost.heat import hot_loads
from prejoin.design.explain.phrases import count
from prejoin.design.layout.projection import WORTH, twin_of, without_index
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, ProjectionKind, Slot, When
from prejoin.design.solver.violations import ignored_decisions, violations
from prejoin.keys import Lookup, fields_of
from prejoin.protocol import limits
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.grammar.statements import write_pin
from prejoin.workload.lookup import bare_name
from prejoin.workload.model import Op, Read

MANY = 5
WORTHWHILE = Decimal("0.05")
"""The fraction of the bill that a sparse index must save to be reported."""
MOST_WRITES = 4
"""The most writes for a new item that are not reported."""


def check_indexes(r: Report) -> None:
    _number(r)
    _decided(r)
    _needed(r)
    _merged(r)
    _named(r)
    _projections(r)
    _amplified(r)
    _sparse(r)


def _number(r: Report) -> None:
    local = [slot for slot in r.design.indexes if slot.local]
    many = len(r.design.indexes) - len(local)
    if many > limits.GLOBAL_INDEXES or len(local) > limits.LOCAL_INDEXES:
        message = f"there are {many} global and {len(local)} local indexes; 20 and 5 are allowed"
        r.say(codes.TOO_MANY_INDEXES, message, "let entities share an index")
    elif many > MANY:
        r.say(codes.MANY_INDEXES, f"there are {many} global indexes", "check whether each pattern is worth its index")


def _named(r: Report) -> None:
    """The limit of attribute names in projections."""
    total = 0
    for slot in r.design.indexes:
        names = len(slot.projection.attributes)
        total += names
        if names > limits.INDEX_PROJECTED_ATTRIBUTES:
            message = f"the projection of {slot.name} names {names} attributes; 20 are allowed"
            r.say(codes.TOO_MANY_PROJECTED, message, "let it hold all attributes", slot.name)
    if total > limits.PROJECTED_ATTRIBUTES:
        message = f"the projections of all indexes name {total} attributes; 100 are allowed"
        r.say(codes.TOO_MANY_PROJECTED, message, "let some of them hold all attributes")


def _decided(r: Report) -> None:
    """Decisions that the design violates or ignores."""
    for one in violations(r.design, r.workload):
        message = f"the document decides `{write_pin(one.pin)}`, and there {_verb(one.there)} {name_list(one.there)}"
        r.say(codes.BEYOND, message, f"remove {name_list(one.there)}, or the decision", one.name, one.slot)
    for other in ignored_decisions(r.design, r.workload):
        sentence = write_pin(other.pin)
        r.say(codes.NO_EFFECT, f"the decision `{sentence}` has no effect: {other.why}", other.fix, sentence)


def _verb(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _questions(r: Report) -> dict[str, Lookup]:
    """The questions of reads, and of writes that have to find their items."""
    stored = {key.item.entity for key in r.keys}
    found = {}
    for id_, ask in r.asks.items():
        # Without the entities that have no item, the rest of a collection is still read.
        entities = tuple(name for name in ask.entities if name in stored)
        if entities:
            some = replace(ask, entities=entities)
            # A pattern with a second request or a filter still needs the key of its first part.
            found[id_] = some if answer(r.keys, some) else nearest(r.keys, some)[1] or some
    for write in r.writes:
        for action in write.actions:
            base = r.base(action.entity)
            if base is None:
                continue
            first = finds(r, write, action, base)
            if first and first.equal:
                found[f"{write.id} {action.entity}"] = first
    return found


def _needed(r: Report) -> None:
    """The keys that are needed: the others can be removed one after the other without changing an answer."""
    asks = _questions(r)
    left = list(r.keys)
    before = {id_: found for id_, ask in asks.items() if (found := answer(left, ask))}

    def spared(gone: Callable[[BoundKey], bool]) -> bool:
        """Remove keys if no answer needs them."""
        fewer = [key for key in left if not gone(key)]
        lost = [key.form for key in left if gone(key)]
        # Reads of other keys keep their answers: fewer items can only be between theirs.
        touched = {
            id_: then for id_, then in before.items() if then.rank or any(form in lost for form in then.plan.facets)
        }
        after = {id_: answer(fewer, asks[id_]) for id_ in touched}
        if not all((now := after[id_]) is not None and now.price <= then.price for id_, then in touched.items()):
            return False
        left[:] = fewer
        before.update({id_: now for id_, now in after.items() if now})
        return True

    relieving = {slot.name for slot in r.design.indexes if _relieves(r, slot)}
    for slot in reversed(r.design.indexes):
        if slot.name not in relieving and spared(lambda key, name=slot.name: key.slot == name):  # type: ignore[misc]
            r.say(codes.UNUSED_INDEX, f"no pattern needs the index {slot.name}", "leave it out", slot.name, slot.name)
    for copy in reversed(r.design.copies):
        if any(key.item == copy for key in left) and spared(lambda key, copy=copy: key.item == copy):  # type: ignore[misc]
            message = f"no pattern needs the copy `{copy.copy}` of {copy.entity}"
            r.say(codes.UNUSED_COPY, message, "leave it out", copy.entity, TABLE)
    for entry in [key for key in left if key.slot not in {TABLE, *relieving} and not _unavoidable(r, key.place)]:
        if spared(lambda key, entry=entry: key is entry):  # type: ignore[misc]
            names = [attribute.name for attribute in (*entry.place.pk, *entry.place.sk)]
            r.say(
                codes.UNUSED_ENTRY,
                f"no pattern reads {entry.name} in {entry.slot}",
                f"remove {name_list(names)} from {entry.name}",
                entry.item.entity,
                entry.slot,
            )


def _relieves(r: Report, slot: Slot) -> bool:
    """Whether another index has the same keys, and this one is cheaper or cooler because it holds less."""
    if slot.projection.kind is ProjectionKind.ALL or twin_of(slot, r.design) is None:
        return False
    rest = without_index(slot, r.design, r.workload)
    hotter = len(hot_loads(r.workload, rest)) > len(hot_loads(r.workload, r.design))
    return hotter or bill(r.workload, rest).total > bill(r.workload, r.design).total


def _unavoidable(r: Report, place: Slot) -> bool:
    """Whether an index is the table's key inverted: every item is in it."""
    own = {attribute.name for attribute in (*r.design.slots[0].pk, *r.design.slots[0].sk)}
    return {attribute.name for attribute in (*place.pk, *place.sk)} <= own


def _merged(r: Report) -> None:
    """Pairs of indexes that have no entity in common."""
    groups: list[list[Slot]] = []
    for slot in r.design.indexes:
        if slot.local or _unavoidable(r, slot):
            continue
        there = _entities(r, slot)
        for group in groups:
            first = group[0]
            alike = (first.projection, len(first.pk), bool(first.sk)) == (slot.projection, len(slot.pk), bool(slot.sk))
            texts = all(a.type == "S" for one in (first, slot) for a in (*one.pk, *one.sk))
            loose = first.projection == slot.projection and len(first.pk) == len(slot.pk)
            if (alike or loose) and texts and not any(there & _entities(r, one) for one in group):
                group.append(slot)
                break
        else:
            groups.append([slot])
    for group in groups:
        if len(group) > 1:
            names = [slot.name for slot in group]
            message = f"no entity is in more than one of {name_list(names)}"
            fix = f"let them share the key attributes of one index, which saves {len(group) - 1}"
            r.say(codes.COULD_BE_ONE, message, fix, names[1], names[1])


def _entities(r: Report, slot: Slot) -> set[str]:
    return {item.entity for item in r.design.items if item.facet(slot.name)}


def _projections(r: Report) -> None:
    for slot in r.design.indexes:
        if slot.projection.kind is not ProjectionKind.ALL:
            continue
        reads = [read for read in r.reads if (found := r.answers.get(read.id)) and found.plan.slot == slot.name]
        if not reads or not all(read.needs for read in reads):
            continue
        needed = {bare_name(name) for read in reads for name in read.needs}
        whole = {
            a.name for read in reads for name in read.entities if (e := r.workload.entity(name)) for a in e.attributes
        }
        if len(needed) * 2 <= len(whole):
            r.say(
                codes.HOLDS_MORE,
                f"{slot.name} holds all attributes, and only {name_list(sorted(needed))} are read from it",
                "project these only",
                slot.name,
                slot.name,
            )


def _amplified(r: Report) -> None:
    for entity in r.workload.entities:
        items = [item for item in r.design.items if item.entity == entity.name]
        guards = sum(guard.entity == entity.name for guard in r.design.guards)
        places = sum(len(item.facets) for item in items) + guards
        if places > MOST_WRITES:
            r.say(
                codes.MANY_WRITES,
                f"a new {entity.name} is written {places} times, as {count(len(items), 'item')}, "
                f"{count(guards, 'guard')} and {count(places - len(items) - guards, 'index entry', 'index entries')}",
                "check whether each pattern is worth its index",
                entity.name,
            )


def _sparse(r: Report) -> None:
    """Index entries that no read wants, because all of them ask for one constant."""
    for at, item in enumerate(r.design.items):
        for facet in (f for f in item.facets if f.slot != TABLE):
            reads = _readers(r, item.entity, facet.slot)
            common = set[tuple[str, str]]().union(*reads.values()).intersection(*reads.values()) if reads else set()
            for name, value in sorted(common - {(w.attribute, v) for w in facet.when for v in w.values}):
                fewer = replace(facet, when=(*facet.when, When(name, (value,))))
                facets = tuple(fewer if f is facet else f for f in item.facets)
                items = (*r.design.items[:at], replace(item, facets=facets), *r.design.items[at + 1 :])
                _holding_less(r, replace(r.design, items=items), item.entity, fewer, list(reads))


def _readers(r: Report, entity: str, slot: str) -> dict[str, set[tuple[str, str]]]:
    """The reads of an entity in an index, with their constants; writes that find items there have none."""
    found: dict[str, set[tuple[str, str]]] = {}
    for operation in r.design.operations:
        if not any(q.slot == slot and entity in q.entities for q in operation.requests):
            continue
        read = r.workload.pattern(operation.pattern)
        inputs = read.inputs if isinstance(read, Read) and len(read.entities) == 1 else ()
        found[operation.pattern] = {
            (bare_name(one.attribute), one.values[0].const)
            for one in inputs
            if one.op is Op.EQ and not one.filter and one.values and one.values[0].const is not None
        }
    return found


def _holding_less(r: Report, sparse: Design, entity: str, facet: Facet, reads: Sequence[str]) -> None:
    """Report the cost with the sparse key, and the write that prevents it."""
    mapped = map_patterns(sparse, r.workload)
    served = {o.pattern for o in r.design.operations if o.served}
    if served - {o.pattern for o in mapped.operations if o.served}:
        return
    now, then = bill(r.workload, r.design).total, bill(r.workload, mapped).total
    if now - then < max(WORTH, now * WORTHWHILE):
        return
    when = facet.when[-1]
    names = [name for text in (*facet.pk, *facet.sk) for name in fields_of(text)]
    needed = [name for name in names if name != when.attribute]
    reading = {
        o.pattern: [n for n in needed if n not in {i.attribute for i in pattern.inputs}]
        for o in mapped.operations
        if (before := r.design.operation(o.pattern)) and len(o.requests) > len(before.requests)
        if (pattern := r.workload.pattern(o.pattern))
    }
    given = " and ".join(f"{name_list(names)} to {write}" for write, names in reading.items() if names)
    r.say(
        codes.NOT_SPARSE,
        f"{facet.slot} holds every {entity}, and {', '.join(reads)} wants only those where `{when.attribute}` is "
        f"{when.values[0]}: with only these the design would cost ${then:,.2f} a month, not ${now:,.2f}",
        f"give {given}, which then need not be read first"
        if given
        else f"put them there only when it is {when.values[0]}",
        entity,
        facet.slot,
    )
