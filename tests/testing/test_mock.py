"""Unmodified boto3 code on the engine in this process: client, resource, and libraries that use them."""

from __future__ import annotations

import asyncio
import datetime
import gc
import os
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from boto3.dynamodb.conditions import Attr, Key
from boto3.dynamodb.types import Binary
from botocore.client import BaseClient
from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError
from botocore.stub import Stubber

from prejoin.engine import Embedded
from prejoin.testing import attach, create_table, mock_dynamodb

pytest_plugins = ["pytester"]

SHOP = create_table("shop", "pk, sk", {"gsi1": "kind, at:N"})
MODELS = botocore.session.get_session().get_component("data_loader")
"""botocore's service models, read once for all tests."""
HERE = {"region_name": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Removes all credentials."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    session = botocore.session.get_session()
    session.register_component("data_loader", MODELS)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", boto3.Session(botocore_session=session))


@pytest.fixture
def engine() -> Any:
    with mock_dynamodb() as engine:
        yield engine


@pytest.fixture
def client(engine: Embedded) -> Any:
    client = boto3.client("dynamodb")
    client.create_table(**SHOP)
    return client


@pytest.fixture
def table(client: Any) -> Any:
    return boto3.resource("dynamodb").Table("shop")


# --- Regions and accounts -------------------------------------------------------------------------------------------


def tables_of(region: str, key: str = "a") -> list[str]:
    client = boto3.client("dynamodb", region_name=region, aws_access_key_id=key, aws_secret_access_key="b")
    names: list[str] = client.list_tables()["TableNames"]
    return names


@pytest.mark.slow
def test_regions_and_accounts_have_tables_of_their_own(engine: Embedded) -> None:
    made = boto3.client("dynamodb", **HERE).create_table(**SHOP)["TableDescription"]
    assert made["TableArn"] == "arn:aws:dynamodb:eu-west-1:123456789012:table/shop"
    assert tables_of("eu-west-1") == tables_of("eu-west-1", "another key") == ["shop"]
    assert tables_of("us-east-1") == tables_of("eu-west-1", "111122223333") == []
    other = {"region_name": "eu-west-1", "aws_access_key_id": "111122223333", "aws_secret_access_key": "b"}
    arn = boto3.client("dynamodb", **other).create_table(**SHOP)["TableDescription"]["TableArn"]
    assert arn == "arn:aws:dynamodb:eu-west-1:111122223333:table/shop"
    boto3.client("dynamodb", **HERE).delete_table(TableName="shop")
    assert tables_of("eu-west-1", "111122223333") == ["shop"]
    assert boto3.client("dynamodb", **other).list_tags_of_resource(ResourceArn=arn)["Tags"] == []


def test_the_engine_of_a_mock_is_that_of_the_first_region() -> None:
    with Embedded() as given, mock_dynamodb(engine=given):
        with mock_dynamodb():
            boto3.client("dynamodb", **HERE).create_table(**SHOP)
        assert given.send("ListTables", b"{}") == b'{"TableNames":["shop"]}'
        assert tables_of("us-east-1") == []


def test_engines_of_a_mock_have_newer_messages_in_every_region() -> None:
    with mock_dynamodb():
        for region in ("eu-west-1", "us-east-1"):
            client = boto3.client("dynamodb", **{**HERE, "region_name": region})
            client.create_table(**SHOP)
            with pytest.raises(ClientError, match="PutItem operation: 1 validation error detected: Invalid Condition"):
                client.put_item(TableName="shop", Item={"pk": {"S": "a"}, "sk": {"S": "b"}}, ConditionExpression="")


def test_regions_may_share_their_tables() -> None:
    with mock_dynamodb(regions=False):
        boto3.client("dynamodb", **HERE).create_table(**SHOP)
        assert tables_of("us-east-1") == tables_of("us-east-1", "111122223333") == ["shop"]


# --- The client -----------------------------------------------------------------------------------------------------


def test_no_credentials_and_no_region_are_needed(engine: Embedded) -> None:
    assert boto3.client("dynamodb").list_tables()["TableNames"] == []
    assert botocore.session.get_session().create_client("dynamodb").list_tables()["TableNames"] == []


def test_a_region_that_is_given_is_kept(engine: Embedded, monkeypatch: pytest.MonkeyPatch) -> None:
    assert boto3.client("dynamodb", region_name="eu-west-1").meta.region_name == "eu-west-1"
    assert boto3.client("dynamodb", config=Config(region_name="eu-west-2")).meta.region_name == "eu-west-2"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-3")
    assert boto3.client("dynamodb").meta.region_name == "eu-west-3"


def test_an_answer_has_metadata(client: Any) -> None:
    metadata = client.get_item(TableName="shop", Key={"pk": {"S": "a"}, "sk": {"S": "b"}})["ResponseMetadata"]
    assert (metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == (200, 0)
    assert len(metadata["RequestId"]) == 52
    assert metadata["HTTPHeaders"]["x-amzn-requestid"] == metadata["RequestId"]


def test_binary_values_are_bytes(client: Any) -> None:
    item = {
        "pk": {"S": "a"},
        "sk": {"S": "b"},
        "B": {"B": b"\x00\xff"},
        "set": {"BS": [b"1", b"2"]},
        "deep": {"M": {"l": {"L": [{"B": b"x"}, {"BOOL": True}, {"S": "AAE="}]}}},
    }
    client.put_item(TableName="shop", Item=item)
    assert client.get_item(TableName="shop", Key={"pk": {"S": "a"}, "sk": {"S": "b"}})["Item"] == item
    assert client.scan(TableName="shop")["Items"] == [item]
    keys = {"shop": {"Keys": [{"pk": {"S": "a"}, "sk": {"S": "b"}}]}}
    assert client.batch_get_item(RequestItems=keys)["Responses"] == {"shop": [item]}


def test_dates_are_dates_and_units_are_floats(client: Any) -> None:
    described = client.describe_table(TableName="shop")["Table"]
    assert isinstance(described["CreationDateTime"], datetime.datetime)
    put = client.put_item(TableName="shop", Item={"pk": {"S": "a"}, "sk": {"S": "b"}}, ReturnConsumedCapacity="TOTAL")
    assert isinstance(put["ConsumedCapacity"]["CapacityUnits"], float)


def test_errors_are_the_clients_own(client: Any) -> None:
    with pytest.raises(client.exceptions.ResourceNotFoundException) as caught:
        client.get_item(TableName="nowhere", Key={"pk": {"S": "a"}})
    assert isinstance(caught.value, ClientError)
    assert caught.value.operation_name == "GetItem"
    assert caught.value.response["Error"]["Code"] == "ResourceNotFoundException"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName="shop",
            Item={"pk": {"S": "a"}, "sk": {"S": "b"}},
            ConditionExpression="attribute_exists(pk)",
        )
    assert str(caught.value).endswith("PutItem operation: The conditional request failed")
    with pytest.raises(ClientError, match="ValidationException"):
        client.get_item(TableName="shop", Key={"pk": {"S": "a"}})


def test_a_failed_condition_carries_the_item_where_it_is_asked_for(client: Any) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}, "data": {"B": b"\x00"}}
    client.put_item(TableName="shop", Item=item)
    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as caught:
        client.put_item(
            TableName="shop",
            Item=item,
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    assert caught.value.response["Item"] == item


def test_a_cancelled_transaction_carries_its_reasons(client: Any) -> None:
    put = {"TableName": "shop", "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}}
    with pytest.raises(client.exceptions.TransactionCanceledException) as caught:
        client.transact_write_items(
            TransactItems=[
                {"Put": {**put, "ConditionExpression": "attribute_exists(pk)"}},
                {"Put": {**put, "Item": {"pk": {"S": "c"}, "sk": {"S": "d"}}}},
            ]
        )
    reasons = caught.value.response["CancellationReasons"]
    assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"TableName": "shop"},
        {"TableName": 5, "Key": {}},
        {"TableName": "shop", "Key": {"pk": "a"}},
        {"TableName": "shop", "Key": {"pk": {"S": 5}}},
        {"TableName": "shop", "Key": {"pk": {"N": 5}}},
        {"TableName": "shop", "Key": {"pk": {"Q": "a"}}},
        {"TableName": "shop", "Key": {}, "ProjectionExpresion": "a"},
        {"TableName": "shop", "Key": {}, "ProjectionExpression": None},
    ],
)
def test_parameters_are_checked_as_always(client: Any, wrong: dict[str, Any]) -> None:
    """The errors equal those without a mock."""
    real = boto3.client("dynamodb", **HERE)
    with pytest.raises(ParamValidationError) as caught:
        client.get_item(**wrong)
    with pytest.raises(ParamValidationError) as expected:
        real._convert_to_request_dict(
            wrong, real.meta.service_model.operation_model("GetItem"), "http://localhost", {"client_config": None}
        )
    assert str(caught.value) == str(expected.value)


def test_unsupported_parameters_are_left_to_botocore(client: Any) -> None:
    class Name(str):
        __slots__ = ()

    odd = {"pk": {"S": Name("a")}, "sk": {"S": "\ud83d\ude00 é"}, "b": {"B": bytearray(b"x")}, "c": {"B": "text"}}
    client.put_item(TableName="shop", Item=odd)
    item = client.scan(TableName="shop")["Items"][0]
    assert (item["pk"], item["b"], item["c"]) == ({"S": "a"}, {"B": b"x"}, {"B": b"text"})


@pytest.mark.slow
def test_pages_and_waiters_work(client: Any) -> None:
    client.get_waiter("table_exists").wait(TableName="shop")
    for at in range(7):
        client.put_item(TableName="shop", Item={"pk": {"S": "a"}, "sk": {"S": str(at)}})
    query = {"KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": {":p": {"S": "a"}}}
    pages = list(client.get_paginator("query").paginate(TableName="shop", **query, PaginationConfig={"PageSize": 3}))
    assert [len(page["Items"]) for page in pages] == [3, 3, 1]
    client.delete_table(TableName="shop")
    client.get_waiter("table_not_exists").wait(TableName="shop")


def test_a_transaction_gets_its_token(client: Any) -> None:
    seen = []
    client.meta.events.register("before-call.dynamodb.TransactWriteItems", lambda params, **_: seen.append(params))
    client.transact_write_items(
        TransactItems=[{"Put": {"TableName": "shop", "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}}}]
    )
    assert b'"ClientRequestToken":"' in seen[0]["body"]


def test_unknown_operation_raises_error(client: Any) -> None:
    with pytest.raises(ClientError, match="UnknownOperationException"):
        client.create_global_table(GlobalTableName="shop", ReplicationGroup=[])


def test_settings_of_tables_are_served(client: Any) -> None:
    arn = client.describe_table(TableName="shop")["Table"]["TableArn"]
    client.tag_resource(ResourceArn=arn, Tags=[{"Key": "team", "Value": "a"}])
    assert client.list_tags_of_resource(ResourceArn=arn)["Tags"] == [{"Key": "team", "Value": "a"}]
    assert client.describe_endpoints()["Endpoints"][0]["Address"] == "localhost"
    client.update_continuous_backups(
        TableName="shop", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
    )
    description = client.describe_continuous_backups(TableName="shop")["ContinuousBackupsDescription"]
    assert description["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"


# --- The resource ---------------------------------------------------------------------------------------------------

ITEM = {
    "pk": "a",
    "sk": "b",
    "number": Decimal("1.50"),
    "tags": {"x", "y"},
    "numbers": {Decimal(1), Decimal(2)},
    "binary": Binary(b"\x00"),
    "deep": {"list": [None, True, "x", Decimal(3)]},
}


def test_items_of_the_resource_are_python_values(table: Any) -> None:
    table.put_item(Item=ITEM)
    assert table.get_item(Key={"pk": "a", "sk": "b"})["Item"] == ITEM
    assert table.query(KeyConditionExpression=Key("pk").eq("a"))["Items"] == [ITEM]
    assert table.scan(FilterExpression=Attr("number").gt(1))["Items"] == [ITEM]
    assert table.item_count == 1


def test_the_resource_updates_and_deletes(table: Any) -> None:
    table.put_item(Item=ITEM)
    updated = table.update_item(
        Key={"pk": "a", "sk": "b"},
        UpdateExpression="ADD #n :one SET deep.x = :x",
        ExpressionAttributeNames={"#n": "number"},
        ExpressionAttributeValues={":one": 1, ":x": [1, "a"]},
        ConditionExpression=Attr("tags").contains("x"),
        ReturnValues="ALL_NEW",
    )["Attributes"]
    assert (updated["number"], updated["deep"]["x"]) == (Decimal("2.5"), [1, "a"])
    old = table.delete_item(Key={"pk": "a", "sk": "b"}, ReturnValues="ALL_OLD")["Attributes"]
    assert old == updated
    with pytest.raises(table.meta.client.exceptions.ConditionalCheckFailedException):
        table.put_item(Item=ITEM, ConditionExpression=Attr("pk").exists())


def test_the_callers_item_is_not_changed(table: Any) -> None:
    mine = {"pk": "a", "sk": "b", "n": 1}
    table.put_item(Item=mine)
    assert mine == {"pk": "a", "sk": "b", "n": 1}


def test_batches_of_the_resource_work(table: Any) -> None:
    with table.batch_writer() as batch:
        for at in range(60):
            batch.put_item(Item={"pk": "a", "sk": f"{at:02}", "kind": "k", "at": at})
    found = table.query(IndexName="gsi1", KeyConditionExpression=Key("kind").eq("k") & Key("at").between(10, 19))
    assert [int(item["at"]) for item in found["Items"]] == list(range(10, 20))
    keys = [{"pk": "a", "sk": "00"}, {"pk": "a", "sk": "59"}]
    resource = boto3.resource("dynamodb")
    got = resource.batch_get_item(RequestItems={"shop": {"Keys": keys}})["Responses"]["shop"]
    assert sorted(int(item["at"]) for item in got) == [0, 59]


def test_tables_of_the_resource_work(engine: Embedded) -> None:
    resource = boto3.resource("dynamodb")
    table = resource.create_table(**SHOP)
    table.wait_until_exists()
    table.reload()
    assert table.table_status == "ACTIVE"
    assert [one.name for one in resource.tables.all()] == ["shop"]
    table.delete()
    table.wait_until_not_exists()


# --- Start and end --------------------------------------------------------------------------------------------------


def test_existing_clients_use_engine_inside_mock() -> None:
    client, resource = boto3.client("dynamodb", **HERE), boto3.resource("dynamodb", **HERE)
    original = type(client)._make_api_call
    with mock_dynamodb() as engine:
        client.create_table(**SHOP)
        assert [table.name for table in resource.tables.all()] == ["shop"]
        assert engine.send("ListTables", b"{}") == b'{"TableNames":["shop"]}'
    assert type(client)._make_api_call is original


def test_each_mock_has_its_own_engine() -> None:
    for _ in range(2):
        with mock_dynamodb():
            client = boto3.client("dynamodb")
            assert client.list_tables()["TableNames"] == []
            client.create_table(**SHOP)


def test_nested_mock_shares_tables() -> None:
    with mock_dynamodb() as outer:
        client = boto3.client("dynamodb")
        with mock_dynamodb() as inner:
            assert inner is outer
            client.create_table(**SHOP)
        assert client.list_tables()["TableNames"] == ["shop"]


def test_nested_mock_accepts_other_engine() -> None:
    with Embedded() as engine, mock_dynamodb():
        client = boto3.client("dynamodb")
        client.create_table(**SHOP)
        with mock_dynamodb(engine=engine):
            assert client.list_tables()["TableNames"] == []
        assert client.list_tables()["TableNames"] == ["shop"]


def test_mocks_end_in_any_order() -> None:
    client = boto3.client("dynamodb", **HERE)
    original = type(client)._make_api_call
    first, second = mock_dynamodb(), mock_dynamodb()
    first.start()
    second.start()
    client.create_table(**SHOP)
    first.stop()
    assert client.list_tables()["TableNames"] == ["shop"]
    second.stop()
    assert type(client)._make_api_call is original
    with pytest.raises(RuntimeError, match="not started"):
        second.stop()


def test_mock_can_be_entered_twice() -> None:
    mock = mock_dynamodb()
    with mock:
        with mock:
            boto3.client("dynamodb").create_table(**SHOP)
        assert boto3.client("dynamodb").list_tables()["TableNames"] == ["shop"]
    with mock:
        assert boto3.client("dynamodb").list_tables()["TableNames"] == []


def test_it_decorates_with_and_without_parentheses() -> None:
    @mock_dynamodb
    def plain(name: str) -> Any:
        client = boto3.client("dynamodb")
        client.create_table(**{**SHOP, "TableName": name})
        return client.list_tables()["TableNames"]

    @mock_dynamodb(other_services="refuse")
    def called(name: str) -> Any:
        return plain(name)

    assert [plain("one"), plain("two"), called("three")] == [["one"], ["two"], ["three"]]


def test_it_decorates_coroutines_too() -> None:
    @mock_dynamodb
    async def later() -> Any:
        return boto3.client("dynamodb").list_tables()["TableNames"]

    assert asyncio.run(later()) == []


def test_decorated_generator_is_inside_the_mock_until_it_ends() -> None:
    @mock_dynamodb
    def fixture() -> Any:
        client = boto3.client("dynamodb")
        client.create_table(**SHOP)
        yield client
        client.delete_table(TableName="shop")

    for client in fixture():
        assert client.list_tables()["TableNames"] == ["shop"]


def test_undecoratable_objects_are_refused() -> None:
    async def generator() -> Any:
        yield 1

    class Repository:
        pass

    with pytest.raises(TypeError, match="asynchronous generator"):
        mock_dynamodb(generator)
    with pytest.raises(TypeError, match="Repository has no tests"):
        mock_dynamodb(Repository)


CLASSES = """
import unittest

import boto3
import pytest

from prejoin.testing import create_table, mock_dynamodb

def tables():
    return boto3.client("dynamodb").list_tables()["TableNames"]

@pytest.fixture
def shop():
    boto3.client("dynamodb").create_table(**create_table("shop"))

@mock_dynamodb
class TestOfPytest:
    def setup_method(self):
        boto3.client("dynamodb").create_table(**create_table("set-up"))

    def teardown_method(self, method):
        assert method.__name__ in ("test_one", "test_two")
        assert tables()[-1] in ("set-up", "shop")

    @pytest.fixture(autouse=True)
    def more(self):
        boto3.client("dynamodb").create_table(**create_table("by-fixture"))

    @pytest.mark.parametrize("again", [1, 2])
    def test_one(self, again):
        assert tables() == ["by-fixture", "set-up"]

    def test_two(self, shop):
        assert tables() == ["by-fixture", "set-up", "shop"]

@mock_dynamodb()
class TestOfPytestWithoutMore:
    def test_one(self):
        boto3.client("dynamodb").create_table(**create_table("one"))

    def test_two(self):
        assert tables() == []

class TestThatInherits(TestOfPytestWithoutMore):
    def setup_method(self):
        super().setup_method()
        assert tables() == []

    def test_three(self):
        assert tables() == []

@mock_dynamodb
class TestOuter:
    class TestInner:
        def test_one(self):
            assert tables() == []

class TestOutside:
    def test_it_is_over(self):
        assert boto3.client("dynamodb", region_name="x")._make_api_call.__module__ == "botocore.client"

@mock_dynamodb
class OfUnittest(unittest.TestCase):
    def setUp(self):
        boto3.client("dynamodb").create_table(**create_table("set-up"))
        self.addCleanup(lambda: self.assertEqual(tables(), ["set-up"]))

    def test_one(self):
        assert tables() == ["set-up"]

    def test_two(self):
        assert tables() == ["set-up"]

@mock_dynamodb
class OfUnittestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        boto3.client("dynamodb").create_table(**create_table("set-up"))

    async def test_one(self):
        assert tables() == ["set-up"]
"""


@pytest.mark.slow
def test_decorated_class_has_one_mock_per_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(test_classes=CLASSES)
    pytester.runpytest_subprocess().assert_outcomes(passed=13)
    pytester.run(sys.executable, "-m", "unittest", "test_classes").stderr.fnmatch_lines(["Ran 3 tests*", "OK"])


def test_failed_setup_ends_mock() -> None:
    @mock_dynamodb
    class TestFailing:
        def setup_method(self) -> None:
            raise ZeroDivisionError

        def test_nothing(self) -> None: ...

    client = boto3.client("dynamodb", **HERE)
    original = type(client)._make_api_call
    with pytest.raises(ZeroDivisionError):
        TestFailing().setup_method()
    assert type(client)._make_api_call is original


def test_setup_without_super_is_reported() -> None:
    @mock_dynamodb
    class TestBase:
        def test_nothing(self) -> None: ...

    class TestChild(TestBase):
        def setup_method(self) -> None: ...

    child: Any = TestChild()
    child.setup_method()
    with pytest.raises(RuntimeError, match=r"TestChild.setup_method does not call super\(\).setup_method\(\)"):
        child.teardown_method()


def test_a_client_is_not_kept_alive() -> None:
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        client.list_tables()
        gone = weakref.ref(client.meta.service_model)
        del client
        boto3.DEFAULT_SESSION = None
        gc.collect()
        assert gone() is None


def test_an_engine_that_is_given_is_left_open(tmp_path: Path) -> None:
    with Embedded(tmp_path / "shop.db") as engine:
        for _ in range(2):
            with mock_dynamodb(engine=engine):
                client = boto3.client("dynamodb")
                if not client.list_tables()["TableNames"]:
                    client.create_table(**SHOP)
        assert engine.send("ListTables", b"{}") == b'{"TableNames":["shop"]}'


def test_mock_ends_after_error() -> None:
    original = boto3.client("dynamodb", **HERE)._make_api_call.__func__
    with pytest.raises(ZeroDivisionError), mock_dynamodb():
        raise ZeroDivisionError
    assert boto3.client("dynamodb", **HERE)._make_api_call.__func__ is original


def test_other_services_pass_or_are_refused() -> None:
    with mock_dynamodb():
        s3 = boto3.client("s3", **HERE)
        with Stubber(s3) as stub:
            stub.add_response("list_buckets", {"Buckets": []})
            assert s3.list_buckets()["Buckets"] == []
    for inner in (mock_dynamodb(other_services="refuse"), mock_dynamodb()):
        with mock_dynamodb(other_services="refuse"), inner, pytest.raises(RuntimeError, match="s3:ListBuckets was"):
            boto3.client("s3", **HERE).list_buckets()


def test_a_stub_on_a_client_still_answers(client: Any) -> None:
    with Stubber(client) as stub:
        stub.add_response("list_tables", {"TableNames": ["stubbed"]})
        stub.add_client_error("list_tables", "ThrottlingException", http_status_code=400)
        assert client.list_tables()["TableNames"] == ["stubbed"]
        with pytest.raises(ClientError, match="ThrottlingException"):
            client.list_tables()
    assert client.list_tables()["TableNames"] == ["shop"]


def test_wrapped_api_calls_still_reach_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = BaseClient._make_api_call

    def around(self: Any, operation_name: str, api_params: dict[str, Any]) -> Any:
        if operation_name == "DescribeEndpoints":
            return "theirs"
        return kept(self, operation_name, api_params)

    def check(client: Any) -> None:
        assert client.describe_endpoints() == "theirs"
        assert client.list_tables()["TableNames"] == ["shop"]
        with pytest.raises(client.exceptions.ResourceInUseException, match="Table already exists: shop"):
            client.create_table(**SHOP)

    with mock_dynamodb():
        client = boto3.client("dynamodb")
        client.create_table(**SHOP)
        with monkeypatch.context() as patch:
            patch.setattr(BaseClient, "_make_api_call", around)
            check(client)
        assert client.list_tables()["TableNames"] == ["shop"]
    monkeypatch.setattr(BaseClient, "_make_api_call", around)
    with mock_dynamodb():
        client = boto3.client("dynamodb")
        client.create_table(**SHOP)
        check(client)
    assert BaseClient._make_api_call is around


def test_handlers_of_events_are_called(client: Any) -> None:
    seen: list[str] = []
    for event in ("provide-client-params", "before-parameter-build", "before-call", "after-call"):
        client.meta.events.register(f"{event}.dynamodb.ListTables", lambda event_name, **_: seen.append(event_name))
    client.list_tables()
    assert [name.split(".")[0] for name in seen] == [
        "provide-client-params",
        "before-parameter-build",
        "before-call",
        "after-call",
    ]


def test_threads_share_the_engine(client: Any) -> None:
    client.put_item(TableName="shop", Item={"pk": {"S": "a"}, "sk": {"S": "b"}})

    def count() -> None:
        for _ in range(50):
            client.update_item(
                TableName="shop",
                Key={"pk": {"S": "a"}, "sk": {"S": "b"}},
                UpdateExpression="ADD hits :one",
                ExpressionAttributeValues={":one": {"N": "1"}},
            )

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.scan(TableName="shop")["Items"][0]["hits"] == {"N": "200"}


def test_threads_may_each_enter_one() -> None:
    def work() -> Any:
        with mock_dynamodb() as engine:
            return engine.send("ListTables", b"{}")

    with ThreadPoolExecutor(8) as threads:
        answers = [threads.submit(work) for _ in range(40)]
    assert {answer.result() for answer in answers} == {b'{"TableNames":[]}'}


# --- One client -----------------------------------------------------------------------------------------------------


def test_one_client_or_resource_can_be_attached() -> None:
    with Embedded() as engine:
        client = attach(boto3.client("dynamodb", **HERE), engine)
        client.create_table(**SHOP)
        resource = attach(boto3.resource("dynamodb", **HERE), engine)
        resource.Table("shop").put_item(Item=ITEM)
        table = attach(boto3.resource("dynamodb", **HERE).Table("shop"), engine)
        assert table.scan()["Items"] == [ITEM]
        with mock_dynamodb():
            assert client.list_tables()["TableNames"] == ["shop"], "the attached engine goes before the mock's"


@pytest.mark.parametrize("other", ["s3", None])
def test_only_dynamodb_can_be_attached(other: str | None) -> None:
    with Embedded() as engine, pytest.raises(TypeError, match="client or resource of DynamoDB"):
        attach(boto3.client(other, **HERE) if other else object(), engine)
