"""`roll_back`: give a migration up before the cut-over, and remove what it created."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prejoin.migrate import codes
from prejoin.migrate.follow.logs import end_log, open_log
from prejoin.migrate.load.load import opened_table
from prejoin.migrate.load.state import DEAD_LETTERS, FOLDER, LoadState
from prejoin.migrate.migration import Migration
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import Throttle


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """What was removed, or would be."""

    removed: tuple[str, ...]
    """From the database."""
    items: int
    """From the table."""


def roll_back(
    migration: Migration,
    place: TablePlace | None = None,
    *,
    table: str | None = None,
    state: str | Path = FOLDER,
    dry_run: bool = False,
    progress: Progress = SILENT,
) -> RollbackResult:
    """Ends a migration that was not cut over: its slot, or the rows of the outbox, and the state of the load.

    The database was only read, and the application still uses it, so nothing is lost there. With a `place`, all items
    of the mapped entities are deleted from the table, too. With `dry_run` nothing is removed.

    Raises a `RefusedError` after the cut-over: from then on the table has writes that the database lacks.
    """
    with LoadState(state) as kept:
        if cut_over := kept.about("cut_over"):
            message = f"the application writes to the table since {cut_over}, and nothing carries these writes back"
            fix = "going back to the database loses them: `prejoin migrate verify` lists them as differences"
            raise RefusedError(codes.CUT_OVER, message, fix)
        if not kept.about("fingerprint"):
            raise PipelineError(codes.NOT_STARTED, f"there is no migration in {state}", "name its folder: `--state`")
        items = _delete_items(migration, place, table or migration.table, dry_run, progress) if place else 0
        if dry_run:
            removed = open_log(migration, kept, {}).created if kept.about("log") else ()
        else:
            removed = end_log(migration, kept)
            kept.restart()
            (Path(state) / DEAD_LETTERS).unlink(missing_ok=True)
    return RollbackResult(removed, items)


def _delete_items(migration: Migration, place: TablePlace, table: str, dry_run: bool, progress: Progress) -> int:
    progress.begin("counting items" if dry_run else "deleting items", "items")
    count = 0
    with opened_table(migration, table, place, Throttle()) as client:
        for rows in migration.rows:
            cls = migration.package.classes[rows.entity.name]
            for page in client.everything(cls, hidden=True, consistent=True):
                count += len(page.items) if dry_run else client.delete_many(cls, page.items, read=True)
                progress.update(f"{count:,} items")
    return count
