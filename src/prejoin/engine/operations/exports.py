"""ExportTableToPointInTime, DescribeExport and ListExports: DynamoDB JSON in a folder, with the files that AWS writes.

An export ends before its request is answered. The response still says that it is in progress, as at AWS.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from prejoin.engine.backup_requests import ExportInput, ExportTableInput, IncrementalExport, ListExportsInput
from prejoin.engine.buckets import BucketError, check_bucket, check_key, failure, find_bucket
from prejoin.engine.items import rows
from prejoin.engine.items.recovery import changes_between, items_at
from prejoin.engine.operations.backups import find_table, restorable
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.transfers import describe_transfer, find_repeated, list_transfers
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.artifacts import Export, new_id
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.validation import Constraints, table_name
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.limits import MB
from prejoin.protocol.values import Item

_FILE_BYTES = 32 * MB
"""The size of a data file before it is compressed. One file is held in memory."""
_SUMMARY_MEMBERS = ("ExportArn", "ExportStatus", "ExportType")
_VIEWS = ("NEW_IMAGE", "NEW_AND_OLD_IMAGES")
_encode = msgspec.json.Encoder().encode


def export_table(database: Database, request: ExportTableInput) -> dict[str, Any]:
    _check_request(request)
    now, request_text = time.time(), _encode(request).decode()
    with database.store.reading(snapshot=True) as session:
        earlier_export = find_repeated(session, Export, request.client_token, request_text)
        if earlier_export is not None:
            return {"ExportDescription": earlier_export.description}
        table = find_table(database, session, table_name(request.table_arn))
        export = _RunningExport(table, request, now)
        description = export.describe()
        try:
            description |= export.write(find_bucket(database.buckets, str(request.s3_bucket)), session)
        except (BucketError, OSError) as error:
            description |= {"ExportStatus": "FAILED", **failure(error)}
    with database.store.writing() as session:
        Export(export.arn, description | {"EndTime": time.time()}, request_text).keep(session)
    return {"ExportDescription": export.describe()}


def _check_request(request: ExportTableInput) -> None:
    constraints = Constraints()
    constraints.require("tableArn", request.table_arn)
    constraints.require("s3Bucket", request.s3_bucket)
    constraints.one_of("exportFormat", request.export_format, ("DYNAMODB_JSON", "ION"))
    constraints.one_of("exportType", request.export_type, ("FULL_EXPORT", "INCREMENTAL_EXPORT"))
    constraints.one_of("s3SseAlgorithm", request.s3_sse_algorithm, ("AES256", "KMS"))
    specification = request.incremental_export_specification
    if specification is not None:
        constraints.one_of("incrementalExportSpecification.exportViewType", specification.export_view_type, _VIEWS)
    constraints.finish()
    check_bucket(str(request.s3_bucket))
    check_key(request.s3_prefix or "")
    if request.export_format == "ION":
        refuse("This engine exports DYNAMODB_JSON; it does not write ION")
    if request.filter_specification is not None:
        refuse("This engine exports whole tables; it has no FilterSpecification yet")
    if (request.export_type == "INCREMENTAL_EXPORT") != (specification is not None):
        refuse(
            "One or more parameter values were invalid: IncrementalExportSpecification must be specified exactly if "
            "ExportType is INCREMENTAL_EXPORT"
        )


class _RunningExport:
    """An export at work."""

    def __init__(self, table: TableDefinition, request: ExportTableInput, now: float) -> None:
        identity = new_id()
        self.arn = f"{table.arn}/export/{identity}"
        self._table, self._request, self._begun, self._size = table, request, now, 0
        earliest, latest = restorable(table, now)
        self._moment = latest if request.export_time is None else request.export_time
        specification = request.incremental_export_specification or IncrementalExport()
        self._first = earliest if specification.export_from_time is None else specification.export_from_time
        self._last = latest if specification.export_to_time is None else specification.export_to_time
        self._view = specification.export_view_type or "NEW_AND_OLD_IMAGES"
        self._is_full = request.incremental_export_specification is None
        # A full export shows one moment, an incremental one the changes between two.
        times = (self._moment,) if self._is_full else (self._first, self._last)
        if not all(earliest <= moment <= latest for moment in times) or self._first > self._last:
            raise DynamoDBError(
                "InvalidExportTimeException",
                "The specified time is not between EarliestRestorableDateTime and LatestRestorableDateTime",
            )
        prefix = (request.s3_prefix or "").strip("/")
        self._top = f"{prefix}/AWSDynamoDB" if prefix else "AWSDynamoDB"
        self._root = f"{self._top}/{identity}"
        # Incremental exports of a bucket share a folder for their data.
        self._data = f"{self._root}/data" if self._is_full else f"{self._top}/data"

    def describe(self) -> dict[str, Any]:
        """The description while the export is in progress."""
        table, request = self._table, self._request
        specification = request.incremental_export_specification
        members = {
            "ExportArn": self.arn,
            "ExportStatus": "IN_PROGRESS",
            "StartTime": self._begun,
            "TableArn": table.arn,
            "TableId": table.uuid,
            "ExportTime": self._moment if self._is_full else None,
            "ClientToken": request.client_token,
            "S3Bucket": request.s3_bucket,
            "S3BucketOwner": request.s3_bucket_owner,
            "S3Prefix": request.s3_prefix,
            "S3SseAlgorithm": request.s3_sse_algorithm or "AES256",
            "S3SseKmsKeyId": request.s3_sse_kms_key_id,
            "ExportFormat": "DYNAMODB_JSON",
            "ExportType": "FULL_EXPORT" if self._is_full else "INCREMENTAL_EXPORT",
            "IncrementalExportSpecification": None
            if specification is None
            else {"ExportFromTime": self._first, "ExportToTime": self._last, "ExportViewType": self._view},
        }
        return {member: value for member, value in members.items() if value is not None}

    def write(self, bucket: Path, session: Session) -> dict[str, Any]:
        """Write all files. Return what the description says then."""
        (bucket / self._root).mkdir(parents=True)
        (bucket / self._data).mkdir(parents=True, exist_ok=True)
        # AWS creates this file first, to see whether it may write into the bucket.
        (bucket / self._root / "_started").touch()
        lines = self._items(session) if self._is_full else self._changes(session)
        files = [_write_data(bucket, self._data, file_lines) for file_lines in _split_lines(lines)]
        _write_with_checksum(
            bucket / self._root / "manifest-files.json", b"".join(_encode(file) + b"\n" for file in files)
        )
        count = sum(file["itemCount"] for file in files)
        summary = self._summary() | {"billedSizeBytes": self._size, "itemCount": count}
        _write_with_checksum(bucket / self._root / "manifest-summary.json", _encode(summary))
        return {
            "ExportStatus": "COMPLETED",
            "ExportManifest": f"{self._root}/manifest-summary.json",
            "BilledSizeBytes": self._size,
            "ItemCount": count,
        }

    def _summary(self) -> dict[str, Any]:
        request, table = self._request, self._table
        times = (
            {"exportTime": _format_time(self._moment)}
            if self._is_full
            else {
                "exportFromTime": _format_time(self._first),
                "exportToTime": _format_time(self._last),
                "outputView": self._view,
            }
        )
        return {
            "version": "2020-06-30" if self._is_full else "2023-08-01",
            "exportArn": self.arn,
            "startTime": _format_time(self._begun),
            "endTime": _format_time(time.time()),
            "tableArn": table.arn,
            "tableId": table.uuid,
            **times,
            "s3Bucket": request.s3_bucket,
            "s3Prefix": request.s3_prefix,
            "s3SseAlgorithm": request.s3_sse_algorithm or "AES256",
            "s3SseKmsKeyId": request.s3_sse_kms_key_id,
            "manifestFilesS3Key": f"{self._root}/manifest-files.json",
            "outputFormat": "DYNAMODB_JSON",
            "exportType": "FULL_EXPORT" if self._is_full else "INCREMENTAL_EXPORT",
        }

    def _items(self, session: Session) -> Iterator[bytes]:
        for _, row in items_at(session, self._table, self._moment):
            self._size += row.size
            yield b'{"Item":%b}\n' % row.content

    def _changes(self, session: Session) -> Iterator[bytes]:
        for change in changes_between(session, self._table, self._first, self._last):
            row = change.after or change.before
            assert row is not None, "a change has at least one side"
            self._size += row.size
            item: Item = rows.decode_item(row.content)
            line: dict[str, Any] = {
                "Metadata": {"WriteTimestampMicros": str(int(change.time * 1_000_000))},
                "Keys": {name: item[name] for name in self._table.keys.names},
            }
            if change.before is not None and self._view == "NEW_AND_OLD_IMAGES":
                line["OldImage"] = msgspec.Raw(change.before.content)
            if change.after is not None:
                line["NewImage"] = msgspec.Raw(change.after.content)
            yield _encode(line) + b"\n"


def _split_lines(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines of each data file."""
    file_lines: list[bytes] = []
    size = 0
    for line in lines:
        file_lines.append(line)
        size += len(line)
        if size >= _FILE_BYTES:
            yield file_lines
            file_lines, size = [], 0
    if file_lines:
        yield file_lines


def _write_data(bucket: Path, folder: str, lines: list[bytes]) -> dict[str, Any]:
    """Write one data file. Return its line of the manifest."""
    import gzip
    from hashlib import md5

    key = f"{folder}/{new_id().replace('-', '')}.json.gz"
    # Without the time, so that the same items make the same file.
    content = gzip.compress(b"".join(lines), mtime=0)
    (bucket / key).write_bytes(content)
    # AWS's manifests have MD5. It detects errors of transmission, and protects from nothing else.
    checksum = md5(content, usedforsecurity=False)
    return {
        "itemCount": len(lines),
        "md5Checksum": b64encode(checksum.digest()).decode(),
        "etag": f"{checksum.hexdigest()}-1",
        "dataFileS3Key": key,
    }


def _write_with_checksum(path: Path, content: bytes) -> None:
    """Write a manifest, and beside it a file with its checksum."""
    from hashlib import md5

    path.write_bytes(content)
    path.with_suffix(".md5").write_bytes(b64encode(md5(content, usedforsecurity=False).digest()))


def _format_time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_export(database: Database, request: ExportInput) -> dict[str, Any]:
    return {"ExportDescription": describe_transfer(database, Export, request.export_arn)}


def list_exports(database: Database, request: ListExportsInput) -> dict[str, Any]:
    page = ("maxResults", request.max_results)
    exports, token_member = list_transfers(database, Export, request.table_arn, page, request.next_token)
    summaries = [{member: export.description[member] for member in _SUMMARY_MEMBERS} for export in exports]
    return {"ExportSummaries": summaries, **token_member}
