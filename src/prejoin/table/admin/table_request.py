"""Request bodies for the table of a schema: CreateTable, UpdateTable for an index, UpdateTimeToLive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prejoin.keys import TABLE
from prejoin.table.schema.declare import Index
from prejoin.table.schema.schema import Schema


def create_table(schema: Schema, table: str, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the CreateTable request of a schema, on-demand by default.

    `more` are further parameters: `Tags`, `DeletionProtectionEnabled`, `TableClass`, … With `ProvisionedThroughput` the
    table and each global index have provisioned capacity.
    """
    more = more or {}
    body: dict[str, Any] = {
        "TableName": table,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": tag} for name, tag in sorted(schema.key_types.items())
        ],
        "KeySchema": key_schema(schema, TABLE),
        "BillingMode": "PROVISIONED" if "ProvisionedThroughput" in more else "PAY_PER_REQUEST",
    }
    throughput = {name: more[name] for name in ("ProvisionedThroughput",) if name in more}
    for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        indexes = [
            _index(schema, index) | ({} if local else throughput)
            for index in schema.indexes.values()
            if index.local is local
        ]
        if indexes:
            body[member] = indexes
    return {**body, **more}


def add_index(schema: Schema, table: str, index: Index, throughput: Mapping[str, Any]) -> dict[str, Any]:
    """Return the UpdateTable request that adds an index, with the throughput of a provisioned table."""
    names = schema.keys(index.name).names
    units = {name: throughput.get(name, 0) for name in ("ReadCapacityUnits", "WriteCapacityUnits")}
    creation = _index(schema, index) | ({"ProvisionedThroughput": units} if all(units.values()) else {})
    return {
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": schema.key_types[name]} for name in names],
        "GlobalSecondaryIndexUpdates": [{"Create": creation}],
    }


def time_to_live(schema: Schema, table: str) -> dict[str, Any]:
    """Return the UpdateTimeToLive request of a schema with a time to live."""
    return {"TableName": table, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": schema.ttl}}


def key_schema(schema: Schema, slot: str) -> list[dict[str, str]]:
    keys = schema.keys(slot)
    elements = [{"AttributeName": name, "KeyType": "HASH"} for name in keys.pk]
    return elements + [{"AttributeName": name, "KeyType": "RANGE"} for name in keys.sk]


def projection(schema: Schema, index: Index) -> dict[str, Any]:
    if isinstance(index.projection, str):
        return {"ProjectionType": index.projection}
    # The type tag is always projected: without it, the entity of an item would have to be found by its keys.
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": _beside_keys(schema, index, index.projection)}


def _beside_keys(schema: Schema, index: Index, names: Sequence[str]) -> list[str]:
    keys = {*schema.keys(TABLE).names, *schema.keys(index.name).names}
    return sorted({*names, schema.type_attribute} - keys)


def _index(schema: Schema, index: Index) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(schema, index.name),
        "Projection": projection(schema, index),
    }
