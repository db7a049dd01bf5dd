"""ExecuteStatement, BatchExecuteStatement and ExecuteTransaction: PartiQL, on the code of other reads and writes."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.capacity import Capacities, Capacity
from prejoin.engine.items.keys import encode_key, storage_key
from prejoin.engine.items.read import PageQuery, key_range, lacks_attributes, read_page
from prejoin.engine.items.write import BoundWrite, PreparedWrite, WriteResult, bind, perform
from prejoin.engine.items.write_expressions import WriteExpressions
from prejoin.engine.operations.client_tokens import hashed_content, hashed_token
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.transactions import cancel_if_any, check_distinct, reason_of
from prejoin.engine.requests import (
    Attributes,
    BatchExecuteStatementInput,
    ExecuteStatementInput,
    ExecuteTransactionInput,
    StatementInput,
)
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.definition import IndexDefinition, KeySchema, TableDefinition
from prejoin.engine.validation import CAPACITY, Constraints, table_name
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.expressions import AttributeCondition, Condition, DocumentPath, Update, project
from prejoin.protocol.expressions.apply import compile_update
from prejoin.protocol.expressions.evaluate import compile_condition
from prejoin.protocol.expressions.nodes import And, Between, Compare, FunctionCall, Placeholder, Values
from prejoin.protocol.expressions.paths import read
from prejoin.protocol.expressions.reader import path_clash
from prejoin.protocol.key_bytes import Range, under
from prejoin.protocol.partiql import Delete, Exists, Insert, Select, Statement, UpdateStatement, parse_statement
from prejoin.protocol.prices import EVENTUAL, STRONG, TRANSACTIONAL, read_units
from prejoin.protocol.sizes import item_size
from prejoin.protocol.values import Item, canonical_item

_STATEMENT_LENGTH = 8192
_BATCH_STATEMENTS = 25
_WHOLE_KEY = "Where clause does not contain a mandatory equality on all key attributes"
_IN_TRANSACTION = "Validation failed in TransactStatements[{}]: "
_EXISTS = "EXISTS can only be used in ExecuteTransaction write requests."
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CODES = {
    "ValidationException": "ValidationError",
    "ResourceNotFoundException": "ResourceNotFound",
    "ConditionalCheckFailedException": "ConditionalCheckFailed",
    "DuplicateItemException": "DuplicateItem",
    "ProvisionedThroughputExceededException": "ProvisionedThroughputExceeded",
    "ThrottlingException": "ThrottlingError",
}
"""The codes of errors inside of a batch."""


class _Checked(msgspec.Struct, frozen=True):
    """A parsed statement, with the values of its literals and parameters."""

    statement: Statement
    values: Values
    consistent: bool = False
    show_on_failure: bool = False

    @property
    def reads(self) -> bool:
        return isinstance(self.statement, Select)


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
            response = _select(session, table, checked, request, capacity)
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
    parsed: list[_Checked | DynamoDBError] = []
    for each in statements:
        try:
            checked = _parsed(each)
            if isinstance(checked.statement, Exists):
                refuse(_EXISTS)
            parsed.append(checked)
        except DynamoDBError as error:
            parsed.append(error)
    reads = {checked.reads for checked in parsed if isinstance(checked, _Checked)}
    if len(reads) > 1:
        refuse("Read and write requests together in the same batch is not supported.")
    capacities = Capacities(request.return_consumed_capacity)
    with _session(database, reads=reads == {True}) as session:
        places = [place for checked in parsed if (place := _batched_place(database, session, checked)) is not None]
        if len(set(places)) < len(places):
            refuse("Provided list of item keys contains duplicates")
        responses = [_batched(database, session, checked, capacities) for checked in parsed]
    return {"Responses": responses} | capacities.render({})


def _batched_place(database: Database, session: Session, checked: _Checked | DynamoDBError) -> bytes | None:
    """The key bytes of the item of a statement; None if the statement will be refused."""
    if isinstance(checked, DynamoDBError):
        return None
    try:
        table = _table(database, session, checked.statement)
        if isinstance(checked.statement, Select):
            key, _ = _whole_key(table, checked.statement.where, checked.values)
            return None if key is None else encode_key(table, key)
        return _bound(table, checked).key
    except DynamoDBError:
        return None


def _batched(
    database: Database, session: Session, checked: _Checked | DynamoDBError, capacities: Capacities
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
        place, rest = _selected(table, checked, "BatchExecuteStatement")
        item = _single(session, place, rest, checked, capacities.of(table), factor)
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
                _selected(table, checked, "ExecuteTransaction", _IN_TRANSACTION.format(number))
                for number, (table, checked) in enumerate(zip(tables, parsed, strict=True))
            ]
            check_distinct({place for place, _ in found}, found)
            for table, checked, (place, rest) in zip(tables, parsed, found, strict=True):
                items.append(_single(session, place, rest, checked, capacities.of(table), TRANSACTIONAL))
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


def _all_bound(statements: list[tuple[TableDefinition, _Checked]]) -> list[BoundWrite]:
    """The writes of a transaction. A statement that does not fit its table cancels it."""
    writes: list[BoundWrite] = []
    reasons: list[dict[str, Any]] = []
    for number, (table, checked) in enumerate(statements):
        if isinstance(checked.statement, Exists):
            key, rest = _whole_key(table, checked.statement.select.where, checked.values)
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


def _constrain(constraints: Constraints, where: str, request: StatementInput) -> None:
    constraints.required(f"{where}statement", request.statement)
    if request.statement is not None and not 1 <= len(request.statement) <= _STATEMENT_LENGTH:
        bound = f"less than or equal to {_STATEMENT_LENGTH}" if request.statement else "greater than or equal to 1"
        constraints.fail(f"{where}statement", request.statement[:100], f"Member must have length {bound}")
    if request.parameters is not None and not request.parameters:
        constraints.fail(f"{where}parameters", "[]", "Member must have length greater than or equal to 1")
    wish = request.return_values_on_condition_check_failure
    constraints.one_of(f"{where}returnValuesOnConditionCheckFailure", wish, ("ALL_OLD", "NONE"))


def _constrain_list(
    constraints: Constraints, where: str, statements: Sequence[StatementInput] | None, most: int
) -> None:
    constraints.required(where, statements)
    if statements is not None and not 1 <= len(statements) <= most:
        bound = f"less than or equal to {most}" if statements else "greater than or equal to 1"
        constraints.fail(where, "[...]" if statements else "[]", f"Member must have length {bound}")
    for number, each in enumerate(statements or (), 1):
        _constrain(constraints, f"{where}.{number}.member.", each)


def _parsed(request: StatementInput) -> _Checked:
    statement, values = parse_statement(str(request.statement), request.parameters or [])
    shown = request.return_values_on_condition_check_failure == "ALL_OLD"
    return _Checked(statement, values, bool(request.consistent_read), shown)


def _name(statement: Statement) -> str:
    return statement.select.table if isinstance(statement, Exists) else statement.table


def _table(database: Database, session: Session, statement: Statement) -> TableDefinition:
    return database.catalog.find(session, table_name(_name(statement)))


def _parts(where: Condition | None) -> tuple[Condition, ...]:
    """The conditions that all have to hold."""
    if isinstance(where, And):
        return tuple(part for each in where.parts for part in _parts(each))
    return () if where is None else (where,)


def _all(parts: list[Condition]) -> Condition | None:
    return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else None


def _attribute_condition(part: Condition, values: Values) -> tuple[str, AttributeCondition] | None:
    """A condition on one attribute that a key can serve."""
    match part:
        case Compare(operator, DocumentPath((str(name),)), Placeholder(operand)) if operator != "<>":
            return name, AttributeCondition(operator, [values[operand]])
        case Compare(operator, Placeholder(operand), DocumentPath((str(name),))) if operator != "<>":
            return name, AttributeCondition(_MIRRORED[operator], [values[operand]])
        case Between(DocumentPath((str(name),)), Placeholder(low), Placeholder(high)):
            return name, AttributeCondition("BETWEEN", [values[low], values[high]])
        case FunctionCall("begins_with", (DocumentPath((str(name),)), Placeholder(operand))):
            return name, AttributeCondition("begins_with", [values[operand]])
    return None


def _split(
    where: Condition | None, values: Values, keys: KeySchema
) -> tuple[dict[str, AttributeCondition], list[Condition]]:
    """The conditions that the key serves, and the others. It serves none without all of its partition attributes."""
    found: dict[str, AttributeCondition] = {}
    rest: list[Condition] = []
    partition = {attribute.name for attribute in keys.partition}
    sort = keys.sort[0].name if keys.sort else None
    for part in _parts(where):
        served = _attribute_condition(part, values)
        name = None if served is None else served[0]
        if (
            served is not None
            and name not in found
            and ((name in partition and served[1].operator == "=") or name == sort)
        ):
            found[served[0]] = served[1]
        else:
            rest.append(part)
    if partition <= set(found):
        return found, rest
    return {}, list(_parts(where))


# --- Reads -----------------------------------------------------------------------------------------------------------


def _select(
    session: Session, table: TableDefinition, checked: _Checked, request: ExecuteStatementInput, capacity: Capacity
) -> dict[str, Any]:
    statement = checked.statement
    assert isinstance(statement, Select)
    index = None if statement.index is None else table.by_name.get(statement.index)
    if statement.index is not None and index is None:
        refuse("The table does not have the specified index")  # unlike Query, it is not named
    if index is not None and index.is_global and checked.consistent:
        refuse("Consistent reads are not supported on global secondary indexes")
    keys = table.keys if index is None else index.keys
    conditions, rest = _split(statement.where, checked.values, keys)
    forward = _is_forward(statement, keys, has_partition=bool(conditions))
    if conditions:
        bounds = key_range(table, index, conditions).bounds
    else:
        bounds = under(table.prefix if index is None else table.index_prefix(index))
    start = None if request.next_token is None else _position(table, index, request.next_token, bounds)
    columns = frozenset(str(path.steps[0]) for path in statement.columns or ())
    whole = lacks_attributes(table, index, columns)
    page = read_page(session, PageQuery(table, index, bounds, start, request.limit, forward, whole, sized=True))
    factor = STRONG if checked.consistent else EVENTUAL
    capacity.add(read_units(page.size, factor), index)
    for size in page.fetched_units:
        capacity.add(read_units(size, factor))
    test = None if not rest else compile_condition(_all(rest))  # type: ignore[arg-type]
    items = list(map(rows.decode_item, page.items))
    found = [item for item in items if test is None or test(item, checked.values)]
    response: dict[str, Any] = {"Items": [_columns(item, statement.columns) for item in found]}
    if page.more and not (conditions and index is None and not table.keys.sort):
        last = {name: items[-1][name] for name in table.position_names(index)}
        response["NextToken"] = b64encode(msgspec.json.encode(last)).decode()
    return response


def _is_forward(statement: Select, keys: KeySchema, *, has_partition: bool) -> bool:
    if not statement.order:
        return True
    if not has_partition:
        refuse("Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause.")
    for name, _ in statement.order:
        if name not in keys.names:
            refuse(f"Variable reference {name} in ORDER BY clause must be part of the primary key")
    descending = dict(statement.order)
    return not any(descending.get(attribute.name, False) for attribute in keys.sort)


def _position(table: TableDefinition, index: IndexDefinition | None, token: str, bounds: Range) -> bytes:
    """The key bytes after which to continue, within those that the statement reads."""
    try:
        start = canonical_item(msgspec.json.decode(b64decode(token, validate=True), type=Attributes))
        position = storage_key(table, start)
        place = position if index is None else table.entry_keys[index.number](start, position)
    except (ValueError, KeyError, AttributeError, msgspec.MsgspecError, DynamoDBError):
        place = None
    if place is None or place < bounds.low or (bounds.high is not None and place >= bounds.high):
        refuse("Invalid NextToken")
    return place


def _columns(item: Item, columns: tuple[DocumentPath, ...] | None) -> Item:
    """The selected attributes, each under the last name of its path."""
    if columns is None:
        return item
    found: Item = {}
    for path in columns:
        value = read(item, path.steps)
        if value is not None:
            found[_column_name(path)] = value
    return found


def _column_name(path: DocumentPath) -> str:
    """The name of a column: the last name of its path, with the positions behind it.

    >>> _column_name(DocumentPath(("a", "b", 0)))
    'b[0]'
    """
    name = ""
    for step in path.steps:
        name = f"{name}[{step}]" if isinstance(step, int) else step
    return name


def _selected(
    table: TableDefinition, checked: _Checked, operation: str, prefix: str = ""
) -> tuple[bytes, Condition | None]:
    """The place of the one item that a SELECT names by its key, and the rest of its condition."""
    statement = checked.statement
    assert isinstance(statement, Select)
    key, rest = _whole_key(table, statement.where, checked.values)
    if key is None or statement.index is not None:
        refuse(f"{prefix}Select statements within {operation} must specify the primary key in the where clause.")
    return encode_key(table, key), rest


def _single(
    session: Session, place: bytes, rest: Condition | None, checked: _Checked, capacity: Capacity, factor: float
) -> Item | None:
    """The item at a place, if it fulfils the rest of a SELECT's condition."""
    statement = checked.statement
    assert isinstance(statement, Select)
    row = session.get(place)
    capacity.add(read_units(row.size if row else 0, factor))
    if row is None:
        return None
    item = rows.decode_item(row.content)
    if rest is not None and not compile_condition(rest)(item, checked.values):
        return None
    return _columns(item, statement.columns)


# --- Writes ----------------------------------------------------------------------------------------------------------


def _whole_key(table: TableDefinition, where: Condition | None, values: Values) -> tuple[Item | None, Condition | None]:
    """The key of the one item that a condition selects, and the rest of the condition."""
    key: Item = {}
    rest: list[Condition] = []
    for part in _parts(where):
        served = _attribute_condition(part, values)
        if served is not None and served[0] in table.keys.names and served[1].operator == "=" and served[0] not in key:
            key[served[0]] = served[1].operands[0]
        else:
            rest.append(part)
    return (key if len(key) == len(table.keys.names) else None), _all(rest)


def _bound(table: TableDefinition, checked: _Checked) -> BoundWrite:
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
        key, rest = _whole_key(table, where, checked.values)
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
            condition = _all([exists, *_parts(rest)])
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
