"""The embedded DynamoDB as a transport: `send(operation, body) -> bytes`, and nothing but DynamoDB errors."""

from __future__ import annotations

import os
import sqlite3
from types import TracebackType

import msgspec

from prejoin.engine.catalog import Catalog
from prejoin.engine.decoding import decode
from prejoin.engine.operations import OPERATIONS, Engine
from prejoin.engine.store import Durability, Store
from prejoin.protocol.errors import DynamoDBError

_encode = msgspec.json.Encoder().encode


class Embedded:
    """A DynamoDB in this process: in memory, or in a file that threads and processes may share.

    `durability` names what survives: "memory" nothing, "normal" (the default of a file) the death of the process at
    any point, "full" also the loss of power.

    >>> with Embedded() as dynamodb:
    ...     dynamodb.send("ListTables", b"{}")
    b'{"TableNames":[]}'
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, durability: Durability | None = None) -> None:
        if durability is None:
            durability = "memory" if path is None else "normal"
        if durability not in ("memory", "normal", "full"):
            raise ValueError(f'durability is "memory", "normal" or "full", not {durability!r}')
        if (path is None) != (durability == "memory"):
            raise ValueError(
                f'durability "{durability}" needs a path' if path is None else 'durability "memory" has no path'
            )
        self._engine = Engine(Store(path, durability), Catalog())

    def send(self, operation: str, body: bytes) -> bytes:
        """Perform one operation; raise DynamoDBError for whatever DynamoDB would answer with an error."""
        handler = OPERATIONS.get(operation)
        if handler is None:
            raise DynamoDBError("UnknownOperationException")
        try:
            return _encode(handler.perform(self._engine, decode(handler.decoder, body)))
        except DynamoDBError:
            raise
        except sqlite3.Error as error:
            raise DynamoDBError("InternalServerError", f"The store failed: {error}") from error
        except RecursionError as error:
            raise DynamoDBError("ValidationException", "The request is nested too deeply") from error
        except Exception as error:
            # A mistake of ours. Callers are promised nothing but DynamoDB errors; the cause stays attached.
            raise DynamoDBError("InternalServerError", f"The engine failed: {error!r}") from error

    def close(self) -> None:
        """Release the file; the engine answers nothing after this."""
        self._engine.store.close()

    def __enter__(self) -> Embedded:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
