"""boto3 over HTTP, client and resource, compared with other engines."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

from .scenario import VIEWS, run, run_backups, run_everywhere, run_stream

pytestmark = pytest.mark.wide


def client(url: str) -> Any:
    return boto3.client("dynamodb", endpoint_url=url)


@pytest.fixture(scope="module")
def ours(url: str) -> dict[str, Any]:
    from .conftest import KEYS

    names = dict(zip(("aws_access_key_id", "aws_secret_access_key", "region_name"), KEYS.values(), strict=True))
    return run(boto3.client("dynamodb", endpoint_url=url, **names))


def test_items_are_written_and_read(ours: dict[str, Any]) -> None:
    assert ours["get"]["Item"]["photo"] == {"B": b"\x00\xff"}
    assert ours["get"]["ConsumedCapacity"]["CapacityUnits"] == 1.0
    assert "Item" not in ours["get nothing"]
    assert ours["project"]["Item"] == {"name": {"S": "Zoë"}, "address": {"M": {"lines": {"L": [{"S": "1"}]}}}}
    assert ours["update"]["Attributes"]["visits"] == {"N": "2"}
    assert sorted(ours["update"]["Attributes"]["tags"]["SS"]) == ["a", "b", "c"]
    assert ours["update old"]["Attributes"] == {"visits": {"N": "2"}}


def test_queries_page_in_order(ours: dict[str, Any]) -> None:
    assert [int(item["placed"]["N"]) for item in ours["query"]["Items"]] == list(range(12))
    assert [int(item["placed"]["N"]) for item in ours["query back"]["Items"]] == [11, 10, 9]
    assert [int(item["placed"]["N"]) for item in ours["page 2"]["Items"]] == [5, 6, 7, 8, 9]
    assert [int(item["placed"]["N"]) for item in ours["filter"]["Items"]] == [5, 7, 9]
    assert [int(item["placed"]["N"]) for item in ours["index"]["Items"]] == [5, 7]
    assert ours["count"]["Count"] == 12


def test_transactions_happen_as_a_whole_or_not_at_all(ours: dict[str, Any]) -> None:
    reasons = [reason["Code"] for reason in ours["transact cancelled"]["CancellationReasons"]]
    assert reasons == ["None", "ConditionalCheckFailed"]
    got = [answer.get("Item") for answer in ours["transact get"]["Responses"]]
    assert [item is None for item in got] == [False, True, False, True]


def test_errors_are_of_their_class(ours: dict[str, Any]) -> None:
    assert ours["condition fails"]["raised"] == "ConditionalCheckFailedException"
    assert ours["no such table"]["raised"] == "ResourceNotFoundException"
    assert ours["table again"]["raised"] == "ResourceInUseException"
    for name in ("key of wrong type", "half a key", "reserved word", "unknown value", "number in words"):
        assert (ours[name]["Error"]["Code"], ours[name]["status"]) == ("ValidationException", 400), name


def _alike(value: Any) -> Any:
    """A response without the order in sets and maps, which is undefined."""
    if isinstance(value, dict):
        return {
            name: sorted(inner) if name in ("SS", "NS", "BS") and isinstance(inner, list) else _alike(inner)
            for name, inner in value.items()
        }
    return [_alike(inner) for inner in value] if isinstance(value, list) else value


DIFFERENT = {
    "legacy key operator": "dynoxide has a message of its own; dynalite has ours",
    "legacy three keys": "dynoxide looks at the operators first; dynalite and DynamoDB Local have our message",
    "legacy operator alone": "dynoxide ignores it; DynamoDB Local answers as we do",
    "disable early": "dynoxide accepts it; DynamoDB Local refuses it as we do",
    "enable again": "dynoxide accepts it; DynamoDB Local refuses it as we do",
    "enable another": "dynoxide has a message of its own; DynamoDB Local has ours without the name",
    "disable another": "dynoxide accepts it; DynamoDB Local refuses it as we do",
    "unknown value": "we say first which expression is invalid, as AWS does for updates and names (aws/aws-sdk-go-v2#285)",
    "statement insert": "we return an empty list of items, as DynamoDB Local does",
    "statement no table": "we do not name the table, as with every other operation",
    "statements cancelled": "dynoxide has no EXISTS; DynamoDB Local answers as we do",
}
"""Responses that differ from dynoxide's, with the reason."""


def test_another_engine_answers_alike(ours: dict[str, Any], other_url: str) -> None:
    theirs = run(client(other_url))
    assert list(ours) == list(theirs)
    differing = {name: (ours[name], theirs[name]) for name in ours if _alike(ours[name]) != _alike(theirs[name])}
    assert {name: pair for name, pair in differing.items() if name not in DIFFERENT} == {}
    assert set(DIFFERENT) == set(differing)


DIFFERENT_LOCAL = {
    "statement insert again": "AWS's documentation names it DuplicateItemException",
    "statement order": "DynamoDB Local fails",
    "statement many parameters": "AWS compares the numbers of parameters, as DynamoDB Local does if there are too few",
    **dict.fromkeys(("tag", "tag again", "tags", "untag", "no tags"), "DynamoDB Local has no tags"),
    "iterator type": "DynamoDB Local fails",
    "iterator short shard": "DynamoDB Local does not check lengths",
    "describe nothing": "AWS refuses what is no ARN: ScyllaDB's tests, run on AWS, tell so",
}
"""Responses that differ from DynamoDB Local's, with the reason. Messages are compared only if they are about an
expression, because most others differ.
"""


def test_dynamodb_local_answers_alike(url: str, local_answers: dict[str, Any]) -> None:
    ours, theirs = (
        {name: _without_message(_alike(answer)) for name, answer in answers.items()}
        for answers in (run_everywhere(url), local_answers)
    )
    assert list(ours) == list(theirs)
    differing = {name: (answer, theirs[name]) for name, answer in ours.items() if answer != theirs[name]}
    assert {name: pair for name, pair in differing.items() if name not in DIFFERENT_LOCAL} == {}
    assert set(DIFFERENT_LOCAL) == set(differing)


def _without_message(answer: Any) -> Any:
    """An answer without the message of an error. One about an expression stays: AWS's own parser has written it."""
    if "Error" not in answer:
        return answer
    message = answer["Error"]["Message"]
    shown = {"message": message} if message.startswith("Invalid ") and "Expression: " in message else {}
    return {"code": answer["Error"]["Code"], "status": answer["status"], **shown}


DIFFERENT_MOTO = {
    "backup": "moto says at once that it is available; AWS creates it first",
    **dict.fromkeys(("describe backup", "delete backup"), "moto leaves out the billing mode and the indexes"),
    **dict.fromkeys(
        ("restore", "restore the latest"), "moto says at once that the table is active; AWS creates it first"
    ),
}
"""Answers about backups in which we differ from moto, and why. DynamoDB Local and dynoxide have no backups."""


def test_moto_has_the_same_backups(url: str, moto_url: str) -> None:
    ours, theirs = (
        {name: _without_message(_without_names(answer)) for name, answer in run_backups(client(server)).items()}
        for server in (url, moto_url)
    )
    differing = {name: (answer, theirs[name]) for name, answer in ours.items() if answer != theirs[name]}
    assert {name: pair for name, pair in differing.items() if name not in DIFFERENT_MOTO} == {}
    assert set(DIFFERENT_MOTO) == set(differing)


def _without_names(value: Any) -> Any:
    """An answer without the names, times and sizes that differ from server to server."""
    if isinstance(value, dict):
        free = ("Arn", "DateTime", "SizeBytes", "TableId")
        return {name: _without_names(inner) for name, inner in value.items() if not name.endswith(free)}
    return [_without_names(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("view", VIEWS)
def test_a_consumer_reads_the_same_stream_from_another_engine(url: str, other_url: str, view: str) -> None:
    ours, theirs = (
        run_stream(client(server), boto3.client("dynamodbstreams", endpoint_url=server), view)
        for server in (url, other_url)
    )
    assert [event for event, *_ in ours] == ["INSERT", "MODIFY", "MODIFY", "INSERT", "INSERT", "REMOVE", "REMOVE"]
    assert ours == theirs


def test_the_resource_works_over_http(url: str) -> None:
    resource = boto3.resource("dynamodb", endpoint_url=url)
    table = resource.create_table(
        TableName="resource",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": t} for n, t in (("pk", "S"), ("sk", "N"))],
    )
    table.wait_until_exists()
    with table.batch_writer() as batch:
        for at in range(60):
            batch.put_item(Item={"pk": "a", "sk": at, "half": Decimal(at) / 2, "tags": {"x", "y"}})
    found = table.query(
        KeyConditionExpression=Key("pk").eq("a") & Key("sk").gte(50), FilterExpression=Attr("half").lt(29)
    )
    assert [int(item["sk"]) for item in found["Items"]] == list(range(50, 58))
    assert found["Items"][1]["half"] == Decimal("25.5")
    assert found["Items"][0]["tags"] == {"x", "y"}
    pages = table.meta.client.get_paginator("scan").paginate(TableName="resource", PaginationConfig={"PageSize": 25})
    assert [len(page["Items"]) for page in pages] == [25, 25, 10]
    with pytest.raises(table.meta.client.exceptions.ConditionalCheckFailedException):
        table.put_item(Item={"pk": "a", "sk": 1}, ConditionExpression=Attr("pk").not_exists())
    table.delete()


def test_a_large_batch_and_a_large_page_go_over_the_wire(url: str) -> None:
    boto = client(url)
    boto.create_table(
        TableName="large",
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in ("pk", "sk")],
    )
    items = [{"pk": {"S": "a"}, "sk": {"S": f"{at:02}"}, "data": {"S": "x" * 390_000}} for at in range(25)]
    boto.batch_write_item(RequestItems={"large": [{"PutRequest": {"Item": item}} for item in items]})
    pages = list(boto.get_paginator("scan").paginate(TableName="large"))
    assert sum(len(page["Items"]) for page in pages) == 25
    assert max(len(page["Items"]) for page in pages) == 3
    boto.delete_table(TableName="large")


def test_a_wrong_secret_is_refused(url: str) -> None:
    wrong = boto3.client("dynamodb", endpoint_url=url, aws_access_key_id="AKIDLOCAL", aws_secret_access_key="guess")
    with pytest.raises(ClientError, match="InvalidSignatureException"):
        wrong.list_tables()
    unknown = boto3.client("dynamodb", endpoint_url=url, aws_access_key_id="OTHER", aws_secret_access_key="guess")
    with pytest.raises(ClientError, match="UnrecognizedClientException"):
        unknown.list_tables()
