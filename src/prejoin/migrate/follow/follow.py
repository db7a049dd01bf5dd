"""`follow_table`: the changes of the database as changes of the table, in order, until the application switches.

Each round opens a snapshot, reads the transactions of the log that the snapshot sees, and writes the rows that they
changed as the snapshot has them. Then the position in the log is recorded, and confirmed to the database. After a kill
at any point the next round repeats changes that are written already, which gives the same items. Decision 038 has the
argument.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from prejoin.migrate import codes
from prejoin.migrate.follow.affected_items import AffectedItems
from prejoin.migrate.follow.apply import Applier, ApplyResult
from prejoin.migrate.follow.log import LOAD_AGAIN, ChangeLog, LogPart
from prejoin.migrate.follow.logs import open_log
from prejoin.migrate.load.contents import LargeContents
from prejoin.migrate.load.load import opened_table, require_state
from prejoin.migrate.load.state import FOLDER, LoadState, now_text
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import PipelineError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.errors import TableError
from prejoin.transport.errors import TransportError

POLL = 0.5
"""The most seconds between two looks at a log without changes."""
_SHORTEST_POLL = 0.02
"""The seconds after the first look without changes. Each further one doubles them."""
PATIENCE = 300.0
"""Seconds to wait for a database or a table that does not respond."""
_LONGEST_PAUSE = 15.0


@dataclass(slots=True)
class FollowResult:
    """The result of following changes."""

    transactions: int = 0
    rows: int = 0
    """Rows that were read again and written, or deleted."""
    split: int = 0
    """Groups of rows of one transaction that were not written at once."""
    caught_up: bool = False
    """Whether the table is as the database was in the last round."""
    behind: int = 0
    """How much of the log is left: bytes, or rows of an outbox."""
    dead: int = 0
    dead_file: str = ""
    units: float = 0
    seconds: float = 0


def follow_table(
    migration: Migration,
    place: TablePlace,
    *,
    table: str | None = None,
    state: str | Path = FOLDER,
    rate: float | None = None,
    until_caught_up: bool = False,
    once: bool = False,
    stop: Callable[[], bool] = lambda: False,
    patience: float = PATIENCE,
    progress: Progress = SILENT,
) -> FollowResult:
    """Writes the changes of the database since its load began, until `stop` returns true.

    With `until_caught_up` it returns when the table is as the database was in the last round, with `once` after one
    round. A database or a table that does not respond is tried again for `patience` seconds. Another process can go on
    where this one ends.

    Raises a `PipelineError` if the load kept no changes or is not finished, or if changes are lost.
    """
    name = table or migration.table
    throttle = WriteThrottle(rate)
    result = FollowResult()
    began = time.monotonic()
    with LoadState(state) as kept:
        require_state(migration, kept, name, place)
        if not (kept.about("log") and kept.about("finished")):
            why = "the load is not finished" if kept.about("log") else "the load kept no changes"
            fix = "run `prejoin migrate load` to its end" if kept.about("log") else f"{LOAD_AGAIN}, which keeps them"
            raise PipelineError(codes.NO_CHANGES, f"there is nothing to follow: {why}", fix)
        with opened_table(migration, name, place, throttle) as client:
            touched = AffectedItems(migration)
            contents = LargeContents(client)
            run = _Follower(
                migration,
                open_log(migration, kept, touched.columns()),
                Applier(migration, touched, client, throttle, contents),
                kept,
                progress,
                result,
            )
            enough = (lambda: True) if once else (lambda: result.caught_up) if until_caught_up else stop
            with contents.run(kept):
                run.until(enough, patience)
        file = kept.write_dead_letters()
        result.dead, result.dead_file = sum(kept.dead_counts().values()), str(file) if file.exists() else ""
    result.units, result.seconds = throttle.units, time.monotonic() - began
    return result


class _Follower:
    def __init__(
        self,
        migration: Migration,
        log: ChangeLog,
        applier: Applier,
        state: LoadState,
        progress: Progress,
        result: FollowResult,
    ) -> None:
        self.migration = migration
        self.log = log
        self.applier = applier
        self.state = state
        self.progress = progress
        self.result = result

    def until(self, enough: Callable[[], bool], patience: float) -> None:
        self.progress.begin("following", "follow")
        fine, failures, pause = time.monotonic(), 0, _SHORTEST_POLL
        while True:
            try:
                moved = self.round()
                fine, failures = time.monotonic(), 0
            except (PipelineError, TransportError, DynamoDBError, TableError) as problem:
                if not _is_temporary(problem) or time.monotonic() - fine > patience:
                    raise
                failures += 1
                self.progress.update(f"waiting: {problem}")
                self.migration.source.engine.dispose()
                time.sleep(min(0.1 * 2**failures, _LONGEST_PAUSE))
                continue
            if enough():
                return
            if moved:
                pause = _SHORTEST_POLL
            else:
                time.sleep(pause)
                pause = min(POLL, 2 * pause)

    def round(self) -> bool:
        """One look at the log. Returns whether there was something."""
        position = self.state.about("position")
        seen_at = now_text()
        self.log.prepare(position)
        with self.migration.source.snapshot() as snapshot:
            part = self.log.read(snapshot, position)
            applied = self._apply(snapshot, part) if part.transactions else ApplyResult()
        if part.transactions or part.position != position:
            self.result.transactions += len(part.transactions)
            self.result.rows += applied.rows
            self.result.split += applied.split
            self.state.record_followed(part.position, applied.dead, applied.done)
            self.log.confirm(part.position)
        self.result.caught_up = part.whole
        self.result.behind = self.log.behind(part.position)
        if part.whole:
            self.state.say(caught_up=seen_at)
        self.progress.update(self._said(part))
        return bool(part.transactions)

    def _apply(self, snapshot: SourceSnapshot, part: LogPart) -> ApplyResult:
        # A unique value may be free by now. Streams tell that one row took it before they tell that another gave it up.
        refused = (d for d in self.state.dead_letters() if d.code == codes.NOT_UNIQUE.id)
        return self.applier.apply(snapshot, part.transactions, [(d.entity, d.key) for d in refused])

    def _said(self, part: LogPart) -> str:
        done = f"{self.result.transactions:,} transactions, {self.result.rows:,} rows"
        if part.whole:
            return f"{done}; caught up at {now_text()}"
        last = part.transactions[-1].committed if part.transactions else None
        left = [f"{self.result.behind:,} of the log"] if self.result.behind else []
        left += [f"{(datetime.now(UTC) - last).total_seconds():,.0f} s"] if last else []
        return f"{done}; behind: {', '.join(left) or 'more to read'}"


def _is_temporary(problem: Exception) -> bool:
    if isinstance(problem, PipelineError):
        return any(d.code == codes.UNREADABLE.id for d in problem.diagnostics)
    if isinstance(problem, DynamoDBError):
        return problem.code != "ResourceNotFoundException" and problem.code != "AccessDeniedException"
    return True
