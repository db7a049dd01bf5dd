"""Sample items are what the client stores: written for real, and compared key by key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.design.document.test_laws import DOCUMENTS, solved

from prejoin.design.document.samples import sample_item, sample_values
from prejoin.design.model import Design, When
from prejoin.engine import Embedded
from prejoin.proof.schema import schema_of
from prejoin.table import Client
from prejoin.workload.model import Workload


def stored(design: Design, workload: Workload, entity: str, whens: list[When]) -> dict[str, dict[str, Any]]:
    """What is in the table after a sample was written, by its type: names and DynamoDB's own values."""
    described = workload.entity(entity)
    assert described is not None
    built = schema_of(design, workload)
    values = sample_values(workload, described, design, when=whens)
    with Embedded() as engine:
        client = Client(built.schema, design.table, engine)
        client.create_table()
        client.insert(built.classes[entity](**{built.names[entity][n]: v for n, v in values.items()}))
        answer = json.loads(engine.send("Scan", json.dumps({"TableName": design.table}).encode()))
    return {item.get(design.type_attribute, {"S": ""})["S"]: item for item in answer["Items"]}


def plain(value: dict[str, Any]) -> object:
    ((kind, inside),) = value.items()
    if kind == "N":
        return float(inside)
    if kind in {"NS"}:
        return [float(one) for one in inside]
    if kind == "L":
        return [plain(one) for one in inside]
    return {n: plain(v) for n, v in inside.items()} if kind == "M" else inside


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_a_sample_item_is_what_the_client_stores(path: Any) -> None:
    workload, design = solved(path)
    for item in design.items:
        whens = list({w.attribute: w for f in reversed(item.facets) for w in f.when}.values())
        sample = sample_item(design, workload, item)
        real = stored(design, workload, item.entity, whens)[item.tag]
        assert {name: plain(value) for name, value in real.items()} == sample
