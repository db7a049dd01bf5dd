"""A relational database as frozen data: tables, columns, keys, and figures about the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prejoin.types import STRING, Type


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type = STRING
    sql_type: str = ""
    nullable: bool = True
    numbered: bool = False
    """Whether the database generates it: auto-increment, serial, identity."""
    size: int | None = None
    """Bytes of an average value."""
    guess: str = ""
    """Why the type is a guess; empty if the database declares it."""
    conversion: str = ""
    """The form of the stored values, if it is not that of the type: `epoch`, `epoch-ms`, `array`."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fanout:
    """How many rows refer to the same parent, over parents that have any."""

    median: int
    p99: int
    largest: int


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[Column, ...] = ()
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    rows: int = 0
    estimated: bool = False
    """Whether `rows` is the estimate of the database's own statistics."""
    row_size: int | None = None
    """Bytes of an average row."""
    fanouts: Mapping[tuple[str, ...], Fanout] = field(default_factory=dict)
    """For each foreign key, by its columns."""

    def column(self, name: str) -> Column | None:
        folded = name.lower()
        return next((column for column in self.columns if column.name.lower() == folded), None)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row: the primary key, or unique columns that are never NULL; else empty."""
        if self.primary_key:
            return self.primary_key
        required = {column.name for column in self.columns if not column.nullable}
        candidates = [columns for columns in self.unique if required.issuperset(columns)]
        return min(candidates, key=len, default=())

    @property
    def is_link(self) -> bool:
        """Whether it is the table between the two of an N:N: its key consists of two foreign keys."""
        key = set(self.key)
        parts = [set(fk.columns) for fk in self.foreign_keys if key.issuperset(fk.columns)]
        return len(parts) == 2 and set.union(*parts) == key


@dataclass(frozen=True, slots=True)
class Database:
    dialect: str
    """`sqlite`, `postgresql` or `mysql`."""
    name: str
    tables: tuple[Table, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Tables that are not read, with the reason."""

    def table(self, name: str) -> Table | None:
        folded = name.lower()
        return next((table for table in self.tables if table.name.lower() == folded), None)
