"""How a command is declared: a function from its arguments to an `Outcome`, and the options that all commands share."""

from __future__ import annotations

import functools
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
        help="Text for people (the default), or one JSON envelope for tools.",
    )(function)


def command(name: str, **attributes: Any) -> Callable[[Callable[..., Outcome]], click.Command]:
    """Makes a click command of a function. The function gets the parsed arguments; what it gives back is shown."""

    def declare(function: Callable[..., Outcome]) -> click.Command:
        @functools.wraps(function)
        def run(format_: str | None, **arguments: Any) -> int:
            context = click.get_current_context()
            chosen = format_ or context.find_root().params.get("format_") or "text"
            as_json = chosen == "json"
            outcome = function(as_json=as_json, **arguments) if _wants_format(function) else function(**arguments)
            emit(name, outcome, as_json)
            return int(outcome.status)

        declared: Callable[[Callable[..., Any]], click.Command] = click.command(
            name, context_settings=SETTINGS, **attributes
        )
        return declared(format_option(run))

    return declare


def _wants_format(function: Callable[..., Outcome]) -> bool:
    """A command that talks while it works has to know who listens."""
    return "as_json" in function.__code__.co_varnames[: function.__code__.co_argcount]
