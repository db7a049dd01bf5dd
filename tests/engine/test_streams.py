"""Streams: records of writes, shards, iterators, trimming, and reading them in this process."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import boto3  # type: ignore[import-untyped]
import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from prejoin.engine import Embedded
from prejoin.engine.http import Server
from prejoin.testing import mock_dynamodb

from .conftest import SHOP, Ask, item, refusal, send, values

KEY = item(pk="a", sk="1")
INVALID = "One or more parameter values were invalid: "


def streamed(view: str = "NEW_AND_OLD_IMAGES") -> dict[str, Any]:
    return {**SHOP, "StreamSpecification": {"StreamEnabled": True, "StreamViewType": view}}


@pytest.fixture
def shop(ask: Ask) -> Ask:
    """Send requests about the table `shop`, which has a stream."""
    ask("CreateTable", **streamed())
    return lambda operation, **members: ask(operation, **{"TableName": "shop", **members})


def arn_of(ask: Ask) -> str:
    return str(ask("DescribeTable", TableName="shop")["Table"]["LatestStreamArn"])


def shards_of(ask: Ask) -> list[dict[str, Any]]:
    return list(ask("DescribeStream", StreamArn=arn_of(ask))["StreamDescription"]["Shards"])


def iterator(ask: Ask, shard: str | None = None, kind: str = "TRIM_HORIZON", **members: Any) -> str:
    shard = shard or shards_of(ask)[0]["ShardId"]
    answer = ask("GetShardIterator", StreamArn=arn_of(ask), ShardId=shard, ShardIteratorType=kind, **members)
    return str(answer["ShardIterator"])


def records(ask: Ask, **members: Any) -> list[dict[str, Any]]:
    return list(ask("GetRecords", ShardIterator=iterator(ask), **members)["Records"])


def test_a_table_describes_its_stream(ask: Ask) -> None:
    description = ask("CreateTable", **streamed("KEYS_ONLY"))["TableDescription"]
    table = ask("DescribeTable", TableName="shop")["Table"]
    for shown in (description, table):
        assert shown["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        assert shown["LatestStreamArn"] == f"{table['TableArn']}/stream/{shown['LatestStreamLabel']}"
    stream = {"StreamArn": table["LatestStreamArn"], "TableName": "shop", "StreamLabel": table["LatestStreamLabel"]}
    assert ask("ListStreams") == {"Streams": [stream]}
    assert ask("ListStreams", TableName="other") == {"Streams": []}
    shown = ask("DescribeStream", StreamArn=table["LatestStreamArn"])["StreamDescription"]
    assert (shown["StreamStatus"], shown["StreamViewType"], shown["TableName"]) == ("ENABLED", "KEYS_ONLY", "shop")
    assert shown["KeySchema"] == SHOP["KeySchema"]
    (shard,) = shown["Shards"]
    assert set(shard["SequenceNumberRange"]) == {"StartingSequenceNumber"}


@pytest.mark.parametrize(
    ("view", "images"),
    [
        ("KEYS_ONLY", [set(), set(), set()]),
        ("NEW_IMAGE", [{"NewImage"}, {"NewImage"}, set()]),
        ("OLD_IMAGE", [set(), {"OldImage"}, {"OldImage"}]),
        ("NEW_AND_OLD_IMAGES", [{"NewImage"}, {"NewImage", "OldImage"}, {"OldImage"}]),
    ],
)
def test_a_record_has_the_images_of_its_view(ask: Ask, view: str, images: list[set[str]]) -> None:
    ask("CreateTable", **streamed(view))
    first, second = {**KEY, "n": {"N": "1"}}, {**KEY, "n": {"N": "2"}}
    ask("PutItem", TableName="shop", Item=first)
    ask(
        "UpdateItem",
        TableName="shop",
        Key=KEY,
        UpdateExpression="SET n = :n",
        ExpressionAttributeValues=values(n=2),
    )
    ask("DeleteItem", TableName="shop", Key=KEY)
    found = records(ask)
    assert [record["eventName"] for record in found] == ["INSERT", "MODIFY", "REMOVE"]
    changes = [record["dynamodb"] for record in found]
    assert [{"NewImage", "OldImage"} & set(change) for change in changes] == images
    contents: list[tuple[Any, Any]] = [(first, None), (second, first), (None, second)]
    for change, (new, old) in zip(changes, contents, strict=True):
        assert change["Keys"] == KEY
        assert change["StreamViewType"] == view
        assert change.get("NewImage", new) == new
        assert change.get("OldImage", old) == old
    numbers = [change["SequenceNumber"] for change in changes]
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == 3
    assert all(len(number) == 21 for number in numbers)
    assert len({record["eventID"] for record in found}) == 3
    keys_only = 2 + 1 + 2 + 1
    with_n = keys_only + 1 + 2
    assert changes[0]["SizeBytes"] == keys_only + (with_n if "NewImage" in images[0] else 0)


def test_a_write_that_changes_nothing_leaves_no_record(shop: Ask) -> None:
    whole = {**KEY, "n": {"N": "1"}, "s": {"SS": ["a", "b"]}}
    shop("PutItem", Item=whole)
    shop("PutItem", Item=dict(reversed(whole.items())))
    shop("PutItem", Item={**whole, "n": {"N": "1.0"}, "s": {"SS": ["b", "a"]}})
    shop("UpdateItem", Key=KEY, UpdateExpression="SET n = :n", ExpressionAttributeValues=values(n=1))
    shop("UpdateItem", Key=KEY, UpdateExpression="REMOVE nothing")
    shop("DeleteItem", Key=item(pk="none", sk="1"))
    shop("UpdateItem", Key=item(pk="none", sk="1"), UpdateExpression="REMOVE nothing")
    assert [record["eventName"] for record in records(shop)] == ["INSERT"]


def test_a_refused_write_leaves_no_record(shop: Ask) -> None:
    put = {"TableName": "shop", "Item": KEY}
    refused = {**put, "Item": item(pk="b", sk="1"), "ConditionExpression": "attribute_exists(pk)"}
    refusal(shop, "PutItem", **refused)
    refusal(shop, "TransactWriteItems", TransactItems=[{"Put": put}, {"Put": refused}])
    assert records(shop) == []
    shop("TransactWriteItems", TransactItems=[{"Put": put}, {"Put": {**put, "Item": item(pk="b", sk="1")}}])
    wishes = [{"PutRequest": {"Item": item(pk="c", sk="1")}}, {"DeleteRequest": {"Key": KEY}}]
    shop("BatchWriteItem", RequestItems={"shop": wishes})
    found = records(shop)
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in found] == ["a", "b", "c", "a"]


def test_items_with_the_same_bytes_in_another_order_are_different(shop: Ask) -> None:
    for text in ("ab", "ba"):
        shop("PutItem", Item={**KEY, "text": {"S": text}})
    assert [record["eventName"] for record in records(shop)] == ["INSERT", "MODIFY"]


def test_expired_items_are_removed_by_the_service(shop: Ask, dynamodb: Embedded) -> None:
    shop("UpdateTimeToLive", TimeToLiveSpecification={"AttributeName": "until", "Enabled": True})
    shop("PutItem", Item={**KEY, "until": {"N": "1900000000"}})
    assert dynamodb.expire(now=1_900_000_001) == 1
    _, removed = records(shop)
    assert removed["eventName"] == "REMOVE"
    assert removed["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert removed["dynamodb"]["Keys"] == KEY
    assert removed["dynamodb"]["OldImage"]["until"] == {"N": "1900000000"}


def test_the_record_of_an_expired_item_has_its_key_without_images(ask: Ask, dynamodb: Embedded) -> None:
    ask("CreateTable", **streamed("KEYS_ONLY"))
    wish = {"AttributeName": "until", "Enabled": True}
    ask("UpdateTimeToLive", TableName="shop", TimeToLiveSpecification=wish)
    ask("PutItem", TableName="shop", Item={**KEY, "until": {"N": "1900000000"}})
    assert dynamodb.expire(now=1_900_000_001) == 1
    assert records(ask)[1]["dynamodb"]["Keys"] == KEY


def test_iterators_begin_where_they_are_told(shop: Ask) -> None:
    for number in range(5):
        shop("PutItem", Item=item(pk="a", sk=str(number)))
    everything = records(shop)
    third = everything[2]["dynamodb"]["SequenceNumber"]

    def read(kind: str, **members: Any) -> list[str]:
        found = shop("GetRecords", ShardIterator=iterator(shop, None, kind, **members))["Records"]
        return [record["dynamodb"]["Keys"]["sk"]["S"] for record in found]

    assert read("TRIM_HORIZON") == ["0", "1", "2", "3", "4"]
    assert read("AT_SEQUENCE_NUMBER", SequenceNumber=third) == ["2", "3", "4"]
    assert read("AFTER_SEQUENCE_NUMBER", SequenceNumber=third) == ["3", "4"]
    latest = iterator(shop, None, "LATEST")
    answer = shop("GetRecords", ShardIterator=latest)
    assert answer["Records"] == []
    shop("PutItem", Item=item(pk="a", sk="5"))
    answer = shop("GetRecords", ShardIterator=answer["NextShardIterator"])
    assert [record["dynamodb"]["Keys"]["sk"]["S"] for record in answer["Records"]] == ["5"]


def test_records_come_in_pages(shop: Ask) -> None:
    for number in range(5):
        shop("PutItem", Item=item(pk="a", sk=str(number), x="x" * 390_000))
    place, pages = iterator(shop), []
    for _ in range(4):
        answer = shop("GetRecords", ShardIterator=place, Limit=2)
        pages.append(len(answer["Records"]))
        place = answer["NextShardIterator"]
    assert pages == [2, 2, 1, 0]
    assert len(records(shop)) == 2  # a page ends at 1 MB
    assert json.dumps(records(shop)[0]).count("x") > 390_000


@pytest.fixture(params=["in memory", "in a file"])
def short_shards(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ask]:
    path = None if request.param == "in memory" else tmp_path / "dynamodb.db"
    with Embedded(path, stream_shard_records=3) as engine:
        send(engine, "CreateTable", **streamed("KEYS_ONLY"))
        yield lambda operation, **members: send(engine, operation, **members)


def test_a_full_shard_is_closed_and_has_a_child(short_shards: Ask) -> None:
    for number in range(7):
        short_shards("PutItem", Item=item(pk="a", sk=str(number)))
    shards = shards_of(short_shards)
    assert [shard.get("ParentShardId") for shard in shards] == [None, shards[0]["ShardId"], shards[1]["ShardId"]]
    ends = [shard["SequenceNumberRange"].get("EndingSequenceNumber") for shard in shards]
    assert [end is not None for end in ends] == [True, True, False]
    found = []
    for shard in shards:
        answer = short_shards("GetRecords", ShardIterator=iterator(short_shards, shard["ShardId"]))
        found.append([record["dynamodb"]["Keys"]["sk"]["S"] for record in answer["Records"]])
        assert ("NextShardIterator" in answer) is (shard is shards[2])
    assert found == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    children = short_shards(
        "DescribeStream",
        StreamArn=arn_of(short_shards),
        ShardFilter={"Type": "CHILD_SHARDS", "ShardId": shards[0]["ShardId"]},
    )["StreamDescription"]["Shards"]
    assert children == [shards[1]]
    page = short_shards("DescribeStream", StreamArn=arn_of(short_shards), Limit=1)["StreamDescription"]
    assert (page["Shards"], page["LastEvaluatedShardId"]) == ([shards[0]], shards[0]["ShardId"])
    page = short_shards("DescribeStream", StreamArn=arn_of(short_shards), ExclusiveStartShardId=shards[0]["ShardId"])[
        "StreamDescription"
    ]
    assert page["Shards"] == shards[1:]


def test_a_consumer_of_shards_sees_every_change_once(short_shards: Ask) -> None:
    """As a Lambda poller does: every shard from its beginning, children after their parents, while writes go on."""
    done: set[str] = set()
    places: dict[str, str] = {}
    seen: list[str] = []
    written = 0
    for _ in range(60):
        if written < 20:
            short_shards("PutItem", Item=item(pk="a", sk=f"{written:02}"))
            written += 1
        for shard in shards_of(short_shards):
            name, parent = shard["ShardId"], shard.get("ParentShardId")
            if name in done or (parent is not None and parent not in done):
                continue
            place = places.get(name) or iterator(short_shards, name)
            answer = short_shards("GetRecords", ShardIterator=place, Limit=2)
            seen += [record["dynamodb"]["Keys"]["sk"]["S"] for record in answer["Records"]]
            if "NextShardIterator" in answer:
                places[name] = answer["NextShardIterator"]
            else:
                done.add(name)
    assert seen == [f"{number:02}" for number in range(20)]


def test_a_disabled_stream_can_still_be_read(shop: Ask) -> None:
    shop("PutItem", Item=KEY)
    old = arn_of(shop)
    assert refusal(
        shop, "UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    ).message.startswith("Table already has an enabled stream")
    description = shop("UpdateTable", StreamSpecification={"StreamEnabled": False})["TableDescription"]
    assert "StreamSpecification" not in description
    assert description["LatestStreamArn"] == old
    assert refusal(shop, "UpdateTable", StreamSpecification={"StreamEnabled": False}).message.startswith(
        "Table has no stream to disable"
    )
    shop("PutItem", Item=item(pk="b", sk="1"))
    shown = shop("DescribeStream", StreamArn=old)["StreamDescription"]
    assert shown["StreamStatus"] == "DISABLED"
    assert "EndingSequenceNumber" in shown["Shards"][0]["SequenceNumberRange"]
    answer = shop("GetRecords", ShardIterator=iterator(shop))
    assert [record["dynamodb"]["Keys"] for record in answer["Records"]] == [KEY]
    assert "NextShardIterator" not in answer
    shop("UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
    shop("PutItem", Item=item(pk="c", sk="1"))
    assert arn_of(shop) != old
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in records(shop)] == ["c"]
    assert [stream["StreamArn"] for stream in shop("ListStreams")["Streams"]] == [old, arn_of(shop)]
    assert len(shop("ListStreams", ExclusiveStartStreamArn=old)["Streams"]) == 1


def test_iterators_expire_after_a_quarter_of_an_hour(shop: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    place = iterator(shop)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 899)
    shop("GetRecords", ShardIterator=place)
    monkeypatch.setattr(time, "time", lambda: real() + 901)
    error = refusal(shop, "GetRecords", ShardIterator=place)
    assert error.code == "ExpiredIteratorException"
    assert "tolerated delay of 900000 milliseconds" in error.message


def test_records_are_trimmed_after_a_day(shop: Ask, dynamodb: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        shop("PutItem", Item=item(pk="a", sk=str(number)))
    numbers = [record["dynamodb"]["SequenceNumber"] for record in records(shop)]
    place = iterator(shop)
    real = time.time
    assert dynamodb.trim(now=real() + 86_300) == 0
    assert dynamodb.trim(now=real() + 86_500) == 2
    error = refusal(shop, "GetRecords", ShardIterator=place)
    assert error.code == "TrimmedDataAccessException"
    error = refusal(shop, "GetShardIterator", StreamArn=arn_of(shop), ShardId=shards_of(shop)[0]["ShardId"],
                    ShardIteratorType="AT_SEQUENCE_NUMBER", SequenceNumber=numbers[0])  # fmt: skip
    assert error.code == "TrimmedDataAccessException"
    monkeypatch.setattr(time, "time", lambda: real() + 86_500)
    assert records(shop) == []
    shop("PutItem", Item=item(pk="a", sk="3"))
    (record,) = records(shop)
    assert record["dynamodb"]["SequenceNumber"] > numbers[-1]


@pytest.mark.parametrize(
    ("operation", "members", "message"),
    [
        ("DescribeStream", {}, "Value null at 'streamArn' failed to satisfy constraint: Member must not be null"),
        ("DescribeStream", {"StreamArn": "x" * 50}, INVALID + "Invalid StreamArn"),
        ("DescribeStream", {"Limit": 101}, "'limit' failed to satisfy constraint: Member must have value less than"),
        ("ListStreams", {"Limit": 0}, "'limit' failed to satisfy constraint: Member must have value greater than"),
        ("ListStreams", {"ExclusiveStartStreamArn": "x"}, INVALID + "Invalid StreamArn"),
        ("GetRecords", {"ShardIterator": "x"}, "Invalid ShardIterator"),
        ("GetRecords", {"ShardIterator": f"x|1|{b64encode(b'[0,%d,2e9]' % 2**70).decode()}"}, "Invalid ShardIterator"),
        ("GetRecords", {"ShardIterator": "x", "Limit": 1001}, "Member must have value less than or equal to 1000"),
        ("GetShardIterator", {"ShardIteratorType": "FIRST"}, "Member must satisfy enum value set"),
        ("GetShardIterator", {"ShardIteratorType": "AT_SEQUENCE_NUMBER"}, INVALID + "Invalid SequenceNumber"),
        (
            "GetShardIterator",
            {"ShardIteratorType": "LATEST", "SequenceNumber": "0" * 21},
            INVALID + "SequenceNumber should not be passed for this iterator type",
        ),
        (
            "GetShardIterator",
            {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "9" * 21},
            INVALID + "Invalid SequenceNumber in ShardIterator: it is not in the shard",
        ),
    ],
)
def test_invalid_requests_of_streams_are_refused(
    shop: Ask, operation: str, members: dict[str, Any], message: str
) -> None:
    if operation == "GetShardIterator":
        members = {"StreamArn": arn_of(shop), "ShardId": shards_of(shop)[0]["ShardId"], **members}
    error = refusal(shop, operation, **members)
    assert error.code == "ValidationException"
    assert message in error.message


def test_a_stream_or_shard_that_does_not_exist_is_not_found(shop: Ask) -> None:
    other = arn_of(shop)[:-3] + "abc".translate({97: "0", 98: "0", 99: "0"})
    if other != arn_of(shop):
        assert refusal(shop, "DescribeStream", StreamArn=other).code == "ResourceNotFoundException"
    error = refusal(shop, "GetShardIterator", StreamArn=arn_of(shop), ShardId="s" * 30, ShardIteratorType="LATEST")
    assert (error.code, error.message) == (
        "ResourceNotFoundException",
        "Requested resource not found: Shard does not exist",
    )


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"StreamEnabled": True}, "StreamViewType must be specified"),
        ({"StreamEnabled": False, "StreamViewType": "KEYS_ONLY"}, "UpdateViewType should not be specified"),
        ({"StreamEnabled": True, "StreamViewType": "ALL"}, "'streamSpecification.streamViewType' failed"),
        ({"StreamViewType": "KEYS_ONLY"}, "Value null at 'streamSpecification.streamEnabled' failed"),
    ],
)
def test_invalid_specification_is_refused(ask: Ask, wish: dict[str, Any], message: str) -> None:
    assert message in refusal(ask, "CreateTable", **SHOP, StreamSpecification=wish).message


def test_a_stream_survives_a_restart(tmp_path: Path) -> None:
    with Embedded(tmp_path / "db") as engine:
        send(engine, "CreateTable", **streamed())
        send(engine, "PutItem", Item=KEY)
        changes = engine.changes("shop", oldest=True)
        assert len(changes.read()) == 1
    with Embedded(tmp_path / "db") as engine:
        send(engine, "PutItem", Item=item(pk="b", sk="1"))

        def ask(operation: str, **members: Any) -> Any:
            return send(engine, operation, **members)

        found = records(ask)
        assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in found] == ["a", "b"]
        assert found[0]["dynamodb"]["SequenceNumber"] < found[1]["dynamodb"]["SequenceNumber"]
        assert engine.verify() == []


def test_records_of_older_files_repeat_the_key(tmp_path: Path) -> None:
    with Embedded(tmp_path / "db") as engine:
        send(engine, "CreateTable", **streamed())
        send(engine, "PutItem", Item=KEY)
        (now,) = engine.changes("shop", oldest=True)
    with sqlite3.connect(tmp_path / "db") as file:
        (record,) = file.execute("SELECT record FROM records").fetchone()
        number, event, seconds, keys, *images = json.loads(record)
        assert keys is None
        older = json.dumps([number, event, seconds, KEY, *images]).encode()
        file.execute("UPDATE records SET record = ?, checksum = ?", (older, crc32(older, number)))
    file.close()
    with Embedded(tmp_path / "db") as engine:
        assert list(engine.changes("shop", oldest=True)) == [now]


def test_writers_of_one_file_share_the_sequence(tmp_path: Path) -> None:
    with Embedded(tmp_path / "db") as one, Embedded(tmp_path / "db") as other:
        send(one, "CreateTable", **streamed("KEYS_ONLY"))

        def write(engine: Embedded, name: str) -> None:
            for number in range(40):
                send(engine, "PutItem", Item=item(pk=name, sk=str(number)))
                if number % 7 == 0:  # a transaction that is rolled back
                    put = {"TableName": "shop", "Item": item(pk=name, sk="no")}
                    fails = {"Put": {**put, "Item": KEY, "ConditionExpression": "attribute_exists(pk)"}}
                    refusal(send, engine, "TransactWriteItems", TransactItems=[{"Put": put}, fails])

        threads = [
            threading.Thread(target=write, args=(engine, name))
            for engine, name in ((one, "x"), (other, "y"), (one, "z"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = list(one.changes("shop", oldest=True))
        assert len(found) == 120
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in found]
        assert numbers == list(range(1, 121))  # rolled back numbers are used again
        for name in "xyz":
            mine = [r["dynamodb"]["Keys"]["sk"]["S"] for r in found if r["dynamodb"]["Keys"]["pk"]["S"] == name]
            assert mine == [str(number) for number in range(40)]


def test_a_table_that_is_deleted_takes_its_records_with_it(shop: Ask, ask: Ask) -> None:
    shop("PutItem", Item=KEY)
    arn = arn_of(shop)
    shop("DeleteTable")
    assert refusal(shop, "DescribeStream", StreamArn=arn).code == "ResourceNotFoundException"
    ask("CreateTable", **streamed())
    assert records(ask) == []


def test_changes_are_read_in_this_process(shop: Ask, dynamodb: Embedded) -> None:
    shop("PutItem", Item=KEY)
    since, everything = dynamodb.changes("shop"), dynamodb.changes("shop", oldest=True)
    shop("PutItem", Item=item(pk="b", sk="1"))
    assert [change["dynamodb"]["Keys"]["pk"]["S"] for change in since] == ["b"]
    assert [change["eventName"] for change in everything.read(limit=1)] == ["INSERT"]
    assert [change["dynamodb"]["NewImage"] for change in everything] == [item(pk="b", sk="1")]
    assert list(since) == []
    shop("DeleteItem", Key=KEY)
    assert [change["eventName"] for change in since] == ["REMOVE"]


def test_changes_need_a_stream(ask: Ask, dynamodb: Embedded) -> None:
    ask("CreateTable", **SHOP)
    assert refusal(dynamodb.changes, "shop").message == "Table shop has no stream"
    assert refusal(dynamodb.changes, "none").code == "ResourceNotFoundException"
    with pytest.raises(ValueError, match="stream_shard_records"):
        Embedded(stream_shard_records=-1)


def consume(streams: Any, arn: str) -> list[Any]:
    """All records of a stream, as a consumer with boto3 reads them."""
    found: list[Any] = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        place = streams.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        while place:
            answer = streams.get_records(ShardIterator=place)
            found += answer["Records"]
            place = answer.get("NextShardIterator") if answer["Records"] else None
    return found


@pytest.mark.slow
def test_boto3_reads_streams_in_process() -> None:
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        arn = client.create_table(**streamed())["TableDescription"]["LatestStreamArn"]
        client.put_item(TableName="shop", Item={**KEY, "b": {"B": b"\x00\xff"}})
        (record,) = consume(boto3.client("dynamodbstreams"), arn)
        assert record["dynamodb"]["NewImage"]["b"] == {"B": b"\x00\xff"}
        assert record["dynamodb"]["ApproximateCreationDateTime"].year > 2000


def test_streams_are_behind_the_same_port(dynamodb: Embedded) -> None:
    credentials = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    with Server(dynamodb, port=0) as url:
        client = boto3.client("dynamodb", endpoint_url=url, **credentials)
        arn = client.create_table(**streamed("KEYS_ONLY"))["TableDescription"]["LatestStreamArn"]
        client.put_item(TableName="shop", Item=KEY)
        streams = boto3.client("dynamodbstreams", endpoint_url=url, **credentials)
        assert [record["eventName"] for record in consume(streams, arn)] == ["INSERT"]
        with pytest.raises(ClientError, match="ValidationException"):
            streams.get_records(ShardIterator="x")
