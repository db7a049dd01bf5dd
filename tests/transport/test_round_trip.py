"""The transport with our server: verified signatures, and DynamoDB's errors."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from prejoin.engine import Embedded
from prejoin.engine.http import KeyPair, Server
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import Credentials

from .conftest import KEYS, Connect, Send

TABLE: dict[str, Any] = {
    "TableName": "shop",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
}


@pytest.fixture
def url() -> Iterator[str]:
    with Embedded() as engine, Server(engine, port=0, keys=KeyPair(KEYS.access_key, KEYS.secret_key)) as url:
        yield url


def test_written_item_is_read_back(url: str, connect: Connect, send: Send) -> None:
    endpoint = connect(url, timeout=10)
    item = {"pk": {"S": "ü"}, "n": {"N": "1"}}

    def ask(operation: str, **members: Any) -> Any:
        return json.loads(send(endpoint, operation, json.dumps({"TableName": "shop", **members}).encode()))

    ask("CreateTable", **TABLE)
    assert ask("PutItem", Item=item) == {}
    assert ask("GetItem", Key={"pk": {"S": "ü"}}) == {"Item": item}
    for number in range(30):
        ask("PutItem", Item={"pk": {"S": f"{number}"}, "text": {"S": "x" * 30_000}})
    assert ask("Scan")["Count"] == 31


def test_wrong_secret_raises_dynamodb_error(url: str, connect: Connect, send: Send) -> None:
    endpoint = connect(url, credentials=Credentials(KEYS.access_key, "wrong"))
    with pytest.raises(DynamoDBError, match="InvalidSignatureException"):
        send(endpoint, "ListTables", b"{}")


def test_error_has_message_and_request_id(url: str, connect: Connect, send: Send) -> None:
    with pytest.raises(DynamoDBError) as caught:
        send(connect(url), "GetItem", b'{"TableName":"none","Key":{"pk":{"S":"a"}}}')
    error = caught.value
    assert (error.code, error.status) == ("ResourceNotFoundException", 400)
    assert error.request_id
    assert str(error).endswith(f"(request {error.request_id})")
    assert pickle.loads(pickle.dumps(error)).request_id == error.request_id
