"""Create a table and wait until it is active; add indexes to it."""

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
"""The longest time to wait for a table. Most are active in ten seconds; large indexes take longer."""

_FIRST, _LONGEST = 0.25, 5.0


def create(
    schema: Schema, table: str, *, if_absent: bool = False, more: Mapping[str, Any] | None = None
) -> Steps[None]:
    """Create the table with its indexes, wait until it is active, and enable its time to live.

    With `if_absent`, an existing table is kept if it matches the schema. It may have more indexes.
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
        differences_found = yield from drift(schema, table)
        if wrong := [difference for difference in differences_found if difference.kind != "extra index"]:
            raise TableError(f"the table {table} exists, and does not match the schema: {'; '.join(map(str, wrong))}")


def add_indexes(schema: Schema, table: str) -> Steps[tuple[str, ...]]:
    """Add the global indexes that a table lacks, wait until they are active, and return their names.

    DynamoDB adds one at a time. Nothing else is changed. A table with other keys is refused.
    """
    description = yield from describe(table)
    if description is None:
        raise TableError(f"the table {table} does not exist. Create it with create_table()")
    table_differences = differences(schema, description, {})
    wrong = [difference for difference in table_differences if difference.kind in ("keys", "type")]
    if wrong:
        raise TableError(f"the table {table} does not match the schema: {'; '.join(map(str, wrong))}")
    existing_names = {index["IndexName"] for index in description.get("GlobalSecondaryIndexes") or ()}
    global_indexes = [index for index in schema.indexes.values() if not index.local]
    lacking = [index for index in global_indexes if index.name not in existing_names]
    # UpdateTable takes one new index, and only while the table and its other indexes are active.
    for index in lacking:
        yield from active(table)
        yield Request("UpdateTable", add_index(schema, table, index, description.get("ProvisionedThroughput") or {}))
    yield from active(table)
    return tuple(index.name for index in lacking)


def active(table: str) -> Steps[None]:
    """Wait until a table and all its indexes are active."""
    # DynamoDB has no request that waits. Indexes count, too: a table is ACTIVE while an index of it is still CREATING.
    waiting_time, pause = 0.0, _FIRST
    while True:
        status = yield from _status(table)
        if status == "ACTIVE":
            return
        if waiting_time >= MOST_SECONDS:
            raise TableError(f"the table {table} is still {status} after {MOST_SECONDS:.0f} seconds")
        yield Pause(pause)
        waiting_time, pause = waiting_time + pause, min(pause * 1.5, _LONGEST)


def _status(table: str) -> Steps[str]:
    try:
        answer = yield Request("DescribeTable", {"TableName": table})
    except DynamoDBError as error:
        # A new table may not be found for a moment.
        if error.code != "ResourceNotFoundException":
            raise
        return "not found"
    description = answer["Table"]
    indexes = [index["IndexStatus"] for index in description.get("GlobalSecondaryIndexes", ())]
    return next((status for status in (description["TableStatus"], *indexes) if status != "ACTIVE"), "ACTIVE")


def _expire(schema: Schema, table: str) -> Steps[None]:
    answer = yield Request("DescribeTimeToLive", {"TableName": table})
    if answer["TimeToLiveDescription"]["TimeToLiveStatus"] == "DISABLED":
        yield Request("UpdateTimeToLive", time_to_live(schema, table))
