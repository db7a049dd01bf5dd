"""boto3's client: DynamoDB's JSON in and out, as dictionaries."""

from __future__ import annotations

import boto3

from client.items import index_pk, pk, row, sk, typed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from client.adapter import Row
    from client.workload import Order


class Client:
    is_async = False

    def __init__(self, url: str, table: str) -> None:
        self._client: Any = boto3.client("dynamodb", region_name="us-east-1", endpoint_url=url)
        self._table = table

    def open(self) -> None:
        """It needs no opening."""

    def to_native(self, order: Order) -> dict[str, dict[str, str]]:
        return typed(order)

    def get(self, user: str, number: int) -> Any:
        return self._client.get_item(TableName=self._table, Key=_key(user, number)).get("Item")

    def query(self, user: str) -> list[Any]:
        arguments = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :pk",
            "ExpressionAttributeValues": {":pk": {"S": pk(user)}},
        }
        answer = self._client.query(**arguments)
        items: list[Any] = answer["Items"]
        while "LastEvaluatedKey" in answer:
            answer = self._client.query(**arguments, ExclusiveStartKey=answer["LastEvaluatedKey"])
            items += answer["Items"]
        return items

    def put(self, native: dict[str, dict[str, str]]) -> None:
        self._client.put_item(TableName=self._table, Item=native)

    def add(self, user: str, number: int) -> None:
        self._client.update_item(**self._add(user, number))

    def move(self, user: str, number: int, status: str) -> None:
        self._client.update_item(
            TableName=self._table,
            Key=_key(user, number),
            UpdateExpression="SET #status = :status, gsi1pk = :gsi1pk",
            ConditionExpression="attribute_exists(pk)",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":status": {"S": status}, ":gsi1pk": {"S": index_pk(status)}},
        )

    def transact(self, put: dict[str, dict[str, str]], add: tuple[str, int], check: tuple[str, int]) -> None:
        condition = {
            "TableName": self._table,
            "Key": _key(*check),
            "ConditionExpression": "attribute_exists(pk)",
        }
        self._client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": self._table, "Item": put}},
                {"Update": self._add(*add)},
                {"ConditionCheck": condition},
            ]
        )

    def batch(self, native: list[dict[str, dict[str, str]]]) -> None:
        for at in range(0, len(native), 25):
            left = {self._table: [{"PutRequest": {"Item": item}} for item in native[at : at + 25]]}
            while left:
                left = self._client.batch_write_item(RequestItems=left)["UnprocessedItems"]

    def row(self, found: Any) -> Row:
        return row({name: value for name, typed in found.items() for value in typed.values()})

    def close(self) -> None:
        self._client.close()

    def _add(self, user: str, number: int) -> dict[str, Any]:
        return {
            "TableName": self._table,
            "Key": _key(user, number),
            "UpdateExpression": "SET #total = #total + :one",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeNames": {"#total": "total"},
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }


def _key(user: str, number: int) -> dict[str, dict[str, str]]:
    return {"pk": {"S": pk(user)}, "sk": {"S": sk(number)}}


connect = Client
