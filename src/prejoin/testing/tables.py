"""Tables in one line: a CreateTable request from keys in shorthand, or from a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prejoin.table.schema.schema import Schema

_TYPES = ("S", "N", "B")


def create_table(
    name: str,
    keys: str | Schema = "pk, sk",
    indexes: Mapping[str, str] | None = None,
    local_indexes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the members of a CreateTable request, on demand, with indexes that project all attributes.

    Keys are the partition key and the sort key, each with its type unless it is a string. An index may have several
    attributes in either. For other tables, send a CreateTable request of your own.

    >>> create_table("shop", "id")["KeySchema"]
    [{'AttributeName': 'id', 'KeyType': 'HASH'}]
    >>> request = create_table("shop", "pk, sk", {"by-rank": "tenant + game, rank:N"})
    >>> [element["AttributeName"] for element in request["GlobalSecondaryIndexes"][0]["KeySchema"]]
    ['tenant', 'game', 'rank']
    """
    if not isinstance(keys, str):
        if indexes or local_indexes:
            raise TypeError("a schema already defines its indexes")
        from prejoin.table.admin import table_request

        return table_request.create_table(keys, name)
    types: dict[str, str] = {}
    request: dict[str, Any] = {
        "TableName": name,
        "KeySchema": _key_schema(keys, types),
        "BillingMode": "PAY_PER_REQUEST",
    }
    for member, keys_by_index in (("GlobalSecondaryIndexes", indexes), ("LocalSecondaryIndexes", local_indexes)):
        if keys_by_index:
            request[member] = [
                {"IndexName": index, "KeySchema": _key_schema(of, types), "Projection": {"ProjectionType": "ALL"}}
                for index, of in keys_by_index.items()
            ]
    request["AttributeDefinitions"] = [
        {"AttributeName": attribute, "AttributeType": tag or "S"} for attribute, tag in types.items()
    ]
    return request


def _key_schema(keys: str, types: dict[str, str]) -> list[dict[str, str]]:
    parts = keys.split(",")
    if len(parts) > 2:
        raise ValueError(f"a key is a partition key and a sort key, and {keys!r} has {len(parts)} parts")
    elements = []
    for kind, part in zip(("HASH", "RANGE"), parts, strict=False):
        for attribute in part.split("+"):
            name, _, tag = (text.strip() for text in attribute.partition(":"))
            if not name or tag not in ("", *_TYPES):
                raise ValueError(f"{attribute.strip()!r} in {keys!r} is not an attribute: write `name` or `name:N`")
            if tag and types.get(name, tag) not in ("", tag):
                raise ValueError(f"{name} is given two types, {types[name]} and {tag}")
            # Another key may give the type: it is text only if none does.
            types[name] = tag or types.get(name, "")
            elements.append({"AttributeName": name, "KeyType": kind})
    return elements
