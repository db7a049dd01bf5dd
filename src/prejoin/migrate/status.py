"""`migration_status`: where a migration stands, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from prejoin.design.files import design_beside
from prejoin.migrate.load.state import FILE, FOLDER, EntityProgress, LoadState
from prejoin.migrate.mapping.model import MAPPING, read_mapping
from prejoin.pipeline.document import DOCUMENT


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a migration."""

    name: str
    done: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    steps: tuple[Step, ...]
    entities: tuple[EntityProgress, ...]
    dead: dict[tuple[str, str], int]
    """Dead letters, by entity and code."""
    following: str
    """What to do next."""


def migration_status(
    document: str | Path = DOCUMENT, mapping: str | Path = MAPPING, state: str | Path = FOLDER
) -> MigrationStatus:
    """Reads the files of a migration. It connects to nothing."""
    design = design_beside(Path(document))
    steps = [
        Step("discover", Path(document).is_file() and Path(mapping).is_file(), f"{document}, {mapping}"),
        Step("design", design.is_file(), str(design)),
    ]
    entities: tuple[EntityProgress, ...] = ()
    dead: dict[tuple[str, str], int] = {}
    loaded, verified, detail = False, "", ""
    if (Path(state) / FILE).is_file():
        with LoadState(state, lock=False) as kept:
            names = read_mapping(mapping).entities if Path(mapping).is_file() else ()
            entities = tuple(kept.progress(name) for name in names)
            dead = kept.dead_counts()
            finished, verified = kept.about("finished"), kept.about("verified")
            loaded = bool(finished)
            rows = sum(one.rows for one in entities)
            when = f"finished {finished}" if finished else f"began {kept.about('began')}, not finished"
            detail = f"{rows:,} rows into {kept.about('table')} in {kept.about('place')}; {when}"
    letters = sum(dead.values())
    steps.append(Step("load", loaded and not letters, f"{detail}; {letters} dead letters" if letters else detail))
    steps.append(Step("verify", verified.startswith("equal"), verified))
    return MigrationStatus(tuple(steps), entities, dead, _following(steps, loaded, letters))


def _following(steps: list[Step], loaded: bool, letters: int) -> str:
    first = next((step.name for step in steps if not step.done), "")
    if first == "load" and loaded and letters:
        return "correct the rows in dead-letters.jsonl or the mapping, then `prejoin migrate load --replay`"
    return {
        "discover": "`prejoin discover URL` writes the document and the mapping",
        "design": "`prejoin design --yes` designs the table; `prejoin migrate plan` then shows what a load takes",
        "load": "`prejoin migrate load` loads, or continues after an interruption",
        "verify": "`prejoin migrate verify` compares both sides",
        "": "both sides are equal: switch the application's reads and writes to the table",
    }[first]
