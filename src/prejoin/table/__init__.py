"""The run time: typed entities on one table. Attributes in, objects out, no key strings in application code."""

from typing import TYPE_CHECKING, Any

from .calls import Call
from .changes import Changes
from .client import Client, Transaction
from .declare import Copy, Entity, Index, Key
from .draft import add, appended, if_absent, prepended
from .errors import (
    AlreadyExists,
    CodecError,
    ConditionFailed,
    Conflict,
    CursorError,
    NotFound,
    NotServed,
    NotUnique,
    SchemaError,
    TableError,
    TooMany,
    TransactionCancelled,
    Unanswered,
    UnknownAttribute,
    UnknownValue,
    Unprocessed,
    VersionConflict,
)
from .expressions import begins_with, between, contains, exists, of_type, one_of, size
from .get_together import Get
from .pages import Collection, Page
from .schema import Schema

if TYPE_CHECKING:
    from .async_client import AsyncClient, AsyncTransaction
    from .drift import Difference

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
    "Conflict",
    "Copy",
    "CursorError",
    "Difference",
    "Entity",
    "Get",
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
    "Unanswered",
    "UnknownAttribute",
    "UnknownValue",
    "Unprocessed",
    "VersionConflict",
    "add",
    "appended",
    "begins_with",
    "between",
    "contains",
    "exists",
    "if_absent",
    "of_type",
    "one_of",
    "prepended",
    "size",
]


def __getattr__(name: str) -> Any:
    # asyncio takes longer to import than everything else here: only those who await pay for it.
    if name in ("AsyncClient", "AsyncTransaction"):
        from . import async_client

        return getattr(async_client, name)
    if name == "Difference":
        from .drift import Difference

        return Difference
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
