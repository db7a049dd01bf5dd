"""Infrastructure of random workloads: the table is the one that the client expects, and each role may run its patterns."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.design.solver.solve import solve
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.infrastructure.options import Infrastructure
from prejoin.types import STRING, Kind, Type
from prejoin.workload.model import (
    Action,
    Attribute,
    Change,
    Entity,
    Input,
    Read,
    Result,
    Sort,
    Verb,
    Workload,
    Write,
)

from .iam import allowed
from .test_cloudformation import drifted, table_of, template
from .test_policies import answers, requests_of, role
from .test_terraform import as_template, module

NAMES = ("team", "rank", "größe", "select", "at")
TYPES = (STRING, Type(Kind.INTEGER), Type(Kind.DATETIME), Type(Kind.ENUM, values=("ON", "OFF")))


@st.composite
def entities(draw: st.DrawFn, name: str) -> Entity:
    key = Attribute(f"{name.lower()}Id", id=True, generated=draw(st.booleans()))
    others = [
        Attribute(
            one, draw(st.sampled_from(TYPES)), mutable=draw(st.booleans()), unique=one == "at" and draw(st.booleans())
        )
        for one in draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=2))
    ]
    return Entity(name, attributes=(key, *others))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    made = [draw(entities(name)) for name in ("Item", "Box")[: draw(st.integers(1, 2))]]
    reads: list[Read] = []
    writes: list[Write] = []
    for entity in made:
        names = [a.name for a in entity.attributes]
        reads.append(Read(f"G-{entity.name}", entities=(entity.name,), inputs=(Input(names[0]),), result=Result.ONE))
        for number in range(draw(st.integers(0, 2))):
            given_ = draw(st.lists(st.sampled_from(names[1:]), unique=True, max_size=2))
            rest = [n for n in names[1:] if n not in given_]
            sort = draw(st.sampled_from([None, *rest]))
            reads.append(
                Read(
                    f"R{number}-{entity.name}",
                    entities=(entity.name,),
                    inputs=tuple(map(Input, given_)),
                    result=draw(st.sampled_from([Result.MANY, Result.COUNT])),
                    needs=tuple(draw(st.lists(st.sampled_from(names), unique=True, max_size=2))),
                    sort=(Sort(sort),) if sort else (),
                )
            )
        changed = draw(st.sampled_from(names[1:]))
        inputs = (Input(names[0]), Input(changed))
        actions = {
            "C": Action(Verb.CREATE, entity.name),
            "U": Action(Verb.UPDATE, entity.name, changes=(Change(changed),)),
            "D": Action(Verb.DELETE, entity.name),
        }
        for letter, action in actions.items():
            own = tuple(map(Input, names)) if letter == "C" else inputs[: 2 if letter == "U" else 1]
            writes.append(Write(f"{letter}-{entity.name}", entities=(entity.name,), inputs=own, actions=(action,)))
    return Workload(title="Random", entities=tuple(made), reads=tuple(reads), writes=tuple(writes))


@given(workloads())
@settings(max_examples=examples(25))
def test_random_infrastructure_has_the_clients_table_and_sufficient_roles(workload: Workload) -> None:
    design = solve(workload).design
    assert drifted(workload, design) == []
    # Failures of the proof are tested elsewhere.
    for answer in (one for one in answers(workload, design) if one.right):
        policy = role(workload, design, answer.pattern)
        for request in requests_of(answer, design):
            assert allowed(policy, request), (answer.pattern, request, policy)
    (table,) = module(workload, design)["resource.aws_dynamodb_table.table"]
    wanted = table_of(template(workload, design), design.table)
    assert as_template(table) == {key: value for key, value in wanted.items() if key != "TableName"}
    for render in LANGUAGES.values():
        assert dict(render(workload, design, Infrastructure())) == dict(render(workload, design, Infrastructure()))
