"""Query and Scan: key conditions, indexes, order, pages, filters, projections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import md5
from typing import Any

import pytest

from prejoin.engine import Embedded

from .conftest import SHOP, Ask, item, key_schema, refusal, send, values


@pytest.fixture
def stocked(shop: Ask) -> Ask:
    """Five items of one partition and one of another."""
    for number in range(5):
        shop(
            "PutItem",
            Item=item(pk="a", sk=f"k{number}", g1pk="x", g1sk=-number, rank=number % 2, city="Bern", name=f"n{number}"),
        )
    shop("PutItem", Item=item(pk="b", sk="k0"))
    return shop


def sks(answer: dict[str, Any]) -> list[str]:
    return [found["sk"]["S"] for found in answer["Items"]]


@pytest.mark.parametrize(
    ("condition", "bounds", "found"),
    [
        ("pk = :p", {}, ["k0", "k1", "k2", "k3", "k4"]),
        ("pk = :p AND sk = :s", {"s": "k2"}, ["k2"]),
        ("pk = :p AND sk < :s", {"s": "k2"}, ["k0", "k1"]),
        ("pk = :p AND sk <= :s", {"s": "k2"}, ["k0", "k1", "k2"]),
        ("pk = :p AND sk > :s", {"s": "k2"}, ["k3", "k4"]),
        ("pk = :p AND sk >= :s", {"s": "k2"}, ["k2", "k3", "k4"]),
        ("pk = :p AND :s < sk", {"s": "k2"}, ["k3", "k4"]),
        ("pk = :p AND sk BETWEEN :s AND :t", {"s": "k1", "t": "k3"}, ["k1", "k2", "k3"]),
        ("pk = :p AND begins_with(sk, :s)", {"s": "k"}, ["k0", "k1", "k2", "k3", "k4"]),
        ("(sk = :s) AND (pk = :p)", {"s": "k2"}, ["k2"]),
    ],
)
def test_a_key_condition_selects_in_order(stocked: Ask, condition: str, bounds: Any, found: list[str]) -> None:
    answer = stocked("Query", KeyConditionExpression=condition, ExpressionAttributeValues=values(p="a", **bounds))
    assert sks(answer) == found
    assert answer["Count"] == answer["ScannedCount"] == len(found)


def test_a_query_reads_backwards_if_asked(stocked: Ask) -> None:
    answer = stocked(
        "Query",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues=values(p="a"),
        ScanIndexForward=False,
        Limit=2,
    )
    assert sks(answer) == ["k4", "k3"]


def test_an_index_is_read_in_its_own_order(stocked: Ask) -> None:
    answer = stocked(
        "Query",
        IndexName="gsi1",
        KeyConditionExpression="g1pk = :p AND g1sk BETWEEN :low AND :high",
        ExpressionAttributeValues=values(p="x", low=-3, high=-1),
    )
    assert sks(answer) == ["k3", "k2", "k1"]


@pytest.mark.parametrize("index", [None, "gsi1", "by-city", "by-rank"])
@pytest.mark.parametrize("forward", [True, False])
def test_pages_cover_everything(stocked: Ask, index: str | None, forward: bool) -> None:
    partition, content = {"gsi1": ("g1pk", "x"), "by-city": ("city", "Bern")}.get(index or "", ("pk", "a"))
    members: dict[str, Any] = {
        "KeyConditionExpression": f"{partition} = :p",
        "ExpressionAttributeValues": values(p=content),
        "ScanIndexForward": forward,
    }
    if index:
        members["IndexName"] = index
    whole = sks(stocked("Query", **members))
    pages: list[str] = []
    start: dict[str, Any] = {}
    while True:
        page = stocked("Query", Limit=2, **members, **start)
        pages += sks(page)
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert pages == whole
    assert sorted(whole) == ["k0", "k1", "k2", "k3", "k4"]


def test_a_page_that_ends_at_the_limit_has_a_key_to_go_on_from(stocked: Ask) -> None:
    answer = stocked("Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values(p="b"), Limit=1)
    assert answer["LastEvaluatedKey"] == item(pk="b", sk="k0")


def test_a_page_ends_at_1_mb(shop: Ask) -> None:
    for number in range(5):
        shop("PutItem", Item=item(pk="a", sk=f"k{number}", big="x" * 300_000))
    query: dict[str, Any] = {
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": values(p="a"),
        "ReturnConsumedCapacity": "TOTAL",
    }
    first = shop("Query", **query)
    assert sks(first) == ["k0", "k1", "k2", "k3"]
    second = shop("Query", **query, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert sks(second) == ["k4"]
    assert "LastEvaluatedKey" not in second


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("limit", [None, 1000, 1001, 1002, 2499, 2500, 2501])
def test_a_page_may_have_thousands_of_items(many: Ask, limit: int | None, forward: bool) -> None:
    answer = many(
        "Query",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues=values(p="a"),
        ScanIndexForward=forward,
        ReturnConsumedCapacity="TOTAL",
        **({} if limit is None else {"Limit": limit}),
    )
    expected = [f"{number:04}" for number in range(2500)]
    expected = (expected if forward else expected[::-1])[:limit]
    assert [one["sk"]["S"] for one in answer["Items"]] == expected
    assert ("LastEvaluatedKey" in answer) == (limit is not None and limit <= 2500)
    # "pk", "a", "sk" and four digits are nine bytes; half a unit for each 4 KB begun.
    assert answer["ConsumedCapacity"]["CapacityUnits"] == 0.5 * -(-9 * len(expected) // 4096)


@pytest.fixture(scope="module")
def many() -> Iterator[Ask]:
    with Embedded() as dynamodb:
        send(dynamodb, "CreateTable", **SHOP)
        for begin in range(0, 2500, 25):
            puts = [{"PutRequest": {"Item": item(pk="a", sk=f"{begin + at:04}")}} for at in range(25)]
            send(dynamodb, "BatchWriteItem", RequestItems={"shop": puts})
        yield partial(send, dynamodb)


def test_a_long_page_ends_at_1_mb_too(shop: Ask) -> None:
    note = "x" * 693  # with its name and the keys, 703 bytes an item: the 1,492nd reaches 1 MB
    for begin in range(0, 1500, 25):
        puts = [{"PutRequest": {"Item": item(pk="a", sk=f"{begin + at:04}", n=note)}} for at in range(25)]
        shop("BatchWriteItem", RequestItems={"shop": puts})
    asked = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values(p="a")}
    first = shop("Query", **asked, ReturnConsumedCapacity="TOTAL")
    assert first["Count"] == -(-(1 << 20) // 703)
    assert first["ConsumedCapacity"]["CapacityUnits"] == 0.5 * -(-703 * first["Count"] // 4096)
    rest = shop("Query", **asked, ExclusiveStartKey=first["LastEvaluatedKey"])
    assert (first["Count"] + rest["Count"], "LastEvaluatedKey" in rest) == (1500, False)


def test_a_filter_counts_what_it_dropped_and_the_limit_comes_before_it(stocked: Ask) -> None:
    answer = stocked(
        "Query",
        KeyConditionExpression="pk = :p",
        FilterExpression="g1sk > :n",
        ExpressionAttributeValues=values(p="a", n=-1),
        Limit=3,
    )
    assert (answer["Count"], answer["ScannedCount"], sks(answer)) == (1, 3, ["k0"])
    assert answer["LastEvaluatedKey"] == item(pk="a", sk="k2")


def test_a_count_answers_without_items(stocked: Ask) -> None:
    answer = stocked("Query", KeyConditionExpression="pk = :p", ExpressionAttributeValues=values(p="a"), Select="COUNT")
    assert answer == {"Count": 5, "ScannedCount": 5}


def test_an_index_answers_what_it_projects(stocked: Ask) -> None:
    city: dict[str, Any] = {
        "IndexName": "by-city",
        "KeyConditionExpression": "city = :c",
        "ExpressionAttributeValues": values(c="Bern"),
    }
    found = stocked("Query", **city)["Items"][0]
    assert set(found) == {"pk", "sk", "city", "name"}
    rank = stocked(
        "Query",
        IndexName="by-rank",
        KeyConditionExpression="pk = :p",
        ExpressionAttributeValues=values(p="a"),
    )["Items"][0]
    assert set(rank) == {"pk", "sk", "rank"}


def test_a_local_index_fetches_what_it_does_not_hold_and_a_global_one_refuses(stocked: Ask) -> None:
    local = stocked(
        "Query",
        IndexName="by-rank",
        KeyConditionExpression="pk = :p AND #r = :r",
        ExpressionAttributeNames={"#r": "rank"},
        ExpressionAttributeValues=values(p="a", r=1),
        Select="ALL_ATTRIBUTES",
        ReturnConsumedCapacity="INDEXES",
    )
    assert sorted(found["name"]["S"] for found in local["Items"]) == ["n1", "n3"]
    capacity = local["ConsumedCapacity"]
    assert capacity["Table"] == {"CapacityUnits": 1.0}
    assert capacity["LocalSecondaryIndexes"] == {"by-rank": {"CapacityUnits": 0.5}}
    error = refusal(
        stocked,
        "Query",
        IndexName="by-city",
        KeyConditionExpression="city = :c",
        ExpressionAttributeValues=values(c="Bern"),
        Select="ALL_ATTRIBUTES",
    )
    assert error.message == (
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported for global "
        "secondary index by-city because its projection type is not ALL"
    )


def test_numbers_sort_as_numbers_and_binaries_as_unsigned_bytes(ask: Ask) -> None:
    cases = {"N": ["-10", "-9.5", "0", "9", "10", "1000"], "B": ["AA==", "AP8=", "fw==", "gA==", "/w=="]}
    for kind, ordered in cases.items():
        name = f"sorted-{kind}"
        ask(
            "CreateTable",
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": kind},
                {"AttributeName": "sk", "AttributeType": kind},
            ],
            KeySchema=key_schema("pk", sort=("sk",)),
        )
        for content in reversed(ordered):
            ask("PutItem", TableName=name, Item={"pk": {kind: ordered[1]}, "sk": {kind: content}})
        answer = ask(
            "Query",
            TableName=name,
            KeyConditionExpression="pk = :p AND sk >= :s",
            ExpressionAttributeValues={":p": {kind: ordered[1]}, ":s": {kind: ordered[1]}},
        )
        assert [found["sk"][kind] for found in answer["Items"]] == ordered[1:]


def test_a_multi_attribute_key_is_asked_from_left_to_right(ask: Ask) -> None:
    names = {"pk": "S", "tenant": "S", "shop": "S", "year": "N", "city": "S", "name": "S"}
    ask(
        "CreateTable",
        TableName="multi",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": k, "AttributeType": v} for k, v in names.items()],
        KeySchema=key_schema("pk"),
        GlobalSecondaryIndexes=[
            {
                "IndexName": "multi",
                "KeySchema": key_schema("tenant", "shop", sort=("year", "city", "name")),
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    places = [(2024, "Bern", "a"), (2024, "Bern", "b"), (2024, "Berne", "a"), (2025, "Bern", "a"), (10000, "A", "a")]
    for number, (year, city, name) in enumerate(places):
        ask(
            "PutItem",
            TableName="multi",
            Item=item(pk=f"{number}", tenant="t", shop="s", year=year, city=city, name=name),
        )
    ask("PutItem", TableName="multi", Item=item(pk="sparse", tenant="t", shop="s", year=2024, city="Bern"))

    def found(condition: str, **bounds: Any) -> list[str]:
        answer = ask(
            "Query",
            TableName="multi",
            IndexName="multi",
            KeyConditionExpression=f"tenant = :t AND shop = :s{condition}",
            ExpressionAttributeNames={f"#{name}": name for name in ("year", "name") if f"#{name}" in condition} or None,
            ExpressionAttributeValues=values(t="t", s="s", **bounds),
        )
        return [place["pk"]["S"] for place in answer["Items"]]

    assert found("") == ["0", "1", "2", "3", "4"]
    assert found(" AND #year = :y", y=2024) == ["0", "1", "2"]
    assert found(" AND #year > :y", y=2024) == ["3", "4"]
    assert found(" AND #year = :y AND city = :c", y=2024, c="Bern") == ["0", "1"]
    assert found(" AND #year = :y AND begins_with(city, :c)", y=2024, c="Bern") == ["0", "1", "2"]
    assert found(" AND #year = :y AND city = :c AND #name >= :n", y=2024, c="Bern", n="b") == ["1"]
    for condition, bounds, earlier, later in (
        (" AND city = :c", {"c": "Bern"}, "year", "city"),
        (" AND #year > :y AND city = :c", {"y": 2000, "c": "Bern"}, "year", "city"),
        (" AND #year = :y AND #name = :n", {"y": 2024, "n": "a"}, "city", "name"),
    ):
        assert refusal(found, condition, **bounds).message == (
            f"RANGE key attributes {earlier} must have equality conditions specified in the query because a condition "
            f"is present on key attribute {later}"
        )
    error = refusal(
        ask,
        "Query",
        TableName="multi",
        IndexName="multi",
        KeyConditionExpression="tenant = :t",
        ExpressionAttributeValues=values(t="t"),
    )
    assert error.message == "HASH key attributes shop must have equality conditions specified in the query"
    equal = {
        name: {"ComparisonOperator": "EQ", "AttributeValueList": [content]}
        for name, content in item(tenant="t", shop="s", year=2024, city="Bern").items()
    }
    answer = ask("Query", TableName="multi", IndexName="multi", KeyConditions=equal)
    assert [place["pk"]["S"] for place in answer["Items"]] == ["0", "1"], "also without expressions"


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"KeyConditionExpression": "sk = :p"}, "Query condition missed key schema element: pk"),
        ({"KeyConditionExpression": "pk > :p"}, "Query key condition not supported"),
        ({"KeyConditionExpression": "pk = :p AND n = :p"}, "Query condition missed key schema element: sk"),
        (
            {"KeyConditionExpression": "pk = :p OR sk = :p"},
            "Invalid KeyConditionExpression: Invalid operator used in KeyConditionExpression: OR",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND pk = :p"},
            "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition per key",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND sk = city"},
            "Invalid KeyConditionExpression: Invalid condition in KeyConditionExpression: "
            "Multiple attribute names used in one condition",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND sk.part = :p"},
            "Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values(p=1)},
            "One or more parameter values were invalid: Condition parameter type does not match schema type",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "FilterExpression": "sk = :p"},
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "FilterExpression": "sk.part = :p"},
            "Filter Expression can only contain non-primary key attributes: Primary key attribute: sk",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "FilterExpression": "city.part = :p"},
            "Key attributes must be scalars; list random access '[]' and map lookup '.' are not allowed: "
            "IndexKey: city",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND sk = :p", "IndexName": "by-city"},
            "Query key condition not supported",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "IndexName": "none"},
            "The table does not have the specified index: none",
        ),
        (
            {"KeyConditionExpression": "g1pk = :p", "IndexName": "gsi1", "ConsistentRead": True},
            "Consistent reads are not supported on global secondary indexes",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "ExclusiveStartKey": item(pk="a")},
            "The provided starting key is invalid",
        ),
        (
            {"KeyConditionExpression": "pk = :p", "ExclusiveStartKey": item(pk="b", sk="x")},
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND sk > :p", "ExclusiveStartKey": item(pk="a", sk="A")},
            "The provided starting key does not match the range key predicate",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND sk > :p", "ExclusiveStartKey": item(pk="b", sk="A")},
            "The provided starting key does not match the range key predicate",
        ),
        (
            {"KeyConditionExpression": "pk = :p AND sk > :p", "ExclusiveStartKey": item(pk="b", sk="x")},
            "The query can return at most one row and cannot be restarted",
        ),
        (
            {
                "KeyConditionExpression": "#long = :p",
                "ExpressionAttributeNames": {"#long": "x" * 65536},
            },
            "ExpressionAttributeNames contains invalid value: Attribute name is too large, must be less than 65536 "
            "bytes for key #long",
        ),
        (
            {
                "KeyConditionExpression": "city = :p",
                "IndexName": "by-city",
                "ProjectionExpression": "secret",
            },
            "One or more parameter values were invalid: Global secondary index by-city does not project [secret]",
        ),
    ],
)
def test_invalid_query_has_aws_message(stocked: Ask, members: dict[str, Any], complaint: str) -> None:
    error = refusal(stocked, "Query", **{"ExpressionAttributeValues": values(p="a"), **members})
    assert (error.code, error.message) == ("ValidationException", complaint)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"N": ""}, "The parameter cannot be converted to a numeric value: "),
        ({"NS": ["1", "1"]}, "One or more parameter values were invalid: Input collection contains duplicates."),
        ({"M": {"": {"S": "x"}}}, "Empty attribute name"),
    ],
)
def test_query_reports_invalid_value_without_placeholder(stocked: Ask, wrong: dict[str, Any], complaint: str) -> None:
    given = values(p="a", wrong=wrong)
    for members in (
        {"FilterExpression": "n = :wrong", "ExpressionAttributeValues": given},
        {"ExclusiveStartKey": {**item(pk="a"), "sk": wrong}, "ExpressionAttributeValues": values(p="a")},
    ):
        error = refusal(stocked, "Query", KeyConditionExpression="pk = :p", **members)
        assert (error.code, error.message) == ("ValidationException", complaint)
    error = refusal(stocked, "Scan", FilterExpression="n = :wrong", ExpressionAttributeValues=values(wrong=wrong))
    assert error.message.startswith("ExpressionAttributeValues contains invalid value: ")
    assert error.message.endswith(" for key :wrong")


@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        ({"FilterExpression": ""}, "Invalid FilterExpression: The expression can not be empty;"),
        ({"ProjectionExpression": ""}, "Invalid ProjectionExpression: The expression can not be empty;"),
        (
            {"ExpressionAttributeNames": {"#unused": "n"}},
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#unused}",
        ),
    ],
)
def test_key_condition_is_checked_after_other_expressions(
    stocked: Ask, members: dict[str, Any], complaint: str
) -> None:
    for _ in range(2):  # also when the expression is known
        error = refusal(stocked, "Query", KeyConditionExpression="pk = sk", **members)
        assert (error.code, error.message) == ("ValidationException", complaint)


def test_a_query_has_no_more_conditions_than_there_are_key_attributes(stocked: Ask) -> None:
    error = refusal(
        stocked,
        "Query",
        KeyConditionExpression="pk = :p AND sk = :p AND city = :p",
        ExpressionAttributeValues=values(p="a"),
    )
    assert error.message == (
        "The number of query conditions (3) exceeds the number of key attributes defined in the schema (2)"
    )


def test_a_query_needs_a_key_condition(stocked: Ask) -> None:
    assert refusal(stocked, "Query").message == (
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the request."
    )


def test_a_scan_reads_everything_in_pages(stocked: Ask) -> None:
    found: list[str] = []
    start: dict[str, Any] = {}
    while True:
        page = stocked("Scan", Limit=4, **start)
        found += [each["pk"]["S"] + each["sk"]["S"] for each in page["Items"]]
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    assert sorted(found) == ["ak0", "ak1", "ak2", "ak3", "ak4", "bk0"]


def test_segments_of_a_scan_are_disjoint_and_complete(stocked: Ask) -> None:
    for number in range(20):
        stocked("PutItem", Item=item(pk=f"p{number}", sk="s"))
    segments = [
        [(each["pk"]["S"], each["sk"]["S"]) for each in stocked("Scan", Segment=n, TotalSegments=3)["Items"]]
        for n in range(3)
    ]
    together = [place for segment in segments for place in segment]
    assert len(together) == len(set(together)) == 26
    assert all(segments)


def test_partition_without_sort_key_has_no_next_page(ask: Ask) -> None:
    ask(
        "CreateTable",
        TableName="users",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=key_schema("id"),
    )
    ask("PutItem", TableName="users", Item=item(id="ann"))
    one: dict[str, Any] = {
        "TableName": "users",
        "KeyConditionExpression": "id = :id",
        "ExpressionAttributeValues": values(id="ann"),
    }
    answer = ask("Query", **one, Limit=1)
    assert answer["Count"] == 1
    assert "LastEvaluatedKey" not in answer
    assert refusal(ask, "Query", **one, ExclusiveStartKey=item(id="ann")).message == (
        "The provided exclusive start key is invalid: ExclusiveStartKey: {id=AttributeValue: {S:ann}}"
    )
    assert ask("Scan", TableName="users", Limit=1)["LastEvaluatedKey"] == item(id="ann")


SCANNED = {
    "S": {"Alice": b"Alice", "Bob": b"Bob", "é": "é".encode(), "a\x00b": b"a\x00b", "x" * 300: b"x" * 300},
    "N": {"0": b"\x80", "1": b"\xc1\x02", "1.5": b"\xc1\x02\x33", "-15": b"\x3e\x56\x66", "1000": b"\xc2\x0b"},
    "B": {"AA==": b"\x00", "AAE=": b"\x00\x01", "/w==": b"\xff", "enp6": b"zzz"},
}
"""Keys, and the bytes of them that DynamoDB hashes."""


@pytest.mark.parametrize("kind", SCANNED)
def test_a_scan_follows_the_hash_of_dynamodb(ask: Ask, kind: str) -> None:
    attributes = [{"AttributeName": "k", "AttributeType": kind}, {"AttributeName": "g", "AttributeType": kind}]
    index = {"IndexName": "by-g", "KeySchema": key_schema("g"), "Projection": {"ProjectionType": "ALL"}}
    ask(
        "CreateTable",
        TableName="keys",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=attributes,
        KeySchema=key_schema("k"),
        GlobalSecondaryIndexes=[index],
    )
    contents = SCANNED[kind]
    expected = sorted(contents, key=lambda content: md5(b"Outliers" + contents[content]).digest())
    for content in contents:
        ask("PutItem", TableName="keys", Item={"k": {kind: content}, "g": {kind: content}})
    for more in ({}, {"IndexName": "by-g"}):
        assert [found["k"][kind] for found in ask("Scan", TableName="keys", **more)["Items"]] == expected
        segments = [ask("Scan", TableName="keys", Segment=s, TotalSegments=3, **more)["Items"] for s in range(3)]
        assert [found["k"][kind] for segment in segments for found in segment] == expected


def test_entries_of_an_index_with_equal_keys_follow_the_hash_of_their_items(shop: Ask) -> None:
    keys = [(f"p{number % 4}", f"s{number}") for number in range(12)]
    for pk, sk in keys:
        shop("PutItem", Item=item(pk=pk, sk=sk, city="Bern"))
    query = {"KeyConditionExpression": "city = :c", "ExpressionAttributeValues": values(c="Bern")}
    found = shop("Query", IndexName="by-city", **query)["Items"]
    expected = sorted(keys, key=lambda key: md5(b"Outliers" + "".join(key).encode()).digest())
    assert [(each["pk"]["S"], each["sk"]["S"]) for each in found] == expected
