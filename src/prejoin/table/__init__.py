"""The run time: typed entities on one table. Attributes in, objects out, no key strings in application code."""

from typing import TYPE_CHECKING, Any

from .client import Client
from .declare import Entity, Index, Key
from .errors import (
    AlreadyExists,
    ArgumentError,
    CodecError,
    ConditionFailed,
    Conflict,
    CursorError,
    Failure,
    ItemTooLarge,
    NoSuchTable,
    NotAValue,
    NotFound,
    NotServed,
    NotUnique,
    OtherTenant,
    PartlyWritten,
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
from .schema import Schema

if TYPE_CHECKING:
    from .answers import Unreadable
    from .async_client import AsyncClient, AsyncTransaction
    from .calls import Call
    from .changes import Changes
    from .cursor import begun
    from .draft import add, appended, if_absent, prepended
    from .drift import Difference
    from .expressions import begins_with, between, contains, exists, of_type, one_of, size
    from .get_together import Get
    from .ids import ulid
    from .pages import Collection, Page
    from .signed_cursors import EncryptedCursors, SignedCursors
    from .transactions import Transaction

__all__ = [
    "AlreadyExists",
    "ArgumentError",
    "AsyncClient",
    "AsyncTransaction",
    "Call",
    "Changes",
    "Client",
    "CodecError",
    "Collection",
    "ConditionFailed",
    "Conflict",
    "CursorError",
    "Difference",
    "EncryptedCursors",
    "Entity",
    "Failure",
    "Get",
    "Index",
    "ItemTooLarge",
    "Key",
    "NoSuchTable",
    "NotAValue",
    "NotFound",
    "NotServed",
    "NotUnique",
    "OtherTenant",
    "Page",
    "PartlyWritten",
    "Schema",
    "SchemaError",
    "SignedCursors",
    "TableError",
    "TooMany",
    "Transaction",
    "TransactionCancelled",
    "Unanswered",
    "UnknownAttribute",
    "UnknownValue",
    "Unprocessed",
    "Unreadable",
    "VersionConflict",
    "add",
    "appended",
    "begins_with",
    "begun",
    "between",
    "contains",
    "exists",
    "if_absent",
    "of_type",
    "one_of",
    "prepended",
    "size",
    "ulid",
]

# A cold start is for the user to wait for: what only some programs use is imported by those that do.
_HOMES = {
    "answers": ("Unreadable",),
    "async_client": ("AsyncClient", "AsyncTransaction"),
    "calls": ("Call",),
    "changes": ("Changes",),
    "cursor": ("begun",),
    "draft": ("add", "appended", "if_absent", "prepended"),
    "drift": ("Difference",),
    "expressions": ("begins_with", "between", "contains", "exists", "of_type", "one_of", "size"),
    "get_together": ("Get",),
    "ids": ("ulid",),
    "pages": ("Collection", "Page"),
    "signed_cursors": ("EncryptedCursors", "SignedCursors"),
    "transactions": ("Transaction",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
