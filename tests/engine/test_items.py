"""PutItem, GetItem, UpdateItem and DeleteItem."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import SHOP, Ask, item, refusal, values

KEY = item(pk="a", sk="1")


def test_put_item_is_read_back(shop: Ask) -> None:
    whole = item(pk="a", sk="1", n=5, ok=True, empty="", deep={"M": {"l": {"L": [{"NULL": True}, {"B": "AAE="}]}}})
    assert shop("PutItem", Item=whole) == {}
    assert shop("GetItem", Key=KEY) == {"Item": whole}


def test_numbers_are_answered_in_canonical_form(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n={"N": "+01.50e1"}, s={"NS": ["1.0", "2"]}))
    assert shop("GetItem", Key=KEY)["Item"] == item(pk="a", sk="1", n=15, s={"NS": ["1", "2"]})


def test_sets_are_answered_in_order_whatever_made_them(shop: Ask) -> None:
    shop("PutItem", Item={**KEY, "tags": {"SS": ["c", "a"]}, "in": {"L": [{"NS": ["10", "9"]}]}})
    shop(
        "UpdateItem",
        Key=KEY,
        UpdateExpression="SET bytes = :b ADD tags :s",
        ExpressionAttributeValues={":b": {"BS": ["/w==", "AA=="]}, ":s": {"SS": ["d", "b", "", "a"]}},
    )
    assert shop("GetItem", Key=KEY)["Item"] == {
        **KEY,
        "tags": {"SS": ["", "a", "b", "c", "d"]},
        "in": {"L": [{"NS": ["9", "10"]}]},
        "bytes": {"BS": ["AA==", "/w=="]},
    }


def test_missing_item_is_an_empty_response(shop: Ask) -> None:
    assert shop("GetItem", Key=KEY) == {}


def test_a_projection_answers_with_parts(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=5, m={"M": {"x": {"N": "1"}, "y": {"N": "2"}}}))
    answer = shop(
        "GetItem",
        Key=KEY,
        ProjectionExpression="#n, m.y",
        ExpressionAttributeNames={"#n": "n"},
    )
    assert answer["Item"] == item(n=5, m={"M": {"y": {"N": "2"}}})


def test_a_put_replaces_the_whole_item_and_returns_the_old_one_if_asked(shop: Ask) -> None:
    old = item(pk="a", sk="1", n=1)
    shop("PutItem", Item=old)
    assert shop("PutItem", Item=item(pk="a", sk="1", m=2), ReturnValues="ALL_OLD") == {"Attributes": old}
    assert shop("GetItem", Key=KEY)["Item"] == item(pk="a", sk="1", m=2)


def test_a_put_with_a_failed_condition_leaves_the_item(shop: Ask) -> None:
    old = item(pk="a", sk="1", n=1)
    shop("PutItem", Item=old)
    error = refusal(shop, "PutItem", Item=item(pk="a", sk="1", n=2), ConditionExpression="attribute_not_exists(pk)")
    assert (error.code, error.message, error.fields) == (
        "ConditionalCheckFailedException",
        "The conditional request failed",
        {},
    )
    assert shop("GetItem", Key=KEY)["Item"] == old


def test_a_failed_condition_returns_the_item_if_asked(shop: Ask) -> None:
    old = item(pk="a", sk="1", n=1)
    shop("PutItem", Item=old)
    error = refusal(
        shop,
        "DeleteItem",
        Key=KEY,
        ConditionExpression="n > :one",
        ExpressionAttributeValues=values(one=1),
        ReturnValuesOnConditionCheckFailure="ALL_OLD",
    )
    assert error.fields == {"Item": old}


def test_an_update_creates_what_is_not_there(shop: Ask) -> None:
    answer = shop(
        "UpdateItem",
        Key=KEY,
        UpdateExpression="ADD visits :one",
        ExpressionAttributeValues=values(one=1),
        ReturnValues="ALL_NEW",
    )
    assert answer == {"Attributes": item(pk="a", sk="1", visits=1)}
    assert shop("GetItem", Key=KEY)["Item"] == item(pk="a", sk="1", visits=1)


@pytest.mark.parametrize(
    "expression", ["REMOVE gone", "DELETE tags :x", "REMOVE gone.deeper", "REMOVE gone[0] DELETE tags :x"]
)
def test_an_update_that_only_removes_creates_nothing(shop: Ask, expression: str) -> None:
    answer = shop(
        "UpdateItem",
        Key=item(pk="a", sk="1"),
        UpdateExpression=expression,
        ExpressionAttributeValues={":x": {"SS": ["x"]}} if ":x" in expression else None,
        ReturnValues="ALL_NEW",
        ReturnConsumedCapacity="TOTAL",
    )
    assert "Attributes" not in answer
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 1
    assert shop("GetItem", Key=item(pk="a", sk="1")) == {}
    error = refusal(shop, "UpdateItem", Key=item(pk="a", sk="1"), UpdateExpression="REMOVE sk")
    assert "part of the key" in error.message


def test_an_update_without_expression_creates_the_bare_key(shop: Ask) -> None:
    shop("UpdateItem", Key=KEY)
    assert shop("GetItem", Key=KEY)["Item"] == KEY


@pytest.mark.parametrize("indexed", [True, False])
def test_an_update_without_expression_leaves_what_is_there(ask: Ask, indexed: bool) -> None:
    bare = {**SHOP, "GlobalSecondaryIndexes": None, "LocalSecondaryIndexes": None}
    bare["AttributeDefinitions"] = SHOP["AttributeDefinitions"][:2]
    ask("CreateTable", **(SHOP if indexed else bare))
    whole = item(pk="a", sk="1", n=1, city="Bern")
    ask("PutItem", TableName="shop", Item=whole)
    assert ask("UpdateItem", TableName="shop", Key=KEY, ReturnValues="ALL_NEW") == {"Attributes": whole}
    assert ask("GetItem", TableName="shop", Key=KEY)["Item"] == whole


@pytest.mark.parametrize(
    ("wish", "returned"),
    [
        ("NONE", None),
        ("ALL_OLD", item(pk="a", sk="1", n=1, s="x")),
        ("ALL_NEW", item(pk="a", sk="1", n=2, t="y")),
        ("UPDATED_OLD", item(n=1, s="x")),
        ("UPDATED_NEW", item(n=2, t="y")),
    ],
)
def test_an_update_returns_what_is_asked(shop: Ask, wish: str, returned: Any) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=1, s="x"))
    answer = shop(
        "UpdateItem",
        Key=KEY,
        UpdateExpression="SET n = n + :one, t = :y REMOVE s",
        ExpressionAttributeValues=values(one=1, y="y"),
        ReturnValues=wish,
    )
    assert answer.get("Attributes") == returned


def test_a_failed_update_leaves_the_item_and_its_indexes(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", g1pk="x", g1sk=1))
    error = refusal(
        shop,
        "UpdateItem",
        Key=KEY,
        UpdateExpression="SET g1sk = g1pk",
    )
    assert error.message == "The update expression attempted to update the secondary index key to unsupported type"
    assert shop("Scan", IndexName="gsi1")["Items"] == [item(pk="a", sk="1", g1pk="x", g1sk=1)]


def test_a_delete_removes_and_may_return_the_item(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=1))
    assert shop("DeleteItem", Key=KEY, ReturnValues="ALL_OLD") == {"Attributes": item(pk="a", sk="1", n=1)}
    assert shop("GetItem", Key=KEY) == {}
    assert shop("DeleteItem", Key=KEY, ReturnValues="ALL_OLD") == {}


def test_a_delete_of_nothing_with_a_condition_on_something_fails(shop: Ask) -> None:
    error = refusal(shop, "DeleteItem", Key=KEY, ConditionExpression="attribute_exists(pk)")
    assert error.code == "ConditionalCheckFailedException"


@pytest.mark.parametrize(
    ("operation", "members", "complaint"),
    [
        ("GetItem", {"Key": item(pk="a")}, "The provided key element does not match the schema"),
        ("GetItem", {"Key": item(pk="a", sk=1)}, "The provided key element does not match the schema"),
        ("GetItem", {"Key": item(pk="a", sk="1", x="y")}, "The provided key element does not match the schema"),
        (
            "PutItem",
            {"Item": item(pk="a")},
            "One or more parameter values were invalid: Missing the key sk in the item",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk=1)},
            "One or more parameter values were invalid: Type mismatch for key sk expected: S actual: N",
        ),
        (
            "PutItem",
            {"Item": item(pk="", sk="1")},
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "
            "empty string value. Key: pk",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="1", g1pk=5)},
            "One or more parameter values were invalid: Type mismatch for Index Key g1pk Expected: S Actual: N "
            "IndexName: gsi1",
        ),
        (
            "PutItem",
            {"Item": item(pk="p" * 2049, sk="1")},
            "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of2048 "
            "bytes",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="s" * 1025)},
            "One or more parameter values were invalid: Aggregated size of all range keys has exceeded the size "
            "limit of 1024 bytes",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="1", big="x" * 409_600)},
            "Item size has exceeded the maximum allowed size",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="1"), "ReturnValues": "ALL_NEW"},
            "ReturnValues can only be ALL_OLD or NONE",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="1"), "ExpressionAttributeValues": values(v=1)},
            "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="1"), "Expected": {}, "ConditionExpression": "attribute_exists(pk)"},
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}",
        ),
        (
            "UpdateItem",
            {"Key": KEY, "UpdateExpression": "SET pk = :v", "ExpressionAttributeValues": values(v="b")},
            "One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key",
        ),
        (
            "GetItem",
            {"TableName": "bad table!", "Key": KEY},
            "1 validation error detected: Value 'bad table!' at 'tableName' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        ),
        (
            "PutItem",
            {"Item": item(pk="a", sk="1"), "ReturnConsumedCapacity": "X", "ReturnValues": "Y"},
            "2 validation errors detected: Value 'X' at 'returnConsumedCapacity' failed to satisfy constraint: "
            "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'Y' at 'returnValues' failed to "
            "satisfy constraint: Member must satisfy enum value set: "
            "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]",
        ),
        (
            "UpdateItem",
            {"TableName": ""},
            "2 validation errors detected: Value '' at 'tableName' failed to satisfy constraint: Member must have "
            "length greater than or equal to 1; Value null at 'key' failed to satisfy constraint: Member must not be "
            "null",
        ),
        (
            "UpdateItem",
            {"ReturnValues": "Y", "ReturnConsumedCapacity": "X"},
            "3 validation errors detected: Value 'X' at 'returnConsumedCapacity' failed to satisfy constraint: "
            "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; Value 'Y' at 'returnValues' failed to "
            "satisfy constraint: Member must satisfy enum value set: "
            "[ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; Value null at 'key' failed to satisfy constraint: "
            "Member must not be null",
        ),
        (
            "UpdateItem",
            {"TableName": "", "Key": {}},
            "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: Member must have "
            "length greater than or equal to 1",
        ),
        (
            "UpdateItem",
            {"Key": KEY, "UpdateExpression": "REMOVE " + "a" * 4090},
            "Invalid UpdateExpression: Expression size has exceeded the maximum allowed size;",
        ),
        (
            "GetItem",
            {"Key": {**KEY, "sk": {"SS": ["b", "a", "b"]}}},
            'One or more parameter values were invalid: Input collection ["a", "b", "b"] contains duplicates.',
        ),
    ],
)
def test_invalid_request_has_aws_message(shop: Ask, operation: str, members: dict[str, Any], complaint: str) -> None:
    error = refusal(shop, operation, **members)
    assert (error.code, error.message) == ("ValidationException", complaint)


def test_an_update_that_grows_an_item_past_400_kb_is_refused(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", big="x" * 300_000))
    error = refusal(
        shop,
        "UpdateItem",
        Key=KEY,
        UpdateExpression="SET more = :v",
        ExpressionAttributeValues=values(v="y" * 200_000),
    )
    assert error.message == "Item size to update has exceeded the maximum allowed size"


@pytest.mark.parametrize("operation", ["GetItem", "DeleteItem", "UpdateItem"])
def test_missing_table_is_not_found(ask: Ask, operation: str) -> None:
    error = refusal(ask, operation, TableName="nowhere", Key=KEY)
    assert (error.code, error.message) == ("ResourceNotFoundException", "Requested resource not found")


CHANGES_ITS_KEY: dict[str, Any] = {
    "Key": KEY,
    "UpdateExpression": "SET sk = :new",
    "ConditionExpression": "n = :n",
}


def test_a_condition_that_fails_comes_before_an_update_of_the_key(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=1))
    error = refusal(shop, "UpdateItem", **CHANGES_ITS_KEY, ExpressionAttributeValues=values(new="2", n=2))
    assert error.code == "ConditionalCheckFailedException"
    error = refusal(shop, "UpdateItem", **CHANGES_ITS_KEY, ExpressionAttributeValues=values(new="2", n=1))
    assert error.code == "ValidationException"
    assert error.message.endswith("Cannot update attribute sk. This attribute is part of the key")
    assert shop("Scan")["Items"] == [item(pk="a", sk="1", n=1)]


def test_key_update_is_reported_before_wrong_index_type(shop: Ask) -> None:
    change = {"UpdateExpression": "SET sk = :new, city = :n", "ExpressionAttributeValues": values(new="2", n=2)}
    assert "Cannot update attribute sk" in refusal(shop, "UpdateItem", Key=KEY, **change).message


def test_unrelated_update_ignores_unsuitable_index_value(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", later=5, n=1))
    shop(
        "UpdateTable",
        AttributeDefinitions=[{"AttributeName": "later", "AttributeType": "S"}],
        GlobalSecondaryIndexUpdates=[
            {
                "Create": {
                    "IndexName": "by-later",
                    "KeySchema": [{"AttributeName": "later", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            }
        ],
    )
    shop("UpdateItem", Key=KEY, UpdateExpression="ADD n :one", ExpressionAttributeValues=values(one=1))
    assert shop("GetItem", Key=KEY)["Item"] == item(pk="a", sk="1", later=5, n=2)
    assert shop("Scan", IndexName="by-later")["Items"] == []


@pytest.mark.parametrize("name", ["class", "a-b.c", "größe", "#x", " ", '"', "\\n\n"])
def test_an_index_follows_an_attribute_of_any_name(ask: Ask, name: str) -> None:
    ask(
        "CreateTable",
        TableName="odd",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("pk", name)],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "odd-index",
                "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    for content in ("before", "after"):
        ask("PutItem", TableName="odd", Item={"pk": {"S": "a"}, name: {"S": content}})
        assert ask("Scan", TableName="odd", IndexName="odd-index")["Items"] == [
            {"pk": {"S": "a"}, name: {"S": content}}
        ]
    ask("DeleteItem", TableName="odd", Key=item(pk="a"))
    assert ask("Scan", TableName="odd", IndexName="odd-index")["Items"] == []


def test_update_emptying_index_key_has_own_message(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", city="Bern"))
    error = refusal(
        shop,
        "UpdateItem",
        Key=item(pk="a", sk="1"),
        UpdateExpression="SET city = :c",
        ExpressionAttributeValues=values(c=""),
    )
    assert error.message == (
        "One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. "
        "The AttributeValue for a key attribute cannot contain an empty string value."
    )
