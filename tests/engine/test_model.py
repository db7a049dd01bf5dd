"""The engine against a small model: after any writes, table and indexes hold exactly what the model holds."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.place import examples

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError

from .conftest import SHOP, item, key_schema, values

Key = tuple[str, str]
pks, sks = st.sampled_from(["a", "b"]), st.sampled_from(["1", "10", "2", "é"])
attributes = st.fixed_dictionaries(
    {},
    optional={
        "g1pk": st.sampled_from(["x", "y"]),
        "g1sk": st.sampled_from([-2, -1, 0, 3]),
        "city": st.sampled_from(["Bern", "Basel"]),
        "rank": st.integers(0, 2),
        "name": st.sampled_from(["n", "m"]),
        "other": st.integers(0, 3),
    },
)


class Model(RuleBasedStateMachine):
    """A dict of items beside the engine; index contents are derived from it by definition."""

    def __init__(self) -> None:
        super().__init__()
        self.dynamodb = self.opened()
        self.make()

    def opened(self) -> Embedded:
        return Embedded()

    def make(self) -> None:
        self.ask("CreateTable", **SHOP)
        self.ask("UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "other", "Enabled": True})
        self.items: dict[Key, dict[str, Any]] = {}
        self.indexes: dict[str, tuple[tuple[str, ...], set[str] | None]] = {
            "gsi1": (("g1pk", "g1sk"), None),
            "by-city": (("city",), {"pk", "sk", "city", "name"}),
            "by-rank": (("pk", "rank"), {"pk", "sk", "rank"}),
        }

    def ask(self, operation: str, **members: Any) -> Any:
        return json.loads(self.dynamodb.send(operation, json.dumps({"TableName": "shop", **members}).encode()))

    @rule(pk=pks, sk=sks, extra=attributes)
    def put(self, pk: str, sk: str, extra: dict[str, Any]) -> None:
        whole = item(pk=pk, sk=sk, **extra)
        self.ask("PutItem", Item=whole)
        self.items[pk, sk] = whole

    @rule(pk=pks, sk=sks, extra=attributes)
    def put_if_absent(self, pk: str, sk: str, extra: dict[str, Any]) -> None:
        whole = item(pk=pk, sk=sk, **extra)
        try:
            self.ask("PutItem", Item=whole, ConditionExpression="attribute_not_exists(pk)")
        except DynamoDBError as error:
            assert error.code == "ConditionalCheckFailedException"  # noqa: PT017
            assert (pk, sk) in self.items
        else:
            assert (pk, sk) not in self.items
            self.items[pk, sk] = whole

    @rule(pk=pks, sk=sks, extra=attributes, removed=st.sampled_from(["g1pk", "city", "rank", "name"]))
    def update(self, pk: str, sk: str, extra: dict[str, Any], removed: str) -> None:
        extra.pop(removed, None)
        sets = ", ".join(f"#{name} = :{name}" for name in extra)
        self.ask(
            "UpdateItem",
            Key=item(pk=pk, sk=sk),
            UpdateExpression=(f"SET {sets} " if sets else "") + "REMOVE #gone",
            ExpressionAttributeNames={"#gone": removed} | {f"#{name}": name for name in extra},
            ExpressionAttributeValues=values(**extra) if extra else None,
        )
        if extra or (pk, sk) in self.items:  # what only removes makes no item
            whole = {**self.items.get((pk, sk), item(pk=pk, sk=sk)), **item(**extra)}
            whole.pop(removed, None)
            self.items[pk, sk] = whole

    @rule(items=st.lists(st.tuples(pks, sks, st.none() | attributes), max_size=4, unique_by=lambda each: each[:2]))
    @precondition(lambda self: self.items)
    def batch(self, items: list[tuple[str, str, dict[str, Any] | None]]) -> None:
        requests: list[dict[str, Any]] = []
        for pk, sk, extra in items:
            if extra is None:
                requests.append({"DeleteRequest": {"Key": item(pk=pk, sk=sk)}})
                self.items.pop((pk, sk), None)
            else:
                requests.append({"PutRequest": {"Item": item(pk=pk, sk=sk, **extra)}})
                self.items[pk, sk] = item(pk=pk, sk=sk, **extra)
        if requests:
            self.ask("BatchWriteItem", RequestItems={"shop": requests})

    @rule()
    def make_or_drop_an_index(self) -> None:
        if "late" in self.indexes:
            self.ask("UpdateTable", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "late"}}])
            del self.indexes["late"]
            return
        index = {
            "IndexName": "late",
            "KeySchema": key_schema("other", "city", sort=("rank", "sk")),
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["g1sk"]},
        }
        self.ask(
            "UpdateTable",
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in {"other": "N", "city": "S", "rank": "N", "sk": "S"}.items()
            ],
            GlobalSecondaryIndexUpdates=[{"Create": index}],
        )
        self.indexes["late"] = (("other", "city", "rank", "sk"), {"pk", "sk", "other", "city", "rank", "g1sk"})

    @rule()
    def drop_the_table_and_make_it_anew(self) -> None:
        self.ask("DeleteTable")
        self.make()

    @rule(now=st.integers(0, 3))
    def expire(self, now: int) -> None:
        """`other` is the time to live: items whose is past go, if they have one that counts."""
        gone = [key for key, each in self.items.items() if 0 < int(each.get("other", {"N": "0"})["N"]) <= now]
        assert self.dynamodb.expire(now) == len(gone)
        for key in gone:
            del self.items[key]

    @rule(pk=pks, sk=sks)
    def delete(self, pk: str, sk: str) -> None:
        self.ask("DeleteItem", Key=item(pk=pk, sk=sk))
        self.items.pop((pk, sk), None)

    @rule(first=st.tuples(pks, sks), second=st.tuples(pks, sks), extra=attributes)
    @precondition(lambda self: self.items)
    def move(self, first: Key, second: Key, extra: dict[str, Any]) -> None:
        """Delete one and put another, if the first is there, in one transaction."""
        if first == second:
            return
        whole = item(pk=second[0], sk=second[1], **extra)
        actions = [
            {
                "Delete": {
                    "TableName": "shop",
                    "Key": item(pk=first[0], sk=first[1]),
                    "ConditionExpression": "attribute_exists(pk)",
                }
            },
            {"Put": {"TableName": "shop", "Item": whole}},
        ]
        try:
            self.ask("TransactWriteItems", TransactItems=actions[::-1])
        except DynamoDBError as error:
            assert error.code == "TransactionCanceledException"  # noqa: PT017
            assert first not in self.items
        else:
            del self.items[first]
            self.items[second] = whole

    @invariant()
    def the_table_holds_what_the_model_holds(self) -> None:
        found = {(each["pk"]["S"], each["sk"]["S"]): each for each in self.ask("Scan")["Items"]}
        assert found == self.items

    @invariant()
    def each_item_is_found_by_its_key(self) -> None:
        for pk, sk in product(("a", "b"), ("1", "10", "2", "é")):
            assert self.ask("GetItem", Key=item(pk=pk, sk=sk)).get("Item") == self.items.get((pk, sk))

    @invariant()
    def each_index_holds_what_follows_from_the_table(self) -> None:
        for name, (keys, projected) in self.indexes.items():
            expected = [
                {key: content for key, content in each.items() if projected is None or key in projected}
                for each in self.items.values()
                if all(key in each for key in keys)
            ]
            found = self.ask("Scan", IndexName=name)["Items"]
            assert sorted(found, key=str_of) == sorted(expected, key=str_of)

    @invariant()
    def a_query_is_in_the_order_of_the_sort_key(self) -> None:
        for pk in ("a", "b"):
            answer = self.ask("Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values(p=pk))
            expected = sorted((key[1] for key in self.items if key[0] == pk), key=str.encode)
            assert [each["sk"]["S"] for each in answer["Items"]] == expected
        answer = self.ask(
            "Query",
            IndexName="gsi1",
            KeyConditionExpression="g1pk = :p AND g1sk >= :s",
            ExpressionAttributeValues=values(p="x", s=-1),
        )
        ranks = [Decimal(each["g1sk"]["N"]) for each in answer["Items"]]
        assert ranks == sorted(ranks)
        assert all(rank >= -1 for rank in ranks)

    @invariant()
    def pages_and_segments_together_are_the_whole(self) -> None:
        for index in (None, *self.indexes):
            whole = self.ask("Scan", IndexName=index)["Items"]
            assert self.all_pages("Scan", IndexName=index, Limit=2) == whole
            segments = [self.all_pages("Scan", IndexName=index, Segment=each, TotalSegments=3) for each in range(3)]
            assert [each for segment in segments for each in segment] == whole
        query: dict[str, Any] = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values(p="a")}
        forward = self.all_pages("Query", **query, Limit=1)
        assert self.all_pages("Query", **query, Limit=2, ScanIndexForward=False) == forward[::-1]

    def all_pages(self, operation: str, **members: Any) -> list[Any]:
        found: list[Any] = []
        while True:
            answer = self.ask(operation, **members)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return found
            members["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def teardown(self) -> None:
        self.dynamodb.close()


def str_of(each: dict[str, Any]) -> str:
    return json.dumps(each, sort_keys=True)


class ModelOfAFile(Model):
    def opened(self) -> Embedded:
        self.folder = TemporaryDirectory()
        return Embedded(Path(self.folder.name) / "model.db")

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=examples(20), stateful_step_count=25, deadline=None)
TestModelOfAFile = ModelOfAFile.TestCase
TestModelOfAFile.settings = settings(max_examples=examples(15), stateful_step_count=25, deadline=None)
