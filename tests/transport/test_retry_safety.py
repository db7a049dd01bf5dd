"""Requests that may be sent twice: recognised from the request alone, and proven on the engine."""

from __future__ import annotations

import json
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport.request.retry import safe_to_repeat

KEY = {"pk": {"S": "a"}}


@pytest.mark.parametrize(
    ("operation", "members", "safe"),
    [
        ("GetItem", {}, True),
        ("Query", {}, True),
        ("DescribeTable", {}, True),
        ("ListTables", {}, True),
        ("TransactGetItems", {}, True),
        ("BatchWriteItem", {}, True),
        ("PutItem", {"Item": {}}, True),
        ("PutItem", {"Item": {}, "ReturnValues": "NONE", "ConditionExpression": None}, True),
        ("PutItem", {"Item": {}, "ReturnValues": "ALL_OLD"}, False),
        ("PutItem", {"Item": {}, "ConditionExpression": "attribute_not_exists(pk)"}, False),
        ("PutItem", {"Item": {}, "Expected": {"pk": {"Exists": False}}}, False),
        ("DeleteItem", {"Key": {}}, True),
        ("DeleteItem", {"Key": {}, "ReturnValues": "ALL_OLD"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a = :a"}, True),
        ("UpdateItem", {"UpdateExpression": " set #a.b = :a , c=:c "}, True),
        ("UpdateItem", {"UpdateExpression": "SET a = :a", "ReturnValues": "UPDATED_OLD"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a = :a", "ConditionExpression": "attribute_exists(pk)"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a = a + :a"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a = b"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a[9] = :a"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a = list_append(a, :a)"}, False),
        ("UpdateItem", {"UpdateExpression": "SET a = :a ADD n :one"}, False),
        ("UpdateItem", {"UpdateExpression": "ADD n :one"}, False),
        ("UpdateItem", {"AttributeUpdates": {"n": {"Action": "ADD"}}}, False),
        ("UpdateItem", {}, False),
        ("TransactWriteItems", {}, False),
        ("TransactWriteItems", {"ClientRequestToken": ""}, False),
        ("TransactWriteItems", {"ClientRequestToken": "7"}, True),
        ("CreateTable", {}, False),
        ("ExecuteStatement", {"Statement": "SELECT * FROM shop"}, False),
    ],
)
def test_safe_requests_may_be_repeated(operation: str, members: dict[str, Any], safe: bool) -> None:
    assert safe_to_repeat(operation, json.dumps({"TableName": "shop", **members}).encode()) is safe


@given(st.binary(max_size=50), st.sampled_from(["PutItem", "UpdateItem", "TransactWriteItems"]))
def test_unreadable_request_is_not_repeated(body: bytes, operation: str) -> None:
    try:
        json.loads(body)
    except ValueError:
        assert not safe_to_repeat(operation, body)


ACTIONS = ["n = :one", "n = n + :one", "m.x = :one", "l[5] = :one", "l = list_append(l, :list)", "x = n", "s = :list"]
UPDATES = [
    *(f"SET {action}" for action in ACTIONS),
    *(f"SET {one}, {other}" for one, other in permutations(ACTIONS, 2)),
    *("ADD n :one", "REMOVE l[0]", "REMOVE x", "SET n = :one ADD s :set", "DELETE s :set"),
]
CONDITIONS = [None, "attribute_not_exists(x)", "n < :one", "attribute_exists(pk)"]
RETURNED = [None, "NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"]
VALUES = {":one": {"N": "1"}, ":list": {"L": [{"N": "1"}]}, ":set": {"NS": ["1", "2"]}}
ITEM = {**KEY, "n": {"N": "5"}, "m": {"M": {}}, "l": {"L": [{"N": "1"}, {"N": "2"}]}, "s": {"NS": ["1", "2", "3"]}}


def test_an_update_that_may_be_sent_twice_has_the_same_effect_and_answer_twice() -> None:
    tried = 0
    with Embedded() as engine:

        def ask(operation: str, **members: Any) -> Any:
            given = {name: value for name, value in members.items() if value is not None}
            try:
                return json.loads(engine.send(operation, json.dumps({"TableName": "shop", **given}).encode()))
            except DynamoDBError as error:
                return json.loads(error.body())

        ask(
            "CreateTable",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        )
        for update, condition, returned in product(UPDATES, CONDITIONS, RETURNED):
            text = f"{update} {condition}"
            members = {
                "UpdateExpression": update,
                "ConditionExpression": condition,
                "ReturnValues": returned,
                "ExpressionAttributeValues": {name: value for name, value in VALUES.items() if name in text} or None,
            }
            if safe_to_repeat("UpdateItem", json.dumps(members).encode()):
                tried += 1
                ask("PutItem", Item=ITEM)
                once, twice = (
                    (ask("UpdateItem", Key=KEY, **members), ask("GetItem", Key=KEY)["Item"]) for _ in range(2)
                )
                assert once == twice, members
                assert "__type" not in once[0]
    assert (
        tried == 9 * 4
    )  # three plain assignments, alone and in pairs, with the return values NONE and those after the update
