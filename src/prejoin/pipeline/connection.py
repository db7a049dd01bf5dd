"""Connections to a table that exists: its schema by name, and a client of a file, a server or AWS."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from prejoin.engine import Embedded
from prejoin.patterns.large.stores import FolderStore, ObjectStore
from prejoin.pipeline import codes
from prejoin.pipeline.errors import InvalidArgumentError, PipelineError
from prejoin.protocol.errors import DynamoDBError
from prejoin.table.client.client import Client
from prejoin.table.errors import TableError
from prejoin.table.schema.schema import Schema
from prejoin.transport import AWS, Endpoint, OutcomeUnknown, TransportError
from prejoin.transport.endpoints import AWSStreams, EndpointStreams
from prejoin.transport.errors import CredentialsMissing, NotConfigured
from prejoin.transport.s3 import S3Store

_MOST_NAMED = 10
"""Tables that a message names at most."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Where a table is: a file of the embedded engine, a server, or AWS if neither is given."""

    db: str | None = None
    endpoint: str | None = None
    region: str | None = None
    store: str | None = None
    """Where its large contents are, if the design keeps them in a store: `s3://bucket`, `https://server/bucket` for
    another server with the API of S3, or a folder.
    """

    def __str__(self) -> str:
        return self.db or self.endpoint or "AWS"


def load_schema(name: str) -> Schema:
    """Imports a schema by its name, such as `shop.tables:schema`; modules are found from the current folder, too."""
    module, colon, variable = name.partition(":")
    if not module or not colon or not variable.isidentifier():
        fix = "write `module:name`, such as `shop.tables:schema`"
        raise InvalidArgumentError(codes.MISUSED, f"`{name}` does not name a schema", fix)
    current_folder = str(Path.cwd())
    sys.path.insert(0, current_folder)
    try:
        schema = getattr(import_module(module), variable, None)
    except Exception as problem:
        message = f"{module} cannot be imported: {type(problem).__name__}: {problem}"
        fix = "run the command where `python` can import it, with its dependencies installed"
        raise PipelineError(codes.NO_SCHEMA, message, fix) from problem
    finally:
        sys.path.remove(current_folder)
    if not isinstance(schema, Schema):
        reason = f"is a {type(schema).__name__}, not a Schema" if schema is not None else "does not exist"
        fix = "name the variable that holds the `Schema` of the table"
        raise PipelineError(codes.NO_SCHEMA, f"{variable} in {module} {reason}", fix)
    return schema


@contextmanager
def connect(schema: Schema, table: str, place: TablePlace) -> Iterator[Client]:
    """A client of the table. Errors inside of the context, such as a missing table, become a `PipelineError`."""
    try:
        transport = open_transport(place)
        with Client(schema, table, transport) as client:
            try:
                yield client
            except DynamoDBError as problem:
                if problem.code != "ResourceNotFoundException":
                    raise
                message = f"there is no table `{table}` in {place}"
                raise PipelineError(codes.NO_TABLE, message, _other_tables(transport)) from problem
    except (DynamoDBError, TransportError, TableError, sqlite3.Error) as problem:
        raise PipelineError(codes.NO_TABLE, *_unusable(problem, place)) from problem


def open_transport(place: TablePlace) -> Any:
    """The transport of a place. Raises a `PipelineError` if its file cannot be opened."""
    if place.db:
        try:
            return Embedded(place.db)
        except (ValueError, OSError, sqlite3.Error) as problem:
            fix = "name a file that `prejoin serve --db` or `Embedded` created"
            raise PipelineError(codes.NO_TABLE, str(problem), fix, place.db) from None
    if place.endpoint:
        return Endpoint(place.endpoint, region=place.region or "us-east-1")
    return AWS(place.region)


def open_store(place: TablePlace) -> ObjectStore:
    """The store of a place. Raises an `InvalidArgumentError` if it names no bucket."""
    location = place.store or ""
    parts = urlsplit(location)
    if parts.scheme == "s3" and parts.netloc:
        return S3Store(parts.netloc, prefix=_folder(parts.path), region=place.region)
    if parts.scheme in ("http", "https") and parts.path.strip("/"):
        bucket, _, prefix = parts.path.strip("/").partition("/")
        return S3Store(bucket, prefix=_folder(prefix), region=place.region, endpoint=f"{parts.scheme}://{parts.netloc}")
    if not location or "://" in location:
        fix = "write `s3://BUCKET`, `https://SERVER/BUCKET`, or a folder"
        raise InvalidArgumentError(codes.MISUSED, f"`{location}` names no store", fix)
    return FolderStore(location)


def _folder(path: str) -> str:
    return f"{folder}/" if (folder := path.strip("/")) else ""


def open_streams(place: TablePlace) -> Any:
    """The transport for DynamoDB Streams of a place."""
    if place.db:
        return open_transport(place)
    if place.endpoint:
        return EndpointStreams(place.endpoint, region=place.region or "us-east-1")
    return AWSStreams(place.region)


class _Tables(msgspec.Struct):
    """The response of ListTables."""

    TableNames: list[str]


def _other_tables(transport: Any) -> str:
    """The fix for a missing table, with the names of others."""
    create = "create it with `create_table()` of a client, or deploy the design"
    try:
        names = msgspec.json.decode(
            transport.send("ListTables", b'{"Limit":%d}' % _MOST_NAMED), type=_Tables
        ).TableNames
    except (DynamoDBError, TransportError, msgspec.MsgspecError):
        return f"check the name and the place, or {create}"
    if not names:
        return f"it has no tables: {create}"
    return f"it has {', '.join(f'`{name}`' for name in names)}: name one with `--table`, or {create}"


def _unusable(problem: Exception, place: TablePlace) -> tuple[str, str]:
    """Why a place does not respond, and what to do."""
    if isinstance(problem, DynamoDBError):
        return str(problem), "check the name of the table, and the permissions of your credentials"
    if isinstance(problem, OutcomeUnknown):
        return str(problem), "read the item to find out whether the write was applied, before you repeat the command"
    if isinstance(problem, CredentialsMissing):
        return str(problem), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with the AWS CLI"
    if isinstance(problem, TransportError) and place.endpoint:
        return str(problem), "check `--endpoint`: it is the address that `prejoin serve` prints"
    if isinstance(problem, NotConfigured) and not place.region:
        return "the region of AWS is not known", "pass `--region NAME`, or set AWS_REGION"
    if isinstance(problem, TransportError):
        return str(problem), "check `--region`, and the network"
    return str(problem), "check that the table is one of this schema"
