"""The run time: typed entities on one table. Attributes in, objects out, no key strings in application code."""

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

__all__ = [
    "AlreadyExists",
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
