"""`cut_over`: the end of a migration. It refuses until both sides agree, then signs off and cleans up.

From now on the application must not write to the database. A look at the log after the verification tells whether it
still does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from prejoin.migrate import codes
from prejoin.migrate.follow.follow import FollowResult, follow_table
from prejoin.migrate.follow.logs import end_log, log_contents
from prejoin.migrate.load.load import require_same_plan, require_state
from prejoin.migrate.load.state import FOLDER, LoadState, now_text
from prejoin.migrate.migration import Migration
from prejoin.migrate.verify.verify import VerifyResult, verify_table
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.summary import quantity

REPORT = "cutover-report.md"


class CutoverEntity(msgspec.Struct, frozen=True):
    """Rows and items of one entity."""

    entity: str
    table: str
    rows: int
    items: int


class Cutover(msgspec.Struct, frozen=True):
    """The facts of a cut-over, for its report."""

    by: str
    """The person who signed it off."""
    at: str
    source: str
    table: str
    place: str
    entities: tuple[CutoverEntity, ...]
    patterns: tuple[str, ...]
    """Access patterns that were run on both sides."""
    not_compared: tuple[str, ...]
    followed: str
    """How changes were followed: `postgresql`, `mysql` (MariaDB), `dynamodb`, `outbox`, or empty."""
    removed: tuple[str, ...]
    """Objects that were removed from the database."""

    @property
    def digest(self) -> str:
        """A checksum of all facts, so that a changed report is recognised."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


@dataclass(frozen=True, slots=True)
class CutoverResult:
    cutover: Cutover
    report: str
    """The text of the report, with the checklist."""
    file: str


def cut_over(
    migration: Migration,
    place: TablePlace,
    *,
    by: str,
    table: str | None = None,
    state: str | Path = FOLDER,
    report: str | Path = REPORT,
    progress: Progress = SILENT,
) -> CutoverResult:
    """Follows the last changes, verifies, and finishes the migration. Call it while the application does not write.

    Raises a `RefusedError` that names each reason, if there are dead letters, both sides differ, or the database was
    changed during the verification. Nothing is removed then. If an earlier call was interrupted after it signed off,
    this one finishes it.
    """
    name = table or migration.table
    with LoadState(state) as load_state:
        if load_state.about("unfinished"):
            require_same_plan(migration, load_state, name, place)
            return _finish(migration, load_state, report)
        if not load_state.about("finished"):
            raise PipelineError(codes.NOT_STARTED, "the load is not finished", "run `prejoin migrate load` to its end")
        require_state(migration, load_state, name, place)
        log_kind = load_state.about("log")
        last_changes = FollowResult(dead=sum(load_state.dead_counts().values()))
    if log_kind:
        follow_table(migration, place, table=table, state=state, until_caught_up=True, progress=progress)
    migration.source.renew()  # a copy that is followed may lack a change that the log has not told yet
    verification = verify_table(migration, place, table=table, progress=progress)
    if log_kind:
        # Changes since the first call were made while both sides were compared: then the result says nothing.
        last_changes = follow_table(migration, place, table=table, state=state, until_caught_up=True, progress=progress)
    reasons = list(_reasons_to_refuse(verification, last_changes))
    if reasons:
        fix = "stop the writes of the application, correct what is named, and repeat; nothing was removed"
        raise RefusedError(codes.NOT_READY, "; ".join(reasons), fix)
    with LoadState(state) as load_state:
        tables = {rows.entity.name: rows.mapping.table for rows in migration.rows}
        entities = [
            CutoverEntity(comparison.entity, tables[comparison.entity], comparison.rows, comparison.items)
            for comparison in verification.entities
        ]
        pattern_comparisons = verification.patterns
        cutover = Cutover(
            by=by,
            at=now_text(),
            source=str(migration.source),
            table=name,
            place=str(place),
            entities=tuple(entities),
            patterns=tuple(comparison.pattern for comparison in pattern_comparisons if comparison.runs),
            not_compared=tuple(f"{skip.pattern} ({skip.skipped})" for skip in pattern_comparisons if skip.skipped),
            followed=log_kind,
            removed=log_contents(migration, load_state),
        )
        # Now it is decided. What is left to do is recorded, so that a call after a kill can finish it.
        load_state.say(
            cut_over=cutover.at,
            signed=f"{by}, {cutover.digest[:16]}",
            verified=f"equal, {cutover.at}",
            unfinished=msgspec.json.encode(cutover).decode(),
        )
        return _finish(migration, load_state, report)


def _finish(migration: Migration, state: LoadState, report: str | Path) -> CutoverResult:
    """Writes the report of a cut-over that is recorded, and removes what it kept in the database."""
    cutover = msgspec.json.decode(state.about("unfinished"), type=Cutover)
    text = "\n".join(_report(cutover)) + "\n"
    Path(report).write_text(text, encoding="utf-8")
    end_log(migration, state)
    state.say(unfinished="")
    return CutoverResult(cutover, text, str(report))


def _reasons_to_refuse(verification: VerifyResult, last_changes: FollowResult) -> Iterator[str]:
    if last_changes.dead:
        yield f"{quantity(last_changes.dead, 'row')} could not be written (dead letters)"
    if last_changes.transactions:
        transactions = quantity(last_changes.transactions, "transaction")
        yield f"the database was changed during the verification ({transactions})"
    if not verification.equal:
        counts = [f"{count:,} {kind} of {entity or '-'}" for (entity, kind), count in verification.counts.items()]
        yield f"the table differs from the database: {', '.join(counts)}"


def _report(result: Cutover) -> Iterator[str]:
    yield from ("# Cut-over", "", f"Signed off by {result.by}, {result.at}.", "")
    yield f"- From {result.source} to the table `{result.table}` in {result.place}"
    yield f"- Changes followed: {result.followed or 'no; the application did not write during the migration'}"
    yield f"- Checksum of these facts: `{result.digest}`"
    yield from ("", "| Entity | Table | Rows | Items |", "| --- | --- | --- | --- |")
    for entity in result.entities:
        yield f"| {entity.entity} | {entity.table} | {entity.rows:,} | {entity.items:,} |"
    yield from ("", "All rows and their items are equal. There are no dead letters.", "")
    yield f"Access patterns with equal answers on both sides: {', '.join(result.patterns) or 'none'}."
    if result.not_compared:
        yield f"Not compared: {', '.join(result.not_compared)}."
    yield from ("", "## Decommission", "")
    yield "- [x] all rows moved and verified"
    yield "- [x] no dead letters, no changes left to follow"
    yield from (f"- [x] removed from the database: {name}" for name in result.removed)
    yield "- [ ] the application reads and writes the table only; its old connection is removed from the configuration"
    if result.followed == "outbox":
        yield "- [ ] `record_changes` and the table `prejoin_outbox` are removed from the application"
    if result.followed == "postgresql":
        yield "- [ ] `REPLICA IDENTITY FULL` is set back to `DEFAULT` where it was only set for this"
    yield "- [ ] shadow reads are removed"
    yield "- [ ] jobs, reports and backups that read the database have a new source"
    yield "- [ ] point-in-time recovery, alarms and deletion protection of the table are on"
    tables = sorted({entity.table for entity in result.entities})
    yield f"- [ ] a last backup of these tables is stored: {', '.join(tables)}"
    yield "- [ ] these tables are dropped, or the database is shut down"
    yield "- [ ] the folder of the state is deleted, after the last look at `prejoin migrate status`"
