"""Random workloads with everything that a document can say: `wide_workloads()`.

They are written as a document and read again, so each is one that a person could have written: with a tenant in every id,
with shorthand written out, and without an error that `prejoin check` reports. Unlike those of `workloads`, they are too
varied for brute force.
"""

from __future__ import annotations

from typing import TypeVar

from hypothesis import assume
from hypothesis import strategies as st
from msgspec.structs import replace

from prejoin.constructs.history import VERSION
from prejoin.constructs.registry import maintained
from prejoin.diagnostics import has_errors
from prejoin.types import STRING, Kind, Type
from prejoin.workload.files import read_text, write_text
from prejoin.workload.model import (
    Absence,
    Action,
    AllOf,
    AnyOf,
    Attribute,
    Cardinality,
    Change,
    ChangeOp,
    Combine,
    Comparison,
    Condition,
    Consistency,
    Context,
    Direction,
    Entity,
    Follows,
    History,
    Input,
    Negation,
    Op,
    Per,
    Presence,
    Rate,
    Read,
    Result,
    SoftDelete,
    Sort,
    Tenant,
    Test,
    Value,
    Verb,
    Workload,
    Write,
)

_Pattern = TypeVar("_Pattern", Read, Write)
_NAMES = ("Alpha", "Beta", "Gamma")
_MOMENT = Type(Kind.DATETIME)
_INTEGER = Type(Kind.INTEGER)
_STATE = Type(Kind.ENUM, values=("OPEN", "HELD", "DONE"))
_DAY = 86_400
_RANGES = {
    Kind.DATETIME: (Op.LT, Op.LE, Op.GT, Op.GE, Op.BETWEEN),
    Kind.DATE: (Op.GE, Op.BETWEEN),
    Kind.INTEGER: (Op.LT, Op.GE, Op.BETWEEN),
    Kind.DECIMAL: (Op.LE, Op.GT),
    Kind.STRING: (Op.BEGINS_WITH, Op.BEGINS_WITH, Op.GE),
}
"""The ranges that are asked of each kind of attribute."""


@st.composite
def wide_workloads(draw: st.DrawFn, most_reads: int = 5) -> Workload:
    """One to three entities with up to `most_reads` reads of one entity, reads of a parent with its children, and writes."""
    entities: list[Entity] = []
    below: list[tuple[Entity, Entity]] = []
    for name in _NAMES[: draw(st.integers(1, 3))]:
        parent = draw(st.sampled_from([None, *entities, *entities[::-1]]))
        entities.append(_entity(draw, name, parent))
        if parent is not None:
            below.append((parent, entities[-1]))
    entities = _with_references(draw, entities)
    by_name = {entity.name: entity for entity in entities}
    below = [(by_name[parent.name], by_name[child.name]) for parent, child in below]
    reads = [_read(draw, draw(st.sampled_from(entities))) for _ in range(draw(st.integers(1, most_reads)))]
    reads += [_together(draw, *pair) for pair in below if draw(st.booleans())]
    reads += [_of_followed(draw, *pair) for pair in below if _followed(pair[1])]
    parents = {child.name: parent for parent, child in below}
    writes = [write for entity in entities for write in _writes(draw, entity, parents.get(entity.name))]
    writes += [_counted(draw, *pair) for pair in below if _seldom(draw)]
    writes += [_several(draw, *pair) for pair in below if _seldom(draw)]
    writes += [_transfer(draw, entity) for entity in entities if len(entity.id) == 1 and _seldom(draw, 5)]
    deletes = [write for entity in entities for write in _deletes(draw, entity)]
    deletes += [_with_children(draw, *pair) for pair in below if _seldom(draw)]
    if _seldom(draw, 6):
        settings = _singleton(draw)
        entities.append(settings)
        reads.append(_reading(draw, settings, (), result=Result.ONE))
        writes += _of_singleton(draw, settings)
    workload = Workload(
        title="Random",
        context=_context(draw, entities),
        entities=tuple(entities),
        reads=tuple(_numbered(reads, 1)),
        writes=tuple(_numbered(writes, 40)),
        deletes=tuple(_numbered(deletes, 80)),
    )
    reading = read_text(write_text(workload, "json"), "json")
    assume(not has_errors(reading.diagnostics))
    return reading.workload


def _seldom(draw: st.DrawFn, one_of: int = 4) -> bool:
    return draw(st.integers(1, one_of)) == one_of


def _numbered(patterns: list[_Pattern], first: int) -> list[_Pattern]:
    return [replace(pattern, id=f"AP-{number:03}") for number, pattern in enumerate(patterns, first)]


def _context(draw: st.DrawFn, entities: list[Entity]) -> Context | None:
    """No tenant, or one: outside of the table or in it, perhaps with an entity that belongs to none."""
    if draw(st.integers(0, 2)):
        return None
    # Whatever refers to an entity without a tenant has none of its own.
    alone = [e.name for e in entities[1:] if not any(a.references for a in e.attributes)]
    alone = [name for name in alone if not any(a.referenced_entity == name for e in entities for a in e.attributes)]
    exempt = draw(st.sampled_from([None, *alone]))
    owner = entities[0] if _seldom(draw, 3) and len(entities[0].id) == 1 else None
    attribute = owner.id[0].name if owner else "tenantId"
    return Context(tenant=Tenant(attribute, owner.name if owner else "", (exempt,) if exempt else ()))


# --- Entities -------------------------------------------------------------------------------------------------------


def _entity(draw: st.DrawFn, name: str, parent: Entity | None) -> Entity:
    low = name.lower()
    attributes = [_id(draw, low)]
    above: list[Attribute] = []
    if parent is not None:
        below = draw(st.booleans())  # its id begins with the parent's
        above = [
            Attribute(a.name, a.type, id=below, references=f"{parent.name}.{a.name}", mutable=None if below else False)
            for a in parent.id
        ]
        attributes = [*above, *attributes] if below else [*attributes, *above]
    attributes += [
        Attribute(f"{low}State", _STATE, mutable=True),
        Attribute(f"{low}At", _MOMENT, mutable=False),
        Attribute(f"{low}Due", Type(draw(st.sampled_from([Kind.DATETIME, Kind.DATE]))), optional=True, mutable=True),
        draw(st.sampled_from([
            Attribute(f"{low}Rank", _INTEGER, mutable=True),
            Attribute(f"{low}Rank", _INTEGER, mutable=False, max=999),
            Attribute(f"{low}Rank", Type(Kind.DECIMAL), mutable=False),
        ])),
        Attribute(f"{low}Title", STRING, mutable=draw(st.sampled_from([None, True, False]))),
        Attribute(f"{low}Note", STRING, optional=True, mutable=True),
        Attribute(f"{low}Hits", _INTEGER, mutable=True, default="0"),
    ]  # fmt: skip
    unique: tuple[tuple[str, ...], ...] = ()
    if _seldom(draw, 3):
        alone = not above or draw(st.booleans())
        attributes.append(Attribute(f"{low}Code", STRING, unique=alone, mutable=draw(st.booleans())))
        unique = () if alone else ((*(a.name for a in above), f"{low}Code"),)
    if _seldom(draw, 5):
        attributes.append(Attribute(f"{low}Flag", Type(Kind.BOOLEAN), mutable=True))
    if _seldom(draw, 5):
        attributes.append(Attribute(f"{low}Tags", Type(Kind.SET, of=STRING), optional=True, mutable=True))
    if _seldom(draw, 5):
        attributes.append(Attribute(f"{low}Body", Type(Kind.BINARY), mutable=True, size=2_000_000))
    elif _seldom(draw, 6):
        attributes.append(Attribute(f"{low}Until", _INTEGER, optional=True, ttl=True, mutable=True))
    if _seldom(draw, 5):
        attributes.append(Attribute(f"{low}Steps", Type(Kind.LIST, of=STRING), optional=True, mutable=True))
    if parent is not None and _seldom(draw, 4):
        attributes.append(_repeated(draw, low, parent))
    history = None
    if _seldom(draw, 4):
        history = History(draw(st.sampled_from([None, 2, 20])), draw(st.sampled_from([None, 90 * _DAY])))
        attributes.append(Attribute(VERSION, _INTEGER, mutable=True))
    soft_delete = None
    if _seldom(draw, 4) and not any(a.size == 2_000_000 for a in attributes):
        ends = any(a.ttl for a in attributes) and draw(st.booleans())
        releases = any(a.name == f"{low}Code" for a in attributes) and draw(st.booleans())
        soft_delete = SoftDelete("deletedAt", 30 * _DAY if ends else None, releases)
        attributes.append(Attribute("deletedAt", _MOMENT, optional=True, mutable=True))
    return Entity(
        name,
        attributes=tuple(attributes),
        cardinality=_cardinality(draw, parent),
        size=draw(st.sampled_from([None, 200, 3_000])),
        retention=draw(st.sampled_from([None, None, None, 30 * _DAY])),
        unique=unique,
        history=history,
        soft_delete=soft_delete,
    )


def _repeated(draw: st.DrawFn, low: str, parent: Entity) -> Attribute:
    """An attribute that repeats the title of its parent."""
    source = f"{parent.name}.{parent.name.lower()}Title"
    how = draw(st.sampled_from(["follows", "follows", "stream", "snapshot"]))
    if how == "snapshot":
        return Attribute(f"{low}Label", STRING, mutable=False, snapshot_of=source)
    follows = Follows(source, within=10 if how == "stream" else None)
    return Attribute(f"{low}Label", STRING, mutable=True, follows=follows)


def _followed(entity: Entity) -> Attribute | None:
    return next((a for a in entity.attributes if a.follows), None)


def _with_references(draw: st.DrawFn, entities: list[Entity]) -> list[Entity]:
    """The same entities; seldom, the last refers to itself, or to one of two others whose ids are of one type."""
    *others, last = entities
    if len(last.id) == 1 and _seldom(draw, 6):
        above = Attribute("above", last.id[0].type, optional=True, references=last.name, mutable=draw(st.booleans()))
        return [*others, replace(last, attributes=(*last.attributes, above))]
    if len(others) == 2 and draw(st.booleans()):
        first, second = others
        if len(first.id) == len(second.id) == 1 and first.id[0].type == second.id[0].type:
            owner = Attribute(
                "owner", first.id[0].type, references=first.name, references_or=(second.name,), mutable=False
            )
            return [*others, replace(last, attributes=(*last.attributes, owner))]
    return entities


def _singleton(draw: st.DrawFn) -> Entity:
    attributes = (
        Attribute("settingsState", _STATE, mutable=True),
        Attribute("settingsHits", _INTEGER, mutable=True, default="0"),
        Attribute("settingsNote", STRING, optional=True, mutable=True),
    )
    return Entity("Settings", attributes=attributes, singleton=True, size=draw(st.sampled_from([None, 3_000])))


def _id(draw: st.DrawFn, low: str) -> Attribute:
    kind = draw(st.sampled_from([Kind.STRING, Kind.UUID, Kind.ULID, Kind.INTEGER]))
    natural = kind in (Kind.STRING, Kind.INTEGER) and draw(st.booleans())
    generated = None if kind is Kind.INTEGER and not natural else not natural
    return Attribute(f"{low}Id", Type(kind), id=True, generated=generated)


def _cardinality(draw: st.DrawFn, parent: Entity | None) -> tuple[Cardinality, ...]:
    per = parent.name if parent else ""
    many = [(), *((Cardinality(count, per),) for count in (5, 200, 30_000)), (Cardinality(50, per, at_most=True),)]
    return draw(st.sampled_from([*many, (Cardinality(None, per),)] if per else many))


# --- Reads ----------------------------------------------------------------------------------------------------------


def _read(draw: st.DrawFn, entity: Entity) -> Read:
    kind = draw(st.sampled_from(["id", "ids", "unique", "count", *["collection"] * 6]))
    ids = [a.name for a in entity.id]
    unique = [(a.name,) for a in entity.attributes if a.unique] + list(entity.unique)
    if kind == "id" or (kind == "unique" and not unique):
        found = tuple(map(Input, ids))
        consistency = draw(st.sampled_from([None, *Consistency]))
        return _reading(draw, entity, found, result=Result.ONE, consistency=consistency)
    if kind == "unique":
        return _reading(draw, entity, tuple(map(Input, draw(st.sampled_from(unique)))), result=Result.ONE)
    if kind == "ids":
        found = (*map(Input, ids[:-1]), Input(ids[-1], many=True))
        return _reading(draw, entity, found, result=Result.MANY)
    inputs, ranged = _inputs(draw, entity)
    if kind == "count":
        return replace(_reading(draw, entity, inputs, result=Result.COUNT), needs=())
    by = [a.name for a in entity.attributes if a.name.endswith(("At", "Rank", "Title"))]
    by = [name for name in by if name not in [i.attribute for i in inputs]]
    sort = ranged or draw(st.sampled_from([None, *by]))
    pages = draw(st.sampled_from(["all", "pages", "pages", "limit"]))
    return replace(
        _reading(draw, entity, inputs, result=Result.MANY),
        sort=(Sort(sort, draw(st.sampled_from(list(Direction)))),) if sort else (),
        paginated=pages == "pages",
        page=draw(st.sampled_from([None, 20])) if pages == "pages" else None,
        limit=10 if pages == "limit" else None,
    )


def _reading(
    draw: st.DrawFn,
    entity: Entity,
    inputs: tuple[Input, ...],
    result: Result,
    consistency: Consistency | None = None,
) -> Read:
    names = [a.name for a in entity.attributes]
    return Read(
        "",
        entities=(entity.name,),
        inputs=inputs,
        result=result,
        rate=_rate(draw, [0.1, 5, 50], 20_000, [i.attribute for i in inputs]),
        needs=draw(st.sampled_from([(), (), (), tuple(names[:2]), tuple(names[2:4])])),
        consistency=consistency,
    )


def _inputs(draw: st.DrawFn, entity: Entity) -> tuple[tuple[Input, ...], str | None]:
    """Values that are given, perhaps a list, a range, a condition and a filter; and the attribute of the range."""
    low = entity.name.lower()
    known = [a.name for a in entity.attributes if a.id or a.references]
    known += [f"{low}State", f"{low}Rank", f"{low}Title"]
    known += [f"{low}{end}" for end in ("Code", "Flag") if entity.attribute(f"{low}{end}")]
    given = draw(st.lists(st.sampled_from(known), unique=True, max_size=3))
    inputs = [_equality(draw, low, name, first=not at) for at, name in enumerate(given)]
    left = [a for a in entity.attributes if a.name not in given and a.type.kind in _RANGES and not a.ttl]
    left = [a for a in left if not a.id and not a.references and a.name not in (f"{low}Note", VERSION, "deletedAt")]
    ranged = draw(st.sampled_from([None, None, *left]))
    if ranged:
        inputs.append(_range(draw, ranged))
    if f"{low}State" not in given and _seldom(draw, 6):
        inputs.append(Input(f"{low}State", Op.IN, (Value(const="OPEN"), Value(const="HELD"))))
    if _seldom(draw, 5):
        missing = draw(st.sampled_from([f"{low}Note", *([] if ranged else [f"{low}Due"])]))
        inputs.append(Input(missing, draw(st.sampled_from([Op.EXISTS, Op.NOT_EXISTS])), filter=_seldom(draw, 3)))
    if _seldom(draw, 4):
        one = _filter(draw, entity, [i.attribute for i in inputs])
        other = Input(f"{low}Note", Op.EXISTS, filter=True)
        either = other.attribute not in [i.attribute for i in inputs] and not one.optional and _seldom(draw, 4)
        inputs += [replace(one, either=True, keeps=None), other] if either else [one]
    return tuple(inputs), ranged.name if ranged and ranged.type.kind is not Kind.STRING else None


def _equality(draw: st.DrawFn, low: str, name: str, first: bool) -> Input:
    if name == f"{low}State" and draw(st.booleans()):
        return Input(name, values=(Value(const="OPEN"),))
    if name == f"{low}Flag" and draw(st.booleans()):
        return Input(name, values=(Value(const="true"),))
    if first and _seldom(draw, 8):
        return Input(name, many=True)
    return Input(name, optional=not first and _seldom(draw))


def _range(draw: st.DrawFn, attribute: Attribute) -> Input:
    op = draw(st.sampled_from(_RANGES[attribute.type.kind]))
    if op is Op.GE and attribute.type.kind is Kind.DATETIME and draw(st.booleans()):
        return Input(attribute.name, op, (Value(now=-7 * _DAY),))
    keeps = draw(st.sampled_from([None, None, 1.0]))
    return Input(attribute.name, op, optional=_seldom(draw, 6), keeps=keeps)


def _filter(draw: st.DrawFn, entity: Entity, taken: list[str]) -> Input:
    low = entity.name.lower()
    some = [
        Input(f"{low}Hits", Op.GT, (Value(const="3"),), filter=True, keeps=50.0),
        Input(f"{low}Title", Op.CONTAINS, filter=True, keeps=20.0),
        Input(f"{low}State", Op.NE, (Value(const="DONE"),), filter=True),
        Input(f"{low}Title", filter=True),
        Input(f"{low}At", Op.LT, filter=True, keeps=50.0),
    ]
    if entity.attribute(f"{low}Tags"):
        some.append(Input(f"{low}Tags", Op.CONTAINS, filter=True, optional=_seldom(draw)))
    return draw(st.sampled_from([one for one in some if one.attribute not in taken]))


def _together(draw: st.DrawFn, parent: Entity, child: Entity) -> Read:
    """A parent with its children, perhaps of a range or without some; or children, each with its parent."""
    low = child.name.lower()
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0, 50.0])))
    ids = tuple(Input(a.name) for a in parent.id)
    inputs: tuple[Input, ...]
    if _seldom(draw):
        all_ = draw(st.booleans())
        inputs = (Input(f"{low}State"),) if all_ else tuple(Input(a.name) for a in child.id)
        return Read(
            "",
            entities=(child.name, parent.name),
            inputs=inputs,
            result=Result.MANY if all_ else Result.ONE,
            paginated=all_,
            rate=rate,
            combine=Combine.JOIN,
        )
    inputs = ids
    sort: tuple[Sort, ...] = ()
    shape = draw(st.sampled_from(["plain", "plain", "filter", "both", "sorted", "list"]))
    if shape == "filter":
        inputs = (*ids, Input(f"{child.name}.{low}Hits", Op.GT, (Value(const="3"),), filter=True, keeps=50.0))
    if shape == "both":
        name = f"{parent.name}.{parent.name.lower()}At / {child.name}.{low}At"
        inputs = (*ids, Input(name, draw(st.sampled_from([Op.BETWEEN, Op.GE]))))
        sort = (Sort(name, Direction.DESC),) if draw(st.booleans()) else ()
    if shape == "list":
        inputs = (*ids[:-1], replace(ids[-1], many=True))
    if shape == "sorted":
        sort = (Sort(f"{child.name}.{low}At", draw(st.sampled_from(list(Direction)))),)
    return Read(
        "",
        entities=(parent.name, child.name),
        inputs=inputs,
        result=Result.COUNT if not sort and _seldom(draw, 6) else Result.MANY,
        sort=sort,
        paginated=True,
        page=draw(st.sampled_from([None, 20])),
        rate=rate,
        combine=Combine.COLLECTION,
    )


def _of_followed(draw: st.DrawFn, parent: Entity, child: Entity) -> Read:
    """The children of a parent, by which a refresh finds them."""
    inputs = tuple(Input(a.name) for a in parent.id)
    return replace(_reading(draw, child, inputs, result=Result.MANY), needs=(), paginated=True)


def _rate(draw: st.DrawFn, usual: list[float], high: float, names: list[str]) -> Rate:
    """A usual rate; seldom one that can make a partition hot, perhaps with a hottest key."""
    if not _seldom(draw, 12):
        return Rate(value=draw(st.sampled_from(usual)), per=draw(st.sampled_from([Per.SECOND, Per.SECOND, Per.MINUTE])))
    of = draw(st.sampled_from(["", *names[:1]]))
    share = draw(st.sampled_from([None, 30.0]))
    return Rate(value=high, peak=draw(st.sampled_from([None, 2 * high])), hottest=share, hottest_of=of if share else "")


# --- Writes ---------------------------------------------------------------------------------------------------------


def _writes(draw: st.DrawFn, entity: Entity, parent: Entity | None) -> list[Write]:
    low = entity.name.lower()
    ids = tuple(Input(a.name) for a in entity.id)
    rate = _rate(draw, [0.1, 5, 20], 4_000, [a.name for a in entity.attributes if a.references])
    found = [_new(draw, entity, parent, rate)]
    unique = tuple(Input(a.name) for a in entity.attributes if a.unique)
    if draw(st.booleans()):
        changed, inputs = _changes(draw, entity)
        by = unique if draw(st.booleans()) and unique and unique[0] not in inputs else ids
        checks = draw(
            st.sampled_from([
                (), (), (),
                (_comparison(entity, f"{low}State", Op.NE, Value(const="DONE")),),
                (Presence(entity=entity.name, attribute=f"{low}Note"),),
                (Presence(entity=entity.name),),
                (_combined(draw, entity),), (_combined(draw, entity),),
            ])
        )  # fmt: skip
        if entity.history and draw(st.booleans()):
            checks = (_comparison(entity, VERSION, Op.EQ, Value(param=VERSION)),)
            inputs = (*inputs, Input(VERSION))
        found.append(_write(entity, (*by, *inputs), Action(Verb.UPDATE, entity.name, changes=changed), rate, checks))
    if _seldom(draw, 4):
        found.append(_listed(draw, entity, rate))
    if not entity.history and not unique and not entity.unique and _seldom(draw, 6):
        set_ = [a for a in entity.attributes if not a.id and not a.optional and a.default is None]
        set_ = [a for a in set_ if (a.size or 0) < 400_000]
        changed = (*(Change(a.name) for a in set_), Change(f"{low}Hits", ChangeOp.ADD, Value(const="1")))
        inputs = (*ids, *(Input(a.name) for a in set_))
        found.append(_write(entity, inputs, Action(Verb.UPSERT, entity.name, changes=changed), rate))
    return found


def _new(draw: st.DrawFn, entity: Entity, parent: Entity | None, rate: Rate) -> Write:
    """A new item, perhaps with values that the row computes, and with conditions on its parent."""
    low = entity.name.lower()
    computed = {
        f"{low}State": Value(const="OPEN"),
        f"{low}At": Value(now=0),
        f"{low}Hits": Value(const="0"),
    }
    changes: tuple[Change, ...] = ()
    if _seldom(draw, 3):
        names = draw(st.lists(st.sampled_from(sorted(computed)), min_size=1, max_size=2, unique=True))
        changes = tuple(Change(name, value=computed[name]) for name in names)
    taken = [*maintained(entity), *(change.attribute for change in changes)]
    inputs = tuple(Input(a.name) for a in entity.attributes if a.name not in taken)
    if changes and draw(st.booleans()):
        changes, inputs = (*changes, *(Change(one.attribute) for one in inputs)), inputs
    checks: list[Condition] = []
    if parent is not None:
        high = parent.name.lower()
        label = _followed(entity)
        if label is not None and (label.follows and label.follows.within is None):
            checks.append(_comparison(parent, f"{high}Title", Op.EQ, Value(param=label.name)))
        elif _seldom(draw, 3):
            checks.append(draw(st.sampled_from([
                Presence(entity=parent.name),
                _comparison(parent, f"{high}State", Op.EQ, Value(const="OPEN")),
                _combined(draw, parent),
            ])))  # fmt: skip
    put = not entity.history and not changes and _seldom(draw)
    action = Action(Verb.PUT if put else Verb.CREATE, entity.name, changes=changes)
    write = _write(entity, inputs, action, rate, tuple(checks))
    return replace(write, atomic=True) if checks else write


def _combined(draw: st.DrawFn, entity: Entity) -> Test:
    """One condition, or some that `or`, `and` and `not` combine."""
    first, second, third = (draw(_tests(entity)) for _ in range(3))
    return draw(st.sampled_from([
        first,
        Negation(first),
        AnyOf((first, second)),
        AnyOf((first, AllOf((second, third)))),
        AnyOf((Negation(first), second)),
        Negation(AnyOf((first, second))),
    ]))  # fmt: skip


def _tests(entity: Entity) -> st.SearchStrategy[Test]:
    low, name = entity.name.lower(), entity.name
    tests: list[Test] = [
        _comparison(entity, f"{low}State", Op.EQ, Value(const="OPEN")),
        Comparison(entity=name, attribute=f"{low}State", op=Op.IN, values=(Value(const="OPEN"), Value(const="HELD"))),
        Comparison(entity=name, attribute=f"{low}Hits", op=Op.BETWEEN, values=(Value(const="1"), Value(const="5"))),
        _comparison(entity, f"{low}Hits", Op.LT, Value(const="7")),
        _comparison(entity, f"{low}Hits", Op.GE, Value(param="least")),
        _comparison(entity, f"{low}Rank", Op.LE, Value(attribute=f"{low}Hits")),
        _comparison(entity, f"{low}At", Op.LT, Value(now=-_DAY)),
        _comparison(entity, f"{low}Note", Op.BEGINS_WITH, Value(const="draft")),
        _comparison(entity, f"{low}Title", Op.CONTAINS, Value(const="draft")),
        Presence(entity=name, attribute=f"{low}Note"),
        Absence(entity=name, attribute=f"{low}Due"),
    ]
    return st.sampled_from(tests)


def _listed(draw: st.DrawFn, entity: Entity, rate: Rate) -> Write:
    """A change, or the end, of items whose ids the caller gives."""
    *first, last = (Input(a.name) for a in entity.id)
    inputs = (*first, replace(last, many=True))
    changed = draw(st.sampled_from([
        Change(f"{entity.name.lower()}State", value=Value(const="DONE")),
        Change(f"{entity.name.lower()}Hits", ChangeOp.ADD, Value(const="1")),
    ]))  # fmt: skip
    verb = draw(st.sampled_from([Verb.UPDATE, Verb.DELETE]))
    action = Action(verb, entity.name, many=True, changes=(changed,) if verb is Verb.UPDATE else ())
    checks = (_combined(draw, entity),) if _seldom(draw, 3) else ()
    return replace(_write(entity, inputs, action, rate, checks), atomic=draw(st.sampled_from([None, True])))


def _transfer(draw: st.DrawFn, entity: Entity) -> Write:
    """Hits of one item are given to another."""
    hits = f"{entity.name.lower()}Hits"
    less = Change(hits, ChangeOp.SUBTRACT, Value(param="amount"))
    more = Change(hits, ChangeOp.ADD, Value(param="amount"))
    actions = (
        Action(Verb.UPDATE, entity.name, changes=(less,), by=("fromId",)),
        Action(Verb.UPDATE, entity.name, changes=(more,), by=("toId",)),
    )
    checks = (Comparison(entity=entity.name, attribute=hits, op=Op.GE, values=(Value(param="amount"),), by="fromId"),)
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0])))
    inputs = (Input("fromId"), Input("toId"), Input("amount"))
    return Write("", entities=(entity.name,), inputs=inputs, actions=actions, atomic=True, rate=rate, checks=checks)


def _of_singleton(draw: st.DrawFn, settings: Entity) -> list[Write]:
    names = tuple(Input(a.name) for a in settings.attributes)
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0, 3_000.0])))
    hits = Change("settingsHits", ChangeOp.ADD, Value(const="1"))
    return [
        _write(settings, names, Action(Verb.PUT, settings.name), Rate(value=0.1)),
        _write(settings, (), Action(Verb.UPDATE, settings.name, changes=(hits,)), rate),
    ]


def _comparison(entity: Entity, name: str, op: Op, value: Value) -> Comparison:
    return Comparison(entity=entity.name, attribute=name, op=op, values=(value,))


def _changes(draw: st.DrawFn, entity: Entity) -> tuple[tuple[Change, ...], tuple[Input, ...]]:
    """Changes of some attributes, and the inputs that they take."""
    low = entity.name.lower()
    some = [
        (Change(f"{low}State"), Input(f"{low}State")),
        (Change(f"{low}State", value=Value(const="DONE")), None),
        (Change(f"{low}Hits", ChangeOp.ADD, Value(const="1")), None),
        (Change(f"{low}Hits", ChangeOp.SUBTRACT, Value(param="amount")), Input("amount")),
        (Change(f"{low}Note", ChangeOp.REMOVE), None),
        (Change(f"{low}Note", optional=True), Input(f"{low}Note", optional=True)),
        (Change(f"{low}Due"), Input(f"{low}Due")),
    ]
    for end in ("Rank", "Title", "Code", "Body"):
        attribute = entity.attribute(f"{low}{end}")
        if attribute and attribute.mutable:
            some.append((Change(attribute.name), Input(attribute.name)))
    lists = [f"{low}{end}" for end in ("Tags", "Steps") if entity.attribute(f"{low}{end}")]
    some += [(Change(name, ChangeOp.APPEND, Value(param="entry")), Input("entry")) for name in lists]
    chosen = draw(st.lists(st.sampled_from(some), min_size=1, max_size=2, unique_by=lambda one: one[0].attribute))
    return tuple(change for change, _ in chosen), tuple(one for _, one in chosen if one)


def _counted(draw: st.DrawFn, parent: Entity, child: Entity) -> Write:
    """A new child, counted in its parent in the same transaction."""
    given = tuple(Input(a.name) for a in child.attributes if a.name not in maintained(child))
    counter = Change(f"{parent.name.lower()}Hits", ChangeOp.ADD, Value(const="1"))
    actions = (Action(Verb.CREATE, child.name), Action(Verb.UPDATE, parent.name, changes=(counter,)))
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0])))
    return Write("", entities=(child.name, parent.name), inputs=given, actions=actions, atomic=True, rate=rate)


def _several(draw: st.DrawFn, parent: Entity, child: Entity) -> Write:
    """A parent with its first children, or a change of all children of a parent."""
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0])))
    if draw(st.booleans()):
        given = tuple(Input(a.name) for a in parent.attributes if a.name not in maintained(parent))
        actions = (Action(Verb.CREATE, parent.name), Action(Verb.CREATE, child.name, many=True))
        return Write("", entities=(parent.name, child.name), inputs=given, actions=actions, atomic=True, rate=rate)
    state = f"{child.name.lower()}State"
    change = Action(Verb.UPDATE, child.name, many=True, changes=(Change(state, value=Value(const="DONE")),))
    return _write(child, tuple(Input(a.name) for a in parent.id), change, rate)


def _deletes(draw: st.DrawFn, entity: Entity) -> list[Write]:
    """The end of an item, and of all items of a parent."""
    found = []
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0])))
    if _seldom(draw, 3):
        ids = tuple(Input(a.name) for a in entity.id)
        found.append(_write(entity, ids, Action(Verb.DELETE, entity.name), rate))
    above = tuple(Input(a.name) for a in entity.attributes if a.references)
    if above and _seldom(draw, 5):
        found.append(_write(entity, above, Action(Verb.DELETE, entity.name, many=True), rate))
    if any(a.ttl for a in entity.attributes):
        found.append(_write(entity, (), Action(Verb.EXPIRE, entity.name), rate))
    return found


def _with_children(draw: st.DrawFn, parent: Entity, child: Entity) -> Write:
    """The end of a parent and of its children, or only of its children, which are replaced by others."""
    rate = Rate(value=draw(st.sampled_from([0.1, 5.0])))
    ids = tuple(Input(a.name) for a in parent.id)
    children = Action(Verb.DELETE, child.name, many=True)
    other = draw(st.sampled_from([Action(Verb.DELETE, parent.name), Action(Verb.CREATE, child.name, many=True)]))
    actions = (other, children) if other.verb is Verb.DELETE else (children, other)
    names = (parent.name, child.name) if other.verb is Verb.DELETE else (child.name,)
    inputs = ids if other.verb is Verb.DELETE else (*ids, Input(child.name, many=True))
    return Write("", entities=names, inputs=inputs, actions=actions, atomic=draw(st.booleans()), rate=rate)


def _write(
    entity: Entity, inputs: tuple[Input, ...], action: Action, rate: Rate, checks: tuple[Condition, ...] = ()
) -> Write:
    return Write("", entities=(entity.name,), inputs=inputs, actions=(action,), rate=rate, checks=checks, atomic=None)
