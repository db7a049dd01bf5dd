"""BatchGetItem and BatchWriteItem: several items, each on its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from prejoin.engine import legacy
from prejoin.engine.items.capacity import Capacities
from prejoin.engine.items.keys import check_key_elements, check_scalar, encode_key
from prejoin.engine.items.write import BoundWrite, PreparedWrite, bind, perform
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.items import (
    bind_request_projection,
    canonical_key,
    check_projection_parameters,
    collection_metrics,
    rendered_item,
)
from prejoin.engine.requests import Attributes, BatchGetItemInput, BatchWriteItemInput, WriteRequest
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.validation import CAPACITY, METRICS, Constraints, is_table_name, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions import ProjectionExpression
from prejoin.protocol.prices import EVENTUAL, STRONG, read_units
from prejoin.protocol.sizes import measured
from prejoin.protocol.values import Item, canonical_item

_BATCH_LENGTH = (
    "Map value must satisfy constraint: "
    "[Member must have length less than or equal to 25, Member must have length greater than or equal to 1]"
)
_BATCH_NAMES = (
    "Map keys must satisfy constraint: "
    "[Member must have length less than or equal to 255, Member must have length greater than or equal to 3, "
    "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+]"
)
_DUPLICATES = "Provided list of item keys contains duplicates"


def batch_get_item(database: Database, request: BatchGetItemInput) -> dict[str, Any]:
    constraints = Constraints()
    if not _are_names(request.request_items):
        constraints.fail("requestItems", msgspec.json.encode(request.request_items).decode(), _BATCH_NAMES)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    if not request.request_items:
        refuse("The requestItems parameter is required for BatchGetItem")
    wishes: dict[str, tuple[list[Item], ProjectionExpression | None, float]] = {}
    for name, wish in request.request_items.items():
        if wish.keys is None:
            constraints.required(f"requestItems.{name}.member.keys", None)
        elif not 1 <= len(wish.keys) <= limits.BATCH_GET_KEYS:
            bound = "less than or equal to 100" if wish.keys else "greater than or equal to 1"
            refuse(
                f"1 validation error detected: Value at 'RequestItems.{name}.member.Keys' failed to satisfy "
                f"constraint: Member must have length {bound}"
            )
        legacy.constrain_attributes(constraints, f"requestItems.{name}.member.attributesToGet", wish.attributes_to_get)
    constraints.finish()
    for name, wish in request.request_items.items():
        keys = [canonical_key(key) for key in wish.keys or ()]
        check_projection_parameters(wish)
        wishes[name] = (keys, bind_request_projection(wish), STRONG if wish.consistent_read else EVENTUAL)
    if sum(len(keys) for keys, _, _ in wishes.values()) > limits.BATCH_GET_KEYS:
        refuse("Too many items requested for the BatchGetItem call")
    responses: dict[str, list[Any]] = {}
    unprocessed: dict[str, Any] = {}
    capacities = Capacities(request.return_consumed_capacity)
    total = 0
    with database.store.reading() as session:
        tables = _find_tables(database, session, wishes)
        places = {name: [encode_key(tables[name], key) for key in keys] for name, (keys, _, _) in wishes.items()}
        # A table may be given twice, by its name and by its ARN.
        if len({place for keys in places.values() for place in keys}) < sum(map(len, places.values())):
            refuse(_DUPLICATES)
        for name, (_, projection, _) in wishes.items():
            if projection is not None:
                check_scalar(tables[name], projection.paths)
        for name, (keys, projection, factor) in wishes.items():
            found = responses[name] = []
            capacity = capacities.of(tables[name])
            for number, place in enumerate(places[name]):
                row = session.get(place)
                size = row.size if row else 0
                if total + size > limits.BATCH_GET_SIZE:
                    unprocessed[name] = _unprocessed_keys(request, name, keys[number:])
                    break
                total += size
                capacity.add(read_units(size, factor))
                if row is not None:
                    found.append(rendered_item(row.content, projection))
    response: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed}
    return response | capacities.render({table.name: name for name, table in tables.items()})


def _find_tables(database: Database, session: Session, wishes: dict[str, Any]) -> dict[str, TableDefinition]:
    """The tables of a BatchGetItem. DynamoDB reports duplicate keys before a missing table."""
    try:
        return {name: database.catalog.find(session, table_name(name)) for name in wishes}
    except DynamoDBError:
        for keys, _, _ in wishes.values():
            if any(key in keys[:number] for number, key in enumerate(keys)):
                refuse(_DUPLICATES)
        raise


def _are_names(tables: Iterable[str] | None) -> bool:
    """Whether each of these can be the name of a table."""
    for name in tables or ():  # noqa: SIM110 - with one table, as is usual, much quicker than `all`
        if not is_table_name(name, limits.TABLE_NAME_MINIMUM):
            return False
    return True


def _unprocessed_keys(request: BatchGetItemInput, name: str, keys: list[Item]) -> dict[str, Any]:
    """The UnprocessedKeys of a table: the same request with the keys that did not fit into 16 MB."""
    wish = (request.request_items or {})[name]
    members = {
        "Keys": keys,
        "ConsistentRead": wish.consistent_read,
        "ProjectionExpression": wish.projection_expression,
        "ExpressionAttributeNames": wish.expression_attribute_names,
        "AttributesToGet": wish.attributes_to_get,
    }
    return {member: content for member, content in members.items() if content is not None}


def batch_write_item(database: Database, request: BatchWriteItemInput) -> dict[str, Any]:
    constraints = Constraints()
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.one_of("returnItemCollectionMetrics", request.return_item_collection_metrics, METRICS)
    constraints.finish()
    if not request.request_items:
        refuse("The requestItems parameter is required for BatchWriteItem")
    if any(not 1 <= len(wishes) <= limits.BATCH_WRITE_REQUESTS for wishes in request.request_items.values()):
        constraints.fail("requestItems", _echo(request.request_items), _BATCH_LENGTH)
    if not _are_names(request.request_items):
        constraints.fail("requestItems", _echo(request.request_items), _BATCH_NAMES)
    constraints.finish()
    prepared = [
        _prepare(checked, wish)
        for name, wishes in request.request_items.items()
        for checked in (table_name(name),)
        for wish in wishes
    ]
    if len(prepared) > limits.BATCH_WRITE_REQUESTS:
        refuse("Too many items requested for the BatchWriteItem call")
    capacities = Capacities(request.return_consumed_capacity)
    metrics: dict[str, list[Any]] = {}
    with database.store.writing() as session:
        tables = database.catalog.find_all(session, (write.table_name for write in prepared))
        writes = [_bound(write, tables[write.table_name]) for write in prepared]
        if len({write.key for write in writes}) < len(writes):
            refuse(_DUPLICATES)
        for write in writes:
            perform(session, write, capacities.of(write.table))
            if write.table.has_local_indexes:
                shown_metrics = collection_metrics(write.table, write.prepared)
                collections = metrics.setdefault(write.table.name, [])
                if shown_metrics not in collections:
                    collections.append(shown_metrics)
    response: dict[str, Any] = {"UnprocessedItems": {}}
    if request.return_item_collection_metrics == "SIZE":
        response["ItemCollectionMetrics"] = metrics
    return response | capacities.render({table_name(name): name for name in request.request_items})


def _echo(wishes: dict[str, list[WriteRequest]]) -> str:
    """The requests in Java's notation, in which DynamoDB repeats them in its message. Too many are only counted."""
    shown_wishes = []
    for name, requests in wishes.items():
        many = len(requests) > limits.BATCH_WRITE_REQUESTS
        listed = f"{len(requests)} requests" if many else ", ".join(map(_echo_request, requests))
        shown_wishes.append(f"{name}=[{listed}]")
    return f"{{{', '.join(shown_wishes)}}}"


def _echo_request(wish: WriteRequest) -> str:
    put, delete = wish.put_request, wish.delete_request
    shown_put = f"putRequest=PutRequest(item={_echo_item(put.item)})" if put else ""
    shown_delete = f"deleteRequest=DeleteRequest(key={_echo_item(delete.key)})" if delete else ""
    return f"WriteRequest({', '.join(filter(None, (shown_put, shown_delete)))})"


def _echo_item(attributes: Attributes | None) -> str:
    values = [
        f"{name}=AttributeValue({', '.join(f'{kind}={content}' for kind, content in value.items())})"
        for name, value in (attributes or {}).items()
    ]
    return f"{{{', '.join(values)}}}"


def _prepare(name: str, wish: WriteRequest) -> PreparedWrite:
    put, delete = wish.put_request, wish.delete_request
    if (put is None) == (delete is None):
        refuse(
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported "
            "datatypes"
        )
    if put is not None:
        item, size = measured(put.item or {})
        if size > limits.ITEM_SIZE:
            refuse("Item size has exceeded the maximum allowed size")
        return PreparedWrite("put", name, item, size)
    assert delete is not None
    return PreparedWrite("delete", name, canonical_item(delete.key or {}))


def _bound(write: PreparedWrite, table: TableDefinition) -> BoundWrite:
    """Bind a write. In a batch, DynamoDB words a wrong key the same for puts and deletes."""
    try:
        return bind(write, table)
    except DynamoDBError:
        check_key_elements(table, write.content)
        raise
