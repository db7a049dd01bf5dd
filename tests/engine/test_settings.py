"""Tags, resource policies, continuous backups, contributor insights, and things that this engine has none of."""

from __future__ import annotations

import time
from typing import Any

import pytest
from botocore.session import get_session  # type: ignore[import-untyped]

from prejoin.engine import Embedded
from prejoin.engine.operations import NOT_IMPLEMENTED, OPERATIONS

from .conftest import SHOP, Ask, refusal

ARN = "arn:aws:dynamodb:local:000000000000:table/shop"
INVALID = "One or more parameter values were invalid: "


def tags(**given: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in given.items()]


def test_tags_are_kept_replaced_and_removed(ask: Ask, dynamodb: Embedded) -> None:
    ask("CreateTable", **SHOP, Tags=tags(team="a", stage="test"))
    assert (
        dynamodb.send("TagResource", b'{"ResourceArn": "%s", "Tags": [{"Key": "team", "Value": "b"}]}' % ARN.encode())
        == b""
    )
    assert ask("ListTagsOfResource", ResourceArn=ARN) == {"Tags": tags(team="b", stage="test")}
    dynamodb.send("UntagResource", b'{"ResourceArn": "%s", "TagKeys": ["team", "other"]}' % ARN.encode())
    assert ask("ListTagsOfResource", ResourceArn=ARN) == {"Tags": tags(stage="test")}
    assert "Tags" not in ask("DescribeTable", TableName="shop")["Table"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (tags(**{"k" * 129: "v"}), "Member must have length less than or equal to 128"),
        (tags(k="v" * 257), "Member must have length less than or equal to 256"),
        (
            [{"Key": "", "Value": "v"}],
            "'tags.1.member.key' failed to satisfy constraint: Member must have length greater",
        ),
        ([{"Key": "k"}], "Value null at 'tags.1.member.value' failed to satisfy constraint: Member must not be null"),
        (tags(**{"aws:k": "v"}), INVALID + "Tag keys that start with aws: are reserved: aws:k"),
        (tags(**{"#": "v"}), INVALID + "The tag contains characters that are not allowed: #"),
        ([*tags(k="v"), *tags(k="w")], INVALID + "Duplicate tag keys are not allowed"),
        (tags(**{f"k{number}": "v" for number in range(51)}), INVALID + "Too many tags: tag limit is 50"),
        ([], "Atleast one Tag needs to be provided as Input."),
    ],
)
def test_invalid_tags_are_refused(shop: Ask, given: list[dict[str, str]], message: str) -> None:
    error = refusal(shop, "TagResource", ResourceArn=ARN, Tags=given)
    assert error.code == "ValidationException"
    assert message in error.message
    if given:
        error = refusal(shop, "CreateTable", **{**SHOP, "TableName": "tagged"}, Tags=given)
        assert message in error.message
        assert shop("ListTables")["TableNames"] == ["shop"]


def test_a_resource_is_an_arn_of_a_table(shop: Ask) -> None:
    assert refusal(shop, "ListTagsOfResource").message == "Invalid TableArn"
    assert refusal(shop, "ListTagsOfResource", ResourceArn="shop").message == "ARNs must start with 'arn:': shop"
    assert refusal(shop, "ListTagsOfResource", ResourceArn="arn:x").message == (
        "Invalid TableArn: Invalid ResourceArn provided as input arn:x"
    )
    error = refusal(shop, "ListTagsOfResource", ResourceArn=ARN + "2")
    assert (error.code, error.message) == (
        "ResourceNotFoundException",
        f"Requested resource not found: ResourcArn: {ARN}2 not found",
    )
    error = refusal(shop, "GetResourcePolicy", ResourceArn=ARN + "2")
    assert (error.code, error.message) == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: shop2 not found",
    )
    elsewhere = "arn:aws:dynamodb:us-east-1:123456789012:table/other"
    error = refusal(shop, "ListTagsOfResource", ResourceArn=elsewhere)
    assert (error.code, error.message) == (
        "AccessDeniedException",
        f"User: arn:aws:iam::000000000000:root is not authorized to perform: dynamodb:ListTagsOfResource "
        f"on resource: {elsewhere}",
    )


def test_resource_policy_is_kept_with_a_revision(shop: Ask) -> None:
    assert refusal(shop, "GetResourcePolicy", ResourceArn=ARN).code == "PolicyNotFoundException"
    revision = shop("PutResourcePolicy", ResourceArn=ARN, Policy="{}", ExpectedRevisionId="NO_POLICY")["RevisionId"]
    assert shop("GetResourcePolicy", ResourceArn=ARN) == {"Policy": "{}", "RevisionId": revision}
    error = refusal(shop, "DeleteResourcePolicy", ResourceArn=ARN, ExpectedRevisionId="1")
    assert error.code == "PolicyNotFoundException"
    assert shop("DeleteResourcePolicy", ResourceArn=ARN) == {"RevisionId": revision}
    assert shop("DeleteResourcePolicy", ResourceArn=ARN) == {}


def test_continuous_backups_are_described_as_they_were_set(shop: Ask) -> None:
    def described() -> Any:
        description = shop("DescribeContinuousBackups")["ContinuousBackupsDescription"]
        assert description["ContinuousBackupsStatus"] == "ENABLED"
        return description["PointInTimeRecoveryDescription"]

    assert described() == {"PointInTimeRecoveryStatus": "DISABLED"}
    wish = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 7}
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification=wish)
    found = described()
    assert (found["PointInTimeRecoveryStatus"], found["RecoveryPeriodInDays"]) == ("ENABLED", 7)
    assert found["EarliestRestorableDateTime"] <= found["LatestRestorableDateTime"] <= time.time()
    shop("UpdateContinuousBackups", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": False})
    assert described() == {"PointInTimeRecoveryStatus": "DISABLED"}
    assert refusal(shop, "DescribeContinuousBackups", TableName="none").code == "TableNotFoundException"
    wish = {"PointInTimeRecoveryEnabled": True, "RecoveryPeriodInDays": 36}
    assert (
        "less than or equal to 35"
        in refusal(shop, "UpdateContinuousBackups", PointInTimeRecoverySpecification=wish).message
    )


def test_contributor_insights_are_kept_for_tables_and_indexes(shop: Ask) -> None:
    assert shop("DescribeContributorInsights")["ContributorInsightsStatus"] == "DISABLED"
    shop("UpdateContributorInsights", IndexName="gsi1", ContributorInsightsAction="ENABLE")
    assert shop("DescribeContributorInsights")["ContributorInsightsStatus"] == "DISABLED"
    assert shop("DescribeContributorInsights", IndexName="gsi1")["ContributorInsightsStatus"] == "ENABLED"
    (summary,) = shop("ListContributorInsights")["ContributorInsightsSummaries"]
    assert (summary["TableName"], summary["IndexName"]) == ("shop", "gsi1")
    shop("UpdateContributorInsights", IndexName="gsi1", ContributorInsightsAction="DISABLE")
    assert shop("ListContributorInsights") == {"ContributorInsightsSummaries": []}


@pytest.mark.parametrize(
    ("operation", "members", "answer"),
    [
        ("ListBackups", {}, {"BackupSummaries": []}),
        ("ListExports", {}, {"ExportSummaries": []}),
        ("ListImports", {}, {"ImportSummaryList": []}),
        ("ListGlobalTables", {}, {"GlobalTables": []}),
        ("ListBulkOperations", {}, {"BulkOperationsSummaryList": []}),
        (
            "DescribeKinesisStreamingDestination",
            {"TableName": "shop"},
            {"TableName": "shop", "KinesisDataStreamDestinations": []},
        ),
        (
            "DescribeTableReplicaAutoScaling",
            {"TableName": "shop"},
            {"TableAutoScalingDescription": {"TableName": "shop", "TableStatus": "ACTIVE", "Replicas": []}},
        ),
        ("DescribeEndpoints", {}, {"Endpoints": [{"Address": "localhost", "CachePeriodInMinutes": 1440}]}),
        ("DescribeBackup", {"BackupArn": "b"}, "BackupNotFoundException: Backup not found: b"),
        ("DescribeExport", {"ExportArn": "e"}, "ExportNotFoundException: Export not found: e"),
        (
            "DescribeGlobalTable",
            {"GlobalTableName": "g"},
            "GlobalTableNotFoundException: Global table not found: Global table with name: 'g' does not exist.",
        ),
        (
            "EnableKinesisStreamingDestination",
            {"TableName": "shop", "StreamArn": "k"},
            "ResourceNotFoundException: Requested resource not found: Kinesis data stream: k not found",
        ),
        ("DescribeImport", {}, "ValidationException: 1 validation error detected: Value null at 'importArn' failed"),
    ],
)
def test_things_outside_of_the_engine_are_absent_as_in_a_new_account(
    shop: Ask, operation: str, members: dict[str, Any], answer: Any
) -> None:
    if isinstance(answer, str):
        assert str(refusal(shop, operation, **members)).startswith(answer)
    else:
        assert shop(operation, **members) == answer


def test_every_operation_of_the_service_answers_or_says_why_not(dynamodb: Embedded) -> None:
    session = get_session()
    names = [
        name
        for service in ("dynamodb", "dynamodbstreams")
        for name in session.get_service_model(service).operation_names
    ]
    assert len(names) > 60
    assert set(names) - set(OPERATIONS) == NOT_IMPLEMENTED
    for name in NOT_IMPLEMENTED:
        assert refusal(dynamodb.send, name, b"{}").message == f"This engine has no {name} yet"
