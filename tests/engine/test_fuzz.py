"""Requests of every kind of wrongness: each is answered, or refused as DynamoDB refuses; none fails, none hangs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.engine import Embedded
from prejoin.engine.operations import OPERATIONS
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP, item, key_schema, send, values

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
        "GlobalSecondaryIndexUpdates": st.lists(
            st.dictionaries(
                st.sampled_from(["Create", "Update", "Delete"]),
                st.fixed_dictionaries(
                    {},
                    optional={
                        "IndexName": texts,
                        "KeySchema": st.just([{"AttributeName": "pk", "KeyType": "HASH"}]),
                        "Projection": st.just({"ProjectionType": "ALL"}),
                    },
                ),
            ),
            max_size=2,
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
        json.loads(dynamodb.send(operation, body) or b"{}")  # TagResource answers with nothing
    except DynamoDBError as error:
        return error.code != "InternalServerError" and bool(json.loads(error.body()))
    return True


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from(sorted(set(OPERATIONS) - {"DeleteTable"})), st.one_of(single, several))
def test_any_request_is_answered_or_refused(fuzzed: Embedded, operation: str, request: Any) -> None:
    assert answers_or_refuses(fuzzed, operation, json.dumps(request).encode())


@settings(max_examples=examples(200), deadline=None)
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


KEY = item(pk="a", sk="1")
WHOLE = {**KEY, "g1pk": {"S": "x"}, "g1sk": {"N": "1"}, "m": {"M": {"l": {"L": [{"N": "1"}, {"SS": ["a"]}]}}}}
CONDITION: dict[str, Any] = {
    "ConditionExpression": "attribute_exists(#n) OR NOT (size(m.l[0]) > :v AND m.l[1] IN (:v, :w))",
    "ExpressionAttributeNames": {"#n": "pk"},
    "ExpressionAttributeValues": values(v=1, w="x"),
}
UPDATE: dict[str, Any] = {
    "Key": KEY,
    "UpdateExpression": "SET m.l[0] = if_not_exists(a, :v), b = list_append(:l, :l) REMOVE c ADD #n :v DELETE d :s",
    "ExpressionAttributeNames": {"#n": "n"},
    "ExpressionAttributeValues": values(v=1, l={"L": [{"N": "1"}]}, s={"SS": ["a"]}),
}
READ: dict[str, Any] = {
    "IndexName": "gsi1",
    "FilterExpression": "begins_with(sk, :s) AND age BETWEEN :v AND :v",
    "ProjectionExpression": "pk, m.l[0]",
    "Limit": 5,
    "ExclusiveStartKey": {**KEY, "g1pk": {"S": "x"}, "g1sk": {"N": "1"}},
    "ReturnConsumedCapacity": "INDEXES",
}
TABLE = {"TableName": "shop"}
RESOURCE = {"ResourceArn": "arn:aws:dynamodb:local:000000000000:table/shop"}
ABSENT = {
    *("DescribeBackup", "DeleteBackup", "RestoreTableFromBackup", "DescribeExport", "DescribeImport"),
    *("DescribeBulkOperation", "CancelBulkOperation", "DescribeGlobalTable", "DescribeGlobalTableSettings"),
    *("UpdateGlobalTable", "UpdateGlobalTableSettings", "EnableKinesisStreamingDestination"),
    *("UpdateKinesisStreamingDestination", "DisableKinesisStreamingDestination"),
    *("DescribeStream", "GetShardIterator", "GetRecords"),
}
"""Operations on things that do not exist here, so that no request succeeds."""
STREAM = "arn:aws:dynamodb:local:000000000000:table/shop/stream/2026-01-01T00:00:00.000"
VALID: list[tuple[str, dict[str, Any]]] = [
    ("CreateTable", {**SHOP, "TableName": "another"}),
    (
        "Query",
        {
            **TABLE,
            "KeyConditions": {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}},
            "QueryFilter": {
                "n": {"ComparisonOperator": "BETWEEN", "AttributeValueList": [{"N": "1"}, {"N": "9"}]},
                "tags": {"ComparisonOperator": "NOT_CONTAINS", "AttributeValueList": [{"S": "x"}]},
            },
            "ConditionalOperator": "OR",
            "AttributesToGet": ["n", "tags"],
        },
    ),
    (
        "UpdateItem",
        {
            **TABLE,
            "Key": {"pk": {"S": "legacy"}, "sk": {"S": "1"}},
            "AttributeUpdates": {
                "count": {"Action": "ADD", "Value": {"N": "1"}},
                "gone": {"Action": "DELETE"},
                "new": {"Value": {"L": [{"S": "x"}]}},
            },
            "Expected": {"never": {"Exists": False}, "pk": {"ComparisonOperator": "NULL"}},
            "ConditionalOperator": "AND",
        },
    ),
    ("DescribeTable", TABLE),
    ("TagResource", {**RESOURCE, "Tags": [{"Key": "team", "Value": "a"}]}),
    ("ListTagsOfResource", RESOURCE),
    ("UntagResource", {**RESOURCE, "TagKeys": ["team"]}),
    ("PutResourcePolicy", {**RESOURCE, "Policy": "{}"}),
    ("GetResourcePolicy", RESOURCE),
    ("DeleteResourcePolicy", RESOURCE),
    ("DescribeContinuousBackups", TABLE),
    (
        "UpdateContinuousBackups",
        {
            **TABLE,
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7},
        },
    ),
    ("UpdateContributorInsights", {**TABLE, "IndexName": "gsi1", "ContributorInsightsAction": "ENABLE"}),
    ("DescribeContributorInsights", {**TABLE, "IndexName": "gsi1"}),
    ("ListContributorInsights", TABLE),
    ("DescribeEndpoints", {}),
    ("DescribeKinesisStreamingDestination", TABLE),
    ("DescribeTableReplicaAutoScaling", TABLE),
    ("ListStreams", {"Limit": 5}),
    (
        "ExecuteStatement",
        {
            "Statement": 'SELECT pk, m.x[0] FROM "shop"."gsi1" WHERE g1pk = ? AND (n BETWEEN 1 AND -2.5 OR NOT size(s) > 3)',
            "Parameters": [{"S": "a"}],
            "Limit": 3,
        },
    ),
    (
        "ExecuteStatement",
        {
            "Statement": "UPDATE shop SET a = list_append(m.l, [1, {'c': <<'d'>>}]) REMOVE e WHERE pk = 'a' AND sk = '1' "
            "AND g1pk IS NOT MISSING RETURNING ALL NEW *",
        },
    ),
    (
        "BatchExecuteStatement",
        {"Statements": [{"Statement": "DELETE FROM shop WHERE pk = ? AND sk = '9'", "Parameters": [{"S": "a"}]}]},
    ),
    (
        "ExecuteTransaction",
        {
            "TransactStatements": [
                {"Statement": "EXISTS(SELECT * FROM shop WHERE pk = 'a' AND sk = '1' AND absent IS MISSING)"},
                {"Statement": "DELETE FROM shop WHERE pk = 'zz' AND sk = '1'"},
            ],
            "ClientRequestToken": "once",
        },
    ),
    ("CreateBackup", {**TABLE, "BackupName": "nightly"}),
    ("ListBackups", {**TABLE, "Limit": 5, "TimeRangeLowerBound": 1.5, "BackupType": "ALL"}),
    (
        "RestoreTableToPointInTime",
        {
            "SourceTableName": "shop",
            "TargetTableName": "restored",
            "UseLatestRestorableTime": True,
            "GlobalSecondaryIndexOverride": [],
        },
    ),
    (
        "ExportTableToPointInTime",
        {
            "TableArn": "arn:aws:dynamodb:local:000000000000:table/shop",
            "S3Bucket": "bucket",
            "S3Prefix": "a/b",
            "ExportFormat": "DYNAMODB_JSON",
            "ExportType": "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": {"ExportViewType": "NEW_IMAGE"},
        },
    ),
    ("ListExports", {"MaxResults": 5}),
    (
        "ImportTable",
        {
            "S3BucketSource": {"S3Bucket": "bucket", "S3KeyPrefix": "a/b"},
            "InputFormat": "CSV",
            "InputFormatOptions": {"Csv": {"Delimiter": ";", "HeaderList": ["pk"]}},
            "InputCompressionType": "GZIP",
            "TableCreationParameters": {
                "TableName": "imported",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "BillingMode": "PAY_PER_REQUEST",
            },
        },
    ),
    ("ListImports", {"PageSize": 5}),
    ("ListBulkOperations", {}),
    ("ListGlobalTables", {}),
    ("DescribeLimits", {}),
    (
        "UpdateTable",
        {
            **TABLE,
            "AttributeDefinitions": [{"AttributeName": "late", "AttributeType": "N"}],
            "GlobalSecondaryIndexUpdates": [
                {
                    "Create": {
                        "IndexName": "late",
                        "KeySchema": key_schema("late"),
                        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["x"]},
                    }
                }
            ],
        },
    ),
    ("UpdateTimeToLive", {**TABLE, "TimeToLiveSpecification": {"AttributeName": "rank", "Enabled": True}}),
    ("DescribeTimeToLive", TABLE),
    ("ListTables", {"Limit": 5, "ExclusiveStartTableName": "shop"}),
    ("PutItem", {**TABLE, "Item": WHOLE, **CONDITION, "ReturnValues": "ALL_OLD"}),
    ("GetItem", {**TABLE, "Key": KEY, "ProjectionExpression": "m.l[1], pk", "ConsistentRead": True}),
    ("UpdateItem", {**TABLE, **UPDATE, "ReturnValues": "UPDATED_NEW"}),
    ("DeleteItem", {**TABLE, "Key": KEY, **CONDITION}),
    (
        "Query",
        {
            **TABLE,
            **READ,
            "KeyConditionExpression": "g1pk = :p AND g1sk >= :v",
            "ExpressionAttributeValues": values(p="x", v=1, s="1"),
        },
    ),
    ("Scan", {**TABLE, **READ, "ExpressionAttributeValues": values(v=1, s="1"), "Segment": 0, "TotalSegments": 1}),
    ("BatchGetItem", {"RequestItems": {"shop": {"Keys": [KEY], "ProjectionExpression": "pk"}}}),
    (
        "BatchWriteItem",
        {"RequestItems": {"shop": [{"PutRequest": {"Item": WHOLE}}, {"DeleteRequest": {"Key": item(pk="b", sk="1")}}]}},
    ),
    (
        "TransactWriteItems",
        {
            "TransactItems": [
                {"Put": {**TABLE, "Item": WHOLE, **CONDITION}},
                {"Update": {**TABLE, **UPDATE, "Key": item(pk="u", sk="1")}},
                {"Delete": {**TABLE, "Key": item(pk="d", sk="1")}},
                {"ConditionCheck": {**TABLE, "Key": item(pk="c", sk="1"), **CONDITION}},
            ],
            "ClientRequestToken": "token",
        },
    ),
    ("TransactGetItems", {"TransactItems": [{"Get": {**TABLE, "Key": KEY}}]}),
]


def nested(depth: int, form: str) -> Any:
    value: Any = {"S": "x"}
    for _ in range(depth):
        value = {"M": {"a": value}} if form == "M" else {"L": [value]}
    return value


ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x" * 5000,
    "é\x00\ud7ff",
    [],
    {},
    [[]],
    {"N": "1e999999999"},
    {"N": "-" + "9" * 5000},
    {"N": "NaN"},
    {"N": "1" + "0" * 400 + "e-400"},
    {"B": "====" * 10},
    {"S": "x" * 450_000},
    {"NS": ["1", "1.0"]},
    {"SS": ["a", None]},
    nested(33, "M"),
    nested(200, "L"),
    "(" * 2000 + "a = :v" + ")" * 2000,
    "NOT " * 900 + "a = :v",
    " AND ".join(["a = :v"] * 400),
    "SET " + "a" + "[0]" * 1200 + " = :v",
    "a." * 1500 + "a",
    "SET a = " + "if_not_exists(a, " * 200 + ":v" + ")" * 200,
    "size(" * 600 + "a" + ")" * 600 + " = :v",
    "a[99999999999999999999999999] = :v",
]


def fresh(document: Any) -> Any:
    return json.loads(json.dumps(document))


def places(document: Any) -> list[tuple[Any, Any]]:
    """Every place in a document: what holds it, and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        inner = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, content in inner:
            found.append((holder, key))
            if isinstance(content, dict | list):
                waiting.append(content)
    return found


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A valid request with one to three of its members replaced, removed, moved, or its bytes broken."""
    operation, valid = draw(st.sampled_from(VALID))
    request = fresh(valid)
    for _ in range(draw(st.integers(1, 3))):
        all_places = places(request)
        if not all_places:
            break
        holder, key = draw(st.sampled_from(all_places))
        change = draw(st.sampled_from(["odd", "odd", "remove", "rename", "swap", "text"]))
        if change == "odd":
            holder[key] = fresh(draw(st.sampled_from(ODD)))
        elif change == "text" and isinstance(holder[key], str):
            at = draw(st.integers(0, len(holder[key])))
            holder[key] = holder[key][:at] + draw(
                st.sampled_from([" ", "(", ")", "#", ":", ",", ".", "é", "=", "[-1]"])
            )
        elif change == "swap":
            other, place = draw(st.sampled_from(all_places))
            holder[key] = fresh(other[place])
        elif change == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(["", "TableName", "pk", ":v", "#n", "M", "S", "é"]))] = holder.pop(key)
        else:
            del holder[key]
    body = json.dumps(request).encode()
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(body)))
        body = (
            body[:at] + draw(st.sampled_from([b"\xff", b"\xed\xa0\x80", b"\x00", b'"', b"}", b"[" * 5000])) + body[at:]
        )
    return operation, body


@settings(max_examples=examples(500), deadline=None)
@given(mutated())
def test_a_valid_request_with_something_wrong_in_it_is_answered_or_refused(
    fuzzed: Embedded, request: tuple[str, bytes]
) -> None:
    assert answers_or_refuses(fuzzed, *request)


def test_every_operation_is_fuzzed_from_a_request_that_is_right() -> None:
    assert {operation for operation, _ in VALID} | {"DeleteTable"} | ABSENT == set(OPERATIONS)
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        for pk in ("a", "u"):
            send(dynamodb, "PutItem", Item={**WHOLE, "pk": {"S": pk}})
        for operation, request in VALID:
            json.loads(dynamodb.send(operation, json.dumps(request).encode()) or b"{}")
            send(dynamodb, "PutItem", Item=WHOLE)
