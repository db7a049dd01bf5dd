"""The client: typed entities on one DynamoDB table. Attributes in, objects out, no key strings in application code."""

from typing import TYPE_CHECKING, Any

from prejoin.table.client.client import Client
from prejoin.table.schema.declare import Entity, Index, Key
from prejoin.table.schema.schema import Schema

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

if TYPE_CHECKING:
    from prejoin.table.admin.drift import Difference
    from prejoin.table.client.async_client import AsyncClient, AsyncTransaction
    from prejoin.table.client.observe import Call
    from prejoin.table.client.transaction import Transaction
    from prejoin.table.condition.record import begins_with, between, contains, exists, of_type, one_of, size
    from prejoin.table.read.cursor import begun
    from prejoin.table.read.decode import Unreadable
    from prejoin.table.read.page import Collection, Page
    from prejoin.table.read.signed_cursor import EncryptedCursors, SignedCursors
    from prejoin.table.read.transact_get import Get
    from prejoin.table.update.changes import Changes
    from prejoin.table.update.draft import add, appended, if_absent, prepended

    from .ids import ulid

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

# Imported at first use, because a cold start needs none of it.
_HOMES = {
    "read.decode": ("Unreadable",),
    "client.async_client": ("AsyncClient", "AsyncTransaction"),
    "client.observe": ("Call",),
    "update.changes": ("Changes",),
    "read.cursor": ("begun",),
    "update.draft": ("add", "appended", "if_absent", "prepended"),
    "admin.drift": ("Difference",),
    "condition.record": ("begins_with", "between", "contains", "exists", "of_type", "one_of", "size"),
    "read.transact_get": ("Get",),
    "ids": ("ulid",),
    "read.page": ("Collection", "Page"),
    "read.signed_cursor": ("EncryptedCursors", "SignedCursors"),
    "client.transaction": ("Transaction",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
