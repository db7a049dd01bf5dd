"""BatchGetItem and BatchWriteItem."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Ask, item, refusal


def test_a_batch_puts_and_deletes(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="old"))
    answer = shop(
        "BatchWriteItem",
        RequestItems={
            "shop": [
                {"PutRequest": {"Item": item(pk="a", sk="new", city="Bern")}},
                {"DeleteRequest": {"Key": item(pk="a", sk="old")}},
            ]
        },
    )
    assert answer == {"UnprocessedItems": {}}
    assert shop("Scan")["Items"] == [item(pk="a", sk="new", city="Bern")]
    assert shop("Scan", IndexName="by-city")["Count"] == 1


def test_a_batch_gets_what_is_there(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", n=1))
    keys = [item(pk="a", sk="1"), item(pk="a", sk="2")]
    answer = shop("BatchGetItem", RequestItems={"shop": {"Keys": keys}})
    assert answer == {"Responses": {"shop": [item(pk="a", sk="1", n=1)]}, "UnprocessedKeys": {}}


def test_a_batch_that_would_exceed_16_mb_returns_the_rest_unprocessed(shop: Ask) -> None:
    keys = [item(pk="a", sk=f"{number:02}") for number in range(50)]
    for key in keys:
        shop("PutItem", Item={**key, "big": {"S": "x" * 380_000}})
    answer = shop("BatchGetItem", RequestItems={"shop": {"Keys": keys, "ConsistentRead": True}})
    left = answer["UnprocessedKeys"]["shop"]
    assert len(answer["Responses"]["shop"]) + len(left["Keys"]) == 50
    assert left["ConsistentRead"] is True
    assert left["Keys"] == keys[len(answer["Responses"]["shop"]) :]


def test_one_item_twice_in_a_batch_is_refused(shop: Ask) -> None:
    key = item(pk="a", sk="1")
    requests = [{"PutRequest": {"Item": key}}, {"DeleteRequest": {"Key": key}}]
    for operation, members in (("BatchWriteItem", requests), ("BatchGetItem", {"Keys": [key, key]})):
        error = refusal(shop, operation, RequestItems={"shop": members})
        assert error.message == "Provided list of item keys contains duplicates"
    assert shop("Scan")["Count"] == 0


@pytest.mark.parametrize("wrong", [item(pk="a"), item(pk="a", sk=1), item(sk="a"), item(pk={"L": []}, sk="a")])
def test_batch_reports_wrong_keys_as_mismatch(shop: Ask, wrong: dict[str, Any]) -> None:
    for request in ({"PutRequest": {"Item": {**wrong, "n": {"N": "1"}}}}, {"DeleteRequest": {"Key": wrong}}):
        error = refusal(shop, "BatchWriteItem", RequestItems={"shop": [request]})
        assert error.message == "The provided key element does not match the schema"


def test_a_batch_says_what_is_wrong_with_an_item_whose_key_is_right(shop: Ask) -> None:
    for wrong, complaint in (
        (item(pk="a", sk=""), "cannot contain an empty string value. Key: sk"),
        (item(pk="a", sk="s", city=1), "Type mismatch for Index Key city Expected: S Actual: N IndexName: by-city"),
    ):
        error = refusal(shop, "BatchWriteItem", RequestItems={"shop": [{"PutRequest": {"Item": wrong}}]})
        assert error.message.endswith(complaint)


def test_a_batch_has_limits(shop: Ask) -> None:
    keys = [item(pk="a", sk=f"{number}") for number in range(101)]
    error = refusal(shop, "BatchGetItem", RequestItems={"shop": {"Keys": keys}})
    assert error.message == (
        "1 validation error detected: Value at 'RequestItems.shop.member.Keys' failed to satisfy constraint: "
        "Member must have length less than or equal to 100"
    )
    puts = [{"PutRequest": {"Item": key}} for key in keys[:26]]
    error = refusal(shop, "BatchWriteItem", RequestItems={"shop": puts})
    assert "Member must have length less than or equal to 25" in error.message
    error = refusal(shop, "BatchWriteItem", RequestItems={})
    assert error.message == "The requestItems parameter is required for BatchWriteItem"
    error = refusal(shop, "BatchGetItem", RequestItems={"shop": {"Keys": []}})
    assert error.message == (
        "1 validation error detected: Value at 'RequestItems.shop.member.Keys' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1"
    )
    error = refusal(shop, "BatchWriteItem", RequestItems={"shop": []})
    assert error.message == (
        "1 validation error detected: Value '{shop=[]}' at 'requestItems' failed to satisfy constraint: Map value must "
        "satisfy constraint: [Member must have length less than or equal to 25, Member must have length greater than "
        "or equal to 1]"
    )


NAMES = (
    "at 'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: [Member must have length less "
    "than or equal to 255, Member must have length greater than or equal to 3, Member must satisfy regular expression "
    "pattern: [a-zA-Z0-9_.-]+]"
)
CAPACITY = (
    "Value 'X' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: "
    "[INDEXES, TOTAL, NONE]"
)


@pytest.mark.parametrize("name", ["a b", "ab", ""])
def test_batch_error_repeats_request_in_java_notation(shop: Ask, name: str) -> None:
    wish = {name: {"Keys": [item(pk="a", sk="1")]}}
    shown = f'Value \'{{"{name}":{{"Keys":[{{"pk":{{"S":"a"}},"sk":{{"S":"1"}}}}]}}}}\' {NAMES}'
    error = refusal(shop, "BatchGetItem", RequestItems=wish)
    assert error.message == f"1 validation error detected: {shown}"
    error = refusal(shop, "BatchGetItem", RequestItems=wish, ReturnConsumedCapacity="X")
    assert error.message == f"2 validation errors detected: {shown}; {CAPACITY}"
    requests = [{"PutRequest": {"Item": item(pk="a")}}, {"DeleteRequest": {"Key": item(pk="b")}}]
    error = refusal(shop, "BatchWriteItem", RequestItems={name: requests})
    assert error.message == (
        f"1 validation error detected: Value '{{{name}=[WriteRequest(putRequest=PutRequest("
        "item={pk=AttributeValue(S=a)})), WriteRequest(deleteRequest=DeleteRequest(key={pk=AttributeValue(S=b)}))]}' "
        f"{NAMES}"
    )
    error = refusal(shop, "BatchWriteItem", RequestItems={name: requests}, ReturnConsumedCapacity="X")
    assert error.message == f"1 validation error detected: {CAPACITY}"


def test_a_batch_with_one_wrong_request_writes_nothing(shop: Ask) -> None:
    requests = [{"PutRequest": {"Item": item(pk="a", sk="1")}}, {"PutRequest": {"Item": item(pk="a")}}]
    assert refusal(shop, "BatchWriteItem", RequestItems={"shop": requests}).code == "ValidationException"
    assert shop("Scan")["Count"] == 0


def test_missing_table_is_not_found(shop: Ask) -> None:
    for operation, members in (
        ("BatchWriteItem", [{"PutRequest": {"Item": item(pk="a", sk="1")}}]),
        ("BatchGetItem", {"Keys": [item(pk="a", sk="1")]}),
    ):
        error = refusal(shop, operation, RequestItems={"nowhere": members})
        assert error.code == "ResourceNotFoundException"
