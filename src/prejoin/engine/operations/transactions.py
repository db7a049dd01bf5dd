"""TransactWriteItems and TransactGetItems: all or nothing, with a cancellation reason for each action."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from operator import attrgetter
from typing import Any, ParamSpec, TypeVar

import msgspec
from msgspec.structs import astuple

from prejoin.engine.items.capacity import Capacities, UncountedCapacity
from prejoin.engine.items.keys import EmptyKeyError, check_scalar, encode_key
from prejoin.engine.items.write import BoundWrite, PreparedWrite, bind, check_expressions, perform, prepare
from prejoin.engine.operations.client_tokens import digest_of, token_digest
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.items import bind_text_projection, collection_metrics, rendered_item
from prejoin.engine.requests import (
    ConditionCheck,
    DeleteItemInput,
    GetItemInput,
    PutItemInput,
    TransactGetItemsInput,
    TransactWriteItem,
    TransactWriteItemsInput,
    UpdateItemInput,
    WriteOptions,
)
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.validation import CAPACITY, METRICS, ON_FAILURE, Constraints, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions import ProjectionExpression
from prejoin.protocol.prices import TRANSACTIONAL, read_units
from prejoin.protocol.values import Item, canonical_item

M = TypeVar("M")
P = ParamSpec("P")

_NO_REASON = {"Code": "None"}
_ONE_KIND = "TransactItems can only contain one of Check, Put, Update or Delete in each of its members"
_NO_KIND = "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request"


def transact_write_items(database: Database, request: TransactWriteItemsInput) -> dict[str, Any]:
    actions = list(map(_action_of, _members(request.transact_items)))
    if not _is_ordinary(request, actions):
        _check_members(request, actions)
    prepared_writes = list(map(_prepare_action, actions, _names_of_tables(request, actions)))
    # The size is counted twice: of what the request sends, and of the items that its updates make.
    if len(prepared_writes) > _SURELY_SMALL:
        _check_size(write.size for write in prepared_writes)
    capacities = Capacities(request.return_consumed_capacity)
    token = None if request.client_request_token is None else token_digest(request.client_request_token)
    digest = b"" if token is None else digest_of(request)
    with database.store.writing() as session:
        if token is not None and (response := database.tokens.find_response(session, token, digest)) is not None:
            return response
        tables = database.catalog.find_all(session, [write.table_name for write in prepared_writes])
        writes = _bind_writes(prepared_writes, tables)
        check_distinct({write.key for write in writes}, writes)
        sizes = _perform_actions(session, writes, capacities)
        if len(sizes) > _SURELY_SMALL:
            _check_size(sizes)
        response = (
            {} if request.return_consumed_capacity is None else capacities.render(_request_names(actions), kind="Write")
        )
        if request.return_item_collection_metrics == "SIZE":
            response |= _metrics_of(writes)
        if token is not None:
            database.tokens.remember(session, token, digest, response)
    return response


def _members(members: list[M] | None) -> list[M]:
    """The members of a transaction. Too many are refused at once; too few are listed with other constraints."""
    if members is not None and len(members) > limits.TRANSACTION_ACTIONS:
        _check_count(Constraints(), members)
    return members or []


def _check_count(constraints: Constraints, members: list[Any] | None) -> None:
    constraints.require("transactItems", members)
    if members is not None and not members:
        constraints.fail("transactItems", "[]", "Member must have length greater than or equal to 1")
    if members is not None and len(members) > limits.TRANSACTION_ACTIONS:
        constraints.fail("transactItems", "[...]", "Member must have length less than or equal to 100")
        constraints.finish()


def _action_of(member: TransactWriteItem) -> WriteOptions:
    member_actions = astuple(member)
    if member_actions.count(None) != len(member_actions) - 1:
        refuse(_ONE_KIND if any(member_actions) else _NO_KIND)
    put, update, delete, check = member_actions
    return put or update or delete or check  # type: ignore[no-any-return]


def _is_ordinary(request: TransactWriteItemsInput, actions: list[WriteOptions]) -> bool:
    """Whether nothing can violate a constraint. Most requests are ordinary and skip the full check."""
    for action in actions:
        # One `attrgetter` fetches all required members of an action.
        if action.return_values_on_condition_check_failure not in _RETURN_VALUES or None in _REQUIRED_MEMBERS[
            type(action)
        ][2](action):
            return False
    token = request.client_request_token
    return (
        bool(actions)
        and (token is None or 0 < len(token) <= limits.CLIENT_TOKEN_LENGTH)
        and request.return_consumed_capacity is None
        and request.return_item_collection_metrics is None
    )


def _check_members(request: TransactWriteItemsInput, actions: list[WriteOptions]) -> None:
    constraints = Constraints()
    _check_count(constraints, request.transact_items)
    token = request.client_request_token
    if token is not None and not 1 <= len(token) <= limits.CLIENT_TOKEN_LENGTH:
        bound = "less than or equal to 36" if token else "greater than or equal to 1"
        constraints.fail("clientRequestToken", token, f"Member must have length {bound}")
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.one_of("returnItemCollectionMetrics", request.return_item_collection_metrics, METRICS)
    for number, action in enumerate(actions, 1):
        kind, members, required_values = _REQUIRED_MEMBERS[type(action)]
        member_path = f"transactItems.{number}.member.{kind}"
        constraints.table(f"{member_path}.tableName", action.table_name)
        for member, content in zip(members, required_values(action)[1:], strict=True):
            constraints.require(f"{member_path}.{member}", content)
        return_values = action.return_values_on_condition_check_failure
        constraints.one_of(f"{member_path}.returnValuesOnConditionCheckFailure", return_values, ON_FAILURE)
    constraints.finish()


_RETURN_VALUES = frozenset({None, *ON_FAILURE})
_REQUIRED_MEMBERS: dict[type, tuple[str, tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {
    PutItemInput: ("put", ("item",), attrgetter("table_name", "item")),
    UpdateItemInput: ("update", ("key", "updateExpression"), attrgetter("table_name", "key", "update_expression")),
    DeleteItemInput: ("delete", ("key",), attrgetter("table_name", "key")),
    ConditionCheck: (
        "conditionCheck",
        ("key", "conditionExpression"),
        attrgetter("table_name", "key", "condition_expression"),
    ),
}
"""For each kind of action: its name, and the required members after the table name."""


def _names_of_tables(request: TransactWriteItemsInput, actions: list[WriteOptions]) -> list[str]:
    """The table names. An invalid one is listed with other violated constraints."""
    try:
        return [table_name(action.table_name) for action in actions]
    except DynamoDBError:
        _check_members(request, actions)
        raise


def _request_names(actions: Sequence[WriteOptions | GetItemInput]) -> dict[str, str]:
    """The tables by name, each as the request names it."""
    return {table_name(action.table_name): str(action.table_name) for action in actions}


def _prepare_action(action: WriteOptions, name: str) -> PreparedWrite:
    """Prepare an action. In a transaction, DynamoDB reports invalid expressions before an invalid key."""
    try:
        return prepare(action, name)
    except DynamoDBError as error:
        if error.code == "ValidationException" and not isinstance(action, PutItemInput):
            check_expressions(action)
        raise


def _bind_writes(prepared_writes: list[PreparedWrite], tables: dict[str, TableDefinition]) -> list[BoundWrite]:
    """Bind all writes. DynamoDB stops at the first invalid one, so only that one gets a reason."""
    writes: list[BoundWrite] = []
    try:
        for write in prepared_writes:
            writes.append(bind(write, tables[write.table_name]))  # noqa: PERF401
    except DynamoDBError as error:
        later_writes = len(prepared_writes) - len(writes) - 1
        cancel_if_any([*[_NO_REASON] * len(writes), reason_of(error), *[_NO_REASON] * later_writes])
        raise
    return writes


def _perform_actions(session: Session, writes: list[BoundWrite], capacities: Capacities) -> list[int]:
    """Perform all actions and return the sizes of the items. After a failure the others are still tried for their
    reasons.
    """
    sizes: list[int] = []
    for write in writes:
        try:
            after = perform(session, write, capacities.of(write.table), transactional=True).after
        except DynamoDBError as error:
            # Everything is rolled back in the end, so later actions can be tried on what was written so far.
            later_reasons = [
                _reason_after(perform, session, other, UncountedCapacity(other.table))
                for other in writes[len(sizes) + 1 :]
            ]
            cancel_if_any([*[_NO_REASON] * len(sizes), reason_of(error), *later_reasons])
            raise
        sizes.append(0 if after is None else after.size)
    return sizes


def _reason_after(work: Callable[P, Any], *arguments: P.args, **keywords: P.kwargs) -> dict[str, Any]:
    """The cancellation reason of some work; none if it succeeds."""
    try:
        work(*arguments, **keywords)
    except DynamoDBError as error:
        return reason_of(error)
    return _NO_REASON


_SURELY_SMALL = limits.TRANSACTION_SIZE // limits.ITEM_SIZE
"""This many items, each within the item size limit, are always within the transaction's limit."""


def _check_size(sizes: Iterable[int]) -> None:
    """Check the total size of the items sent, written or read by a transaction."""
    if (size := sum(sizes)) > limits.TRANSACTION_SIZE:
        refuse(
            "Transaction payload size cannot exceed 4MB. Payload Size: "
            f": Transaction payload size cannot exceed 4MB. Payload Size: {size}"
        )


_REASONS = {
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "ValidationException": "ValidationError",
    "DuplicateItemException": "DuplicateItem",
    "TransactionConflictException": "TransactionConflict",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
}


def reason_of(error: DynamoDBError) -> dict[str, Any]:
    """The cancellation reason for an error of one action. Other errors are raised."""
    if error.code not in _REASONS or isinstance(error, EmptyKeyError):
        raise error
    return {"Code": _REASONS[error.code], "Message": error.message, **error.fields}


def cancel_if_any(reasons: list[dict[str, Any]]) -> None:
    """Cancel a transaction if an action has a reason."""
    # A reason is listed for each action, in the order of the actions, so an action without one has `None`.
    if reasons.count(_NO_REASON) < len(reasons):
        codes = ", ".join(reason["Code"] for reason in reasons)
        raise DynamoDBError(
            "TransactionCanceledException",
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
            fields={"CancellationReasons": reasons},
        )


def check_distinct(places: set[bytes], members: Sized) -> None:
    """Refuse a transaction that has an item twice."""
    if len(places) < len(members):
        refuse("Transaction request cannot include multiple operations on one item")


def _metrics_of(writes: list[BoundWrite]) -> dict[str, Any]:
    metrics: dict[str, list[Any]] = {}
    for write in writes:
        if write.table.has_local_indexes:
            metrics.setdefault(write.table.name, []).append(collection_metrics(write.table, write.prepared))
    return {"ItemCollectionMetrics": metrics} if metrics else {}


class _TransactGet(msgspec.Struct, frozen=True):
    """What one action of TransactGetItems reads."""

    table_name: str
    key: Item
    projection: ProjectionExpression | None


def transact_get_items(database: Database, request: TransactGetItemsInput) -> dict[str, Any]:
    gets = _check_gets(request)
    bound_gets = [
        _TransactGet(
            table_name(get.table_name),
            canonical_item(get.key),
            bind_text_projection(get.projection_expression, get.expression_attribute_names),
        )
        for get in gets
    ]
    capacities = Capacities(request.return_consumed_capacity)
    sizes: list[int] = []
    responses: list[dict[str, Any]] = []
    with database.store.reading(snapshot=True) as session:
        tables = database.catalog.find_all(session, (get.table_name for get in bound_gets))
        places = _places_of(bound_gets, tables)
        check_distinct(set(places), places)
        for get, place in zip(bound_gets, places, strict=True):
            row = session.get(place)
            sizes.append(row.size if row else 0)
            capacities.of(tables[get.table_name]).add(read_units(sizes[-1], TRANSACTIONAL))
            item = None if row is None else rendered_item(row.content, get.projection)
            # Unlike GetItem, which returns an empty item if the projection selects nothing.
            responses.append({"Item": item} if item else {})
    _check_size(sizes)
    response: dict[str, Any] = {"Responses": responses}
    return response | capacities.render(_request_names(gets), kind="Read")


def _check_gets(request: TransactGetItemsInput) -> list[GetItemInput]:
    """Check the members of a request. Return the actions."""
    constraints = Constraints()
    _check_count(constraints, request.transact_items)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    gets: list[GetItemInput] = []
    for number, member in enumerate(request.transact_items or (), 1):
        member_path = f"transactItems.{number}.member.get"
        constraints.require(member_path, member.get)
        if member.get is not None:
            constraints.require(f"{member_path}.key", member.get.key)
            constraints.table(f"{member_path}.tableName", member.get.table_name)
            gets.append(member.get)
    constraints.finish()
    return gets


def _places_of(gets: list[_TransactGet], tables: dict[str, TableDefinition]) -> list[bytes]:
    """The key bytes of each item. Every action that does not fit its table gets a reason."""
    places: list[bytes] = []
    reasons: list[dict[str, Any]] = []
    for get in gets:
        table = tables[get.table_name]
        try:
            places.append(encode_key(table, get.key))
            if get.projection is not None:
                check_scalar(table, get.projection.paths)
            reasons.append(_NO_REASON)
        except DynamoDBError as error:
            reasons.append(reason_of(error))
    cancel_if_any(reasons)
    return places
