"""Provisioned, on-demand and warm throughput of tables and indexes: kept, changed and described."""

from __future__ import annotations

import time
from typing import Any

import pytest

from .conftest import SHOP, Ask, refusal

INVALID = "One or more parameter values were invalid: "


def units(read: int, write: int) -> dict[str, int]:
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": write}


ONLY_KEYS: dict[str, Any] = {
    "TableName": "shop",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}
INDEX = {
    "IndexName": "gsi1",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}


def described(ask: Ask) -> dict[str, Any]:
    table: dict[str, Any] = ask("DescribeTable", TableName="shop")["Table"]
    return table


def test_an_update_shows_old_units_until_it_is_done(ask: Ask) -> None:
    ask("CreateTable", **ONLY_KEYS, ProvisionedThroughput=units(5, 5))
    assert described(ask)["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units(5, 5)}
    before = time.time()
    shown = ask("UpdateTable", TableName="shop", ProvisionedThroughput=units(9, 9))["TableDescription"]
    assert shown["TableStatus"] == "UPDATING"
    assert {name: shown["ProvisionedThroughput"][name] for name in units(0, 0)} == units(5, 5)
    throughput = described(ask)["ProvisionedThroughput"]
    assert before <= throughput.pop("LastIncreaseDateTime") <= time.time()
    assert throughput == {"NumberOfDecreasesToday": 0, **units(9, 9)}
    ask("UpdateTable", TableName="shop", ProvisionedThroughput=units(9, 1))
    throughput = described(ask)["ProvisionedThroughput"]
    assert throughput["LastDecreaseDateTime"] >= before
    assert throughput["NumberOfDecreasesToday"] == 1


def test_units_have_an_upper_bound(ask: Ask) -> None:
    most = 10**12
    assert refusal(ask, "CreateTable", **ONLY_KEYS, ProvisionedThroughput=units(most + 1, 1)).message == (
        "Given value 1000000000001 for ReadCapacityUnits is out of bounds"
    )
    index = {**INDEX, "ProvisionedThroughput": units(1, most + 1)}
    error = refusal(ask, "CreateTable", **ONLY_KEYS, ProvisionedThroughput=units(1, 1), GlobalSecondaryIndexes=[index])
    assert error.message == "Given value 1000000000001 for WriteCapacityUnits is out of bounds for index gsi1"
    ask("CreateTable", **ONLY_KEYS, ProvisionedThroughput=units(most, most))


def test_limits_on_demand_are_kept_merged_and_removed(ask: Ask) -> None:
    limits = {"MaxReadRequestUnits": 10, "MaxWriteRequestUnits": 20}
    index = {**INDEX, "OnDemandThroughput": {"MaxReadRequestUnits": 5}}
    ask(
        "CreateTable",
        **ONLY_KEYS,
        BillingMode="PAY_PER_REQUEST",
        OnDemandThroughput=limits,
        GlobalSecondaryIndexes=[index],
    )
    table = described(ask)
    assert table["OnDemandThroughput"] == limits
    assert table["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == {"MaxReadRequestUnits": 5}
    answer = ask("UpdateTable", TableName="shop", OnDemandThroughput={"MaxReadRequestUnits": -1})
    assert answer["TableDescription"]["OnDemandThroughput"] == {"MaxReadRequestUnits": -1}
    assert described(ask)["OnDemandThroughput"] == {"MaxWriteRequestUnits": 20}
    change = {"Update": {"IndexName": "gsi1", "OnDemandThroughput": {"MaxWriteRequestUnits": 7}}}
    ask("UpdateTable", TableName="shop", GlobalSecondaryIndexUpdates=[change])
    assert described(ask)["GlobalSecondaryIndexes"][0]["OnDemandThroughput"] == {
        "MaxReadRequestUnits": 5,
        "MaxWriteRequestUnits": 7,
    }
    provisioned = {"Update": {"IndexName": "gsi1", "ProvisionedThroughput": units(1, 1)}}
    ask(
        "UpdateTable",
        TableName="shop",
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units(1, 1),
        GlobalSecondaryIndexUpdates=[provisioned],
    )
    table = described(ask)
    assert "OnDemandThroughput" not in table
    assert "OnDemandThroughput" not in table["GlobalSecondaryIndexes"][0]


@pytest.mark.parametrize("wrong", [0, -1])
def test_limits_on_demand_are_at_least_one(ask: Ask, wrong: int) -> None:
    error = refusal(
        ask,
        "CreateTable",
        **ONLY_KEYS,
        BillingMode="PAY_PER_REQUEST",
        OnDemandThroughput={"MaxWriteRequestUnits": wrong},
    )
    assert error.message == (
        INVALID + "Requested MaxWriteRequestUnits for OnDemandThroughput for table is outside of valid range"
    )


def test_a_provisioned_table_has_no_limits_on_demand(ask: Ask) -> None:
    limits = {"MaxReadRequestUnits": 10}
    error = refusal(ask, "CreateTable", **ONLY_KEYS, ProvisionedThroughput=units(1, 1), OnDemandThroughput=limits)
    assert error.message == (
        INVALID
        + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED."
    )
    ask("CreateTable", **ONLY_KEYS, ProvisionedThroughput=units(1, 1))
    assert refusal(ask, "UpdateTable", TableName="shop", OnDemandThroughput=limits).message == (
        INVALID + "MaxReadRequestUnits for OnDemandThroughput cannot be specified when the table BillingMode is "
        "PROVISIONED"
    )


def test_warm_throughput_is_kept_for_tables_and_indexes(ask: Ask) -> None:
    warm = {"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 5_000}
    ask("CreateTable", **SHOP, WarmThroughput=warm)
    assert described(ask)["WarmThroughput"] == {**warm, "Status": "ACTIVE"}
    ask("UpdateTable", TableName="shop", WarmThroughput={"ReadUnitsPerSecond": 14_000})
    assert described(ask)["WarmThroughput"] == {
        "ReadUnitsPerSecond": 14_000,
        "WriteUnitsPerSecond": 5_000,
        "Status": "ACTIVE",
    }
    change = {"Update": {"IndexName": "gsi1", "WarmThroughput": warm}}
    ask("UpdateTable", TableName="shop", GlobalSecondaryIndexUpdates=[change])
    (index,) = (each for each in described(ask)["GlobalSecondaryIndexes"] if each["IndexName"] == "gsi1")
    assert index["WarmThroughput"] == {**warm, "Status": "ACTIVE"}
    assert refusal(ask, "UpdateTable", TableName="shop", WarmThroughput={"ReadUnitsPerSecond": 0}).message == (
        "1 validation error detected: Value '0' at 'warmThroughput.readUnitsPerSecond' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1"
    )
