"""Performs operations in bad weather: finds the weather of a request, changes the request, and shortens batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace as replace_field
from typing import Any, NoReturn, cast

from msgspec.structs import asdict, replace

from prejoin.engine.operations import OperationHandler
from prejoin.engine.operations.database import Database, ResponseBody
from prejoin.engine.operations.transactions import cancel_if_any, reason_of
from prejoin.engine.requests import (
    BatchExecuteStatementInput,
    BatchGetItemInput,
    BatchWriteItemInput,
    DeleteItemInput,
    ExecuteStatementInput,
    ExecuteTransactionInput,
    GetItemInput,
    PutItemInput,
    QueryInput,
    RequestShape,
    ScanInput,
    StatementInput,
    TransactGetItemsInput,
    TransactWriteItemsInput,
    UpdateItemInput,
)
from prejoin.engine.store.interface import Store
from prejoin.engine.validation import is_table_name, table_name
from prejoin.engine.weather.conditions import Conditions
from prejoin.engine.weather.session import InterruptedItemError, RequestFacts, WeatheredStore
from prejoin.engine.weather.weather import Weather
from prejoin.protocol.errors import DynamoDBError
from prejoin.protocol.partiql import Exists, Select, Statement, parse_statement
from prejoin.protocol.prices import EVENTUAL, STRONG, TRANSACTIONAL

_SINGLE_WRITES = (PutItemInput, UpdateItemInput, DeleteItemInput)
_PAGES = (QueryInput, ScanInput, ExecuteStatementInput)
_BATCHES = (BatchWriteItemInput, BatchGetItemInput)
_TRANSACTIONS = (TransactWriteItemsInput, TransactGetItemsInput, ExecuteTransactionInput)
_READS = (GetItemInput, QueryInput, ScanInput, BatchGetItemInput, TransactGetItemsInput)
_STATEMENTS = (ExecuteStatementInput, BatchExecuteStatementInput, ExecuteTransactionInput)
_ABOUT_ITEMS = (*_SINGLE_WRITES, *_PAGES, *_BATCHES, *_TRANSACTIONS, *_READS, *_STATEMENTS)
_NONE = {"Code": "None"}


class WeatherFront:
    """Performs operations in bad weather. The weather that was begun last counts for a table."""

    def __init__(self, database: Database, on_change: Callable[[bool], None]) -> None:
        """`on_change` is told whether there is any weather."""
        self._database, self._on_change = database, on_change
        self._weathers: list[Weather] = []

    def start(self, conditions: Conditions, clock: Callable[[], float] = time.monotonic) -> Weather:
        weather = Weather(conditions, self._stop, clock)
        self._weathers.append(weather)
        self._on_change(True)
        return weather

    def _stop(self, weather: Weather) -> None:
        self._weathers = [each for each in self._weathers if each is not weather]
        self._on_change(bool(self._weathers))

    def replace_all(self, conditions: Iterable[Conditions]) -> None:
        """End all weather, and start another."""
        for weather in self._weathers:
            weather.stop()
        for each in conditions:
            self.start(each)

    def catch_up(self) -> None:
        for weather in self._weathers:
            weather.catch_up()

    def describe(self) -> list[dict[str, Any]]:
        """The conditions of all weather, and how often each kind of fault happened."""
        return [{**asdict(weather.conditions), "happened": dict(weather.happened)} for weather in self._weathers]

    def weather_of(self, table: str) -> Weather | None:
        return next((weather for weather in reversed(self._weathers) if weather.covers(table)), None)

    def perform(self, operation: str, handler: OperationHandler[Any], request: Any) -> ResponseBody:
        """Perform a decoded request. Raise DynamoDBError, or ConnectionResetError if the response is lost."""
        here = list(dict.fromkeys(filter(None, map(self.weather_of, tables_of(request)))))
        for weather in here:
            if seconds := weather.delay(operation):
                time.sleep(seconds)
            if error := weather.error(operation):
                raise error
        if here and isinstance(request, _ABOUT_ITEMS):
            response = self._in_weather(handler, request, here)
        else:
            response = self._run(handler, request, self._database)
        if any(weather.loses(operation) for weather in here):
            raise ConnectionResetError(f"the response to {operation} is lost; it was performed")
        return response

    def _run(self, handler: OperationHandler[Any], request: Any, database: Database) -> ResponseBody:
        run = self._database.store.write if handler.writes else self._database.store.read
        return run(handler.perform, database, request)

    def _in_weather(self, handler: OperationHandler[Any], request: Any, here: list[Weather]) -> ResponseBody:
        pages = [weather.conditions.page_items for weather in here if weather.conditions.page_items is not None]
        if pages and isinstance(request, _PAGES):
            request = replace(request, limit=min([*pages, request.limit or pages[0]]))
        if isinstance(request, _BATCHES):
            return self._batch(handler, request, here)
        count = _actions(request)
        conflicts = [at for weather in here if (at := weather.conflicts_at(count)) is not None]
        try:
            return self._attempt(handler, request, conflicts[0] if conflicts else None)
        except InterruptedItemError as error:
            if isinstance(request, TransactGetItemsInput):
                _cancel(error, count)
            raise error.plain() from None

    def _attempt(self, handler: OperationHandler[Any], request: Any, conflict_at: int | None = None) -> ResponseBody:
        facts = _facts(request, self.weather_of, conflict_at)
        weathered = cast("Store", WeatheredStore(self._database.store, self._database.catalog, facts))
        return self._run(handler, request, replace_field(self._database, store=weathered))

    def _batch(
        self, handler: OperationHandler[Any], request: BatchWriteItemInput | BatchGetItemInput, here: list[Weather]
    ) -> ResponseBody:
        """Perform a batch. Throttled items are not processed; if that is all of them, the request fails."""
        entries = _entries(request)
        left = {at for weather in here for at in weather.skips(len(entries))}
        while True:
            rest = [at for at in range(len(entries)) if at not in left]
            try:
                response = self._attempt(handler, _part(request, [entries[at] for at in rest]))
                break
            except InterruptedItemError as error:
                left.add(rest[error.position])
                if len(left) == len(entries):
                    raise error.plain() from None
        if left and isinstance(response, dict):
            member = "UnprocessedItems" if isinstance(request, BatchWriteItemInput) else "UnprocessedKeys"
            missing = _part(request, [entries[at] for at in sorted(left)]).request_items
            response = {**response, member: _joined(missing, response[member])}
        return response


def _cancel(error: InterruptedItemError, actions: int) -> NoReturn:
    """Raise the cancellation of a transaction because of one action."""
    reasons: list[dict[str, Any]] = [_NONE] * actions
    reasons[error.position] = reason_of(error)
    cancel_if_any(reasons)
    raise AssertionError("there is a reason")


def _actions(request: RequestShape) -> int:
    """The number of actions that may meet a transaction."""
    if isinstance(request, TransactWriteItemsInput | TransactGetItemsInput):
        return len(request.transact_items or ())
    if isinstance(request, ExecuteTransactionInput):
        return len(request.transact_statements or ())
    return int(isinstance(request, _SINGLE_WRITES))


def _facts(request: RequestShape, weather_of: Callable[[str], Weather | None], conflict_at: int | None) -> RequestFacts:
    statements = _statements(request)
    reads = isinstance(request, _READS) or any(isinstance(_parsed(each), Select) for each in statements)
    transactional = isinstance(request, _TRANSACTIONS)
    shared = TRANSACTIONAL if transactional else EVENTUAL

    def factor_of(table: str) -> float:
        if isinstance(request, BatchGetItemInput):
            wishes = [wish for name, wish in (request.request_items or {}).items() if table_name(name) == table]
        else:
            wishes = statements or [request]  # type: ignore[assignment]
        return STRONG if any(getattr(wish, "consistent_read", None) for wish in wishes) else shared

    named = not transactional and not isinstance(request, BatchExecuteStatementInput)
    return RequestFacts(reads, weather_of, factor_of, transactional, named, conflict_at)


def tables_of(request: Any) -> list[str]:
    """The names of the tables of a request. Invalid ones are left out: the operation refuses them."""
    if isinstance(request, _BATCHES):
        names: list[Any] = list(request.request_items or {})
    elif isinstance(request, TransactWriteItemsInput):
        names = [
            action.table_name
            for member in request.transact_items or ()
            for action in (member.put, member.update, member.delete, member.condition_check)
            if action is not None
        ]
    elif isinstance(request, TransactGetItemsInput):
        names = [member.get.table_name for member in request.transact_items or () if member.get is not None]
    elif statements := _statements(request):
        names = [_table(parsed) for each in statements if (parsed := _parsed(each)) is not None]
    else:
        names = [getattr(request, "table_name", None)]
    return [table_name(name) for name in names if isinstance(name, str) and is_table_name(name)]


def _statements(request: Any) -> list[StatementInput]:
    if isinstance(request, ExecuteStatementInput):
        return [request]
    if isinstance(request, BatchExecuteStatementInput):
        return request.statements or []
    return (request.transact_statements or []) if isinstance(request, ExecuteTransactionInput) else []


def _parsed(request: StatementInput) -> Statement | None:
    try:
        return parse_statement(request.statement or "", request.parameters or [])[0]
    except DynamoDBError:
        return None


def _table(statement: Statement) -> str:
    return statement.select.table if isinstance(statement, Exists) else statement.table


# --- Batches ---------------------------------------------------------------------------------------------------------

_Entry = tuple[str, Any]
"""An item of a batch: the table as the request names it, and the write or the key."""


def _entries(request: BatchWriteItemInput | BatchGetItemInput) -> list[_Entry]:
    """The items in the order in which they are processed."""
    if isinstance(request, BatchWriteItemInput):
        return [(name, wish) for name, wishes in (request.request_items or {}).items() for wish in wishes]
    return [(name, key) for name, wish in (request.request_items or {}).items() for key in wish.keys or ()]


def _part(request: Any, entries: list[_Entry]) -> Any:
    """The same request with some of its items."""
    if len(entries) == len(_entries(request)):
        return request
    chosen: dict[str, list[Any]] = {}
    for name, entry in entries:
        chosen.setdefault(name, []).append(entry)
    if isinstance(request, BatchWriteItemInput):
        return replace(request, request_items=chosen)
    wishes = request.request_items or {}
    return replace(request, request_items={name: replace(wishes[name], keys=keys) for name, keys in chosen.items()})


def _joined(withheld: dict[str, Any], unprocessed: dict[str, Any]) -> dict[str, Any]:
    """The unprocessed items of both. The engine itself leaves only keys that did not fit into the response."""
    joined = dict(withheld)
    for name, wish in unprocessed.items():
        if name in joined:
            joined[name] = {**wish, "Keys": [*wish["Keys"], *(joined[name].keys or ())]}
        else:
            joined[name] = wish
    return joined
