"""The parameters from before expressions: Expected, AttributeUpdates, KeyConditions, filters and AttributesToGet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prejoin.engine import Embedded

from .conftest import SHOP, Ask, item, refusal, send, value, values

KEY = item(pk="a", sk="1")
WHOLE = item(pk="a", sk="1", n=5, s="hello", l={"L": [{"N": "1"}]}, ss={"SS": ["x"]}, none={"NULL": True})
INVALID = "One or more parameter values were invalid: "
OPERATORS = "IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, NE, LE, BEGINS_WITH, GE, CONTAINS"


def compared(operator: str, *operands: Any) -> dict[str, Any]:
    return {"ComparisonOperator": operator, "AttributeValueList": list(map(value, operands))}


@pytest.fixture
def filled(shop: Ask) -> Ask:
    shop("PutItem", Item=WHOLE)
    return shop


HOLDS: list[tuple[dict[str, Any], bool]] = [
    ({"n": {"Value": value(5)}}, True),
    ({"n": {"Value": value(5), "Exists": True}}, True),
    ({"n": {"Value": value("5")}}, False),
    ({"n": {"Exists": False}}, False),
    ({"other": {"Exists": False}}, True),
    ({"n": {"ComparisonOperator": "EQ", "Value": value(5)}}, True),
    ({"n": compared("EQ", 5)}, True),
    ({"ss": compared("EQ", {"SS": ["x"]})}, True),
    ({"n": compared("NE", 5)}, False),
    ({"n": compared("NE", "5")}, True),
    ({"other": compared("NE", 5)}, True),
    ({"n": compared("LT", 5)}, False),
    ({"n": compared("LE", 5)}, True),
    ({"n": compared("GT", 4)}, True),
    ({"n": compared("GE", "4")}, False),
    ({"none": compared("NOT_NULL")}, True),
    ({"none": compared("NULL")}, False),
    ({"other": {"ComparisonOperator": "NULL"}}, True),
    ({"s": compared("BEGINS_WITH", "hel")}, True),
    ({"s": compared("CONTAINS", "ell")}, True),
    ({"l": compared("CONTAINS", 1)}, True),
    ({"ss": compared("CONTAINS", "x")}, True),
    ({"ss": compared("NOT_CONTAINS", "y")}, True),
    ({"n": compared("NOT_CONTAINS", 5)}, True),
    ({"other": compared("NOT_CONTAINS", 5)}, False),
    ({"n": compared("IN", 4, 5)}, True),
    ({"n": compared("BETWEEN", 5, 6)}, True),
    ({"n": compared("BETWEEN", 6, 7)}, False),
    ({"n": compared("EQ", 5), "s": compared("EQ", "no")}, False),
    ({}, True),
]


@pytest.mark.parametrize(("expected", "holds"), HOLDS)
def test_expected_is_a_condition_of_every_write(filled: Ask, expected: dict[str, Any], holds: bool) -> None:
    writes: list[tuple[str, dict[str, Any]]] = [
        ("UpdateItem", {"Key": KEY, "AttributeUpdates": {"z": {"Value": value(1)}}}),
        ("PutItem", {"Item": WHOLE}),
        ("DeleteItem", {"Key": KEY}),
    ]
    for operation, members in writes:
        if holds:
            filled(operation, **members, Expected=expected)
        else:
            error = refusal(
                filled, operation, **members, Expected=expected, ReturnValuesOnConditionCheckFailure="ALL_OLD"
            )
            assert error.code == "ConditionalCheckFailedException"
            assert error.fields == {"Item": WHOLE}


def test_conditional_operator_joins_two_or_more_conditions(filled: Ask) -> None:
    two = {"n": compared("EQ", 5), "s": compared("EQ", "no")}
    filled("PutItem", Item=WHOLE, Expected=two, ConditionalOperator="OR")
    assert refusal(filled, "PutItem", Item=WHOLE, Expected=two, ConditionalOperator="AND").code == (
        "ConditionalCheckFailedException"
    )
    for members in ({}, {"Expected": {}}):
        assert refusal(filled, "PutItem", Item=WHOLE, ConditionalOperator="OR", **members).message == (
            "ConditionalOperator cannot be used without Filter or Expected"
        )
    one = {"n": compared("EQ", 5)}
    assert refusal(filled, "PutItem", Item=WHOLE, Expected=one, ConditionalOperator="AND").message == (
        "ConditionalOperator can only be used when Filter or Expected has two or more elements"
    )
    assert refusal(filled, "Scan", ScanFilter=two, ConditionalOperator="XOR").message == (
        "1 validation error detected: Value 'XOR' at 'conditionalOperator' failed to satisfy constraint: "
        "Member must satisfy enum value set: [OR, AND]"
    )


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({}, INVALID + "Value must be provided when Exists is null for Attribute: n"),
        ({"Exists": True}, INVALID + "Value must be provided when Exists is true for Attribute: n"),
        (
            {"Exists": False, "Value": value(5)},
            INVALID + "Value cannot be used when Exists is false for Attribute: n",
        ),
        (
            {"Value": value(5), "AttributeValueList": [value(5)]},
            INVALID + "Value and AttributeValueList cannot be used together for Attribute: n",
        ),
        (
            {"Exists": True, "ComparisonOperator": "EQ", "Value": value(5)},
            INVALID + "Exists and ComparisonOperator cannot be used together for Attribute: n",
        ),
        (
            {"ComparisonOperator": "EQ"},
            INVALID + "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: n",
        ),
        (
            {"AttributeValueList": [value(5)]},
            INVALID + "AttributeValueList can only be used with a ComparisonOperator for Attribute: n",
        ),
        (compared("EQ"), INVALID + "Invalid number of argument(s) for the EQ ComparisonOperator"),
        (compared("NULL", 5), INVALID + "Invalid number of argument(s) for the NULL ComparisonOperator"),
        (compared("BETWEEN", 5), INVALID + "Invalid number of argument(s) for the BETWEEN ComparisonOperator"),
        (compared("IN"), INVALID + "Invalid number of argument(s) for the IN ComparisonOperator"),
        (compared("IN", 5, "5"), INVALID + "AttributeValues inside AttributeValueList must be of same type"),
        (
            compared("LT", {"L": []}),
            INVALID + "ComparisonOperator LT is not valid for L AttributeValue type",
        ),
        (compared("BEGINS_WITH", 5), INVALID + "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
        (
            compared("BETWEEN", 6, 5),
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
        ),
        (compared("EQ", {"N": "x"}), "The parameter cannot be converted to a numeric value: x"),
        (
            compared("LIKE", 5),
            "1 validation error detected: Value 'LIKE' at 'expected.n.member.comparisonOperator' failed to satisfy "
            f"constraint: Member must satisfy enum value set: [{OPERATORS}]",
        ),
    ],
)
def test_invalid_expected_is_refused(filled: Ask, expected: dict[str, Any], message: str) -> None:
    assert refusal(filled, "PutItem", Item=WHOLE, Expected={"n": expected}).message == message


def test_attribute_updates_put_add_and_delete(filled: Ask) -> None:
    def update(**updates: Any) -> Any:
        return filled("UpdateItem", Key=KEY, AttributeUpdates=updates, ReturnValues="UPDATED_NEW").get("Attributes")

    assert update(s={"Value": value("new")}) == item(s="new")
    assert update(**{"a.b": {"Action": "PUT", "Value": value(1)}}) == {"a.b": value(1)}
    assert update(n={"Action": "ADD", "Value": value(2)}) == item(n=7)
    assert update(m={"Action": "ADD", "Value": value(2)}) == item(m=2)
    assert update(l={"Action": "ADD", "Value": {"L": [value("x")]}}) == {"l": {"L": [value(1), value("x")]}}
    assert update(ss={"Action": "ADD", "Value": {"SS": ["y"]}}) == {"ss": {"SS": ["x", "y"]}}
    assert update(ss={"Action": "DELETE", "Value": {"SS": ["x"]}}) == {"ss": {"SS": ["y"]}}
    assert update(ss={"Action": "DELETE"}, other={"Action": "DELETE"}) is None
    assert "ss" not in filled("GetItem", Key=KEY)["Item"]


def test_attribute_updates_that_only_delete_create_no_item(shop: Ask) -> None:
    shop("UpdateItem", Key=KEY, AttributeUpdates={"z": {"Action": "DELETE"}})
    assert shop("GetItem", Key=KEY) == {}
    shop("UpdateItem", Key=KEY, AttributeUpdates={})
    assert shop("GetItem", Key=KEY) == {"Item": KEY}


@pytest.mark.parametrize(
    ("updates", "message"),
    [
        ({"n": {}}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        ({"n": {"Action": "ADD"}}, INVALID + "Only DELETE action is allowed when no attribute value is specified"),
        (
            {"n": {"Action": "DELETE", "Value": value(5)}},
            INVALID + "DELETE action with value is not supported for the type N",
        ),
        ({"s": {"Action": "ADD", "Value": value("x")}}, INVALID + "ADD action is not supported for the type S"),
        ({"s": {"Action": "ADD", "Value": value(1)}}, "Type mismatch for attribute to update"),
        ({"n": {"Action": "DELETE", "Value": {"SS": ["x"]}}}, "Type mismatch for attribute to update"),
        (
            {"pk": {"Value": value("b")}},
            INVALID + "Cannot update attribute pk. This attribute is part of the key",
        ),
        (
            {"g1pk": {"Value": value(1)}},
            INVALID + "Type mismatch for Index Key g1pk Expected: S Actual: N IndexName: gsi1",
        ),
        ({"": {"Value": value(1)}}, "Empty attribute name"),
        (
            {"n": {"Action": "SET", "Value": value(1)}},
            "1 validation error detected: Value 'SET' at 'attributeUpdates.n.member.action' failed to satisfy "
            "constraint: Member must satisfy enum value set: [ADD, PUT, DELETE]",
        ),
    ],
)
def test_invalid_attribute_updates_are_refused(filled: Ask, updates: dict[str, Any], message: str) -> None:
    assert refusal(filled, "UpdateItem", Key=KEY, AttributeUpdates=updates).message == message
    assert filled("GetItem", Key=KEY)["Item"] == WHOLE


@pytest.fixture
def partition(shop: Ask) -> Ask:
    for number in range(5):
        shop("PutItem", Item=item(pk="a", sk=str(number), n=number))
    shop("PutItem", Item=item(pk="b", sk="0", n=0))
    return shop


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ({}, "01234"),
        ({"sk": compared("EQ", "2")}, "2"),
        ({"sk": compared("LT", "2")}, "01"),
        ({"sk": compared("LE", "2")}, "012"),
        ({"sk": compared("GT", "2")}, "34"),
        ({"sk": compared("GE", "2")}, "234"),
        ({"sk": compared("BETWEEN", "1", "3")}, "123"),
        ({"sk": compared("BEGINS_WITH", "4")}, "4"),
    ],
)
def test_key_conditions_select_a_range(partition: Ask, condition: dict[str, Any], found: str) -> None:
    answer = partition("Query", KeyConditions={"pk": compared("EQ", "a"), **condition}, AttributesToGet=["sk"])
    assert answer["Items"] == [item(sk=key) for key in found]


def test_filters_and_key_conditions_work_together_with_expressions(partition: Ask) -> None:
    keys = {"pk": compared("EQ", "a")}
    old = partition("Query", KeyConditions=keys, QueryFilter={"n": compared("GT", 2)})
    new = partition(
        "Query", KeyConditions=keys, FilterExpression="n > :n", ExpressionAttributeValues=values(n=2), Limit=9
    )
    assert old == new
    assert (old["Count"], old["ScannedCount"]) == (2, 5)
    assert partition("Query", KeyConditions=keys, ProjectionExpression="n")["Items"][1] == item(n=1)
    assert partition("Scan", ScanFilter={"pk": compared("EQ", "b")}, AttributesToGet=["n"])["Items"] == [item(n=0)]
    joined = {"n": compared("EQ", 0), "sk": compared("EQ", "4")}
    assert partition("Scan", ScanFilter=joined, ConditionalOperator="OR")["Count"] == 3


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({}, "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."),
        ({"KeyConditions": {}}, "Conditions can be of length 1 or 2 only"),
        ({"KeyConditions": {"pk": compared("LT", "a")}}, "Query key condition not supported"),
        ({"KeyConditions": {"sk": compared("EQ", "a")}}, "Query condition missed key schema element: pk"),
        (
            {"KeyConditions": {"pk": compared("EQ", "a"), "sk": compared("CONTAINS", "a")}},
            "Attempted conditional constraint is not an indexable operation",
        ),
        (
            {"KeyConditions": {"pk": compared("EQ", "a"), "sk": compared("NULL")}},
            "Attempted conditional constraint is not an indexable operation",
        ),
        (
            {"KeyConditions": {"pk": compared("EQ", 1)}},
            INVALID + "Condition parameter type does not match schema type",
        ),
        (
            {"KeyConditions": {"pk": {"AttributeValueList": [value("a")]}}},
            "1 validation error detected: Value null at 'keyConditions.pk.member.comparisonOperator' failed to satisfy "
            "constraint: Member must not be null",
        ),
        (
            {"KeyConditions": {"pk": compared("EQ", "a")}, "QueryFilter": {"sk": compared("EQ", "a")}},
            "QueryFilter can only contain non-primary key attributes: Primary key attribute: sk",
        ),
        (
            {"KeyConditions": {"pk": compared("EQ", "a")}, "AttributesToGet": ["n"], "Select": "COUNT"},
            "1 validation error detected: Cannot specify the AttributesToGet when choosing to get only the Count",
        ),
        (
            {"KeyConditions": {"pk": compared("EQ", "a")}, "AttributesToGet": ["n", "n"]},
            INVALID + "Duplicate value in attribute name: n",
        ),
        (
            {"KeyConditions": {"pk": compared("EQ", "a")}, "AttributesToGet": []},
            "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: "
            "Member must have length greater than or equal to 1",
        ),
    ],
)
def test_invalid_legacy_queries_are_refused(partition: Ask, members: dict[str, Any], message: str) -> None:
    assert refusal(partition, "Query", **members).message == message


@pytest.mark.parametrize(
    ("operation", "members", "old", "new"),
    [
        ("PutItem", {"Item": WHOLE, "Expected": {}}, "Expected", "ConditionExpression"),
        ("UpdateItem", {"Key": KEY, "AttributeUpdates": {}}, "AttributeUpdates", "UpdateExpression"),
        ("UpdateItem", {"Key": KEY, "Expected": {}}, "Expected", "UpdateExpression"),
        ("DeleteItem", {"Key": KEY, "ConditionalOperator": "OR"}, "ConditionalOperator", "ConditionExpression"),
        ("GetItem", {"Key": KEY, "AttributesToGet": ["n"]}, "AttributesToGet", "ProjectionExpression"),
        ("Query", {"KeyConditions": {}}, "KeyConditions", "KeyConditionExpression"),
        ("Query", {"QueryFilter": {}}, "QueryFilter", "KeyConditionExpression"),
        ("Scan", {"AttributesToGet": ["n"]}, "AttributesToGet", "FilterExpression"),
    ],
)
def test_expressions_do_not_mix_with_legacy_parameters(
    shop: Ask, operation: str, members: dict[str, Any], old: str, new: str
) -> None:
    error = refusal(shop, operation, **members, **{new: "a"})
    assert error.message == (
        "Can not use both expression and non-expression parameters in the same request: "
        f"Non-expression parameters: {{{old}}} Expression parameters: {{{new}}}"
    )


def test_attributes_to_get_are_names_and_never_paths(filled: Ask) -> None:
    assert filled("GetItem", Key=KEY, AttributesToGet=["s", "l[0]"])["Item"] == item(s="hello")
    wish = {"shop": {"Keys": [KEY], "AttributesToGet": ["n"]}}
    assert filled("BatchGetItem", RequestItems=wish)["Responses"]["shop"] == [item(n=5)]


def test_transactions_have_no_legacy_parameters(filled: Ask) -> None:
    """AWS ignores members that are not in its model, as `Expected` in an action."""
    action = {"TableName": "shop", "Item": WHOLE, "Expected": {"n": {"Exists": False}}}
    filled("TransactWriteItems", TransactItems=[{"Put": {**action, "Item": {**WHOLE, "n": {"N": "9"}}}}])
    assert filled("GetItem", Key=KEY)["Item"]["n"] == {"N": "9"}  # the condition was false of the stored item


_VALUES = st.one_of(
    st.integers(0, 3).map(value),
    st.sampled_from(["", "a", "ab", "b"]).map(value),
    st.just({"SS": ["a", "b"]}),
    st.just({"L": [{"S": "a"}]}),
)
_AS_EXPRESSION = {
    "EQ": "a = :x",
    "NE": "a <> :x",
    "LT": "a < :x",
    "LE": "a <= :x",
    "GT": "a > :x",
    "GE": "a >= :x",
    "CONTAINS": "contains(a, :x)",
    "NOT_CONTAINS": "attribute_exists(a) AND NOT contains(a, :x)",
    "BEGINS_WITH": "begins_with(a, :x)",
}


@given(st.sampled_from(sorted(_AS_EXPRESSION)), st.sampled_from([0, 1, 2]), st.sampled_from(["a", "ab"]), _VALUES)
def test_filter_finds_what_its_expression_finds(operator: str, number: int, text: str, stored: dict[str, Any]) -> None:
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        send(dynamodb, "PutItem", Item={**KEY, "a": stored})
        send(dynamodb, "PutItem", Item=item(pk="b", sk="1"))
        operands = [value(text)] if operator == "BEGINS_WITH" else [value(text), value(number)]
        for operand in operands:
            old = send(dynamodb, "Scan", ScanFilter={"a": compared(operator, operand)})
            new = send(
                dynamodb,
                "Scan",
                FilterExpression=_AS_EXPRESSION[operator],
                ExpressionAttributeValues={":x": operand},
            )
            assert old == new
