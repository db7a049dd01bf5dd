"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: PartiQL, on the code of other reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacities, Capacity
from prejoin.engine.items.keys import encode_key
from prejoin.engine.items.write import BoundWrite, PreparedWrite, WriteOutcome, bind, perform
from prejoin.engine.items.write_expressions import WriteExpressions
from prejoin.engine.operations.client_tokens import content_digest, token_digest
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
_KEY_REQUIRED = "Where clause does not contain a mandatory equality on all key attributes"
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
    _constrain_statement(constraints, "", request)
    constraints.at_least("limit", request.limit, 1)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    command = _check_statement(request)
    capacities = Capacities(request.return_consumed_capacity)
    if isinstance(command.statement, Exists):
        refuse(_EXISTS)
    with _open_session(database, reads=command.reads) as session:
        table = _table(database, session, command.statement)
        capacity = capacities.of(table)
        if isinstance(command.statement, Select):
            response = select(session, table, command, request, capacity)
        else:
            result = _write_item(session, _bind_statement(table, command), capacity)
            response = {"Items": _returning_items(command.statement, result)}
    # The response about one statement has one ConsumedCapacity, not a list of them.
    rendered_capacities = capacities.render({}).get("ConsumedCapacity")
    return response | ({"ConsumedCapacity": rendered_capacities[0]} if rendered_capacities else {})


def _open_session(database: Database, *, reads: bool) -> AbstractContextManager[Session]:
    """A session of the store: one for writing only if something may be written."""
    return database.store.reading(snapshot=True) if reads else database.store.writing()


def batch_execute_statement(database: Database, request: BatchExecuteStatementInput) -> dict[str, Any]:
    statements = request.statements or []
    constraints = Constraints()
    _constrain_statements(constraints, "statements", request.statements, _BATCH_STATEMENTS)
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    outcomes: list[CheckedStatement | DynamoDBError] = []
    for statement_request in statements:
        try:
            command = _check_statement(statement_request)
            if isinstance(command.statement, Exists):
                refuse(_EXISTS)
            outcomes.append(command)
        except DynamoDBError as error:
            outcomes.append(error)
    reads = {command.reads for command in outcomes if isinstance(command, CheckedStatement)}
    if len(reads) > 1:
        refuse("Read and write requests together in the same batch is not supported.")
    capacities = Capacities(request.return_consumed_capacity)
    with _open_session(database, reads=reads == {True}) as session:
        # Two statements about one item refuse the whole batch, before any is executed.
        places = [place for outcome in outcomes if (place := _place_in_batch(database, session, outcome)) is not None]
        if len(set(places)) < len(places):
            refuse("Provided list of item keys contains duplicates")
        responses = [_run_batch_statement(database, session, outcome, capacities) for outcome in outcomes]
    return {"Responses": responses} | capacities.render({})


def _place_in_batch(database: Database, session: Session, outcome: CheckedStatement | DynamoDBError) -> bytes | None:
    """The key bytes of the item of a statement; None if the statement will be refused."""
    if isinstance(outcome, DynamoDBError):
        return None
    try:
        table = _table(database, session, outcome.statement)
        if isinstance(outcome.statement, Select):
            key, _ = whole_key(table, outcome.statement.where, outcome.values)
            return None if key is None else encode_key(table, key)
        return _bind_statement(table, outcome).key
    except DynamoDBError:
        return None


def _run_batch_statement(
    database: Database, session: Session, outcome: CheckedStatement | DynamoDBError, capacities: Capacities
) -> dict[str, Any]:
    """The response of one statement of a batch. An error of one does not keep the others from being executed."""
    name: dict[str, Any] = {}
    try:
        if isinstance(outcome, DynamoDBError):
            raise outcome
        name = {"TableName": _name(outcome.statement)}
        table = _table(database, session, outcome.statement)
        if not isinstance(outcome.statement, Select):
            result = _write_item(session, _bind_statement(table, outcome), capacities.of(table))
            items = _returning_items(outcome.statement, result)
            return name | ({"Item": items[0]} if items else {})
        factor = STRONG if outcome.consistent else EVENTUAL
        place, residual = selected_place(table, outcome, "BatchExecuteStatement")
        item = read_single(session, place, residual, outcome, capacities.of(table), factor)
        return name | ({} if item is None else {"Item": item})
    except DynamoDBError as error:
        # An error of the engine itself, such as a file that is locked, fails the whole batch.
        if error.code not in _CODES:
            raise
        return name | {"Error": {"Code": _CODES[error.code], "Message": error.message, **error.fields}}


def execute_transaction(database: Database, request: ExecuteTransactionInput) -> dict[str, Any]:
    commands = _check_transaction(request)
    capacities = Capacities(request.return_consumed_capacity)
    if commands[0].reads:
        return _read_transaction(database, commands, capacities)
    return _write_transaction(database, request, commands, capacities)


def _check_transaction(request: ExecuteTransactionInput) -> list[CheckedStatement]:
    """Check a transaction as far as possible without its tables. All of its statements read, or all write.

    DynamoDB reports all violated constraints first, then a statement that cannot be parsed, then reads among writes,
    and only then what a single statement may not have in a transaction.
    """
    constraints = Constraints()
    _constrain_statements(constraints, "transactStatements", request.transact_statements, limits.TRANSACTION_ACTIONS)
    token = request.client_request_token
    if token is not None and not 1 <= len(token) <= limits.CLIENT_TOKEN_LENGTH:
        bound = "less than or equal to 36" if token else "greater than or equal to 1"
        constraints.fail("clientRequestToken", token, f"Member must have length {bound}")
    constraints.one_of("returnConsumedCapacity", request.return_consumed_capacity, CAPACITY)
    constraints.finish()
    commands = [_check_statement(statement_request) for statement_request in request.transact_statements or ()]
    if len({command.reads for command in commands}) > 1:
        refuse("ExecuteTransaction API does not support both read and write operations in the same request.")
    for number, command in enumerate(commands):
        statement = command.statement
        if isinstance(statement, UpdateStatement | Delete) and statement.returning is not None:
            refuse(f"{_IN_TRANSACTION.format(number)}RETURNING clause is not supported in ExecuteTransaction.")
        if isinstance(statement, Select) and statement.index is not None:
            refuse(f"{_IN_TRANSACTION.format(number)}Reads on indices are not supported within transactions.")
    return commands


def _read_transaction(database: Database, commands: list[CheckedStatement], capacities: Capacities) -> dict[str, Any]:
    """Perform the SELECTs of a transaction, each of one item. An empty response is that of a missing item."""
    responses: list[dict[str, Any]] = []
    with database.store.reading(snapshot=True) as session:
        tables = [_table(database, session, command.statement) for command in commands]
        places = [
            selected_place(table, command, "ExecuteTransaction", _IN_TRANSACTION.format(number))
            for number, (table, command) in enumerate(zip(tables, commands, strict=True))
        ]
        check_distinct({place for place, _ in places}, places)
        for table, command, (place, residual) in zip(tables, commands, places, strict=True):
            item = read_single(session, place, residual, command, capacities.of(table), TRANSACTIONAL)
            responses.append({} if item is None else {"Item": item})
    return {"Responses": responses} | capacities.render({}, kind="Read")


def _write_transaction(
    database: Database, request: ExecuteTransactionInput, commands: list[CheckedStatement], capacities: Capacities
) -> dict[str, Any]:
    """Perform the writes of a transaction, once for a ClientRequestToken."""
    token = None if request.client_request_token is None else token_digest(request.client_request_token)
    digest = b"" if token is None else content_digest(request.transact_statements)
    with database.store.writing() as session:
        if token is not None and (response := database.tokens.find_response(session, token, digest)) is not None:
            return response
        writes = _bind_statements([(_table(database, session, command.statement), command) for command in commands])
        check_distinct({write.key for write in writes}, writes)
        _perform_writes(session, writes, capacities)
        response = {"Responses": []} | capacities.render({}, kind="Write")
        if token is not None:
            database.tokens.remember(session, token, digest, response)
    return response


def _bind_statements(statements: list[tuple[TableDefinition, CheckedStatement]]) -> list[BoundWrite]:
    """The writes of a transaction. A statement that does not fit its table cancels it."""
    writes: list[BoundWrite] = []
    reasons: list[dict[str, Any]] = []
    for number, (table, command) in enumerate(statements):
        if isinstance(command.statement, Exists):
            key, residual = whole_key(table, command.statement.select.where, command.values)
            if key is None or residual is None:
                prefix = _IN_TRANSACTION.format(number)
                refuse(f"{prefix}EXISTS() must contain a single item read with additional condition")
        try:
            writes.append(_bind_statement(table, command))
            reasons.append({"Code": "None"})
        except DynamoDBError as error:
            reasons.append(reason_of(error))
    cancel_if_any(reasons)
    return writes


def _perform_writes(session: Session, writes: list[BoundWrite], capacities: Capacities) -> None:
    """Perform the writes of a transaction, or cancel it."""
    reasons: list[dict[str, Any]] = []
    for write in writes:
        try:
            _write_item(session, write, capacities.of(write.table), transactional=True)
            reasons.append({"Code": "None"})
        except DynamoDBError as error:
            reasons.append(reason_of(error))
    cancel_if_any(reasons)


# --- Statements ------------------------------------------------------------------------------------------------------


def _constrain_statement(constraints: Constraints, member: str, request: StatementInput) -> None:
    constraints.require(f"{member}statement", request.statement)
    if request.statement is not None and not 1 <= len(request.statement) <= _STATEMENT_LENGTH:
        bound = f"less than or equal to {_STATEMENT_LENGTH}" if request.statement else "greater than or equal to 1"
        constraints.fail(f"{member}statement", request.statement[:100], f"Member must have length {bound}")
    if request.parameters is not None and not request.parameters:
        constraints.fail(f"{member}parameters", "[]", "Member must have length greater than or equal to 1")
    return_values = request.return_values_on_condition_check_failure
    constraints.one_of(f"{member}returnValuesOnConditionCheckFailure", return_values, ("ALL_OLD", "NONE"))


def _constrain_statements(
    constraints: Constraints, member: str, statements: Sequence[StatementInput] | None, limit: int
) -> None:
    constraints.require(member, statements)
    if statements is not None and not 1 <= len(statements) <= limit:
        bound = f"less than or equal to {limit}" if statements else "greater than or equal to 1"
        constraints.fail(member, "[...]" if statements else "[]", f"Member must have length {bound}")
    for number, statement in enumerate(statements or (), 1):
        _constrain_statement(constraints, f"{member}.{number}.member.", statement)


def _check_statement(request: StatementInput) -> CheckedStatement:
    statement, values = parse_statement(str(request.statement), request.parameters or [])
    show_on_failure = request.return_values_on_condition_check_failure == "ALL_OLD"
    return CheckedStatement(statement, values, bool(request.consistent_read), show_on_failure)


def _name(statement: Statement) -> str:
    return statement.select.table if isinstance(statement, Exists) else statement.table


def _table(database: Database, session: Session, statement: Statement) -> TableDefinition:
    return database.catalog.find(session, table_name(_name(statement)))


# --- Writes ----------------------------------------------------------------------------------------------------------


def _bind_statement(table: TableDefinition, command: CheckedStatement) -> BoundWrite:
    """A statement as a write of its table."""
    statement, name = command.statement, table.keys.partition[0].name
    exists = FunctionCall("attribute_exists", (DocumentPath((name,)),))
    kind, update, size = "put", None, 0
    condition: Condition | None
    if isinstance(statement, Insert):
        content, size = statement.item, item_size(statement.item)
        if size > limits.ITEM_SIZE:
            refuse("Item size has exceeded the maximum allowed size")
        condition = FunctionCall("attribute_not_exists", exists.arguments)
    else:
        selection = statement.select.where if isinstance(statement, Exists) else statement.where
        key, residual = whole_key(table, selection, command.values)
        if key is None:
            # A statement writes one item, so its condition has to have the whole key.
            refuse(_KEY_REQUIRED)
        content, condition = key, residual
        kind = "delete"
        if isinstance(statement, UpdateStatement):
            kind, update = "update", Update(statement.actions)
            if clash := path_clash(list(update.paths)):
                refuse(clash)
        elif isinstance(statement, Exists):
            kind = "check"
        if kind != "delete":
            # Unlike UpdateItem, UPDATE creates no item.
            condition = all_of([exists, *parts_of(residual)])
    expressions = WriteExpressions(
        None if condition is None else compile_condition(condition),
        None if update is None else compile_update(update),
        update,
    )
    write = PreparedWrite(kind, table.name, content, size, expressions, command.values, command.show_on_failure)
    return bind(write, table)


def _write_item(
    session: Session, write: BoundWrite, capacity: Capacity, *, transactional: bool = False
) -> WriteOutcome:
    try:
        return perform(session, write, capacity, transactional=transactional)
    except DynamoDBError as error:
        # An INSERT is a put on the condition that there is no such item. A failed one has an error of its own.
        if write.prepared.kind == "put" and error.code == "ConditionalCheckFailedException":
            raise DynamoDBError("DuplicateItemException", "Duplicate primary key exists in table") from None
        raise


def _returning_items(statement: Statement, result: WriteOutcome) -> list[Any]:
    """The items that RETURNING asks for."""
    return_values = statement.returning if isinstance(statement, UpdateStatement | Delete) else None
    if return_values is None:
        return []
    row = result.after if return_values.endswith("NEW") else result.before
    if row is None:
        return []
    if return_values.startswith("ALL"):
        return [msgspec.Raw(row.content)]
    assert isinstance(statement, UpdateStatement), "DELETE returns all or nothing"
    part = project(rows.decode_item(row.content), Update(statement.actions).paths)
    return [part] if part else []
