"""Several DynamoDB tables of a boto3 application become one: discovered, designed, loaded, verified and queried."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prejoin import (
    Embedded,
    PipelineError,
    Server,
    TablePlace,
    design_table,
    design_target,
    discover_database,
    load_table,
    open_migration,
    read_document,
    verify_table,
    write_design,
)
from prejoin.migrate.source.connection import open_source
from prejoin.types import Kind

EXACT = "12345678901234567890.123456789012345678"


def send(engine: Embedded, operation: str, **body: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(engine.send(operation, json.dumps(body).encode()))
    return found


def create(engine: Embedded, table: str, key: str, sort: str = "", index: tuple[str, str] | None = None) -> None:
    names = [one for one in (key, sort, *(index or ())) if one]
    kinds = ("HASH", "RANGE")
    keys = [{"AttributeName": n, "KeyType": k} for n, k in zip((key, sort), kinds, strict=True) if n]
    more = {}
    if index:
        schema = [{"AttributeName": n, "KeyType": k} for n, k in zip(index, kinds, strict=True)]
        more = {
            "GlobalSecondaryIndexes": [
                {"IndexName": "by-key", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
            ]
        }
    send(
        engine,
        "CreateTable",
        TableName=table,
        KeySchema=keys,
        AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n in dict.fromkeys(names)],
        BillingMode="PAY_PER_REQUEST",
        **more,
    )


def fill(engine: Embedded) -> None:
    create(engine, "customers", "customerId")
    create(engine, "orders", "orderId", index=("customerId", "placedAt"))
    create(engine, "order_lines", "orderId", "line")
    for number in range(30):
        customer = {
            "customerId": {"S": f"c{number}"},
            "name": {"S": f"Name {number}"},
            "active": {"BOOL": number % 2 == 0},
            "score": {"N": EXACT if number == 3 else "1.5"},
            "tags": {"SS": ["a", "b"]},
            "profile": {"M": {"age": {"N": "30"}, "langs": {"L": [{"S": "en"}, {"NULL": True}]}}},
            "photo": {"B": "AAEC"},
        }
        if number % 3 == 0:
            customer["nick"] = {"S": "N"}
        send(engine, "PutItem", TableName="customers", Item=customer)
    for number in range(60):
        order = {
            "orderId": {"S": f"o{number}"},
            "customerId": {"S": f"c{number % 30}"},
            "placedAt": {"S": f"2026-05-04T10:{number:02}:00Z"},
            "total": {"N": str(number)},
        }
        send(engine, "PutItem", TableName="orders", Item=order)
        line = {"orderId": {"S": f"o{number}"}, "line": {"S": "1"}, "sku": {"S": "MUG"}}
        send(engine, "PutItem", TableName="order_lines", Item=line)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    with Embedded("app.db") as engine:
        fill(engine)
    return "dynamodb:///app.db"


def test_tables_are_described_with_types_keys_and_references(source: str) -> None:
    with open_source(source) as opened:
        assert opened.described is not None
        tables = {one.name: one for one in opened.described.tables}
    kinds = {one.name: one.type.kind for one in tables["customers"].columns}
    assert kinds == {
        "customerId": Kind.STRING,
        "name": Kind.STRING,
        "active": Kind.BOOLEAN,
        "score": Kind.DECIMAL,
        "tags": Kind.SET,
        "profile": Kind.MAP,
        "photo": Kind.BINARY,
        "nick": Kind.STRING,
    }
    assert [c.name for c in tables["customers"].columns if c.nullable] == ["nick"]
    assert tables["order_lines"].primary_key == ("orderId", "line")
    assert [(fk.columns, fk.table) for fk in tables["orders"].foreign_keys] == [(("customerId",), "customers")]
    assert tables["orders"].fanouts["customerId",].p99 == 2
    assert tables["orders"].rows == 60


@pytest.mark.slow
def test_patterns_follow_from_keys_and_indexes(source: str) -> None:
    found = discover_database(source)
    reads = {(one.entities, tuple(i.attribute for i in one.inputs)) for one in found.workload.reads}
    assert reads == {
        (("Customer",), ("customerId",)),
        (("Order",), ("orderId",)),
        (("Order",), ("customerId",)),
        (("OrderLine",), ("orderId", "line")),
        (("OrderLine",), ("orderId",)),
    }
    assert found.mapping.source == source
    assert any("all its values are keys of customers" in note for note in found.review)


def test_tables_are_moved_verified_and_queried(source: str, tmp_path: Path) -> None:
    found = discover_database(source)
    Path("access-patterns.md").write_text(found.document, encoding="utf-8")
    Path("mapping.toml").write_text(found.mapping_text, encoding="utf-8")
    designed = design_table(read_document("access-patterns.md"), prove=False, alternatives=0)
    assert designed.fine
    write_design(designed, design_target(Path("table-design.md")))
    target = TablePlace(db="one.db")
    with open_migration() as migration:
        loaded = load_table(migration, target, create=True)
        assert (loaded.rows, loaded.dead) == (150, 0)
        result = verify_table(migration, target)
        assert result.equal, result.differences
        assert sum(one.runs for one in result.patterns) > 20
        package = migration.package
    with Embedded("one.db") as engine:
        items = send(engine, "Scan", TableName=migration.table)["Items"]
        exact = [one for one in items if one.get("customerId") == {"S": "c3"} and "score" in one]
        assert exact[0]["score"] == {"N": EXACT}
        assert package.classes["Order"]
    with Embedded("app.db") as engine:  # the source changes, and a verification sees it
        change = {"TableName": "orders", "Key": {"orderId": {"S": "o7"}}, "UpdateExpression": "SET #t = :t"}
        names = {"ExpressionAttributeNames": {"#t": "total"}, "ExpressionAttributeValues": {":t": {"N": "999"}}}
        send(engine, "UpdateItem", **change, **names)
    with open_migration() as migration:
        differences = verify_table(migration, target, patterns=False).differences
    assert [(one.kind, one.key, one.attribute) for one in differences] == [("different", "o7", "total")]


def test_numbers_in_keys_are_sorted_as_numbers_and_points_in_names_are_no_schemas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    numbers = ["9", "10", "-2", "-10", "1.5", EXACT]
    with Embedded("app.db") as engine:
        send(
            engine,
            "CreateTable",
            TableName="prod.readings",
            KeySchema=[{"AttributeName": "sensor", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "sensor", "AttributeType": "S"},
                {"AttributeName": "at", "AttributeType": "N"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        for number in numbers:
            send(engine, "PutItem", TableName="prod.readings", Item={"sensor": {"S": "a"}, "at": {"N": number}})
    with open_source("dynamodb:///app.db") as opened:
        assert opened.described is not None
        assert [one.name for one in opened.described.tables] == ["prod_readings"]
        with opened.snapshot() as snapshot:
            rows = snapshot.rows('SELECT "at" FROM prod_readings ORDER BY "at"')
            assert [row["at"] for row in rows] == ["-10", "-2", "1.5", "9", "10", EXACT]
            assert snapshot.value("SELECT count(*) FROM prod_readings WHERE \"at\" > '9'") == 2
    with Embedded("app.db") as engine:
        create(engine, "PROD_readings", "sensor")
    with pytest.raises(PipelineError, match="has the name of another table, if points are `_`"):
        open_source("dynamodb:///app.db")
    found = discover_database("dynamodb:///app.db?table=prod.readings")
    assert [one.table for one in found.mapping.entities.values()] == ["prod_readings"]


def test_server_and_single_tables_are_sources(tmp_path: Path) -> None:
    with Embedded(str(tmp_path / "app.db")) as engine, Server(engine, port=0) as server:
        fill(engine)
        with open_source(f"{server.replace('http', 'dynamodb')}?table=orders") as opened:
            assert opened.described is not None
            assert [one.name for one in opened.described.tables] == ["orders"]


@pytest.mark.parametrize(
    ("url", "code"),
    [("dynamodb:///nothing.db", "PJ700"), ("dynamodb://host:x", "PJ700"), ("dynamodb:///app.db?table=none", "PJ701")],
)
def test_addresses_that_cannot_be_read_are_refused(source: str, url: str, code: str) -> None:
    with pytest.raises(PipelineError) as refusal:
        open_source(url)
    assert [one.code for one in refusal.value.diagnostics] == [code]
