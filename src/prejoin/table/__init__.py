"""The run time: typed entities on one table. Attributes in, objects out, no key strings in application code."""

from typing import TYPE_CHECKING, Any

from .calls import Call
from .client import Client, Transaction
from .core import Collection, Page
from .declare import Copy, Entity, Index, Key
from .errors import (
    AlreadyExists,
    CodecError,
    ConditionFailed,
    CursorError,
    NotFound,
    NotServed,
    NotUnique,
    SchemaError,
    TableError,
    TooMany,
    TransactionCancelled,
    UnknownAttribute,
    UnknownValue,
)
from .expressions import add, begins_with, between, contains, exists, one_of
from .schema import Schema
from .writes import Changes

if TYPE_CHECKING:
    from .async_client import AsyncClient, AsyncTransaction

__all__ = [
    "AlreadyExists",
    "AsyncClient",
    "AsyncTransaction",
    "Call",
    "Changes",
    "Client",
    "CodecError",
    "Collection",
    "ConditionFailed",
    "Copy",
    "CursorError",
    "Entity",
    "Index",
    "Key",
    "NotFound",
    "NotServed",
    "NotUnique",
    "Page",
    "Schema",
    "SchemaError",
    "TableError",
    "TooMany",
    "Transaction",
    "TransactionCancelled",
    "UnknownAttribute",
    "UnknownValue",
    "add",
    "begins_with",
    "between",
    "contains",
    "exists",
    "one_of",
]


def __getattr__(name: str) -> Any:
    # asyncio takes longer to import than everything else here: only those who await pay for it.
    if name in ("AsyncClient", "AsyncTransaction"):
        from . import async_client

        return getattr(async_client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
