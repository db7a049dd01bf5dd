"""Random documents of a size, in which reads interlock: how long it takes to design a table for them, with proof.

`documents(13, 60)` makes them. Entities have up to three parents each. Reads ask for parents with several of their
children, and the children of one read are those of others, too: what can be a neighbour of what in a partition is the
hard part of a design. Every second document has tenants, who share all partitions. The same number is always the same
document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from time import process_time

from msgspec.structs import replace

from common.tables import amount, table
from prejoin.design.solver.solve import solve
from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    Change,
    Combine,
    Context,
    Direction,
    Entity,
    Input,
    Op,
    Rate,
    Read,
    Result,
    Sort,
    Tenant,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.tenants import expand

DOCUMENTS = 40
TARGET = 5.0
"""Seconds of the processor within which 95 % of the documents should be designed, with proof."""
_MOMENT = Type(Kind.DATETIME)
_STATE = Type(Kind.ENUM, values=("OPEN", "DONE"))


def measured(entities: int, patterns: int, say: Callable[[str], None], count: int = DOCUMENTS) -> str:
    """How long it took, in words and as a table. There is no time limit, so a busy machine changes nothing."""
    times: list[float] = []
    proven = lost = 0
    for workload in documents(entities, patterns, count):
        start = process_time()
        found = solve(workload)
        times.append(process_time() - start)
        proven += found.ended
        lost += len(found.chosen.unserved)
        tenants = ", with tenants" if workload.tenant else ""
        say(f"{len(times)}{tenants}: {amount(times[-1])}{'' if found.ended else ', not proven'}")
    times.sort()
    rows = [[f"{share} %", amount(times[-(-count * share // 100) - 1])] for share in (50, 75, 90, 95, 100)]
    within = sum(one <= TARGET for one in times)
    told = (
        f"{count} documents with {entities} entities and {patterns} patterns each: {within} designed within "
        f"{TARGET:g} s, {proven} proven, {lost} patterns not served."
    )
    return told + "\n\n" + table(["of the documents", "within"], rows)


def documents(entities: int, patterns: int, count: int = DOCUMENTS) -> Iterator[Workload]:
    """The documents with the numbers from 1 on: each without and with tenants."""
    for number in range(count):
        found = interlocking(1 + number // 2, entities, patterns)
        yield with_tenants(found) if number % 2 else found


def interlocking(seed: int, entities: int = 13, patterns: int = 60) -> Workload:
    """The document with a number, without tenants.

    >>> workload = interlocking(1)
    >>> len(workload.entities), len(workload.patterns)
    (13, 60)
    """
    chance = Random(seed)
    parents: dict[int, list[int]] = {}
    found: list[Entity] = []
    for number in range(entities):
        parents[number] = chance.sample(range(number), min(number, chance.choice([0, 1, 1, 2, 2, 3])))
        found.append(_linked(chance, number, parents[number]))
    reads: list[Read] = []
    seen: set[object] = set()
    while len(reads) < patterns * 3 // 5:
        one, many = chance.randrange(entities), len(reads) < patterns * 2 // 5
        children = [other for other in parents if one in parents[other]]
        some = chance.sample(children, min(len(children), chance.choice([1, 1, 2, 3]))) if many else []
        read = _together(chance, one, some) if some else _by_attributes(chance, one, parents[one])
        key = (read.entities, read.inputs, read.sort)
        if key not in seen:
            seen.add(key)
            rate = Rate(value=chance.choice([0.1, 1, 5, 20, 50, 100]))
            reads.append(replace(read, id=f"R{len(reads)}", page=20, paginated=True, rate=rate))
    writes = [_create(entity) for entity in found]
    writes += [
        _update(entity) for entity in chance.sample(found, min(entities, max(0, patterns - len(reads) - entities)))
    ]
    return Workload(title="Large", entities=tuple(found), reads=tuple(reads), writes=tuple(writes))


def with_tenants(workload: Workload) -> Workload:
    """The same for many tenants: each of them has all entities."""
    own = Attribute("tenantId", STRING, id=True, generated=True)
    tenant = Entity("Tenant", attributes=(own,), cardinality=(Cardinality(100),), size=100)
    context = replace(workload.context or Context(), tenant=Tenant("tenantId", "Tenant"))
    return expand(replace(workload, context=context, entities=(tenant, *workload.entities)))


def _create(entity: Entity) -> Write:
    inputs = tuple(Input(a.name) for a in entity.attributes)
    action = Action(Verb.CREATE, entity.name)
    return Write(f"C-{entity.name}", entities=(entity.name,), inputs=inputs, actions=(action,), rate=Rate(value=5))


def _update(entity: Entity) -> Write:
    """A change of the state, by the id: a key with more than the id has to be found first."""
    state = f"{entity.name.lower()}State"
    inputs = (*(Input(a.name) for a in entity.id), Input(state))
    action = Action(Verb.UPDATE, entity.name, changes=(Change(state),))
    return Write(f"U-{entity.name}", entities=(entity.name,), inputs=inputs, actions=(action,), rate=Rate(value=5))


def _linked(chance: Random, number: int, parents: list[int]) -> Entity:
    above = [Attribute(f"e{one}Id", STRING, references=f"E{one}.e{one}Id", mutable=False) for one in parents]
    attributes = (
        Attribute(f"e{number}Id", STRING, id=True, generated=True),
        *above,
        Attribute(f"e{number}State", _STATE, mutable=True),
        Attribute(f"e{number}At", _MOMENT, mutable=False),
        Attribute(f"e{number}Due", _MOMENT, optional=True, mutable=True),
        Attribute(f"e{number}Name", STRING, mutable=False),
    )
    count = Cardinality(chance.choice([20, 200]), f"E{parents[0]}" if parents else "")
    return Entity(f"E{number}", attributes=attributes, cardinality=(count,), size=chance.choice([300, 3000]))


def _together(chance: Random, parent: int, children: list[int]) -> Read:
    names = [f"E{parent}"] if len(children) == 1 or chance.random() < 0.75 else []
    names += [f"E{child}" for child in children]
    inputs = (Input(f"e{parent}Id"),)
    return Read("", entities=tuple(names), inputs=inputs, result=Result.MANY, combine=Combine.COLLECTION)


def _by_attributes(chance: Random, number: int, parents: list[int]) -> Read:
    known = [*(f"e{one}Id" for one in parents), f"e{number}State", f"e{number}Name"]
    given = [Input(name) for name in chance.sample(known, chance.choice([1, 1, 2]))]
    by = chance.choice([f"e{number}At", f"e{number}Due"])
    if by.endswith("Due"):
        given.append(Input(by, Op.GE))
    order = (Sort(by, chance.choice(list(Direction))),)
    return Read("", entities=(f"E{number}",), inputs=tuple(given), result=Result.MANY, sort=order)
