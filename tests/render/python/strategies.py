"""Random workloads: a shelf and the books on it, with names that are hard on generated code, asked and written in many ways."""

from __future__ import annotations

from hypothesis import strategies as st

from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    ChangeOp,
    Check,
    CheckKind,
    Direction,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Sort,
    Value,
    Verb,
    Workload,
    Write,
)

NAMES = [
    "class",
    "limit",
    "Größe",
    "str",
    "order",
    "o",
    "tx",
    "shelf",
    "date",
    "fromDate",
    "from_date",
    "self",
    "now",
    "db",
]
TYPES = [
    STRING,
    Type(Kind.INTEGER),
    Type(Kind.DATETIME),
    Type(Kind.DATE),
    Type(Kind.ENUM, values=("OPEN", "a b", 'c"d')),
]


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=5, unique=True))
    own = [Attribute(n, draw(st.sampled_from(TYPES)), optional=draw(st.booleans()), mutable=True) for n in names]
    shelf = Entity("Shelf", attributes=(Attribute("shelfId", STRING, id=True, generated=True), *own[:2]))
    book = Entity(
        draw(st.sampled_from(["Book", "Page", "import"])),
        attributes=(
            Attribute("bookId", STRING, id=True, generated=True),
            Attribute("shelfId", STRING, references="Shelf", mutable=False),
            Attribute("copies", Type(Kind.INTEGER), mutable=True),
            *own,
        ),
    )
    reads = [draw(_reads(f"AP-{n:03}", book, own)) for n in range(1, draw(st.integers(2, 4)))]
    if draw(st.booleans()):
        reads.append(Read("AP-010", entities=("Shelf", book.name), inputs=(Input("shelfId"),), result=Result.MANY))
    writes = [
        Write("AP-020", entities=(book.name,), inputs=(Input("bookId"),), actions=(Action(Verb.CREATE, book.name),))
    ]
    writes += [draw(_writes(f"AP-{n:03}", book, own)) for n in range(21, draw(st.integers(22, 24)))]
    return Workload(title="Random", entities=(shelf, book), reads=tuple(reads), writes=tuple(writes))


@st.composite
def _reads(draw: st.DrawFn, id_: str, book: Entity, own: list[Attribute]) -> Read:
    chosen = draw(st.lists(st.sampled_from(own), max_size=2, unique_by=lambda a: a.name))
    inputs = [Input("shelfId" if draw(st.booleans()) else "bookId")]
    for attribute in chosen:
        # What an absent value is unlike, documents do not say: `<>` is asked of those that are always there.
        unlike = [] if attribute.optional else [Op.NE]
        ops = [Op.EQ, *unlike] if attribute.type.kind is Kind.ENUM else [Op.EQ, Op.GE, Op.LT, Op.BETWEEN, Op.GT]
        op = draw(st.sampled_from(ops))
        filtered = op is Op.NE or draw(st.booleans()) or any(i.op is not Op.EQ for i in inputs)
        inputs.append(Input(attribute.name, op, filter=filtered, optional=filtered and draw(st.booleans())))
    result = draw(st.sampled_from([Result.MANY, Result.MANY, Result.ONE, Result.COUNT]))
    sorts = [a for a in own if a not in chosen]
    sort = draw(st.sampled_from(sorts)) if sorts and result is Result.MANY and draw(st.booleans()) else None
    needs = draw(st.lists(st.sampled_from([a.name for a in book.attributes]), max_size=2, unique=True))
    return Read(
        id_,
        entities=(book.name,),
        description=draw(st.sampled_from(["Books", "the books", "", "list", 'a "b" \\'])),
        inputs=tuple(inputs),
        result=result,
        needs=tuple(needs) if result is not Result.COUNT else (),
        sort=(Sort(sort.name, draw(st.sampled_from(Direction))),) if sort else (),
        paginated=draw(st.sampled_from([None, True, False])),
        page=draw(st.sampled_from([None, 3])),
    )


@st.composite
def _writes(draw: st.DrawFn, id_: str, book: Entity, own: list[Attribute]) -> Write:
    changed = draw(st.lists(st.sampled_from(own), min_size=1, max_size=2, unique_by=lambda a: a.name))
    inputs = [Input("bookId"), *(Input(a.name) for a in changed)]
    verb = draw(st.sampled_from([Verb.UPDATE, Verb.UPDATE, Verb.DELETE, Verb.PUT]))
    changes = [Change(a.name) for a in changed]
    if draw(st.booleans()):
        changes.append(Change("copies", ChangeOp.SUBTRACT, Value(const="1")))
    checks = [Check(CheckKind.COMPARE, book.name, "copies", Op.GE, (Value(const="1"),))]
    if verb is not Verb.UPDATE:
        inputs, changes = inputs[:1], []
    return Write(
        id_,
        entities=(book.name,),
        inputs=tuple(inputs),
        actions=(Action(verb, book.name, changes=tuple(changes)),),
        atomic=draw(st.booleans()),
        checks=tuple(checks) if verb is not Verb.PUT and draw(st.booleans()) else (),
    )
