"""Options that the commands of `prejoin migrate` share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import Any

import click

from prejoin.migrate import codes
from prejoin.migrate.load.state import FOLDER
from prejoin.migrate.mapping.model import MAPPING
from prejoin.migrate.migration import Migration, open_migration
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import quantity


@dataclass(frozen=True)
class MigrationInput:
    """The files and the database of a migration."""

    source: str | None
    document: str
    mapping: str

    def open(self) -> AbstractContextManager[Migration]:
        return open_migration(self.document, self.mapping, self.source)


@dataclass(frozen=True)
class TableTarget:
    """The table that is written or compared, as the options name it."""

    table: str | None
    db: str | None
    endpoint: str | None
    aws: bool
    region: str | None

    @property
    def has_place(self) -> bool:
        return bool(self.db or self.endpoint or self.aws)

    @property
    def place(self) -> TablePlace:
        if sum(map(bool, (self.db, self.endpoint, self.aws))) != 1:
            raise click.UsageError("say where the table is: `--db FILE`, `--endpoint URL` or `--aws`")
        return TablePlace(self.db, self.endpoint, self.region)


@dataclass(frozen=True)
class Target(TableTarget):
    """The table of a migration, and where its large contents are."""

    store: str | None

    @property
    def place(self) -> TablePlace:
        return replace(super().place, store=self.store)


def _options_of(name: str, kind: type[Any], *options: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that declares options and passes them to the function as one argument, the fields of a dataclass."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(**arguments: Any) -> Any:
            values = {field.name: arguments.pop(field.name) for field in fields(kind)}
            return function(**{name: kind(**values)}, **arguments)

        return functools.reduce(lambda decorated, option: option(decorated), reversed(options), run)

    return declare


input_options = _options_of(
    "inputs",
    MigrationInput,
    click.option("--source", metavar="URL", help="The database; PREJOIN_SOURCE or that of the mapping by default."),
    click.option("--for", "document", type=click.Path(), default=DOCUMENT, help=f"The document (default: {DOCUMENT})."),
    click.option("--mapping", type=click.Path(), default=MAPPING, show_default=True, help="The mapping."),
)
_TARGET = (
    click.option("--table", help="The name of the table (default: that of the design)."),
    click.option("--db", type=click.Path(dir_okay=False), help="A file of the embedded engine."),
    click.option("--endpoint", metavar="URL", help="A server that speaks the DynamoDB protocol."),
    click.option("--aws", is_flag=True, help="AWS itself."),
    click.option("--region", help="The AWS region, if not the one of the environment."),
)
table_options = _options_of("target", TableTarget, *_TARGET)
target_options = _options_of(
    "target",
    Target,
    *_TARGET,
    click.option("--store", metavar="STORE", help="Where the design keeps large contents: s3://BUCKET, or a folder."),
)


def state_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--state", type=click.Path(), default=FOLDER, show_default=True, help="The folder of the state."
    )(function)


def dead_letters(count: int, file: str) -> tuple[Source, ...]:
    """The warning about rows that could not be written."""
    if not count:
        return ()
    message = f"{quantity(count, 'row')} could not be loaded: {file}"
    fix = "`prejoin migrate status` counts the reasons; correct the rows or the mapping, then `migrate load --replay`"
    return (Source("", "", (codes.DEAD_LETTERS.at(None, message, fix),)),)
