"""The pytest plugin, in separate pytest runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]


def test_plugin_imports_nothing_until_fixture_is_used() -> None:
    code = (
        "import sys, _pytest.fixtures, pytest; before = set(sys.modules); import prejoin.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [
        "prejoin",
        "prejoin._exports",
        "prejoin._version",
        "prejoin.testing",
        "prejoin.testing.plugin",
    ]


FILE = """
import json

import boto3
import pytest

class TestEngine:
    def test_it_is_empty(self, prejoin_engine, prejoin_table):
        assert json.loads(prejoin_engine.send("ListTables", b"{}"))["TableNames"] == []
        assert prejoin_table("shop") == "shop"

    @pytest.mark.parametrize("again", range(3))
    def test_it_is_empty_again(self, prejoin_engine, prejoin_table, again):
        prejoin_table("shop", "id:N", {"gsi1": "kind, at:N"})
        described = json.loads(prejoin_engine.send("DescribeTable", b'{"TableName":"shop"}'))["Table"]
        assert described["KeySchema"] == [{"AttributeName": "id", "KeyType": "HASH"}]
        assert described["GlobalSecondaryIndexes"][0]["IndexName"] == "gsi1"

def test_boto3_uses_engine(prejoin_boto3, prejoin_table):
    table = boto3.resource("dynamodb").Table(prejoin_table("shop"))
    table.put_item(Item={"pk": "a", "sk": "b", "n": 1})
    assert table.scan()["Items"] == [{"pk": "a", "sk": "b", "n": 1}]

def test_clients_use_engine_over_http(prejoin_url, prejoin_table):
    prejoin_table("shop")
    client = boto3.client(
        "dynamodb", endpoint_url=prejoin_url, region_name="x", aws_access_key_id="x", aws_secret_access_key="x"
    )
    assert client.list_tables()["TableNames"] == ["shop"]
    client.close()

def test_a_schema_makes_its_table(prejoin_engine, prejoin_table):
    from dataclasses import dataclass
    from prejoin import Client, Entity, Key, Schema

    @dataclass
    class User:
        user_id: str
        name: str

    schema = Schema(Entity(User, Key("USER#{user_id}", "PROFILE")))
    db = Client(schema, prejoin_table("shop", schema), prejoin_engine)
    db.insert(User("42", "Alice"))
    assert db.get(User, user_id="42") == User("42", "Alice")
"""


@pytest.mark.everyday(1)
@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_each_test_has_a_dynamodb_of_its_own(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    pytester.makepyfile(FILE)
    ran = pytester.runpytest(*arguments)
    ran.assert_outcomes(passed=7)


@pytest.mark.slow
def test_fixtures_have_descriptions(pytester: pytest.Pytester) -> None:
    ran = pytester.runpytest_subprocess("--fixtures")
    ran.stdout.fnmatch_lines(["prejoin_engine*", "*An empty DynamoDB in memory*"])
    assert ran.ret == 0


def test_plugin_has_entry_point() -> None:
    from importlib.metadata import entry_points

    assert [one.value for one in entry_points(group="pytest11", name="prejoin")] == ["prejoin.testing.plugin"]
