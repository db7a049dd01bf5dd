"""Random workloads: parents and children with names that are difficult for generated code, and all kinds of patterns.

A `random.Random` makes a workload, so that a seed repeats it, and hypothesis can shrink it.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from msgspec.structs import replace

from prejoin.constructs.history import VERSION
from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import (
    RANGES,
    Action,
    AtMost,
    Attribute,
    Cardinality,
    Change,
    ChangeOp,
    Combine,
    Comparison,
    Condition,
    Consistency,
    Decision,
    Direction,
    Entity,
    Follows,
    History,
    Input,
    Minimise,
    Op,
    Presence,
    Rate,
    Read,
    Result,
    Sort,
    Value,
    Verb,
    Workload,
    Write,
)

ENTITIES = ["Shelf", "Book", "Page", "import", "Client", "Order", "Größe", "order item", "Index"]
NAMES = [
    "class", "limit", "Größe", "str", "order", "o", "tx", "shelf", "date", "fromDate", "from_date", "self", "now", "db",
    "size", "name", "between", "first name", "2nd", "model_config", "名前", "status", "values", "found", "page", "add",
]  # fmt: skip
ENUM = Type(Kind.ENUM, values=("OPEN", "a b", 'c"d'))
SCALARS = [
    STRING, ENUM, Type(Kind.INTEGER), Type(Kind.DECIMAL), Type(Kind.NUMBER), Type(Kind.DATETIME), Type(Kind.DATE),
    Type(Kind.UUID), Type(Kind.ULID), Type(Kind.BOOLEAN), Type(Kind.BINARY),
]  # fmt: skip
SEVERAL = [
    Type(Kind.LIST, of=STRING), Type(Kind.SET, of=STRING), Type(Kind.SET, of=Type(Kind.INTEGER)), Type(Kind.LIST),
    Type(Kind.LIST, of=Type(Kind.DATE)), Type(Kind.MAP),
]  # fmt: skip
RANGED = frozenset({Kind.STRING, Kind.INTEGER, Kind.DECIMAL, Kind.NUMBER, Kind.DATETIME, Kind.DATE})
COMPARED = (Op.LT, Op.LE, Op.GT, Op.GE, Op.BETWEEN)
COUNTER = "copies"
PINS = (AtMost("GSIs", 0), AtMost("GSIs", 1), AtMost("copies", 0), Minimise("money"))
"""Copies in place of indexes, and indexes in place of copies."""


def random_workload(chance: Random) -> Workload:
    """A root, its children and sometimes theirs, with random kinds of reads and writes."""
    entities: list[Entity] = []
    for name in chance.sample(ENTITIES, chance.randint(2, 3)):
        entities.append(_entity(chance, name, chance.choice(entities) if entities else None))
    reads = [r for e in entities for r in _reads(chance, e, entities)]
    writes = [w for e in entities for w in _writes(chance, e, entities)]
    for feature in (_with_history, _with_content, _with_follower, _with_hot_write):
        if chance.random() < 0.3:
            entities, reads, writes = feature(chance, entities, reads, writes)
    return Workload(
        title="Random",
        entities=tuple(entities),
        reads=tuple(replace(read, id=f"AP-{at:03}") for at, read in enumerate(reads, 1)),
        writes=tuple(replace(write, id=f"AP-{at:03}") for at, write in enumerate(writes, 50)),
        decisions=(Decision(chance.choice(PINS)),) if chance.random() < 0.4 else (),
    )


# --- Entities -------------------------------------------------------------------------------------------------------


def _entity(chance: Random, name: str, parent: Entity | None) -> Entity:
    """An entity with its own id, or with an id under its parent's."""
    own = f"{name.replace(' ', '')}Id"
    kind = chance.choice([STRING, Type(Kind.UUID), Type(Kind.ULID)])
    held: list[Attribute] = []
    part = parent is not None and len(parent.id) == 1 and chance.random() < 0.4
    if parent is not None and len(parent.id) == 1:
        above = parent.id[0]
        held = [Attribute(above.name, above.type, id=part, mutable=None if part else False, references=parent.name)]
    described = Attribute(own, STRING if part else kind, id=True, generated=not part)
    others = [_attribute(chance, n) for n in chance.sample(NAMES, chance.randint(3, 5))]
    counter = Attribute(COUNTER, Type(Kind.INTEGER), mutable=True)
    if chance.random() < 0.3:
        others.append(Attribute("nick", STRING, optional=chance.random() < 0.5, mutable=True, unique=True))
    if chance.random() < 0.2:
        others.append(Attribute("endsAt", Type(Kind.INTEGER), optional=True, mutable=True, ttl=True))
    per = (Cardinality(chance.randint(1, 8), parent.name),) if parent else ()
    return Entity(name, attributes=(*held, described, counter, *others), cardinality=per)


def _attribute(chance: Random, name: str) -> Attribute:
    type_ = chance.choice(SEVERAL if chance.random() < 0.2 else SCALARS)
    return Attribute(name, type_, optional=chance.random() < 0.3, mutable=chance.random() < 0.7)


def _others(entity: Entity) -> list[Attribute]:
    """The attributes that are neither ids nor references."""
    return [a for a in entity.attributes if not a.id and not a.references]


def _parent(entity: Entity, entities: list[Entity]) -> Entity | None:
    return next((e for a in entity.attributes for e in entities if a.references == e.name), None)


# --- Reads ----------------------------------------------------------------------------------------------------------


def _reads(chance: Random, entity: Entity, entities: list[Entity]) -> Iterator[Read]:
    """Reads by id, as a collection with the parent, joined with it; and random queries."""
    ids = tuple(Input(a.name) for a in entity.id)
    parent = _parent(entity, entities)
    if chance.random() < 0.7:
        consistency = chance.choice([None, *Consistency])
        yield Read("", entities=(entity.name,), inputs=ids, result=Result.ONE, consistency=consistency)
    if len(ids) == 1 and chance.random() < 0.3:
        listed = (replace(ids[0], many=True),)
        consistency = chance.choice([None, *Consistency])
        needs = _needs(chance, entity)
        yield Read("", "", (entity.name,), "some", listed, Result.MANY, needs, consistency=consistency)
    if parent is not None and chance.random() < 0.4:
        both = (parent.name, entity.name)
        above = (Input(parent.id[0].name),)
        yield Read(
            "", "", both, "together", above, Result.MANY, combine=Combine.COLLECTION, page=chance.choice([None, 3])
        )
    if parent is not None and len(ids) == 1 and chance.random() < 0.4:
        both = (entity.name, parent.name)
        yield Read("", "", both, "with its parent", ids, Result.ONE, combine=Combine.JOIN)
    for _ in range(chance.randint(1, 2)):
        yield _question(chance, entity, parent)


def _question(chance: Random, entity: Entity, parent: Entity | None) -> Read:
    """Equalities, at most one range, an order, and filters."""
    others = _others(entity)
    scalars = [a for a in others if a.type.scalar]
    inputs: list[Input] = []
    if parent is not None and chance.random() < 0.6:
        inputs.append(Input(parent.id[0].name))
    for attribute in chance.sample(scalars, min(len(scalars), chance.randint(0, 2))):
        equal = [a for a in inputs if a.op is not Op.EQ]
        if attribute.type.kind in RANGED and not equal and inputs and chance.random() < 0.5:
            ops = [*COMPARED, *([Op.BEGINS_WITH] if attribute.type.kind is Kind.STRING else [])]
            inputs.append(Input(attribute.name, chance.choice(ops)))
        elif attribute.type.kind in (Kind.ENUM, Kind.BOOLEAN) and chance.random() < 0.5:
            value = "true" if attribute.type.kind is Kind.BOOLEAN else chance.choice(attribute.type.values)
            inputs.append(Input(attribute.name, values=(Value(const=value),)))
        else:
            inputs.append(Input(attribute.name))
    asked = {i.attribute for i in inputs}
    if inputs:
        for attribute in chance.sample(others, min(len(others), chance.randint(0, 2))):
            if attribute.name not in asked:
                inputs.append(_filter(chance, attribute))
                asked.add(attribute.name)
    result = chance.choice([Result.MANY, Result.MANY, Result.MANY, Result.ONE, Result.COUNT])
    sorts = [a for a in scalars if a.name not in asked and a.type.kind in RANGED]
    ranged = next((entity.attribute(i.attribute) for i in inputs if i.op in RANGES and not i.filter), None)
    by = ranged or (chance.choice(sorts) if sorts else None)
    sort = (Sort(by.name, chance.choice(list(Direction))),) if by and result is not Result.COUNT and inputs else ()
    return Read(
        "",
        entities=(entity.name,),
        description=chance.choice(["Books", "the books", "", "list", 'a "b" \\']),
        inputs=tuple(inputs),
        result=result,
        needs=_needs(chance, entity) if result is not Result.COUNT else (),
        limit=chance.choice([None, None, 2]) if result is Result.MANY else None,
        sort=sort if chance.random() < 0.6 else (),
        paginated=chance.choice([None, True, False]),
        page=chance.choice([None, 3]),
    )


def _filter(chance: Random, attribute: Attribute) -> Input:
    """A filter with any comparison of the type."""
    name, kind = attribute.name, attribute.type.kind
    optional = chance.random() < 0.3
    if attribute.optional and chance.random() < 0.3:
        return Input(name, chance.choice([Op.EXISTS, Op.NOT_EXISTS]), filter=True)
    if kind is Kind.MAP or (kind is Kind.LIST and attribute.type.of is None):
        return Input(name, Op.EXISTS, filter=True)
    if kind in (Kind.LIST, Kind.SET):
        return Input(name, Op.CONTAINS, filter=True, optional=optional)
    ops = [Op.EQ, Op.NE, Op.IN]
    if kind in RANGED:
        ops += COMPARED
    if kind is Kind.STRING:
        ops += [Op.BEGINS_WITH, Op.CONTAINS]
    return Input(name, chance.choice(ops), filter=True, optional=optional)


def _needs(chance: Random, entity: Entity) -> tuple[str, ...]:
    if chance.random() < 0.7:
        return ()
    return tuple(chance.sample([a.name for a in entity.attributes], 2))


# --- Writes ---------------------------------------------------------------------------------------------------------


def _writes(chance: Random, entity: Entity, entities: list[Entity]) -> Iterator[Write]:
    """Create, with a count in the parent; update; put; and delete."""
    ids = tuple(Input(a.name) for a in entity.id)
    name, parent = entity.name, _parent(entity, entities)
    if parent is not None and chance.random() < 0.5:
        above = Input(parent.id[0].name)
        given = ids if above in ids else (*ids, above)
        counting = Action(Verb.UPDATE, parent.name, changes=(Change(COUNTER, ChangeOp.ADD, Value(const="1")),))
        checks = _checks(chance, parent.name)
        yield Write("", "", (name, parent.name), "add", given, (Action(Verb.CREATE, name), counting), True, checks)
    else:
        check = (Presence(entity=parent.name),) if parent and chance.random() < 0.5 else ()
        yield Write("", "", (name,), "make", ids, (Action(Verb.CREATE, name),), checks=check)
    for _ in range(chance.randint(1, 2)):
        yield _update(chance, entity, ids)
    if chance.random() < 0.3 and not any(a.unique for a in entity.attributes):
        yield _upsert(chance, entity, ids)
    if chance.random() < 0.5:
        yield Write("", "", (name,), "put", ids, (Action(Verb.PUT, name),), False)
    if chance.random() < 0.5:
        checks = _checks(chance, name)
        yield Write("", "", (name,), "drop", ids, (Action(Verb.DELETE, name),), chance.choice([True, False]), checks)


def _checks(chance: Random, entity: str) -> tuple[Condition, ...]:
    """Conditions on an existing item."""
    compared = Comparison(
        entity=entity, attribute=COUNTER, op=chance.choice([Op.GE, Op.NE]), values=(Value(const="1"),)
    )
    return chance.choice([(), (Presence(entity=entity),), (compared,)])


def _upsert(chance: Random, entity: Entity, ids: tuple[Input, ...]) -> Write:
    """An upsert that sets all required attributes and adds to a number."""
    needed = [a.name for a in entity.attributes if not (a.id or a.optional or a.name == COUNTER)]
    changes = (*map(Change, needed), Change(COUNTER, ChangeOp.ADD, Value(const="1")))
    inputs = (*ids, *map(Input, needed))
    action = Action(Verb.UPSERT, entity.name, changes=changes)
    return Write("", "", (entity.name,), "set", inputs, (action,), chance.choice([True, False]))


def _update(chance: Random, entity: Entity, ids: tuple[Input, ...]) -> Write:
    inputs, changes = list(ids), []
    mutable = [a for a in _others(entity) if a.mutable and a.name != COUNTER]
    for attribute in chance.sample(mutable, min(len(mutable), chance.randint(1, 3))):
        kind = attribute.type.kind
        if attribute.optional and chance.random() < 0.4:
            changes.append(Change(attribute.name, ChangeOp.REMOVE))
            continue
        if attribute.type.numeric and not attribute.ttl and chance.random() < 0.4:
            op = chance.choice([ChangeOp.ADD, ChangeOp.SUBTRACT])
            changes.append(Change(attribute.name, op, Value(const="2")))
            continue
        grows = kind in (Kind.LIST, Kind.SET) and chance.random() < 0.7
        changes.append(Change(attribute.name, ChangeOp.APPEND if grows else ChangeOp.SET))
        inputs.append(Input(attribute.name))
    if not changes or chance.random() < 0.3:
        changes.append(Change(COUNTER, ChangeOp.SUBTRACT, Value(const="1")))
    update = Action(Verb.UPDATE, entity.name, changes=tuple(changes))
    checks = _checks(chance, entity.name)
    return Write("", "", (entity.name,), "change", tuple(inputs), (update,), chance.choice([True, False]), checks)


# --- Features of entities -------------------------------------------------------------------------------------------

Parts = tuple[list[Entity], list[Read], list[Write]]


def _with_history(chance: Random, entities: list[Entity], reads: list[Read], writes: list[Write]) -> Parts:
    """One entity keeps its versions. A put and an upsert do not know the version that they replace."""
    entity = chance.choice(entities)
    if any(a.ttl for a in entity.attributes):
        return entities, reads, writes
    version = Attribute(VERSION, Type(Kind.INTEGER), mutable=True)
    history = History(chance.choice([1, 3]), chance.choice([None, 90 * 86400]))
    new = replace(entity, attributes=(*entity.attributes, version), history=history)
    blind = (Verb.PUT, Verb.UPSERT)
    kept = [w for w in writes if not any(a.entity == entity.name and a.verb in blind for a in w.actions)]
    return _replaced(entities, entity, new), reads, kept


def _with_content(chance: Random, entities: list[Entity], reads: list[Read], writes: list[Write]) -> Parts:
    """One entity has a large content, which a write may replace."""
    entity = chance.choice(entities)
    if any(a.ttl for a in entity.attributes):
        return entities, reads, writes
    body = Attribute("body", Type(Kind.CONTENT), optional=True, mutable=True, size=chance.choice([60_000, 2_000_000]))
    if chance.random() < 0.6:
        ids = tuple(Input(a.name) for a in entity.id)
        action = Action(Verb.UPDATE, entity.name, changes=(Change("body"),))
        writes = [*writes, Write("", "", (entity.name,), "rewrite", (*ids, Input("body")), (action,), False)]
    return _replaced(entities, entity, replace(entity, attributes=(*entity.attributes, body))), reads, writes


def _with_follower(chance: Random, entities: list[Entity], reads: list[Read], writes: list[Write]) -> Parts:
    """The items of one entity repeat an attribute of their parent, and follow it."""
    for entity in entities:
        parent = _parent(entity, entities)
        sources = [a for a in _others(parent) if a.mutable and a.type.scalar and not a.unique] if parent else []
        sources = [a for a in sources if not a.ttl and a.name not in (COUNTER, VERSION)]
        if parent is None or entity.history or not sources:
            continue
        source, within = chance.choice(sources), chance.choice([None, 10])
        follows = Follows(f"{parent.name}.{source.name}", "", within)
        own = Attribute("seen", source.type, optional=source.optional, mutable=True, follows=follows)
        above = Input(parent.id[0].name)
        every = Read("", "", (entity.name,), "followers", (above,), Result.MANY, paginated=True, page=5)
        check = Comparison(entity=parent.name, attribute=source.name, op=Op.EQ, values=(Value(param="seen"),))
        new = replace(entity, attributes=(*entity.attributes, own))
        compared = [_compared(write, entity, check, above) if within is None else write for write in writes]
        kept = [w for w in compared if not any(a.entity == entity.name and a.verb is Verb.UPSERT for a in w.actions)]
        return _replaced(entities, entity, new), [*reads, every], kept
    return entities, reads, writes


def _compared(write: Write, entity: Entity, check: Condition, above: Input) -> Write:
    """A write that compares the value that it gives to a new item with the source."""
    if not any(a.entity == entity.name and a.verb in (Verb.CREATE, Verb.PUT) for a in write.actions):
        return write
    inputs = tuple(dict.fromkeys((*write.inputs, above, Input("seen"))))
    return replace(write, inputs=inputs, checks=(*(c for c in write.checks if c.entity != check.entity), check))


def _with_hot_write(chance: Random, entities: list[Entity], reads: list[Read], writes: list[Write]) -> Parts:
    """One write is called more often than one partition allows."""
    at = chance.randrange(len(writes))
    hot = replace(writes[at], rate=Rate(value=5_000, hottest=chance.choice([None, 60])))
    return entities, reads, [*writes[:at], hot, *writes[at + 1 :]]


def _replaced(entities: list[Entity], old: Entity, new: Entity) -> list[Entity]:
    return [new if entity is old else entity for entity in entities]
