"""`roll_back`: give a migration up before the cut-over, and remove what it created."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from prejoin.migrate import codes
from prejoin.migrate.follow.logs import end_log, log_contents
from prejoin.migrate.load.contents import LargeContents
from prejoin.migrate.load.load import opened_table
from prejoin.migrate.load.state import DEAD_LETTERS, FOLDER, LoadState, now_text
from prejoin.migrate.migration import Migration
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle


@dataclass(frozen=True, slots=True)
class RollbackResult:
    """The result of a rollback, or of its preview."""

    removed: tuple[str, ...]
    """Objects removed from the database."""
    items: int
    """The number of items deleted from the table."""


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
    of the mapped entities are deleted from the table, too. With `dry_run` nothing is removed. After an interruption,
    another call finishes it.

    Raises a `RefusedError` after the cut-over: from then on the table has writes that the database lacks.
    """
    with LoadState(state) as load_state:
        cut_over = load_state.about("cut_over")
        if cut_over:
            message = f"the migration was cut over at {cut_over}, and nothing carries later writes of the table back"
            fix = (
                "if `prejoin migrate verify` finds no difference, nothing was written since: go on with the database; "
                "else going back loses the writes that it lists"
            )
            raise RefusedError(codes.CUT_OVER, message, fix)
        if not load_state.about("fingerprint"):
            raise PipelineError(codes.NOT_STARTED, f"there is no migration in {state}", "name its folder: `--state`")
        name = table or migration.table
        loaded_table, loaded_place = load_state.about("table"), load_state.about("place")
        if place and (name, str(place)) != (loaded_table, loaded_place):
            message = f"the migration in {state} loads `{loaded_table}` in {loaded_place}, not this table"
            raise RefusedError(codes.OTHER_PLAN, message, "name that table and place, or another `--state`")
        if not dry_run:
            load_state.say(rolling_back=now_text())  # else a killed rollback would look like a loaded table
        items = _delete_items(migration, place, name, load_state, dry_run, progress) if place else 0
        if dry_run:
            return RollbackResult(log_contents(migration, load_state), items)
        removed_objects = end_log(migration, load_state)
        (Path(state) / DEAD_LETTERS).unlink(missing_ok=True)
        load_state.restart()
    return RollbackResult(removed_objects, items)


def _delete_items(
    migration: Migration, place: TablePlace, table: str, state: LoadState, dry_run: bool, progress: Progress
) -> int:
    progress.begin("counting items" if dry_run else "deleting items", "items")
    count = 0
    with opened_table(migration, table, place, WriteThrottle()) as client:
        contents = LargeContents(client)
        with nullcontext() if dry_run else contents.run(state):
            for rows in migration.rows:
                cls = migration.package.classes[rows.entity.name]
                for page in client.everything(cls, hidden=True, consistent=True):
                    if not dry_run:
                        client.delete_many(cls, page.items, read=True)
                        contents.remove_of(page.items)
                    count += len(page.items)
                    progress.update(f"{count:,} items")
    return count
