"""ImportTable, DescribeImport and ListImports: a new table from DynamoDB JSON or CSV files in a folder.

An import ends before its request is answered. The response still says that it is in progress, as at AWS. Lines that
are no items of the table are counted and left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import asdict

from prejoin.engine.backup_requests import BucketSource, CsvOptions, ImportInput, ImportTableInput, ListImportsInput
from prejoin.engine.buckets import BucketError, check_bucket, check_key, failure, find_bucket, objects
from prejoin.engine.items import rows
from prejoin.engine.items.capacity import UncountedCapacity
from prejoin.engine.items.write import PreparedWrite, bind, perform
from prejoin.engine.operations.database import Database
from prejoin.engine.operations.tables import new_table
from prejoin.engine.operations.transfers import describe_transfer, find_repeated, list_transfers
from prejoin.engine.requests import Attributes, CreateTableInput, PutRequest
from prejoin.engine.store.interface import Session
from prejoin.engine.tables.artifacts import Import, new_id
from prejoin.engine.tables.definition import TableDefinition
from prejoin.engine.validation import Constraints
from prejoin.protocol import limits
from prejoin.protocol.errors import DynamoDBError, refuse
from prejoin.protocol.sizes import measured

if TYPE_CHECKING:
    from gzip import GzipFile

_DELIMITERS = ",;:|\t "
_OF_SUMMARY = ("ImportArn", "ImportStatus", "TableArn", "S3BucketSource", "InputFormat", "StartTime", "EndTime")
_decode_line = msgspec.json.Decoder(PutRequest).decode


def import_table(database: Database, request: ImportTableInput) -> dict[str, Any]:
    source, creation = _check(request)
    table = new_table(database, creation)
    arn = f"{table.arn}/import/{new_id()}"
    description = _describe(request, table, arn)
    wish = msgspec.json.encode(request).decode()
    with database.store.writing() as session:
        known = find_repeated(session, Import, request.client_token, wish)
        if known is not None:
            return {"ImportTableDescription": known.description}
        if database.catalog.get(session, table.name) is not None:
            raise DynamoDBError("ResourceInUseException", f"Table already exists: {table.name}")
        identity = database.catalog.add(session, table)
        try:
            counted = _fill(session, replace(table, id=identity), request, _files(database, source))
            ended = {"ImportStatus": "COMPLETED", **counted}
        except (BucketError, OSError) as error:
            rows.drop_all(session, identity)
            session.remove_table(identity)
            ended = {"ImportStatus": "FAILED", **failure(error)}
        Import(arn, description | ended | {"EndTime": time.time()}, wish).keep(session)
    return {"ImportTableDescription": description}


def _check(request: ImportTableInput) -> tuple[BucketSource, CreateTableInput]:
    source, creation = request.s3_bucket_source, request.table_creation_parameters
    constraints = Constraints()
    constraints.required("s3BucketSource", source)
    constraints.required("inputFormat", request.input_format)
    constraints.one_of("inputFormat", request.input_format, ("ION", "CSV", "DYNAMODB_JSON"))
    constraints.one_of("inputCompressionType", request.input_compression_type, ("GZIP", "NONE", "ZSTD"))
    constraints.required("tableCreationParameters", creation)
    if source is not None:
        constraints.required("s3BucketSource.s3Bucket", source.s3_bucket)
    constraints.finish()
    assert source is not None
    assert creation is not None
    check_bucket(str(source.s3_bucket))
    check_key(source.s3_key_prefix or "")
    if request.input_format == "ION" or request.input_compression_type == "ZSTD":
        refuse("This engine imports DYNAMODB_JSON and CSV, with GZIP or without; it reads no ION and no ZSTD")
    delimiter = _csv_options(request).delimiter
    if delimiter is not None and (len(delimiter) != 1 or delimiter not in _DELIMITERS):
        refuse(f"One or more parameter values were invalid: {delimiter!r} is not a delimiter of CSV files")
    return source, CreateTableInput(**asdict(creation))


def _csv_options(request: ImportTableInput) -> CsvOptions:
    options = request.input_format_options
    return options.csv if options is not None and options.csv is not None else CsvOptions()


def _describe(request: ImportTableInput, table: TableDefinition, arn: str) -> dict[str, Any]:
    """The description while the import is in progress."""
    shown = {
        "ImportArn": arn,
        "ImportStatus": "IN_PROGRESS",
        "TableArn": table.arn,
        "TableId": table.uuid,
        "ClientToken": request.client_token,
        "S3BucketSource": msgspec.to_builtins(request.s3_bucket_source),
        "ErrorCount": 0,
        "InputFormat": request.input_format,
        "InputFormatOptions": msgspec.to_builtins(request.input_format_options),
        "InputCompressionType": request.input_compression_type or "NONE",
        "TableCreationParameters": msgspec.to_builtins(request.table_creation_parameters),
        "StartTime": time.time(),
    }
    return {member: value for member, value in shown.items() if value is not None}


def _files(database: Database, source: BucketSource) -> list[Path]:
    found = objects(find_bucket(database.buckets, str(source.s3_bucket)), source.s3_key_prefix or "")
    if not found:
        raise BucketError("S3NoSuchKey", "There is no file whose key begins with the given prefix")
    return found


def _fill(session: Session, table: TableDefinition, request: ImportTableInput, files: list[Path]) -> dict[str, int]:
    """Put the items of all files into a new table. Return what the description counts."""
    processed = imported = 0
    capacity = UncountedCapacity(table)
    for file in files:
        for item in _items(file, request, table):
            processed += 1
            try:
                if item is None:
                    continue
                content, size = measured(item)
                if size <= limits.ITEM_SIZE:
                    perform(session, bind(PreparedWrite("put", table.name, content, size), table), capacity)
                    imported += 1
            except DynamoDBError:
                pass
    return {
        "ErrorCount": processed - imported,
        "ProcessedSizeBytes": sum(file.stat().st_size for file in files),
        "ProcessedItemCount": processed,
        "ImportedItemCount": imported,
    }


def _items(file: Path, request: ImportTableInput, table: TableDefinition) -> Iterator[Attributes | None]:
    """The items of a file; None for a line that is none."""
    import gzip
    import zlib

    with file.open("rb") as raw:
        content = gzip.GzipFile(fileobj=raw) if request.input_compression_type == "GZIP" else raw
        try:
            if request.input_format == "CSV":
                yield from _csv_items(content, _csv_options(request), table)
            else:
                yield from _json_items(content)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise BucketError("InvalidCompression", f"{file.name} is not a file of GZIP") from None


def _json_items(lines: Iterable[bytes]) -> Iterator[Attributes | None]:
    for line in lines:
        if line.strip():
            try:
                yield _decode_line(line).item
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                yield None


def _csv_items(
    content: GzipFile | BufferedReader, options: CsvOptions, table: TableDefinition
) -> Iterator[Attributes | None]:
    """The items of a CSV file: keys have their types, everything else is text. Empty fields are left out."""
    import csv

    with TextIOWrapper(content, "utf-8-sig", errors="replace", newline="") as text:
        reader = csv.reader(text, delimiter=options.delimiter or ",")
        try:
            header = options.header_list or next(reader, [])
        except csv.Error as error:
            raise BucketError("InvalidHeader", f"The first line is not a header: {error}") from None
        types = {attribute.name: attribute.type for attribute in table.attributes}
        while True:
            try:
                fields = next(reader, None)
            except csv.Error:  # a field that is too long
                yield None
                continue
            if fields is None:
                return
            if len(fields) > len(header):
                yield None
            elif fields:
                pairs = zip(header, fields, strict=False)
                item: dict[str, Any] = {name: {types.get(name, "S"): field} for name, field in pairs if field}
                yield item


def describe_import(database: Database, request: ImportInput) -> dict[str, Any]:
    return {"ImportTableDescription": describe_transfer(database, Import, request.import_arn)}


def list_imports(database: Database, request: ListImportsInput) -> dict[str, Any]:
    page = ("pageSize", request.page_size)
    found, following = list_transfers(database, Import, request.table_arn, page, request.next_token)
    summaries = [{name: each.description[name] for name in _OF_SUMMARY if name in each.description} for each in found]
    return {"ImportSummaryList": summaries, **following}
