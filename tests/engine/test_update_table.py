"""UpdateTable: indexes added and removed, billing, throughput, protection."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import SHOP, Ask, item, key_schema, refusal, values

MAIL = {"AttributeName": "mail", "AttributeType": "S"}


def creation(name: str = "by-mail", *keys: str, **more: Any) -> dict[str, Any]:
    index = {"IndexName": name, "KeySchema": key_schema(*(keys or ("mail",))), "Projection": {"ProjectionType": "ALL"}}
    return {"Create": {**index, **more}}


def deletion(name: str) -> dict[str, Any]:
    return {"Delete": {"IndexName": name}}


def update(shop: Ask, *changes: dict[str, Any], **members: Any) -> Any:
    members.setdefault("AttributeDefinitions", [MAIL])
    return shop("UpdateTable", GlobalSecondaryIndexUpdates=list(changes), **members)["TableDescription"]


def by_mail(shop: Ask, mail: str) -> list[str]:
    answer = shop(
        "Query",
        IndexName="by-mail",
        KeyConditionExpression="mail = :m",
        ExpressionAttributeValues=values(m=mail),
    )
    return sorted(each["sk"]["S"] for each in answer["Items"])


def test_new_index_contains_old_and_new_items(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", mail="x"))
    shop("PutItem", Item=item(pk="a", sk="2"))
    update(shop, creation())
    shop("PutItem", Item=item(pk="a", sk="3", mail="x"))
    assert by_mail(shop, "x") == ["1", "3"]
    shop("DeleteItem", Key=item(pk="a", sk="1"))
    assert by_mail(shop, "x") == ["3"]


def test_change_is_updating_then_active(shop: Ask) -> None:
    answer = update(shop, creation())
    assert answer["TableStatus"] == "UPDATING"
    new = answer["GlobalSecondaryIndexes"][-1]
    assert (new["IndexName"], new["IndexStatus"], new["Backfilling"]) == ("by-mail", "CREATING", False)
    assert [index["IndexStatus"] for index in answer["GlobalSecondaryIndexes"][:-1]] == ["ACTIVE", "ACTIVE"]
    table = shop("DescribeTable")["Table"]
    assert table["TableStatus"] == "ACTIVE"
    assert {index["IndexStatus"] for index in table["GlobalSecondaryIndexes"]} == {"ACTIVE"}
    answer = update(shop, deletion("by-mail"))
    assert answer["GlobalSecondaryIndexes"][-1]["IndexStatus"] == "DELETING"
    assert len(shop("DescribeTable")["Table"]["GlobalSecondaryIndexes"]) == 2


def test_removed_index_name_can_be_reused(shop: Ask) -> None:
    shop("PutItem", Item=item(pk="a", sk="1", city="Bern", mail="x"))
    update(shop, deletion("by-city"))
    assert refusal(shop, "Scan", IndexName="by-city").code == "ValidationException"
    shop("PutItem", Item=item(pk="a", sk="2", city={"BOOL": True}, mail="x"))
    update(shop, creation("by-city"))
    assert shop("Scan", IndexName="by-city")["Count"] == 2


def test_definitions_are_kept_of_exactly_the_attributes_that_keys_use(shop: Ask) -> None:
    def defined() -> set[str]:
        return {each["AttributeName"] for each in shop("DescribeTable")["Table"]["AttributeDefinitions"]}

    before = defined()
    unused = {"AttributeName": "unused", "AttributeType": "N"}
    update(shop, creation(), AttributeDefinitions=[MAIL, unused])
    assert defined() == before | {"mail"}
    update(shop, deletion("by-mail"))
    assert defined() == before


def test_items_unsuitable_for_new_index_are_skipped(shop: Ask) -> None:
    for sk, mail in (("1", "x"), ("2", 5), ("3", ""), ("4", "x" * 2049)):
        shop("PutItem", Item=item(pk="a", sk=sk, mail=mail))
    update(shop, creation())
    assert [each["sk"]["S"] for each in shop("Scan", IndexName="by-mail")["Items"]] == ["1"]
    touch: dict[str, Any] = {"UpdateExpression": "SET other = :o", "ExpressionAttributeValues": values(o=1)}
    assert refusal(shop, "UpdateItem", Key=item(pk="a", sk="2"), **touch).code == "ValidationException"
    mend: dict[str, Any] = {"UpdateExpression": "SET mail = :m", "ExpressionAttributeValues": values(m="x")}
    shop("UpdateItem", Key=item(pk="a", sk="2"), **mend)
    shop("DeleteItem", Key=item(pk="a", sk="3"))
    shop("DeleteItem", Key=item(pk="a", sk="4"))
    assert by_mail(shop, "x") == ["1", "2"]


INVALID = "One or more parameter values were invalid: "


@pytest.mark.parametrize(
    ("members", "code", "complaint"),
    [
        (
            {},
            "ValidationException",
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates, "
            "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, "
            "MultiRegionConsistency, DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is "
            "required",
        ),
        (
            {"DeletionProtectionEnabled": True, "GlobalSecondaryIndexUpdates": []},
            "ValidationException",
            INVALID + "List of GlobalSecondaryIndexUpdates is empty",
        ),
        (
            {"DeletionProtectionEnabled": True, "TableClass": "STANDARD"},
            "ValidationException",
            INVALID + "DeletionProtection modification must be the only operation in the request",
        ),
        (
            {"TableClass": "STANDARD", "BillingMode": "PAY_PER_REQUEST"},
            "ValidationException",
            INVALID + "TableClass modification must be the only operation in the request",
        ),
        (
            {
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                "GlobalSecondaryIndexUpdates": [deletion("gsi1")],
            },
            "ValidationException",
            INVALID + "You cannot create or delete index while updating table IOPS",
        ),
        (
            {"AttributeDefinitions": [MAIL], "GlobalSecondaryIndexUpdates": [creation() | deletion("gsi1")]},
            "ValidationException",
            INVALID + "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate object",
        ),
        (
            {
                "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "N"}],
                "GlobalSecondaryIndexUpdates": [creation("late", "city")],
            },
            "ValidationException",
            INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as "
            "previously defined. Existing schema: Schema:[SchemaElement: key{city:S:HASH}] "
            "New schema: Schema:[SchemaElement: key{city:N:HASH}]",
        ),
        (
            {
                "GlobalSecondaryIndexUpdates": [
                    {
                        "Update": {
                            "IndexName": "gsi1",
                            "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
                        }
                    }
                ]
            },
            "ValidationException",
            INVALID + "The only Updates for index: gsi1 when TableThroughputMode is PAY_PER_REQUEST can be to "
            "OnDemandThroughput, WarmThroughput",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [{}]},
            "ValidationException",
            INVALID + "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
            "GlobalSecondaryIndexUpdate.Delete must not be null",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [creation()]},
            "ValidationException",
            INVALID + "AttributeDefinitions is not specified for index: by-mail",
        ),
        (
            # Attributes that the table has defined must be given again.
            {"AttributeDefinitions": [MAIL], "GlobalSecondaryIndexUpdates": [creation("late", "city")]},
            "ValidationException",
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [city], AttributeDefinitions: [mail]",
        ),
        (
            {
                "AttributeDefinitions": [MAIL],
                "GlobalSecondaryIndexUpdates": [creation(), deletion("gsi1")],
            },
            "LimitExceededException",
            "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
        ),
        (
            {"AttributeDefinitions": [MAIL], "GlobalSecondaryIndexUpdates": [creation("gsi1")]},
            "ValidationException",
            "Attempting to create an index which already exists",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [deletion("nope")]},
            "ResourceNotFoundException",
            "Requested resource not found: Index nope for table shop",
        ),
        (
            {"GlobalSecondaryIndexUpdates": [deletion("by-rank")]},
            "ValidationException",
            "Cannot delete an index that is not a GlobalSecondaryIndex: by-rank",
        ),
        (
            {"BillingMode": "PROVISIONED"},
            "ValidationException",
            INVALID + "ProvisionedThroughput must be specified when BillingMode is PROVISIONED",
        ),
        (
            {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}},
            "ValidationException",
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
            "PAY_PER_REQUEST",
        ),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1},
            },
            "ValidationException",
            INVALID + "ProvisionedThroughput must be specified for index: gsi1,by-city",
        ),
        (
            {"StreamSpecification": {"StreamEnabled": True}},
            "ValidationException",
            INVALID + "Table is being created with a stream enabled, StreamViewType must be specified",
        ),
    ],
)
def test_invalid_table_change_is_refused(shop: Ask, members: dict[str, Any], code: str, complaint: str) -> None:
    before = shop("DescribeTable")
    error = refusal(shop, "UpdateTable", **members)
    assert (error.code, error.message) == (code, complaint)
    assert shop("DescribeTable") == before


def test_a_table_has_at_most_20_global_indexes(shop: Ask) -> None:
    for number in range(18):
        update(shop, creation(f"late-{number}"))
    error = refusal(update, shop, creation("late-18"))
    assert error.code == "LimitExceededException"
    assert "per-table limit of 20" in error.message


def test_all_indexes_together_project_at_most_100_attributes_by_name(ask: Ask) -> None:
    def including(name: str, number: int) -> dict[str, Any]:
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"{name}-{each}" for each in range(number)]}
        return {"IndexName": name, "KeySchema": key_schema("sk"), "Projection": projection}

    base = {key: SHOP[key] for key in ("TableName", "BillingMode", "KeySchema")}
    base["AttributeDefinitions"] = SHOP["AttributeDefinitions"][:2]
    full = [including(name, 20) for name in ("one", "two", "three", "four", "five")]
    error = refusal(ask, "CreateTable", **base, GlobalSecondaryIndexes=[*full, including("six", 1)])
    assert "exceeds the limit of 100" in error.message
    ask("CreateTable", **base, GlobalSecondaryIndexes=full)
    error = refusal(
        ask,
        "UpdateTable",
        TableName="shop",
        AttributeDefinitions=base["AttributeDefinitions"],
        GlobalSecondaryIndexUpdates=[{"Create": including("six", 1)}],
    )
    assert "exceeds the limit of 100" in error.message


def test_billing_and_throughput_change_and_time_to_live_stays(shop: Ask) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "expires", "Enabled": True})
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    changes = [{"Update": {"IndexName": name, "ProvisionedThroughput": units}} for name in ("gsi1", "by-city")]
    shop(
        "UpdateTable",
        BillingMode="PROVISIONED",
        ProvisionedThroughput=units,
        GlobalSecondaryIndexUpdates=changes,
    )
    table = shop("DescribeTable")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert table["ProvisionedThroughput"] == {"NumberOfDecreasesToday": 0, **units}
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    assert "will not change" in refusal(shop, "UpdateTable", ProvisionedThroughput=units).message
    again = refusal(update, shop, changes[0])
    assert again.message.startswith("The provisioned throughput for the index gsi1 will not change. The requested")
    assert "Current ReadCapacityUnits provisioned for index gsi1: 5. Requested ReadCapacityUnits: 5." in again.message
    needs = refusal(update, shop, creation())
    assert needs.message == (
        INVALID + "Both ReadCapacityUnits and WriteCapacityUnits must be specified for index: by-mail"
    )
    update(shop, creation(ProvisionedThroughput=units))
    shop("UpdateTable", BillingMode="PAY_PER_REQUEST")
    table = shop("DescribeTable")["Table"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 0
    assert shop("DescribeTimeToLive")["TimeToLiveDescription"]["AttributeName"] == "expires"


def test_a_protected_table_is_not_deleted_until_it_no_longer_is(shop: Ask) -> None:
    shop("UpdateTable", DeletionProtectionEnabled=True)
    assert "protected against deletion" in refusal(shop, "DeleteTable").message
    shop("UpdateTable", DeletionProtectionEnabled=False)
    shop("UpdateTable", TableClass="STANDARD_INFREQUENT_ACCESS")
    assert shop("DescribeTable")["Table"]["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    shop("DeleteTable")


def test_a_table_may_be_named_by_its_arn(shop: Ask) -> None:
    arn = shop("DescribeTable")["Table"]["TableArn"]
    shop("PutItem", TableName=arn, Item=item(pk="a", sk="1"))
    assert shop("GetItem", TableName=arn, Key=item(pk="a", sk="1"))["Item"] == item(pk="a", sk="1")
    answer = shop("BatchGetItem", RequestItems={arn: {"Keys": [item(pk="a", sk="1")]}})
    assert answer["Responses"] == {arn: [item(pk="a", sk="1")]}
    assert refusal(shop, "Scan", TableName=arn.replace("table/", "index/")).code == "ValidationException"
