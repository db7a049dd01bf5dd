"""Chooses the log that a migration follows: when the load begins, then kept in the state."""

from __future__ import annotations

from prejoin.migrate import codes
from prejoin.migrate.follow.affected_items import AffectedItems
from prejoin.migrate.follow.log import ChangeLog, Columns
from prejoin.migrate.load.state import LoadState
from prejoin.migrate.migration import Migration
from prejoin.pipeline.errors import RefusedError
from prejoin.pipeline.progress import SILENT, Progress

OUTBOX = "outbox"


def begin_log(migration: Migration, state: LoadState, outbox: bool = False, progress: Progress = SILENT) -> None:
    """Begins to keep the changes of the database, before a load takes its snapshot. Calling it again changes nothing.

    The log is recorded before anything is created, so that after a kill a rollback finds what was created.
    """
    recorded_kind = state.about("log")
    if outbox and recorded_kind not in ("", OUTBOX):
        message = f"the load began with the log of {recorded_kind}, not with an outbox"
        raise RefusedError(codes.NO_LOG, message, "pass `--restart --force` to begin again")
    if not recorded_kind:
        kind = OUTBOX if outbox else migration.source.log
        state.say(log=kind, log_name=_log_name(migration, state, kind))
    try:
        log = open_log(migration, state, AffectedItems(migration).columns())
        if state.about("position"):
            log.require()
        else:
            if state.about("log") != OUTBOX and log.created:
                progress.begin(f"keeping changes: creating {' and '.join(log.created)}", "log")
            state.say(position=log.begin())
    except RefusedError:
        if not recorded_kind:  # it was refused before anything was created
            state.say(log="", log_name="")
        raise


def _log_name(migration: Migration, state: LoadState, kind: str) -> str:
    """The objects to create: the name of a slot, or the tables that get a stream."""
    if kind == "dynamodb":
        from prejoin.migrate.follow.streams import tables_without_stream

        return ",".join(tables_without_stream(migration.source, AffectedItems(migration).columns()))
    return f"prejoin_{state.about('fingerprint')}"


def end_log(migration: Migration, state: LoadState) -> tuple[str, ...]:
    """Stops keeping changes, and returns what was removed from the database."""
    if not state.about("log"):
        return ()
    if state.about("source") != str(migration.source):
        message = f"the changes that the migration in {state.folder} keeps are in {state.about('source')}"
        raise RefusedError(codes.OTHER_PLAN, message, "pass that database with `--source`, or another `--state`")
    log = open_log(migration, state, {})
    log.end()
    state.say(log="", log_name="", position="", caught_up="")
    return log.created


def log_contents(migration: Migration, state: LoadState) -> tuple[str, ...]:
    """The objects that `end_log` removes from the database."""
    return open_log(migration, state, {}).created if state.about("log") else ()


def open_log(migration: Migration, state: LoadState, columns: Columns) -> ChangeLog:
    match state.about("log"):
        case "postgresql":
            from prejoin.migrate.follow.postgres import PostgresLog

            return PostgresLog(migration.source, columns, state.about("log_name"))
        case "mysql":
            from prejoin.migrate.follow.binlog import BinaryLog

            return BinaryLog(migration.source, columns)
        case "outbox":
            from prejoin.migrate.follow.outbox import OutboxLog

            return OutboxLog(migration.source, columns)
        case "dynamodb":
            from prejoin.migrate.follow.streams import StreamsLog

            enabled = tuple(name for name in state.about("log_name").split(",") if name)
            return StreamsLog(migration.source, columns, enabled)
        case kind:
            fix = "use the outbox, which the application writes: `--outbox`"
            raise RefusedError(codes.NO_LOG, f"{kind} has no log that can be followed", fix)
