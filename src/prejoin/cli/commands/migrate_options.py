"""Options that the commands of `prejoin migrate` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from prejoin.migrate import codes
from prejoin.migrate.load.state import FOLDER
from prejoin.migrate.mapping.model import MAPPING
from prejoin.pipeline.connection import TablePlace
from prejoin.pipeline.document import DOCUMENT
from prejoin.pipeline.errors import Source
from prejoin.pipeline.summary import counted


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options for the files and the database."""
    for option in (
        click.option("--mapping", type=click.Path(), default=MAPPING, show_default=True, help="The mapping."),
        click.option(
            "--for", "document", type=click.Path(), default=DOCUMENT, help=f"The document (default: {DOCUMENT})."
        ),
        click.option("--source", metavar="URL", help="The database; PREJOIN_SOURCE or that of the mapping by default."),
    ):
        function = option(function)
    return function


def target_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options for the table."""
    for option in (
        click.option("--region", help="The AWS region, if not the one of the environment."),
        click.option("--aws", is_flag=True, help="AWS itself."),
        click.option("--endpoint", metavar="URL", help="A server that speaks the DynamoDB protocol."),
        click.option("--db", type=click.Path(dir_okay=False), help="A file of the embedded engine."),
        click.option("--table", help="The name of the table (default: that of the design)."),
    ):
        function = option(function)
    return function


def state_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--state", type=click.Path(), default=FOLDER, show_default=True, help="The folder of the state."
    )(function)


def table_place(db: str | None, endpoint: str | None, aws: bool, region: str | None) -> TablePlace:
    if sum(map(bool, (db, endpoint, aws))) != 1:
        raise click.UsageError("say where the table is: `--db FILE`, `--endpoint URL` or `--aws`")
    return TablePlace(db, endpoint, region)


def dead_letters(count: int, file: str) -> tuple[Source, ...]:
    """The warning about rows that could not be written."""
    if not count:
        return ()
    message = f"{counted(count, 'row')} could not be loaded: {file}"
    fix = "`prejoin migrate status` counts the reasons; correct the rows or the mapping, then `migrate load --replay`"
    return (Source("", "", (codes.DEAD_LETTERS.at(None, message, fix),)),)
