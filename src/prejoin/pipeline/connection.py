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
import msgspec

from prejoin.cli.outcome import CommandError
from prejoin.cli.status import Status
from prejoin.engine import Embedded
from prejoin.pipeline import codes
from prejoin.protocol.errors import DynamoDBError
from prejoin.table import Client, Schema, TableError
from prejoin.transport import AWS, Endpoint, OutcomeUnknown, TransportError
from prejoin.transport.errors import CredentialsMissing, NotConfigured

_NAMED = 10
"""Tables that a message names at most."""


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
    """A client of the table. Errors of the place, such as a missing table, end the command with a sentence."""
    if db and endpoint:
        raise click.UsageError("A table is in one place: give `--db` or `--endpoint`")
    where = db or endpoint or "AWS"
    try:
        place = _place(db, endpoint, region)
        with Client(schema, table, place) as client:
            try:
                yield client
            except DynamoDBError as problem:
                if problem.code != "ResourceNotFoundException":
                    raise
                message = f"there is no table `{table}` in {where}"
                raise CommandError(codes.NO_TABLE, message, _other_tables(place), Status.FAILED) from problem
    except (DynamoDBError, TransportError, TableError, sqlite3.Error) as problem:
        message, fix = _unusable(problem, endpoint, region)
        raise CommandError(codes.NO_TABLE, message, fix, Status.FAILED) from problem


def _other_tables(place: Any) -> str:
    """What to do about a missing table, with the names of those that are there."""
    create = "create it with `create_table()` of a client, or deploy the design"
    try:
        names = msgspec.json.decode(place.send("ListTables", b'{"Limit":%d}' % _NAMED), type=_Tables).TableNames
    except (DynamoDBError, TransportError, msgspec.MsgspecError):
        return f"check the name and the place, or {create}"
    if not names:
        return f"it has no tables: {create}"
    return f"it has {', '.join(f'`{name}`' for name in names)}: name one with `--table`, or {create}"


class _Tables(msgspec.Struct):
    """The answer to ListTables."""

    TableNames: list[str]


def _unusable(problem: Exception, endpoint: str | None, region: str | None) -> tuple[str, str]:
    """Why a place gives no answer, and what to do."""
    if isinstance(problem, DynamoDBError):
        return str(problem), "check the name of the table, and what your credentials allow"
    if isinstance(problem, OutcomeUnknown):
        return str(problem), "read the item to find out whether it was applied, before you repeat the command"
    if isinstance(problem, CredentialsMissing):
        return str(problem), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in with the AWS CLI"
    if isinstance(problem, TransportError) and endpoint:
        return str(problem), "check `--endpoint`: it is the address that `prejoin serve` prints"
    if isinstance(problem, NotConfigured) and not region:
        return "it is not said in which region of AWS the table is", "say `--region NAME`, or set AWS_REGION"
    if isinstance(problem, TransportError):
        return str(problem), "check `--region`, and the network"
    return str(problem), "check that the table is one of this schema"


def _place(db: str | None, endpoint: str | None, region: str | None) -> Any:
    if db:
        try:
            return Embedded(db)
        except (ValueError, OSError, sqlite3.Error) as problem:
            fix = "name one that `prejoin serve --db` or `Embedded` made"
            raise CommandError(codes.NO_TABLE, str(problem), fix, Status.FAILED, file=db) from None
    if endpoint:
        return Endpoint(endpoint, region=region or "us-east-1")
    return AWS(region)
