"""ReturnConsumedCapacity: the table, and each index by the rule of none, one or two writes."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Ask, item, refusal, values

KEY = item(pk="a", sk="1")


def indexes(answer: dict[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {"table": answer["ConsumedCapacity"]["Table"]["CapacityUnits"]}
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for name, units in answer["ConsumedCapacity"].get(kind, {}).items():
            found[name] = units["CapacityUnits"]
    return found


def put(shop: Ask, **attributes: Any) -> dict[str, float]:
    return indexes(shop("PutItem", Item=item(pk="a", sk="1", **attributes), ReturnConsumedCapacity="INDEXES"))


def test_an_item_that_enters_no_index_costs_the_table_only(shop: Ask) -> None:
    assert put(shop) == {"table": 1.0}


def test_an_item_that_enters_an_index_costs_one_index_write(shop: Ask) -> None:
    assert put(shop, city="Bern") == {"table": 1.0, "by-city": 1.0}


def test_a_changed_index_key_costs_two_index_writes(shop: Ask) -> None:
    put(shop, city="Bern")
    assert put(shop, city="Basel") == {"table": 1.0, "by-city": 2.0}


def test_an_item_that_leaves_an_index_costs_one_index_write(shop: Ask) -> None:
    put(shop, city="Bern", g1pk="x", g1sk=1)
    answer = shop("UpdateItem", Key=KEY, UpdateExpression="REMOVE city", ReturnConsumedCapacity="INDEXES")
    # gsi1 projects all attributes, and one of them went.
    assert indexes(answer) == {"table": 1.0, "by-city": 1.0, "gsi1": 1.0}


def test_a_change_of_a_projected_attribute_costs_one_index_write(shop: Ask) -> None:
    put(shop, city="Bern", name="old")
    assert put(shop, city="Bern", name="new") == {"table": 1.0, "by-city": 1.0}


def test_a_change_of_what_is_not_projected_costs_no_index_write(shop: Ask) -> None:
    put(shop, city="Bern", name="same", other=1)
    assert put(shop, city="Bern", name="same", other=2) == {"table": 1.0}


def test_another_order_of_attributes_costs_no_index_write(shop: Ask) -> None:
    put(shop, city="Bern", g1pk="x", g1sk=1, name="same")
    assert put(shop, name="same", g1sk=1, g1pk="x", city="Bern") == {"table": 1.0}
    assert put(shop, name="emas", g1sk=1, g1pk="x", city="Bern") == {"table": 1.0, "by-city": 1.0, "gsi1": 1.0}


def test_a_delete_costs_each_index_one_write(shop: Ask) -> None:
    put(shop, city="Bern", g1pk="x", g1sk=1, rank=5)
    answer = shop("DeleteItem", Key=KEY, ReturnConsumedCapacity="INDEXES")
    assert indexes(answer) == {"table": 1.0, "by-city": 1.0, "gsi1": 1.0, "by-rank": 1.0}


def test_a_write_is_charged_for_the_larger_of_before_and_after(shop: Ask) -> None:
    assert put(shop, big="x" * 3000) == {"table": 3.0}
    assert put(shop, big="x") == {"table": 3.0}
    assert put(shop, big="x") == {"table": 1.0}


def test_an_index_entry_is_charged_by_its_own_size(shop: Ask) -> None:
    assert put(shop, city="Bern", big="x" * 3000) == {"table": 3.0, "by-city": 1.0}


def test_total_sums_table_and_indexes(shop: Ask) -> None:
    answer = shop("PutItem", Item=item(pk="a", sk="1", city="Bern"), ReturnConsumedCapacity="TOTAL")
    assert answer == {"ConsumedCapacity": {"TableName": "shop", "CapacityUnits": 2.0}}


@pytest.mark.parametrize(("consistent", "units"), [(False, 1.0), (True, 2.0)])
def test_a_strong_read_costs_twice_an_eventual_one(shop: Ask, consistent: bool, units: float) -> None:
    put(shop, big="x" * 5000)
    answer = shop("GetItem", Key=KEY, ConsistentRead=consistent, ReturnConsumedCapacity="TOTAL")
    assert answer["ConsumedCapacity"]["CapacityUnits"] == units


def test_a_read_of_nothing_is_charged(shop: Ask) -> None:
    answer = shop("GetItem", Key=KEY, ReturnConsumedCapacity="TOTAL")
    assert answer == {"ConsumedCapacity": {"TableName": "shop", "CapacityUnits": 0.5}}


def test_a_query_sums_sizes_before_it_rounds(shop: Ask) -> None:
    for number in range(10):
        shop("PutItem", Item=item(pk="a", sk=f"{number}", big="x" * 1000, g1pk="x", g1sk=number))
    table: dict[str, Any] = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values(p="a")}
    index: dict[str, Any] = {
        "IndexName": "gsi1",
        "KeyConditionExpression": "g1pk = :p",
        "ExpressionAttributeValues": values(p="x"),
    }
    assert indexes(shop("Query", **table, ReturnConsumedCapacity="INDEXES")) == {"table": 1.5}
    assert indexes(shop("Query", **index, ReturnConsumedCapacity="INDEXES")) == {"table": 0.0, "gsi1": 1.5}


def test_a_filter_does_not_reduce_the_cost(shop: Ask) -> None:
    put(shop, big="x" * 9000)
    answer = shop(
        "Query",
        KeyConditionExpression="pk = :p",
        FilterExpression="attribute_not_exists(big)",
        ExpressionAttributeValues=values(p="a"),
        ReturnConsumedCapacity="TOTAL",
    )
    assert (answer["Count"], answer["ConsumedCapacity"]["CapacityUnits"]) == (0, 1.5)


def test_transactions_cost_the_table_twice_and_an_index_once(shop: Ask) -> None:
    answer = shop(
        "TransactWriteItems",
        TransactItems=[{"Put": {"TableName": "shop", "Item": item(pk="a", sk="1", city="Bern")}}],
        ReturnConsumedCapacity="INDEXES",
    )
    (capacity,) = answer["ConsumedCapacity"]
    assert capacity["CapacityUnits"] == 3.0
    assert capacity["Table"]["CapacityUnits"] == 2.0
    assert capacity["GlobalSecondaryIndexes"]["by-city"]["CapacityUnits"] == 1.0
    answer = shop(
        "TransactGetItems",
        TransactItems=[{"Get": {"TableName": "shop", "Key": KEY}}],
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["ConsumedCapacity"][0]["CapacityUnits"] == 2.0


def test_a_batch_get_rounds_each_item(shop: Ask) -> None:
    for number in range(3):
        shop("PutItem", Item=item(pk="a", sk=f"{number}"))
    answer = shop(
        "BatchGetItem",
        RequestItems={"shop": {"Keys": [item(pk="a", sk=f"{n}") for n in range(3)]}},
        ReturnConsumedCapacity="TOTAL",
    )
    assert answer["ConsumedCapacity"] == [{"TableName": "shop", "CapacityUnits": 1.5}]


def test_capacity_has_three_levels_of_detail(shop: Ask) -> None:
    assert "ConsumedCapacity" not in shop("GetItem", Key=KEY, ReturnConsumedCapacity="NONE")
    assert refusal(shop, "GetItem", Key=KEY, ReturnConsumedCapacity="ALL").code == "ValidationException"
