"""A consumer of streams like Lambda's poller, with shards that close, checkpoints and failures."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import boto3
import pytest

from .conftest import running
from .scenario import key, order

pytestmark = pytest.mark.wide

Record = dict[str, Any]
TABLE: dict[str, Any] = {
    "TableName": "polled",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server whose shards close after five records."""
    start = "from prejoin.cli import main; main()"
    with running(sys.executable, "-c", start, "serve", "--port", "0", "--stream-shard-records", "5") as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+?(?=,)", process.stderr.readline())
        assert found
        yield found.group()


@dataclass
class Poller:
    """Reads shards as Lambda does: a child only after its parent, in batches, again from the checkpoint on a failure."""

    streams: Any
    arn: str
    handle: Callable[[list[Record]], None]
    batch: int = 3
    checkpoints: dict[str, str] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)

    def poll(self) -> int:
        """Reads every readable shard once, and returns the number of handled records."""
        handled = 0
        for shard in self._shards():
            parent = shard.get("ParentShardId")
            if shard["ShardId"] not in self.finished and (parent is None or parent in self.finished):
                handled += self._poll_shard(shard["ShardId"])
        return handled

    def _shards(self) -> list[Record]:
        shards: list[Record] = []
        more: dict[str, str] = {}
        while True:
            page = self.streams.describe_stream(StreamArn=self.arn, Limit=2, **more)["StreamDescription"]
            shards += page["Shards"]
            if "LastEvaluatedShardId" not in page:
                return shards
            more = {"ExclusiveStartShardId": page["LastEvaluatedShardId"]}

    def _poll_shard(self, shard: str) -> int:
        place = {"ShardIteratorType": "TRIM_HORIZON"}
        if shard in self.checkpoints:
            place = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self.checkpoints[shard]}
        found = self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=shard, **place)
        iterator, handled = found["ShardIterator"], 0
        while True:
            answer = self.streams.get_records(ShardIterator=iterator, Limit=self.batch)
            records = answer["Records"]
            if records:
                self.handle(records)
                handled += len(records)
                self.checkpoints[shard] = records[-1]["dynamodb"]["SequenceNumber"]
            if "NextShardIterator" not in answer:
                self.finished.add(shard)
                return handled
            if not records:
                return handled
            iterator = answer["NextShardIterator"]


def test_a_poller_keeps_a_copy_of_a_table_through_closed_shards_and_failures(url: str) -> None:
    client = boto3.client("dynamodb", endpoint_url=url)
    arn = client.create_table(**TABLE)["TableDescription"]["LatestStreamArn"]
    copy: dict[str, Any] = {}
    seen: list[str] = []
    failures = iter([True, False, True])

    def handle(records: list[Record]) -> None:
        if next(failures, False):
            raise RuntimeError("the function failed")
        for record in records:
            change = record["dynamodb"]
            seen.append(change["SequenceNumber"])
            if "NewImage" in change:
                copy[change["Keys"]["sk"]["S"]] = change["NewImage"]
            else:
                del copy[change["Keys"]["sk"]["S"]]

    poller = Poller(boto3.client("dynamodbstreams", endpoint_url=url), arn, handle)
    for at in range(12):
        client.put_item(TableName="polled", Item=order(at))
        if at % 3 == 0:
            client.delete_item(TableName="polled", Key=key("USER#1", f"ORDER#{at:03}"))
        if at == 6:
            with pytest.raises(RuntimeError, match="the function failed"):
                poller.poll()
    for _ in range(20):  # shards become readable one after another
        try:
            poller.poll()
        except RuntimeError:
            continue
    items = client.scan(TableName="polled")["Items"]
    assert copy == {item["sk"]["S"]: item for item in items}
    assert len(seen) == len(set(seen)) == 16
    assert [int(number) for number in seen] == sorted(int(number) for number in seen)
    assert len(poller.finished) == 3


def test_a_consumer_that_starts_at_the_latest_sees_only_what_follows(url: str) -> None:
    client, streams = (boto3.client(name, endpoint_url=url) for name in ("dynamodb", "dynamodbstreams"))
    arn = client.create_table(**TABLE | {"TableName": "latest"})["TableDescription"]["LatestStreamArn"]
    client.put_item(TableName="latest", Item=order(1))
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][-1]["ShardId"]
    place = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="LATEST")["ShardIterator"]
    assert streams.get_records(ShardIterator=place)["Records"] == []
    client.put_item(TableName="latest", Item=order(2))
    (record,) = streams.get_records(ShardIterator=place)["Records"]
    assert (record["eventName"], record["dynamodb"]["Keys"]["sk"]) == ("INSERT", {"S": "ORDER#002"})
