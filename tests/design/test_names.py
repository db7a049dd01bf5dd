"""Names of attributes: any that a document may have can be in keys, and none is taken by the table's own."""

from __future__ import annotations

import string

import pytest
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.types import Kind, Type
from prejoin.workload.checks import check
from prejoin.workload.model import Attribute, Direction, Entity, Input, Read, Result, Sort, Value, Workload


def things(id_: str, kind: str, at: str) -> Workload:
    """A document in which each of three names is in a key."""
    attributes = (Attribute(id_, id=True), Attribute(kind), Attribute(at, Type(Kind.DATETIME)))
    sort = (Sort(at, Direction.DESC),)
    constant = Input(kind, values=(Value(const="q"),))
    return Workload(
        "Things",
        entities=(Entity("Thing", attributes=attributes),),
        reads=(
            Read("AP-001", entities=("Thing",), inputs=(Input(id_),), result=Result.ONE),
            Read("AP-002", entities=("Thing",), inputs=(Input(kind),), result=Result.MANY, sort=sort),
            Read("AP-003", entities=("Thing",), inputs=(constant,), result=Result.MANY, sort=sort),
        ),
    )


def proven(workload: Workload) -> bool:
    design = solve(workload).design
    with Embedded() as engine:
        return prove(workload, design, engine).right


@pytest.mark.everyday(12)
@pytest.mark.parametrize(
    "sign", [*'#_-."{ \t\x00\ud800é日', *(sign for sign in string.punctuation if sign not in '#_-."{')]
)
def test_a_name_that_is_not_refused_can_be_in_keys(sign: str) -> None:
    workload = things(f"th{sign}id", f"ki{sign}nd", f"a{sign}t")
    refused = [d.code for d in check(workload) if d.severity == "error"]
    assert "PJ219" in refused if refused else proven(workload)


@pytest.mark.parametrize(
    "names", [("pk", "sk", "gsi1pk"), ("entityType", "_pk", "gsi1sk"), ("pk", "_pk", "entityType")]
)
def test_key_attributes_avoid_names_of_entity_attributes(names: tuple[str, str, str]) -> None:
    workload = things(*names)
    design = solve(workload).design
    assert [d.code for d in check_design(design, workload) if d.severity == "error"] == []
    assert proven(workload)
