"""BatchGetItem and BatchWriteItem: several items, each on its own."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
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
from prejoin.engine.requests import (
    Attributes,
    BatchGetItemInput,
    BatchWriteItemInput,
    KeysAndAttributes,
    WriteRequest,
)
from prejoin.engine.store.interface import Session, StoredRow
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


class _TableGet(msgspec.Struct, frozen=True):
    """What a BatchGetItem reads of one table."""

    keys: list[Item]
    projection: ProjectionExpression | None
    factor: float


def batch_get_item(database: Database, request: BatchGetItemInput) -> dict[str, Any]:
    table_requests = _check_batch_get(request)
    gets = {name: _bind_get(table_request) for name, table_request in table_requests.items()}
    if sum(len(get.keys) for get in gets.values()) > limits.BATCH_GET_KEYS:
        refuse("Too many items requested for the BatchGetItem call")
    responses: dict[str, list[Any]] = {}
    unprocessed_keys: dict[str, Any] = {}
    capacities = Capacities(request.return_consumed_capacity)
    free_bytes = limits.BATCH_GET_SIZE
    with database.store.reading() as session:
        tables = _find_tables(database, session, gets)
        places = _encode_keys(tables, gets)
        for name, get in gets.items():
            rows = _read_rows(session, places[name], free_bytes)
            capacity = capacities.of(tables[name])
            for row in rows:
                size = row.size if row else 0
                free_bytes -= size
                capacity.add(read_units(size, get.factor))
            responses[name] = [rendered_item(row.content, get.projection) for row in rows if row is not None]
            if len(rows) < len(get.keys):
                unprocessed_keys[name] = _unprocessed_keys(table_requests[name], get.keys[len(rows) :])
    response: dict[str, Any] = {"Responses": responses, "UnprocessedKeys": unprocessed_keys}
    return response | capacities.render({table.name: name for name, table in tables.items()})


def _check_batch_get(request: BatchGetItemInput) -> dict[str, KeysAndAttributes]:
    """The requests by table. DynamoDB reports names of tables first, then an empty request, then too many or too few
    keys of a table, which are reported at once, and then what else is wrong with the members of each table.
    """
    constraints = Constraints()
    if not _are_names(request.request_items):
        constraints.fail("requestItems", msgspec.json.encode(request.request_items).decode(), _BATCH_NAMES)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    if not request.request_items:
        refuse("The requestItems parameter is required for BatchGetItem")
    for name, table_request in request.request_items.items():
        keys = table_request.keys
        if keys is None:
            constraints.require(f"requestItems.{name}.member.keys", None)
        elif not 1 <= len(keys) <= limits.BATCH_GET_KEYS:
            bound = "less than or equal to 100" if keys else "greater than or equal to 1"
            refuse(
                f"1 validation error detected: Value at 'RequestItems.{name}.member.Keys' failed to satisfy "
                f"constraint: Member must have length {bound}"
            )
        attributes_member = f"requestItems.{name}.member.attributesToGet"
        legacy.constrain_attributes(constraints, attributes_member, table_request.attributes_to_get)
    constraints.finish()
    return request.request_items


def _bind_get(table_request: KeysAndAttributes) -> _TableGet:
    keys = [canonical_key(key) for key in table_request.keys or ()]
    check_projection_parameters(table_request)
    factor = STRONG if table_request.consistent_read else EVENTUAL
    return _TableGet(keys, bind_request_projection(table_request), factor)


def _encode_keys(tables: dict[str, TableDefinition], gets: dict[str, _TableGet]) -> dict[str, list[bytes]]:
    """The key bytes of the items to read. Refuses duplicates, also of a table that is named by its name and its ARN."""
    places = {name: [encode_key(tables[name], key) for key in get.keys] for name, get in gets.items()}
    distinct_places = set(chain.from_iterable(places.values()))
    if len(distinct_places) < sum(map(len, places.values())):
        refuse(_DUPLICATES)
    for name, get in gets.items():
        if get.projection is not None:
            check_scalar(tables[name], get.projection.paths)
    return places


def _read_rows(session: Session, places: list[bytes], free_bytes: int) -> list[StoredRow | None]:
    """The rows of items, None for a missing one, up to the first one that does not fit into the response."""
    rows: list[StoredRow | None] = []
    for place in places:
        row = session.get(place)
        if row is not None:
            free_bytes -= row.size
            if free_bytes < 0:
                break
        rows.append(row)
    return rows


def _find_tables(database: Database, session: Session, gets: dict[str, _TableGet]) -> dict[str, TableDefinition]:
    """The tables of a BatchGetItem. DynamoDB reports duplicate keys before a missing table."""
    try:
        return {name: database.catalog.find(session, table_name(name)) for name in gets}
    except DynamoDBError:
        for get in gets.values():
            # Without its table, a key has no bytes to compare, so attributes are compared.
            if any(key in get.keys[:number] for number, key in enumerate(get.keys)):
                refuse(_DUPLICATES)
        raise


def _are_names(tables: Iterable[str] | None) -> bool:
    """Whether each of these can be the name of a table."""
    for name in tables or ():  # noqa: SIM110 - with one table, as is usual, much quicker than `all`
        if not is_table_name(name, limits.TABLE_NAME_MINIMUM):
            return False
    return True


def _unprocessed_keys(table_request: KeysAndAttributes, keys: list[Item]) -> dict[str, Any]:
    """The UnprocessedKeys of a table: the same request with the keys that did not fit into 16 MB."""
    members = {
        "Keys": keys,
        "ConsistentRead": table_request.consistent_read,
        "ProjectionExpression": table_request.projection_expression,
        "ExpressionAttributeNames": table_request.expression_attribute_names,
        "AttributesToGet": table_request.attributes_to_get,
    }
    return {member: content for member, content in members.items() if content is not None}


def batch_write_item(database: Database, request: BatchWriteItemInput) -> dict[str, Any]:
    requests_by_table = _check_batch_write(request)
    prepared_writes: list[PreparedWrite] = []
    for name_or_arn, requests in requests_by_table.items():
        name = table_name(name_or_arn)
        prepared_writes += [_prepare_request(name, write_request) for write_request in requests]
    if len(prepared_writes) > limits.BATCH_WRITE_REQUESTS:
        refuse("Too many items requested for the BatchWriteItem call")
    capacities = Capacities(request.return_consumed_capacity)
    metrics: dict[str, list[Any]] = {}
    with database.store.writing() as session:
        tables = database.catalog.find_all(session, (write.table_name for write in prepared_writes))
        writes = [_bind_in_batch(write, tables[write.table_name]) for write in prepared_writes]
        # The bytes of keys are compared, because equal numbers may be written differently.
        if len({write.key for write in writes}) < len(writes):
            refuse(_DUPLICATES)
        for write in writes:
            perform(session, write, capacities.of(write.table))
            if write.table.has_local_indexes:
                _add_metrics(metrics, write)
    response: dict[str, Any] = {"UnprocessedItems": {}}
    if request.return_item_collection_metrics == "SIZE":
        response["ItemCollectionMetrics"] = metrics
    return response | capacities.render({table_name(name): name for name in requests_by_table})


def _check_batch_write(request: BatchWriteItemInput) -> dict[str, list[WriteRequest]]:
    """The requests by table."""
    constraints = Constraints()
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.one_of("returnItemCollectionMetrics", request.return_item_collection_metrics, METRICS)
    constraints.finish()
    if not request.request_items:
        refuse("The requestItems parameter is required for BatchWriteItem")
    if any(not 1 <= len(requests) <= limits.BATCH_WRITE_REQUESTS for requests in request.request_items.values()):
        constraints.fail("requestItems", _echo(request.request_items), _BATCH_LENGTH)
    if not _are_names(request.request_items):
        constraints.fail("requestItems", _echo(request.request_items), _BATCH_NAMES)
    constraints.finish()
    return request.request_items


def _add_metrics(metrics: dict[str, list[Any]], write: BoundWrite) -> None:
    """Add the item collection of a write. Several writes of a batch to one collection are listed once."""
    collections = metrics.setdefault(write.table.name, [])
    collection = collection_metrics(write.table, write.prepared)
    if collection not in collections:
        collections.append(collection)


def _echo(requests_by_table: dict[str, list[WriteRequest]]) -> str:
    """The requests in Java's notation, in which DynamoDB repeats them in its message. Too many are only counted."""
    shown_wishes = []
    for name, requests in requests_by_table.items():
        are_too_many = len(requests) > limits.BATCH_WRITE_REQUESTS
        requests_text = f"{len(requests)} requests" if are_too_many else ", ".join(map(_echo_request, requests))
        shown_wishes.append(f"{name}=[{requests_text}]")
    return f"{{{', '.join(shown_wishes)}}}"


def _echo_request(request: WriteRequest) -> str:
    put, delete = request.put_request, request.delete_request
    shown_put = f"putRequest=PutRequest(item={_echo_item(put.item)})" if put else ""
    shown_delete = f"deleteRequest=DeleteRequest(key={_echo_item(delete.key)})" if delete else ""
    return f"WriteRequest({', '.join(filter(None, (shown_put, shown_delete)))})"


def _echo_item(attributes: Attributes | None) -> str:
    values = [
        f"{name}=AttributeValue({', '.join(f'{kind}={content}' for kind, content in value.items())})"
        for name, value in (attributes or {}).items()
    ]
    return f"{{{', '.join(values)}}}"


def _prepare_request(name: str, request: WriteRequest) -> PreparedWrite:
    put, delete = request.put_request, request.delete_request
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


def _bind_in_batch(write: PreparedWrite, table: TableDefinition) -> BoundWrite:
    """Bind a write. In a batch, DynamoDB words a wrong key the same for puts and deletes."""
    try:
        return bind(write, table)
    except DynamoDBError:
        check_key_elements(table, write.content)
        raise
