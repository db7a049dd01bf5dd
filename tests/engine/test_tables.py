"""CreateTable, DescribeTable, DeleteTable, ListTables, and time to live."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import SHOP, Ask, item, key_schema, refusal


def test_a_created_table_is_described_with_its_keys_and_indexes(ask: Ask) -> None:
    assert ask("CreateTable", **SHOP)["TableDescription"]["TableStatus"] == "CREATING"
    table = ask("DescribeTable", TableName="shop")["Table"]
    assert table["TableStatus"] == "ACTIVE"
    assert table["KeySchema"] == SHOP["KeySchema"]
    assert table["AttributeDefinitions"] == SHOP["AttributeDefinitions"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["gsi1", "by-city"]
    assert table["GlobalSecondaryIndexes"][1]["Projection"] == {
        "ProjectionType": "INCLUDE",
        "NonKeyAttributes": ["name"],
    }
    assert table["LocalSecondaryIndexes"][0]["KeySchema"] == key_schema("pk", sort=("rank",))


def test_a_description_counts_items_and_index_entries(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", city="Bern"))
    shop("PutItem", Item=item(pk="a", sk="2"))
    table = shop("DescribeTable")["Table"]
    assert (table["ItemCount"], table["TableSizeBytes"]) == (2, 20)
    assert [index["ItemCount"] for index in table["GlobalSecondaryIndexes"]] == [0, 1]


def test_a_name_is_taken_once(shop: Ask) -> None:
    error = refusal(shop, "CreateTable", **SHOP)
    assert (error.code, error.message) == ("ResourceInUseException", "Table already exists: shop")


def test_a_deleted_table_takes_its_items_with_it(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", g1pk="x", g1sk=1))
    assert shop("DeleteTable")["TableDescription"]["TableStatus"] == "DELETING"
    error = refusal(shop, "DescribeTable")
    assert (error.code, error.message) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: shop not found",
    )
    shop("CreateTable", **SHOP)
    assert shop("Scan")["Count"] == 0
    assert shop("Scan", IndexName="gsi1")["Count"] == 0


def test_names_are_listed_in_pages(ask: Ask) -> None:
    names = [f"table-{letter}" for letter in "cab"]
    for name in names:
        ask(
            "CreateTable",
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            KeySchema=key_schema("pk"),
        )
    first = ask("ListTables", Limit=2)
    assert first == {"TableNames": ["table-a", "table-b"], "LastEvaluatedTableName": "table-b"}
    assert ask("ListTables", ExclusiveStartTableName="table-b") == {"TableNames": ["table-c"]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            {"TableName": None},
            "The parameter 'TableName' is required but was not present in the request",
        ),
        (
            {"TableName": "ab"},
            "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: "
            "Member must have length greater than or equal to 3",
        ),
        (
            {"KeySchema": [{"AttributeName": "pk", "KeyType": "INVALID"}]},
            "1 validation error detected: Value 'INVALID' at 'keySchema.1.member.keyType' failed to satisfy "
            "constraint: Member must satisfy enum value set: [HASH, RANGE]",
        ),
        (
            {"KeySchema": key_schema("nope")},
            "One or more parameter values were invalid: Some index key attributes are not defined in "
            "AttributeDefinitions. Keys: [nope], AttributeDefinitions: [pk, sk, g1pk, g1sk, city, rank]",
        ),
        (
            {"BillingMode": "PROVISIONED"},
            "One or more parameter values were invalid: ReadCapacityUnits and WriteCapacityUnits must both be "
            "specified when BillingMode is PROVISIONED",
        ),
        (
            {"KeySchema": key_schema("pk"), "GlobalSecondaryIndexes": None},
            "One or more parameter values were invalid: Table KeySchema does not have a range key, which is "
            "required when specifying a LocalSecondaryIndex",
        ),
        (
            {"GlobalSecondaryIndexes": SHOP["GlobalSecondaryIndexes"][:1] * 2},
            "One or more parameter values were invalid: Duplicate index name: gsi1",
        ),
        (
            {"GlobalSecondaryIndexes": None, "LocalSecondaryIndexes": None},
            "One or more parameter values were invalid: Number of attributes in KeySchema does not exactly match "
            "number of attributes defined in AttributeDefinitions",
        ),
        (
            {
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "gsi1",
                        "KeySchema": key_schema("g1pk"),
                        "Projection": {"ProjectionType": "ALL", "NonKeyAttributes": ["x"]},
                    }
                ]
            },
            "One or more parameter values were invalid: ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
    ],
)
def test_a_table_that_cannot_be_is_refused_in_awss_words(ask: Ask, change: dict[str, Any], complaint: str) -> None:
    error = refusal(ask, "CreateTable", **{**SHOP, **change})
    assert (error.code, error.message) == ("ValidationException", complaint)


def test_a_global_index_has_up_to_four_and_four_key_attributes(ask: Ask) -> None:
    names = [f"a{number}" for number in range(9)]

    def create(partition: list[str], sort: list[str]) -> dict[str, Any]:
        used = ["pk", *partition, *sort]
        return ask(
            "CreateTable",
            TableName="wide",
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in used],
            KeySchema=key_schema("pk"),
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "multi",
                    "KeySchema": key_schema(*partition, sort=tuple(sort)),
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        )

    assert refusal(create, names[:5], names[5:8]).code == "ValidationException"
    create(names[:4], names[4:8])


def test_time_to_live_is_enabled_described_and_disabled(shop: Ask) -> None:
    def wish(enabled: bool) -> dict[str, Any]:
        return {"AttributeName": "expires", "Enabled": enabled}

    assert shop("DescribeTimeToLive") == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    shop("UpdateTimeToLive", TimeToLiveSpecification=wish(True))
    assert shop("DescribeTimeToLive") == {
        "TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}
    }
    error = refusal(shop, "UpdateTimeToLive", TimeToLiveSpecification=wish(True))
    assert error.message == "TimeToLive is already enabled"
    shop("UpdateTimeToLive", TimeToLiveSpecification=wish(False))
    assert shop("DescribeTimeToLive") == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
