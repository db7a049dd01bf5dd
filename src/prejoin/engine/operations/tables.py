"""CreateTable, DescribeTable, DeleteTable and ListTables."""

from __future__ import annotations

import sqlite3
import time
import uuid
from dataclasses import replace
from typing import Any

from prejoin.engine.checks import Constraints, table_name
from prejoin.engine.definition import Table
from prejoin.engine.operations.engine import Engine
from prejoin.engine.requests import CreateTable, ListTables, TableNamed
from prejoin.engine.tabledefinitions import check_create_table, read_definition
from prejoin.protocol.errors import DynamoDBError, not_found, refuse

_PAGE_OF_NAMES = 100


def create_table(engine: Engine, request: CreateTable) -> dict[str, Any]:
    name = check_create_table(request)
    table = replace(read_definition(request, name), uuid=str(uuid.uuid4()), created=time.time())
    with engine.store.writing() as connection:
        if engine.catalog.get(connection, name) is not None:
            raise DynamoDBError("ResourceInUseException", f"Table already exists: {name}")
        row = (name, 1, table.to_bytes())
        connection.execute("INSERT INTO tables (name, revision, definition) VALUES (?, ?, ?)", row)
    return {"TableDescription": describe(table, "CREATING", (0, 0), {})}


def describe_table(engine: Engine, request: TableNamed) -> dict[str, Any]:
    name = table_name(request.table_name)
    with engine.store.reading(snapshot=True) as connection:
        table = _find(engine, connection, name)
        totals, entries = _totals(connection, table)
    return {"Table": describe(table, "ACTIVE", totals, entries)}


def delete_table(engine: Engine, request: TableNamed) -> dict[str, Any]:
    name = table_name(request.table_name)
    with engine.store.writing() as connection:
        table = _find(engine, connection, name)
        if table.protected:
            refuse(
                "Resource cannot be deleted as it is currently protected against deletion. Disable deletion "
                "protection first."
            )
        for statement in ("items WHERE tid", "entries WHERE tid", "tables WHERE id"):
            connection.execute(f"DELETE FROM {statement} = ?", (table.id,))  # noqa: S608
    return {"TableDescription": describe(table, "DELETING", (0, 0), {})}


def list_tables(engine: Engine, request: ListTables) -> dict[str, Any]:
    constraints = Constraints()
    constraints.at_least("limit", request.limit, 1)
    if request.limit is not None and request.limit > _PAGE_OF_NAMES:
        constraints.fail("limit", request.limit, "Member must have value less than or equal to 100")
    if request.exclusive_start_table_name is not None:
        constraints.name("exclusiveStartTableName", request.exclusive_start_table_name)
    constraints.finish()
    limit = request.limit or _PAGE_OF_NAMES
    with engine.store.reading() as connection:
        rows = connection.execute(
            "SELECT name FROM tables WHERE name > ? ORDER BY name LIMIT ?",
            (request.exclusive_start_table_name or "", limit + 1),
        ).fetchall()
    names = [name for (name,) in rows]
    answer: dict[str, Any] = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer


def _find(engine: Engine, connection: sqlite3.Connection, name: str) -> Table:
    table = engine.catalog.get(connection, name)
    if table is None:
        raise not_found(f"Requested resource not found: Table: {name} not found")
    return table


def _totals(connection: sqlite3.Connection, table: Table) -> tuple[tuple[int, int], dict[int, tuple[int, int]]]:
    """Number and bytes of the items, and of the entries of each index."""
    items = connection.execute(
        "SELECT count(*), coalesce(sum(size), 0) FROM items WHERE tid = ?", (table.id,)
    ).fetchone()
    rows = connection.execute(
        "SELECT number, count(*), sum(size) FROM entries WHERE tid = ? GROUP BY number", (table.id,)
    ).fetchall()
    return items, {number: (count, size) for number, count, size in rows}


def describe(table: Table, status: str, totals: tuple[int, int], entries: dict[int, tuple[int, int]]) -> dict[str, Any]:
    """The TableDescription."""
    shown: dict[str, Any] = {
        "AttributeDefinitions": [
            {"AttributeName": attribute.name, "AttributeType": attribute.type} for attribute in table.attributes
        ],
        "TableName": table.name,
        "KeySchema": _key_schema(table.keys),
        "TableStatus": status,
        "CreationDateTime": table.created,
        "ProvisionedThroughput": _throughput(table.throughput),
        "TableSizeBytes": totals[1],
        "ItemCount": totals[0],
        "TableArn": table.arn,
        "TableId": table.uuid,
        "DeletionProtectionEnabled": table.protected,
    }
    if table.throughput is None:
        shown["BillingModeSummary"] = {"BillingMode": "PAY_PER_REQUEST"}
    for member, is_global in (("GlobalSecondaryIndexes", True), ("LocalSecondaryIndexes", False)):
        indexes = [
            _describe_index(table, index, status, entries.get(index.number, (0, 0)))
            for index in table.indexes
            if index.is_global is is_global
        ]
        if indexes:
            shown[member] = indexes
    return shown


def _describe_index(table: Table, index: Any, status: str, totals: tuple[int, int]) -> dict[str, Any]:
    projection: dict[str, Any] = {"ProjectionType": index.projection}
    if index.included:
        projection["NonKeyAttributes"] = list(index.included)
    shown = {
        "IndexName": index.name,
        "KeySchema": _key_schema(index.keys),
        "Projection": projection,
        "IndexSizeBytes": totals[1],
        "ItemCount": totals[0],
        "IndexArn": f"{table.arn}/index/{index.name}",
    }
    if index.is_global:
        shown |= {"IndexStatus": status, "ProvisionedThroughput": _throughput(index.throughput)}
    return shown


def _key_schema(keys: Any) -> list[dict[str, str]]:
    return [
        {"AttributeName": attribute.name, "KeyType": kind}
        for kind, attributes in (("HASH", keys.partition), ("RANGE", keys.sort))
        for attribute in attributes
    ]


def _throughput(units: tuple[int, int] | None) -> dict[str, int]:
    read, write = units or (0, 0)
    return {"NumberOfDecreasesToday": 0, "ReadCapacityUnits": read, "WriteCapacityUnits": write}
