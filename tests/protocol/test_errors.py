"""Errors: to the JSON body and back."""

from __future__ import annotations

import json
import pickle

from hypothesis import given
from hypothesis import strategies as st

from prejoin.protocol.errors import DynamoDBError, condition_failed


def test_error_round_trips_through_body() -> None:
    error = DynamoDBError(
        "TransactionCanceledException", "cancelled", fields={"CancellationReasons": [{"Code": "None"}]}
    )
    back = DynamoDBError.from_body(error.body(), error.status)
    assert (back.code, back.message, back.status, back.fields) == (
        error.code,
        error.message,
        400,
        {"CancellationReasons": [{"Code": "None"}]},
    )


def test_the_body_names_the_type_as_aws_does() -> None:
    body = json.loads(DynamoDBError("ValidationException", "no").body())
    assert body == {"__type": "com.amazon.coral.validate#ValidationException", "message": "no"}


def test_a_failed_condition_carries_the_item_only_when_given_one() -> None:
    assert condition_failed().fields == {}
    assert condition_failed({"pk": {"S": "a"}}).fields == {"Item": {"pk": {"S": "a"}}}


def test_an_internal_error_is_the_servers_fault() -> None:
    assert DynamoDBError("InternalServerError", "x").status == 500


def test_an_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(DynamoDBError("ValidationException", "no", fields={"a": 1})))
    assert (error.code, error.message, error.fields) == ("ValidationException", "no", {"a": 1})


@given(st.binary(), st.sampled_from([400, 500, 503]))
def test_any_body_gives_an_error(body: bytes, status: int) -> None:
    assert DynamoDBError.from_body(body, status).status == status
