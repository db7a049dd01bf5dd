"""The two stores, asked the same: whatever is written, in memory and in a file everything is answered alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.place import examples

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP, item, values

Request = tuple[str, dict[str, Any]]

keys = st.builds(lambda pk, sk: item(pk=pk, sk=sk), st.sampled_from("ab"), st.sampled_from(["1", "2", "é", "z"]))
attributes = st.fixed_dictionaries(
    {},
    optional={
        "g1pk": st.sampled_from("xy"),
        "g1sk": st.integers(-2, 2),
        "city": st.sampled_from(["Bern", "Basel"]),
        "rank": st.integers(0, 2),
        "other": st.integers(0, 3),
        "large": st.sampled_from([1, 1000, 250_000]).map("x".__mul__),
    },
).map(lambda found: item(**found))
items = st.builds(lambda key, more: {**key, **more}, keys, attributes)
conditions = st.sampled_from([None, "attribute_exists(pk)", "attribute_not_exists(pk)", "size(city) > size(pk)"])


def action(kind: str, content: dict[str, Any], condition: str | None) -> dict[str, Any]:
    return {kind: {"TableName": "shop", **content, **({"ConditionExpression": condition} if condition else {})}}


puts = st.builds(lambda whole, condition: action("Put", {"Item": whole}, condition), items, conditions)
deletes = st.builds(lambda key, condition: action("Delete", {"Key": key}, condition), keys, conditions)
updates = st.builds(
    lambda key, text, condition: action(
        "Update", {"Key": key, "UpdateExpression": text, "ExpressionAttributeValues": values(v=1)}, condition
    ),
    keys,
    st.sampled_from(["ADD #r :v REMOVE city", "SET #r = :v", "SET #o = :v REMOVE g1pk"]).map(
        lambda text: text.replace("#r", "g1sk").replace("#o", "other")
    ),
    conditions,
)
actions = puts | deletes | updates


def alone(one: dict[str, Any]) -> Request:
    ((kind, content),) = one.items()
    return f"{kind}Item", {**content, "ReturnConsumedCapacity": "INDEXES"}


def together(some: list[dict[str, Any]], token: str | None) -> Request:
    body: dict[str, Any] = {"TransactItems": some, "ReturnConsumedCapacity": "INDEXES"}
    return "TransactWriteItems", {**body, "ClientRequestToken": token} if token else body


def batch(some: list[dict[str, Any]]) -> Request:
    return "BatchWriteItem", {"RequestItems": {"shop": [{"PutRequest": {"Item": whole}} for whole in some]}}


requests: st.SearchStrategy[Request] = st.one_of(
    actions.map(alone),
    st.builds(together, st.lists(actions, min_size=1, max_size=3), st.sampled_from([None, "one", "two"])),
    st.lists(items, min_size=1, max_size=3).map(batch),
    st.just(("UpdateTable", {"GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "gsi1"}}]})),
    st.just(("DeleteTable", {})),
    st.just(("CreateTable", SHOP)),
    st.booleans().map(
        lambda on: ("UpdateTimeToLive", {"TimeToLiveSpecification": {"AttributeName": "other", "Enabled": on}})
    ),
)


def questions() -> Iterator[Request]:
    yield "ListTables", {"TableName": None}
    for index in (None, "gsi1", "by-city", "by-rank"):
        for limit in (None, 2):
            yield "Scan", {"IndexName": index, "Limit": limit, "ReturnConsumedCapacity": "INDEXES"}
        yield "Scan", {"IndexName": index, "Segment": 1, "TotalSegments": 3, "Select": "COUNT"}
    for text in (
        "pk = :p",
        "pk = :p AND sk > :s",
        "pk = :p AND sk BETWEEN :s AND :s",
        "pk = :p AND begins_with(sk, :s)",
    ):
        for forward in (True, False):
            sought = values(p="a", s="2") if ":s" in text else values(p="a")
            yield (
                "Query",
                {
                    "KeyConditionExpression": text,
                    "ExpressionAttributeValues": sought,
                    "ScanIndexForward": forward,
                    "Limit": 3,
                },
            )


class Both:
    """One engine of each kind, and what both answer."""

    def __init__(self, folder: str) -> None:
        self.engines = (Embedded(), Embedded(Path(folder) / "shop.db"))

    def ask(self, operation: str, body: dict[str, Any]) -> None:
        sent = json.dumps({"TableName": "shop", **body}).encode()
        one, other = (self.answered(engine, operation, sent) for engine in self.engines)
        assert one == other

    @staticmethod
    def answered(engine: Embedded, operation: str, body: bytes) -> Any:
        try:
            answer = json.loads(engine.send(operation, body))
        except DynamoDBError as error:
            return error.code, error.message, error.fields
        for member in ("CreationDateTime", "TableId", "BillingModeSummary"):  # times and ids are each engine's own
            answer.get("TableDescription", {}).pop(member, None)
        return answer

    def expire(self, now: int) -> None:
        one, other = (engine.expire(now) for engine in self.engines)
        assert one == other

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


@settings(max_examples=examples(25), deadline=None)
@given(asked=st.lists(requests | st.integers(0, 3), max_size=20))
def test_both_stores_respond_alike(asked: list[Request | int]) -> None:
    with TemporaryDirectory() as folder:
        both = Both(folder)
        both.ask("CreateTable", SHOP)
        for one in asked:
            if isinstance(one, int):
                both.expire(one)
            else:
                both.ask(*one)
        for question in questions():
            both.ask(*question)
        both.close()
