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


def defined(*names: str) -> list[dict[str, str]]:
    return [each for each in SHOP["AttributeDefinitions"] if each["AttributeName"] in names]


def global_index(name: str, keys: list[dict[str, str]], *included: str) -> dict[str, Any]:
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": included} if included else {"ProjectionType": "ALL"}
    return {"IndexName": name, "KeySchema": keys, "Projection": projection}


ONLY_CITY: dict[str, Any] = {"LocalSecondaryIndexes": None, "AttributeDefinitions": defined("pk", "sk", "city")}


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
            {
                "KeySchema": key_schema("pk"),
                "GlobalSecondaryIndexes": None,
                "AttributeDefinitions": defined("pk", "rank"),
            },
            "One or more parameter values were invalid: Table KeySchema does not have a range key, which is "
            "required when specifying a LocalSecondaryIndex",
        ),
        (
            {
                "GlobalSecondaryIndexes": SHOP["GlobalSecondaryIndexes"][:1] * 2,
                "AttributeDefinitions": defined("pk", "sk", "g1pk", "g1sk", "rank"),
            },
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
                ],
                "AttributeDefinitions": defined("pk", "sk", "g1pk", "rank"),
            },
            "One or more parameter values were invalid: ProjectionType is ALL, but NonKeyAttributes is specified",
        ),
        (
            {"GlobalSecondaryIndexes": [global_index("two-same", key_schema("city", sort=("city",)))], **ONLY_CITY},
            "The KeySchema contains multiple key attributes with the same name",
        ),
        (
            {
                "GlobalSecondaryIndexes": [global_index("mixed", key_schema("city", sort=("sk",)) + key_schema("pk"))],
                **ONLY_CITY,
            },
            "One or more parameter values were invalid: All HASH key attributes must precede RANGE key attributes in "
            "the KeySchema",
        ),
        (
            {
                "GlobalSecondaryIndexes": [global_index("twice", key_schema("city"), "name", "name")],
                **ONLY_CITY,
            },
            "One or more parameter values were invalid: Duplicate element in NonKeyAttributes: name",
        ),
        (
            {"AttributeDefinitions": [*SHOP["AttributeDefinitions"], {"AttributeName": "sk", "AttributeType": "N"}]},
            "Attribute Name is duplicated: sk",
        ),
        (
            {"TableClass": "CHEAP"},
            "Invalid table-class parameter provided. Please try again with a valid table-class value: [STANDARD, "
            "STANDARD_INFREQUENT_ACCESS].",
        ),
        (
            {"LocalSecondaryIndexes": None},
            "One or more parameter values were invalid: Some AttributeDefinitions are not used. AttributeDefinitions: "
            "[pk, sk, g1pk, g1sk, city, rank], keys used: [pk, sk, g1pk, g1sk, city]",
        ),
    ],
)
def test_invalid_table_has_aws_message(ask: Ask, change: dict[str, Any], complaint: str) -> None:
    error = refusal(ask, "CreateTable", **{**SHOP, **change})
    assert (error.code, error.message) == ("ValidationException", complaint)


def test_global_index_errors_come_before_local_ones(ask: Ask) -> None:
    kinds = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
    renamed = {kind: [{**SHOP[kind][0], "IndexName": "ab"}] for kind in reversed(kinds)}
    listed = (
        f"Value 'ab' at '{kind[0].lower()}{kind[1:]}.1.member.indexName' failed to satisfy constraint: "
        "Member must have length greater than or equal to 3"
        for kind in kinds
    )
    error = refusal(ask, "CreateTable", **{**SHOP, **renamed})
    assert error.message == f"2 validation errors detected: {'; '.join(listed)}"


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

    for partition, sort, role in ((5, 3, "HASH"), (3, 5, "RANGE")):
        error = refusal(create, names[:partition], names[partition : partition + sort])
        assert error.message == (
            "One or more parameter values were invalid: The KeySchema exceeds the maximum allowed number of "
            f"{role} key attributes"
        )
    create(names[:4], names[4:8])


def test_an_index_projects_at_most_20_attributes_by_name(ask: Ask) -> None:
    names = [f"a{number:02}" for number in range(21)]
    index = global_index("wide", key_schema("city"), *reversed(names))
    error = refusal(ask, "CreateTable", **{**SHOP, **ONLY_CITY, "GlobalSecondaryIndexes": [index]})
    assert error.message.endswith(
        "at 'globalSecondaryIndexes.1.member.projection.nonKeyAttributes' failed to satisfy constraint: "
        "Member must have length less than or equal to 20"
    )
    index["Projection"]["NonKeyAttributes"] = list(reversed(names[:20]))
    ask("CreateTable", **{**SHOP, **ONLY_CITY, "GlobalSecondaryIndexes": [index]})
    described = ask("DescribeTable", TableName="shop")["Table"]["GlobalSecondaryIndexes"][0]
    assert described["Projection"]["NonKeyAttributes"] == list(reversed(names[:20]))


def test_warm_throughput_is_described_after_creation(ask: Ask) -> None:
    created = ask("CreateTable", **SHOP)["TableDescription"]
    assert "WarmThroughput" not in created
    assert "Backfilling" not in created["GlobalSecondaryIndexes"][0]
    table = ask("DescribeTable", TableName="shop")["Table"]
    warm = {"ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}
    assert table["WarmThroughput"] == table["GlobalSecondaryIndexes"][0]["WarmThroughput"] == warm
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    ask(
        "CreateTable",
        TableName="paid",
        KeySchema=key_schema("pk"),
        AttributeDefinitions=defined("pk"),
        ProvisionedThroughput=units,
    )
    warm = {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 6, "Status": "ACTIVE"}
    assert ask("DescribeTable", TableName="paid")["Table"]["WarmThroughput"] == warm


def test_describe_limits(ask: Ask) -> None:
    assert ask("DescribeLimits")["TableMaxReadCapacityUnits"] == 40_000


def test_delete_table_returns_no_keys_or_indexes(shop: Ask) -> None:
    table = shop("DeleteTable")["TableDescription"]
    assert (table["TableName"], table["TableStatus"]) == ("shop", "DELETING")
    assert {"AttributeDefinitions", "KeySchema", "CreationDateTime", "GlobalSecondaryIndexes"}.isdisjoint(table)


@pytest.mark.parametrize(
    ("name", "bound"), [("", "greater than or equal to 1"), ("x" * 256, "less than or equal to 255")]
)
def test_the_name_of_a_time_to_live_attribute_is_neither_empty_nor_long(shop: Ask, name: str, bound: str) -> None:
    error = refusal(shop, "UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": name, "Enabled": True})
    assert error.message == (
        f"1 validation error detected: Value '{name}' at 'timeToLiveSpecification.attributeName' failed to satisfy "
        f"constraint: Member must have length {bound}"
    )


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
    for enabled in (True, False):
        error = refusal(shop, "UpdateTimeToLive", TimeToLiveSpecification={**wish(enabled), "AttributeName": "other"})
        assert error.message == "TimeToLive is active on a different AttributeName: current AttributeName is expires"
    shop("UpdateTimeToLive", TimeToLiveSpecification=wish(False))
    error = refusal(shop, "UpdateTimeToLive", TimeToLiveSpecification=wish(False))
    assert error.message == "TimeToLive is already disabled"
    assert shop("DescribeTimeToLive") == {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
