"""The engine as a whole: files, threads, processes, durabilities, and bytes that are no request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prejoin.engine import Durability, Embedded
from prejoin.engine.operations import OPERATIONS
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP, item, refusal, values


def send(dynamodb: Embedded, operation: str, **members: Any) -> Any:
    return json.loads(dynamodb.send(operation, json.dumps({"TableName": "shop", **members}).encode()))


COUNT: dict[str, Any] = {
    "Key": item(pk="counter", sk="1"),
    "UpdateExpression": "ADD n :one",
    "ExpressionAttributeValues": values(one=1),
}


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_what_is_in_a_file_is_there_when_it_is_opened_again(tmp_path: Path, durability: Durability) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path, durability=durability) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        send(dynamodb, "PutItem", Item=item(pk="a", sk="1", city="Bern"))
    with Embedded(path) as dynamodb:
        assert send(dynamodb, "GetItem", Key=item(pk="a", sk="1"))["Item"] == item(pk="a", sk="1", city="Bern")
        assert send(dynamodb, "Scan", IndexName="by-city")["Count"] == 1


def test_memory_is_each_engines_own() -> None:
    with Embedded() as one, Embedded() as other:
        send(one, "CreateTable", **SHOP)
        assert send(other, "ListTables") == {"TableNames": []}


def test_durability_and_path_go_together(tmp_path: Path) -> None:
    assert get_args(Durability) == ("memory", "normal", "full")
    with pytest.raises(ValueError, match="needs a path"):
        Embedded(durability="full")
    with pytest.raises(ValueError, match="has no path"):
        Embedded(tmp_path / "x.db", durability="memory")


def test_a_closed_engine_answers_with_an_error() -> None:
    dynamodb = Embedded()
    dynamodb.close()
    assert refusal(dynamodb.send, "ListTables", b"{}").code == "InternalServerError"
    dynamodb.close()


@pytest.mark.parametrize("in_file", [False, True])
def test_threads_lose_no_update(tmp_path: Path, in_file: bool) -> None:
    with Embedded(tmp_path / "shop.db" if in_file else None) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: send(dynamodb, "UpdateItem", **COUNT), range(200)))
        assert send(dynamodb, "GetItem", Key=COUNT["Key"])["Item"]["n"] == {"N": "200"}


_COUNTING = """
import json, sys
from prejoin.engine import Embedded
with Embedded(sys.argv[1]) as dynamodb:
    for _ in range(50):
        dynamodb.send("UpdateItem", sys.argv[2].encode())
"""


def test_processes_on_one_file_lose_no_update_and_see_one_anothers_tables(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path) as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        body = json.dumps({"TableName": "shop", **COUNT})
        counters = [subprocess.Popen([sys.executable, "-c", _COUNTING, str(path), body]) for _ in range(3)]
        assert [counter.wait() for counter in counters] == [0, 0, 0]
        assert send(dynamodb, "GetItem", Key=COUNT["Key"])["Item"]["n"] == {"N": "150"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_writes_with_a_connection_of_its_own(tmp_path: Path) -> None:
    with Embedded(tmp_path / "shop.db") as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        child = os.fork()
        if child == 0:
            try:
                send(dynamodb, "UpdateItem", **COUNT)
            finally:
                os._exit(0)
        send(dynamodb, "UpdateItem", **COUNT)
        os.waitpid(child, 0)
        assert send(dynamodb, "GetItem", Key=COUNT["Key"])["Item"]["n"] == {"N": "2"}


def test_an_engine_sees_a_table_that_another_deleted_and_made_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with Embedded(path) as one, Embedded(path) as other:
        send(one, "CreateTable", **SHOP)
        send(other, "PutItem", Item=item(pk="a", sk="1"))
        send(one, "DeleteTable")
        send(
            one,
            "CreateTable",
            **{**SHOP, "LocalSecondaryIndexes": None, "AttributeDefinitions": SHOP["AttributeDefinitions"][:-1]},
        )
        assert send(other, "Scan")["Count"] == 0
        assert refusal(send, other, "Scan", IndexName="by-rank").code == "ValidationException"


def test_an_operation_that_does_not_exist_is_unknown(dynamodb: Embedded) -> None:
    error = refusal(dynamodb.send, "MakeCoffee", b"{}")
    assert (error.code, error.status) == ("UnknownOperationException", 400)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b'{"TableName":"\xff"}',
        b'{"TableName":"\\ud800"}',
        b'{"TableName":1}',
        b'{"TableName":{}}',
        b'{"TableName":"shop","Item":{"a":{"S":1}}}',
        b'{"TableName":"shop","Item":{"a":{"B":"*"}}}',
        b'{"TableName":"shop","Item":' + b'{"a":{"M":' * 20_000,
    ],
)
def test_bytes_that_are_no_request_are_a_serialization_error(dynamodb: Embedded, body: bytes) -> None:
    assert refusal(dynamodb.send, "PutItem", body).code == "SerializationException"


texts = st.sampled_from(
    ["", "shop", "a", "pk", "sk", "gsi1", "by-city", "ALL_OLD", "ALL_NEW", "SIZE", "INDEXES", "COUNT", "1", "-1.5e3"]
) | st.text(max_size=5)
expressions = st.sampled_from(
    [
        "pk = :p",
        "pk = :p AND sk > :q",
        "SET a = :p",
        "ADD a :p",
        "attribute_exists(#n)",
        "a, b[0]",
        "((",
        "size(a) > :q",
    ]
)
contents = st.recursive(
    st.one_of(
        st.builds(lambda text: {"S": text}, texts),
        st.builds(lambda text: {"N": text}, texts | st.integers().map(str)),
        st.builds(lambda text: {"B": text}, st.sampled_from(["", "AA==", "AAE", "x"])),
        st.just({"NULL": True}),
        st.just({"BOOL": 5}),
        st.just({"SS": []}),
        st.just({"NS": ["1", "01"]}),
        st.just({}),
        st.none(),
    ),
    lambda inner: st.one_of(
        st.builds(lambda members: {"L": members}, st.lists(inner, max_size=2)),
        st.builds(lambda members: {"M": members}, st.dictionaries(texts, inner, max_size=2)),
    ),
    max_leaves=4,
)
attributes = st.dictionaries(st.sampled_from(["pk", "sk", "g1pk", "g1sk", "city", "a", ":p", ":q", "#n"]), contents)
single = st.fixed_dictionaries(
    {"TableName": st.sampled_from(["shop"]) | texts},
    optional={
        "Item": attributes,
        "Key": attributes,
        "IndexName": texts,
        "Limit": st.integers(-1, 2**70),
        "Select": texts,
        "Segment": st.integers(-1, 3),
        "TotalSegments": st.integers(-1, 3),
        "KeyConditionExpression": expressions,
        "FilterExpression": expressions,
        "ConditionExpression": expressions,
        "UpdateExpression": expressions,
        "ProjectionExpression": expressions,
        "ExpressionAttributeNames": st.dictionaries(st.sampled_from(["#n", "n"]), texts),
        "ExpressionAttributeValues": attributes,
        "ExclusiveStartKey": attributes,
        "ScanIndexForward": st.booleans(),
        "ConsistentRead": st.booleans() | texts,
        "ReturnValues": texts,
        "ReturnConsumedCapacity": texts,
        "ReturnItemCollectionMetrics": texts,
        "AttributeDefinitions": st.lists(
            st.fixed_dictionaries({"AttributeName": texts, "AttributeType": st.sampled_from("SNBX")}), max_size=2
        ),
        "KeySchema": st.lists(
            st.fixed_dictionaries({"AttributeName": texts, "KeyType": st.sampled_from(["HASH", "RANGE", "X"])}),
            max_size=3,
        ),
        "BillingMode": st.sampled_from(["PAY_PER_REQUEST", "PROVISIONED"]),
        "TimeToLiveSpecification": st.fixed_dictionaries(
            {}, optional={"AttributeName": texts, "Enabled": st.booleans()}
        ),
        "Expected": st.just({}),
    },
)
several = st.fixed_dictionaries(
    {},
    optional={
        "RequestItems": st.dictionaries(
            texts,
            st.one_of(
                single.map(lambda each: {**each, "Keys": [each.get("Key", {})]}),
                st.lists(
                    st.builds(
                        lambda kind, each: {kind: each}, st.sampled_from(["PutRequest", "DeleteRequest"]), single
                    ),
                    max_size=2,
                ),
            ),
        ),
        "TransactItems": st.lists(
            st.builds(
                lambda kind, each: {kind: each},
                st.sampled_from(["Put", "Update", "Delete", "ConditionCheck", "Get", "None"]),
                single,
            ),
            max_size=3,
        ),
        "ClientRequestToken": texts,
    },
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def fuzzed() -> Any:
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        yield dynamodb


def answers_or_refuses(dynamodb: Embedded, operation: str, body: bytes) -> bool:
    """Whether the engine answered with JSON or refused as DynamoDB does; any other error fails the test."""
    try:
        json.loads(dynamodb.send(operation, body))
    except DynamoDBError as error:
        return error.code != "InternalServerError" and bool(json.loads(error.body()))
    return True


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(set(OPERATIONS) - {"DeleteTable"})), st.one_of(single, several))
def test_any_request_is_answered_or_refused(fuzzed: Embedded, operation: str, request: Any) -> None:
    assert answers_or_refuses(fuzzed, operation, json.dumps(request).encode())


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(set(OPERATIONS) - {"DeleteTable"})),
    single,
    st.sampled_from(["TableName", "Item", "Key", "Limit", "RequestItems", "TransactItems", "KeySchema"]),
    json_values,
)
def test_a_request_with_a_member_of_any_shape_is_answered_or_refused(
    fuzzed: Embedded, operation: str, request: Any, member: str, content: Any
) -> None:
    assert answers_or_refuses(fuzzed, operation, json.dumps({**request, member: content}).encode())


@settings(deadline=None)
@given(st.sampled_from(sorted(OPERATIONS)), st.binary(max_size=40))
def test_any_bytes_are_answered_or_refused(operation: str, body: bytes) -> None:
    with Embedded() as dynamodb:
        assert answers_or_refuses(dynamodb, operation, body)
