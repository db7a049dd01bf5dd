"""`newer_messages`: PutItem, UpdateItem and DeleteItem report invalid requests as AWS does since autumn 2026."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from prejoin.engine import Embedded

from .conftest import SHOP, Ask, item, refusal, send, values

KEY = item(pk="a", sk="1")
PREFIX = "1 validation error detected: "
INVALID = "One or more parameter values were invalid: "
SET = {"Key": KEY, "UpdateExpression": "SET x = :x"}


@pytest.fixture
def lately() -> Iterator[Ask]:
    """As `shop`, with newer messages."""
    with Embedded(newer_messages=True) as engine:
        send(engine, "CreateTable", **SHOP)
        yield partial(send, engine)


WORDINGS: list[tuple[str, dict[str, Any], str, str]] = [
    ("PutItem", {"Item": {**KEY, "x": {"SS": []}}}, f"{INVALID}An string set  may not be empty", ""),
    (
        "PutItem",
        {"Item": {**KEY, "x": {"SS": ["b", "a", "b"]}}},
        f"{INVALID}Input collection [b, a, b] contains duplicates.",
        f'{INVALID}Input collection ["a", "b", "b"] contains duplicates.',
    ),
    ("PutItem", {"Item": KEY, "ReturnValues": "ALL_NEW"}, "ReturnValues can only be ALL_OLD or NONE", ""),
    (
        "PutItem",
        {"Item": KEY, "ExpressionAttributeValues": values(x="x")},
        "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
        "ExpressionAttributeValues can only be specified when using expressions",
    ),
    (
        "UpdateItem",
        {**SET, "ExpressionAttributeValues": {":x": {"N": ""}}},
        "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value for "
        "key :x",
        "The parameter cannot be converted to a numeric value: ",
    ),
    (
        "UpdateItem",
        SET,
        "Invalid UpdateExpression: An expression attribute value used in expression is not defined; "
        "attribute value: :x",
        "",
    ),
    (
        "UpdateItem",
        {**SET, "AttributeUpdates": {}},
        "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: "
        "{AttributeUpdates} Expression parameters: {UpdateExpression}",
        "",
    ),
    (
        "DeleteItem",
        {"Key": KEY, "Expected": {"x": {"Exists": True}}},
        f"{INVALID}Value must be provided when Exists is true for Attribute: x",
        "",
    ),
    (
        "DeleteItem",
        {"Key": KEY, "ConditionExpression": ""},
        "Invalid ConditionExpression: The expression can not be empty;",
        "",
    ),
]


@pytest.mark.parametrize(("operation", "members", "older", "newer"), WORDINGS)
def test_messages_of_single_writes_get_a_prefix(
    shop: Ask, lately: Ask, operation: str, members: dict[str, Any], older: str, newer: str
) -> None:
    assert refusal(shop, operation, **members).message == older
    assert refusal(lately, operation, **members).message == PREFIX + (newer or older)


def test_values_of_a_cached_expression_are_reported_in_the_same_words(lately: Ask) -> None:
    lately("UpdateItem", **SET, ExpressionAttributeValues={":x": {"N": "1"}})
    error = refusal(lately, "UpdateItem", **SET, ExpressionAttributeValues={":x": {"N": "?"}})
    assert error.message == f"{PREFIX}The parameter cannot be converted to a numeric value: ?"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("PutItem", {"Item": {**KEY, "x": {}}}),
        ("PutItem", {"Item": {**KEY, "x": {"S": "x" * 400 * 1024}}}),
        ("PutItem", {"Item": item(pk="a")}),
        ("UpdateItem", {**SET, "ExpressionAttributeValues": values(x="x"), "Key": item(pk="a")}),
        ("BatchWriteItem", {"RequestItems": {"shop": [{"PutRequest": {"Item": {**KEY, "x": {"SS": []}}}}]}}),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "shop", "Item": {**KEY, "x": {"SS": []}}}}]}),
        ("PutItem", {"Item": {**KEY, "x": {"B": "?"}}}),
    ],
    ids=["empty value", "item size", "key of the table", "key of an update", "batch", "transaction", "base64"],
)
def test_other_messages_stay_as_they_are(shop: Ask, lately: Ask, operation: str, members: dict[str, Any]) -> None:
    before, error = refusal(shop, operation, **members), refusal(lately, operation, **members)
    assert not error.message.startswith(PREFIX)
    assert (error.code, error.message) == (before.code, before.message)


def test_query_filter_has_the_newer_wording_in_any_case(shop: Ask) -> None:
    same_key = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}
    repeated = {"x": {"ComparisonOperator": "EQ", "AttributeValueList": [{"NS": ["2", "1", "2"]}]}}
    error = refusal(shop, "Query", KeyConditions=same_key, QueryFilter=repeated)
    assert error.message == f"{INVALID}Input collection contains duplicates."
    assert refusal(shop, "Scan", ScanFilter=repeated).message == "Input collection contains duplicates"
