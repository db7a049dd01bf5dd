"""A table is created from a schema, waited for, described, and compared with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.place import DynamoDB, fresh

from prejoin import AsyncClient, Client, Entity, Index, Key, Schema, TableError, audit, repair
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.admin.create_table import MOST_SECONDS, active, add_indexes, create
from prejoin.table.admin.drift import Difference, differences
from prejoin.table.conversation import Pause


@dataclass
class Order:
    user_id: str
    order_id: str
    status: str
    total: int
    expires_at: int | None = None


ORDER = Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), indexes={"gsi1": Key("S#{status}", "{order_id}")})


def schema(*indexes: Index, **options: Any) -> Schema:
    return Schema(ORDER, indexes=[Index("gsi1"), *indexes], **options)


def client(of: Schema, engine: DynamoDB | None = None) -> Client:
    return Client(of, "shop", engine or fresh())


def test_a_table_made_from_a_schema_does_not_differ_from_it() -> None:
    db = client(schema(Index("by-total", pk="status", sk="total", projection=["user_id"]), ttl="expires_at"))
    assert [one.kind for one in db.drift()] == ["missing table"]
    assert db.describe() is None
    db.create_table(Tags=[{"Key": "team", "Value": "shop"}])
    assert db.drift() == []
    described = db.describe()
    assert described is not None
    assert described["TableStatus"] == "ACTIVE"


def test_async_client_does_the_same() -> None:
    async def main() -> list[Difference]:
        db = AsyncClient(schema(ttl="expires_at"), "shop", fresh())
        assert (await db.drift())[0].kind == "missing table"
        await db.create_table()
        assert (await db.describe() or {})["TableName"] == "shop"
        await db.create_table(if_absent=True)
        return await db.drift()

    assert asyncio.run(main()) == []


def test_drift_is_reported_with_fixes() -> None:
    engine = fresh()
    before = Schema(
        ORDER,
        indexes=[
            Index("gsi1", projection="KEYS_ONLY"),
            Index("by-total", pk="status", sk="total"),
            Index("old-index", pk="total"),
        ],
        ttl="expires_at",
    )
    client(before, engine).create_table()
    after = schema(
        Index("by-total", pk="status", sk="order_id"),
        Index("by-order", pk="order_id"),
        Index("by-user", sk="total", local=True),
    )
    found = {(one.kind, one.what): one for one in client(after, engine).drift()}
    assert {key: (one.found, one.wanted) for key, one in found.items()} == {
        ("projection", "the index gsi1"): ("KEYS_ONLY", "ALL"),
        ("keys", "the index by-total"): ("status, total", "status, order_id"),
        ("missing index", "the index by-order"): ("none", "order_id"),
        ("missing index", "the local index by-user"): ("none", "pk, total"),
        ("extra index", "the index old-index"): ("total", "none"),
        ("ttl", "the table"): ("expires_at", "off"),
    }
    assert "add_indexes()" in found["missing index", "the index by-order"].fix
    assert "create a new table" in found["missing index", "the local index by-user"].fix
    assert "DynamoDB deletes items by it" in found["ttl", "the table"].fix


def test_other_keys_and_other_types_need_another_table() -> None:
    engine = fresh()
    client(Schema(Entity(Order, Key("{total}", "{order_id}")), pk="total", sk="order_id"), engine).create_table()
    named = Schema(Entity(Order, Key("{order_id}", "{total}")), pk="order_id", sk="total")
    assert [(one.kind, one.found, one.wanted) for one in client(named, engine).drift()] == [
        ("keys", "total, order_id", "order_id, total")
    ]
    padded = Schema(Entity(Order, Key("{total:06d}", "{order_id}"), names={"total": "sum"}), pk="total", sk="order_id")
    text = {(one.kind, one.what, one.found, one.wanted) for one in client(padded, engine).drift()}
    assert text == {("type", "total", "N", "S")}


def test_an_index_being_filled_and_a_time_to_live_elsewhere_are_differences() -> None:
    db = client(schema(ttl="expires_at"))
    db.create_table()
    table = db.describe()
    assert table is not None
    table["TableStatus"] = "UPDATING"
    table["GlobalSecondaryIndexes"][0]["IndexStatus"] = "CREATING"
    ttl = {"TimeToLiveStatus": "ENABLED", "AttributeName": "until"}
    assert [(one.kind, one.found) for one in differences(db.schema, table, ttl)] == [
        ("status", "UPDATING"),
        ("status", "CREATING"),
        ("ttl", "until"),
    ]
    off = differences(db.schema, db.describe(), {"TimeToLiveStatus": "DISABLED"})
    assert [str(one) for one in off] == [
        "ttl of the table: found off, wanted expires_at; enable it with UpdateTimeToLive"
    ]


def test_existing_table_is_kept_if_it_matches_the_schema() -> None:
    engine = fresh()
    client(schema(Index("more-of-it", pk="total")), engine).create_table()
    with pytest.raises(DynamoDBError, match="Table already exists"):
        client(schema(), engine).create_table()
    client(schema(ttl="expires_at"), engine).create_table(if_absent=True)
    assert [one.kind for one in client(schema(ttl="expires_at"), engine).drift()] == ["extra index"]
    with pytest.raises(TableError, match="does not match the schema: the index by-order is missing; add it"):
        client(schema(Index("by-order", pk="order_id"), ttl="expires_at"), engine).create_table(if_absent=True)


def test_a_table_paid_by_the_hour_has_its_throughput_in_every_global_index() -> None:
    db = client(schema(Index("by-user", sk="total", local=True)))
    db.create_table(ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 2})
    described = db.describe()
    assert described is not None
    for one in (described, *described["GlobalSecondaryIndexes"]):
        assert one["ProvisionedThroughput"]["ReadCapacityUnits"] == 5


@pytest.mark.parametrize("throughput", [{}, {"ReadCapacityUnits": 5, "WriteCapacityUnits": 2}])
def test_missing_indexes_are_added_with_existing_items(throughput: dict[str, int]) -> None:
    engine = fresh()
    before = Schema(Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}")))
    more: dict[str, Any] = {"ProvisionedThroughput": throughput} if throughput else {}
    client(before, engine).create_table(**more)
    client(before, engine).insert(Order("1", "a", "OPEN", 10))
    db = client(schema(Index("by-total", pk="status", sk="total")), engine)
    assert db.add_indexes() == ("gsi1", "by-total")
    assert [(one.kind, one.what) for one in db.drift()] == [("item keys", "Order in gsi1, 1 of 1 items")]
    assert db.add_indexes() == ()
    assert [order.order_id for order in db.query(Order, lambda o: o.total > 5, status="OPEN")] == ["a"]
    assert (
        len(db.query(Order, status="OPEN", order_id="a")) == 0
    )  # the client writes its keys in gsi1, so old items have none
    assert [repair(db, finding) for finding in audit(db)] == [True]
    assert db.drift() == []
    assert len(db.query(Order, status="OPEN", order_id="a")) == 1


def test_indexes_are_not_added_to_a_missing_or_different_table() -> None:
    engine = fresh()
    with pytest.raises(TableError, match="the table shop does not exist"):
        client(schema(), engine).add_indexes()
    other = Schema(Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}")), pk="PK", sk="SK")
    client(other, engine).create_table()
    with pytest.raises(TableError, match="keys of the table: found PK, SK, wanted pk, sk"):
        client(schema(), engine).add_indexes()
    assert asyncio.run(AsyncClient(other, "shop", engine).add_indexes()) == ()


def test_one_index_is_added_after_the_other() -> None:
    there = {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]}
    described = {"Table": {**there, "AttributeDefinitions": [], "TableStatus": "ACTIVE"}}
    busy = table("UPDATING", "CREATING")
    steps = add_indexes(schema(Index("by-total", pk="status", sk="total")), "shop")
    answers = [described, described, busy, table("ACTIVE", "ACTIVE"), table("ACTIVE", "ACTIVE", "ACTIVE")]
    steps_taken = held(steps, {"DescribeTable": answers, "UpdateTable": [{}, {}]})
    waited = ["DescribeTable", "pause", "DescribeTable"]
    assert steps_taken == ["DescribeTable", "DescribeTable", "UpdateTable", *waited, "UpdateTable", "DescribeTable"]


def held(steps: Any, answers: Mapping[str, list[Any]]) -> list[str]:
    """Runs a conversation with prepared responses, and returns what happened."""
    steps_taken = []
    step = next(steps)
    while True:
        if isinstance(step, Pause):
            steps_taken.append("pause")
            answer = None
        else:
            steps_taken.append(step.operation)
            answer = answers[step.operation].pop(0)
        try:
            step = steps.throw(answer) if isinstance(answer, Exception) else steps.send(answer)
        except StopIteration:
            return steps_taken


def table(status: str, *indexes: str) -> dict[str, Any]:
    return {"Table": {"TableStatus": status, "GlobalSecondaryIndexes": [{"IndexStatus": one} for one in indexes]}}


def test_a_new_table_is_waited_for_until_all_of_it_is_active() -> None:
    unknown = DynamoDBError("ResourceNotFoundException", "not found")
    answers = [unknown, table("CREATING", "CREATING"), table("ACTIVE", "CREATING"), table("ACTIVE", "ACTIVE")]
    steps_taken = held(create(schema(), "shop"), {"CreateTable": [{}], "DescribeTable": answers})
    assert steps_taken == ["CreateTable", *["DescribeTable", "pause"] * 3, "DescribeTable"]


def test_waiting_for_a_table_times_out() -> None:
    steps = active("shop")
    waited = 0.0
    step = next(steps)
    with pytest.raises(TableError, match="the table shop is still CREATING after 600 seconds"):
        while True:
            if isinstance(step, Pause):
                waited += step.seconds
                step = steps.send(None)
            else:
                step = steps.send(table("CREATING"))
    assert MOST_SECONDS <= waited < MOST_SECONDS + 10


def test_the_request_is_plain_json() -> None:
    from prejoin.table.admin.table_request import create_table

    body = create_table(schema(Index("by-total", pk=("status", "total"))), "shop")
    assert msgspec.json.decode(msgspec.json.encode(body)) == body
