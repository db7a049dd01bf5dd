"""Artifacts beside tables: backups, and descriptions of exports and imports.

Each is a row of the store's tables under a hidden name. The items of a backup lie under its id, as those of a table do.
"""

from __future__ import annotations

import secrets
import time
from typing import Any, ClassVar, Self

import msgspec

from prejoin.engine.items import rows
from prejoin.engine.items.copy import copy_items
from prejoin.engine.store.interface import HIDDEN_PREFIX, Session
from prejoin.engine.tables.definition import TableDefinition
from prejoin.protocol.key_bytes import under


class Artifact(msgspec.Struct, frozen=True):
    """The base of artifacts. The ARN ends with the kind and `id`, which begins with the time."""

    kind: ClassVar[str]
    arn: str

    @property
    def id(self) -> str:
        return self.arn.rpartition("/")[2]

    @classmethod
    def find(cls, session: Session, arn: str) -> Self | None:
        """The artifact with this ARN."""
        table, _, identity = arn.rpartition(f"/{cls.kind}/")
        version = session.table_version(_name(cls.kind, identity)) if table else None
        if version is None:
            return None
        artifact = msgspec.json.decode(session.table_definition(version[0]), type=cls)
        # The ARN has the name of a table, too, and that may be another one.
        return artifact if artifact.arn == arn else None

    @classmethod
    def all(cls, session: Session) -> list[Self]:
        """All of this kind, in the order of their ids: the oldest first, except within a millisecond."""
        names = session.hidden_names(f"{cls.kind}/")
        versions = [version for name in names if (version := session.table_version(name)) is not None]
        return [msgspec.json.decode(session.table_definition(number), type=cls) for number, _ in versions]

    def keep(self, session: Session) -> int:
        """Store it, and return its id in the store."""
        return session.add_table(_name(self.kind, self.id), msgspec.json.encode(self))


def _name(kind: str, identity: str) -> str:
    return f"{HIDDEN_PREFIX}{kind}/{identity}"


def new_id() -> str:
    """The last part of a new ARN: the time in milliseconds and a random number."""
    return f"{time.time_ns() // 1_000_000:014d}-{secrets.token_hex(4)}"


class Backup(Artifact, frozen=True):
    """A backup: the definition of a table, and its items."""

    kind: ClassVar[str] = "backup"
    name: str
    type: str
    """USER, or SYSTEM for that of a deleted table."""
    table: TableDefinition
    number: int
    """The number of items."""
    size: int
    created: float


def add_backup(session: Session, table: TableDefinition, name: str, kind: str) -> Backup:
    """Copy the items of a table into a new backup."""
    bounds = under(table.prefix)
    number, size = session.count("items", bounds)
    backup = Backup(f"{table.arn}/backup/{new_id()}", name, kind, table, number, size, time.time())
    # The backup is stored first, because its items lie under the id that it gets.
    copy_items(session.items(bounds), session, backup.keep(session))
    return backup


def backup_number(session: Session, backup: Backup) -> int:
    """The id under which the items of a backup lie."""
    version = session.table_version(_name(backup.kind, backup.id))
    assert version is not None, "the backup was found in this session"
    return version[0]


def remove_backup(session: Session, backup: Backup) -> None:
    number = backup_number(session, backup)
    rows.drop_all(session, number)
    session.remove_table(number)


class Transfer(Artifact, frozen=True):
    """An export or import that has ended: its description, as DescribeExport or DescribeImport returns it."""

    description: dict[str, Any]
    request: str = ""
    """The request in JSON, to recognise it if it is sent again."""


class Export(Transfer, frozen=True):
    kind: ClassVar[str] = "export"


class Import(Transfer, frozen=True):
    kind: ClassVar[str] = "import"
