"""Asking with boto3, client or resource: through our adapter, moto in this process, or a server over HTTP."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from . import servers


class Boto3:
    """A boto3 client as people make it. That of a resource takes and gives Python's values."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._open = ExitStack()
        self._processes: list[str] = []
        engine, named = order["engine"], {"region_name": "us-east-1"}
        if engine == "adapter":
            self._open.enter_context(import_module("prejoin.testing").mock_dynamodb())
        elif engine == "moto":
            self._open.enter_context(import_module("moto").mock_aws())
        else:
            # The server starts while boto3 is imported, as a user would have it.
            process, port = self._open.enter_context(servers.running(engine, order))
            named["endpoint_url"] = f"http://127.0.0.1:{port}"
            self._processes = [str(process.pid)]
        boto3 = import_module("boto3")
        self._resource = order["client"] == "boto3 resource"
        self._client: Any = (
            boto3.resource("dynamodb", **named).meta.client if self._resource else boto3.client("dynamodb", **named)
        )
        if self._processes:
            servers.wait_for(port, process)

    def create(self) -> None:
        self._send("CreateTable", self._order["first"][0][1])
        while self._client.describe_table(TableName=self._order["table"])["Table"]["TableStatus"] != "ACTIVE":
            time.sleep(0.005)

    def first(self) -> None:
        self.create()
        for operation, body in self._order["first"][1:]:
            self._send(operation, body)

    def load(self) -> None:
        for body in self._requests()["load"]:
            assert not self._send("BatchWriteItem", body)["UnprocessedItems"]

    def calls(self) -> dict[str, list[Callable[[], Any]]]:
        found: dict[str, list[Callable[[], Any]]] = {
            operation: [partial(self._method(name), **self._values(body)) for name, body in asked]
            for operation, asked in self._requests()["calls"].items()
        }
        if self._order["engine"] == "dynalite":
            del found["TransactWrite of 3"]
        return found

    def rows(self, answer: Any) -> list[list[Any]]:
        items = answer["Items"] if "Items" in answer else [answer["Item"]]
        if not self._resource:
            items = [{name: value for name, typed in item.items() for value in typed.values()} for item in items]
        return [[i["user"], int(i["number"]), i["status"], int(i["total"])] for i in items]

    def orders(self, user: str) -> Any:
        body = {
            "TableName": self._order["table"],
            "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": {":p": {"S": f"USER#{user}"}},
        }
        return self._send("Query", body)

    def stored(self) -> int:
        return 0

    def processes(self) -> list[str]:
        return self._processes

    def close(self) -> None:
        self._open.close()

    def _requests(self) -> Any:
        return json.loads(Path(self._order["requests"]).read_text())

    def _method(self, operation: str) -> Any:
        return getattr(self._client, re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower())

    def _send(self, operation: str, body: dict[str, Any]) -> Any:
        return self._method(operation)(**self._values(body))

    def _values(self, body: dict[str, Any]) -> dict[str, Any]:
        """The parameters as this client takes them."""
        if not self._resource or "KeySchema" in body:
            return body
        reader = import_module("boto3.dynamodb.types").TypeDeserializer()

        def read(value: Any, name: str = "") -> Any:
            if name in ("Item", "Key", "ExpressionAttributeValues"):
                return {key: reader.deserialize(typed) for key, typed in value.items()}
            if isinstance(value, dict):
                return {key: read(inner, key) for key, inner in value.items()}
            return [read(inner) for inner in value] if isinstance(value, list) else value

        values: dict[str, Any] = read(body)
        return values
