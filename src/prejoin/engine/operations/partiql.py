"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: PartiQL, on the code of other reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacities, Capacity
from prejoin.engine.items.keys import encode_key
from prejoin.engine.items.write import BoundWrite, PreparedWrite, WriteResult, bind, perform
from prejoin.engine.items.write_expressions import WriteExpressions
from prejoin.engine.operations.client_tokens import hashed_content, hashed_token
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.selects import (
    CheckedStatement,
    all_of,
    parts_of,
    read_single,
    select,
    selected_place,
    whole_key,
)
from prejoin.engine.operations.transactions import cancel_if_any, check_distinct, reason_of
from prejoin.engine.requests import (
    BatchExecuteStatementInput,
    ExecuteStatementInput,
    ExecuteTransactionInput,
    StatementInput,
)
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.validation import CAPACITY, Constraints, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions import Condition, DocumentPath, Update, project
from prejoin.protocol.expressions.apply import compile_update
from prejoin.protocol.expressions.evaluate import compile_condition
from prejoin.protocol.expressions.nodes import FunctionCall
from prejoin.protocol.expressions.reader import path_clash
from prejoin.protocol.partiql import Delete, Exists, Insert, Select, Statement, UpdateStatement, parse_statement
from prejoin.protocol.prices import EVENTUAL, STRONG, TRANSACTIONAL
from prejoin.protocol.sizes import item_size

_STATEMENT_LENGTH = 8192
_BATCH_STATEMENTS = 25
_WHOLE_KEY = "Where clause does not contain a mandatory equality on all key attributes"
_IN_TRANSACTION = "Validation failed in TransactStatements[{}]: "
_EXISTS = "EXISTS can only be used in ExecuteTransaction write requests."
_CODES = {
    "ValidationException": "ValidationError",
    "ResourceNotFoundException": "ResourceNotFound",
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
}
"""The codes of errors inside of a batch."""


def execute_statement(database: Database, request: ExecuteStatementInput) -> dict[str, Any]:
    constraints = Constraints()
    _constrain(constraints, "", request)
    constraints.at_least("limit", request.limit, 1)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    checked = _parsed(request)
    capacities = Capacities(request.return_consumed_capacity)
    if isinstance(checked.statement, Exists):
        refuse(_EXISTS)
    with _session(database, reads=checked.reads) as session:
        table = _table(database, session, checked.statement)
        capacity = capacities.of(table)
        if isinstance(checked.statement, Select):
            response = select(session, table, checked, request, capacity)
        else:
            result = _written(session, _bound(table, checked), capacity)
            response = {"Items": _returned(checked.statement, result)}
    consumed = capacities.render({}).get("ConsumedCapacity")
    return response | ({"ConsumedCapacity": consumed[0]} if consumed else {})


def _session(database: Database, *, reads: bool) -> AbstractContextManager[Session]:
    """A session of the store: one for writing only if something may be written."""
    return database.store.reading(snapshot=True) if reads else database.store.writing()


def batch_execute_statement(database: Database, request: BatchExecuteStatementInput) -> dict[str, Any]:
    statements = request.statements or []
    constraints = Constraints()
    _constrain_list(constraints, "statements", request.statements, _BATCH_STATEMENTS)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    parsed: list[CheckedStatement | DynamoDBError] = []
    for each in statements:
        try:
            checked = _parsed(each)
            if isinstance(checked.statement, Exists):
                refuse(_EXISTS)
            parsed.append(checked)
        except DynamoDBError as error:
            parsed.append(error)
    reads = {checked.reads for checked in parsed if isinstance(checked, CheckedStatement)}
    if len(reads) > 1:
        refuse("Read and write requests together in the same batch is not supported.")
    capacities = Capacities(request.return_consumed_capacity)
    with _session(database, reads=reads == {True}) as session:
        places = [place for checked in parsed if (place := _batched_place(database, session, checked)) is not None]
        if len(set(places)) < len(places):
            refuse("Provided list of item keys contains duplicates")
        responses = [_batched(database, session, checked, capacities) for checked in parsed]
    return {"Responses": responses} | capacities.render({})


def _batched_place(database: Database, session: Session, checked: CheckedStatement | DynamoDBError) -> bytes | None:
    """The key bytes of the item of a statement; None if the statement will be refused."""
    if isinstance(checked, DynamoDBError):
        return None
    try:
        table = _table(database, session, checked.statement)
        if isinstance(checked.statement, Select):
            key, _ = whole_key(table, checked.statement.where, checked.values)
            return None if key is None else encode_key(table, key)
        return _bound(table, checked).key
    except DynamoDBError:
        return None


def _batched(
    database: Database, session: Session, checked: CheckedStatement | DynamoDBError, capacities: Capacities
) -> dict[str, Any]:
    """The response of one statement of a batch. An error of one does not keep the others from being executed."""
    name: dict[str, Any] = {}
    try:
        if isinstance(checked, DynamoDBError):
            raise checked
        name = {"TableName": _name(checked.statement)}
        table = _table(database, session, checked.statement)
        if not isinstance(checked.statement, Select):
            result = _written(session, _bound(table, checked), capacities.of(table))
            items = _returned(checked.statement, result)
            return name | ({"Item": items[0]} if items else {})
        factor = STRONG if checked.consistent else EVENTUAL
        place, rest = selected_place(table, checked, "BatchExecuteStatement")
        item = read_single(session, place, rest, checked, capacities.of(table), factor)
        return name | ({} if item is None else {"Item": item})
    except DynamoDBError as error:
        if error.code not in _CODES:
            raise
        return name | {"Error": {"Code": _CODES[error.code], "Message": error.message, **error.fields}}


def execute_transaction(database: Database, request: ExecuteTransactionInput) -> dict[str, Any]:
    constraints = Constraints()
    _constrain_list(constraints, "transactStatements", request.transact_statements, limits.TRANSACTION_ACTIONS)
    token = request.client_request_token
    if token is not None and not 1 <= len(token) <= limits.CLIENT_TOKEN_LENGTH:
        bound = "less than or equal to 36" if token else "greater than or equal to 1"
        constraints.fail("clientRequestToken", token, f"Member must have length {bound}")
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    parsed = [_parsed(each) for each in request.transact_statements or ()]
    if len({checked.reads for checked in parsed}) > 1:
        refuse("ExecuteTransaction API does not support both read and write operations in the same request.")
    for number, checked in enumerate(parsed):
        statement = checked.statement
        if isinstance(statement, UpdateStatement | Delete) and statement.returning is not None:
            refuse(f"{_IN_TRANSACTION.format(number)}RETURNING clause is not supported in ExecuteTransaction.")
        if isinstance(statement, Select) and statement.index is not None:
            refuse(f"{_IN_TRANSACTION.format(number)}Reads on indices are not supported within transactions.")
    capacities = Capacities(request.return_consumed_capacity)
    if parsed[0].reads:
        items = []
        with database.store.reading(snapshot=True) as session:
            tables = [_table(database, session, checked.statement) for checked in parsed]
            found = [
                selected_place(table, checked, "ExecuteTransaction", _IN_TRANSACTION.format(number))
                for number, (table, checked) in enumerate(zip(tables, parsed, strict=True))
            ]
            check_distinct({place for place, _ in found}, found)
            for table, checked, (place, rest) in zip(tables, parsed, found, strict=True):
                items.append(read_single(session, place, rest, checked, capacities.of(table), TRANSACTIONAL))
        shown = [{} if item is None else {"Item": item} for item in items]
        return {"Responses": shown} | capacities.render({}, kind="Read")
    hashed = None if token is None else hashed_token(token)
    digest = b"" if token is None else hashed_content(request.transact_statements)
    with database.store.writing() as session:
        if hashed is not None and (known := database.tokens.find_response(session, hashed, digest)) is not None:
            return known
        writes = _all_bound([(_table(database, session, checked.statement), checked) for checked in parsed])
        check_distinct({write.key for write in writes}, writes)
        _performed(session, writes, capacities)
        response: dict[str, Any] = {"Responses": []} | capacities.render({}, kind="Write")
        if hashed is not None:
            database.tokens.remember(session, hashed, digest, response)
    return response


def _all_bound(statements: list[tuple[TableDefinition, CheckedStatement]]) -> list[BoundWrite]:
    """The writes of a transaction. A statement that does not fit its table cancels it."""
    writes: list[BoundWrite] = []
    reasons: list[dict[str, Any]] = []
    for number, (table, checked) in enumerate(statements):
        if isinstance(checked.statement, Exists):
            key, rest = whole_key(table, checked.statement.select.where, checked.values)
            if key is None or rest is None:
                prefix = _IN_TRANSACTION.format(number)
                refuse(f"{prefix}EXISTS() must contain a single item read with additional condition")
        try:
            writes.append(_bound(table, checked))
            reasons.append({"Code": "None"})
        except DynamoDBError as error:
            reasons.append(reason_of(error))
    cancel_if_any(reasons)
    return writes


def _performed(session: Session, writes: list[BoundWrite], capacities: Capacities) -> None:
    """Perform the writes of a transaction, or cancel it."""
    reasons: list[dict[str, Any]] = []
    for write in writes:
        try:
            _written(session, write, capacities.of(write.table), transactional=True)
            reasons.append({"Code": "None"})
        except DynamoDBError as error:
            reasons.append(reason_of(error))
    cancel_if_any(reasons)


# --- Statements ------------------------------------------------------------------------------------------------------


def _constrain(constraints: Constraints, member: str, request: StatementInput) -> None:
    constraints.required(f"{member}statement", request.statement)
    if request.statement is not None and not 1 <= len(request.statement) <= _STATEMENT_LENGTH:
        bound = f"less than or equal to {_STATEMENT_LENGTH}" if request.statement else "greater than or equal to 1"
        constraints.fail(f"{member}statement", request.statement[:100], f"Member must have length {bound}")
    if request.parameters is not None and not request.parameters:
        constraints.fail(f"{member}parameters", "[]", "Member must have length greater than or equal to 1")
    wish = request.return_values_on_condition_check_failure
    constraints.one_of(f"{member}returnValuesOnConditionCheckFailure", wish, ("ALL_OLD", "NONE"))


def _constrain_list(
    constraints: Constraints, member: str, statements: Sequence[StatementInput] | None, most: int
) -> None:
    constraints.required(member, statements)
    if statements is not None and not 1 <= len(statements) <= most:
        bound = f"less than or equal to {most}" if statements else "greater than or equal to 1"
        constraints.fail(member, "[...]" if statements else "[]", f"Member must have length {bound}")
    for number, each in enumerate(statements or (), 1):
        _constrain(constraints, f"{member}.{number}.member.", each)


def _parsed(request: StatementInput) -> CheckedStatement:
    statement, values = parse_statement(str(request.statement), request.parameters or [])
    shown = request.return_values_on_condition_check_failure == "ALL_OLD"
    return CheckedStatement(statement, values, bool(request.consistent_read), shown)


def _name(statement: Statement) -> str:
    return statement.select.table if isinstance(statement, Exists) else statement.table


def _table(database: Database, session: Session, statement: Statement) -> TableDefinition:
    return database.catalog.find(session, table_name(_name(statement)))


# --- Writes ----------------------------------------------------------------------------------------------------------


def _bound(table: TableDefinition, checked: CheckedStatement) -> BoundWrite:
    """A statement as a write of its table."""
    statement, name = checked.statement, table.keys.partition[0].name
    exists = FunctionCall("attribute_exists", (DocumentPath((name,)),))
    kind, update, size = "put", None, 0
    condition: Condition | None
    if isinstance(statement, Insert):
        content, size = statement.item, item_size(statement.item)
        if size > limits.ITEM_SIZE:
            refuse("Item size has exceeded the maximum allowed size")
        condition = FunctionCall("attribute_not_exists", exists.arguments)
    else:
        where = statement.select.where if isinstance(statement, Exists) else statement.where
        key, rest = whole_key(table, where, checked.values)
        if key is None:
            refuse(_WHOLE_KEY)
        content, condition = key, rest
        kind = "delete"
        if isinstance(statement, UpdateStatement):
            kind, update = "update", Update(statement.actions)
            if clash := path_clash(list(update.paths)):
                refuse(clash)
        elif isinstance(statement, Exists):
            kind = "check"
        if kind != "delete":
            condition = all_of([exists, *parts_of(rest)])
    expressions = WriteExpressions(
        None if condition is None else compile_condition(condition),
        None if update is None else compile_update(update),
        update,
    )
    prepared = PreparedWrite(kind, table.name, content, size, expressions, checked.values, checked.show_on_failure)
    return bind(prepared, table)


def _written(session: Session, write: BoundWrite, capacity: Capacity, *, transactional: bool = False) -> WriteResult:
    try:
        return perform(session, write, capacity, transactional=transactional)
    except DynamoDBError as error:
        if write.prepared.kind == "put" and error.code == "ConditionalCheckFailedException":
            raise DynamoDBError("DuplicateItemException", "Duplicate primary key exists in table") from None
        raise


def _returned(statement: Statement, result: WriteResult) -> list[Any]:
    """The items that RETURNING asks for."""
    wish = statement.returning if isinstance(statement, UpdateStatement | Delete) else None
    if wish is None:
        return []
    row = result.after if wish.endswith("NEW") else result.before
    if row is None:
        return []
    if wish.startswith("ALL"):
        return [msgspec.Raw(row.content)]
    assert isinstance(statement, UpdateStatement), "DELETE returns all or nothing"
    part = project(rows.decode_item(row.content), Update(statement.actions).paths)
    return [part] if part else []
