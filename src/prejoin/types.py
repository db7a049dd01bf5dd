"""Attribute types, shared by the design side and the run side."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """The kinds of attribute types, as documents, schemas and messages name them."""

    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    BINARY = "binary"
    DATE = "date"
    DATETIME = "datetime"
    UUID = "uuid"
    ULID = "ulid"
    LIST = "list"
    MAP = "map"
    SET = "set"
    ENUM = "enum"
    CONTENT = "content"
    """Bytes or text of any size, kept beside the item. The item has its size, checksum and place."""


SCALARS = frozenset(Kind) - {Kind.LIST, Kind.MAP, Kind.SET, Kind.CONTENT}
"""Kinds that can be part of a key."""

NUMERIC = frozenset({Kind.NUMBER, Kind.INTEGER, Kind.DECIMAL})
"""Kinds that DynamoDB stores as N."""


class Type(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The type of an attribute.

    >>> str(Type(Kind.SET, of=Type(Kind.STRING)))
    'set of string'
    >>> str(Type(Kind.ENUM, values=("PENDING", "SHIPPED")))
    'PENDING | SHIPPED'
    """

    kind: Kind
    of: Type | None = None
    """The type of the elements of a list or a set; None if not declared."""
    values: tuple[str, ...] = ()
    """The members of an enum. An enum with one member is a constant."""

    @property
    def scalar(self) -> bool:
        return self.kind in SCALARS

    @property
    def numeric(self) -> bool:
        return self.kind in NUMERIC

    def __str__(self) -> str:
        if self.kind is Kind.ENUM:
            return " | ".join(self.values)
        return f"{self.kind} of {self.of}" if self.of else str(self.kind)


STRING = Type(Kind.STRING)
