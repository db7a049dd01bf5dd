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
_SUMMARY_MEMBERS = ("ImportArn", "ImportStatus", "TableArn", "S3BucketSource", "InputFormat", "StartTime", "EndTime")
_decode_line = msgspec.json.Decoder(PutRequest).decode


def import_table(database: Database, request: ImportTableInput) -> dict[str, Any]:
    source, creation = _check_request(request)
    table = new_table(database, creation)
    arn = f"{table.arn}/import/{new_id()}"
    description = _describe(request, table, arn)
    request_text = msgspec.json.encode(request).decode()
    with database.store.writing() as session:
        earlier_import = find_repeated(session, Import, request.client_token, request_text)
        if earlier_import is not None:
            return {"ImportTableDescription": earlier_import.description}
        if database.catalog.get(session, table.name) is not None:
            raise DynamoDBError("ResourceInUseException", f"Table already exists: {table.name}")
        identity = database.catalog.add(session, table)
        try:
            counts = _import_files(session, replace(table, id=identity), request, _find_files(database, source))
            result = {"ImportStatus": "COMPLETED", **counts}
        except (BucketError, OSError) as error:
            # The transaction goes on, because the description of the failed import is stored in it.
            rows.drop_all(session, identity)
            session.remove_table(identity)
            result = {"ImportStatus": "FAILED", **failure(error)}
        Import(arn, description | result | {"EndTime": time.time()}, request_text).keep(session)
    return {"ImportTableDescription": description}


def _check_request(request: ImportTableInput) -> tuple[BucketSource, CreateTableInput]:
    source, creation = request.s3_bucket_source, request.table_creation_parameters
    constraints = Constraints()
    constraints.require("s3BucketSource", source)
    constraints.require("inputFormat", request.input_format)
    constraints.one_of("inputFormat", request.input_format, ("ION", "CSV", "DYNAMODB_JSON"))
    constraints.one_of("inputCompressionType", request.input_compression_type, ("GZIP", "NONE", "ZSTD"))
    constraints.require("tableCreationParameters", creation)
    if source is not None:
        constraints.require("s3BucketSource.s3Bucket", source.s3_bucket)
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
    members = {
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
    return {member: value for member, value in members.items() if value is not None}


def _find_files(database: Database, source: BucketSource) -> list[Path]:
    files = objects(find_bucket(database.buckets, str(source.s3_bucket)), source.s3_key_prefix or "")
    if not files:
        raise BucketError("S3NoSuchKey", "There is no file whose key begins with the given prefix")
    return files


def _import_files(
    session: Session, table: TableDefinition, request: ImportTableInput, files: list[Path]
) -> dict[str, int]:
    """Put the items of all files into a new table. Return what the description counts."""
    processed_count = imported_count = 0
    capacity = UncountedCapacity(table)
    for file in files:
        for item in _read_items(file, request, table):
            processed_count += 1
            try:
                if item is None:
                    continue
                content, size = measured(item)
                if size <= limits.ITEM_SIZE:
                    perform(session, bind(PreparedWrite("put", table.name, content, size), table), capacity)
                    imported_count += 1
            except DynamoDBError:
                pass
    return {
        "ErrorCount": processed_count - imported_count,
        "ProcessedSizeBytes": sum(file.stat().st_size for file in files),
        "ProcessedItemCount": processed_count,
        "ImportedItemCount": imported_count,
    }


def _read_items(file: Path, request: ImportTableInput, table: TableDefinition) -> Iterator[Attributes | None]:
    """The items of a file; None for a line that is none."""
    import gzip
    import zlib

    with file.open("rb") as raw:
        content = gzip.GzipFile(fileobj=raw) if request.input_compression_type == "GZIP" else raw
        try:
            if request.input_format == "CSV":
                yield from _read_csv(content, _csv_options(request), table)
            else:
                yield from _read_json(content)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            raise BucketError("InvalidCompression", f"{file.name} is not a file of GZIP") from None


def _read_json(lines: Iterable[bytes]) -> Iterator[Attributes | None]:
    for line in lines:
        if line.strip():
            try:
                yield _decode_line(line).item
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                yield None


def _read_csv(
    content: GzipFile | BufferedReader, options: CsvOptions, table: TableDefinition
) -> Iterator[Attributes | None]:
    """The items of a CSV file: keys have their types, everything else is text. Empty fields are left out."""
    import csv

    # Spreadsheets write a byte order mark at the beginning.
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
                # A line may have fewer fields than the header.
                pairs = zip(header, fields, strict=False)
                item: dict[str, Any] = {name: {types.get(name, "S"): field} for name, field in pairs if field}
                yield item


def describe_import(database: Database, request: ImportInput) -> dict[str, Any]:
    return {"ImportTableDescription": describe_transfer(database, Import, request.import_arn)}


def list_imports(database: Database, request: ListImportsInput) -> dict[str, Any]:
    page = ("pageSize", request.page_size)
    imports, token_member = list_transfers(database, Import, request.table_arn, page, request.next_token)
    summaries = [
        {name: import_.description[name] for name in _SUMMARY_MEMBERS if name in import_.description}
        for import_ in imports
    ]
    return {"ImportSummaryList": summaries, **token_member}
