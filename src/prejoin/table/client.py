"""The clients: a schema bound to a table and a transport, which hold the conversations that the core describes."""

from __future__ import annotations

from types import TracebackType
from typing import Any, TypeVar, cast

import msgspec

from prejoin.protocol.errors import DynamoDBError
from prejoin.transport import Transport

from .calls import Call, Observer
from .conversation import Request, Steps, read_json
from .core import write_all
from .definition import create_table
from .reading import Reader
from .schema import Schema
from .writes import Write
from .writing import Gathered, Writer

R = TypeVar("R")

METERED = frozenset(
    {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan"}
    | {"BatchGetItem", "BatchWriteItem", "TransactGetItems", "TransactWriteItems"}
)
"""The operations that say what they consume."""

_encode = msgspec.json.Encoder().encode


class Transaction(Gathered):
    """Writes that are done together or not at all, when the `with` ends."""

    def __init__(self, client: Client, token: str | None) -> None:
        super().__init__(client.schema, client.table, token)
        self._client = client

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._client._run(self._steps())


class Client(Reader, Writer):
    """Typed access to one table.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin.table import Entity, Key
    >>> @dataclass
    ... class User:
    ...     user_id: str
    ...     name: str
    >>> db = Client(Schema(Entity(User, Key("USER#{user_id}", "PROFILE"))), "shop", Embedded())
    >>> db.create_table()
    >>> db.insert(User("42", "Alice"))
    >>> with db.update(User, user_id="42") as user:
    ...     user.name = "Alicia"
    >>> db.get(User, user_id="42")
    User(user_id='42', name='Alicia')
    """

    def __init__(self, schema: Schema, table: str, transport: Transport, *, observe: Observer | None = None) -> None:
        self.schema = schema
        self.table = table
        self._transport = transport
        self._observe = observe

    def create_table(self) -> None:
        """Creates the table with its indexes."""
        self._send(Request("CreateTable", create_table(self.schema, self.table)))

    def transaction(self, token: str | None = None) -> Transaction:
        """Writes in one transaction: `with db.transaction() as tx: tx.insert(…)`. A token makes it safe to repeat."""
        return Transaction(self, token)

    def _write(self, write: Write) -> None:
        self._run(write_all(self.schema, self.table, [write]))

    def _run(self, steps: Steps[R]) -> R:
        """Holds a conversation of the core: sends each request, hands back the answer or the error."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = self._send(request) if isinstance(request, Request) else tuple(map(self._send, request))
                except DynamoDBError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as stop:
            return cast("R", stop.value)

    def _send(self, request: Request) -> Any:
        if self._observe:
            return observed(request, self._transport.send(*measured(request)), self._observe)
        return request.read(self._transport.send(request.operation, _encode(request.body)))


def measured(request: Request) -> tuple[str, bytes]:
    """A request that asks for the units it consumes, if it consumes any."""
    body = request.body
    if request.operation in METERED:
        body = {**body, "ReturnConsumedCapacity": "TOTAL"}
    return request.operation, _encode(body)


def observed(request: Request, answer: bytes, observe: Observer) -> Any:
    observe(Call(request.operation, request.body, read_json(answer), request.key))
    return request.read(answer)
