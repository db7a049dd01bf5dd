"""Options for the table that a long command works on, and how its duration is printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from prejoin.pipeline.connection import TablePlace


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


def place_of(db: str | None, endpoint: str | None, aws: bool, region: str | None) -> TablePlace:
    if sum(map(bool, (db, endpoint, aws))) != 1:
        raise click.UsageError("say where the table is: `--db FILE`, `--endpoint URL` or `--aws`")
    return TablePlace(db, endpoint, region)


def duration(seconds: float) -> str:
    """
    >>> duration(0.4), duration(75), duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
