"""Tables in one line."""

from __future__ import annotations

import json

import pytest

from prejoin.engine import Embedded
from prejoin.testing import create_table


def test_a_table_in_shorthand_is_one_the_engine_makes() -> None:
    request = create_table("shop", "pk, sk:N", {"gsi1": "kind, sk:N", "gsi2": "a + b:N, c"}, {"lsi": "pk, at:B"})
    assert {one["AttributeName"]: one["AttributeType"] for one in request["AttributeDefinitions"]} == {
        "pk": "S",
        "sk": "N",
        "kind": "S",
        "a": "S",
        "b": "N",
        "c": "S",
        "at": "B",
    }
    with Embedded() as engine:
        answer = json.loads(engine.send("CreateTable", json.dumps(request).encode()))
    assert answer["TableDescription"]["LocalSecondaryIndexes"][0]["IndexName"] == "lsi"


def test_attribute_type_is_given_once() -> None:
    request = create_table("shop", "pk, at", {"gsi1": "kind, at:N"})
    assert {"AttributeName": "at", "AttributeType": "N"} in request["AttributeDefinitions"]


@pytest.mark.parametrize("keys", ["", "a, b, c", "a:X", "a,", "a + , b", "a:N, a:S"])
def test_invalid_key_shorthand_is_refused(keys: str) -> None:
    with pytest.raises(ValueError):
        create_table("shop", keys)
