"""Query and Scan."""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec

from prejoin.engine import legacy
from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacity, consumed_capacity, is_requested
from prejoin.engine.items.keys import check_not_empty, check_scalar, storage_key
from prejoin.engine.items.read import (
    PageQuery,
    PartitionRange,
    RowPage,
    key_range,
    lacks_attributes,
    read_page,
    segment_range,
)
from prejoin.engine.operations.database import Database, ResponseBody
from prejoin.engine.requests import LegacyCondition, QueryInput, ReadOptions, ScanInput
from prejoin.engine.tables.catalog import index_of
from prejoin.engine.tables.definition import IndexDefinition, KeySchema, TableDefinition
from prejoin.engine.validation import CAPACITY, SELECT, Constraints, expression_parameters, table_name
from prejoin.protocol.errors import DynamoDBError, invalid, newer_wording, refuse
from prejoin.protocol.expressions import (
    AttributeCondition,
    BoundCondition,
    BoundKeyConditions,
    ProjectionExpression,
    Substitutions,
    bind_condition,
    bind_key_conditions,
    bind_projection,
    document_paths,
    evaluate,
    heads,
    key_conditions,
    project,
)
from prejoin.protocol.key_bytes import Range, compare_range, plain, under
from prejoin.protocol.prices import EVENTUAL, STRONG, read_units
from prejoin.protocol.values import Item, canonical_item

_INVALID = "One or more parameter values were invalid: "
_SEGMENTS = 1_000_000
_INVALID_START = "The provided starting key is invalid"


class _CheckedRead(msgspec.Struct, frozen=True):
    """A checked request, before its table is known."""

    start: Item | None
    filter: BoundCondition | None
    projection: ProjectionExpression | None
    conditions: dict[str, AttributeCondition] | None = None
    filter_name: str = "Filter Expression"
    """The name of the filter's parameter in messages."""


def query(database: Database, request: QueryInput) -> ResponseBody:
    name = table_name(request.table_name)
    constraints = _constraints(request)
    if request.key_condition_expression is None:
        legacy.constrain_read(constraints, request)
    # Unlike a Scan, a Query reports this alone, and with another spelling of the member.
    if request.limit is not None and request.limit < 1:
        raise invalid(
            "1 validation error detected: Value at 'Limit' failed to satisfy constraint: "
            "Member must have value greater than or equal to 1"
        )
    constraints.finish()
    expression_parameters(
        {
            "ProjectionExpression": request.projection_expression,
            "FilterExpression": request.filter_expression,
            "KeyConditionExpression": request.key_condition_expression,
        },
        {
            "AttributesToGet": request.attributes_to_get,
            "QueryFilter": request.query_filter,
            "ConditionalOperator": request.conditional_operator,
            # KeyConditions may come with the other expressions.
            "KeyConditions": None if request.key_condition_expression is None else request.key_conditions,
        },
        request.expression_attribute_names,
        request.expression_attribute_values,
    )
    text = request.key_condition_expression
    if text is None and request.key_conditions is None:
        # DynamoDB finds mistakes in the other legacy parameters before the missing key condition.
        legacy.filter_condition(request.query_filter, request.conditional_operator)
        if request.attributes_to_get is not None:
            legacy.projection(request.attributes_to_get)
        refuse("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    names, values = request.expression_attribute_names, request.expression_attribute_values
    substitutions = Substitutions(names, values, newer_words=True)
    keys = None if text is None else bind_key_conditions(text, substitutions)
    try:
        read = _check_read(request, substitutions, keys, request.key_conditions, request.query_filter)
    except DynamoDBError as error:
        raise newer_wording(error) from None
    return _read_and_respond(database, name, request, read, forward=request.scan_index_forward is not False)


def scan(database: Database, request: ScanInput) -> ResponseBody:
    name = table_name(request.table_name)
    constraints = _constraints(request)
    constraints.at_least("limit", request.limit, 1)
    constraints.between("segment", request.segment, 0, _SEGMENTS - 1)
    constraints.between("totalSegments", request.total_segments, 1, _SEGMENTS)
    legacy.constrain_read(constraints, request)
    constraints.finish()
    expression_parameters(
        {
            "ProjectionExpression": request.projection_expression,
            "FilterExpression": request.filter_expression,
        },
        {
            "AttributesToGet": request.attributes_to_get,
            "ScanFilter": request.scan_filter,
            "ConditionalOperator": request.conditional_operator,
        },
        request.expression_attribute_names,
        request.expression_attribute_values,
    )
    substitutions = Substitutions(request.expression_attribute_names, request.expression_attribute_values)
    read = _check_read(request, substitutions, old_filter=request.scan_filter)
    _check_segments(request)
    segment = None
    if request.segment is not None and request.total_segments is not None:
        segment = (request.segment, request.total_segments)
    return _read_and_respond(database, name, request, read, segment=segment)


def _check_segments(request: ScanInput) -> None:
    segment, total = request.segment, request.total_segments
    if segment is not None and total is None:
        refuse(
            "The TotalSegments parameter is required but was not present in the request when Segment parameter "
            "is present"
        )
    if total is not None and segment is None:
        refuse(
            "The Segment parameter is required but was not present in the request when parameter TotalSegments "
            "is present"
        )
    if segment is not None and total is not None and segment >= total:
        refuse(
            "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
            f"Segment: {segment} is not less than TotalSegments: {total}"
        )


def _constraints(request: ReadOptions) -> Constraints:
    constraints = Constraints()
    if request.index_name is not None:
        constraints.name("indexName", request.index_name)
    constraints.one_of("select", request.select, SELECT)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    return constraints


def _check_read(
    request: ReadOptions,
    substitutions: Substitutions,
    keys: BoundKeyConditions | None = None,
    old_keys: dict[str, LegacyCondition] | None = None,
    old_filter: dict[str, LegacyCondition] | None = None,
) -> _CheckedRead:
    text = request.filter_expression
    filter_condition = None if text is None else bind_condition(text, substitutions, "FilterExpression")
    text = request.projection_expression
    projection = None if text is None else bind_projection(text, substitutions)
    substitutions.finish()
    # Expressions and legacy parameters were not mixed, or the request would have been refused already.
    if old_filter is not None or request.conditional_operator is not None:
        filter_condition = legacy.filter_condition(old_filter, request.conditional_operator)
    if request.attributes_to_get is not None:
        projection = legacy.projection(request.attributes_to_get)
    conditions = None if keys is None else key_conditions(keys)
    if old_keys is not None:
        conditions = legacy.key_conditions(old_keys, of_index=request.index_name is not None)
    start = None
    if request.exclusive_start_key is not None:
        try:
            start = canonical_item(request.exclusive_start_key)
        except DynamoDBError as error:
            if conditions is not None:
                raise
            raise DynamoDBError(error.code, f"{_INVALID_START}: {error.message}") from None
    _check_select(request, "" if conditions is None else "1 validation error detected: ")
    name = "Filter Expression" if old_filter is None else "QueryFilter"
    return _CheckedRead(start, filter_condition, projection, conditions, name)


def _check_select(request: ReadOptions, prefix: str) -> None:
    """Check Select. A Query, unlike a Scan, puts a prefix before its messages."""
    select, member = request.select, "ProjectionExpression" if request.attributes_to_get is None else "AttributesToGet"
    has_projection = request.projection_expression is not None or request.attributes_to_get is not None
    if select == "SPECIFIC_ATTRIBUTES" and not has_projection:
        refuse(
            f"{prefix}Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES"
        )
    if has_projection and select not in (None, "SPECIFIC_ATTRIBUTES"):
        wanted_attributes = "only the Count" if select == "COUNT" else select
        refuse(f"{prefix}Cannot specify the {member} when choosing to get {wanted_attributes}")
    if select == "ALL_PROJECTED_ATTRIBUTES" and request.index_name is None:
        refuse(f"{prefix}ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")


def _read_and_respond(
    database: Database,
    name: str,
    request: ReadOptions,
    read: _CheckedRead,
    *,
    forward: bool = True,
    segment: tuple[int, int] | None = None,
) -> ResponseBody:
    with database.store.reading(snapshot=True) as session:
        table = database.catalog.find(session, name)
        index = None if request.index_name is None else index_of(table, request.index_name)
        if index is not None and index.is_global and request.consistent_read:
            refuse("Consistent reads are not supported on global secondary indexes")
        start = None if read.start is None else _start_position(table, index, request, read, read.start)
        keys = None if read.conditions is None else key_range(table, index, read.conditions)
        if start is not None:
            _check_bounds(table, index, read, start, keys, segment)
        _check_filtered_keys(table, index, read)
        page_query = PageQuery(
            table,
            index,
            _whole_range(table, index, segment) if keys is None else keys.bounds,
            start,
            request.limit,
            forward,
            _needs_whole_items(table, index, request, read),
            is_requested(request.return_consumed_capacity),
        )
        # Checked after everything that `PageQuery` needs: DynamoDB reports a missing projection of the index first.
        _check_expressions(table, index, read)
        page = read_page(session, page_query)
    return _render_page(table, index, request, read, page)


def _whole_range(table: TableDefinition, index: IndexDefinition | None, segment: tuple[int, int] | None) -> Range:
    """The range of a whole table or index, or of one segment."""
    prefix = table.prefix if index is None else table.index_prefix(index)
    return under(prefix) if segment is None else segment_range(prefix, *segment)


def _needs_whole_items(
    table: TableDefinition, index: IndexDefinition | None, request: ReadOptions, read: _CheckedRead
) -> bool:
    """Whether a local index must fetch items from the table. A global index refuses attributes it does not project."""
    projected_names = None if index is None else table.projected_attributes(index)
    if index is None or projected_names is None:
        return False
    if request.select == "ALL_ATTRIBUTES":
        if index.is_global:
            refuse(
                _INVALID + "Select type ALL_ATTRIBUTES is not supported for global secondary index "
                f"{index.name} because its projection type is not ALL"
            )
        return True
    return read.projection is not None and lacks_attributes(table, index, heads(read.projection))


def _check_filtered_keys(table: TableDefinition, index: IndexDefinition | None, read: _CheckedRead) -> None:
    """Refuse the filter of a Query if it uses attributes of the key."""
    if read.filter is None or read.conditions is None:
        return
    names = (table.keys if index is None else index.keys).names
    for path in document_paths(read.filter.tree):
        if path.steps[0] in names:
            refuse(
                f"{read.filter_name} can only contain non-primary key attributes: "
                f"Primary key attribute: {path.steps[0]}"
            )


def _check_expressions(table: TableDefinition, index: IndexDefinition | None, read: _CheckedRead) -> None:
    if read.projection is not None:
        check_scalar(table, read.projection.paths)
    if read.filter is None:
        return
    paths = document_paths(read.filter.tree)
    check_scalar(table, paths)
    if read.conditions is None:
        return
    projected_names = None if index is None else table.projected_attributes(index)
    if index is not None and projected_names is not None:
        missing = sorted({str(path.steps[0]) for path in paths} - projected_names)
        if missing:
            refuse(
                _INVALID + f"Secondary index {index.name} does not project one or more filter attributes: "
                f"[{', '.join(missing)}]"
            )


def _start_position(
    table: TableDefinition, index: IndexDefinition | None, request: ReadOptions, read: _CheckedRead, start: Item
) -> bytes:
    """The key bytes after which to continue."""
    # Only a Scan of a table says what is wrong with its start key.
    is_strict = read.conditions is not None or index is not None
    if len(start) != len(table.position_names(index)):
        refuse(_INVALID_START if is_strict else f"{_INVALID_START}: {_MISMATCH}")
    for attribute in (index or table).keys.attributes if is_strict else ():
        if attribute.name not in start:
            refuse(_INVALID_START)
        if index is not None and attribute.type not in start[attribute.name]:
            refuse(_MISMATCH)
    if read.conditions is None:
        # A Scan reports what its index lacks first.
        _needs_whole_items(table, index, request, read)
    _check_position(table.keys, start)
    position = storage_key(table, start)
    if index is not None:
        _check_position(index.keys, start)
        entry_key = table.entry_keys[index.number](start, position)
        if entry_key is None:
            refuse(f"{_INVALID_START}: {_MISMATCH}")
        position = entry_key
    return position


def _check_bounds(
    table: TableDefinition,
    index: IndexDefinition | None,
    read: _CheckedRead,
    position: bytes,
    keys: PartitionRange | None,
    segment: tuple[int, int] | None,
) -> None:
    """Check that a position lies where the request reads."""
    start = read.start
    if keys is not None and read.conditions is not None and start is not None:
        if not position.startswith(keys.partition):
            _refuse_partition(index.keys if index else table.keys, read.conditions, start)
        if index is None and not table.keys.sort:
            # A partition without a sort key has one item, so nothing comes after it.
            (attribute,) = table.keys.partition
            key_text = f"{attribute.name}=AttributeValue: {{{attribute.type}:{start[attribute.name][attribute.type]}}}"
            refuse(f"The provided exclusive start key is invalid: ExclusiveStartKey: {{{key_text}}}")
        if not _is_within(position, keys.bounds):
            refuse(_START_OUTSIDE_RANGE)
    if segment is not None and not _is_within(position, _whole_range(table, index, segment)):
        refuse(
            f"{_INVALID_START}: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {segment[1]} Segment: {segment[0]}"
        )


_START_OUTSIDE_RANGE = "The provided starting key does not match the range key predicate"


def _refuse_partition(keys: KeySchema, conditions: dict[str, AttributeCondition], start: Item) -> NoReturn:
    """Refuse a position in another partition. If the sort key has a condition, DynamoDB checks that first."""
    sort = [attribute for attribute in keys.sort if attribute.name in conditions]
    if not sort:
        refuse("The provided starting key is outside query boundaries based on provided conditions")
    for attribute in sort:
        condition = conditions[attribute.name]
        bounds = compare_range(b"", condition.operator, condition.operands, last=True)
        if not _is_within(plain(start[attribute.name]), bounds):
            refuse(_START_OUTSIDE_RANGE)
    refuse("The query can return at most one row and cannot be restarted")


def _is_within(position: bytes, bounds: Range) -> bool:
    return position >= bounds.low and (bounds.high is None or position < bounds.high)


_MISMATCH = "The provided key element does not match the schema"


def _check_position(keys: KeySchema, start: Item) -> None:
    for attribute in keys.attributes:
        if attribute.type not in start.get(attribute.name, {}):
            refuse(f"{_INVALID_START}: {_MISMATCH}")
        check_not_empty(attribute, start[attribute.name])


def _render_page(
    table: TableDefinition, index: IndexDefinition | None, request: ReadOptions, read: _CheckedRead, page: RowPage
) -> ResponseBody:
    response: dict[str, Any] = {}
    count = scanned_count = len(page.items)
    # Without filter and projection, the stored JSON of the items is the response, and nothing is decoded.
    is_plain = read.filter is None and read.projection is None
    if not is_plain:
        items = _filter_items(read, page)
        count = len(items)
        if request.select != "COUNT":
            paths = read.projection.paths if read.projection else None
            response["Items"] = items if paths is None else [project(item, paths) for item in items]
    response["Count"], response["ScannedCount"] = count, scanned_count
    # A partition without sort key has only one item, so there is no next page.
    has_one_item = read.conditions is not None and index is None and not table.keys.sort
    if page.has_more and not has_one_item:
        last_item = rows.decode_item(page.items[-1])
        response["LastEvaluatedKey"] = {name: last_item[name] for name in table.position_names(index)}
    if is_requested(request.return_consumed_capacity):
        response |= _page_capacity(table, index, request, page)
    if not is_plain or request.select == "COUNT":
        return response
    return _join_items(page.items, response)


def _filter_items(read: _CheckedRead, page: RowPage) -> list[Item]:
    items = list(map(rows.decode_item, page.items))
    if read.filter is None:
        return items
    return [item for item in items if evaluate(read.filter, item)]


def _page_capacity(
    table: TableDefinition, index: IndexDefinition | None, request: ReadOptions, page: RowPage
) -> dict[str, Any]:
    """The ConsumedCapacity of a page: its size is rounded up once, the size of each item that was fetched by itself."""
    capacity = Capacity(table)
    factor = STRONG if request.consistent_read else EVENTUAL
    capacity.add(read_units(page.size, factor), index)
    for fetched_size in page.fetched_units:
        capacity.add(read_units(fetched_size, factor))
    return consumed_capacity(capacity, request.return_consumed_capacity, request.table_name)


def _join_items(items: list[bytes], response: dict[str, Any]) -> bytes:
    """The JSON of a response with these items. It is joined once, because copying a large page costs as much as reading
    it.
    """
    other_members = msgspec.json.encode(response)[1:]
    if not items:
        return b'{"Items":[],' + other_members
    items[0] = b'{"Items":[' + items[0]
    items[-1] += b"]"
    items.append(other_members)
    return b",".join(items)
