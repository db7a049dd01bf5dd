"""`migration_status`: where a migration stands in its eight steps, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prejoin.design.files import design_beside
from prejoin.diagnostics import Diagnostic
from prejoin.migrate import codes
from prejoin.migrate.load.state import FILE, FOLDER, EntityProgress, LoadState
from prejoin.migrate.mapping.model import MAPPING, read_mapping
from prejoin.pipeline.document import DOCUMENT

_IDLE = timedelta(hours=1)
"""After this time without a follower, a log that is kept is probably forgotten."""

_FILLS = "it fills the disk of the database"
_KEEPING = {
    "postgresql": ("replication slot {log_name}", _FILLS),
    "outbox": ("outbox", _FILLS),
    "dynamodb": ("stream", "DynamoDB forgets changes after 24 hours"),
}
"""Logs that must be read in time: what keeps the changes, and why it matters."""


@dataclass(frozen=True, slots=True)
class Step:
    """One of the eight steps of a migration."""

    name: str
    done: bool
    detail: str = ""
    command: str = ""
    """The command of the step."""


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    steps: tuple[Step, ...]
    entities: tuple[EntityProgress, ...]
    dead: dict[tuple[str, str], int]
    """Dead letters, by entity and code."""
    following: str
    """The next thing to do."""
    warnings: tuple[Diagnostic, ...] = ()


def migration_status(
    document: str | Path = DOCUMENT,
    mapping: str | Path = MAPPING,
    state: str | Path = FOLDER,
    now: datetime | None = None,
) -> MigrationStatus:
    """Reads the files of a migration. It connects to nothing."""
    design = design_beside(Path(document))
    about: dict[str, str] = {}
    entities: tuple[EntityProgress, ...] = ()
    dead: dict[tuple[str, str], int] = {}
    if (Path(state) / FILE).is_file():
        with LoadState(state, lock=False) as load_state:
            about = load_state.all_about()
            names = read_mapping(mapping).entities if Path(mapping).is_file() else ()
            entities = tuple(load_state.progress(name) for name in names)
            dead = load_state.dead_counts()
    letters = sum(dead.values())
    has_files = Path(document).is_file() and Path(mapping).is_file()
    steps = (
        Step("analyse access patterns", has_files, f"{document}, {mapping}", "prejoin discover URL"),
        Step("design keys", design.is_file(), str(design), "prejoin design --yes"),
        Step("create the table", "began" in about, _table(about), "prejoin build, or migrate load --create-table"),
        Step(
            "migrate", "finished" in about and not letters, _load_text(about, entities, letters), "prejoin migrate load"
        ),
        Step("dual-write", _is_followed(about), _follow_text(about), "prejoin migrate follow"),
        Step(
            "validate",
            about.get("verified", "").startswith("equal"),
            about.get("verified", ""),
            "prejoin migrate verify",
        ),
        Step(
            "switch reads",
            "cut_over" in about and not about.get("unfinished"),
            about.get("cut_over", ""),
            "prejoin migrate cutover",
        ),
        Step("decommission", False, "the checklist of cutover-report.md" if "cut_over" in about else "", "by people"),
    )
    return MigrationStatus(steps, entities, dead, _following(steps, about, letters), tuple(_warnings(about, now)))


def _table(about: dict[str, str]) -> str:
    return f"{about['table']} in {about['place']}" if "began" in about else ""


def _load_text(about: dict[str, str], entities: tuple[EntityProgress, ...], letters: int) -> str:
    if "began" not in about:
        return ""
    rows = sum(entity.rows for entity in entities)
    when = f"finished {about['finished']}" if "finished" in about else f"began {about['began']}, not finished"
    return f"{rows:,} rows; {when}" + (f"; {letters:,} dead letters" if letters else "")


def _is_followed(about: dict[str, str]) -> bool:
    """Whether following is complete. A load without `--follow` needs none."""
    return "finished" in about and (not about.get("log") or bool(about.get("caught_up")) or "cut_over" in about)


def _follow_text(about: dict[str, str]) -> str:
    if not about.get("log"):
        is_loaded = "finished" in about and "cut_over" not in about
        return "no changes are kept: nobody may write until the cut-over" if is_loaded else ""
    if about.get("caught_up"):
        return f"by {about['log']}; caught up {about['caught_up']}"
    return f"by {about['log']}, not caught up"


def _warnings(about: dict[str, str], now: datetime | None) -> list[Diagnostic]:
    if about.get("log") not in _KEEPING:
        return []
    last = about.get("caught_up") or about["began"]
    idle = (now or datetime.now(UTC)) - datetime.fromisoformat(last)
    if idle < _IDLE:
        return []
    keeper, reason = _KEEPING[about["log"]]
    message = (
        f"the {keeper.format(**about)} of {about['source']} keeps changes, and was not read to its end since {last}"
    )
    fix = f"{reason}: run `prejoin migrate follow`, or `prejoin migrate rollback` to remove it"
    return [codes.UNREAD_LOG.at(None, message, fix)]


def _following(steps: tuple[Step, ...], about: dict[str, str], letters: int) -> str:
    if about.get("rolling_back"):
        return "`prejoin migrate rollback --yes` again: it was interrupted, and items may be missing"
    if about.get("unfinished"):
        return "`prejoin migrate cutover` again: it was interrupted before it had removed everything"
    if "cut_over" in about:
        return "work through the checklist of cutover-report.md"
    if "finished" in about and letters:
        return "correct the rows in dead-letters.jsonl or the mapping, then `prejoin migrate load --replay`"
    return {
        "analyse access patterns": "`prejoin discover URL` writes the document and the mapping",
        "design keys": "`prejoin design --yes` designs the table; `prejoin migrate plan` then shows what a load takes",
        "create the table": "`prejoin migrate load --follow` loads, and keeps changes; without it nobody may write",
        "migrate": "`prejoin migrate load` loads, or continues after an interruption",
        "dual-write": "`prejoin migrate follow` writes the changes since the load began",
        "validate": "`prejoin migrate verify` compares both sides",
        "switch reads": "compare with shadow reads; then stop the application's writes, and `prejoin migrate cutover`",
    }[next(step.name for step in steps if not step.done)]
