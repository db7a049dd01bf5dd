"""Items as files: DynamoDB JSON for an import from S3, into a new table or an existing one, with the requests for both.

The rows are loaded into a table of the embedded engine in the state folder, by the same code as into any other table,
and that table is written out. So the files have all copies and guards, and an interrupted export continues.
"""

from __future__ import annotations

import gzip
import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prejoin.migrate.load.load import LoadResult, load_table, opened_table
from prejoin.migrate.load.state import FOLDER
from prejoin.migrate.migration import Migration
from prejoin.pipeline import codes as pipeline_codes
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.errors import PipelineError, RefusedError
from prejoin.pipeline.output_files import make_folder
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.pipeline.throttle import WriteThrottle
from prejoin.table.admin.table_request import create_table
from prejoin.table.client.client import Client

BUCKET = "YOUR-BUCKET"
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
    store: str | None = None,
    progress: Progress = SILENT,
) -> ExportResult:
    """Writes all items as compressed DynamoDB JSON, `{"Item": {…}}` in each line, into a new folder.

    The items are in `items/`. Beside it are the requests that read them from a bucket: `import-table.json` for
    ImportTable, which creates the table, and `start-bulk-put-items.json` for StartBulkPutItems, into an existing one.
    Large contents that the design keeps in a store are written to `store`.
    """
    target = Path(folder)
    if target.exists() and any(target.iterdir()):
        message = f"{target} is not empty"
        raise RefusedError(pipeline_codes.WOULD_OVERWRITE, message, "name a new folder", str(target))
    place = TablePlace(db=str(Path(state) / "export.db"), store=store)
    if restart:
        Path(place.db or "").unlink(missing_ok=True)
    make_folder(Path(state))
    load_result = load_table(migration, place, state=state, create=True, restart=restart, progress=progress)
    progress.begin("writing files", "files")
    try:
        (target / "items").mkdir(parents=True, exist_ok=True)
        for name, request in _requests(migration).items():
            (target / name).write_text(json.dumps(request, indent=2) + "\n", encoding="utf-8")
        with opened_table(migration, migration.table, place, WriteThrottle()) as client:
            item_count, files = _write_items(client, target / "items", progress)
    except OSError as problem:
        message = f"{target} cannot be written: {problem.strerror or problem}"
        raise PipelineError(pipeline_codes.CANNOT_WRITE, message, "check the folder", str(target)) from None
    progress.result(f"{item_count:,} items in {len(files)} files")
    return ExportResult(load_result, item_count, tuple(files))


def _write_items(client: Client, folder: Path, progress: Progress) -> tuple[int, list[str]]:
    """Writes all items of a table into numbered files. Returns how many there are, and the files."""
    files: list[str] = []
    item_count = 0
    lines: list[str] = []
    start: dict[str, object] = {}
    while True:
        page = client.call("Scan", start)
        lines += [json.dumps({"Item": item}, ensure_ascii=False, separators=(",", ":")) for item in page["Items"]]
        is_last = "LastEvaluatedKey" not in page
        while len(lines) >= ITEMS or (is_last and lines):
            file_lines, lines = lines[:ITEMS], lines[ITEMS:]
            files.append(_write(folder / f"{len(files):05}.json.gz", file_lines))
            item_count += len(file_lines)
            progress.update(f"{item_count:,} items")
        if is_last:
            return item_count, files
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _requests(migration: Migration) -> dict[str, Any]:
    """The requests that read the files, for `aws dynamodb … --cli-input-json`; only the bucket has to be filled in."""
    source = {"S3Bucket": BUCKET, "S3KeyPrefix": "items/"}
    table = create_table(migration.package.schema, migration.table)
    form = {"InputFormat": "DYNAMODB_JSON", "InputCompressionType": "GZIP"}
    requests: dict[str, Any] = {
        "start-bulk-put-items.json": {
            "TableName": migration.table,
            "InputS3Configuration": {**source, **form},
            "OutputS3Configuration": {"S3Bucket": BUCKET, "S3KeyPrefix": "errors/", "OutputType": ["ERROR"]},
        }
    }
    if "LocalSecondaryIndexes" not in table:  # an import cannot create them
        requests["import-table.json"] = {"S3BucketSource": source, **form, "TableCreationParameters": table}
    return requests


def _write(path: Path, lines: list[str]) -> str:
    # A Scan returns the items of a partition one after the other. Read in that order, they would make it hot.
    random.Random(path.name).shuffle(lines)  # noqa: S311 - the same files in each run
    temporary = path.with_suffix(".partial")
    with gzip.open(temporary, "wt", encoding="utf-8", compresslevel=6) as file:
        file.write("\n".join(lines) + "\n")
    os.replace(temporary, path)
    return str(path)
