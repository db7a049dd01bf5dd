"""Drift: the differences between a table and its schema, with fixes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from prejoin.keys import TABLE
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.conversation import Request, Steps
from prejoin.table.schema.declare import Index
from prejoin.table.schema.schema import Schema

from .table_request import key_schema, projection

DifferenceKind = Literal["missing table", "missing index", "extra index", "keys", "type", "projection", "status", "ttl"]


class Difference(msgspec.Struct, frozen=True):
    """One difference between a table and its schema.

    >>> print(Difference("ttl", "the table", "off", "expires_at", "enable it with UpdateTimeToLive"))
    ttl of the table: found off, wanted expires_at; enable it with UpdateTimeToLive
    """

    kind: DifferenceKind
    what: str
    """The table, an index or an attribute."""
    found: str
    wanted: str
    fix: str

    def __str__(self) -> str:
        match self.kind:
            case "missing table" | "missing index":
                text = f"{self.what} is missing" + ("" if self.found == "none" else f", there is {self.found}")
            case "extra index":
                text = f"{self.what} is not in the schema"
            case _:
                text = f"{self.kind} of {self.what}: found {self.found}, wanted {self.wanted}"
        return f"{text}; {self.fix}"


_NEW_TABLE = "keys and their types cannot change: create a new table, and move the items"
_NEW_INDEX = "the keys of an index cannot change: add an index with another name, then remove this one"
_NEW_PROJECTION = "the projection of an index cannot change: add an index with another name, then remove this one"
_LOCAL = "a local index can only be created with its table: create a new table, and move the items"


def drift(schema: Schema, table: str) -> Steps[list[Difference]]:
    """Describe the table, and return its differences."""
    described = yield from describe(table)
    if described is None:
        return differences(schema, None, {})
    answer = yield Request("DescribeTimeToLive", {"TableName": table})
    return differences(schema, described, answer["TimeToLiveDescription"])


def describe(table: str) -> Steps[dict[str, Any] | None]:
    """Return the description of a table; None if it does not exist."""
    try:
        answer = yield Request("DescribeTable", {"TableName": table})
    except DynamoDBError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    found: dict[str, Any] = answer["Table"]
    return found


def differences(schema: Schema, table: Mapping[str, Any] | None, ttl: Mapping[str, Any]) -> list[Difference]:
    """Return the differences of a table from its descriptions; the most serious first."""
    if table is None:
        return [Difference("missing table", "the table", "none", "a table", "create it with create_table()")]
    return [*_table(schema, table), *_indexes(schema, table), *_expiry(schema, ttl)]


def _table(schema: Schema, table: Mapping[str, Any]) -> Iterator[Difference]:
    wanted = _keys(key_schema(schema, TABLE))
    if (found := _keys(table["KeySchema"])) != wanted:
        yield Difference("keys", "the table", found, wanted, _NEW_TABLE)
    types = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
    for name, tag in schema.key_types.items():
        if types.get(name, tag) != tag:
            yield Difference("type", name, types[name], tag, _NEW_TABLE)
    if table["TableStatus"] != "ACTIVE":
        yield Difference("status", "the table", table["TableStatus"], "ACTIVE", "wait for it")


def _indexes(schema: Schema, table: Mapping[str, Any]) -> Iterator[Difference]:
    there = {
        one["IndexName"]: (one, local)
        for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        for one in table.get(member) or ()
    }
    for name, index in schema.indexes.items():
        what = f"the local index {name}" if index.local else f"the index {name}"
        found, local = there.pop(name, (None, False))
        if found is None or local != index.local:
            is_there = "none" if found is None else "a local one" if local else "a global one"
            fix = _LOCAL if index.local else "add it with add_indexes()"
            yield Difference("missing index", what, is_there, _keys(key_schema(schema, name)), fix)
        else:
            yield from _index(schema, index, what, found)
    for name, (found, local) in there.items():
        fix = (
            "a local index can only be removed with its table"
            if local
            else "remove it with UpdateTable, or add it to the schema"
        )
        yield Difference("extra index", f"the index {name}", _keys(found["KeySchema"]), "none", fix)


def _index(schema: Schema, index: Index, place: str, description: Mapping[str, Any]) -> Iterator[Difference]:
    keys, wanted = _keys(description["KeySchema"]), _keys(key_schema(schema, index.name))
    if keys != wanted:
        yield Difference("keys", place, keys, wanted, _NEW_INDEX)
    held, hold = _projection(description["Projection"]), _projection(projection(schema, index))
    if held != hold:
        yield Difference("projection", place, held, hold, _NEW_PROJECTION)
    status = description.get("IndexStatus", "ACTIVE")
    if status != "ACTIVE":
        yield Difference("status", place, status, "ACTIVE", "wait for it: it cannot be read until it is active")


def _expiry(schema: Schema, ttl: Mapping[str, Any]) -> Iterator[Difference]:
    on = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    found = str(ttl.get("AttributeName", "")) if on else ""
    if found == schema.ttl:
        return
    if not found:
        fix = "enable it with UpdateTimeToLive"
    elif not schema.ttl:
        fix = "DynamoDB deletes items by it: add ttl=… to the schema, or disable it with UpdateTimeToLive"
    else:
        fix = "disable it with UpdateTimeToLive, and enable it for the other attribute an hour later"
    yield Difference("ttl", "the table", found or "off", schema.ttl or "off", fix)


def _keys(elements: Sequence[Mapping[str, str]]) -> str:
    """Return a key schema in one line: `country + city, total`."""
    sides = [[one["AttributeName"] for one in elements if one["KeyType"] == kind] for kind in ("HASH", "RANGE")]
    return ", ".join(" + ".join(side) for side in sides if side)


def _projection(found: Mapping[str, Any]) -> str:
    names = found.get("NonKeyAttributes")
    return f"{found['ProjectionType']} {', '.join(sorted(names))}" if names else str(found["ProjectionType"])
