"""`prejoin migrate follow`, `cutover`, `rollback` and `status`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
import msgspec

from prejoin.cli.command import command
from prejoin.cli.commands.migrate_options import (
    MigrationInput,
    Target,
    dead_letters,
    input_options,
    state_option,
    target_options,
)
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.progress import ProgressLine, ProgressSteps
from prejoin.cli.text.messages import safe
from prejoin.cli.text.tables import table_with_titles
from prejoin.migrate import codes
from prejoin.migrate.cutover import REPORT, cut_over
from prejoin.migrate.follow.follow import FollowResult, follow_table
from prejoin.migrate.mapping.model import MAPPING
from prejoin.migrate.rollback import roll_back
from prejoin.migrate.status import migration_status
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import quantity

# --- Follow ---------------------------------------------------------------------------------------------------------


@command("migrate follow", format_aware=True)
@input_options
@target_options
@state_option
@click.option("--until-caught-up", is_flag=True, help="End when the table is as the database.")
@click.option("--once", is_flag=True, help="Look at the log once, and end.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="The most write units a second.")
def follow(
    inputs: MigrationInput,
    target: Target,
    state: str,
    until_caught_up: bool,
    once: bool,
    rate: float | None,
    as_json: bool,
) -> Outcome:
    """Write the changes of the database since `migrate load --follow` began, until it is interrupted.

    It can be interrupted and continued at any time. Transactions of the database are written as transactions.
    """
    place = target.place
    with inputs.open() as migration, ProgressLine() as progress, _interruptible() as stop:
        result = follow_table(
            migration,
            place,
            table=target.table,
            state=state,
            rate=rate,
            until_caught_up=until_caught_up,
            once=once,
            stop=stop,
            progress=progress,
        )
    status = ExitStatus.FAILED if result.dead else ExitStatus.FINE
    sources = (*dead_letters(result.dead, result.dead_file), *_split_sources(result))
    return Outcome(status, _follow_json(result), sources=sources, notes=(_follow_text(result),))


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Lets the first Ctrl-C or SIGTERM end the follower after its round."""
    is_stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal is_stopped
        is_stopped = True
        signal.signal(number, before[number])

    before: dict[int, Any] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield lambda: is_stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _follow_text(result: FollowResult) -> str:
    work = f"{quantity(result.transactions, 'transaction')} with {quantity(result.rows, 'row')} written"
    rest_text = f": {result.behind:,} bytes of the log are left" if result.behind else ""
    state = "caught up" if result.caught_up else f"behind{rest_text}"
    return f"{work}; {state}"


def _split_sources(result: FollowResult) -> tuple[Source, ...]:
    if not result.split:
        return ()
    message = f"{quantity(result.split, 'group')} of rows that were changed together were written one after the other"
    fix = "`prejoin explain PJ756` says why; nothing is missing"
    return (Source("", "", (codes.NOT_ATOMIC.at(None, message, fix),)),)


def _follow_json(result: FollowResult) -> dict[str, Any]:
    return {
        "transactions": result.transactions,
        "rows": result.rows,
        "caught_up": result.caught_up,
        "behind": result.behind,
        "split": result.split,
        "dead": result.dead,
        "dead_letters": result.dead_file or None,
        "units": result.units,
        "seconds": result.seconds,
    }


# --- Cut-over and rollback ------------------------------------------------------------------------------------------


@command("migrate cutover", format_aware=True)
@input_options
@target_options
@state_option
@click.option("--by", required=True, metavar="NAME", help="Who signs it off.")
@click.option(
    "--report", type=click.Path(dir_okay=False), default=REPORT, show_default=True, help="The report to write."
)
def cutover(
    inputs: MigrationInput,
    target: Target,
    state: str,
    by: str,
    report: str,
    as_json: bool,
) -> Outcome:
    """Finish the migration: follow the last changes, verify, stop keeping changes, and write a report with a checklist.

    Stop the writes of the application first. It is refused, and nothing is removed, if both sides differ, rows are
    dead letters, or the database is still being changed.
    """
    place = target.place
    with inputs.open() as migration, ProgressSteps(silent=as_json) as progress:
        cutover_result = cut_over(
            migration, place, by=by, table=target.table, state=state, report=report, progress=progress
        )
    result = msgspec.to_builtins(cutover_result.cutover)
    result |= {"digest": cutover_result.cutover.digest, "report": cutover_result.file}
    notes = (
        f"the migration is finished: {cutover_result.file}",
        "next: start the application with the table; then the checklist",
    )
    return Outcome(result=result, notes=notes)


@command("migrate rollback", format_aware=True)
@input_options
@target_options
@state_option
@click.option("--delete-items", is_flag=True, help="Also delete the items of all mapped entities from the table.")
@click.option("--yes", is_flag=True, help="Do it. Without, it only says what it would remove.")
def rollback(
    inputs: MigrationInput,
    target: Target,
    state: str,
    delete_items: bool,
    yes: bool,
    as_json: bool,
) -> Outcome:
    """Give the migration up before the cut-over: remove what it keeps in the source, and the state.

    The application goes on with the database. After the cut-over there is no way back without losing writes.
    """
    place = target.place if delete_items else None
    with inputs.open() as migration, ProgressSteps(silent=as_json) as progress:
        removal = roll_back(migration, place, table=target.table, state=state, dry_run=not yes, progress=progress)
    items = [*removal.removed, f"the state in {state}", *([quantity(removal.items, "item")] if delete_items else [])]
    notes = [f"{'removed' if yes else 'would remove'}: {', '.join(items)}"]
    if not yes:
        notes.append("nothing was removed: pass `--yes`")
    result = {"removed": list(removal.removed), "items": removal.items, "done": yes}
    return Outcome(result=result, notes=tuple(notes))


# --- Status ---------------------------------------------------------------------------------------------------------


@command("migrate status")
@click.option("--mapping", type=click.Path(), default=MAPPING, show_default=True, help="The mapping.")
@click.option("--for", "document", type=click.Path(), default=DOCUMENT, help=f"The document (default: {DOCUMENT}).")
@state_option
def status(document: str, mapping: str, state: str) -> Outcome:
    """Show where the migration stands in its eight steps, and what to do next."""
    migration = migration_status(document, mapping, state)
    rows = [("done" if step.done else "open", step.name, step.command, safe(step.detail)) for step in migration.steps]
    lines: list[Line] = list(table_with_titles(("", "Step", "Command", ""), rows, ("", "bold", "", "dim")))
    for (entity, code), count in migration.dead.items():
        lines.append((f"  {count:,} dead letters of {safe(entity)}: ", (code, "bold")))
    result = {
        "steps": [
            {"name": step.name, "done": step.done, "detail": step.detail, "command": step.command}
            for step in migration.steps
        ],
        "entities": [
            {"entity": entity.entity, "rows": entity.rows, "done": entity.done} for entity in migration.entities
        ],
        "dead": [{"entity": entity, "code": code, "count": count} for (entity, code), count in migration.dead.items()],
        "next": migration.following,
    }
    sources = (Source("", "", migration.warnings),) if migration.warnings else ()
    return Outcome(result=result, page=lines, sources=sources, notes=(f"next: {migration.following}",))
