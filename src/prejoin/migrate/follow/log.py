"""The log of a database, as the follower sees it: transactions in order, each with the rows that it changed.

A log names rows; it does not deliver their values. The follower reads the rows themselves in a snapshot that sees all
transactions it was given, with the SELECT of the load. So joins, embedded children, expressions and conversions are
those of the load, for every kind of log.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prejoin.migrate import codes
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.pipeline.errors import PipelineError

LIMIT = 5_000
"""Changed rows that are read from a log at a time. A transaction is never divided."""
LOAD_AGAIN = "load again: `prejoin migrate load --follow --restart --force`"


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row that was inserted, updated or deleted: the values of those columns that identify items and parents."""

    table: str
    """As the mapping names it."""
    images: tuple[Mapping[str, Any], ...] = ()
    """The row before, after, or both. Empty if the whole table was emptied."""


@dataclass(frozen=True, slots=True)
class SourceTransaction:
    position: str
    """Where the log continues after it."""
    changes: tuple[RowChange, ...]
    committed: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogPart:
    """A part of a log."""

    transactions: tuple[SourceTransaction, ...]
    whole: bool
    """Whether the snapshot sees nothing beyond these transactions."""
    position: str
    """Where the log continues. Beyond the last transaction, if only other tables were changed."""


class ChangeLog(ABC):
    """Where the changes of a database are read from."""

    created: tuple[str, ...] = ()
    """The objects that `begin` creates in the database."""

    @abstractmethod
    def begin(self) -> str:
        """Begins to keep changes, and returns the position. Later snapshots contain all changes before it.

        Calling it again changes nothing. Raises a `PipelineError` if the database does not allow it.
        """

    @abstractmethod
    def require(self) -> None:
        """Raises a `PipelineError` if what `begin` created is gone: changes since then are lost."""

    def prepare(self, after: str) -> None:  # noqa: B027 - most logs have nothing to do
        """Is called before each snapshot. A log whose source is read from a copy brings the copy up to date here."""

    @abstractmethod
    def read(self, snapshot: SourceSnapshot, after: str, limit: int = LIMIT) -> LogPart:
        """The transactions after a position that the snapshot sees."""

    @abstractmethod
    def confirm(self, position: str) -> None:
        """Allows the database to forget the changes up to a position."""

    @abstractmethod
    def behind(self, position: str) -> int:
        """How much the log has grown since a position: bytes, or rows of an outbox. 0 if the log does not tell."""

    @abstractmethod
    def end(self) -> None:
        """Removes what `begin` created. It is no error if it is not there."""


def changes_lost(message: str) -> PipelineError:
    """The error for changes that the source does not keep any more."""
    return PipelineError(codes.LOG_LOST, message, LOAD_AGAIN)


Columns = Mapping[str, Sequence[str]]
"""By table of the mapping, the columns whose values the follower needs from the log."""
