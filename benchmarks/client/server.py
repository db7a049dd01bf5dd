"""The server for all contenders, with a table for each."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from engine.servers import running, wait_for
from prejoin.transport import Endpoint

from .workload import batches, create_table

Server = Literal["dynoxide", "serve"]


class Tables:
    """Creates, fills and reads tables of a server."""

    def __init__(self, url: str, endpoint: Endpoint) -> None:
        self.url = url
        self._endpoint = endpoint

    def make(self, table: str) -> None:
        """Creates and fills a table."""
        self._send("CreateTable", create_table(table))
        while self._send("DescribeTable", {"TableName": table})["Table"]["TableStatus"] != "ACTIVE":
            time.sleep(0.005)
        for body in batches(table):
            assert not self._send("BatchWriteItem", body)["UnprocessedItems"]

    def items(self, table: str) -> list[Any]:
        """All items of a table as DynamoDB's JSON, sorted by key."""
        body, found = {"TableName": table}, []
        while True:
            answer = self._send("Scan", body)
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return sorted(found, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))
            body["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _send(self, operation: str, body: dict[str, Any]) -> Any:
        return json.loads(self._endpoint.send(operation, json.dumps(body).encode()))


@contextmanager
def serving(server: Server) -> Iterator[Tables]:
    with running(server, {}) as (process, port):
        wait_for(port, process)
        url = f"http://127.0.0.1:{port}"
        with Endpoint(url, proxy=False) as endpoint:
            yield Tables(url, endpoint)
