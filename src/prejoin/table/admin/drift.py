"""Drift: the differences between a table and its schema, with fixes.

The description of a table says nothing about the key templates of its items. A schema of another design can agree with
it and find none of them, because a Query for another text returns nothing. So the keys of some items are compared, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from prejoin.keys import TABLE, Facet
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.values import equal
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Request, Steps
from prejoin.table.errors import TableError
from prejoin.table.read.execute import send_all
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.declare import Index
from prejoin.table.schema.key_attributes import key_text
from prejoin.table.schema.pattern import STATE_KEY, STATE_TAG
from prejoin.table.schema.schema import Schema
from prejoin.table.schema.visibility import is_expired

from .table_request import key_schema, projection

DifferenceKind = Literal[
    "missing table", "missing index", "extra index", "keys", "type", "projection", "status", "ttl", "item keys", "items"
]
SAMPLE = 100
"""Items whose keys are compared, unless another number is given."""
_SEGMENTS = 4
"""Places of the table that the items are from."""
_UNFIT: frozenset[DifferenceKind] = frozenset(
    {"missing table", "missing index", "keys", "type", "projection", "item keys", "items"}
)
"""Differences with which reads fail, or do not find items."""
_ENOUGH = 5
"""Items that must all have other keys, so that they are of another design, and not damaged."""
_NO_KEY = "none"
_LONGEST = 200
"""Characters of a value in a message."""


class Difference(msgspec.Struct, frozen=True):
    """One difference between a table and its schema.

    >>> print(Difference("ttl", "the table", "off", "expires_at", "enable it with UpdateTimeToLive"))
    ttl of the table: found off, wanted expires_at; enable it with UpdateTimeToLive
    """

    kind: DifferenceKind
    what: str
    """The table, an index, an attribute, or the items of an entity."""
    found: str
    wanted: str
    fix: str
    of_another_design: bool = False
    """Whether all of the compared items have other keys, so that another design wrote them."""

    def __str__(self) -> str:
        match self.kind:
            case "missing table" | "missing index":
                text = f"{self.what} is missing" + ("" if self.found == "none" else f", there is {self.found}")
            case "extra index":
                text = f"{self.what} is not in the schema"
            case _:
                text = f"{self.kind} of {self.what}: found {self.found}, wanted {self.wanted}"
        return f"{text}; {self.fix}"


class UnfitTable(TableError):  # noqa: N818 - these names say what happened
    """The table does not fit the schema of a client with `verify=True`: reads would fail, or not find its items.

    `differences` lists what was found.
    """

    def __init__(self, table: str, differences: Sequence[Difference]) -> None:
        super().__init__(f"the table {table} does not fit the schema: {'; '.join(map(str, differences))}")
        self.table = table
        self.differences = tuple(differences)

    def __reduce__(self) -> tuple[Any, ...]:
        return UnfitTable, (self.table, self.differences)


_NEW_TABLE = "keys and their types cannot change: create a new table, and move the items"
_NEW_INDEX = "the keys of an index cannot change: add an index with another name, then remove this one"
_NEW_PROJECTION = "the projection of an index cannot change: add an index with another name, then remove this one"
_LOCAL = "a local index can only be created with its table: create a new table, and move the items"


_OTHER_DESIGN = "another design wrote them: use its schema, or bring the table to this design with `prejoin evolve`"
_NOT_WRITTEN = "write them with repair() of what audit() finds, or with `prejoin evolve` while other code writes items"
_UNREADABLE = "give new attributes a default, or bring the table to this design with `prejoin evolve`"


def drift(schema: Schema, table: str, sample: int = 0) -> Steps[list[Difference]]:
    """Describe the table, read a sample of its items, and return the differences.

    The client of a tenant cannot read the items of others, and compares none.
    """
    description = yield from describe(table)
    if description is None:
        return differences(schema, None, {})
    answer = yield Request("DescribeTimeToLive", {"TableName": table})
    table_differences = differences(schema, description, answer["TimeToLiveDescription"])
    # Without the key attributes of the schema, every item would differ: that says nothing new.
    if schema.fence is not None or _has_other_keys(table_differences):
        return table_differences
    items = yield from sample_items(table, sample)
    type_differences = (yield from retired_types(schema, table)) if sample else []
    return [*table_differences, *item_differences(schema, items), *type_differences]


def require_fit(schema: Schema, table: str) -> Steps[None]:
    """Raise UnfitTable if reads with the schema would fail on the table, or not find its items.

    An index or a key more than the schema has is none of these: another version of the code may need it.
    """
    description = yield from describe(table)
    all_differences = differences(schema, description, {})
    if description is not None and schema.fence is None and not _has_other_keys(all_differences):
        items = yield from sample_items(table, SAMPLE)
        all_differences += item_differences(schema, items)
        all_differences += yield from retired_types(schema, table)
    unfit = [difference for difference in all_differences if difference.kind in _UNFIT]
    if unfit:
        raise UnfitTable(table, unfit)


def _has_other_keys(table_differences: Iterable[Difference]) -> bool:
    """Return whether the key attributes of the table have other names, so that no item has the keys of the schema."""
    return any(difference.kind == "keys" and difference.what == "the table" for difference in table_differences)


def sample_items(table: str, number: int) -> Steps[list[Json]]:
    """Read some items from different places of the table, eventually consistent."""
    if number < 1:
        return []
    # The items of one partition are stored side by side, and are often of the same entities. The segments of a parallel
    # Scan begin at places that lie apart.
    segments = min(number, _SEGMENTS)
    limits = [number // segments + (segment < number % segments) for segment in range(segments)]
    scans = [
        Request("Scan", {"TableName": table, "Limit": limit, "Segment": segment, "TotalSegments": segments})
        for segment, limit in enumerate(limits)
    ]
    answers = yield from send_all(scans)
    return [item for answer in answers for item in answer["Items"]]


class _TableState(msgspec.Struct):
    """The part of a table's state that concerns its code (`prejoin evolve`)."""

    retired: list[str] = msgspec.field(default_factory=list)


def retired_types(schema: Schema, table: str) -> Steps[list[Difference]]:
    """Return a difference for each type of the schema whose items got another type and key.

    A sample of items does not show it: it has none of these types any more. The state of the table names them.
    """
    names = schema.keys(TABLE).names
    if any(schema.key_types[name] != "S" for name in names):
        return []  # such a table has no place for its state
    key = {name: {"S": text} for name, text in zip(names, STATE_KEY, strict=False)}
    try:
        answer = yield Request("GetItem", {"TableName": table, "Key": key})
    except DynamoDBError as error:
        # The key of the table may have another type, which is a difference of its own.
        if error.code not in ("AccessDeniedException", "ValidationException"):
            raise
        return []
    item = answer.get("Item") or {}
    if item.get(schema.type_attribute) != {"S": STATE_TAG} or "state" not in item:
        return []
    tags = msgspec.json.decode(item["state"]["S"], type=_TableState).retired
    return [
        Difference("item keys", tag, "another type and key", tag, _OTHER_DESIGN, of_another_design=True)
        for tag in tags
        if tag in schema.by_tag
    ]


def item_differences(schema: Schema, items: Iterable[Json]) -> list[Difference]:
    """Compare the keys of items with those that the schema gives them; a difference for each entity and index.

    Items with a type that the schema does not have, and expired ones, are left out. So are keys that no read uses, and
    keys that an item has and the schema does not give it: other versions of the code may write them.
    """
    item_counts: dict[str, int] = {}
    wrong: dict[tuple[str, str, DifferenceKind], list[tuple[str, str]]] = {}
    for item in items:
        entity = schema.by_tag.get(item.get(schema.type_attribute, {}).get("S", ""))
        if entity is None or is_expired(schema.ttl, item):
            continue
        item_counts[entity.tag] = item_counts.get(entity.tag, 0) + 1
        for slot, kind, stored_key, schema_key in _wrong_keys(schema, entity, item):
            wrong.setdefault((entity.tag, slot, kind), []).append((stored_key, schema_key))
    differences = []
    for (tag, slot, kind), examples in wrong.items():
        stored_key, schema_key = examples[0]
        place = tag if slot == TABLE else f"{tag} in {slot}"
        place_and_count = f"{place}, {len(examples)} of {item_counts[tag]} items"
        if kind == "items":
            fix = _UNREADABLE
        else:
            fix = _NOT_WRITTEN if all(stored_text == _NO_KEY for stored_text, _ in examples) else _OTHER_DESIGN
        is_of_all = len(examples) == item_counts[tag] and len(examples) >= _ENOUGH
        of_another_design = is_of_all and fix is _OTHER_DESIGN
        differences.append(
            Difference(kind, place_and_count, stored_key[:_LONGEST], schema_key[:_LONGEST], fix, of_another_design)
        )
    return differences


def _wrong_keys(schema: Schema, entity: BoundEntity[Any], item: Json) -> Iterator[tuple[str, DifferenceKind, str, str]]:
    """Yield the slot, the kind of difference, and the found and wanted key, for each key that is wrong."""
    try:
        values = entity.codec.values(entity.codec.decode(item))
        schema_keys = {TABLE: schema.facet_key(entity.base, values)}
        for slot, facet in entity.indexes.items():
            if not facet.write_only and facet.has(values):
                schema_keys[slot] = _index_key(schema, facet, values)
    except (ValueError, TypeError) as error:  # a CodecError, a KeyValueError, or what the class itself says
        yield TABLE, "items", f"{error}", f"a {entity.tag}"
        return
    for slot, key in schema_keys.items():
        stored_key = {name: item[name] for name in key if name in item}
        if stored_key.keys() != key.keys() or not all(equal(stored_key[name], value) for name, value in key.items()):
            yield slot, "item keys", key_text(stored_key) if stored_key else _NO_KEY, key_text(key)


def _index_key(schema: Schema, facet: Facet, values: Mapping[str, Any]) -> Json:
    key = schema.facet_key(facet, values)
    return {name: key[name] for name in schema.template_keys(facet).names}


def describe(table: str) -> Steps[dict[str, Any] | None]:
    """Return the description of a table; None if it does not exist."""
    try:
        answer = yield Request("DescribeTable", {"TableName": table})
    except DynamoDBError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return None
    description: dict[str, Any] = answer["Table"]
    return description


def differences(schema: Schema, table: Mapping[str, Any] | None, ttl: Mapping[str, Any]) -> list[Difference]:
    """Return the differences of a table from its descriptions; the most serious first."""
    if table is None:
        return [Difference("missing table", "the table", "none", "a table", "create it with create_table()")]
    return [*_table(schema, table), *_indexes(schema, table), *_expiry(schema, ttl)]


def _table(schema: Schema, table: Mapping[str, Any]) -> Iterator[Difference]:
    schema_keys = _keys(key_schema(schema, TABLE))
    if (table_keys := _keys(table["KeySchema"])) != schema_keys:
        yield Difference("keys", "the table", table_keys, schema_keys, _NEW_TABLE)
    types = {attribute["AttributeName"]: attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}
    for name, tag in schema.key_types.items():
        if types.get(name, tag) != tag:
            yield Difference("type", name, types[name], tag, _NEW_TABLE)
    if table["TableStatus"] != "ACTIVE":
        yield Difference("status", "the table", table["TableStatus"], "ACTIVE", "wait for it")


def _indexes(schema: Schema, table: Mapping[str, Any]) -> Iterator[Difference]:
    existing_indexes = {
        index["IndexName"]: (index, local)
        for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True))
        for index in table.get(member) or ()
    }
    for name, index in schema.indexes.items():
        place = f"the local index {name}" if index.local else f"the index {name}"
        description, local = existing_indexes.pop(name, (None, False))
        if description is None or local != index.local:
            is_there = "none" if description is None else "a local one" if local else "a global one"
            fix = _LOCAL if index.local else "add it with add_indexes()"
            yield Difference("missing index", place, is_there, _keys(key_schema(schema, name)), fix)
        else:
            yield from _index(schema, index, place, description)
    for name, (description, local) in existing_indexes.items():
        fix = (
            "a local index can only be removed with its table"
            if local
            else "remove it with UpdateTable, or add it to the schema"
        )
        yield Difference("extra index", f"the index {name}", _keys(description["KeySchema"]), "none", fix)


def _index(schema: Schema, index: Index, place: str, description: Mapping[str, Any]) -> Iterator[Difference]:
    keys, schema_keys = _keys(description["KeySchema"]), _keys(key_schema(schema, index.name))
    if keys != schema_keys:
        yield Difference("keys", place, keys, schema_keys, _NEW_INDEX)
    table_projection, schema_projection = _projection(description["Projection"]), _projection(projection(schema, index))
    if table_projection != schema_projection:
        yield Difference("projection", place, table_projection, schema_projection, _NEW_PROJECTION)
    status = description.get("IndexStatus", "ACTIVE")
    if status != "ACTIVE":
        yield Difference("status", place, status, "ACTIVE", "wait for it: it cannot be read until it is active")


def _expiry(schema: Schema, ttl: Mapping[str, Any]) -> Iterator[Difference]:
    on = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    attribute = str(ttl.get("AttributeName", "")) if on else ""
    if attribute == schema.ttl:
        return
    if not attribute:
        fix = "enable it with UpdateTimeToLive"
    elif not schema.ttl:
        fix = "DynamoDB deletes items by it: add ttl=… to the schema, or disable it with UpdateTimeToLive"
    else:
        fix = "disable it with UpdateTimeToLive, and enable it for the other attribute an hour later"
    yield Difference("ttl", "the table", attribute or "off", schema.ttl or "off", fix)


def _keys(elements: Sequence[Mapping[str, str]]) -> str:
    """Return a key schema in one line: `country + city, total`."""
    pk = [element["AttributeName"] for element in elements if element["KeyType"] == "HASH"]
    sk = [element["AttributeName"] for element in elements if element["KeyType"] == "RANGE"]
    return ", ".join(" + ".join(names) for names in (pk, sk) if names)


def _projection(description: Mapping[str, Any]) -> str:
    names = description.get("NonKeyAttributes")
    return (
        f"{description['ProjectionType']} {', '.join(sorted(names))}" if names else str(description["ProjectionType"])
    )
