"""Making a table, without I/O: it is created, waited for until it can be used, and told when items expire; grown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Pause, Request, Steps
from prejoin.table.errors import TableError
from prejoin.table.schema.schema import Schema

from .drift import describe, differences, drift
from .table_request import add_index, create_table, time_to_live

MOST_SECONDS = 600.0
"""How long a table is waited for. Most are there in ten seconds; large ones with indexes to fill are not."""

_FIRST, _LONGEST = 0.25, 5.0


def create(
    schema: Schema, table: str, *, if_absent: bool = False, more: Mapping[str, Any] | None = None
) -> Steps[None]:
    """Creates the table with its indexes, waits until it is active, and switches on its time to live.

    With `if_absent`, a table that is there already is left as it is, if it is what the schema says. An index that is
    not in the schema is nobody's harm.
    """
    try:
        yield Request("CreateTable", create_table(schema, table, more))
    except DynamoDBError as error:
        if not (if_absent and error.code == "ResourceInUseException"):
            raise
    yield from active(table)
    if schema.ttl:
        yield from _expire(schema, table)
    if if_absent:
        found = yield from drift(schema, table)
        if wrong := [one for one in found if one.kind != "extra index"]:
            raise TableError(f"the table {table} is there, but not as the schema says: {'; '.join(map(str, wrong))}")


def add_indexes(schema: Schema, table: str) -> Steps[tuple[str, ...]]:
    """Adds the global indexes that a table lacks, and waits until they are filled; returns their names.

    DynamoDB takes one at a time. Nothing is changed or removed, and nothing added to a table with other keys.
    """
    described = yield from describe(table)
    if described is None:
        raise TableError(f"there is no table {table}: create it, with create_table()")
    if wrong := [one for one in differences(schema, described, {}) if one.kind in ("keys", "type")]:
        raise TableError(f"the table {table} is not as the schema says: {'; '.join(map(str, wrong))}")
    there = {one["IndexName"] for one in described.get("GlobalSecondaryIndexes") or ()}
    lacking = [index for index in schema.indexes.values() if not index.local and index.name not in there]
    for index in lacking:
        yield from active(table)
        yield Request("UpdateTable", add_index(schema, table, index, described.get("ProvisionedThroughput") or {}))
    yield from active(table)
    return tuple(index.name for index in lacking)


def active(table: str) -> Steps[None]:
    """Waits until a table and all its indexes can be used."""
    waited, pause = 0.0, _FIRST
    while True:
        status = yield from _status(table)
        if status == "ACTIVE":
            return
        if waited >= MOST_SECONDS:
            raise TableError(f"the table {table} is still {status} after {MOST_SECONDS:.0f} seconds")
        yield Pause(pause)
        waited, pause = waited + pause, min(pause * 1.5, _LONGEST)


def _status(table: str) -> Steps[str]:
    try:
        answer = yield Request("DescribeTable", {"TableName": table})
    except DynamoDBError as error:
        # Just created, it need not be known everywhere yet.
        if error.code != "ResourceNotFoundException":
            raise
        return "not found"
    found = answer["Table"]
    indexes = [one["IndexStatus"] for one in found.get("GlobalSecondaryIndexes", ())]
    return next((status for status in (found["TableStatus"], *indexes) if status != "ACTIVE"), "ACTIVE")


def _expire(schema: Schema, table: str) -> Steps[None]:
    answer = yield Request("DescribeTimeToLive", {"TableName": table})
    if answer["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED":
        yield Request("UpdateTimeToLive", time_to_live(schema, table))
