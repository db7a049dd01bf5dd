"""How a command is declared: a function from its arguments to an `Outcome`, and the options that commands share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import click

from prejoin.cli.outcome import Outcome
from prejoin.cli.output import emit

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def format_option(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--format",
        "format_",
        type=click.Choice(["text", "json"]),
        default=None,
        help="Text for people (the default), or one JSON object for tools.",
    )(function)


def command(
    name: str, *, format_aware: bool = False, **attributes: Any
) -> Callable[[Callable[..., Outcome]], click.Command]:
    """Makes a click command of a function that returns an `Outcome`, which is then shown.

    A command that prints or asks while it works is `format_aware`: its function gets `as_json`, too.
    """

    def declare(function: Callable[..., Outcome]) -> click.Command:
        @functools.wraps(function)
        def run(format_: str | None, **arguments: Any) -> int:
            context = click.get_current_context()
            as_json = (format_ or context.find_root().params.get("format_")) == "json"
            outcome = function(as_json=as_json, **arguments) if format_aware else function(**arguments)
            emit(name, outcome, as_json)
            return int(outcome.status)

        declared: Callable[[Callable[..., Any]], click.Command] = click.command(
            name, context_settings=SETTINGS, **attributes
        )
        return declared(format_option(run))

    return declare


def has_terminal() -> bool:
    """Whether a user can answer questions."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def schema_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("schema", metavar="MODULE:NAME")(function)


def place_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options for the place of a table; without any, it is AWS as the environment configures it."""
    for option in (
        click.option("--region", help="The AWS region, if not the one of the environment."),
        click.option("--endpoint", metavar="URL", help="A server that speaks the DynamoDB protocol."),
        click.option("--db", type=click.Path(exists=True, dir_okay=False), help="A file of the embedded engine."),
        click.option("--table", required=True, help="The name of the table."),
    ):
        function = option(function)
    return function
