"""Commands of the AWS CLI."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from .conftest import tool

pytestmark = pytest.mark.wide


class Aws:
    def __init__(self, url: str) -> None:
        self.url = url

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(tool("aws/bin/aws")), "dynamodb", "--endpoint-url", self.url, "--output", "json", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def __call__(self, *arguments: str) -> Any:
        ran = self.run(*arguments)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout or "null")


def test_a_session_of_the_command_line(url: str) -> None:
    aws = Aws(url)
    made = aws(
        *("create-table", "--table-name", "cli", "--billing-mode", "PAY_PER_REQUEST"),
        *("--attribute-definitions", "AttributeName=pk,AttributeType=S", "AttributeName=kind,AttributeType=S"),
        *("--key-schema", "AttributeName=pk,KeyType=HASH"),
        *("--global-secondary-indexes",),
        "IndexName=by-kind,KeySchema=[{AttributeName=kind,KeyType=HASH}],Projection={ProjectionType=ALL}",
    )
    assert made["TableDescription"]["TableName"] == "cli"
    aws("wait", "table-exists", "--table-name", "cli")
    assert "cli" in aws("list-tables")["TableNames"]

    for at in range(3):
        item = {"pk": {"S": f"{at}"}, "kind": {"S": "k"}, "n": {"N": str(at)}, "b": {"B": "abc"}}
        aws("put-item", "--table-name", "cli", "--item", json.dumps(item))
    # Version 1 takes the text after "B" as the bytes themselves, and prints them as base64.
    got = aws("get-item", "--table-name", "cli", "--key", '{"pk":{"S":"1"}}')
    assert got["Item"] == {"pk": {"S": "1"}, "kind": {"S": "k"}, "n": {"N": "1"}, "b": {"B": "YWJj"}}

    updated = aws(
        *("update-item", "--table-name", "cli", "--key", '{"pk":{"S":"1"}}', "--return-values", "UPDATED_NEW"),
        *("--update-expression", "SET n = n + :d", "--expression-attribute-values", '{":d":{"N":"5"}}'),
    )
    assert updated["Attributes"] == {"n": {"N": "6"}}

    found = aws(
        *("query", "--table-name", "cli", "--index-name", "by-kind", "--page-size", "2"),
        *("--key-condition-expression", "kind = :k", "--expression-attribute-values", '{":k":{"S":"k"}}'),
    )
    assert found["Count"] == 3, "the command line follows the pages by itself"

    refused = aws.run(
        *("put-item", "--table-name", "cli", "--item", '{"pk":{"S":"1"}}'),
        *("--condition-expression", "attribute_not_exists(pk)"),
    )
    assert refused.returncode != 0
    assert "(ConditionalCheckFailedException) when calling the PutItem operation" in refused.stderr

    transaction = [
        {"Delete": {"TableName": "cli", "Key": {"pk": {"S": "0"}}}},
        {"Put": {"TableName": "cli", "Item": {"pk": {"S": "9"}}, "ConditionExpression": "attribute_not_exists(pk)"}},
    ]
    aws("transact-write-items", "--transact-items", json.dumps(transaction))
    again = aws.run("transact-write-items", "--transact-items", json.dumps(transaction))
    assert "TransactionCanceledException" in again.stderr
    assert aws("scan", "--table-name", "cli", "--select", "COUNT")["Count"] == 3
    aws("delete-table", "--table-name", "cli")
    aws("wait", "table-not-exists", "--table-name", "cli")
