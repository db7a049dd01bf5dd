"""Performs operations in bad weather: finds the weather of a request, changes the request, and shortens batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace as replace_field
from itertools import chain
from typing import Any, NoReturn, cast

from msgspec.structs import asdict, astuple, replace

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
_NO_REASON = {"Code": "None"}


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
        self._weathers = [other for other in self._weathers if other is not weather]
        self._on_change(bool(self._weathers))

    def replace_all(self, conditions: Iterable[Conditions]) -> None:
        """End all weather, and start another."""
        for weather in self._weathers:
            weather.stop()
        for condition in conditions:
            self.start(condition)

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
        weathers = list(dict.fromkeys(filter(None, map(self.weather_of, tables_of(request)))))
        for weather in weathers:
            # Delays and errors come before the operation, a lost response after it.
            if seconds := weather.delay(operation):
                time.sleep(seconds)
            if error := weather.error(operation):
                raise error
        if weathers and isinstance(request, _ABOUT_ITEMS):
            response = self._in_weather(handler, request, weathers)
        else:
            response = self._run(handler, request, self._database)
        if any(weather.loses(operation) for weather in weathers):
            raise ConnectionResetError(f"the response to {operation} is lost; it was performed")
        return response

    def _run(self, handler: OperationHandler[Any], request: Any, database: Database) -> ResponseBody:
        run = self._database.store.write if handler.writes else self._database.store.read
        return run(handler.perform, database, request)

    def _in_weather(self, handler: OperationHandler[Any], request: Any, weathers: list[Weather]) -> ResponseBody:
        # A request may be about tables in different weather. The smallest page of all counts.
        pages = [weather.conditions.page_items for weather in weathers if weather.conditions.page_items is not None]
        if pages and isinstance(request, _PAGES):
            request = replace(request, limit=min([*pages, request.limit or pages[0]]))
        if isinstance(request, _BATCHES):
            return self._batch(handler, request, weathers)
        count = _count_actions(request)
        conflicts = [position for weather in weathers if (position := weather.conflicts_at(count)) is not None]
        try:
            return self._attempt(handler, request, conflicts[0] if conflicts else None)
        except InterruptedItemError as error:
            # Reads of a transaction have no place that collects reasons, as writes have, so the transaction is
            # cancelled here.
            if isinstance(request, TransactGetItemsInput):
                _cancel(error, count)
            raise error.plain() from None

    def _attempt(self, handler: OperationHandler[Any], request: Any, conflict_at: int | None = None) -> ResponseBody:
        facts = _facts(request, self.weather_of, conflict_at)
        weathered_store = cast("Store", WeatheredStore(self._database.store, self._database.catalog, facts))
        return self._run(handler, request, replace_field(self._database, store=weathered_store))

    def _batch(
        self, handler: OperationHandler[Any], request: BatchWriteItemInput | BatchGetItemInput, weathers: list[Weather]
    ) -> ResponseBody:
        """Perform a batch. Throttled items are not processed; if that is all of them, the request fails."""
        entries = _entries(request)
        withheld = set(chain.from_iterable(weather.skips(len(entries)) for weather in weathers))
        while True:
            remaining = [position for position in range(len(entries)) if position not in withheld]
            try:
                response = self._attempt(
                    handler, _select_entries(request, [entries[position] for position in remaining])
                )
                break
            except InterruptedItemError as error:
                withheld.add(remaining[error.position])
                # The batch was rolled back as a whole, and is performed again without this item.
                if len(withheld) == len(entries):
                    raise error.plain() from None
        if withheld and isinstance(response, dict):
            member = "UnprocessedItems" if isinstance(request, BatchWriteItemInput) else "UnprocessedKeys"
            withheld_items = _select_entries(
                request, [entries[position] for position in sorted(withheld)]
            ).request_items
            response = {**response, member: _combine(withheld_items, response[member])}
        return response


def _cancel(error: InterruptedItemError, actions: int) -> NoReturn:
    """Raise the cancellation of a transaction because of one action."""
    reasons: list[dict[str, Any]] = [_NO_REASON] * actions
    reasons[error.position] = reason_of(error)
    cancel_if_any(reasons)
    raise AssertionError("there is a reason")


def _count_actions(request: RequestShape) -> int:
    """The number of actions that may meet a transaction."""
    if isinstance(request, TransactWriteItemsInput | TransactGetItemsInput):
        return len(request.transact_items or ())
    if isinstance(request, ExecuteTransactionInput):
        return len(request.transact_statements or ())
    return int(isinstance(request, _SINGLE_WRITES))


def _facts(request: RequestShape, weather_of: Callable[[str], Weather | None], conflict_at: int | None) -> RequestFacts:
    statements = _statements(request)
    reads = isinstance(request, _READS) or any(
        isinstance(_parse_or_none(statement), Select) for statement in statements
    )
    transactional = isinstance(request, _TRANSACTIONS)
    usual_factor = TRANSACTIONAL if transactional else EVENTUAL

    def factor_of(table: str) -> float:
        if isinstance(request, BatchGetItemInput):
            members = [member for name, member in (request.request_items or {}).items() if table_name(name) == table]
        else:
            members = statements or [request]  # type: ignore[assignment]
        return STRONG if any(getattr(member, "consistent_read", None) for member in members) else usual_factor

    has_reasons = not transactional and not isinstance(request, BatchExecuteStatementInput)
    return RequestFacts(reads, weather_of, factor_of, transactional, has_reasons, conflict_at)


def tables_of(request: Any) -> list[str]:
    """The names of the tables of a request. Invalid ones are left out: the operation refuses them."""
    return [table_name(name) for name in _names_in_request(request) if isinstance(name, str) and is_table_name(name)]


def _names_in_request(request: Any) -> list[Any]:
    """What a request has in the place of the names of its tables."""
    if isinstance(request, _BATCHES):
        return list(request.request_items or {})
    if isinstance(request, TransactWriteItemsInput | TransactGetItemsInput):
        actions = chain.from_iterable(map(astuple, request.transact_items or ()))
        return [action.table_name for action in actions if action is not None]
    if not isinstance(request, _STATEMENTS):
        return [getattr(request, "table_name", None)]
    # The names are in the texts. One that cannot be parsed has none, and is refused when it is performed.
    statements = map(_parse_or_none, _statements(request))
    return [_table(statement) for statement in statements if statement is not None]


def _statements(request: Any) -> list[StatementInput]:
    if isinstance(request, ExecuteStatementInput):
        return [request]
    if isinstance(request, BatchExecuteStatementInput):
        return request.statements or []
    return (request.transact_statements or []) if isinstance(request, ExecuteTransactionInput) else []


def _parse_or_none(request: StatementInput) -> Statement | None:
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
        return [(name, write) for name, writes in (request.request_items or {}).items() for write in writes]
    return [(name, key) for name, get in (request.request_items or {}).items() for key in get.keys or ()]


def _select_entries(request: Any, entries: list[_Entry]) -> Any:
    """The same request with some of its items."""
    if len(entries) == len(_entries(request)):
        return request
    entries_by_table: dict[str, list[Any]] = {}
    for name, entry in entries:
        entries_by_table.setdefault(name, []).append(entry)
    if isinstance(request, BatchWriteItemInput):
        return replace(request, request_items=entries_by_table)
    gets = request.request_items or {}
    return replace(
        request, request_items={name: replace(gets[name], keys=keys) for name, keys in entries_by_table.items()}
    )


def _combine(withheld: dict[str, Any], unprocessed: dict[str, Any]) -> dict[str, Any]:
    """The unprocessed items of both. The engine itself leaves only keys that did not fit into the response."""
    combined = dict(withheld)
    for name, content in unprocessed.items():
        if name in combined:
            combined[name] = {**content, "Keys": [*content["Keys"], *(combined[name].keys or ())]}
        else:
            combined[name] = content
    return combined
