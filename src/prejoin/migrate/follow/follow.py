"""`follow_table`: the changes of the database as changes of the table, in order, until the application switches.

Each round opens a snapshot, reads the transactions of the log that the snapshot sees, and writes the rows that they
changed as the snapshot has them. Then the position in the log is recorded, and confirmed to the database. After a kill
at any point the next round repeats changes that are written already, which gives the same items. Decision 038 in
`docs/decisions/migration.md` has the argument.
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
    start = time.monotonic()
    with LoadState(state) as load_state:
        require_state(migration, load_state, name, place)
        _require_kept_changes(load_state)
        with opened_table(migration, name, place, throttle) as client:
            affected = AffectedItems(migration)
            contents = LargeContents(client)
            follower = _Follower(
                migration,
                open_log(migration, load_state, affected.columns()),
                Applier(migration, affected, client, throttle, contents),
                load_state,
                progress,
                result,
            )

            def is_finished() -> bool:
                if until_caught_up and not once:
                    return result.caught_up
                return once or stop()

            with contents.run(load_state):
                follower.run(is_finished, patience)
        file = load_state.write_dead_letters()
        result.dead = sum(load_state.dead_counts().values())
        result.dead_file = str(file) if file.exists() else ""
    result.units, result.seconds = throttle.units, time.monotonic() - start
    return result


def _require_kept_changes(state: LoadState) -> None:
    if state.about("log") and state.about("finished"):
        return
    if state.about("log"):
        reason, fix = "the load is not finished", "run `prejoin migrate load` to its end"
    else:
        reason, fix = "the load kept no changes", f"{LOAD_AGAIN}, which keeps them"
    raise PipelineError(codes.NO_CHANGES, f"there is nothing to follow: {reason}", fix)


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

    def run(self, is_finished: Callable[[], bool], patience: float) -> None:
        """Makes rounds. Waits after a round without changes, and, up to `patience` seconds, after one that failed."""
        self.progress.begin("following", "follow")
        last_success, failures, pause = time.monotonic(), 0, _SHORTEST_POLL
        while True:
            try:
                has_changes = self.round()
                last_success, failures = time.monotonic(), 0
            except (PipelineError, TransportError, DynamoDBError, TableError) as problem:
                if not _is_temporary(problem) or time.monotonic() - last_success > patience:
                    raise
                failures += 1
                self.progress.update(f"waiting: {problem}")
                self.migration.source.engine.dispose()  # its connections may be those of a server that went away
                time.sleep(min(0.1 * 2**failures, _LONGEST_PAUSE))
                continue
            if is_finished():
                return
            if has_changes:
                pause = _SHORTEST_POLL
            else:
                time.sleep(pause)
                pause = min(POLL, 2 * pause)

    def round(self) -> bool:
        """One look at the log. Returns whether there was something."""
        position = self.state.about("position")
        started_at = now_text()  # the table is as the database was then, at least
        self.log.prepare(position)
        with self.migration.source.snapshot() as snapshot:
            part = self.log.read(snapshot, position)
            applied_rows = self._apply(snapshot, part) if part.transactions else ApplyResult()
        if part.transactions or part.position != position:
            self.result.transactions += len(part.transactions)
            self.result.rows += applied_rows.rows
            self.result.split += applied_rows.split
            self.state.record_followed(part.position, applied_rows.dead, applied_rows.current)
            self.log.confirm(part.position)
        self.result.caught_up = part.whole
        self.result.behind = self.log.behind(part.position)
        if part.whole:
            self.state.say(caught_up=started_at)
        self.progress.update(self._progress_text(part))
        return bool(part.transactions)

    def _apply(self, snapshot: SourceSnapshot, part: LogPart) -> ApplyResult:
        # A unique value may be free by now. Streams tell that one row took it before they tell that another gave it up.
        letters = [letter for letter in self.state.dead_letters() if letter.code == codes.NOT_UNIQUE.id]
        return self.applier.apply(snapshot, part.transactions, [(letter.entity, letter.key) for letter in letters])

    def _progress_text(self, part: LogPart) -> str:
        text = f"{self.result.transactions:,} transactions, {self.result.rows:,} rows"
        if part.whole:
            return f"{text}; caught up at {now_text()}"
        last = part.transactions[-1].committed if part.transactions else None
        lags = []
        if self.result.behind:
            lags.append(f"{self.result.behind:,} of the log")
        if last is not None:
            lags.append(f"{(datetime.now(UTC) - last).total_seconds():,.0f} s")
        return f"{text}; behind: {', '.join(lags) or 'more to read'}"


def _is_temporary(problem: Exception) -> bool:
    if isinstance(problem, PipelineError):
        return any(diagnostic.code == codes.UNREADABLE.id for diagnostic in problem.diagnostics)
    if isinstance(problem, DynamoDBError):
        return problem.code not in ("ResourceNotFoundException", "AccessDeniedException")
    return True
