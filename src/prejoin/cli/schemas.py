"""What a command needs to work on a table that is there: the schema, by its name in a module, and the place."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from prejoin.cli import codes
from prejoin.cli.outcome import CommandError
from prejoin.cli.status import Status
from prejoin.engine import Embedded
from prejoin.protocol.errors import DynamoDBError
from prejoin.table import Client, Schema
from prejoin.transport import AWS, Endpoint, OutcomeUnknown, TransportError


def schema_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("schema", metavar="MODULE:NAME")(function)


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Where a table is; with none of them, AWS as the environment says."""
    for option in (
        click.option("--region", help="The region of AWS, if not the environment's."),
        click.option("--endpoint", metavar="URL", help="A server that speaks DynamoDB's protocol."),
        click.option("--db", type=click.Path(exists=True, dir_okay=False), help="A file of the embedded engine."),
        click.option("--table", required=True, help="The name of the table."),
    ):
        function = option(function)
    return function


def load_schema(text: str) -> Schema:
    """The schema of that name: `shop.tables:schema`, looked for from the current folder."""
    module, colon, name = text.partition(":")
    if not module or not colon or not name.isidentifier():
        raise click.UsageError(f"`{text}` does not name a schema: write `module:name`, such as `shop.tables:schema`")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), name, None)
    except Exception as problem:
        message = f"{module} cannot be imported: {type(problem).__name__}: {problem}"
        fix = "run the command where `python` can import it, with what it needs installed"
        raise CommandError(codes.NO_SCHEMA, message, fix, Status.FAILED) from problem
    finally:
        sys.path.remove(here)
    if not isinstance(found, Schema):
        what = f"is a {type(found).__name__}, not a Schema" if found is not None else "is not there"
        fix = "name the variable that holds the `Schema` of the table"
        raise CommandError(codes.NO_SCHEMA, f"{name} in {module} {what}", fix, Status.FAILED)
    return found


@contextmanager
def connected(schema: Schema, table: str, db: str | None, endpoint: str | None, region: str | None) -> Iterator[Client]:
    """A client of the table; whatever keeps it from answering ends the command, with a sentence."""
    if db and endpoint:
        raise click.UsageError("A table is in one place: give `--db` or `--endpoint`")
    try:
        with Client(schema, table, _place(db, endpoint, region)) as client:
            yield client
    except (DynamoDBError, TransportError, sqlite3.Error) as problem:
        if isinstance(problem, DynamoDBError) and problem.code == "ResourceNotFoundException":
            message, fix = f"there is no table {table} in {db or endpoint or 'AWS'}", "check the name, and where it is"
        else:
            message, fix = str(problem), "check where the table is, and what you are allowed to do with it"
            if isinstance(problem, OutcomeUnknown):
                fix = "read the item to find out whether it was applied, before you repeat the command"
            if message.startswith("no region"):
                message, fix = (
                    "it is not said in which region of AWS the table is",
                    "say `--region NAME`, or set AWS_REGION",
                )
        raise CommandError(codes.NO_TABLE, message, fix, Status.FAILED) from problem


def _place(db: str | None, endpoint: str | None, region: str | None) -> Any:
    if db:
        try:
            return Embedded(db)
        except (ValueError, OSError) as problem:
            message, fix = (
                f"{db} is no file of tables: {problem}",
                "name one that `prejoin serve --db` or `Embedded` made",
            )
            raise CommandError(codes.NO_TABLE, message, fix, Status.FAILED, file=db) from None
    if endpoint:
        return Endpoint(endpoint, region=region or "us-east-1")
    return AWS(region)
