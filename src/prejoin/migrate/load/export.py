"""Items as files: DynamoDB JSON for an import from S3.

The rows are loaded into a table of the embedded engine in the state folder, by the same code as into any other table,
and that table is written out. So the files have all copies and guards, and an interrupted export continues.
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from pathlib import Path

from prejoin.migrate.load.load import LoadResult, load_table, opened_table
from prejoin.migrate.load.state import FOLDER
from prejoin.migrate.migration import Migration
from prejoin.pipeline import codes as pipeline_codes
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import Throttle

ITEMS = 100_000
"""Items of one file. An import reads files in parallel."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    loaded: LoadResult
    items: int
    files: tuple[str, ...]


def export_items(
    migration: Migration,
    folder: str | Path,
    *,
    state: str | Path = FOLDER,
    restart: bool = False,
    progress: Progress = SILENT,
) -> ExportResult:
    """Writes all items as compressed DynamoDB JSON, `{"Item": {…}}` in each line, into a new folder."""
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        message = f"{target} is not empty"
        raise RefusedError(pipeline_codes.WOULD_OVERWRITE, message, "name a new folder", str(target))
    place = TablePlace(db=str(Path(state) / "export.db"))
    if restart:
        Path(place.db or "").unlink(missing_ok=True)
    Path(state).mkdir(parents=True, exist_ok=True)
    loaded = load_table(migration, place, state=state, create=True, restart=restart, progress=progress)
    progress.begin("writing files", "files")
    files: list[str] = []
    items = 0
    try:
        target.mkdir(parents=True, exist_ok=True)
        with opened_table(migration, migration.table, place, Throttle()) as client:
            start: dict[str, object] = {}
            lines: list[str] = []
            while True:
                page = client.call("Scan", start)
                lines += [
                    json.dumps({"Item": item}, ensure_ascii=False, separators=(",", ":")) for item in page["Items"]
                ]
                last = "LastEvaluatedKey" not in page
                while len(lines) >= ITEMS or (last and lines):
                    files.append(_write(target / f"{len(files):05}.json.gz", lines[:ITEMS]))
                    items += len(lines[:ITEMS])
                    lines = lines[ITEMS:]
                    progress.update(f"{items:,} items")
                if last:
                    break
                start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    except OSError as problem:
        message = f"{target} cannot be written: {problem.strerror or problem}"
        raise PipelineError(pipeline_codes.CANNOT_WRITE, message, "check the folder", str(target)) from None
    progress.result(f"{items:,} items in {len(files)} files")
    return ExportResult(loaded, items, tuple(files))


def _write(path: Path, lines: list[str]) -> str:
    temporary = path.with_suffix(".partial")
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=6) as file:
        file.write("\n".join(lines) + "\n")
    os.replace(temporary, path)
    return str(path)
