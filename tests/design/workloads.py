"""Random workloads that make sense: a hierarchy of entities, reads of their collections, and writes that keep them."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    Change,
    Combine,
    Direction,
    Entity,
    Input,
    Op,
    Rate,
    Read,
    Result,
    Sort,
    Value,
    Verb,
    Workload,
    Write,
)

_NAMES = ("Alpha", "Beta", "Gamma")
_MOMENT = Type(Kind.DATETIME)
_STATE = Type(Kind.ENUM, values=("OPEN", "DONE"))


@st.composite
def workloads(draw: st.DrawFn, most_reads: int = 4, together: bool = False) -> Workload:
    """One to three entities, each below one before it or on its own, with up to `most_reads` reads.

    With `together`, some reads ask for a parent with its children, and some for one of the states.
    """
    entities: list[Entity] = []
    below: list[tuple[Entity, Entity]] = []
    for name in _NAMES[: draw(st.integers(1, 3))]:
        parent = draw(st.sampled_from([None, *entities, *entities[::-1]]))
        entities.append(_entity(draw, name, parent))
        if parent is not None:
            below.append((parent, entities[-1]))
    reads = [
        _read(draw, f"R{number}", draw(st.sampled_from(entities))) for number in range(draw(st.integers(1, most_reads)))
    ]
    if together:
        reads = [_constant(draw, read) for read in reads]
        pairs = [pair for pair in below if draw(st.integers(0, 3))]
        reads += [_collection(draw, f"R{len(reads) + number}", *pair) for number, pair in enumerate(pairs)]
    writes = [write for entity in entities for write in _writes(draw, entity)]
    return Workload(title="Random", entities=tuple(entities), reads=tuple(reads), writes=tuple(writes))


def _entity(draw: st.DrawFn, name: str, parent: Entity | None) -> Entity:
    low = name.lower()
    generated = draw(st.booleans())
    attributes = [Attribute(f"{low}Id", STRING, id=True, generated=generated or None)]
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
        Attribute(f"{low}Due", _MOMENT, optional=True, mutable=True),
        Attribute(f"{low}Rank", Type(Kind.INTEGER), mutable=draw(st.booleans())),
    ]
    if not draw(st.integers(0, 2)):
        attributes.append(Attribute(f"{low}Code", STRING, unique=True, mutable=not draw(st.integers(0, 3))))
    count = draw(st.sampled_from([None, 5, 200, 30_000]))
    cardinality = () if count is None else (Cardinality(count, parent.name if parent else ""),)
    return Entity(name, attributes=tuple(attributes), cardinality=cardinality, size=draw(st.sampled_from([200, 3_000])))


def _read(draw: st.DrawFn, id_: str, entity: Entity) -> Read:
    names = [a.name for a in entity.attributes]
    known = [n for n in names if not n.endswith(("At", "Due", "Rank"))]
    given = draw(st.lists(st.sampled_from(known), unique=True, max_size=2))
    rest = [n for n in names if n.endswith(("At", "Due", "Rank"))]
    inputs = [Input(n) for n in given]
    ranged = draw(st.sampled_from([None, *rest]))
    if ranged:
        inputs.append(Input(ranged, draw(st.sampled_from([Op.LT, Op.GE]))))
    by = ranged or draw(st.sampled_from([None, *(n for n in rest if not n.endswith("Due"))]))
    return Read(
        id_,
        entities=(entity.name,),
        inputs=tuple(inputs),
        result=Result.MANY,
        sort=(Sort(by, draw(st.sampled_from(list(Direction)))),) if by else (),
        page=draw(st.sampled_from([None, 20])),
        paginated=True,
        rate=_rate(draw, [0.1, 5, 50], 20_000),
        needs=draw(st.sampled_from([(), (), tuple(names[:2])])),
    )


def _constant(draw: st.DrawFn, read: Read) -> Read:
    """The read, perhaps of one state only."""
    if not draw(st.booleans()):
        return read
    constant = (Value(const="OPEN"),)
    inputs = tuple(replace(i, values=constant) if i.attribute.endswith("State") else i for i in read.inputs)
    return replace(read, inputs=inputs)


def _collection(draw: st.DrawFn, id_: str, parent: Entity, child: Entity) -> Read:
    return Read(
        id_,
        entities=(parent.name, child.name),
        inputs=tuple(Input(a.name) for a in parent.id),
        result=Result.MANY,
        paginated=True,
        page=draw(st.sampled_from([None, 20])),
        rate=Rate(value=draw(st.sampled_from([0.1, 5, 50]))),
        combine=Combine.COLLECTION,
    )


def _rate(draw: st.DrawFn, usual: list[float], high: float) -> Rate:
    """A usual rate; seldom one that can make a partition hot, perhaps with a hottest key."""
    if draw(st.integers(0, 9)):
        return Rate(value=draw(st.sampled_from(usual)))
    return Rate(value=high, hottest=draw(st.sampled_from([None, 30.0])))


def _writes(draw: st.DrawFn, entity: Entity) -> list[Write]:
    ids = tuple(Input(a.name) for a in entity.id)
    everything = tuple(Input(a.name) for a in entity.attributes)
    rate = _rate(draw, [0.1, 5, 20], 4_000)
    found = [
        Write(
            f"C-{entity.name}",
            entities=(entity.name,),
            inputs=everything,
            actions=(Action(Verb.CREATE, entity.name),),
            rate=rate,
        )
    ]
    if draw(st.booleans()):
        state = f"{entity.name.lower()}State"
        unique = tuple(Input(a.name) for a in entity.attributes if a.unique)
        if unique and draw(st.booleans()):
            ids = unique
        change = Action(Verb.UPDATE, entity.name, changes=(Change(state),))
        found.append(
            Write(
                f"U-{entity.name}", entities=(entity.name,), inputs=(*ids, Input(state)), actions=(change,), rate=rate
            )
        )
    return found
