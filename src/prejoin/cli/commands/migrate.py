"""`prejoin migrate`: plan and run the load of a relational database into the table, and verify it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from prejoin.cli.command import SETTINGS, command
from prejoin.cli.commands.migrate_follow import cutover, follow, rollback, status
from prejoin.cli.commands.migrate_options import (
    MigrationInput,
    Target,
    dead_letters,
    input_options,
    state_option,
    target_options,
)
from prejoin.cli.outcome import ExitStatus, Line, Outcome
from prejoin.cli.progress import ProgressSteps
from prejoin.cli.text.messages import safe
from prejoin.cli.text.tables import table_with_titles
from prejoin.migrate import codes
from prejoin.migrate.load.export import export_items
from prejoin.migrate.load.load import LoadResult, load_table
from prejoin.migrate.load.plan import EntityPlan, LoadPlan, plan_load
from prejoin.migrate.load.state import LoadState, now_text
from prejoin.migrate.verify.compare import ItemDifference
from prejoin.migrate.verify.verify import VerifyResult, verify_table
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import duration, quantity

_DIFFERENCES_SHOWN = 20
"""Differences that are printed; `--format json` has a thousand."""
_SAMPLE = 4_000
"""Characters of a row or an item that are printed. A large content has many more."""


class _MigrateGroup(click.Group):
    """The commands in the order of a migration."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


migrate = _MigrateGroup("migrate", context_settings=SETTINGS, no_args_is_help=True)
migrate.help = "Move the rows of a relational database into the table: plan, load, follow, verify."


# --- Plan -----------------------------------------------------------------------------------------------------------


@command("migrate plan", format_aware=True)
@input_options
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="Write units a second (default: 4000).")
@click.option("--samples", is_flag=True, help="Show a row of each entity beside the items that it becomes.")
def plan(inputs: MigrationInput, rate: float | None, samples: bool, as_json: bool) -> Outcome:
    """Check the mapping, and show what a load reads and writes, how long it takes and what it costs."""
    with inputs.open() as migration, ProgressSteps(silent=True) as progress:
        load_plan = plan_load(migration, rate=rate, progress=progress)
        warnings = migration.warnings()
    dead = [letter for entity in load_plan.entities for letter in entity.dead]
    notes = [
        f"{load_plan.rows:,} rows, {load_plan.units:,.0f} write units, ${load_plan.dollars} on demand in us-east-1; "
        f"{duration(load_plan.seconds)} at {load_plan.rate:,.0f} units a second",
        f"{_bytes(load_plan.bytes)} of items, ${load_plan.storage_dollars} a month, without indexes",
    ]
    if dead:
        notes.append(
            f"of the sampled rows, {len(dead)} cannot be loaded: {dead[0].entity} {dead[0].key}: {dead[0].reason}"
        )
    if not samples:
        notes.append("`prejoin migrate plan --samples` shows items beside the rows that they come from")
    return Outcome(
        result=_plan_json(load_plan), page=_plan_page(load_plan, samples), sources=warnings, notes=tuple(notes)
    )


def _plan_page(load_plan: LoadPlan, samples: bool) -> list[Line]:
    header = ("Entity", "Table", "Rows", "Items a row", "Units a row", "Units")
    rows = [
        (
            safe(entity.entity),
            safe(entity.table),
            f"{entity.rows:,}",
            f"{entity.items_per_row:g}",
            f"{entity.units_per_row:.4g}",
            f"{entity.units:,.0f}",
        )
        for entity in load_plan.entities
    ]
    lines: list[Line] = list(table_with_titles(header, rows, ("bold", "", "", "", "", "")))
    if samples:
        for entity in load_plan.entities:
            lines += ["", *_sample_lines(entity)]
    return lines


def _sample_lines(entity: EntityPlan) -> list[Line]:
    lines: list[Line] = [((f"{safe(entity.entity)}", "bold"), " from ", safe(entity.table))]
    if entity.row is None:
        return [*lines, ("  no rows",)]
    lines.append((("  row   ", "dim"), _sample(entity.row)))
    return lines + [(("  item  ", "dim"), _sample(item)) for item in entity.items]


def _sample(values: Mapping[str, Any]) -> str:
    text = json.dumps(values, ensure_ascii=False)
    return safe(text if len(text) <= _SAMPLE else f"{text[:_SAMPLE]}… ({len(text):,} characters)")


def _plan_json(load_plan: LoadPlan) -> dict[str, Any]:
    return {
        "rows": load_plan.rows,
        "units": load_plan.units,
        "dollars": str(load_plan.dollars),
        "seconds": load_plan.seconds,
        "rate": load_plan.rate,
        "bytes": load_plan.bytes,
        "entities": [
            {
                "entity": entity.entity,
                "table": entity.table,
                "rows": entity.rows,
                "items_per_row": entity.items_per_row,
                "units_per_row": entity.units_per_row,
                "row": entity.row,
                "items": list(entity.items),
                "dead": [
                    {"key": list(map(str, letter.key)), "code": letter.code, "reason": letter.reason}
                    for letter in entity.dead
                ],
            }
            for entity in load_plan.entities
        ],
    }


# --- Load -----------------------------------------------------------------------------------------------------------


@command("migrate load", format_aware=True)
@input_options
@target_options
@state_option
@click.option(
    "--to-files", "files", type=click.Path(file_okay=False), help="Write DynamoDB JSON for an import from S3."
)
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="The most write units a second.")
@click.option("--workers", type=click.IntRange(1, 64), help="Threads that write (default: 4; 1 for a file).")
@click.option("--create-table", is_flag=True, help="Create the table if it does not exist; a file gets it always.")
@click.option("--follow", "keep_changes", is_flag=True, help="Keep changes from now on, for `migrate follow`.")
@click.option("--outbox", is_flag=True, help="The same, if the application keeps its changes in an outbox.")
@click.option("--replay", is_flag=True, help="Only try the rows again that could not be loaded.")
@click.option("--restart", is_flag=True, help="Forget the state of an earlier load, and begin again.")
@click.option(
    "--force", is_flag=True, help="Load into a table that has items, and write over those with the same keys."
)
def load(
    inputs: MigrationInput,
    target: Target,
    state: str,
    files: str | None,
    rate: float | None,
    workers: int | None,
    create_table: bool,
    keep_changes: bool,
    outbox: bool,
    replay: bool,
    restart: bool,
    force: bool,
    as_json: bool,
) -> Outcome:
    """Write all rows as items. After an interruption, the same command continues.

    Rows that cannot be loaded are kept in the state folder, each with its reason; `--replay` tries them again.
    """
    if files and target.has_place:
        raise click.UsageError("`--to-files` writes to no table: leave out `--db`, `--endpoint` and `--aws`")
    place = None if files else target.place
    with inputs.open() as migration, ProgressSteps(silent=as_json) as progress:
        exported_files: dict[str, Any] = {}
        notes = []
        if place is None:
            export = export_items(
                migration, files or "", state=state, restart=restart, store=target.store, progress=progress
            )
            result = export.loaded
            exported_files = {"items": export.items, "files": list(export.files)}
            notes.append(f"wrote {export.items:,} items to {quantity(len(export.files), 'file')} in {files}")
        else:
            result = load_table(
                migration,
                place,
                table=target.table,
                state=state,
                rate=rate,
                workers=workers,
                create=create_table or bool(target.db),
                force=force,
                restart=restart,
                replay=replay,
                follow=keep_changes,
                outbox=outbox,
                progress=progress,
            )
        warnings = migration.warnings()
    notes.insert(0, _load_text(result))
    if keep_changes:
        notes.append(
            "the streams keep changes for 24 hours: start `prejoin migrate follow` before they are lost"
            if migration.source.log == "dynamodb"
            else "the database keeps its changes until `prejoin migrate cutover` or `rollback`; do not abandon them"
        )
    next_command = "follow" if keep_changes or outbox else "verify"
    notes.append(
        f"next: `prejoin migrate {next_command}`, with the same place" if place else "next: import the files from S3"
    )
    sources = (*warnings, *dead_letters(result.dead, result.dead_file))
    status = ExitStatus.FAILED if result.dead else ExitStatus.FINE
    return Outcome(status, _load_json(result) | exported_files, sources=sources, notes=tuple(notes))


def _load_text(result: LoadResult) -> str:
    verb = "continued: " if result.resumed else ""
    speed = result.rows / result.seconds if result.seconds else 0
    figures = f"{duration(result.seconds)}, {speed:,.0f} a second, {result.units:,.0f} write units"
    return f"{verb}{quantity(result.rows, 'row')} loaded in {figures}"


def _load_json(result: LoadResult) -> dict[str, Any]:
    return {
        "rows": result.rows,
        "resumed": result.resumed,
        "dead": result.dead,
        "dead_letters": result.dead_file or None,
        "units": result.units,
        "seconds": result.seconds,
        "entities": [
            {"entity": entity.entity, "rows": entity.rows, "units": entity.units, "done": entity.done}
            for entity in result.entities
        ],
    }


# --- Verify ---------------------------------------------------------------------------------------------------------


@command("migrate verify", format_aware=True)
@input_options
@target_options
@state_option
@click.option("--no-patterns", is_flag=True, help="Compare the data only, and run no access patterns.")
def verify(
    inputs: MigrationInput,
    target: Target,
    state: str,
    no_patterns: bool,
    as_json: bool,
) -> Outcome:
    """Compare the table with the database: all rows, copies and guards, and access patterns on both sides.

    The exit status is 1 if there is a difference. Nothing is written on either side.
    """
    place = target.place
    with inputs.open() as migration, ProgressSteps(silent=as_json) as progress:
        result = verify_table(migration, place, table=target.table, patterns=not no_patterns, progress=progress)
    if Path(state).is_dir():
        with LoadState(state, lock=False) as load_state:
            difference_count = sum(result.counts.values())
            load_state.say(
                verified=f"{'equal' if result.equal else quantity(difference_count, 'difference')}, {now_text()}"
            )
    status = ExitStatus.FINE if result.equal else ExitStatus.FAILED
    return Outcome(
        status, _verify_json(result), _verify_page(result), _difference_sources(result), _verify_notes(result)
    )


def _verify_page(result: VerifyResult) -> list[Line]:
    by_entity: dict[str, str] = {}
    for (entity, kind), count in result.counts.items():
        by_entity[entity] = f"{by_entity.get(entity, '')}, {count:,} {kind}".removeprefix(", ")
    header = ("Entity", "Rows", "Items", "Differences")
    rows = [
        (safe(entity.entity), f"{entity.rows:,}", f"{entity.items:,}", by_entity.pop(entity.entity, "none"))
        for entity in result.entities
    ]
    rows += [(safe(name) or "-", "", "", problems) for name, problems in by_entity.items()]
    lines: list[Line] = list(table_with_titles(header, rows, ("bold", "", "", "")))
    lines += [(safe(str(difference)),) for difference in result.differences[:_DIFFERENCES_SHOWN]]
    return lines


def _difference_sources(result: VerifyResult) -> tuple[Source, ...]:
    if result.equal:
        return ()
    message = f"the table differs from the database: {quantity(sum(result.counts.values()), 'difference')}"
    fix = "load the rows again, or correct the mapping; `--format json` lists up to a thousand of them"
    return (Source("", "", (codes.DIFFERENT.at(None, message, fix),)),)


def _verify_notes(result: VerifyResult) -> tuple[str, ...]:
    rows = sum(entity.rows for entity in result.entities)
    notes = []
    if result.equal:
        notes.append(f"{rows:,} rows and their items are equal")
    if result.patterns:
        patterns_run = [pattern for pattern in result.patterns if pattern.runs]
        skipped_patterns = [pattern for pattern in result.patterns if pattern.skipped]
        runs = sum(pattern.runs for pattern in patterns_run)
        notes.append(f"{quantity(len(patterns_run), 'access pattern')} run on both sides, {runs} times")
        if skipped_patterns:
            names = ", ".join(f"{pattern.pattern} ({pattern.skipped})" for pattern in skipped_patterns[:5])
            rest_text = f", and {len(skipped_patterns) - 5} more" if len(skipped_patterns) > 5 else ""
            notes.append(f"not compared: {names}{rest_text}")
    return tuple(notes)


def _verify_json(result: VerifyResult) -> dict[str, Any]:
    return {
        "equal": result.equal,
        "entities": [
            {"entity": entity.entity, "rows": entity.rows, "items": entity.items, "buckets": entity.buckets}
            for entity in result.entities
        ],
        "counts": [{"entity": entity, "kind": kind, "count": count} for (entity, kind), count in result.counts.items()],
        "differences": [_difference_json(difference) for difference in result.differences],
        "patterns": [
            {"pattern": p.pattern, "runs": p.runs, "differences": len(p.differences), "skipped": p.skipped or None}
            for p in result.patterns
        ],
    }


def _difference_json(difference: ItemDifference) -> dict[str, Any]:
    return {
        "kind": difference.kind,
        "entity": difference.entity,
        "key": difference.key,
        "attribute": difference.attribute or None,
        "expected": difference.expected,
        "found": difference.found,
    }


def _bytes(size: float) -> str:
    for unit in ("B", "KB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


_COMMANDS = {
    "plan": plan,
    "load": load,
    "follow": follow,
    "verify": verify,
    "cutover": cutover,
    "rollback": rollback,
    "status": status,
}
for _name, _command in _COMMANDS.items():
    migrate.add_command(_command, _name)
