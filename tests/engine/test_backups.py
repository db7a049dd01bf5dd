"""Backups and point-in-time recovery: what is restored is what was there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.conftest import SHOP, Ask, item, refusal, send

from prejoin.engine import Embedded
from prejoin.testing import attach

ON = {"PointInTimeRecoveryEnabled": True}


def items_of(ask: Ask, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask("Scan", TableName=table)["Items"]
    return sorted(found, key=json.dumps)


def fill(shop: Ask, first: int, last: int) -> None:
    for number in range(first, last):
        shop("PutItem", Item=item(pk=f"p{number}", sk="1", g1pk="x", g1sk=number, city="Ulm"))


def test_a_backup_is_restored_into_another_table(dynamodb: Embedded, shop: Ask) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "until", "Enabled": True})
    fill(shop, 0, 10)
    before = items_of(shop, "shop")
    made = shop("CreateBackup", BackupName="nightly")["BackupDetails"]
    assert (made["BackupStatus"], made["BackupType"], made["BackupName"]) == ("CREATING", "USER", "nightly")
    assert made["BackupArn"].startswith("arn:aws:dynamodb:local:000000000000:table/shop/backup/")
    fill(shop, 5, 15)
    shop("DeleteTable")
    shown = shop("RestoreTableFromBackup", BackupArn=made["BackupArn"], TargetTableName="again")["TableDescription"]
    assert (shown["TableStatus"], shown["RestoreSummary"]["RestoreInProgress"]) == ("CREATING", True)
    assert items_of(shop, "again") == before
    table = shop("DescribeTable", TableName="again")["Table"]
    assert table["RestoreSummary"]["SourceBackupArn"] == made["BackupArn"]
    assert table["RestoreSummary"]["RestoreInProgress"] is False
    assert table["ItemCount"] == 10
    assert [index["ItemCount"] for index in table["GlobalSecondaryIndexes"]] == [10, 10]
    assert shop("DescribeTimeToLive", TableName="again")["TimeToLiveDescription"] == {"TimeToLiveStatus": "DISABLED"}
    assert dynamodb.verify() == []


def test_backups_are_described_and_listed(shop: Ask, ask: Ask) -> None:
    ask("CreateTable", **{**SHOP, "TableName": "other"})
    fill(shop, 0, 3)
    arns = [shop("CreateBackup", BackupName=f"backup-{number}")["BackupDetails"]["BackupArn"] for number in range(3)]
    other = ask("CreateBackup", TableName="other", BackupName="other")["BackupDetails"]["BackupArn"]
    described = ask("DescribeBackup", BackupArn=arns[0])["BackupDescription"]
    assert described["BackupDetails"]["BackupStatus"] == "AVAILABLE"
    assert described["SourceTableDetails"]["ItemCount"] == 3
    assert described["SourceTableDetails"]["BillingMode"] == "PAY_PER_REQUEST"
    assert [index["IndexName"] for index in described["SourceTableFeatureDetails"]["GlobalSecondaryIndexes"]] == [
        "gsi1",
        "by-city",
    ]
    listed = lambda **members: [found["BackupArn"] for found in ask("ListBackups", **members)["BackupSummaries"]]  # noqa: E731
    assert sorted(listed()) == sorted([*arns, other])
    assert sorted(listed(TableName="shop")) == sorted(arns)
    assert listed(BackupType="SYSTEM") == []
    assert listed(TimeRangeUpperBound=1) == []
    assert len(listed(TimeRangeLowerBound=1)) == 4
    page = ask("ListBackups", Limit=3)
    rest = ask("ListBackups", ExclusiveStartBackupArn=page["LastEvaluatedBackupArn"])
    assert len(page["BackupSummaries"]) + len(rest["BackupSummaries"]) == 4
    assert ask("ListTables")["TableNames"] == ["other", "shop"], "a backup is no table"
    deleted = ask("DeleteBackup", BackupArn=arns[1])["BackupDescription"]["BackupDetails"]
    assert deleted["BackupStatus"] == "DELETED"
    assert arns[1] not in listed()
    assert refusal(ask, "DescribeBackup", BackupArn=arns[1]).code == "BackupNotFoundException"


@pytest.mark.parametrize(
    ("operation", "members", "code"),
    [
        ("CreateBackup", {"TableName": "none", "BackupName": "abc"}, "TableNotFoundException"),
        ("CreateBackup", {"BackupName": "a"}, "ValidationException"),
        ("DeleteBackup", {}, "ValidationException"),
        ("RestoreTableFromBackup", {"BackupArn": "x", "TargetTableName": "other"}, "BackupNotFoundException"),
        ("ListBackups", {"BackupType": "x"}, "ValidationException"),
        ("ListBackups", {"Limit": 101}, "ValidationException"),
        ("RestoreTableToPointInTime", {"TargetTableName": "other"}, "ValidationException"),
        (
            "RestoreTableToPointInTime",
            {"TargetTableName": "other", "SourceTableName": "none", "UseLatestRestorableTime": True},
            "TableNotFoundException",
        ),
        (
            "RestoreTableToPointInTime",
            {"TargetTableName": "other", "SourceTableName": "shop", "UseLatestRestorableTime": True},
            "PointInTimeRecoveryUnavailableException",
        ),
    ],
)
def test_mistakes_are_refused(shop: Ask, operation: str, members: dict[str, Any], code: str) -> None:
    assert refusal(shop, operation, **members).code == code


ONE = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
NEGATIVE = {"ReadCapacityUnits": -5, "WriteCapacityUnits": 1}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"ProvisionedThroughputOverride": NEGATIVE}, "'provisionedThroughputOverride.readCapacityUnits' failed"),
        ({"BillingModeOverride": "PAY_PER_REQUEST", "ProvisionedThroughputOverride": ONE}, "Neither ReadCapacityUnits"),
        ({"OnDemandThroughputOverride": {"MaxReadRequestUnits": -7}}, "is outside of valid range"),
        ({"SSESpecificationOverride": {"SSEType": "NO"}}, "'sSESpecificationOverride.sSEType' failed"),
        ({"LocalSecondaryIndexOverride": [{}]}, "'localSecondaryIndexOverride.1.member.indexName' failed"),
        (
            {"GlobalSecondaryIndexOverride": [{"IndexName": "gsi1", "ProvisionedThroughput": NEGATIVE}]},
            "'globalSecondaryIndexOverride.1.member.provisionedThroughput.readCapacityUnits' failed",
        ),
    ],
)
def test_a_restored_table_is_a_valid_one(shop: Ask, members: dict[str, Any], message: str) -> None:
    arn = shop("CreateBackup", BackupName="nightly")["BackupDetails"]["BackupArn"]
    error = refusal(shop, "RestoreTableFromBackup", BackupArn=arn, TargetTableName="again", **members)
    assert (error.code, message in error.message) == ("ValidationException", True)


def test_a_restored_table_may_differ(shop: Ask) -> None:
    fill(shop, 0, 3)
    arn = shop("CreateBackup", BackupName="nightly")["BackupDetails"]["BackupArn"]
    restore: dict[str, Any] = {"BackupArn": arn, "TargetTableName": "again"}
    assert refusal(shop, "RestoreTableFromBackup", **{**restore, "TargetTableName": "shop"}).code == (
        "TableAlreadyExistsException"
    )
    wrong = [{"IndexName": "none", "KeySchema": [], "Projection": {}}]
    assert refusal(shop, "RestoreTableFromBackup", **restore, GlobalSecondaryIndexOverride=wrong).code == (
        "ValidationException"
    )
    shop(
        "RestoreTableFromBackup",
        **restore,
        BillingModeOverride="PROVISIONED",
        ProvisionedThroughputOverride={"ReadCapacityUnits": 7, "WriteCapacityUnits": 3},
        GlobalSecondaryIndexOverride=[SHOP["GlobalSecondaryIndexes"][0]],
        LocalSecondaryIndexOverride=[],
    )
    table = shop("DescribeTable", TableName="again")["Table"]
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 7
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["gsi1"]
    assert table["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]["WriteCapacityUnits"] == 3
    assert "LocalSecondaryIndexes" not in table
    assert {each["AttributeName"] for each in table["AttributeDefinitions"]} == {"pk", "sk", "g1pk", "g1sk"}
    shop("PutItem", TableName="again", Item=item(pk="a", sk="1", city=5))


def test_a_table_goes_back_to_a_moment(dynamodb: Embedded, shop: Ask) -> None:
    fill(shop, 0, 5)
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
    moments = []
    for number in range(3):
        moments.append((time.time(), items_of(shop, "shop")))
        time.sleep(0.002)
        fill(shop, 4 * number, 4 * number + 8)
        shop("DeleteItem", Key=item(pk=f"p{number}", sk="1"))
        shop(
            "UpdateItem",
            Key=item(pk="p9", sk="1"),
            UpdateExpression="SET g1pk = :v",
            ExpressionAttributeValues={":v": {"S": str(number)}},
        )
    for number, (moment, items) in enumerate(moments):
        name = f"again{number}"
        shop("RestoreTableToPointInTime", SourceTableName="shop", TargetTableName=name, RestoreDateTime=moment)
        assert items_of(shop, name) == items
    shop(
        "RestoreTableToPointInTime",
        SourceTableArn="arn:aws:dynamodb:local:000000000000:table/shop",
        TargetTableName="latest",
        UseLatestRestorableTime=True,
    )
    assert items_of(shop, "latest") == items_of(shop, "shop")
    for moment in (1.0, time.time() + 1000):
        members = {"SourceTableName": "shop", "TargetTableName": "never", "RestoreDateTime": moment}
        assert refusal(shop, "RestoreTableToPointInTime", **members).code == "InvalidRestoreTimeException"
    assert dynamodb.verify() == []


def test_expired_and_transacted_items_come_back(dynamodb: Embedded, shop: Ask) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "until", "Enabled": True})
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
    shop("PutItem", Item=item(pk="a", sk="1", until=int(time.time()) - 10))
    shop("TransactWriteItems", TransactItems=[{"Put": {"TableName": "shop", "Item": item(pk="b", sk="1")}}])
    moment, before = time.time(), items_of(shop, "shop")
    time.sleep(0.002)
    assert dynamodb.expire() == 1
    shop("BatchWriteItem", RequestItems={"shop": [{"DeleteRequest": {"Key": item(pk="b", sk="1")}}]})
    assert items_of(shop, "shop") == []
    shop("RestoreTableToPointInTime", SourceTableName="shop", TargetTableName="again", RestoreDateTime=moment)
    assert items_of(shop, "again") == before


def test_a_deleted_table_with_recovery_has_a_backup(shop: Ask) -> None:
    fill(shop, 0, 3)
    before = items_of(shop, "shop")
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
    shop("DeleteTable")
    (found,) = shop("ListBackups", BackupType="SYSTEM", TableName="shop")["BackupSummaries"]
    assert found["BackupName"] == "shop$DeletedTableBackup"
    shop("RestoreTableFromBackup", BackupArn=found["BackupArn"], TargetTableName="shop")
    assert items_of(shop, "shop") == before


def test_old_changes_are_forgotten(dynamodb: Embedded, shop: Ask) -> None:
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification={**ON, "RecoveryPeriodInDays": 2})
    fill(shop, 0, 10)
    assert dynamodb.trim(time.time() + 86_400) == 0
    assert dynamodb.trim(time.time() + 3 * 86_400) == 9, "the newest stays"
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False})
    assert dynamodb.trim(time.time() + 3 * 86_400) == 0


def test_backups_and_recovery_survive_a_restart(tmp_path: Path) -> None:
    with Embedded(tmp_path / "shop.db") as engine:
        send(engine, "CreateTable", **SHOP)
        send(engine, "UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
        send(engine, "PutItem", Item=item(pk="a", sk="1"))
        arn = send(engine, "CreateBackup", BackupName="nightly")["BackupDetails"]["BackupArn"]
        moment = time.time()
        time.sleep(0.002)
        send(engine, "DeleteItem", Key=item(pk="a", sk="1"))
    with Embedded(tmp_path / "shop.db") as engine:
        send(engine, "RestoreTableFromBackup", BackupArn=arn, TargetTableName="one")
        members = {"SourceTableName": "shop", "TargetTableName": "two", "RestoreDateTime": moment}
        send(engine, "RestoreTableToPointInTime", **members)
        assert [send(engine, "Scan", TableName=name)["Count"] for name in ("shop", "one", "two")] == [0, 1, 1]
        assert engine.verify() == []


def test_a_snapshot_keeps_backups_and_recovery(dynamodb: Embedded, shop: Ask, tmp_path: Path) -> None:
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
    fill(shop, 0, 3)
    arn = shop("CreateBackup", BackupName="nightly")["BackupDetails"]["BackupArn"]
    moment = time.time()
    time.sleep(0.002)
    shop("DeleteItem", Key=item(pk="p1", sk="1"))
    dynamodb.save(tmp_path / "saved.db")
    with Embedded() as other:
        other.restore(tmp_path / "saved.db")
        send(other, "RestoreTableFromBackup", BackupArn=arn, TargetTableName="one")
        send(other, "RestoreTableToPointInTime", SourceTableName="shop", TargetTableName="two", RestoreDateTime=moment)
        assert [send(other, "Scan", TableName=name)["Count"] for name in ("shop", "one", "two")] == [2, 3, 3]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "delete", "note"])), max_size=20))
def test_every_moment_can_be_restored(steps: list[tuple[str, str]]) -> None:
    """Whatever is written, each noted moment comes back."""
    with Embedded() as engine:
        send(engine, "CreateTable", **SHOP)
        send(engine, "UpdateContinuousBackups", PointInTimeRecoverySpecification=ON)
        noted = []
        for number, (key, step) in enumerate(steps):
            if step == "put":
                send(engine, "PutItem", Item=item(pk=key, sk="1", number=number))
            elif step == "delete":
                send(engine, "DeleteItem", Key=item(pk=key, sk="1"))
            else:
                noted.append((time.time(), send(engine, "Scan")["Items"]))
                time.sleep(0.000_01)
        for number, (moment, items) in enumerate(noted):
            members = {"SourceTableName": "shop", "TargetTableName": f"again{number}", "RestoreDateTime": moment}
            send(engine, "RestoreTableToPointInTime", **members)
            assert send(engine, "Scan", TableName=f"again{number}")["Items"] == items


def test_boto3_restores_a_table(dynamodb: Embedded, shop: Ask) -> None:
    client = boto3.client("dynamodb", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    client = attach(client, dynamodb)
    client.update_continuous_backups(TableName="shop", PointInTimeRecoverySpecification=ON)
    fill(shop, 0, 3)
    described = client.describe_continuous_backups(TableName="shop")["ContinuousBackupsDescription"]
    latest = described["PointInTimeRecoveryDescription"]["LatestRestorableDateTime"]
    arn = client.create_backup(TableName="shop", BackupName="nightly")["BackupDetails"]["BackupArn"]
    client.restore_table_from_backup(BackupArn=arn, TargetTableName="one")
    client.restore_table_to_point_in_time(SourceTableName="shop", TargetTableName="two", UseLatestRestorableTime=True)
    assert latest.tzinfo is not None
    assert client.get_paginator("list_backups").paginate().build_full_result()["BackupSummaries"][0]["BackupArn"] == arn
    assert [client.scan(TableName=name)["Count"] for name in ("one", "two")] == [3, 3]
