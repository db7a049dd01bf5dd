"""Behaviour of AWS that an earlier version of the engine did not have, each found by somebody else's tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError

from .conftest import Ask, item, refusal, values

KEY = item(pk="a", sk="1")
ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/shop"


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"S": "x"}
    for _ in range(levels):
        found = {"L": [found]}
    return found


def test_transact_get_omits_an_item_of_which_the_projection_selects_nothing(shop: Ask) -> None:
    shop("PutItem", Item=KEY)
    get = {"TableName": "shop", "Key": KEY, "ProjectionExpression": "nothing"}
    assert shop("TransactGetItems", TransactItems=[{"Get": get}]) == {"Responses": [{}]}
    assert shop("GetItem", Key=KEY, ProjectionExpression="nothing") == {"Item": {}}


@pytest.mark.parametrize("kind", ["string", "number", "binary"])
@pytest.mark.parametrize("inside", [lambda value: value, lambda value: {"L": [{"M": {"x": value}}]}])
def test_null_in_a_set_is_a_validation_error(shop: Ask, kind: str, inside: Any) -> None:
    content = {"string": {"SS": ["a", None]}, "number": {"NS": [None]}, "binary": {"BS": ["AA==", None]}}[kind]
    message = f"One or more parameter values were invalid: An {kind} set may not have a null {kind} as a member"
    requests: list[tuple[str, dict[str, Any]]] = [
        ("PutItem", {"Item": {**KEY, "x": inside(content)}}),
        ("UpdateItem", {"Key": KEY, "UpdateExpression": "SET x = :x", "ExpressionAttributeValues": {":x": content}}),
        ("BatchWriteItem", {"RequestItems": {"shop": [{"DeleteRequest": {"Key": {"pk": content}}}]}}),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "shop", "Item": {"x": inside(content)}}}]}),
    ]
    for operation, members in requests:
        error = refusal(shop, operation, **members)
        assert (error.code, error.message) == ("ValidationException", message)


def test_null_instead_of_a_value_is_an_empty_value(shop: Ask) -> None:
    for wrong in ({"x": None}, {"x": {"L": [None]}}, {"x": {"M": {"y": None}}}):
        error = refusal(shop, "PutItem", Item={**KEY, **wrong})
        assert (error.code, error.message) == (
            "ValidationException",
            "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes",
        )


def test_duplicate_keys_are_reported_before_a_missing_table(ask: Ask) -> None:
    error = refusal(ask, "BatchGetItem", RequestItems={"none": {"Keys": [KEY, KEY]}})
    assert error.message == "Provided list of item keys contains duplicates"
    assert refusal(ask, "BatchGetItem", RequestItems={"none": {"Keys": [KEY]}}).code == "ResourceNotFoundException"


def test_an_arn_and_a_name_are_one_table(shop: Ask) -> None:
    shop("PutItem", TableName=ARN, Item=KEY)
    both = {"shop": {"Keys": [KEY]}, ARN: {"Keys": [KEY]}}
    assert refusal(shop, "BatchGetItem", RequestItems=both).message == "Provided list of item keys contains duplicates"


def test_consumed_capacity_names_the_table_as_the_request_does(shop: Ask) -> None:
    total = {"ReturnConsumedCapacity": "TOTAL"}
    wish = {"TableName": ARN, "Key": KEY}
    answers = [
        shop("PutItem", TableName=ARN, Item=KEY, **total)["ConsumedCapacity"],
        shop("GetItem", **wish, **total)["ConsumedCapacity"],
        shop("Scan", TableName=ARN, **total)["ConsumedCapacity"],
        *shop("BatchGetItem", RequestItems={ARN: {"Keys": [KEY]}}, **total)["ConsumedCapacity"],
        *shop("BatchWriteItem", RequestItems={ARN: [{"DeleteRequest": {"Key": KEY}}]}, **total)["ConsumedCapacity"],
        *shop("TransactWriteItems", TransactItems=[{"Delete": wish}], **total)["ConsumedCapacity"],
        *shop("TransactGetItems", TransactItems=[{"Get": wish}], **total)["ConsumedCapacity"],
    ]
    assert [answer["TableName"] for answer in answers] == [ARN] * 7
    assert shop("GetItem", Key=KEY, **total)["ConsumedCapacity"]["TableName"] == "shop"


def test_a_value_in_a_condition_may_have_32_levels(shop: Ask) -> None:
    condition = {"FilterExpression": "x = :x"}
    assert shop("Scan", **condition, ExpressionAttributeValues={":x": nested(32)})["Count"] == 0
    assert "Nesting Levels" in refusal(shop, "Scan", **condition, ExpressionAttributeValues={":x": nested(33)}).message
    update = {"Key": KEY, "UpdateExpression": "SET x = :x"}
    shop("UpdateItem", **update, ExpressionAttributeValues={":x": nested(31)})
    assert refusal(shop, "UpdateItem", **update, ExpressionAttributeValues={":x": nested(32)}).message == (
        "Nesting Levels have exceeded supported limits"
    )


def test_a_segment_is_below_a_million(shop: Ask) -> None:
    assert refusal(shop, "Scan", Segment=1_000_000, TotalSegments=1_000_000).message == (
        "1 validation error detected: Value '1000000' at 'segment' failed to satisfy constraint: "
        "Member must have value less than or equal to 999999"
    )


STRUCTURE = "Start of structure or map found where not expected"
MODEL = "com.amazonaws.dynamodb.v20120810."


@pytest.mark.parametrize(
    ("operation", "request_body", "message"),
    [
        ("GetItem", {"TableName": False}, "FALSE_VALUE cannot be converted to String"),
        ("GetItem", {"TableName": True}, "TRUE_VALUE cannot be converted to String"),
        ("GetItem", {"TableName": 1}, "NUMBER_VALUE cannot be converted to String"),
        ("GetItem", {"TableName": 1.5}, "DECIMAL_VALUE cannot be converted to String"),
        ("GetItem", {"TableName": {}}, STRUCTURE),
        ("GetItem", {"TableName": []}, "Unrecognized collection type class java.lang.String"),
        ("GetItem", {"ConsistentRead": "x"}, "Unexpected token received from parser"),
        ("GetItem", {"ConsistentRead": 1}, "NUMBER_VALUE cannot be converted to Boolean"),
        ("GetItem", {"Key": "x"}, "Unexpected field type"),
        (
            "GetItem",
            {"Key": []},
            f"Unrecognized collection type java.util.Map<java.lang.String, {MODEL}AttributeValue>",
        ),
        ("GetItem", {"Key": {"pk": 1}}, "Unexpected value type in payload"),
        ("GetItem", {"Key": {"pk": []}}, f"Unrecognized collection type class {MODEL}AttributeValue"),
        ("GetItem", {"Key": {"pk": {"S": False}}}, "FALSE_VALUE cannot be converted to String"),
        ("GetItem", {"Key": {"pk": {"B": 1}}}, "only base-64-encoded strings are convertible to bytes"),
        ("GetItem", {"Key": {"pk": {"B": []}}}, "Unrecognized collection type class java.nio.ByteBuffer"),
        ("GetItem", {"Key": {"pk": {"SS": "x"}}}, "Unexpected field type"),
        ("GetItem", {"Key": {"pk": {"SS": {}}}}, STRUCTURE),
        ("GetItem", {"Key": {"pk": {"M": {"x": 1}}}}, "Unexpected value type in payload"),
        ("Scan", {"Limit": "x"}, "STRING_VALUE cannot be converted to Integer"),
        ("Scan", {"Limit": 1.5}, "DECIMAL_VALUE cannot be converted to Integer"),
        ("Scan", {"ScanFilter": {"a": []}}, f"Unrecognized collection type class {MODEL}Condition"),
        (
            "CreateTable",
            {"ProvisionedThroughput": {"ReadCapacityUnits": "x"}},
            "STRING_VALUE cannot be converted to Long",
        ),
        ("CreateTable", {"ProvisionedThroughput": 1}, "Unexpected field type"),
        ("CreateTable", {"KeySchema": [1]}, "Unexpected value type in payload"),
        (
            "UpdateItem",
            {"ExpressionAttributeNames": []},
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
        ),
    ],
)
def test_a_member_of_the_wrong_type_is_named_as_java_names_it(
    dynamodb: Embedded, operation: str, request_body: dict[str, Any], message: str
) -> None:
    error = refusal(dynamodb.send, operation, json.dumps(request_body).encode())
    assert (error.code, error.message) == ("SerializationException", message)


def test_a_request_that_is_not_an_object_is_refused(dynamodb: Embedded) -> None:
    for body in (b"[]", b"1", b'"x"', b"", b"{", b"\xff"):
        assert refusal(dynamodb.send, "GetItem", body).code == "SerializationException"


def test_a_transaction_over_4_mb_tells_its_size(shop: Ask) -> None:
    puts = [{"Put": {"TableName": "shop", "Item": item(pk="a", sk=str(n), x="x" * 400_000)}} for n in range(11)]
    size = 11 * (400_000 + 6) + 12
    text = "Transaction payload size cannot exceed 4MB. Payload Size: "
    assert refusal(shop, "TransactWriteItems", TransactItems=puts).message == f"{text}: {text}{size}"


def test_names_of_a_legacy_read_need_an_expression(shop: Ask) -> None:
    error = refusal(shop, "GetItem", Key=KEY, AttributesToGet=["x"], ExpressionAttributeNames={"#x": "x"})
    assert error.message == "ExpressionAttributeNames can only be specified when using expressions"
    error = refusal(
        shop, "Query", KeyConditions={"pk": {"ComparisonOperator": "NULL"}}, ExpressionAttributeValues=values(x=1)
    )
    assert error.message == (
        "ExpressionAttributeValues can only be specified when using expressions: "
        "FilterExpression and KeyConditionExpression are null"
    )


START = "The provided starting key is invalid"
MISMATCH = "The provided key element does not match the schema"
POSITION = item(pk="a", sk="1", g1pk="x", g1sk=1)


@pytest.mark.parametrize("operation", ["Query", "Scan"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"g1pk": {"N": "1"}}, MISMATCH),
        ({"g1sk": {"S": "1"}}, MISMATCH),
        ({"pk": {"N": "1"}}, f"{START}: {MISMATCH}"),
        ({"pk": None}, START),
        ({"g1pk": None, "other": {"S": "x"}}, START),
        ({"pk": None, "other": {"S": "x"}}, f"{START}: {MISMATCH}"),
    ],
)
def test_starting_key_of_an_index_is_checked_as_its_keys_first(
    shop: Ask, operation: str, wrong: dict[str, Any], message: str
) -> None:
    start = {name: value for name, value in (POSITION | wrong).items() if value is not None}
    query = {"KeyConditionExpression": "g1pk = :g", "ExpressionAttributeValues": values(g="x")}
    error = refusal(
        shop, operation, IndexName="gsi1", ExclusiveStartKey=start, **(query if operation == "Query" else {})
    )
    assert error.message == message


def test_filters_are_checked_before_segments_and_missing_key_conditions(shop: Ask) -> None:
    wrong = {"a": {"ComparisonOperator": "LT", "AttributeValueList": [{"BOOL": True}]}}
    message = (
        "One or more parameter values were invalid: ComparisonOperator LT is not valid for BOOL AttributeValue type"
    )
    assert refusal(shop, "Scan", ScanFilter=wrong, Segment=0).message == message
    assert refusal(shop, "Query", QueryFilter=wrong).message == message
    twice = "One or more parameter values were invalid: Duplicate value in attribute name: a"
    assert refusal(shop, "Query", AttributesToGet=["a", "a"]).message == twice
    assert refusal(shop, "Query", AttributesToGet=["a"]).message.startswith("Either the KeyConditions or")


def test_an_invalid_number_is_reported_before_a_second_type(shop: Ask) -> None:
    key = {"pk": {"S": "a", "N": "b"}, "sk": {"S": "1"}}
    message = "The parameter cannot be converted to a numeric value: b"
    assert refusal(shop, "GetItem", Key=key).message == message
    key["pk"]["N"] = "1"
    assert "more than one datatypes set" in refusal(shop, "GetItem", Key=key).message


def test_a_text_as_null_is_not_true(shop: Ask) -> None:
    error = refusal(shop, "PutItem", Item={**KEY, "x": {"NULL": "no"}})
    assert error.code == "ValidationException"
    assert error.message.endswith("Null attribute value types must have the value of true")


def test_units_of_a_table_out_of_bounds_are_refused_before_a_missing_table(ask: Ask) -> None:
    units = {"ReadCapacityUnits": 1_000_000_000_001, "WriteCapacityUnits": 1}
    index = [{"Update": {"IndexName": "gsi1", "ProvisionedThroughput": units}}]
    where = {"TableName": "missing"}
    message = "Given value 1000000000001 for ReadCapacityUnits is out of bounds"
    assert refusal(ask, "UpdateTable", **where, ProvisionedThroughput=units).message == message
    missing = refusal(ask, "UpdateTable", **where, GlobalSecondaryIndexUpdates=index)
    assert missing.code == "ResourceNotFoundException", "units of an index are looked at later"


def test_units_out_of_bounds_of_a_missing_index_are_blocked(shop: Ask) -> None:
    def update(units: int) -> DynamoDBError:
        wish = {"IndexName": "absent", "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": units}}
        return refusal(shop, "UpdateTable", GlobalSecondaryIndexUpdates=[{"Update": wish}])

    assert update(10**12 + 1).message.endswith(
        "contact DynamoDB service team for more info: Action Blocked: IndexUpdate"
    )
    assert update(10**12).code == "ResourceNotFoundException"


def test_a_scan_reports_what_its_index_lacks_before_a_wrong_key_of_the_table(shop: Ask) -> None:
    start = {"x": {"S": "1"}, "y": {"S": "1"}, "city": {"S": "Bern"}}
    error = refusal(shop, "Scan", IndexName="by-city", Select="ALL_ATTRIBUTES", ExclusiveStartKey=start)
    assert error.message.endswith("index by-city because its projection type is not ALL")
    error = refusal(shop, "Scan", IndexName="by-city", ExclusiveStartKey=start)
    assert error.message.startswith("The provided starting key is invalid")


def test_classes_of_index_members_have_the_names_of_java(ask: Ask) -> None:
    model = "Unrecognized collection type class com.amazonaws.dynamodb.v20120810."
    assert refusal(ask, "CreateTable", LocalSecondaryIndexes=[[]]).message == f"{model}LocalSecondaryIndex"
    updates = [{"Create": []}]
    error = refusal(ask, "UpdateTable", GlobalSecondaryIndexUpdates=updates)
    assert error.message == f"{model}CreateGlobalSecondaryIndexAction"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetItem", {"Key": {"pk": {"B": "AAE"}}}),
        ("PutItem", {"Item": {"x": {"L": [{"M": {"y": {"BS": ["AAE"]}}}]}}}),
        ("DeleteItem", {"Expected": {"x": {"Value": {"B": "AAE"}}}}),
        ("UpdateItem", {"AttributeUpdates": {"x": {"Value": {"B": "AAE"}}}}),
        ("Query", {"ExpressionAttributeValues": {":x": {"B": "AAE"}}}),
        ("Scan", {"ScanFilter": {"x": {"AttributeValueList": [{"B": "AAE"}]}}}),
        ("BatchWriteItem", {"RequestItems": {"a b": [{"DeleteRequest": {"Key": {"x": {"B": "AAE"}}}}]}}),
    ],
)
def test_invalid_base64_is_reported_before_an_invalid_table_name(
    ask: Ask, operation: str, members: dict[str, Any]
) -> None:
    table = {} if "RequestItems" in members else {"TableName": "a b"}
    error = refusal(ask, operation, **table, **members)
    assert (error.code, error.message) == (
        "SerializationException",
        "Base64 encoded length is expected a multiple of 4 bytes but found: 3",
    )


def test_only_values_are_base64(ask: Ask) -> None:
    members = {"Item": {"B": {"S": "AAE"}}, "ExpressionAttributeNames": {"B": "AAE"}}
    assert refusal(ask, "PutItem", TableName="a b", **members).code == "ValidationException"


def test_query_puts_a_prefix_before_messages_about_select_and_scan_does_not(shop: Ask) -> None:
    key = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values(p="a")}
    for members in (
        {"Select": "ALL_PROJECTED_ATTRIBUTES"},
        {"Select": "SPECIFIC_ATTRIBUTES"},
        {"Select": "COUNT", "ProjectionExpression": "x"},
    ):
        message = refusal(shop, "Scan", **members).message
        assert refusal(shop, "Query", **key, **members).message == f"1 validation error detected: {message}"
        assert "validation error" not in message


EXISTS = {"ComparisonOperator": "NOT_NULL"}
PARTITION = {"pk": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "a"}]}}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"KeyConditions": dict.fromkeys("abc", EXISTS)}, "Conditions can be of length 1 or 2 only"),
        ({"TableName": "absent", "KeyConditions": {"z": EXISTS}}, "Requested resource not found"),
        (
            {"IndexName": "absent", "ExclusiveStartKey": {}, "KeyConditions": {"z": EXISTS}},
            "The table does not have the specified index: absent",
        ),
        ({"ExclusiveStartKey": {}, "KeyConditions": {"z": EXISTS}}, "The provided starting key is invalid"),
        ({"KeyConditions": {"z": EXISTS}}, "Query condition missed key schema element: pk"),
        ({"KeyConditions": {**PARTITION, "z": EXISTS}}, "Query condition missed key schema element: sk"),
        (
            {"KeyConditions": {**PARTITION, "sk": EXISTS}},
            "Attempted conditional constraint is not an indexable operation",
        ),
        ({"KeyConditions": {"pk": EXISTS}}, "Attempted conditional constraint is not an indexable operation"),
    ],
)
def test_operators_that_keys_do_not_have_are_reported_last(shop: Ask, members: dict[str, Any], message: str) -> None:
    assert refusal(shop, "Query", **members).message == message


def test_filter_of_a_query_is_checked_before_select(shop: Ask) -> None:
    city = {"city": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "x"}]}}
    read = {"IndexName": "by-city", "KeyConditions": city, "Select": "ALL_ATTRIBUTES"}
    assert "Select type ALL_ATTRIBUTES" in refusal(shop, "Query", **read).message
    assert "Primary key attribute: city" in refusal(shop, "Query", **read, QueryFilter=city).message


def test_key_of_a_read_is_checked_before_its_attributes(shop: Ask) -> None:
    key = {"pk": {"SS": []}}
    assert "may not be empty" in refusal(shop, "GetItem", Key=key, AttributesToGet=["a", "a"]).message


def test_all_that_is_wrong_with_a_name_is_reported(ask: Ask) -> None:
    found = refusal(ask, "ListTables", ExclusiveStartTableName="a;").message
    where = "Value 'a;' at 'exclusiveStartTableName' failed to satisfy constraint: Member must"
    assert found == (
        f"2 validation errors detected: {where} satisfy regular expression pattern: [a-zA-Z0-9_.-]+; "
        f"{where} have length greater than or equal to 3"
    )
