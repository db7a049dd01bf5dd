"""boto3's resource: Python's values in and out, numbers as Decimal."""

from __future__ import annotations

import boto3
from boto3.dynamodb.conditions import Key

from client.items import index_pk, item, pk, row, sk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order


class Resource:
    is_async = False

    def __init__(self, url: str, table: str) -> None:
        self._table: Any = boto3.resource("dynamodb", region_name="us-east-1", endpoint_url=url).Table(table)

    def open(self) -> None:
        """It needs no opening."""

    def to_native(self, order: Order) -> dict[str, Any]:
        return item(order)

    def get(self, user: str, number: int) -> Any:
        return self._table.get_item(Key=key(user, number)).get("Item")

    def query(self, user: str) -> list[Any]:
        arguments = {"KeyConditionExpression": Key("pk").eq(pk(user))}
        answer = self._table.query(**arguments)
        items: list[Any] = answer["Items"]
        while "LastEvaluatedKey" in answer:
            answer = self._table.query(**arguments, ExclusiveStartKey=answer["LastEvaluatedKey"])
            items += answer["Items"]
        return items

    def put(self, native: dict[str, Any]) -> None:
        self._table.put_item(Item=native)

    def add(self, user: str, number: int) -> None:
        self._table.update_item(**add_request(user, number))

    def move(self, user: str, number: int, status: str) -> None:
        self._table.update_item(**move_request(user, number, status))

    def transact(self, put: dict[str, Any], add: tuple[str, int], check: tuple[str, int]) -> None:
        # A table has no method for transactions; the client of a resource takes Python's values, too.
        self._table.meta.client.transact_write_items(TransactItems=transaction(self._table.name, put, add, check))

    def batch(self, native: list[dict[str, Any]]) -> None:
        with self._table.batch_writer() as writer:
            for one in native:
                writer.put_item(Item=one)

    def row(self, found: Any) -> Row:
        return row(found)

    def close(self) -> None:
        self._table.meta.client.close()


def key(user: str, number: int) -> dict[str, str]:
    return {"pk": pk(user), "sk": sk(number)}


def add_request(user: str, number: int) -> dict[str, Any]:
    return {
        "Key": key(user, number),
        "UpdateExpression": "SET #total = #total + :one",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeNames": {"#total": "total"},
        "ExpressionAttributeValues": {":one": 1},
    }


def move_request(user: str, number: int, status: str) -> dict[str, Any]:
    return {
        "Key": key(user, number),
        "UpdateExpression": "SET #status = :status, gsi1pk = :gsi1pk",
        "ConditionExpression": "attribute_exists(pk)",
        "ExpressionAttributeNames": {"#status": "status"},
        "ExpressionAttributeValues": {":status": status, ":gsi1pk": index_pk(status)},
    }


def transaction(
    table: str, put: dict[str, Any], add: tuple[str, int], check: tuple[str, int]
) -> list[dict[str, dict[str, Any]]]:
    condition = {"TableName": table, "Key": key(*check), "ConditionExpression": "attribute_exists(pk)"}
    return [
        {"Put": {"TableName": table, "Item": put}},
        {"Update": {"TableName": table, **add_request(*add)}},
        {"ConditionCheck": condition},
    ]


connect = Resource
