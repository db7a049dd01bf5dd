"""Money moved between accounts by many at once; the sum never changes, and every move is counted.

Run as a program: transferring.py FILE SEED MOVES
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError

ACCOUNTS, EACH = 6, 100
BANK: dict[str, Any] = {
    "TableName": "bank",
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "balance", "AttributeType": "N"},
        {"AttributeName": "kind", "AttributeType": "S"},
    ],
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-balance",
            "KeySchema": [
                {"AttributeName": "kind", "KeyType": "HASH"},
                {"AttributeName": "balance", "KeyType": "RANGE"},
            ],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
}


def ask(dynamodb: Embedded, operation: str, **members: Any) -> Any:
    return json.loads(dynamodb.send(operation, json.dumps({"TableName": "bank", **members}).encode()))


def open_accounts(dynamodb: Embedded) -> None:
    ask(dynamodb, "CreateTable", **BANK)
    for number in range(ACCOUNTS):
        item = {"pk": {"S": f"account-{number}"}, "kind": {"S": "account"}, "balance": {"N": str(EACH)}}
        ask(dynamodb, "PutItem", Item=item)


def _add(pk: str, attribute: str, amount: int, least: int | None = None) -> dict[str, Any]:
    change: dict[str, Any] = {
        "TableName": "bank",
        "Key": {"pk": {"S": pk}},
        "UpdateExpression": "ADD #a :amount",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":amount": {"N": str(amount)}},
    }
    if least is not None:
        change["ConditionExpression"] = "#a >= :least"
        change["ExpressionAttributeValues"][":least"] = {"N": str(least)}
    return {"Update": change}


def move(dynamodb: Embedded, chance: random.Random) -> bool:
    """Move some money if there is enough, count the move, and look: the sum is always the same."""
    giver, taker = chance.sample(range(ACCOUNTS), 2)
    amount = chance.randrange(1, 60)
    actions = [
        _add(f"account-{giver}", "balance", -amount, amount),
        _add(f"account-{taker}", "balance", amount),
        _add("moves", "n", 1),
    ]
    try:
        ask(dynamodb, "TransactWriteItems", TransactItems=actions)
    except DynamoDBError as error:
        if error.code != "TransactionCanceledException":
            raise
        return False
    finally:
        assert sum(balances(dynamodb)) == ACCOUNTS * EACH
    return True


def balances(dynamodb: Embedded) -> list[int]:
    """All balances at one moment, in the order of the index."""
    answer = ask(
        dynamodb,
        "Query",
        IndexName="by-balance",
        KeyConditionExpression="kind = :k",
        ExpressionAttributeValues={":k": {"S": "account"}},
    )
    return [int(item["balance"]["N"]) for item in answer["Items"]]


def moves(dynamodb: Embedded, seed: int, number: int, threads: int = 3) -> int:
    """Move money in several threads; returns how often it worked."""

    def work(thread: int) -> int:
        chance = random.Random(f"{seed}/{thread}")
        return sum(move(dynamodb, chance) for _ in range(number))

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(work, range(threads)))


if __name__ == "__main__":
    with Embedded(sys.argv[1]) as opened:
        sys.stdout.write(str(moves(opened, int(sys.argv[2]), int(sys.argv[3]))))
