"""Bad weather on request: each kind through the engine, its client, boto3 and a server."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError
from tests.engine.conftest import SHOP, Ask, item, refusal, values

from prejoin import AnswerLost, Client, Endpoint, Entity, Index, Key, OutcomeUnknown, Schema, Server
from prejoin.engine import Embedded
from prejoin.engine.http.admin import Admin
from prejoin.engine.http.handler import RequestHandler
from prejoin.engine.http.messages import HttpRequest
from prejoin.engine.weather.conditions import Conditions, read_conditions
from prejoin.protocol.errors import DynamoDBError
from prejoin.testing import attach


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@dataclass
class Order:
    user_id: str
    order_id: str
    status: str = "NEW"


SCHEMA = Schema(
    Entity(Order, Key("USER#{user_id}", "ORDER#{order_id}"), indexes={"gsi1": Key("STATUS#{status}", "{order_id}")}),
    indexes=[Index("gsi1")],
)


@pytest.fixture
def orders(dynamodb: Embedded) -> Client:
    client = Client(SCHEMA, "orders", dynamodb)
    client.create_table()
    return client


@pytest.fixture
def boto(dynamodb: Embedded) -> Any:
    client = boto3.client("dynamodb", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    return attach(client, dynamodb)


def by_status(shop: Ask, g1pk: str, **members: Any) -> list[str]:
    response = shop(
        "Query",
        IndexName="gsi1",
        KeyConditionExpression="g1pk = :p",
        ExpressionAttributeValues=values(p=g1pk),
        **members,
    )
    return [found["pk"]["S"] for found in response["Items"]]


# --- Lag -------------------------------------------------------------------------------------------------------------


def test_an_index_lags_behind_its_table(dynamodb: Embedded, shop: Ask, clock: Clock) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", g1pk="OPEN", g1sk=1))
    with dynamodb.weather("shop", index_lag={"gsi1": 2}, clock=clock):
        shop("PutItem", Item=item(pk="b", sk="1", g1pk="OPEN", g1sk=2, city="Ulm"))
        shop("PutItem", Item=item(pk="a", sk="1", g1pk="DONE", g1sk=1))
        assert by_status(shop, "OPEN") == ["a"]
        assert by_status(shop, "DONE") == []
        assert shop("GetItem", Key=item(pk="b", sk="1"))["Item"], "the table itself does not lag"
        city = shop(
            "Query", IndexName="by-city", KeyConditionExpression="city = :c", ExpressionAttributeValues=values(c="Ulm")
        )
        assert city["Count"] == 1, "another index does not lag"
        clock.now += 2
        assert by_status(shop, "OPEN") == ["b"]
        assert by_status(shop, "DONE") == ["a"]


def test_lag_ends_when_a_test_says_so(dynamodb: Embedded, shop: Ask) -> None:
    with dynamodb.weather(index_lag=math.inf) as weather:
        for number in range(5):
            shop("PutItem", Item=item(pk=f"p{number}", sk="1", g1pk="OPEN", g1sk=number))
        assert by_status(shop, "OPEN") == []
        weather.catch_up()
        assert by_status(shop, "OPEN", ScanIndexForward=False) == ["p4", "p3", "p2", "p1", "p0"]
        shop("DeleteItem", Key=item(pk="p2", sk="1"))
        assert by_status(shop, "OPEN", Limit=3, ScanIndexForward=False) == ["p4", "p3", "p2"]
    assert by_status(shop, "OPEN") == ["p0", "p1", "p3", "p4"]
    assert dynamodb.verify() == []


def test_eventually_consistent_reads_are_stale(dynamodb: Embedded, shop: Ask, clock: Clock) -> None:
    key = item(pk="a", sk="1")
    shop("PutItem", Item=key | item(name="old", rank=1))
    with dynamodb.weather("shop", read_lag=1, clock=clock):
        shop("PutItem", Item=key | item(name="new", rank=1))
        shop("PutItem", Item=item(pk="a", sk="2", rank=2))
        reads = {
            "GetItem": lambda **more: [shop("GetItem", Key=key, **more)["Item"]],
            "BatchGetItem": lambda **more: shop("BatchGetItem", RequestItems={"shop": {"Keys": [key], **more}})[
                "Responses"
            ]["shop"],
            "Query": lambda **more: shop(
                "Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values(p="a"), **more
            )["Items"],
            "Scan": lambda **more: shop("Scan", **more)["Items"],
            "ExecuteStatement": lambda **more: shop("ExecuteStatement", Statement="SELECT * FROM shop", **more)[
                "Items"
            ],
        }
        for name, read in reads.items():
            assert [found["name"]["S"] for found in read()] == ["old"], name
            assert "new" in [found.get("name", {}).get("S") for found in read(ConsistentRead=True)], name
        transaction = shop("TransactGetItems", TransactItems=[{"Get": {"TableName": "shop", "Key": key}}])
        assert transaction["Responses"][0]["Item"]["name"]["S"] == "new", "a transaction is never stale"
        local: dict[str, Any] = {
            "IndexName": "by-rank",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": values(p="a"),
            "Select": "ALL_ATTRIBUTES",
        }
        assert shop("Query", **local)["Count"] == 1, "a local index is as old as its table"
        assert shop("Query", **local, ConsistentRead=True)["Count"] == 2
        clock.now += 1
        assert shop("GetItem", Key=key)["Item"]["name"]["S"] == "new"


def test_a_client_reads_an_old_status(dynamodb: Embedded, orders: Client, boto: Any) -> None:
    orders.insert(Order("42", "1"))
    with dynamodb.weather("orders", index_lag=math.inf):
        with orders.update(Order, user_id="42", order_id="1") as order:
            order.status = "PAID"
        assert [found.status for found in orders.query(Order, status="NEW")] == ["NEW"]
        assert orders.query(Order, status="PAID").items == ()
        found = boto.query(
            TableName="orders",
            IndexName="gsi1",
            KeyConditionExpression="gsi1pk = :p",
            ExpressionAttributeValues={":p": {"S": "STATUS#PAID"}},
        )
        assert found["Count"] == 0


# --- Throttling ------------------------------------------------------------------------------------------------------

PROVISIONED: dict[str, Any] = {
    **{member: content for member, content in SHOP.items() if member != "BillingMode"},
    "ProvisionedThroughput": {"ReadCapacityUnits": 4, "WriteCapacityUnits": 4},
    "GlobalSecondaryIndexes": [
        {**index, "ProvisionedThroughput": {"ReadCapacityUnits": 4, "WriteCapacityUnits": units}}
        for index, units in zip(SHOP["GlobalSecondaryIndexes"], (4, 1), strict=True)
    ],
}


def until_throttled(call: Callable[[int], Any], most: int = 100) -> tuple[int, DynamoDBError]:
    """How often a call succeeds, and the error then."""
    for number in range(most):
        try:
            call(number)
        except DynamoDBError as error:
            return number, error
    raise AssertionError("never throttled")


def put(ask: Ask, number: int, **attributes: Any) -> None:
    ask("PutItem", TableName="shop", Item=item(pk=f"p{number}", sk="1", **attributes))


def test_writes_beyond_the_provisioned_units_are_throttled(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    with dynamodb.weather("shop", throttling=True, burst_seconds=0, clock=clock) as weather:
        written, error = until_throttled(lambda number: put(ask, number))
        assert written == 4
        assert error.code == "ProvisionedThroughputExceededException"
        assert error.fields["ThrottlingReasons"] == [
            {
                "reason": "TableWriteProvisionedThroughputExceeded",
                "resource": "arn:aws:dynamodb:local:000000000000:table/shop",
            }
        ]
        clock.now += 0.5
        assert until_throttled(lambda number: put(ask, number))[0] == 2
        assert weather.happened["throttled"] == 2
    put(ask, 9)


def test_unused_units_are_kept_for_a_burst(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    with dynamodb.weather(throttling=True, burst_seconds=5, clock=clock):
        assert until_throttled(lambda number: put(ask, number))[0] == 20
        clock.now += 100
        assert until_throttled(lambda number: put(ask, number))[0] == 20


def test_a_large_read_takes_units_in_advance(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    key = item(pk="a", sk="1")
    ask("PutItem", TableName="shop", Item=key | item(text="x" * 40_000))
    with dynamodb.weather(throttling=True, burst_seconds=0, clock=clock):
        ask("GetItem", TableName="shop", Key=key, ConsistentRead=True)  # 10 units
        clock.now += 1
        error = refusal(ask, "GetItem", TableName="shop", Key=key)
        assert error.fields["ThrottlingReasons"][0]["reason"] == "TableReadProvisionedThroughputExceeded"
        clock.now += 1
        ask("GetItem", TableName="shop", Key=key)


def test_a_partition_has_a_share_unless_capacity_is_adaptive(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    one_key = lambda number: ask("PutItem", TableName="shop", Item=item(pk="hot", sk=str(number)))  # noqa: E731
    rigid: dict[str, Any] = {"throttling": True, "partitions": 4, "burst_seconds": 0, "clock": clock}
    with dynamodb.weather(**rigid, adaptive=False):
        assert until_throttled(one_key)[0] == 1
    with dynamodb.weather(**rigid):
        assert until_throttled(one_key)[0] == 4


def test_a_hot_key_is_throttled_on_demand(dynamodb: Embedded, shop: Ask, clock: Clock) -> None:
    with dynamodb.weather(throttling=True, partition_writes=10, partition_reads=3, clock=clock):
        written, error = until_throttled(lambda number: shop("PutItem", Item=item(pk="hot", sk=str(number))))
        assert (written, error.code) == (10, "ThrottlingException")
        assert error.fields["throttlingReasons"][0]["reason"] == "TableWriteKeyRangeThroughputExceeded"
        shop("PutItem", Item=item(pk="cold", sk="1"))
        query = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values(p="hot")}
        read, error = until_throttled(lambda number: shop("Query", **query, ConsistentRead=True))
        assert read == 3
        assert error.fields["throttlingReasons"][0]["reason"] == "TableReadKeyRangeThroughputExceeded"


def test_the_maximum_of_a_table_on_demand_is_kept(dynamodb: Embedded, shop: Ask, clock: Clock) -> None:
    shop("UpdateTable", OnDemandThroughput={"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 2})
    with dynamodb.weather(throttling=True, burst_seconds=0, clock=clock):
        written, error = until_throttled(lambda number: put(shop, number))
        assert written == 2
        assert error.fields["throttlingReasons"][0]["reason"] == "TableWriteMaxOnDemandThroughputExceeded"


def test_an_index_without_units_refuses_writes_of_its_table(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    with dynamodb.weather(throttling=True, burst_seconds=0, clock=clock):
        written, error = until_throttled(lambda number: put(ask, number, city="Ulm"))
        assert written == 1
        assert error.fields["ThrottlingReasons"] == [
            {
                "reason": "IndexWriteProvisionedThroughputExceeded",
                "resource": "arn:aws:dynamodb:local:000000000000:table/shop/index/by-city",
            }
        ]
        assert ask("Scan", TableName="shop")["Count"] == 1, "the refused write is in no place"
        put(ask, 5)  # an item that is not in the index


def test_throttled_items_of_a_batch_are_unprocessed(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    puts = [{"PutRequest": {"Item": item(pk=f"p{number}", sk="1")}} for number in range(6)]
    keys = [item(pk=f"p{number}", sk="1") for number in range(6)]
    with dynamodb.weather(throttling=True, burst_seconds=0, clock=clock):
        left = ask("BatchWriteItem", RequestItems={"shop": puts})["UnprocessedItems"]["shop"]
        assert left == puts[4:]
        error = refusal(ask, "BatchWriteItem", RequestItems={"shop": left})
        assert error.code == "ProvisionedThroughputExceededException"
        clock.now += 1
        assert ask("BatchWriteItem", RequestItems={"shop": left})["UnprocessedItems"] == {}
        found = ask("BatchGetItem", RequestItems={"shop": {"Keys": keys, "ConsistentRead": True}})
        assert len(found["Responses"]["shop"]) == 4
        assert found["UnprocessedKeys"] == {"shop": {"Keys": keys[4:], "ConsistentRead": True}}


def test_a_throttled_transaction_is_cancelled_with_a_reason(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    actions = [{"Put": {"TableName": "shop", "Item": item(pk=f"p{number}", sk="1")}} for number in range(2)]
    with dynamodb.weather(throttling=True, burst_seconds=0, clock=clock):
        ask("TransactWriteItems", TransactItems=actions)  # twice two units
        error = refusal(ask, "TransactWriteItems", TransactItems=actions)
        assert error.code == "TransactionCanceledException"
        assert {reason["Code"] for reason in error.fields["CancellationReasons"]} == {"ProvisionedThroughputExceeded"}


def test_a_failed_condition_costs_units(dynamodb: Embedded, ask: Ask, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    with dynamodb.weather(throttling=True, burst_seconds=0, clock=clock):
        for _ in range(4):
            error = refusal(
                ask,
                "PutItem",
                TableName="shop",
                Item=item(pk="a", sk="1"),
                ConditionExpression="attribute_exists(pk)",
            )
            assert error.code == "ConditionalCheckFailedException"
        assert until_throttled(lambda number: put(ask, number))[0] == 0


# --- Conflicts, batches, errors, lost responses, delays, pages -------------------------------------------------------


def test_transactions_meet(dynamodb: Embedded, shop: Ask) -> None:
    actions = [{"Put": {"TableName": "shop", "Item": item(pk=f"p{number}", sk="1")}} for number in range(3)]
    with dynamodb.weather("shop", conflicts=1, seed=7) as weather:
        error = refusal(shop, "TransactWriteItems", TransactItems=actions)
        codes = [reason["Code"] for reason in error.fields["CancellationReasons"]]
        assert sorted(codes) == ["None", "None", "TransactionConflict"]
        gets = [{"Get": {"TableName": "shop", "Key": item(pk=f"p{number}", sk="1")}} for number in range(3)]
        error = refusal(shop, "TransactGetItems", TransactItems=gets)
        assert error.code == "TransactionCanceledException"
        error = refusal(shop, "PutItem", Item=item(pk="a", sk="1"))
        assert error.code == "TransactionConflictException"
        assert weather.happened["conflict"] == 3
    assert shop("Scan")["Count"] == 0
    shop("TransactWriteItems", TransactItems=actions)


def test_a_conflict_and_an_invalid_request(dynamodb: Embedded, shop: Ask) -> None:
    with dynamodb.weather(conflicts=1):
        error = refusal(shop, "PutItem", Item=item(pk="a"))
    assert error.code == "ValidationException", "the request is checked first"


def test_items_of_batches_are_not_processed(dynamodb: Embedded, shop: Ask) -> None:
    puts = [{"PutRequest": {"Item": item(pk=f"p{number}", sk="1")}} for number in range(20)]
    keys = [item(pk=f"p{number}", sk="1") for number in range(20)]
    with dynamodb.weather("shop", unprocessed=0.5, seed=3):
        left = shop("BatchWriteItem", RequestItems={"shop": puts})["UnprocessedItems"]["shop"]
        assert 0 < len(left) < 20
        assert shop("Scan")["Count"] == 20 - len(left)
        found = shop("BatchGetItem", RequestItems={"shop": {"Keys": keys}})
        assert found["UnprocessedKeys"]["shop"]["Keys"]
        rounds = 0
        while left and rounds < 100:
            left = shop("BatchWriteItem", RequestItems={"shop": left})["UnprocessedItems"].get("shop")
            rounds += 1
        error = refusal(shop, "BatchGetItem", RequestItems={"shop": {}})
        assert error.code == "ValidationException", "a batch without items has none to leave out"
    assert shop("Scan")["Count"] == 20


def test_the_client_sends_unprocessed_items_again(dynamodb: Embedded, orders: Client) -> None:
    with dynamodb.weather("orders", unprocessed=0.3) as weather:
        orders.put_many(Order("42", f"{number:02}") for number in range(30))
        assert weather.happened["unprocessed"] > 0
    assert len(orders.query(Order, user_id="42").items) == 30


def test_operations_fail_by_chance(dynamodb: Embedded, shop: Ask) -> None:
    def failures(seed: int) -> list[str]:
        found: list[str] = []
        with dynamodb.weather(errors={"PutItem": {"InternalServerError": 0.3, "RequestLimitExceeded": 0.3}}, seed=seed):
            for number in range(30):
                try:
                    put(shop, number)
                    found.append("")
                except DynamoDBError as error:
                    found.append(error.code)
        return found

    assert set(failures(1)) == {"", "InternalServerError", "RequestLimitExceeded"}
    assert failures(1) == failures(1)
    assert failures(1) != failures(2)


def test_weather_clears_after_a_number_of_faults(dynamodb: Embedded, shop: Ask) -> None:
    with dynamodb.weather("shop", "other", errors={"*": {"ServiceUnavailable": 1}}, faults=2):
        assert refusal(shop, "GetItem", Key=item(pk="a", sk="1")).status == 503
        assert refusal(shop, "Scan").code == "ServiceUnavailable"
        shop("Scan")


def test_weather_is_local(dynamodb: Embedded, shop: Ask, ask: Ask) -> None:
    ask("CreateTable", **{**SHOP, "TableName": "other"})
    with dynamodb.weather("other", errors={"*": {"InternalServerError": 1}}):
        shop("Scan")
        assert refusal(ask, "Scan", TableName="other").code == "InternalServerError"
        with dynamodb.weather("other"):
            ask("Scan", TableName="other")
        assert refusal(ask, "DescribeTable", TableName="other").code == "InternalServerError"
        assert ask("ListTables")["TableNames"] == ["other", "shop"]


def test_a_lost_response_is_of_a_write_that_was_performed(dynamodb: Embedded, orders: Client, boto: Any) -> None:
    with dynamodb.weather("orders", lost={"PutItem": 1, "GetItem": 1}) as weather:
        with pytest.raises(OutcomeUnknown):
            orders.put(Order("42", "1"))
        with pytest.raises(AnswerLost):
            orders.get(Order, user_id="42", order_id="1")
        with pytest.raises(ConnectionClosedError):
            boto.put_item(TableName="orders", Item={"pk": {"S": "USER#42"}, "sk": {"S": "x"}})
        assert weather.happened["lost"] == 3
    assert orders.get(Order, user_id="42", order_id="1") == Order("42", "1")


def test_operations_are_delayed(dynamodb: Embedded, shop: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("prejoin.engine.weather.front.time.sleep", slept.append)
    with dynamodb.weather(delays={"Scan": 0.2}) as weather:
        shop("Scan")
        put(shop, 1)
        assert dynamodb.send_now("Scan", b'{"TableName":"shop"}') is None, "an event loop does not wait"
    assert slept == [0.2]
    assert weather.happened["delay"] == 1


def test_pages_are_small(dynamodb: Embedded, orders: Client, boto: Any) -> None:
    orders.put_many(Order("42", f"{number:02}") for number in range(10))
    with dynamodb.weather("orders", page_items=3):
        query = {
            "TableName": "orders",
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": "USER#42"}},
        }
        pages = list(boto.get_paginator("query").paginate(**query))
        assert [len(page["Items"]) for page in pages] == [3, 3, 3, 1]
        assert len(boto.query(**query, Limit=2)["Items"]) == 2
        page = boto.execute_statement(Statement="SELECT * FROM orders")
        assert len(page["Items"]) == 3
        assert page["NextToken"]


# --- The server ------------------------------------------------------------------------------------------------------


@pytest.fixture
def url(dynamodb: Embedded) -> Iterator[str]:
    with Server(dynamodb, port=0) as url:
        yield url


def sdk(url: str, attempts: int) -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=url,
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",
        config=Config(retries={"total_max_attempts": attempts, "mode": "standard"}),
    )


def test_clients_retry_what_a_server_does_to_them(dynamodb: Embedded, orders: Client, url: str) -> None:
    with Endpoint(url) as endpoint:
        remote = Client(SCHEMA, "orders", endpoint)
        with dynamodb.weather("orders", lost={"TransactWriteItems": 1}, faults=1) as weather:
            with remote.transaction() as transaction:
                transaction.insert(Order("42", "1"))
                transaction.insert(Order("42", "2"))
            assert weather.happened["lost"] == 1, "it was sent again, with its token"
        with (
            dynamodb.weather("orders", lost={"UpdateItem": 1}, faults=1),
            pytest.raises(OutcomeUnknown),
            remote.update(Order, user_id="42", order_id="1") as order,
        ):
            order.status = "PAID"
        with dynamodb.weather("orders", errors={"*": {"ThrottlingException": 1}}, faults=2):
            found = remote.get(Order, user_id="42", order_id="1")
            assert found is not None
            assert found.status == "PAID"
    with dynamodb.weather("orders", errors={"PutItem": {"InternalServerError": 1}}, faults=1):
        answer = sdk(url, 2).put_item(TableName="orders", Item={"pk": {"S": "a"}, "sk": {"S": "b"}})
        assert answer["ResponseMetadata"]["RetryAttempts"] == 1
    with dynamodb.weather("orders", lost={"PutItem": 1}), pytest.raises(ConnectionClosedError):
        sdk(url, 1).put_item(TableName="orders", Item={"pk": {"S": "a"}, "sk": {"S": "b"}})


def test_boto3_reads_the_reasons_of_throttling(dynamodb: Embedded, ask: Ask, url: str, clock: Clock) -> None:
    ask("CreateTable", **PROVISIONED)
    client, key = sdk(url, 1), {"pk": {"S": "a"}, "sk": {"S": "b"}}
    with dynamodb.weather(throttling=True, partition_reads=1, clock=clock):
        client.get_item(TableName="shop", Key=key, ConsistentRead=True)
        with pytest.raises(ClientError) as caught:
            client.get_item(TableName="shop", Key=key)
    assert caught.value.response["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert caught.value.response["ThrottlingReasons"][0]["reason"] == "TableReadKeyRangeThroughputExceeded"


def test_the_weather_of_a_server_is_set_by_its_admin_endpoint(dynamodb: Embedded, shop: Ask, url: str) -> None:
    place = f"{url}/_prejoin/weather"
    assert httpx.get(place).json() == []
    told = httpx.put(place, json={"tables": ["shop"], "errors": {"*": {"InternalServerError": 1}}})
    assert told.status_code == 200
    assert refusal(shop, "Scan").code == "InternalServerError"
    assert httpx.get(place).json()[0]["happened"] == {"error": 1}
    told = httpx.put(place, json={"index_lags": 1})
    assert (told.status_code, "index_lags" in told.json()["message"]) == (400, True)
    assert refusal(shop, "Scan").code == "InternalServerError", "a mistake changes nothing"
    assert httpx.delete(place).json() == []
    shop("Scan")


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/_prejoin/weather", {}, 404),
        ("PUT", "/_prejoin/other", {}, 404),
        ("PUT", "/", {}, 404),
        ("PUT", "/_prejoin/weather", {"Origin": "https://example.com"}, 403),
        ("PUT", "/_prejoin/weather", {"Host": "example.com"}, 403),
    ],
)
def test_the_admin_endpoint_has_a_path_and_methods_of_its_own(
    dynamodb: Embedded, url: str, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    answer = httpx.request(method, url + path, headers=headers, json={"errors": {"*": {"InternalServerError": 1}}})
    assert answer.status_code == status
    assert dynamodb.send("ListTables", b"{}") == b'{"TableNames":[]}'


def test_failure_of_the_admin_endpoint_is_answered(
    dynamodb: Embedded, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamodb, "weather_front", lambda: 1 / 0)
    answer = httpx.get(f"{url}/_prejoin/weather")
    assert (answer.status_code, "ZeroDivisionError" in answer.json()["message"]) == (500, True)


def test_the_admin_endpoint_is_for_this_machine(dynamodb: Embedded) -> None:
    handler = RequestHandler(dynamodb, admin=Admin(dynamodb))
    request = HttpRequest(b"PUT", b"/_prejoin/weather", [(b"host", b"10.0.0.5")], b"{}", peer="10.0.0.7")
    found = handler.respond_now(request)
    assert not isinstance(found, str)
    assert found.status == 404


# --- Conditions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"conflicts": 2}, "conflicts is a chance from 0 to 1, not 2"),
        ({"errors": {"PutItem": {"a": 0.6, "b": 0.6}}}, "the chances of the errors of PutItem add up to more than 1"),
        ({"read_lag": -1}, "read_lag is a number of seconds, not -1"),
        ({"delays": {"*": 1e300}}, r"delays\['\*'\] is at most 3600 seconds, not 1e\+300"),
        ({"page_items": 0}, "page_items is at least 1, not 0"),
        ({"lost": {"Put": 1}}, "'Put' is no operation of DynamoDB"),
    ],
)
def test_mistakes_in_conditions_are_refused(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message), Embedded() as engine:
        engine.weather(**members)
    with pytest.raises(ValueError, match=message):
        read_conditions(json.dumps(members))


def test_conditions_are_read_from_json() -> None:
    assert read_conditions('[{"tables": ["a"]}, {"index_lag": {"gsi1": 2}}]') == [
        Conditions(tables=("a",)),
        Conditions(index_lag={"gsi1": 2}),
    ]
    assert read_conditions('{"read_lag": 1, "index_lag": {}}')[0].longest_lag == 1
    for text in ("", "[", '{"seed": "x"}', "null"):
        with pytest.raises(ValueError, match="the weather cannot be read"):
            read_conditions(text)
