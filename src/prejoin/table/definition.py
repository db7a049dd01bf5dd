"""The CreateTable request of a schema."""

from __future__ import annotations

from typing import Any

from prejoin.keys import TABLE

from .schema import Schema


def create_table(schema: Schema, table: str) -> dict[str, Any]:
    """The table that a schema describes, paid by the request."""
    names = {name for slot in (TABLE, *schema.indexes) for name in schema.physical(slot) if name}
    body: dict[str, Any] = {
        "TableName": table,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in sorted(names)],
        "KeySchema": _key_schema(schema, TABLE),
        "BillingMode": "PAY_PER_REQUEST",
    }
    if schema.indexes:
        body["GlobalSecondaryIndexes"] = [
            {
                "IndexName": slot,
                "KeySchema": _key_schema(schema, slot),
                "Projection": _projection(schema, index.projection),
            }
            for slot, index in schema.indexes.items()
        ]
    return body


def _key_schema(schema: Schema, slot: str) -> list[dict[str, str]]:
    pk, sk = schema.physical(slot)
    found = [{"AttributeName": pk, "KeyType": "HASH"}]
    if sk:
        found.append({"AttributeName": sk, "KeyType": "RANGE"})
    return found


def _projection(schema: Schema, projection: object) -> dict[str, Any]:
    if projection in ("ALL", "KEYS_ONLY"):
        return {"ProjectionType": projection}
    assert isinstance(projection, list | tuple)
    # The type tag always goes along: without it an answer could not be read.
    return {"ProjectionType": "INCLUDE", "NonKeyAttributes": sorted({*projection, schema.type_attribute})}
