"""`load_table`: all rows of a database as items of a table, resumable at any point."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prejoin.migrate import codes
from prejoin.migrate.follow.logs import begin_log, end_log
from prejoin.migrate.load.contents import LargeContents
from prejoin.migrate.load.state import FOLDER, EntityProgress, LoadState, now_text
from prejoin.migrate.load.write import RowWriter
from prejoin.migrate.mapping.rows import EntityRows
from prejoin.migrate.migration import Migration
from prejoin.migrate.source.connection import SourceSnapshot
from prejoin.pipeline.connection import TablePlace, connect
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.table.client.client import Client
from prejoin.table.errors import NoSuchTable

WORKERS = 4
"""Threads that write to a server or to AWS."""


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a load."""

    rows: int
    """Rows that were read by this run."""
    resumed: bool
    """Whether an earlier run had written a part."""
    entities: tuple[EntityProgress, ...]
    dead: int
    """Dead letters, of this and of earlier runs."""
    dead_file: str
    units: float
    """Consumed write units of this run."""
    seconds: float


def load_table(
    migration: Migration,
    place: TablePlace,
    *,
    table: str | None = None,
    state: str | Path = FOLDER,
    rate: float | None = None,
    workers: int | None = None,
    create: bool = False,
    force: bool = False,
    restart: bool = False,
    replay: bool = False,
    follow: bool = False,
    outbox: bool = False,
    progress: Progress = SILENT,
) -> LoadResult:
    """Writes the rows of the database as items, and returns when all are written.

    After an interruption the same call continues: finished pages are not read again. `rate` is the most write units a
    second. `create` creates the table if it does not exist. `replay` only tries the rows again that could not be
    loaded. `follow` makes the database keep its changes from now on, for `follow_table`; with `outbox` it is the
    application that keeps them. The state is kept in a folder; a load with another mapping, design, table or database
    is refused, unless `restart` begins anew.

    Raises a `RefusedError` if the table has items and no load has begun, unless `force` is given, and a `PipelineError`
    if the database or the table cannot be reached.
    """
    name = table or migration.table
    began = time.monotonic()
    with LoadState(state) as kept:
        if restart:
            require_not_cut_over(kept)
            end_log(migration, kept)
            kept.restart()
        resumed = kept.about("fingerprint") != ""
        if resumed:
            require_state(migration, kept, name, place)
        throttle = WriteThrottle(rate)
        with opened_table(migration, name, place, throttle, create) as client:
            if not resumed:
                if not force:
                    _require_empty(client, name, place)
                mark = migration.fingerprint(name, place)
                kept.say(fingerprint=mark, began=now_text(), table=name, place=str(place), source=str(migration.source))
            # A log that was named before a kill is begun, even if this call does not ask for it: it may exist already.
            if follow or outbox or kept.about("log"):
                if kept.about("snapshot") and not kept.about("position"):
                    message = "the load began without `--follow`: changes since then are not kept"
                    raise RefusedError(codes.NO_CHANGES, message, "pass `--restart --force` to begin again")
                begin_log(migration, kept, outbox, progress)
            threads = workers or (WORKERS if getattr(client._transport, "concurrent", False) else 1)
            contents = LargeContents(client)
            run = _Load(migration, client, kept, throttle, threads, progress, contents)
            with contents.run(kept):
                rows = run.replay() if replay else run.all()
        if all(kept.progress(one.entity.name).done for one in migration.rows):
            kept.say(finished=now_text())
        file = kept.write_dead_letters()
        return LoadResult(
            rows,
            resumed,
            tuple(kept.progress(one.entity.name) for one in migration.rows),
            sum(kept.dead_counts().values()),
            str(file) if file.exists() else "",
            throttle.units,
            time.monotonic() - began,
        )


def require_state(migration: Migration, state: LoadState, table: str, place: TablePlace) -> None:
    """Raises a `RefusedError` if the state is of another migration, or of one that was cut over or given up."""
    require_not_cut_over(state)
    if state.about("rolling_back"):
        message = f"a rollback of the migration in {state.folder} was interrupted: items may be missing"
        raise RefusedError(codes.ROLLING_BACK, message, "finish it: `prejoin migrate rollback --yes`")
    require_same_plan(migration, state, table, place)


def require_not_cut_over(state: LoadState) -> None:
    if state.about("cut_over"):
        message = f"the migration in {state.folder} was cut over at {state.about('cut_over')}"
        fix = "use another `--state` for another migration"
        if state.about("unfinished"):
            fix = "the cut-over was interrupted: finish it with `prejoin migrate cutover`"
        raise RefusedError(codes.CUT_OVER, message, fix)


def require_same_plan(migration: Migration, state: LoadState, table: str, place: TablePlace) -> None:
    if state.about("fingerprint") != migration.fingerprint(table, place):
        message = f"the state in {state.folder} is of a load with another mapping, design, table or database"
        raise RefusedError(codes.OTHER_PLAN, message, "pass `--restart` to begin again, or another `--state`")


@contextmanager
def opened_table(
    migration: Migration, table: str, place: TablePlace, throttle: WriteThrottle, create: bool = False
) -> Iterator[Client]:
    """A client of the target table, whose consumption is observed."""
    schema = migration.schema(place)
    with connect(schema, table, place) as connected:
        client = Client(schema, table, connected._transport, observe=throttle.observe)
        if create:
            client.create_table(if_absent=True)
        yield client


def _require_empty(client: Client, table: str, place: TablePlace) -> None:
    try:
        found = client.call("Scan", {"Limit": 1, "Select": "COUNT"})
    except NoSuchTable:
        fix = "deploy the design first, or pass `--create-table`"
        raise PipelineError(codes.NOT_STARTED, f"there is no table `{table}` in {place}", fix) from None
    if found["Count"]:
        message = f"the table `{table}` in {place} has items, and no load into it has begun"
        fix = "load into an empty table, or pass `--force` to write over items with the same keys"
        raise RefusedError(codes.NOT_EMPTY, message, fix)


class _Load:
    def __init__(
        self,
        migration: Migration,
        client: Client,
        state: LoadState,
        throttle: WriteThrottle,
        workers: int,
        progress: Progress,
        contents: LargeContents,
    ) -> None:
        self.migration = migration
        self.client = client
        self.state = state
        self.throttle = throttle
        self.workers = workers
        self.progress = progress
        self.contents = contents
        self.read = 0

    def _writer(self, rows: EntityRows) -> RowWriter:
        package = self.migration.package
        return RowWriter(self.client, package, rows, self.throttle, self.contents, self.workers, self.state)

    def all(self) -> int:
        """Loads what is left of each entity, all from one snapshot of the database."""
        with self.migration.source.snapshot() as snapshot:
            self.state.say(snapshot=now_text())
            for rows in self.migration.rows:
                self._entity(snapshot, rows)
        return self.read

    def _entity(self, snapshot: SourceSnapshot, rows: EntityRows) -> None:
        name = rows.entity.name
        now = self.state.progress(name)
        if now.done:
            return
        total = rows.count(snapshot)
        self.progress.begin(f"loading {name}", name)
        writer = self._writer(rows)
        for page in rows.pages(snapshot, now.after):
            before = self.throttle.units
            written = writer.write(page)
            self.read += written.rows
            units = now.units + self.throttle.units - before
            now = EntityProgress(name, page[-1].key, now.rows + written.rows, units)
            self.state.record(now, written.dead)
            self.progress.update(f"{now.rows:,} of {total:,} rows")
        self.state.record(EntityProgress(name, now.after, now.rows, now.units, done=True), ())
        self.progress.result(f"{now.rows:,} rows")

    def replay(self) -> int:
        """Reads the rows of dead letters again, and writes those that are still there."""
        if not self.state.about("fingerprint"):
            raise PipelineError(codes.NOT_STARTED, "there is nothing to replay", "run `prejoin migrate load` first")
        with self.migration.source.snapshot() as snapshot:
            for rows in self.migration.rows:
                letters = list(self.state.dead_letters(rows.entity.name))
                self.progress.begin(f"replaying {rows.entity.name}", rows.entity.name)
                found = [row for letter in letters if (row := rows.by_key(snapshot, letter.key))]
                written = self._writer(rows).write(found)
                self.read += written.rows
                now = self.state.progress(rows.entity.name)
                self.state.record(now, written.dead, [letter.key for letter in letters])
        return self.read
