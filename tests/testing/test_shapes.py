"""The fast serializer equals botocore's own, for all parameters and responses."""

from __future__ import annotations

import base64
import copy
import json
from functools import cache
from typing import Any

import botocore.session
import msgspec
import pytest
from botocore.validate import ParamValidator
from hypothesis import given
from hypothesis import strategies as st

from prejoin.testing.botocore_shapes import binary_reader, plainly_valid

OPERATIONS = [
    "GetItem",
    "PutItem",
    "UpdateItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactWriteItems",
]


@cache
def client() -> Any:
    session = botocore.session.get_session()
    return session.create_client("dynamodb", region_name="eu-west-1", aws_access_key_id="a", aws_secret_access_key="b")


def model(operation: str) -> Any:
    return client().meta.service_model.operation_model(operation)


RIGHT = st.recursive(
    st.one_of(
        st.fixed_dictionaries({"S": st.text(st.characters(exclude_categories=["Cs"]), max_size=3)}),
        st.fixed_dictionaries({"N": st.sampled_from(["1", "2.5"])}),
        st.fixed_dictionaries({"B": st.binary(max_size=3)}),
        st.fixed_dictionaries({"BS": st.lists(st.binary(max_size=3), max_size=2)}),
        st.fixed_dictionaries({"SS": st.lists(st.text("ab", max_size=2), max_size=2)}),
        st.fixed_dictionaries({"BOOL": st.booleans()}),
        st.just({"NULL": True}),
    ),
    lambda values: st.one_of(
        st.fixed_dictionaries({"L": st.lists(values, max_size=3)}),
        st.fixed_dictionaries({"M": st.dictionaries(st.sampled_from(["a", "B", "BS", "M"]), values, max_size=3)}),
    ),
    max_leaves=6,
)
ITEMS = st.dictionaries(st.sampled_from(["pk", "B", "x"]), RIGHT, max_size=3)
ANY = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.text("aBS", max_size=2), st.binary(max_size=2), RIGHT),
    lambda values: st.one_of(
        st.lists(values, max_size=2),
        st.dictionaries(
            st.sampled_from(["S", "N", "B", "BS", "L", "M", "BOOL", "TableName", "Item", "Keys", "Put", "x"]),
            values,
            max_size=2,
        ),
    ),
    max_leaves=6,
)
PARAMS = st.dictionaries(
    st.sampled_from(
        ["TableName", "Key", "Item", "Limit", "ConsistentRead", "RequestItems", "TransactItems", "Select", "Unknown"]
    ),
    st.one_of(ANY, ITEMS, st.just("shop"), st.dictionaries(st.just("shop"), ANY, max_size=1)),
    max_size=4,
)


@pytest.mark.parametrize("operation", OPERATIONS)
@given(params=PARAMS)
def test_plainly_valid_parameters_match_botocore(operation: str, params: dict[str, Any]) -> None:
    shape = model(operation).input_shape
    if not plainly_valid(shape)(params):
        return
    assert not ParamValidator().validate(params, shape).has_errors()
    theirs = client()._serializer.serialize_to_request(copy.deepcopy(params), model(operation))["body"]
    assert json.loads(msgspec.json.encode(params)) == json.loads(theirs)


@given(item=ITEMS.filter(bool), limit=st.integers(1, 9))
def test_ordinary_parameters_are_plainly_valid(item: dict[str, Any], limit: int) -> None:
    valid = plainly_valid(model("PutItem").input_shape)
    assert valid({"TableName": "shop", "Item": item, "ConditionExpression": "attribute_exists(pk)"})
    assert plainly_valid(model("Query").input_shape)({"TableName": "shop", "Limit": limit, "ExclusiveStartKey": item})
    transaction = {"TransactItems": [{"Put": {"TableName": "shop", "Item": item}}]}
    assert plainly_valid(model("TransactWriteItems").input_shape)(transaction)


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: _as_json(inner) for name, inner in value.items()}
    return [_as_json(inner) for inner in value] if isinstance(value, list) else value


@given(items=st.lists(ITEMS, max_size=3))
def test_binary_values_are_read_like_botocore(items: list[dict[str, Any]]) -> None:
    answers = {
        "Query": {"Items": items, "Count": len(items)},
        "GetItem": {"Item": items[0] if items else {}},
        "BatchGetItem": {"Responses": {"B": items}, "UnprocessedKeys": {}},
        "TransactGetItems": {"Responses": [{"Item": item} for item in items]},
    }
    for operation, answer in answers.items():
        body = json.dumps(_as_json(answer)).encode()
        shape = model(operation).output_shape
        theirs = client()._response_parser.parse({"headers": {}, "status_code": 200, "body": body}, shape)
        del theirs["ResponseMetadata"]
        read = binary_reader(shape)
        assert read is not None
        assert read(json.loads(body)) == theirs == answer


def test_responses_without_binary_need_no_reading() -> None:
    assert binary_reader(model("ListTables").output_shape) is None
