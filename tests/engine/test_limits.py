"""Limits, and what may not be named: each refused in AWS's words, none only when it is too late."""

from __future__ import annotations

from typing import Any

import pytest

from prejoin.testing import create_table

from .conftest import Ask, item, key_schema, refusal, values

KEY = item(pk="a", sk="1")
SCALARS = "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"N": "1"}
    for _ in range(depth):
        value = {"M": {"a": value}}
    return value


def test_an_update_nests_no_deeper_than_a_put_could(shop: Ask) -> None:
    shop("PutItem", Item={**KEY, "m": nested(31)})
    assert "Nesting Levels" in refusal(shop, "PutItem", Item={**KEY, "m": nested(32)}).message
    path = "m" + ".a" * 31

    def put_at_the_bottom(value: dict[str, Any]) -> Any:
        return shop(
            "UpdateItem",
            Key=KEY,
            UpdateExpression=f"SET {path} = :v",
            ExpressionAttributeValues={":v": value},
        )

    put_at_the_bottom({"N": "2"})
    assert refusal(put_at_the_bottom, nested(1)).message == "Nesting Levels have exceeded supported limits"
    assert refusal(put_at_the_bottom, {"L": []}).message == "Nesting Levels have exceeded supported limits"


def test_a_value_that_is_only_compared_nests_one_level_deeper(shop: Ask) -> None:
    def compare(value: dict[str, Any]) -> Any:
        return shop(
            "UpdateItem",
            Key=KEY,
            UpdateExpression="REMOVE n",
            ConditionExpression="m = :v",
            ExpressionAttributeValues={":v": value},
        )

    assert refusal(compare, nested(32)).code == "ConditionalCheckFailedException"
    assert "nested levels beyond supported limit" in refusal(compare, nested(33)).message


def test_a_path_has_at_most_32_steps(shop: Ask) -> None:
    error = refusal(shop, "GetItem", Key=KEY, ProjectionExpression="a" + ".a" * 32)
    assert error.message == (
        "Invalid ProjectionExpression: The document path has too many nesting levels; nesting levels: 33"
    )
    shop("GetItem", Key=KEY, ProjectionExpression="a" + ".a" * 31)


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        (
            {"ExpressionAttributeNames": {"#a": ""}},
            "ExpressionAttributeNames contains invalid value: Empty attribute name",
        ),
        (
            {
                "ExpressionAttributeNames": {"#a": "x"},
                "ExpressionAttributeValues": {":v": {"M": {"": {"S": "x"}}}},
            },
            "ExpressionAttributeValues contains invalid value: Empty attribute name",
        ),
    ],
)
def test_empty_attribute_name_is_refused(shop: Ask, members: dict[str, Any], complaint: str) -> None:
    update = {"UpdateExpression": "SET #a = :v", "ExpressionAttributeValues": values(v=1), **members}
    assert complaint in refusal(shop, "UpdateItem", Key=KEY, **update).message
    assert refusal(shop, "PutItem", Item={**KEY, "": {"S": "x"}}).message == "Empty attribute name"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetItem", {"Key": KEY, "ProjectionExpression": "{}"}),
        ("DeleteItem", {"Key": KEY, "ConditionExpression": "attribute_exists({})"}),
        ("PutItem", {"Item": KEY, "ConditionExpression": "attribute_exists({})"}),
        ("UpdateItem", {"Key": KEY, "UpdateExpression": "SET x = {}"}),
        ("Scan", {"FilterExpression": "attribute_exists({})"}),
        ("Scan", {"ProjectionExpression": "{}"}),
        (
            "Query",
            {
                "IndexName": "by-city",
                "KeyConditionExpression": "city = :c",
                "FilterExpression": "attribute_exists({})",
                "ExpressionAttributeValues": values(c="Bern"),
            },
        ),
        ("BatchGetItem", {"RequestItems": {"shop": {"Keys": [KEY], "ProjectionExpression": "{}"}}}),
    ],
)
@pytest.mark.parametrize(("path", "which"), [("pk.a", "Key: pk"), ("g1pk[0]", "IndexKey: g1pk")])
def test_no_path_leads_into_a_key(shop: Ask, operation: str, members: dict[str, Any], path: str, which: str) -> None:
    def filled(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: filled(each) for name, each in part.items()}
        return part.replace("{}", path) if isinstance(part, str) else part

    assert refusal(shop, operation, **filled(members)).message == SCALARS + which


@pytest.mark.parametrize("index", ["by-city", "by-rank"])
def test_a_query_filters_only_on_what_its_index_holds(shop: Ask, index: str) -> None:
    key = "city" if index == "by-city" else "pk"
    query = {
        "IndexName": index,
        "KeyConditionExpression": f"{key} = :k",
        "FilterExpression": "absent = :k",
        "ExpressionAttributeValues": values(k="x"),
    }
    assert refusal(shop, "Query", **query).message == (
        f"One or more parameter values were invalid: Secondary index {index} does not project one or more filter "
        "attributes: [absent]"
    )


@pytest.mark.parametrize("condition", ["a = a", "a BETWEEN :v AND a", "a IN (:v, a)", "contains(a, a)"])
def test_an_attribute_is_not_compared_with_itself(shop: Ask, condition: str) -> None:
    given = values(v=1) if ":v" in condition else None
    error = refusal(shop, "PutItem", Item=KEY, ConditionExpression=condition, ExpressionAttributeValues=given)
    assert "The first operand must be distinct from the remaining operands" in error.message


def test_the_attributes_of_an_index_key_count_together(ask: Ask) -> None:
    names = ("pk", "a", "b", "c", "d")
    ask(
        "CreateTable",
        TableName="wide",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in names],
        KeySchema=key_schema("pk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "multi",
                "KeySchema": key_schema("a", "b", sort=("c", "d")),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )

    def put(**sizes: int) -> Any:
        return ask("PutItem", TableName="wide", Item=item(pk="1", **{name: "x" * size for name, size in sizes.items()}))

    put(a=1024, b=1024, c=512, d=512)
    assert ask("Scan", TableName="wide", IndexName="multi")["Count"] == 1
    assert "hash keys has exceeded the size limit of 2048" in refusal(put, a=1024, b=1025, c=1, d=1).message
    assert "range keys has exceeded the size limit of 1024" in refusal(put, a=1, b=1, c=512, d=513).message
    # Half a key is in no index, but too large all the same.
    assert "range keys has exceeded the size limit of 1024" in refusal(put, c=1025).message


def test_the_items_of_a_transaction_are_4_mb_together_at_most(shop: Ask) -> None:
    keys = [item(pk="a", sk=str(number)) for number in range(11)]
    for key in keys:
        shop("PutItem", Item={**key, "fat": {"S": "x" * 390_000}})

    def gets(number: int) -> Any:
        return shop(
            "TransactGetItems", TransactItems=[{"Get": {"TableName": "shop", "Key": key}} for key in keys[:number]]
        )

    def updates(number: int, size: int) -> Any:
        action = {
            "TableName": "shop",
            "UpdateExpression": "SET more = :v",
            "ExpressionAttributeValues": values(v="x" * size),
        }
        return shop("TransactWriteItems", TransactItems=[{"Update": {**action, "Key": key}} for key in keys[:number]])

    gets(10)
    updates(10, 1)
    for call in (lambda: gets(11), lambda: updates(11, 1)):
        assert refusal(call).message.startswith("Transaction payload size cannot exceed 4MB. Payload Size: ")
    assert "more" not in shop("GetItem", Key=keys[10])["Item"]


def test_a_start_key_of_another_segment_is_refused(shop: Ask) -> None:
    for number in range(20):
        shop("PutItem", Item=item(pk=f"p{number}", sk="1"))
    first = shop("Scan", Segment=0, TotalSegments=4, Limit=1)["LastEvaluatedKey"]
    error = refusal(shop, "Scan", Segment=1, TotalSegments=4, ExclusiveStartKey=first)
    assert "Please use ExclusiveStartKey with correct Segment. TotalSegments: 4 Segment: 1" in error.message


def test_a_partition_key_that_sorts_an_index_has_the_limit_of_a_sort_key(ask: Ask) -> None:
    ask("CreateTable", **create_table("follows", "who, whom", {"inverted": "whom, who"}))
    for operation, members in (
        ("PutItem", {"Item": item(who="w" * 1025, whom="a")}),
        ("BatchWriteItem", {"RequestItems": {"follows": [{"PutRequest": {"Item": item(who="w" * 1025, whom="a")}}]}}),
    ):
        error = refusal(ask, operation, TableName="follows", **members)
        assert error.message == (
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size limit "
            "of 1024 bytes. IndexName: inverted"
        )
    ask("PutItem", TableName="follows", Item=item(who="w" * 1024, whom="a"))
    assert ask("Scan", TableName="follows", IndexName="inverted")["Count"] == 1
