"""The fault matrix: every item operation under every fault of `proxy`, and the law that holds for all of them.

A cell is one call with one fault: by threads or by asyncio, over HTTP, TLS 1.2, TLS 1.3 or a CONNECT tunnel, on a new
connection or on a kept one. The engine behind the proxy counts what was applied, and the law compares:

- A write that is not harmless twice is applied at most once.
- What was reported as a success was applied. What was reported as not done was not.
- All else is OutcomeUnknown, or AnswerLost for a read. No other exception is raised.
- A read returns the right data or raises. No call hangs. The client is usable afterwards.

`cells()` is the whole matrix, `run(seconds, seed)` tries random cells for as long as it is told.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import random
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from prejoin import (
    AlreadyExists,
    AsyncClient,
    Changes,
    Client,
    Entity,
    Key,
    Schema,
    TransactionCancelled,
    once,
    receipts,
)
from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import (
    AnswerLost,
    ConnectionFailed,
    Credentials,
    Endpoint,
    NotConfigured,
    OutcomeUnknown,
    Retries,
)

from .proxy import FAULTS, Fault, FaultProxy, Identity, make_identity
from .result import Result

TABLE = "faults"
QUIET = "quiet"
"""A table that nobody writes to while cells run: it is the same for all that read it whole."""
DRIVERS = ("sync", "async")
SCHEMES = ("http", "tls1.2", "tls1.3", "tunnel")
THEN = ("well", "same", "refused")
"""What the attempts after the fault get: a good answer, the same fault, or nobody who listens."""

HANG = 20.0
"""Seconds after which a call counts as hanging; with these settings none takes more than one or two."""
_TIMEOUT = 0.25
_RETRIES = Retries(attempts=3, base=0.001, longest=0.005)
_KEYS = Credentials("AKIDEXAMPLE", "secret")
_LARGE = "x" * 350_000


@dataclass(frozen=True)
class Cell:
    operation: str
    fault: str
    then: str
    driver: str
    scheme: str
    warm: bool
    """Whether the connection has answered a request before."""

    def __str__(self) -> str:
        connection = "warm" if self.warm else "cold"
        return f"{self.operation} / {self.fault}, then {self.then} / {self.driver} {self.scheme} {connection}"


# --- Operations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Account:
    account_id: str
    n: int = 0


SCHEMA = Schema(Entity(Account, Key("{account_id}", "ACCOUNT")), receipts())


@dataclass(frozen=True)
class Operation:
    """A call of the transport: what is sent for the item `key`, and whether twice is once."""

    name: str
    body: Callable[[str], dict[str, Any]]
    read: bool = False
    repeatable: bool = False
    """The client may send it again when the answer was lost, and so it may be applied more often than once."""
    counter: bool = False
    """Each time that it takes effect adds 1 to `n`."""


def _key(key: str) -> dict[str, Any]:
    return {"pk": {"S": key}, "sk": {"S": "ACCOUNT"}}


def _increment(key: str) -> dict[str, Any]:
    return {"Key": _key(key), "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}


def _transaction(key: str) -> dict[str, Any]:
    return {
        "TransactItems": [
            {"Update": {"TableName": TABLE, **_increment(key)}},
            {"Put": {"TableName": TABLE, "Item": _key(f"{key}/other")}},
        ]
    }


def _insert(key: str, **more: Any) -> dict[str, Any]:
    item = {**_key(f"{key}/new"), **more}
    return {"Item": item, "ConditionExpression": "attribute_not_exists(pk)"}


def _batch(key: str, value: str) -> dict[str, Any]:
    puts = [{"PutRequest": {"Item": {**_key(f"{key}/{at}"), "v": {"S": value}}}} for at in range(3)]
    return {"RequestItems": {TABLE: puts}}


def _query(key: str) -> dict[str, Any]:
    return {
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": key}},
        "ConsistentRead": True,
    }


def _create(key: str) -> dict[str, Any]:
    return {
        "TableName": key,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    }


OPERATIONS: dict[str, Operation] = {
    "GetItem": Operation("GetItem", lambda key: {"Key": _key(key), "ConsistentRead": True}, read=True),
    "Query": Operation("Query", _query, read=True),
    "Scan": Operation("Scan", lambda key: {"TableName": QUIET, "ConsistentRead": True}, read=True),
    "DescribeTable": Operation("DescribeTable", lambda key: {"TableName": QUIET}, read=True),
    "BatchGetItem": Operation(
        "BatchGetItem", lambda key: {"RequestItems": {TABLE: {"Keys": [_key(key)], "ConsistentRead": True}}}, read=True
    ),
    "TransactGetItems": Operation(
        "TransactGetItems", lambda key: {"TransactItems": [{"Get": {"TableName": TABLE, "Key": _key(key)}}]}, read=True
    ),
    "CreateTable": Operation("CreateTable", _create),
    "PutItem": Operation("PutItem", lambda key: {"Item": {**_key(key), "v": {"S": "new"}}}, repeatable=True),
    "PutItem conditional": Operation("PutItem", _insert),
    "PutItem conditional, large": Operation("PutItem", lambda key: _insert(key, v={"S": _LARGE})),
    "PutItem with ALL_OLD": Operation("PutItem", lambda key: {"Item": _key(key), "ReturnValues": "ALL_OLD"}),
    "UpdateItem increment": Operation("UpdateItem", _increment, counter=True),
    "UpdateItem set": Operation(
        "UpdateItem",
        lambda key: {
            "Key": _key(key),
            "UpdateExpression": "SET v = :v",
            "ExpressionAttributeValues": {":v": {"S": "new"}},
        },
        repeatable=True,
    ),
    "DeleteItem": Operation("DeleteItem", lambda key: {"Key": _key(key)}, repeatable=True),
    "DeleteItem conditional": Operation(
        "DeleteItem", lambda key: {"Key": _key(key), "ConditionExpression": "attribute_exists(pk)"}
    ),
    "BatchWriteItem": Operation("BatchWriteItem", lambda key: _batch(key, "new"), repeatable=True),
    "BatchWriteItem, large": Operation("BatchWriteItem", lambda key: _batch(key, _LARGE[:60_000]), repeatable=True),
    "TransactWriteItems": Operation("TransactWriteItems", _transaction, counter=True),
    "TransactWriteItems with token": Operation(
        "TransactWriteItems", lambda key: {**_transaction(key), "ClientRequestToken": key}, counter=True
    ),
}
CLIENT_CALLS = ("insert", "increment", "transaction", "once")
"""Calls of `Client` and `AsyncClient`, which repeat some requests by themselves."""
_TABLELESS = frozenset({"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"})


def request(operation: Operation, key: str) -> tuple[str, bytes]:
    body = operation.body(key)
    if operation.name not in _TABLELESS:
        body = {"TableName": TABLE, **body}
    return operation.name, json.dumps(body).encode()


# --- The matrix -----------------------------------------------------------------------------------------------------


def cells(*, drivers: Iterable[str] = DRIVERS, schemes: Iterable[str] = SCHEMES) -> Iterator[Cell]:
    """The whole matrix, in a fixed order. What comes after the fault takes turns."""
    then = itertools.cycle(THEN)
    for driver, scheme, fault, operation, warm in itertools.product(
        drivers, schemes, FAULTS.values(), (*OPERATIONS, *CLIENT_CALLS), (False, True)
    ):
        if not (warm and fault.at_accept):  # a kept connection was accepted long ago
            yield Cell(operation, fault.name, next(then), driver, scheme, warm)


def run(seconds: float, seed: int) -> Result:
    """Tries random cells for so many seconds; at least one. Needs the `openssl` command."""
    chosen = random.Random(seed)
    everything = list(cells())
    end = time.monotonic() + seconds
    tries, findings = 0, []
    with Matrix() as matrix:
        while not tries or time.monotonic() < end:
            some = chosen.sample(everything, 32)
            found = matrix.check(Cell(**{**vars(cell), "then": chosen.choice(THEN)}) for cell in some)
            tries += len(some)
            findings += found
    return Result(tries, findings)


@dataclass
class Tally:
    """How often cells ended in which way, to see that a matrix is not vacuous."""

    outcomes: dict[str, int] = field(default_factory=dict)
    injected: dict[str, int] = field(default_factory=dict)


class Matrix:
    """Runs cells, several at a time, on one engine."""

    def __init__(self, identity: Identity | None = None, threads: int = 8) -> None:
        self._identity = identity or _identity()
        self._threads = ThreadPoolExecutor(threads)
        self._engine = Embedded()
        self._numbers = itertools.count(1)
        self.tally = Tally()
        Client(SCHEMA, TABLE, self._engine).create_table()
        quiet = Client(SCHEMA, QUIET, self._engine)
        quiet.create_table()
        quiet.put(Account("one"))

    def __enter__(self) -> Matrix:
        # Python leaves a socket to the garbage collector where the peer resets it, or connecting is cancelled, in the
        # instant before a TLS handshake. Under load that happens, and is no finding.
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore", ResourceWarning)
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._engine.close()
        gc.collect()
        self._warnings.__exit__(None, None, None)

    def check(self, some: Iterable[Cell]) -> list[str]:
        """Runs cells; a sentence for each that breaks the law."""
        running = [(cell, self._threads.submit(self._one, cell)) for cell in some]
        findings: list[str] = []
        for cell, future in running:
            try:
                findings += [f"{cell}: {finding}" for finding in future.result(HANG)]
            except TimeoutError:
                findings.append(f"{cell}: the call hangs")
            except Exception as error:
                findings.append(f"{cell}: {type(error).__name__}: {error}")
        return findings

    def _one(self, cell: Cell) -> list[str]:
        key = f"item-{next(self._numbers)}"
        Client(SCHEMA, TABLE, self._engine).put(Account(key))
        context = None if cell.scheme == "http" else self._identity.server["1.2" if cell.scheme == "tls1.2" else "1.3"]
        with FaultProxy(self._engine, context, cell.scheme == "tunnel") as proxy:
            trial = Trial(cell, key, proxy, self._engine)
            endpoint = Endpoint(
                proxy.url,
                timeout=_TIMEOUT,
                connect_timeout=_TIMEOUT,
                retries=_RETRIES,
                credentials=_KEYS,
                ssl_context=self._identity.client,
                proxy=f"http://127.0.0.1:{proxy.port}" if cell.scheme == "tunnel" else False,
            )
            if cell.driver == "sync":
                with endpoint:
                    trial.run(endpoint)
            else:
                asyncio.run(trial.run_async(endpoint))
        outcomes, injected = self.tally.outcomes, self.tally.injected
        outcomes[trial.kind] = outcomes.get(trial.kind, 0) + 1
        injected[cell.fault] = injected.get(cell.fault, 0) + (1 if trial.injected else 0)
        return trial.findings


# --- One cell -------------------------------------------------------------------------------------------------------


class Trial:
    """One call through the proxy, and what is wrong with how it ended."""

    def __init__(self, cell: Cell, key: str, proxy: FaultProxy, engine: Embedded) -> None:
        self._cell = cell
        self._key = key
        self._proxy = proxy
        self._engine = engine
        self._operation = OPERATIONS.get(cell.operation)
        self._expected = b""
        self.kind = ""
        """How the call ended: `ok` or the name of the exception."""
        self.injected = False
        self.findings: list[str] = []

    def run(self, endpoint: Endpoint) -> None:
        if self._cell.warm:
            endpoint.send("ListTables", b"{}")
        self._begin()
        told: object
        try:
            told = self._call(endpoint)
        except Exception as error:
            told = error
        self._judge(told)
        try:
            after: object = endpoint.send(*request(OPERATIONS["GetItem"], "usable"))
        except Exception as error:
            after = error
        self._usable(after)
        self._repeat()

    async def run_async(self, endpoint: Endpoint) -> None:
        async with endpoint:
            if self._cell.warm:
                await endpoint.send_async("ListTables", b"{}")
            self._begin()
            told: object
            try:
                told = await self._call_async(endpoint)
            except Exception as error:
                told = error
            self._judge(told)
            try:
                after: object = await endpoint.send_async(*request(OPERATIONS["GetItem"], "usable"))
            except Exception as error:
                after = error
            self._usable(after)
            self._repeat()

    def _call(self, endpoint: Endpoint) -> object:
        if self._operation is not None:
            return endpoint.send(*request(self._operation, self._key))
        db = Client(SCHEMA, TABLE, endpoint)
        match self._cell.operation:
            case "insert":
                db.insert(Account(f"{self._key}/new"))
            case "increment":
                db.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
            case "transaction":
                with db.transaction() as tx:
                    tx.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
                    tx.put(Account(f"{self._key}/other"))
            case _:
                with once(db, self._key) as done:
                    done.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
        return None

    async def _call_async(self, endpoint: Endpoint) -> object:
        if self._operation is not None:
            return await endpoint.send_async(*request(self._operation, self._key))
        db = AsyncClient(SCHEMA, TABLE, endpoint)
        match self._cell.operation:
            case "insert":
                await db.insert(Account(f"{self._key}/new"))
            case "increment":
                await db.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
            case "transaction":
                async with db.transaction() as tx:
                    tx.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
                    tx.put(Account(f"{self._key}/other"))
            case _:
                async with once(db, self._key) as done:
                    done.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
        return None

    def _begin(self) -> None:
        if self._operation is not None and self._operation.read:
            self._expected = self._engine.send(*request(self._operation, self._key))
        self._proxy.applied.clear()
        fault = FAULTS[self._cell.fault]
        if self._cell.then == "refused":
            fault = Fault(fault.name, self._refusing(fault), fault.at_accept)
        self._proxy.play([fault] * (9 if self._cell.then == "same" else 1))

    def _refusing(self, fault: Fault) -> Callable[..., None]:
        """The fault, and from then on nobody listens."""

        def inject(exchange: Any) -> None:
            self._proxy.refuse()
            fault(exchange)

        return inject

    def _judge(self, told: object) -> None:
        self.injected = self._proxy.injected > 0
        self._proxy.settle()
        if self._cell.then == "refused" and self.injected:
            self._proxy.accept()
        self.kind = type(told).__name__ if isinstance(told, Exception) else "ok"
        if self._operation is not None and self._operation.read:
            self._judge_read(told)
        else:
            self._judge_write(told)

    def _judge_read(self, told: object) -> None:
        if isinstance(told, bytes):
            self._law(json.loads(told) == json.loads(self._expected), f"the answer is {told!r}")
        else:
            right = isinstance(told, ConnectionFailed | AnswerLost | DynamoDBError | NotConfigured)
            self._law(right and not isinstance(told, OutcomeUnknown), f"a read raised {told!r}")

    def _judge_write(self, told: object) -> None:
        applied = self._applied()
        if not (self._operation is not None and self._operation.repeatable):
            self._law(applied <= 1, f"applied {applied} times, reported as {told!r}")
        if not isinstance(told, Exception):
            self._law(applied >= 1, "reported as a success, and not applied")
        elif isinstance(told, ConnectionFailed | DynamoDBError | NotConfigured):
            self._law(applied == 0, f"applied, and reported as not done: {told!r}")
        elif isinstance(told, AlreadyExists | TransactionCancelled):
            self._law(False, f"refused, and nobody else has written: {told!r}, applied {applied} times")
        else:
            self._law(isinstance(told, OutcomeUnknown), f"a write raised {told!r}")

    def _applied(self) -> int:
        """How often the call took effect."""
        if (self._operation is None and self._cell.operation != "insert") or (
            self._operation is not None and self._operation.counter
        ):
            found = json.loads(self._engine.send(*request(OPERATIONS["GetItem"], self._key)))
            return int(found["Item"]["n"]["N"])
        name = self._operation.name if self._operation is not None else "PutItem"
        return sum(one.operation == name for one in self._proxy.applied)

    def _usable(self, after: object) -> None:
        self._law(after == b"{}", f"the client is not usable afterwards: {after!r}")

    def _repeat(self) -> None:
        """A call of `once` that is repeated, as its guide says, has then been done exactly once."""
        if self._cell.operation == "once":
            with once(Client(SCHEMA, TABLE, self._engine), self._key) as done:
                done.apply(Account, Changes(adds={"n": 1}), account_id=self._key)
            self._law(self._applied() == 1, f"done {self._applied()} times after a repeat")

    def _law(self, holds: bool, finding: str) -> None:
        if not holds:
            self.findings.append(finding)


@cache
def _identity() -> Identity:
    with tempfile.TemporaryDirectory() as folder:
        return make_identity(Path(folder))


def broken(found: Sequence[str]) -> str:
    """Findings as the message of a failing test."""
    return "\n".join([f"{len(found)} cells break the law:", *found[:20]])
