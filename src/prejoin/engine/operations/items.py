"""GetItem, PutItem, UpdateItem and DeleteItem."""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from prejoin.engine import legacy
from prejoin.engine.items import rows
from prejoin.engine.items.capacity import capacity_counter, consumed_capacity
from prejoin.engine.items.keys import check_scalar, encode_key
from prejoin.engine.items.write import PreparedWrite, WriteOutcome, bind, perform, prepare
from prejoin.engine.operations.database import Database
from prejoin.engine.requests import (
    DeleteItemInput,
    GetItemInput,
    KeysAndAttributes,
    PutItemInput,
    UpdateItemInput,
    WriteOptions,
)
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.validation import (
    CAPACITY,
    METRICS,
    ON_FAILURE,
    RETURN_VALUES,
    Constraints,
    expression_parameters,
    table_name,
)
from prejoin.protocol.errors import DynamoDBError, newer_wording, prefixed, refuse
from prejoin.protocol.expressions import ProjectionExpression, Substitutions, bind_projection, project
from prejoin.protocol.prices import EVENTUAL, STRONG, read_units
from prejoin.protocol.values import Item, canonical_item


def get_item(database: Database, request: GetItemInput) -> dict[str, Any]:
    name = table_name(request.table_name)
    constraints = Constraints()
    constraints.require("key", request.key)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    if request.attributes_to_get is not None:
        legacy.constrain_attributes(constraints, "attributesToGet", request.attributes_to_get)
    constraints.finish()
    check_projection_parameters(request)
    key = canonical_key(request.key)
    projection = bind_request_projection(request)
    with database.store.reading() as session:
        table = database.catalog.find(session, name)
        place = encode_key(table, key)
        if projection is not None:
            check_scalar(table, projection.paths)
        row = session.get(place)
    capacity = capacity_counter(table, request.return_consumed_capacity)
    factor = STRONG if request.consistent_read else EVENTUAL
    capacity.add(read_units(row.size if row else 0, factor))
    response: dict[str, Any] = {}
    if row is not None:
        response["Item"] = rendered_item(row.content, projection)
    return response | consumed_capacity(capacity, request.return_consumed_capacity, request.table_name)


def canonical_key(key: Any) -> Item:
    """A key in canonical form. Errors are worded as GetItem and BatchGetItem word them."""
    try:
        return canonical_item(key)
    except DynamoDBError as error:
        raise newer_wording(error) from None


def check_projection_parameters(request: GetItemInput | KeysAndAttributes) -> None:
    """Refuse a projection by both kinds of parameters, and names without an expression."""
    names, attributes = request.expression_attribute_names, request.attributes_to_get
    if names is not None or attributes is not None:
        expression = {"ProjectionExpression": request.projection_expression}
        expression_parameters(expression, {"AttributesToGet": attributes}, names, None)


def bind_request_projection(request: GetItemInput | KeysAndAttributes) -> ProjectionExpression | None:
    """The bound projection of a GetItem, or of a member of BatchGetItem."""
    if request.attributes_to_get is not None:
        return legacy.projection(request.attributes_to_get)
    return bind_text_projection(request.projection_expression, request.expression_attribute_names)


def bind_text_projection(text: str | None, names: dict[str, str] | None) -> ProjectionExpression | None:
    """A ProjectionExpression, bound to its names; None if there is none."""
    if text is None:
        return None
    substitutions = Substitutions(names)
    projection = bind_projection(text, substitutions)
    substitutions.finish()
    return projection


def rendered_item(content: bytes, projection: ProjectionExpression | None) -> Any:
    """An item for a response: the stored bytes, or the projected part."""
    if projection is None:
        return msgspec.Raw(content)
    return project(rows.decode_item(content), projection.paths)


def put_item(database: Database, request: PutItemInput) -> dict[str, Any]:
    is_legacy = request.expected is not None or request.conditional_operator is not None
    return _run_write(
        database, request, _prepare_with_wording(database, request, _check_members(request, is_legacy), is_legacy)
    )


def delete_item(database: Database, request: DeleteItemInput) -> dict[str, Any]:
    is_legacy = request.expected is not None or request.conditional_operator is not None
    return _run_write(
        database, request, _prepare_with_wording(database, request, _check_members(request, is_legacy), is_legacy)
    )


def update_item(database: Database, request: UpdateItemInput) -> dict[str, Any]:
    if request.key is None:
        _refuse_keyless(request)
    is_legacy = (
        request.expected is not None
        or request.conditional_operator is not None
        or request.attribute_updates is not None
    )
    return _run_write(
        database, request, _prepare_with_wording(database, request, _check_members(request, is_legacy), is_legacy)
    )


def _prepare_with_wording(
    database: Database, request: PutItemInput | DeleteItemInput | UpdateItemInput, name: str, is_legacy: bool
) -> PreparedWrite:
    """Prepare a write, with its errors as the settings want them."""
    newer = database.newer_messages
    try:
        return _prepare_request(request, name, is_legacy, newer)
    except DynamoDBError as error:
        if newer:
            raise prefixed(error) from None
        raise


def _prepare_request(
    request: PutItemInput | DeleteItemInput | UpdateItemInput, name: str, is_legacy: bool, newer_words: bool
) -> PreparedWrite:
    """Prepare a write that may have legacy parameters."""
    if request.return_values not in (None, "NONE", "ALL_OLD") and not isinstance(request, UpdateItemInput):
        refuse("ReturnValues can only be ALL_OLD or NONE")
    has_placeholders = not (request.expression_attribute_names is None and request.expression_attribute_values is None)
    # Most requests have an expression for their placeholders, and are not checked here.
    if is_legacy or (has_placeholders and not _has_expression(request)):
        _check_expression_parameters(request)
    write = prepare(request, name, newer_words=newer_words)
    if not is_legacy:
        return write
    # The legacy parameters become expressions here. From here on, nothing knows of them but the messages.
    expressions, values = legacy.write_expressions(request)
    show_on_failure = request.return_values_on_condition_check_failure == "ALL_OLD"
    return replace(write, expressions=expressions, values=values, show_on_failure=show_on_failure)


def _has_expression(request: PutItemInput | DeleteItemInput | UpdateItemInput) -> bool:
    return request.condition_expression is not None or (
        isinstance(request, UpdateItemInput) and request.update_expression is not None
    )


def _check_expression_parameters(request: PutItemInput | DeleteItemInput | UpdateItemInput) -> None:
    expressions = {"ConditionExpression": request.condition_expression}
    legacy_parameters: dict[str, Any] = {
        "Expected": request.expected,
        "ConditionalOperator": request.conditional_operator,
    }
    if isinstance(request, UpdateItemInput):
        expressions = {"UpdateExpression": request.update_expression, **expressions}
        legacy_parameters = {"AttributeUpdates": request.attribute_updates, **legacy_parameters}
    expression_parameters(
        expressions, legacy_parameters, request.expression_attribute_names, request.expression_attribute_values
    )


def _check_members(request: PutItemInput | DeleteItemInput | UpdateItemInput, is_legacy: bool) -> str:
    name = table_name(request.table_name)
    constraints = Constraints()
    if isinstance(request, PutItemInput):
        constraints.require("item", request.item)
    else:
        constraints.require("key", request.key)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.one_of("returnItemCollectionMetrics", request.return_item_collection_metrics, METRICS)
    constraints.one_of("returnValues", request.return_values, RETURN_VALUES)
    constraints.one_of(
        "returnValuesOnConditionCheckFailure", request.return_values_on_condition_check_failure, ON_FAILURE
    )
    if is_legacy:
        legacy.constrain_write(constraints, request)
    constraints.finish()
    return name


def _refuse_keyless(request: UpdateItemInput) -> NoReturn:
    """Refuse an update without a key. Only here does DynamoDB list an invalid table name with other constraints."""
    constraints = Constraints()
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.table("tableName", request.table_name)
    constraints.one_of("returnItemCollectionMetrics", request.return_item_collection_metrics, METRICS)
    constraints.one_of("returnValues", request.return_values, RETURN_VALUES)
    constraints.require("key", None)
    constraints.finish()
    raise AssertionError("a missing key breaks a constraint")


def _run_write(database: Database, request: WriteOptions, write: PreparedWrite) -> dict[str, Any]:
    with database.store.writing() as session:
        table = database.catalog.find(session, write.table_name)
        capacity = capacity_counter(table, request.return_consumed_capacity)
        outcome = perform(session, bind(write, table), capacity)
    response = _returned_attributes(request.return_values, write, outcome)
    response |= consumed_capacity(capacity, request.return_consumed_capacity, request.table_name)
    if request.return_item_collection_metrics == "SIZE" and table.has_local_indexes:
        response["ItemCollectionMetrics"] = collection_metrics(table, write)
    return response


def _returned_attributes(return_values: str | None, write: PreparedWrite, outcome: WriteOutcome) -> dict[str, Any]:
    if return_values is None or return_values == "NONE":
        return {}
    row = outcome.after if return_values.endswith("NEW") else outcome.before
    if row is None:
        return {}
    if return_values.startswith("ALL"):
        return {"Attributes": msgspec.Raw(row.content)}
    if write.expressions.update is None:
        return {}
    part = project(rows.decode_item(row.content), write.expressions.update.paths)
    return {"Attributes": part} if part else {}


def collection_metrics(table: TableDefinition, write: PreparedWrite) -> dict[str, Any]:
    """ItemCollectionMetrics, which only tables with local indexes have. Test data is always below 1 GB."""
    name = table.keys.partition[0].name
    return {"ItemCollectionKey": {name: write.content[name]}, "SizeEstimateRangeGB": [0.0, 1.0]}
