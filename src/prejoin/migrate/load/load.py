"""`load_table`: all rows of a database as items of a table, resumable at any point."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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
    with LoadState(state) as load_state:
        if restart:
            _discard_state(migration, load_state)
        is_resumed = load_state.about("fingerprint") != ""
        if is_resumed:
            require_state(migration, load_state, name, place)
        throttle = WriteThrottle(rate)
        with opened_table(migration, name, place, throttle, create) as client:
            if not is_resumed:
                _begin_load(migration, load_state, client, place, force)
            # A log that was named before a kill is begun, even if this call does not ask for it: it may exist already.
            if follow or outbox or load_state.about("log"):
                _begin_keeping_changes(migration, load_state, outbox, progress)
            threads = workers or (WORKERS if getattr(client._transport, "concurrent", False) else 1)
            contents = LargeContents(client)
            loader = _Loader(migration, client, load_state, throttle, threads, progress, contents)
            with contents.run(load_state):
                row_count = loader.replay_dead_letters() if replay else loader.load_entities()
        entities = tuple(load_state.progress(rows.entity.name) for rows in migration.rows)
        if all(entity.done for entity in entities):
            load_state.say(finished=now_text())
        dead_file = load_state.write_dead_letters()
        return LoadResult(
            rows=row_count,
            resumed=is_resumed,
            entities=entities,
            dead=sum(load_state.dead_counts().values()),
            dead_file=str(dead_file) if dead_file.exists() else "",
            units=throttle.units,
            seconds=time.monotonic() - began,
        )


def _discard_state(migration: Migration, state: LoadState) -> None:
    """Forgets an earlier load, and ends the log that the database kept for it."""
    require_not_cut_over(state)
    end_log(migration, state)
    state.restart()


def _begin_load(migration: Migration, state: LoadState, client: Client, place: TablePlace, force: bool) -> None:
    table = client.table
    if not force:
        _require_empty(client, table, place)
    fingerprint = migration.fingerprint(table, place)
    state.say(fingerprint=fingerprint, began=now_text(), table=table, place=str(place), source=str(migration.source))


def _begin_keeping_changes(migration: Migration, state: LoadState, outbox: bool, progress: Progress) -> None:
    """Makes the database, or with `outbox` the application, keep its changes from now on."""
    # The log has to begin before the snapshot: changes between the two would be in neither.
    if state.about("snapshot") and not state.about("position"):
        message = "the load began without `--follow`: changes since then are not kept"
        raise RefusedError(codes.NO_CHANGES, message, "pass `--restart --force` to begin again")
    begin_log(migration, state, outbox, progress)


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
    with connect(schema, table, place) as connection:
        client = Client(schema, table, connection._transport, observe=throttle.observe)
        if create:
            client.create_table(if_absent=True)
        yield client


def _require_empty(client: Client, table: str, place: TablePlace) -> None:
    try:
        first_page = client.call("Scan", {"Limit": 1, "Select": "COUNT"})
    except NoSuchTable:
        fix = "deploy the design first, or pass `--create-table`"
        raise PipelineError(codes.NOT_STARTED, f"there is no table `{table}` in {place}", fix) from None
    if first_page["Count"]:
        message = f"the table `{table}` in {place} has items, and no load into it has begun"
        fix = "load into an empty table, or pass `--force` to write over items with the same keys"
        raise RefusedError(codes.NOT_EMPTY, message, fix)


class _Loader:
    """Writes the rows of one run."""

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
        self.row_count = 0

    def load_entities(self) -> int:
        """Loads the rows of each entity that are not loaded yet, all from one snapshot of the database."""
        with self.migration.source.snapshot() as snapshot:
            self.state.say(snapshot=now_text())
            for rows in self.migration.rows:
                self._load_entity(snapshot, rows)
        return self.row_count

    def _load_entity(self, snapshot: SourceSnapshot, rows: EntityRows) -> None:
        name = rows.entity.name
        position = self.state.progress(name)
        if position.done:
            return
        total = rows.count(snapshot)
        self.progress.begin(f"loading {name}", name)
        writer = self._writer_of(rows)
        for page in rows.pages(snapshot, position.after):
            units_before = self.throttle.units
            page_result = writer.write(page)
            self.row_count += page_result.rows
            units = position.units + self.throttle.units - units_before
            position = EntityProgress(name, page[-1].key, position.rows + page_result.rows, units)
            # Only now: after a kill before this, the page is written again, which gives the same items.
            self.state.record(position, page_result.dead)
            self.progress.update(f"{position.rows:,} of {total:,} rows")
        self.state.record(replace(position, done=True), ())
        self.progress.result(f"{position.rows:,} rows")

    def replay_dead_letters(self) -> int:
        """Reads the rows of dead letters again, and writes those that still exist."""
        if not self.state.about("fingerprint"):
            raise PipelineError(codes.NOT_STARTED, "there is nothing to replay", "run `prejoin migrate load` first")
        with self.migration.source.snapshot() as snapshot:
            for rows in self.migration.rows:
                self._replay_entity(snapshot, rows)
        return self.row_count

    def _replay_entity(self, snapshot: SourceSnapshot, rows: EntityRows) -> None:
        name = rows.entity.name
        keys = [letter.key for letter in self.state.dead_letters(name)]
        self.progress.begin(f"replaying {name}", name)
        current_rows = [row for key in keys if (row := rows.by_key(snapshot, key))]
        result = self._writer_of(rows).write(current_rows)
        self.row_count += result.rows
        self.state.record(self.state.progress(name), result.dead, keys)

    def _writer_of(self, rows: EntityRows) -> RowWriter:
        package = self.migration.package
        return RowWriter(self.client, package, rows, self.throttle, self.contents, self.workers, self.state)
